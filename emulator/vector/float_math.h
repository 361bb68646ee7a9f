// Floating-point rules of the hardware that the host does not share, as
// branch-free functions on one lane's values.
#ifndef CERBERUS_EMULATOR_VECTOR_FLOAT_MATH_H_
#define CERBERUS_EMULATOR_VECTOR_FLOAT_MATH_H_

#include <bit>
#include <cmath>

#include "emulator/decode/op.h"
#include "emulator/vector/float16.h"

namespace cerberus::emulator {

template <typename T> struct FloatTraits;
template <> struct FloatTraits<float> {
  using Int = u32;
  static constexpr u32 kQuiet = 0x400000, kAbs = 0x7fffffff, kInf = 0x7f800000;
};
template <> struct FloatTraits<double> {
  using Int = u64;
  static constexpr u64 kQuiet = 0x8000000000000, kAbs = 0x7fffffffffffffff,
                       kInf = 0x7ff0000000000000;
};

template <typename T> inline bool IsNan(T v) {
  using F = FloatTraits<T>;
  return (Bits(v) & F::kAbs) > F::kInf;
}
template <typename T> inline bool IsSnan(T v) {
  using F = FloatTraits<T>;
  return IsNan(v) && (Bits(v) & F::kQuiet) == 0;
}
template <typename T> inline T Quiet(T v) {
  using F = FloatTraits<T>;
  return std::bit_cast<T>(static_cast<typename F::Int>(Bits(v) | F::kQuiet));
}

// The result of arithmetic on NaNs is the first of them, quieted. The host
// agrees only while the compiler keeps the operands' order.
template <typename T> inline T PickNan(T r, T a, T b) {
  return IsNan(a) ? Quiet(a) : IsNan(b) ? Quiet(b) : r;
}
template <typename T> inline T PickNan(T r, T a, T b, T c) {
  return IsNan(a) ? Quiet(a) : IsNan(b) ? Quiet(b) : IsNan(c) ? Quiet(c) : r;
}

template <typename T> inline T AddF(T a, T b) { return PickNan(a + b, a, b); }
template <typename T> inline T SubF(T a, T b) { return PickNan(a - b, a, b); }
template <typename T> inline T MulF(T a, T b) { return PickNan(a * b, a, b); }
inline float FmaRaw(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline double FmaRaw(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
template <typename T> inline T FmaF(T a, T b, T c) {
  return PickNan(FmaRaw(a, b, c), a, b, c);
}

// The same as types, for Arith<> of semantics.h: exactly, and by the host's
// rules for NaNs.
struct AddOp {
  template <typename T> static T Quick(T a, T b) { return T{a + b}; }
  template <typename T> static T Exact(T a, T b) { return AddF(a, b); }
};
struct SubOp {
  template <typename T> static T Quick(T a, T b) { return T{a - b}; }
  template <typename T> static T Exact(T a, T b) { return SubF(a, b); }
};
struct SubrevOp {
  template <typename T> static T Quick(T a, T b) { return T{b - a}; }
  template <typename T> static T Exact(T a, T b) { return SubF(b, a); }
};
struct MulOp {
  template <typename T> static T Quick(T a, T b) { return T{a * b}; }
  template <typename T> static T Exact(T a, T b) { return MulF(a, b); }
};
struct FmaOp {
  template <typename T> static T Quick(T a, T b, T c) {
    return FmaRaw(a, b, c);
  }
  template <typename T> static T Exact(T a, T b, T c) { return FmaF(a, b, c); }
};
// f16, held in f32.
struct FmaHalfOp {
  // Quick where the host rounds to nearest.
  CERBERUS_EMU_INLINE static float Quick(float a, float b, float c) {
#ifdef __FMA__
    // Rounding to f32 first matters only to what it puts half way between two
    // numbers of f16, or near its denormals: NaN, then, asks for Exact.
    const float r = __builtin_fmaf(a, b, c);
    const bool doubt = (Bits(r) & 0x1fff) == 0x1000 ||
                       (__builtin_fabsf(r) < 0x1p-14f && r != 0);
    return doubt ? __builtin_nanf("") : r;
#else
    return FmaOddHalf(a, b, c, kNearest);
#endif
  }
  static float Exact(float a, float b, float c, u32 round) {
    return PickNan(FmaOddHalf(a, b, c, round), a, b, c);
  }
};

// The result of a selection, its denormals flushed where MODE says so (the
// host's control register stands as MODE does; selecting alone would not).
template <typename T> inline T Selected(T v) {
  T r;
  if constexpr (sizeof(T) == 4) {
    r = __builtin_canonicalizef(v);
  } else {
    r = __builtin_canonicalize(v);
  }
  return IsNan(v) ? v : r;
}

// v_min and v_max: -0 is less than +0; a number wins over a quiet NaN; with
// MODE.IEEE a signalling NaN comes back quieted.
template <typename T> CERBERUS_EMU_INLINE T MinF(T a, T b, bool ieee) {
  const bool zero = a == 0 && b == 0;
  const bool less = a < b || (zero && std::signbit(a) && !std::signbit(b));
  T r = less ? a : b;
  r = IsNan(b) ? a : IsNan(a) ? b : r;
  r = Selected(r);
  r = ieee && IsSnan(b) ? Quiet(b) : r;
  return ieee && IsSnan(a) ? Quiet(a) : r;
}
template <typename T> CERBERUS_EMU_INLINE T MaxF(T a, T b, bool ieee) {
  const bool zero = a == 0 && b == 0;
  const bool more = a > b || (zero && !std::signbit(a) && std::signbit(b));
  T r = more ? a : b;
  r = IsNan(b) ? a : IsNan(a) ? b : r;
  r = Selected(r);
  r = ieee && IsSnan(b) ? Quiet(b) : r;
  return ieee && IsSnan(a) ? Quiet(a) : r;
}
template <typename T> CERBERUS_EMU_INLINE T Med3F(T a, T b, T c, bool ieee) {
  if (IsNan(a) || IsNan(b) || IsNan(c)) {
    return MinF(MinF(a, b, ieee), c, ieee);
  }
  const T top = MaxF(MaxF(a, b, ieee), c, ieee);
  if (top == a) return MaxF(b, c, ieee);
  if (top == b) return MaxF(a, c, ieee);
  return MaxF(a, b, ieee);
}
// v_minimum and v_maximum (gfx12, gfx950): IEEE 754-2019, NaN wins.
template <typename T> CERBERUS_EMU_INLINE T MinimumF(T a, T b) {
  const bool zero = a == 0 && b == 0;
  const T r = a < b || (zero && std::signbit(a)) ? a : b;
  return IsSnan(a)   ? Quiet(a)
         : IsSnan(b) ? Quiet(b)
         : IsNan(a)  ? a
         : IsNan(b)  ? b
                     : Selected(r);
}
template <typename T> CERBERUS_EMU_INLINE T MaximumF(T a, T b) {
  const bool zero = a == 0 && b == 0;
  const T r = a > b || (zero && !std::signbit(a)) ? a : b;
  return IsSnan(a)   ? Quiet(a)
         : IsSnan(b) ? Quiet(b)
         : IsNan(a)  ? a
         : IsNan(b)  ? b
                     : Selected(r);
}
// v_min_num and v_max_num (gfx12): IEEE 754-2019, numbers win, also over
// signalling NaNs.
template <typename T> CERBERUS_EMU_INLINE T MinNumF(T a, T b) {
  const bool zero = a == 0 && b == 0;
  const T r = a < b || (zero && std::signbit(a) && !std::signbit(b)) ? a : b;
  if (IsNan(a) && IsNan(b)) return Quiet(a);
  return Selected(IsNan(a) ? b : IsNan(b) ? a : r);
}
template <typename T> CERBERUS_EMU_INLINE T MaxNumF(T a, T b) {
  const bool zero = a == 0 && b == 0;
  const T r = a > b || (zero && !std::signbit(a) && std::signbit(b)) ? a : b;
  if (IsNan(a) && IsNan(b)) return Quiet(a);
  return Selected(IsNan(a) ? b : IsNan(b) ? a : r);
}

inline int Exponent(float v) { return Bits(v) >> 23 & 0xff; }
inline int Exponent(double v) {
  return static_cast<int>(Bits(v) >> 52 & 0x7ff);
}

// The single-precision transcendental units take denormals as 0 and give 0
// for them (RDNA3 ISA: "denormals are flushed").
inline float FlushDenormal(float v) {
  return (Bits(v) & 0x7f800000) == 0 ? F32(Bits(v) & 0x80000000) : v;
}

float RcpF32(float v);
float RsqF32(float v);
float SqrtF32(float v);
float ExpF32(float v);
float LogF32(float v);
float TanhF32(float v);
double TrigPreop(double v, u32 segment);

float LdexpF32(float v, i32 exponent);
double LdexpF64(double v, i32 exponent);
float FrexpMant(float v);
double FrexpMant(double v);
i32 FrexpExp(float v);
i32 FrexpExp(double v);

struct ScaledF32 {
  float value;
  bool flag;
};
struct ScaledF64 {
  double value;
  bool flag;
};
ScaledF32 DivScale(float s0, float s1, float s2);
ScaledF64 DivScale(double s0, double s1, double s2);
// fma, then the scaling that v_div_scale asked for, rounded once.
float DivFmas(float s0, float s1, float s2, bool scaled);
double DivFmas(double s0, double s1, double s2, bool scaled);
float DivFixup(float s0, float s1, float s2);
double DivFixup(double s0, double s1, double s2);
float DivFixup16(float s0, float s1, float s2);

// Conversions to integers: towards zero, saturating, NaN to 0.
i32 ToI32(double v);
u32 ToU32(double v);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_FLOAT_MATH_H_
