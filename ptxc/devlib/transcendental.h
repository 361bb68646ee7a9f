// Approximations that are not one hardware instruction.
#ifndef CERBERUS_DEVLIB_TRANSCENDENTAL_H_
#define CERBERUS_DEVLIB_TRANSCENDENTAL_H_

#include "device.h"

// The gross approximations of f64 have 32 bits; NaN is the one that PTX gives.
INLINE double UpperHalf(double v) {
  return __builtin_bit_cast(
      double, v != v ? 0x7fffffff00000000ul : BitsOf(v) & ~0xfffffffful);
}
DEV(double, upper_half_f64)(double v) { return UpperHalf(v); }

// rcp.approx.ftz.f64: subnormals count as zero.
DEV(double, rcp_approx_f64)(double v) {
  const u64 bits = BitsOf(v);
  const u64 sign = bits & (1ul << 63);
  if (((bits >> 52) & 0x7ff) == 0) {
    return __builtin_bit_cast(double, sign | 0x7ff0000000000000ul);
  }
  // The inverse is subnormal; the hardware's division is not asked for it
  // (rounding.h).
  if (__builtin_elementwise_abs(v) > 0x1p1022) {
    return __builtin_bit_cast(double, sign);
  }
  return UpperHalf(1.0 / v);
}

// tanh.approx: relative error up to 2^-11.
DEV(float, tanh_f32)(float v) {
  const float a = __builtin_fabsf(v);
  float r;
  if (a < 0.55f) {
    // Odd minimax polynomial on [0, 0.55].
    const float x2 = v * v;
    r = a + a * x2 *
                (-0.33332675f +
                 x2 * (0.13316225f + x2 * (-0.05247143f + x2 * 0.01746065f)));
  } else {
    // 1 - 2 / (e^2a + 1); e^2a = 2^(a * 2 log2 e).
    const float e = __builtin_amdgcn_exp2f(a * 2.885390082f);
    r = 1.0f - 2.0f * __builtin_amdgcn_rcpf(e + 1.0f);
  }
  return __builtin_copysignf(v != v ? v : r, v);
}

// The n-th set bit from `base`, up or down (PTX ISA, "fns").
DEV(u32, fns)(u32 mask, u32 base, s32 offset) {
  if (offset == 0) return mask >> (base & 31) & 1 ? base : 0xffffffffu;
  u32 position = base & 31;
  const s32 step = offset > 0 ? 1 : -1;
  s32 left = offset > 0 ? offset : -offset;
  for (u32 i = 0; i < 32; ++i) {
    if (position > 31) break;
    if (mask >> position & 1) {
      if (--left == 0) return position;
    }
    position += static_cast<u32>(step);
  }
  return 0xffffffffu;
}

#endif  // CERBERUS_DEVLIB_TRANSCENDENTAL_H_
