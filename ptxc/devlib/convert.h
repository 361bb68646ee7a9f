// Conversions with directed rounding, and the 8-, 6- and 4-bit formats.
#ifndef CERBERUS_DEVLIB_CONVERT_H_
#define CERBERUS_DEVLIB_CONVERT_H_

#include "device.h"
#include "rounding.h"

template <Mode mode>
INLINE float ToFloat(double v) {
  return SumToFloat<mode>({v, 0});
}

template <Mode mode>
INLINE _Float16 ToHalf(double v) {
  const _Float16 nearest = static_cast<_Float16>(v);
  return Adjust<mode>(nearest, v - static_cast<double>(nearest));
}

// bf16 is the upper half of an f32: round to f32 toward zero, then drop the
// lower half; what is lost decides.
template <Mode mode>
INLINE u16 ToBfloat(double v) {
  if (IsNan(v)) return 0x7fff;
  const float f = ToFloat<kRz>(v);
  const u32 bits = BitsOf(f);
  const bool negative = bits >> 31;
  const bool inexact = (bits & 0xffff) != 0 || static_cast<double>(f) != v;
  u16 upper = static_cast<u16>(bits >> 16);
  const bool away = inexact && !IsInf(v) &&
                    ((mode == kRp && !negative) || (mode == kRm && negative));
  return static_cast<u16>(away ? upper + 1 : upper);
}

// A 64-bit integer as high*2^32 + low is an exact sum of two f64.
INLINE Sum SumOf(u64 v) {
  return TwoSum(static_cast<double>(static_cast<u32>(v >> 32)) * 0x1p32,
                static_cast<double>(static_cast<u32>(v)));
}
INLINE Sum SumOf(s64 v) {
  return TwoSum(static_cast<double>(static_cast<s32>(v >> 32)) * 0x1p32,
                static_cast<double>(static_cast<u32>(v)));
}
DEV(double, cvt_odd_f64_u64)(u64 v) {
  const Sum s = SumOf(v);
  return ToOdd(s.high, s.low);
}
DEV(double, cvt_odd_f64_s64)(s64 v) {
  const Sum s = SumOf(v);
  return ToOdd(s.high, s.low);
}

