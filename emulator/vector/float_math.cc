#include "emulator/vector/float_math.h"

#include <algorithm>
#include <array>
#include <cfenv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "emulator/execute/host_env.h"
#include "emulator/vector/transcendental.h"

namespace cerberus::emulator {
float RcpF32(float v) {
  NearestEnv env;
  return RcpLane(v);
}
float RsqF32(float v) {
  NearestEnv env;
  return RsqLane(v);
}
float SqrtF32(float v) {
  NearestEnv env;
  return SqrtLane(v);
}
float ExpF32(float v) {
  NearestEnv env;
  return ExpLane(v);
}
float LogF32(float v) {
  NearestEnv env;
  return LogLane(v);
}

float TanhF32(float v) {
  if (IsNan(v)) return Quiet(v);
  NearestEnv env;
  return static_cast<float>(std::tanh(static_cast<double>(v)));
}

// Bits of 2/pi behind the binary point, most significant first. Computed once
// with integers: pi from Machin's formula.
static std::vector<u32> TwoOverPi() {
  // Fixed point with kWords words of fraction behind one word.
  constexpr int kWords = 46;
  using Fixed = std::array<u32, kWords + 1>;  // [0] is the whole part
  const auto divide = [](Fixed& f, u32 by) {
    u64 rest = 0;
    for (u32& w : f) {
      const u64 n = rest << 32 | w;
      w = static_cast<u32>(n / by);
      rest = n % by;
    }
  };
  const auto zero = [](const Fixed& f) {
    return std::all_of(f.begin(), f.end(), [](u32 w) { return w == 0; });
  };
  const auto add = [](Fixed& a, const Fixed& b) {
    u64 carry = 0;
    for (int i = kWords; i >= 0; --i) {
      carry += static_cast<u64>(a[i]) + b[i];
      a[i] = static_cast<u32>(carry);
      carry >>= 32;
    }
  };
  const auto sub = [](Fixed& a, const Fixed& b) {
    u64 borrow = 0;
    for (int i = kWords; i >= 0; --i) {
      const u64 t = static_cast<u64>(a[i]) - b[i] - borrow;
      a[i] = static_cast<u32>(t);
      borrow = t >> 63;
    }
  };
  const auto arctan_inverse = [&](u32 x, u32 factor) {
    Fixed power = {}, sum = {};
    power[0] = factor;
    divide(power, x);
    sum = power;
    for (u32 k = 3, odd = 1; !zero(power); k += 2, odd ^= 1) {
      divide(power, x);
      divide(power, x);
      Fixed term = power;
      divide(term, k);
      if (odd != 0) sub(sum, term);
      else add(sum, term);
    }
    return sum;
  };
  Fixed pi = arctan_inverse(5, 16);
  sub(pi, arctan_inverse(239, 4));
  // Long division of 2 by pi, a bit at a time.
  Fixed rest = {};
  rest[0] = 2;
  std::vector<u32> bits(1280 / 32 + 4, 0);
  for (int i = 0; i < 1300; ++i) {
    add(rest, Fixed(rest));
    if (!std::lexicographical_compare(rest.begin(), rest.end(), pi.begin(),
                                      pi.end())) {
      sub(rest, pi);
      bits[i / 32] |= 0x80000000u >> (i % 32);
    }
  }
  return bits;
}

double TrigPreop(double v, u32 segment) {
  static const std::vector<u32> bits = TwoOverPi();
  int shift = static_cast<int>(segment & 31) * 53;
  const int e = Exponent(v);
  if (e > 1077) shift += e - 1077;
  // 53 bits of the 1201-bit fraction, beginning `shift` bits behind the point.
  u64 field = 0;
  for (int i = 0; i < 53; ++i) {
    const int at = shift + i;
    const u32 bit = at < 1201 ? bits[at / 32] >> (31 - at % 32) & 1 : 0;
    field = field << 1 | bit;
  }
  int scale = -53 - shift;
  if (e >= 1968) scale += 128;
  NearestEnv env;
  return std::ldexp(static_cast<double>(field), scale);
}

// ldexp rounds once, in the mode that is set: the factor is applied in steps
// that are exact except the last.
double LdexpF64(double v, i32 exponent) {
  if (IsNan(v)) return Quiet(v);
  exponent = std::clamp(exponent, -4400, 4400);
  // Steps up are exact until they overflow.
  while (exponent > 1023) {
    v *= 0x1p1023;
    exponent -= 1023;
  }
  if (exponent >= -1021)
    return v * F64(static_cast<u64>(exponent + 1023) << 52);
  // Down: first to the bottom of the normal range, then one inexact step.
  int e = Exponent(v);
  if (e != 0 && e != 2047) {
    const int room = e - 1;  // steps that stay normal
    const int step = std::min(room, -exponent);
    v = F64(Bits(v) - (static_cast<u64>(step) << 52));
    exponent += step;
  }
  if (exponent < -1021) exponent = -1021;
  return v * F64(static_cast<u64>(exponent + 1023) << 52);
}

float LdexpF32(float v, i32 exponent) {
  if (IsNan(v)) return Quiet(v);
  exponent = std::clamp(exponent, -600, 600);
  // Exact in f64, then rounded once to f32 as MODE says.
  return static_cast<float>(static_cast<double>(v) *
                            F64(static_cast<u64>(exponent + 1023) << 52));
}

float FrexpMant(float v) {
  if (IsNan(v) || std::isinf(v) || v == 0) return v;
  int e;
  return std::frexp(v, &e);
}
double FrexpMant(double v) {
  if (IsNan(v) || std::isinf(v) || v == 0) return v;
  int e;
  return std::frexp(v, &e);
}
i32 FrexpExp(float v) {
  if (IsNan(v) || std::isinf(v) || v == 0) return 0;
  int e;
  (void)std::frexp(v, &e);
  return e;
}
i32 FrexpExp(double v) {
  if (IsNan(v) || std::isinf(v) || v == 0) return 0;
  int e;
  (void)std::frexp(v, &e);
  return e;
}

// v_div_scale, v_div_fmas and v_div_fixup are the manuals' text, but for the
// factor of v_div_fmas (below). By that text the division that LLVM makes of
// them is NaN where the quotient overflows so far that the scaled one does, and
// where the quotient and the divisor's inverse are both denormal: a compiler
// must not count on more than is written. GPUs are said to do better, and
// programs compiled by clang count on that; CERBERUS_EMU_DIVISION=llvm gives
// them what they need.
static bool DividesAsLlvmExpects() {
  static const bool wanted = [] {
    const char* text = std::getenv("CERBERUS_EMU_DIVISION");
    return text != nullptr && std::string_view(text) == "llvm";
  }();
  return wanted;
}

// v_div_scale: scales numerator or denominator of a division so that the
// Newton iteration between v_div_scale and v_div_fmas neither overflows nor
// loses bits (RDNA3 ISA, V_DIV_SCALE_F32). Of an f32 denominator's inverse the
// text asks whether it is a denormal of f64, which it never is: of f32 is
// meant.
ScaledF32 DivScale(float s0, float s1, float s2) {
  const auto denormal = [](float v) {
    return v != 0 && (Bits(v) & 0x7f800000) == 0;
  };
  if (s2 == 0 || s1 == 0) return {F32(0xffc00000), false};
  const double inverse = 1.0 / static_cast<double>(s1);
  const bool tiny_inverse = inverse != 0 && std::fabs(inverse) < 0x1p-126;
  const float quotient = s2 / s1;
  if (Exponent(s2) - Exponent(s1) >= 96) {
    return {s0 == s1 ? LdexpF32(s0, 64) : IsNan(s0) ? Quiet(s0) : s0, true};
  }
  if (denormal(s1)) return {LdexpF32(s0, 64), false};
  if (tiny_inverse && denormal(quotient)) {
    const int up = DividesAsLlvmExpects() ? -64 : 64;
    return {s0 == s1 ? LdexpF32(s0, up) : IsNan(s0) ? Quiet(s0) : s0, true};
  }
  if (tiny_inverse) return {LdexpF32(s0, -64), false};
  if (denormal(quotient)) {
    return {s0 == s2 ? LdexpF32(s0, 64) : IsNan(s0) ? Quiet(s0) : s0, true};
  }
  if (Exponent(s2) <= 23) return {LdexpF32(s0, 64), false};
  return {IsNan(s0) ? Quiet(s0) : s0, false};
}

ScaledF64 DivScale(double s0, double s1, double s2) {
  const auto denormal = [](double v) {
    return v != 0 && (Bits(v) & 0x7ff0000000000000) == 0;
  };
  if (s2 == 0 || s1 == 0) return {F64(0xfff8000000000000), false};
  const bool tiny_inverse = denormal(1.0 / s1);
  const double quotient = s2 / s1;
  if (Exponent(s2) - Exponent(s1) >= 768) {
    return {s0 == s1 ? LdexpF64(s0, 128) : IsNan(s0) ? Quiet(s0) : s0, true};
  }
  if (denormal(s1)) return {LdexpF64(s0, 128), false};
  if (tiny_inverse && denormal(quotient)) {
    const int up = DividesAsLlvmExpects() ? -128 : 128;
    return {s0 == s1 ? LdexpF64(s0, up) : IsNan(s0) ? Quiet(s0) : s0, true};
  }
  if (tiny_inverse) return {LdexpF64(s0, -128), false};
  if (denormal(quotient)) {
    return {s0 == s2 ? LdexpF64(s0, 128) : IsNan(s0) ? Quiet(s0) : s0, true};
  }
  if (Exponent(s2) <= 53) return {LdexpF64(s0, 128), false};
  return {IsNan(s0) ? Quiet(s0) : s0, false};
}

namespace {

// a * b + c, rounded in the direction of the host's environment to a multiple
// of `unit`, which is larger than the last place of the sum.
double FmaToUnit(double a, double b, double c, double unit) {
  const std::uint32_t rounding = ReadMxcsr() >> 13 & 3;
  NearestEnv nearest;
  // The sum as two numbers, the second far below the first's last place.
  volatile double product = a * b;
  const double product_low = std::fma(a, b, -product);
  volatile double sum = product + c;
  const double part = sum - product;
  const double sum_low = (product - (sum - part)) + (c - part);
  const double low = sum_low + product_low;
  // The multiple next to it, and the rest: exact, at most half a unit.
  const double magic = std::copysign(0x1p52 * unit, sum);
  volatile double shifted = sum + magic;
  const double multiple = shifted - magic;
  const double rest = sum - multiple;
  const double above = rest + low;
  double step = 0;
  switch (rounding) {
    case 0: {
      const double over = (rest - unit / 2) + low;
      const double under = (rest + unit / 2) + low;
      const bool odd = std::fmod(multiple / unit, 2) != 0;
      if (over > 0 || (over == 0 && odd)) step = unit;
      if (under < 0 || (under == 0 && odd)) step = -unit;
      break;
    }
    case 1: step = above < 0 ? -unit : 0; break;
    case 2: step = above > 0 ? unit : 0; break;
    default:
      if (multiple > 0 || (multiple == 0 && sum > 0)) {
        step = above < 0 ? -unit : 0;
      } else {
        step = above > 0 ? unit : 0;
      }
  }
  return std::copysign(multiple + step, sum);
}

}  // namespace

// v_div_fmas: fma, and where v_div_scale set VCC, its scaling undone. The
// manual's text multiplies by 2^32 (f32) and 2^64 (f64), which undoes none of
// V_DIV_SCALE's scalings, so that no scaled division could be right; the
// quotient's size tells which one it was. A result that becomes denormal is
// rounded once.
float DivFmas(float s0, float s1, float s2, bool scaled) {
  const float r = std::fma(s0, s1, s2);
  if (!scaled || r != r) return r;
  if (Exponent(s2) > 127) return r * 0x1p64f;
  if (std::isinf(r)) {
    return std::fma(s0 * 0x1p-32f, s1 * 0x1p-32f, s2 * 0x1p-64f);
  }
  if (r == 0 || std::fabs(r) >= 0x1p-62f) return r * 0x1p-64f;
  return static_cast<float>(FmaToUnit(s0, s1, s2, 0x1p-85) * 0x1p-64);
}
double DivFmas(double s0, double s1, double s2, bool scaled) {
  const double r = std::fma(s0, s1, s2);
  if (!scaled || r != r) return r;
  if (Exponent(s2) > 1023) return r * 0x1p128;
  if (std::isinf(r)) {
    return std::fma(s0 * 0x1p-64, s1 * 0x1p-64, s2 * 0x1p-128);
  }
  if (r == 0 || std::fabs(r) >= 0x1p-894) return r * 0x1p-128;
  return FmaToUnit(s0, s1, s2, 0x1p-946) * 0x1p-128;
}

namespace {

template <typename T>
T DivFixupOf(T s0, T s1, T s2, int underflow_gap, T smallest, T default_nan) {
  const bool negative = std::signbit(s1) != std::signbit(s2);
  const T inf = std::bit_cast<T>(FloatTraits<T>::kInf);
  if (IsNan(s2)) return Quiet(s2);
  if (IsNan(s1)) return Quiet(s1);
  if (s1 == 0 && s2 == 0) return default_nan;
  if (std::isinf(s1) && std::isinf(s2)) return default_nan;
  if (s1 == 0 || std::isinf(s2)) return negative ? -inf : inf;
  if (std::isinf(s1) || s2 == 0) return negative ? -T{0} : T{0};
  if (Exponent(s2) - Exponent(s1) < underflow_gap) {
    // Below half the smallest number: rounds as MODE says, so by arithmetic.
    volatile T tiny = smallest;
    const T r = tiny * T{0.25};
    return negative ? -r : r;
  }
  // Overflow the manual's text looks for in exponent(S1), which is that of an
  // infinity and already dealt with.
  if (!std::isfinite(s0) && DividesAsLlvmExpects()) return s2 / s1;
  const T magnitude = std::fabs(s0);
  return negative ? -magnitude : magnitude;
}

}  // namespace

float DivFixup(float s0, float s1, float s2) {
  return DivFixupOf<float>(s0, s1, s2, -150, F32(1), F32(0xffc00000));
}
double DivFixup(double s0, double s1, double s2) {
  return DivFixupOf<double>(s0, s1, s2, -1075, F64(1), F64(0xfff8000000000000));
}
float DivFixup16(float s0, float s1, float s2) {
  return DivFixupOf<float>(s0, s1, s2, -1000, F32(1), F32(0xffc00000));
}

i32 ToI32(double v) {
  if (!(v > -2147483649.0)) return v != v ? 0 : INT32_MIN;
  if (v >= 2147483648.0) return INT32_MAX;
  return static_cast<i32>(v);
}
u32 ToU32(double v) {
  if (!(v > -1.0)) return 0;
  if (v >= 4294967296.0) return ~0u;
  return static_cast<u32>(static_cast<i64>(v));
}

// --- 8-bit floats ---------------------------------------------------------

float Fp8ToFloat(u8 v, Fp8Format format) {
  const int mbits = format.mantissa;
  const int ebits = 7 - mbits;
  const int bias = (1 << (ebits - 1)) - (format.fnuz ? 0 : 1);
  const u32 sign = static_cast<u32>(v & 0x80) << 24;
  const u32 mantissa = v & ((1u << mbits) - 1);
  const u32 exponent = v >> mbits & ((1u << ebits) - 1);
  if (format.fnuz) {
    if (v == 0x80) return F32(0x7fc00000);
  } else if (mbits == 2 && exponent == 31) {
    return mantissa == 0 ? F32(sign | 0x7f800000) : F32(sign | 0x7fc00000);
  } else if (mbits == 3 && (v & 0x7f) == 0x7f) {
    return F32(sign | 0x7fc00000);
  }
  if (exponent == 0) {
    const float m = static_cast<float>(mantissa);
    const float scale = F32(static_cast<u32>(127 + 1 - bias - mbits) << 23);
    return F32(sign | Bits(m * scale));
  }
  return F32(sign | (exponent + 127 - bias) << 23 | mantissa << (23 - mbits));
}

namespace {

// `extra`: what is added below the kept bits before they are cut; for
// rounding to nearest even it is computed here.
u8 Fp8FromFloat(float f, Fp8Format format, bool saturate, bool stochastic,
                u32 random) {
  const int mbits = format.mantissa;
  const int ebits = 7 - mbits;
  const int bias = (1 << (ebits - 1)) - (format.fnuz ? 0 : 1);
  const u32 x = Bits(f);
  const u8 sign = static_cast<u8>(x >> 24 & 0x80);
  const u32 a = x & 0x7fffffff;
  // The largest finite code and the codes of NaN and infinity.
  const u32 largest = format.fnuz ? 0x7f : mbits == 3 ? 0x7e : 0x7b;
  const u8 nan = format.fnuz ? 0x80 : static_cast<u8>(sign | 0x7f);
  const u8 overflow = saturate ? static_cast<u8>(sign | largest)
                      : format.fnuz || mbits == 3
                          ? nan
                          : static_cast<u8>(sign | 0x7c);
  if (a > 0x7f800000) return nan;
  if (a == 0x7f800000) {
    return !format.fnuz && mbits == 2 && !saturate
               ? static_cast<u8>(sign | 0x7c)
               : overflow;
  }
  const int e = static_cast<int>(a >> 23) - 127 + bias;  // biased, may be <= 0
  u32 m = (a & 0x7fffff) | (a >> 23 == 0 ? 0 : 0x800000);
  int shift = 23 - mbits;
  u32 base = 0;
  if (e <= 0) {
    shift += 1 - e;
    if (shift > 31) shift = 31;
  } else {
    base = static_cast<u32>(e - 1) << mbits;
  }
  u32 q = m >> shift;
  const u32 rest = m & ((1u << shift) - 1);
  if (stochastic) {
    const u32 noise = shift >= 32 ? random : random >> (32 - shift);
    q += (static_cast<u64>(rest) + noise) >> shift != 0 ? 1 : 0;
  } else {
    const u32 half = 1u << (shift - 1);
    q += rest > half || (rest == half && (q & 1) != 0) ? 1 : 0;
  }
  const u32 code = base + q;
  if (code > largest) return overflow;
  if (format.fnuz && code == 0) return 0;  // there is no negative zero
  return static_cast<u8>(sign | code);
}

}  // namespace

u8 FloatToFp8(float f, Fp8Format format, bool saturate) {
  return Fp8FromFloat(f, format, saturate, false, 0);
}
u8 FloatToFp8Stochastic(float f, u32 random, Fp8Format format, bool saturate) {
  return Fp8FromFloat(f, format, saturate, true, random);
}

}  // namespace cerberus::emulator
