// Vector comparisons (v_cmp_*, and v_cmpx_* which decode.cc maps to them).
#include "emulator/vector/float_math.h"
#include "emulator/vector/lane_loop.h"

namespace cerberus::emulator::CERBERUS_EMU_ISA {
namespace {

// Which class of number a value is, as the bit that V_CMP_CLASS tests.
template <typename T>
inline u32 ClassBit(T v) {
  using F = FloatTraits<T>;
  const auto a = Bits(v) & F::kAbs;
  const bool negative = Bits(v) != a;
  if (a > F::kInf) return (a & F::kQuiet) != 0 ? 2 : 1;
  const auto smallest_normal = F::kQuiet << 1;
  const u32 kind = a == F::kInf ? 0 : a >= smallest_normal ? 1 : a != 0 ? 2 : 3;
  // -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf: bits 2 to 9.
  return negative ? 4u << kind : 512u >> kind;
}
inline u32 ClassBit16(u16 v) {
  const u32 a = v & 0x7fff;
  if (a > 0x7c00) return (a & 0x200) != 0 ? 2 : 1;
  const u32 kind = a == 0x7c00 ? 0 : a >= 0x400 ? 1 : a != 0 ? 2 : 3;
  return (v & 0x8000) != 0 ? 4u << kind : 512u >> kind;
}

#define CERBERUS_INT_COMPARES(suffix, T)                                \
  {"v_cmp_f_" suffix, Lanes<[](T, T) { return false; }>()},             \
      {"v_cmp_lt_" suffix, Lanes<[](T a, T b) { return a < b; }>()},    \
      {"v_cmp_eq_" suffix, Lanes<[](T a, T b) { return a == b; }>()},   \
      {"v_cmp_le_" suffix, Lanes<[](T a, T b) { return a <= b; }>()},   \
      {"v_cmp_gt_" suffix, Lanes<[](T a, T b) { return a > b; }>()},    \
      {"v_cmp_ne_" suffix, Lanes<[](T a, T b) { return a != b; }>()},   \
      {"v_cmp_ge_" suffix, Lanes<[](T a, T b) { return a >= b; }>()}, { \
    "v_cmp_t_" suffix, Lanes<[](T, T) { return true; }>()               \
  }

// `v` picks the number out of an operand.
#define CERBERUS_FLOAT_COMPARES(suffix, T, v)                                  \
  {"v_cmp_f_" suffix, Lanes<[](T, T) { return false; }>()},                    \
      {"v_cmp_lt_" suffix, Lanes<[](T a, T b) { return v(a) < v(b); }>()},     \
      {"v_cmp_eq_" suffix, Lanes<[](T a, T b) { return v(a) == v(b); }>()},    \
      {"v_cmp_le_" suffix, Lanes<[](T a, T b) { return v(a) <= v(b); }>()},    \
      {"v_cmp_gt_" suffix, Lanes<[](T a, T b) { return v(a) > v(b); }>()},     \
      {"v_cmp_lg_" suffix,                                                     \
       Lanes<[](T a, T b) { return v(a) < v(b) || v(a) > v(b); }>()},          \
      {"v_cmp_ge_" suffix, Lanes<[](T a, T b) { return v(a) >= v(b); }>()},    \
      {"v_cmp_o_" suffix,                                                      \
       Lanes<[](T a, T b) { return !IsNan(v(a)) && !IsNan(v(b)); }>()},        \
      {"v_cmp_u_" suffix,                                                      \
       Lanes<[](T a, T b) { return IsNan(v(a)) || IsNan(v(b)); }>()},          \
      {"v_cmp_nge_" suffix,                                                    \
       Lanes<[](T a, T b) { return !(v(a) >= v(b)); }>()},                     \
      {"v_cmp_nlg_" suffix,                                                    \
       Lanes<[](T a, T b) { return !(v(a) < v(b) || v(a) > v(b)); }>()},       \
      {"v_cmp_ngt_" suffix, Lanes<[](T a, T b) { return !(v(a) > v(b)); }>()}, \
      {"v_cmp_nle_" suffix,                                                    \
       Lanes<[](T a, T b) { return !(v(a) <= v(b)); }>()},                     \
      {"v_cmp_neq_" suffix,                                                    \
       Lanes<[](T a, T b) { return !(v(a) == v(b)); }>()},                     \
      {"v_cmp_nlt_" suffix, Lanes<[](T a, T b) { return !(v(a) < v(b)); }>()}, \
      {"v_cmp_tru_" suffix, Lanes<[](T, T) { return true; }>()}, {             \
    "v_cmp_t_" suffix, Lanes<[](T, T) { return true; }>()                      \
  }

inline float Value(float f) { return f; }
inline double Value(double d) { return d; }
inline float Value(H h) { return h.v; }

constexpr Row kRows[] = {
    CERBERUS_INT_COMPARES("i16", i16),
    CERBERUS_INT_COMPARES("u16", u16),
    CERBERUS_INT_COMPARES("i32", i32),
    CERBERUS_INT_COMPARES("u32", u32),
    CERBERUS_INT_COMPARES("i64", i64),
    CERBERUS_INT_COMPARES("u64", u64),
    CERBERUS_FLOAT_COMPARES("f16", H, Value),
    CERBERUS_FLOAT_COMPARES("f32", float, Value),
    CERBERUS_FLOAT_COMPARES("f64", double, Value),
    {"v_cmp_class_f16",
     Lanes<[](u16 a, u16 b) { return (ClassBit16(a) & b) != 0; }>()},
    {"v_cmp_class_f32",
     Lanes<[](float a, u32 b) { return (ClassBit(a) & b) != 0; }>()},
    {"v_cmp_class_f64",
     Lanes<[](double a, u32 b) { return (ClassBit(a) & b) != 0; }>()},
};

}  // namespace

std::span<const Row> ValuCompareRows() { return kRows; }

}  // namespace cerberus::emulator::CERBERUS_EMU_ISA