#define DEFINE_CONVERT(mode, suffix)                                          \
  DEV(float, cvt_##suffix##_f32_f64)(double v) { return ToFloat<mode>(v); }   \
  DEV(_Float16, cvt_##suffix##_f16_f64)(double v) { return ToHalf<mode>(v); } \
  DEV(u16, cvt_##suffix##_bf16_f64)(double v) { return ToBfloat<mode>(v); }   \
  DEV(double, cvt_##suffix##_f64_u64)(u64 v) {                                \
    const Sum s = SumOf(v);                                                   \
    return Adjust<mode>(s.high, s.low);                                       \
  }                                                                           \
  DEV(double, cvt_##suffix##_f64_s64)(s64 v) {                                \
    const Sum s = SumOf(v);                                                   \
    return Adjust<mode>(s.high, s.low);                                       \
  }

DEFINE_CONVERT(kRz, rz)
DEFINE_CONVERT(kRm, rm)
DEFINE_CONVERT(kRp, rp)
#undef DEFINE_CONVERT

// ---- Small formats ----------------------------------------------------------
//
// Open Compute Project, "8-bit Floating Point" and "Microscaling Formats":
//   e4m3  bias 7, no infinity, NaN 0x7f, largest 448 (0x7e)
//   e5m2  bias 15, IEEE-like, largest 57344 (0x7b), NaN 0x7f
//   e2m3  bias 1, no NaN, largest 7.5 (0x1f)
//   e3m2  bias 3, no NaN, largest 28 (0x1f)
//   e2m1  bias 1, no NaN, largest 6 (0x7)
struct Small {
  int mantissa_bits;
  int bias;
  u32 largest;  // code of the largest finite magnitude
  u32 sign;     // sign bit
  u32 nan;      // code of NaN; the largest finite where there is none
};
constexpr Small kE4M3 = {3, 7, 0x7e, 0x80, 0x7f};
constexpr Small kE5M2 = {2, 15, 0x7b, 0x80, 0x7f};
constexpr Small kE2M3 = {3, 1, 0x1f, 0x20, 0x1f};
constexpr Small kE3M2 = {2, 3, 0x1f, 0x20, 0x1f};
constexpr Small kE2M1 = {1, 1, 0x7, 0x8, 0x7};

// To nearest even, saturating to the largest finite number.
INLINE u32 Encode(float v, Small f) {
  const u32 bits = BitsOf(v);
  const u32 sign = bits >> 31 ? f.sign : 0;
  const u32 magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return f.nan;
  // The smallest normal number has this f32 exponent.
  const int least = 1 - f.bias;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  u32 code;
  if (exponent < least) {
    // Subnormal: a count of 2^(least - mantissa_bits), rounded by adding a
    // number whose last place is that unit.
    const float unit = __builtin_ldexpf(1.0f, least - f.mantissa_bits + 23);
    const float rounded = (__builtin_bit_cast(float, magnitude) + unit) - unit;
    code = static_cast<u32>(__builtin_ldexpf(rounded, f.mantissa_bits - least));
  } else {
    const int drop = 23 - f.mantissa_bits;
    const u32 rounded =
        magnitude + ((1u << (drop - 1)) - 1) + ((magnitude >> drop) & 1);
    code =
        (rounded >> drop) - (static_cast<u32>(127 - f.bias) << f.mantissa_bits);
    if (code > f.largest || magnitude >= 0x7f800000) code = f.largest;
  }
  return sign | code;
}

INLINE float Decode(u32 code, Small f) {
  const u32 magnitude = code & (f.sign - 1);
  const u32 fraction = magnitude & ((1u << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  float v = exponent == 0
                ? __builtin_ldexpf(static_cast<float>(fraction),
                                   1 - f.bias - f.mantissa_bits)
                : __builtin_ldexpf(
                      static_cast<float>(fraction + (1u << f.mantissa_bits)),
                      exponent - f.bias - f.mantissa_bits);
  if (f.nan != f.largest && magnitude > f.largest) {
    // e5m2 has an infinity below its NaNs.
    const bool infinite = f.mantissa_bits == 2 && fraction == 0;
    v = infinite ? __builtin_inff() : __builtin_nanf("");
  }
  return code & f.sign ? -v : v;
}

DEV(u32, encode_e4m3)(float v) { return Encode(v, kE4M3); }
DEV(u32, encode_e5m2)(float v) { return Encode(v, kE5M2); }
DEV(u32, encode_e2m3)(float v) { return Encode(v, kE2M3); }
DEV(u32, encode_e3m2)(float v) { return Encode(v, kE3M2); }
DEV(u32, encode_e2m1)(float v) { return Encode(v, kE2M1); }
DEV(float, decode_e4m3)(u32 code) { return Decode(code, kE4M3); }
DEV(float, decode_e5m2)(u32 code) { return Decode(code, kE5M2); }
DEV(float, decode_e2m3)(u32 code) { return Decode(code, kE2M3); }
DEV(float, decode_e3m2)(u32 code) { return Decode(code, kE3M2); }
DEV(float, decode_e2m1)(u32 code) { return Decode(code, kE2M1); }

// ---- Stochastic rounding ----------------------------------------------------

// Random bits are added below the last place that stays, the rest is cut off:
// with `count` random bits the result is the neighbour away from zero as
// often as the fraction says. How rbits is split stands in the PTX manual;
// which of a fraction's bits it meets does not, where there are more of them
// than random ones: here the uppermost.
//
// f16 and bf16 have an infinity behind the largest number, `infinity`; the
// others saturate.
INLINE u32 EncodeRandom(float v, Small f, u32 random, int count, u32 infinity) {
  const u32 bits = BitsOf(v);
  const u32 sign = bits >> 31 ? f.sign : 0;
  const u32 magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return f.nan;
  if (magnitude == 0x7f800000) return sign | infinity;
  const bool subnormal = magnitude < 0x800000;
  const int exponent =
      subnormal ? -126 : static_cast<int>(magnitude >> 23) - 127;
  const u64 mantissa = (magnitude & 0x7fffff) | (subnormal ? 0 : 0x800000);
  const int least = 1 - f.bias;
  int drop = 23 - f.mantissa_bits;
  if (exponent < least) drop += least - exponent;
  if (drop > 48) return sign;  // far below the smallest number
  const u64 added = drop >= count ? static_cast<u64>(random) << (drop - count)
                                  : static_cast<u64>(random) >> (count - drop);
  const u32 kept = static_cast<u32>((mantissa + added) >> drop);
  u32 code = kept;
  if (exponent >= least) {
    code += static_cast<u32>(exponent - least) << f.mantissa_bits;
  }
  return sign | (code > f.largest ? infinity : code);
}
constexpr Small kHalfFormat = {10, 15, 0x7bff, 0x8000, 0x7fff};
constexpr Small kBrainFormat = {7, 127, 0x7f7f, 0x8000, 0x7fff};

DEV(u32, random_f16)(float v, u32 random, bool finite) {
  return EncodeRandom(v, kHalfFormat, random & 0x1fff, 13,
                      finite ? 0x7bff : 0x7c00);
}
DEV(u32, random_bf16)(float v, u32 random, bool finite) {
  return EncodeRandom(v, kBrainFormat, random & 0xffff, 16,
                      finite ? 0x7f7f : 0x7f80);
}
DEV(u32, random_e4m3)(float v, u32 random, bool) {
  return EncodeRandom(v, kE4M3, random & 0xffff, 16, kE4M3.largest);
}
DEV(u32, random_e5m2)(float v, u32 random, bool) {
  return EncodeRandom(v, kE5M2, random & 0xffff, 16, kE5M2.largest);
}
DEV(u32, random_e2m3)(float v, u32 random, bool) {
  return EncodeRandom(v, kE2M3, random & 0xffff, 16, kE2M3.largest);
}
DEV(u32, random_e3m2)(float v, u32 random, bool) {
  return EncodeRandom(v, kE3M2, random & 0xffff, 16, kE3M2.largest);
}
DEV(u32, random_e2m1)(float v, u32 random, bool) {
  return EncodeRandom(v, kE2M1, random & 0xffff, 16, kE2M1.largest);
}

// ---- Fixed point ------------------------------------------------------------

// s2f6: 64ths in a signed byte, from -2 to 127/64. NaN is the largest, as in
// the formats without one.
INLINE u32 EncodeFixed(double v, double rounded) {
  if (v != v) return 0x7f;
  const double bounded = rounded > 127 ? 127 : rounded < -128 ? -128 : rounded;
  return static_cast<u32>(static_cast<s32>(bounded)) & 0xff;
}
DEV(u32, encode_s2f6_rn)(double v) {
  return EncodeFixed(v, __builtin_rint(v * 64));
}
DEV(u32, encode_s2f6_rz)(double v) {
  return EncodeFixed(v, __builtin_trunc(v * 64));
}
DEV(float, decode_s2f6)(u32 code) {
  return static_cast<float>(static_cast<s32>(code << 24) >> 24) / 64;
}

// ---- Scales -----------------------------------------------------------------

// ue8m0: a power of two, 2^(code - 127); 0xff is NaN. The sign is dropped.
DEV(float, decode_ue8m0)(u32 code) {
  return code == 0xff ? __builtin_nanf("")
                      : __builtin_ldexpf(1.0f, static_cast<int>(code) - 127);
}
// The same and its inverse, where f32 would lose the smallest.
INLINE double Power(u32 code, int exponent) {
  return code == 0xff ? __builtin_nan("") : __builtin_ldexp(1.0, exponent);
}
DEV(double, scale_ue8m0)(u32 code) {
  return Power(code, static_cast<int>(code) - 127);
}
DEV(double, unscale_ue8m0)(u32 code) {
  return Power(code, 127 - static_cast<int>(code));
}
// Too large is 0xff, or with .satfinite the largest power.
template <bool up, bool finite>
INLINE u32 EncodeScale(float v) {
  const u32 magnitude = BitsOf(v) & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0xff;
  u32 code = magnitude >> 23;
  const u32 fraction = magnitude & 0x7fffff;
  if (code == 0) {
    // Code 0 is 2^-127, the upper half of f32's subnormals.
    return up && magnitude > 0x400000 ? 1 : 0;
  }
  if (up && fraction != 0) ++code;
  return code >= 0xff ? (finite ? 0xfe : 0xff) : code;
}
DEV(u32, encode_ue8m0_rz)(float v) { return EncodeScale<false, false>(v); }
DEV(u32, encode_ue8m0_rp)(float v) { return EncodeScale<true, false>(v); }
DEV(u32, encode_ue8m0_rz_satfinite)(float v) {
  return EncodeScale<false, true>(v);
}
DEV(u32, encode_ue8m0_rp_satfinite)(float v) {
  return EncodeScale<true, true>(v);
}

#endif  // CERBERUS_DEVLIB_CONVERT_H_
