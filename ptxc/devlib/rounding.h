// Directed rounding without touching the rounding mode.
//
// Each operation rounds to nearest and finds the sign of what that lost,
// e = exact - nearest. Since |e| is at most half a place, the directed result
// is the nearest one or its neighbour on the side of the exact value:
//   toward -inf: next below if e < 0;  toward +inf: next above if e > 0;
//   toward zero: one step to zero if e points there.
// An overflow to infinity has e = -infinity and so steps back to the largest
// number, as it must.
#ifndef CERBERUS_DEVLIB_ROUNDING_H_
#define CERBERUS_DEVLIB_ROUNDING_H_

#include "device.h"

enum Mode { kRz, kRm, kRp };

template <typename T> struct Traits;
template <> struct Traits<double> {
  using Bits = u64;
  static constexpr u64 kSign = 1ul << 63;
};
template <> struct Traits<float> {
  using Bits = u32;
  static constexpr u32 kSign = 1u << 31;
};
template <> struct Traits<_Float16> {
  using Bits = u16;
  static constexpr u16 kSign = 1u << 15;
};

template <typename T>
INLINE T FromBits(typename Traits<T>::Bits bits) {
  return __builtin_bit_cast(T, bits);
}

// The neighbours of a number that is not NaN and not the infinity in that
// direction.
template <typename T>
INLINE T NextUp(T v) {
  using B = typename Traits<T>::Bits;
  B bits = BitsOf(v);
  if ((bits & ~Traits<T>::kSign) == 0) return FromBits<T>(1);
  return FromBits<T>(
      static_cast<B>(bits & Traits<T>::kSign ? bits - 1 : bits + 1));
}
template <typename T>
INLINE T NextDown(T v) {
  using B = typename Traits<T>::Bits;
  B bits = BitsOf(v);
  if ((bits & ~Traits<T>::kSign) == 0) {
    return FromBits<T>(static_cast<B>(Traits<T>::kSign | 1));
  }
  return FromBits<T>(
      static_cast<B>(bits & Traits<T>::kSign ? bits + 1 : bits - 1));
}

template <Mode mode, typename T>
INLINE T Adjust(T nearest, double error) {
  const bool negative = BitsOf(nearest) & Traits<T>::kSign;
  const bool down = error < 0 && (mode == kRm || (mode == kRz && !negative));
  const bool up = error > 0 && (mode == kRp || (mode == kRz && negative));
  if (down) return NextDown(nearest);
  if (up) return NextUp(nearest);
  return nearest;
}

INLINE double Fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

// Knuth's exact sum: high + low == a + b.
struct Sum {
  double high;
  double low;
};
INLINE Sum TwoSum(double a, double b) {
  const double high = a + b;
  const double b_part = high - a;
  const double low = (a - (high - b_part)) + (b - b_part);
  return {high, low};
}

INLINE bool IsInf(double v) { return __builtin_isinf(v); }
INLINE bool IsNan(double v) { return v != v; }

// An exact zero sum of numbers of opposite sign is -0 toward -inf.
template <Mode mode, typename T>
INLINE T ZeroSign(T sum, bool any_negative) {
  if (mode == kRm && sum == 0 && any_negative) {
    return FromBits<T>(Traits<T>::kSign);
  }
  return sum;
}

// exact = s.high + s.low, to f32.
template <Mode mode>
INLINE float SumToFloat(Sum s) {
  const float nearest = static_cast<float>(s.high);
  const double first = s.high - static_cast<double>(nearest);
  return Adjust<mode>(nearest, first != 0 ? first : s.low);
}

// ---- Division to nearest ----------------------------------------------------

// LLVM divides with v_div_scale, v_div_fmas and v_div_fixup. By the letter of
// AMD's manuals that gives NaN where the quotient is so large that the scaled
// one overflows as well, and where it and the divisor's inverse are both
// subnormal. Few divisions end here.
template <typename T>
INLINE T QuotientFarOut(T a, T b, T nan) {
  const T infinity = __builtin_inf();
  const T size = __builtin_elementwise_abs(b);
  if (a == 0 || b != b || size == infinity) return nan;  // by IEEE 754
  if (size < 1) return a * __builtin_elementwise_copysign(infinity, b);
  // Both smaller: exact, because a is none of the smallest numbers.
  constexpr T kFactor = 1.0 / 256;
  return (a * kFactor) / (b * kFactor);
}

