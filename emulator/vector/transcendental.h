// The transcendental instructions, one lane at a time and without branches, so
// that loops over lanes vectorise. The host must be rounding to nearest.
//
// They may be wrong by about one unit in the last place. They are computed in
// double precision and rounded once, so the error is below 0.51 units and the
// result is the same on every host. The f32 units take denormals as zero and
// give zero for them.
#ifndef CERBERUS_EMULATOR_VECTOR_TRANSCENDENTAL_H_
#define CERBERUS_EMULATOR_VECTOR_TRANSCENDENTAL_H_

#include "emulator/vector/float_math.h"

namespace cerberus::emulator {

CERBERUS_EMU_INLINE float NarrowFlushed(double v) {
  return FlushDenormal(static_cast<float>(v));
}

CERBERUS_EMU_INLINE float RcpLane(float v) {
  const float x = FlushDenormal(v);
  const float r = FlushDenormal(1.0f / x);
  return IsNan(v) ? Quiet(v) : r;
}

CERBERUS_EMU_INLINE float RsqLane(float v) {
  const float x = FlushDenormal(v);
  const float r = NarrowFlushed(1.0 / __builtin_sqrt(static_cast<double>(x)));
  return IsNan(v) ? Quiet(v) : r;
}

CERBERUS_EMU_INLINE float SqrtLane(float v) {
  const float r = __builtin_sqrtf(FlushDenormal(v));
  return IsNan(v) ? Quiet(v) : r;
}

// The exponential series of f * ln 2 for f in [-0.5, 0.5] to degree 12: the
// first term left out is below 2^-58. n comes from adding 1.5 * 2^52, which
// leaves it in the low bits.
CERBERUS_EMU_INLINE float ExpLane(float v) {
  const float x = FlushDenormal(v);
  const bool inside = x >= -126 && x < 128;
  const double w = inside ? static_cast<double>(x) : 0.0;
  const double shifted = w + 0x1.8p52;
  const double f = (w - (shifted - 0x1.8p52)) * 0.693147180559945309417;
  double sum = 1.0 / 479001600;
  sum = sum * f + 1.0 / 39916800;
  sum = sum * f + 1.0 / 3628800;
  sum = sum * f + 1.0 / 362880;
  sum = sum * f + 1.0 / 40320;
  sum = sum * f + 1.0 / 5040;
  sum = sum * f + 1.0 / 720;
  sum = sum * f + 1.0 / 120;
  sum = sum * f + 1.0 / 24;
  sum = sum * f + 1.0 / 6;
  sum = sum * f + 0.5;
  sum = sum * f + 1.0;
  sum = sum * f + 1.0;
  const double power = F64((Bits(shifted) + 1023) << 52);
  float r = NarrowFlushed(sum * power);
  // Results below the smallest normal number are flushed.
  r = inside ? r : x < 0 ? 0.0f : F32(0x7f800000);
  return IsNan(v) ? Quiet(v) : r;
}

// log2 of a mantissa in [sqrt(1/2), sqrt(2)): 2 / ln 2 * atanh(s) with
// s = (m - 1) / (m + 1), to s^23.
CERBERUS_EMU_INLINE float LogLane(float v) {
  const float x = FlushDenormal(v);
  i32 e = static_cast<i32>(Bits(x) >> 23 & 255) - 126;
  const double half =
      static_cast<double>(F32((Bits(x) & 0x7fffff) | 0x3f000000));
  const bool low = half < 0.70710678118654752440;
  const double m = low ? half + half : half;
  e = low ? e - 1 : e;
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double sum = 1.0 / 23;
  sum = sum * s2 + 1.0 / 21;
  sum = sum * s2 + 1.0 / 19;
  sum = sum * s2 + 1.0 / 17;
  sum = sum * s2 + 1.0 / 15;
  sum = sum * s2 + 1.0 / 13;
  sum = sum * s2 + 1.0 / 11;
  sum = sum * s2 + 1.0 / 9;
  sum = sum * s2 + 1.0 / 7;
  sum = sum * s2 + 1.0 / 5;
  sum = sum * s2 + 1.0 / 3;
  sum = sum * s2 + 1.0;
  float r = NarrowFlushed(e + sum * s * 2.885390081777926814719);
  r = Bits(x) == 0x7f800000 ? x : r;
  r = x < 0 ? F32(0xffc00000) : r;
  r = x == 0 ? F32(0xff800000) : r;
  return IsNan(v) ? Quiet(v) : r;
}

// sin(2 pi (v + quarter / 4)), exact in its reduction.
CERBERUS_EMU_INLINE float SinTurns(float v, i32 quarter) {
  const float y = FlushDenormal(v);
  const bool finite = y - y == 0;
  const double t = finite ? static_cast<double>(y) : 0.0;
  const double f = t - __builtin_floor(t);  // [0, 1)
  i32 q = static_cast<i32>(f * 4 + 0.5);    // the nearest quarter
  const double x = (f - q * 0.25) * 6.283185307179586476925;
  const double x2 = x * x;
  q += quarter;
  // The series of the cosine, or of sin(x) / x, in one.
  const bool odd = (q & 1) != 0;
  const auto term =
      [odd](double sine, double cosine)
          __attribute__((always_inline)) { return odd ? cosine : sine; };
  double r = term(-1.0 / 1307674368000.0, -1.0 / 87178291200.0);
  r = r * x2 + term(1.0 / 6227020800.0, 1.0 / 479001600);
  r = r * x2 + term(-1.0 / 39916800, -1.0 / 3628800);
  r = r * x2 + term(1.0 / 362880, 1.0 / 40320);
  r = r * x2 + term(-1.0 / 5040, -1.0 / 720);
  r = r * x2 + term(1.0 / 120, 1.0 / 24);
  r = r * x2 + term(-1.0 / 6, -0.5);
  r = r * x2 + 1.0;
  r = odd ? r : r * x;
  r = (q & 2) != 0 ? -r : r;
  const float narrow = NarrowFlushed(r);
  return IsNan(v) ? Quiet(v) : finite ? narrow : F32(0xffc00000);
}
CERBERUS_EMU_INLINE float SinLane(float v) {
  // A zero keeps its sign.
  const float x = FlushDenormal(v);
  return x == 0 ? x : SinTurns(v, 0);
}
CERBERUS_EMU_INLINE float CosLane(float v) { return SinTurns(v, 1); }

// The f64 units approximate; these are the correctly rounded values.
CERBERUS_EMU_INLINE double RcpLane(double v) {
  return IsNan(v) ? Quiet(v) : 1.0 / v;
}
CERBERUS_EMU_INLINE double RsqLane(double v) {
  return IsNan(v) ? Quiet(v) : 1.0 / __builtin_sqrt(v);
}
CERBERUS_EMU_INLINE double SqrtLane(double v) {
  return IsNan(v) ? Quiet(v) : __builtin_sqrt(v);
}

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_TRANSCENDENTAL_H_
