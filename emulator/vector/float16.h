// f16 and bf16 by integer arithmetic, in all rounding modes, written without
// branches so that loops over lanes vectorise.
#ifndef CERBERUS_EMULATOR_VECTOR_FLOAT16_H_
#define CERBERUS_EMULATOR_VECTOR_FLOAT16_H_

#include <bit>
#include <cmath>

#include "emulator/decode/op.h"

// Lane loops vectorise only if nothing in them is a call.
#define CERBERUS_EMU_INLINE [[gnu::always_inline]] inline

namespace cerberus::emulator {

enum Round : u8 { kNearest = 0, kUp = 1, kDown = 2, kZero = 3 };

inline u32 Bits(float f) { return std::bit_cast<u32>(f); }
inline u64 Bits(double d) { return std::bit_cast<u64>(d); }
inline float F32(u32 b) { return std::bit_cast<float>(b); }
inline double F64(u64 b) { return std::bit_cast<double>(b); }

CERBERUS_EMU_INLINE float HalfToFloat(u16 h, bool flush = false) {
  const u32 sign = static_cast<u32>(h & 0x8000) << 16;
  const u32 em = h & 0x7fff;
  const u32 wide = em << 13;
  const u32 normal = wide + (112u << 23);
  const u32 special = wide + (224u << 23);  // exponent 31 becomes 255
  // 2^-14 * (1 + m/1024) - 2^-14: no f32 denormal takes part. Rounding down,
  // the host makes a zero difference negative.
  const u32 denormal =
      Bits(F32((113u << 23) | wide) - F32(113u << 23)) & 0x7fffffff;
  u32 r = em >= 0x7c00 ? special : normal;
  r = em < 0x400 ? (flush ? 0u : denormal) : r;
  return F32(sign | r);
}

// Adds one unit in the last place to q where the rounding mode asks for it.
template <typename T>
CERBERUS_EMU_INLINE T RoundUnit(T q, T rest, T half, bool negative, u32 round) {
  const bool nearest = rest > half || (rest == half && (q & 1) != 0);
  const bool away = rest != 0 && ((round == kUp && !negative) ||
                                  (round == kDown && negative));
  return q + static_cast<T>(round == kNearest ? nearest : away);
}

// What an overflowing magnitude becomes: infinity or the largest number.
CERBERUS_EMU_INLINE u32 OverflowHalf(bool negative, u32 round) {
  const bool infinite = round == kNearest || (round == kUp && !negative) ||
                        (round == kDown && negative);
  return infinite ? 0x7c00 : 0x7bff;
}

CERBERUS_EMU_INLINE u16 FloatToHalf(float f, u32 round, bool flush = false) {
  const u32 x = Bits(f);
  const bool negative = (x >> 31) != 0;
  const u32 a = x & 0x7fffffff;
  const u32 exponent = a >> 23;
  const bool tiny = a < 0x38800000;  // below 2^-14
  u32 shift = tiny ? 126 - (exponent == 0 ? 1 : exponent) : 13;
  shift = shift > 25 ? 25 : shift;
  const u32 mantissa = (a & 0x7fffff) | (exponent == 0 ? 0 : 0x800000);
  const u32 m = tiny ? mantissa : a - 0x38000000;
  const u32 rest = m & ((1u << shift) - 1);
  u32 q = RoundUnit<u32>(m >> shift, rest, 1u << (shift - 1), negative, round);
  q = flush && q < 0x400 ? 0 : q;
  q = a >= 0x47800000 || q >= 0x7c00 ? OverflowHalf(negative, round) : q;
  q = a == 0x7f800000 ? 0x7c00 : q;
  q = a > 0x7f800000 ? (0x7e00 | ((a >> 13) & 0x3ff)) : q;
  return static_cast<u16>(q | (negative ? 0x8000 : 0));
}

CERBERUS_EMU_INLINE u16 DoubleToHalf(double d, u32 round, bool flush = false) {
  const u64 x = Bits(d);
  const bool negative = (x >> 63) != 0;
  const u64 a = x & 0x7fffffffffffffff;
  const u64 exponent = a >> 52;
  const bool tiny = a < 0x3f10000000000000;  // below 2^-14
  u64 shift = tiny ? 1051 - (exponent == 0 ? 1 : exponent) : 42;
  shift = shift > 54 ? 54 : shift;
  const u64 mantissa =
      (a & 0xfffffffffffff) | (exponent == 0 ? 0 : 0x10000000000000);
  const u64 m = tiny ? mantissa : a - 0x3f00000000000000;
  const u64 rest = m & ((u64{1} << shift) - 1);
  u64 q =
      RoundUnit<u64>(m >> shift, rest, u64{1} << (shift - 1), negative, round);
  q = flush && q < 0x400 ? 0 : q;
  q = a >= 0x40f0000000000000 || q >= 0x7c00 ? OverflowHalf(negative, round)
                                             : q;
  q = a == 0x7ff0000000000000 ? 0x7c00 : q;
  q = a > 0x7ff0000000000000 ? (0x7e00 | ((a >> 42) & 0x3ff)) : q;
  return static_cast<u16>(q | (negative ? 0x8000 : 0));
}

CERBERUS_EMU_INLINE float Bf16ToFloat(u16 b) {
  return F32(static_cast<u32>(b) << 16);
}
CERBERUS_EMU_INLINE u16 FloatToBf16(float f, u32 round = kNearest) {
  const u32 x = Bits(f);
  const u32 q =
      RoundUnit<u32>(x >> 16, x & 0xffff, 0x8000, (x >> 31) != 0, round);
  return static_cast<u16>((x & 0x7fffffff) > 0x7f800000 ? (x >> 16 | 0x40) : q);
}

// a * b + c for f16 values held in f32, such that rounding to f16, which keeps
// at least two bits fewer, gives the correctly rounded fused result; the
// product is exact. Where the host rounds to nearest the sum is rounded to odd;
// rounding twice in one direction is rounding once, while the error term below
// would be rounded too.
CERBERUS_EMU_INLINE float FmaOddHalf(float a, float b, float c, u32 round) {
  const float p = a * b;
  const float s = p + c;
  if (round != kNearest) return s;
  const float t = s - p;
  const float e = (p - (s - t)) + (c - t);  // what s lacks
  // Where the sum is inexact (e is NaN for an infinite one): down to the next
  // float if e points to zero, then the last bit is set.
  const u32 bits = Bits(s);
  const u32 down = (Bits(e) ^ bits) >> 31;
  const u32 odd = (bits - down) | 1;
  return F32(e < 0 || e > 0 ? odd : bits);
}

// 8-bit floats (CDNA3 ISA, section 7.5; OCP 8-bit formats on gfx950 and
// gfx12). E4M3: bias 7 (OCP) or 8 (fnuz); E5M2: bias 15 or 16.
struct Fp8Format {
  int mantissa;  // 3 or 2
  bool fnuz;
};
float Fp8ToFloat(u8 v, Fp8Format format);
u8 FloatToFp8(float f, Fp8Format format, bool saturate);
u8 FloatToFp8Stochastic(float f, u32 random, Fp8Format format, bool saturate);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_FLOAT16_H_