template <typename T>
INLINE T Quotient(T a, T b) {
  const T q = a / b;
  return __builtin_expect(q != q, 0) ? QuotientFarOut(a, b, q) : q;
}

DEV(float, div_f32)(float a, float b) { return Quotient(a, b); }
DEV(double, div_f64)(double a, double b) { return Quotient(a, b); }

// ---- f32, through f64 -------------------------------------------------------

template <Mode mode>
INLINE float Add(float a, float b) {
  const Sum s = TwoSum(a, b);
  const float r = SumToFloat<mode>(s);
  return s.high == 0 ? ZeroSign<mode>(r, (BitsOf(a) | BitsOf(b)) >> 31) : r;
}
template <Mode mode>
INLINE float Mul(float a, float b) {
  return SumToFloat<mode>({static_cast<double>(a) * b, 0});
}
template <Mode mode>
INLINE float FusedMulAdd(float a, float b, float c) {
  const double product = static_cast<double>(a) * b;
  const Sum s = TwoSum(product, c);
  const float r = SumToFloat<mode>(s);
  return s.high == 0
             ? ZeroSign<mode>(r, ((BitsOf(product) >> 32) | BitsOf(c)) >> 31)
             : r;
}
template <Mode mode>
INLINE float Div(float a, float b) {
  const float q = Quotient(a, b);
  const double rest = Fma(-static_cast<double>(q), b, a);
  return Adjust<mode>(q, b < 0 ? -rest : rest);
}
template <Mode mode>
INLINE float Sqrt(float a) {
  const float r = __builtin_sqrtf(a);
  return Adjust<mode>(r, Fma(-static_cast<double>(r), r, a));
}

// ---- f64, by its own error terms --------------------------------------------

template <Mode mode>
INLINE double Add(double a, double b) {
  const Sum s = TwoSum(a, b);
  double error = s.low;
  if (IsInf(s.high)) error = IsInf(a) || IsInf(b) ? 0 : -s.high;
  const double r = Adjust<mode>(s.high, error);
  return s.high == 0 ? ZeroSign<mode>(r, (BitsOf(a) | BitsOf(b)) >> 63) : r;
}

// Mantissa in [1/2, 1) and exponent; zero, infinity and NaN keep their value
// with exponent 0.
INLINE double Mantissa(double v) { return __builtin_amdgcn_frexp_mant(v); }
INLINE int Exponent(double v) { return __builtin_amdgcn_frexp_exp(v); }
INLINE double Scale(double v, int exponent) {
  return __builtin_ldexp(v, exponent);
}

template <Mode mode>
INLINE double Mul(double a, double b) {
  const double p = a * b;
  // In [1/4, 1) nothing of the error underflows.
  const double scaled = Scale(p, -(Exponent(a) + Exponent(b)));
  return Adjust<mode>(p, Fma(Mantissa(a), Mantissa(b), -scaled));
}

template <Mode mode>
INLINE double FusedMulAdd(double a, double b, double c) {
  const double r = Fma(a, b, c);
  if (a == 0 || b == 0) {
    // Products of zero are exact.
    const double product = a * b;
    return r == 0 ? ZeroSign<mode>(r, (BitsOf(product) | BitsOf(c)) >> 63) : r;
  }
  if (IsNan(r) || IsInf(a) || IsInf(b) || IsInf(c)) return r;
  if (c == 0) return Mul<mode>(a, b);
  // Scale so that the larger of a*b and c lies near 1. A term below 2^-300
  // then only matters by its sign, and keeps it.
  const int product_exponent = Exponent(a) + Exponent(b);
  const int addend_exponent = Exponent(c);
  const int top =
      product_exponent > addend_exponent ? product_exponent : addend_exponent;
  const int product_down =
      product_exponent - top < -300 ? -300 : product_exponent - top;
  const int addend_down =
      addend_exponent - top < -300 ? -300 : addend_exponent - top;
  const double m = Scale(Mantissa(a), product_down);
  const double n = Mantissa(b);
  const double addend = Scale(Mantissa(c), addend_down);
  const double high = m * n;
  const double low = Fma(m, n, -high);
  const Sum s = TwoSum(high, addend);
  const double scaled = Scale(r, -top);
  if (IsInf(r) || IsInf(scaled)) {
    return Adjust<mode>(r, r > 0 ? -__builtin_inf() : __builtin_inf());
  }
  if (s.high == 0 && s.low == 0 && low == 0) {
    return ZeroSign<mode>(r, true);
  }
  const Sum t = TwoSum(s.low, low);
  const Sum u = TwoSum(s.high - scaled, t.high);
  return Adjust<mode>(r, u.high != 0 ? u.high : u.low + t.low);
}

template <Mode mode>
INLINE double Div(double a, double b) {
  const double q = Quotient(a, b);
  if (IsNan(q) || IsInf(a) || IsInf(b) || a == 0 || b == 0) return q;
  // a = q*b + rest, with all of them scaled to about 1.
  const int quotient_exponent = Exponent(a) - Exponent(b);
  const double scaled = Scale(q, -quotient_exponent);
  if (IsInf(q)) {
    return Adjust<mode>(q, q > 0 ? -__builtin_inf() : __builtin_inf());
  }
  const double rest = Fma(-scaled, Mantissa(b), Mantissa(a));
  return Adjust<mode>(q, b < 0 ? -rest : rest);
}

template <Mode mode>
INLINE double Sqrt(double a) {
  const double r = __builtin_sqrt(a);
  if (!(a > 0) || IsInf(a)) return r;
  // An even exponent comes out of the root exactly.
  const int exponent = Exponent(a) & ~1;
  const double m = Scale(a, -exponent);
  const double s = Scale(r, -(exponent / 2));
  return Adjust<mode>(r, Fma(-s, s, m));
}

#define DEFINE_ROUNDED(mode, suffix)                                           \
  DEV(float, add_##suffix##_f32)(float a, float b) { return Add<mode>(a, b); } \
  DEV(float, mul_##suffix##_f32)(float a, float b) { return Mul<mode>(a, b); } \
  DEV(float, fma_##suffix##_f32)(float a, float b, float c) {                  \
    return FusedMulAdd<mode>(a, b, c);                                         \
  }                                                                            \
  DEV(float, div_##suffix##_f32)(float a, float b) { return Div<mode>(a, b); } \
  DEV(float, sqrt_##suffix##_f32)(float a) { return Sqrt<mode>(a); }           \
  DEV(double, add_##suffix##_f64)(double a, double b) {                        \
    return Add<mode>(a, b);                                                    \
  }                                                                            \
  DEV(double, mul_##suffix##_f64)(double a, double b) {                        \
    return Mul<mode>(a, b);                                                    \
  }                                                                            \
  DEV(double, fma_##suffix##_f64)(double a, double b, double c) {              \
    return FusedMulAdd<mode>(a, b, c);                                         \
  }                                                                            \
  DEV(double, div_##suffix##_f64)(double a, double b) {                        \
    return Div<mode>(a, b);                                                    \
  }                                                                            \
  DEV(double, sqrt_##suffix##_f64)(double a) { return Sqrt<mode>(a); }

DEFINE_ROUNDED(kRz, rz)
DEFINE_ROUNDED(kRm, rm)
DEFINE_ROUNDED(kRp, rp)
#undef DEFINE_ROUNDED

// Rounded to odd: if inexact, the neighbour with an odd last place. Rounding
// that once more, to fewer bits, gives what one rounding would have given.
INLINE double ToOdd(double nearest, double error) {
  if (error == 0 || IsInf(nearest) || IsNan(error)) return nearest;
  if (BitsOf(nearest) & 1) return nearest;
  return error > 0 ? NextUp(nearest) : NextDown(nearest);
}

// For operands of the half formats, whose product f64 holds exactly.
DEV(double, fma_odd_f64)(double a, double b, double c) {
  const Sum s = TwoSum(a * b, c);
  return ToOdd(s.high, s.low);
}

#endif  // CERBERUS_DEVLIB_ROUNDING_H_
