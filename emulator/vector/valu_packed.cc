// VOP3P: packed halves, mixed precision and dot products.
//
// A packed row holds the meaning of one half. Dot products take the packed
// words as they are, with VOP3P's modifiers applied to the halves.
#include "emulator/vector/float_math.h"
#include "emulator/vector/lane_loop.h"

namespace cerberus::emulator::CERBERUS_EMU_ISA {
namespace {

template <typename T> inline T Min(T a, T b) { return a < b ? a : b; }
template <typename T> inline T Max(T a, T b) { return a > b ? a : b; }
inline i16 SatI16(i32 v) {
  return static_cast<i16>(Max(Min(v, 0x7fff), -0x8000));
}
inline u16 SatU16(i32 v) { return static_cast<u16>(Max(Min(v, 0xffff), 0)); }
inline i32 SatI32(i64 v) {
  return static_cast<i32>(Max<i64>(Min<i64>(v, 0x7fffffff), -0x80000000ll));
}
inline u32 SatU32(i64 v) {
  return static_cast<u32>(Max<i64>(Min<i64>(v, 0xffffffffll), 0));
}

inline float Half(u32 v, int i, const Mode& m) {
  return HalfToFloat(static_cast<u16>(v >> (16 * i)), (m.denorm64 & 1) == 0);
}
inline float Bf(u32 v, int i) {
  return Bf16ToFloat(static_cast<u16>(v >> (16 * i)));
}

// Sums of products in the order the manual gives, each step rounded to f32.
inline float Dot2(u32 a, u32 b, float c, const Mode& m) {
  float r = c;
  r = r + Half(a, 0, m) * Half(b, 0, m);
  return r + Half(a, 1, m) * Half(b, 1, m);
}
inline float Dot2Bf(u32 a, u32 b, float c) {
  float r = c;
  r = r + Bf(a, 0) * Bf(b, 0);
  return r + Bf(a, 1) * Bf(b, 1);
}
inline i64 DotSigned(u32 a, u32 b, int bits, bool a_signed, bool b_signed) {
  i64 sum = 0;
  for (int i = 0; i < 32; i += bits) {
    const int up = 32 - bits - i, down = 32 - bits;
    const i64 x = a_signed ? static_cast<i32>(a << up) >> down
                           : static_cast<i64>((a << up) >> down);
    const i64 y = b_signed ? static_cast<i32>(b << up) >> down
                           : static_cast<i64>((b << up) >> down);
    sum += x * y;
  }
  return sum;
}
inline float Dot4Fp8(u32 a, u32 b, float c, Fp8Format fa, Fp8Format fb) {
  float r = c;
  for (int i = 0; i < 32; i += 8) {
    r += Fp8ToFloat(static_cast<u8>(a >> i), fa) *
         Fp8ToFloat(static_cast<u8>(b >> i), fb);
  }
  return r;
}
constexpr Fp8Format kFp8 = {3, false};
constexpr Fp8Format kBf8 = {2, false};

// v_dot2_f32_f16's clamp bit does nothing. The manuals have only the general
// rule, [0, 1]; but AMD's device library sets the bit in all of its
// __ockl_fdot2, asked to saturate or not, and saturates in neither case where
// it has to do without the instruction.
constexpr auto kDot2Halves = [](const Cx& cx, Pk a, Pk b, float c) {
  return Dot2(a.v, b.v, c, cx.mode);
};

// Signs of v_dot*_iu*: neg_lo of the operand says signed.
inline bool Signed(const Cx& cx, int i) { return cx.op.src[i].neg; }

constexpr Row kRows[] = {
    {"v_pk_add_u16", Packed2<[](u16 a, u16 b) { return u16(a + b); },
                             [](u16 a, u16 b) { return SatU16(a + b); }>()},
    {"v_pk_sub_u16", Packed2<[](u16 a, u16 b) { return u16(a - b); },
                             [](u16 a, u16 b) { return SatU16(a - b); }>()},
    {"v_pk_add_i16", Packed2<[](i16 a, i16 b) { return i16(a + b); },
                             [](i16 a, i16 b) { return SatI16(a + b); }>()},
    {"v_pk_sub_i16", Packed2<[](i16 a, i16 b) { return i16(a - b); },
                             [](i16 a, i16 b) { return SatI16(a - b); }>()},
    {"v_pk_mul_lo_u16", Packed<[](u16 a, u16 b) { return u16(u32(a) * b); }>()},
    {"v_pk_mad_u16",
     Packed2<[](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
             [](u16 a, u16 b, u16 c) {
               const u64 r = u64(a) * b + c;
               return u16(r > 0xffff ? 0xffff : r);
             }>()},
    {"v_pk_mad_i16",
     Packed2<[](i16 a, i16 b, i16 c) { return i16(i32(a) * b + c); },
             [](i16 a, i16 b, i16 c) { return SatI16(i32(a) * b + c); }>()},
    {"v_pk_lshlrev_b16",
     Packed<[](u16 a, u16 b) { return u16(b << (a & 15)); }>()},
    {"v_pk_lshrrev_b16",
     Packed<[](u16 a, u16 b) { return u16(b >> (a & 15)); }>()},
    {"v_pk_ashrrev_i16",
     Packed<[](u16 a, i16 b) { return i16(b >> (a & 15)); }>()},
    {"v_pk_max_i16", Packed<[](i16 a, i16 b) { return Max(a, b); }>()},
    {"v_pk_min_i16", Packed<[](i16 a, i16 b) { return Min(a, b); }>()},
    {"v_pk_max_u16", Packed<[](u16 a, u16 b) { return Max(a, b); }>()},
    {"v_pk_min_u16", Packed<[](u16 a, u16 b) { return Min(a, b); }>()},
    {"v_pk_add_f16", ArithPacked<OnHalves<AddOp>, H, H>()},
    {"v_pk_mul_f16", ArithPacked<OnHalves<MulOp>, H, H>()},
    {"v_pk_fma_f16", FmaHalves<FmaHalfOp, Walk::kPacked>()},
    {"v_pk_fmac_f16", FmaHalves<FmaHalfOp, Walk::kPacked>(kRowTied)},
    {"v_pk_min_f16", Packed<[](const Cx& cx, H a, H b) {
       return H{MinF(a.v, b.v, cx.mode.ieee)};
     }>()},
    {"v_pk_max_f16", Packed<[](const Cx& cx, H a, H b) {
       return H{MaxF(a.v, b.v, cx.mode.ieee)};
     }>()},
    {"v_pk_min_num_f16",
     Packed<[](H a, H b) { return H{MinNumF(a.v, b.v)}; }>()},
    {"v_pk_max_num_f16",
     Packed<[](H a, H b) { return H{MaxNumF(a.v, b.v)}; }>()},
    {"v_pk_minimum_f16",
     Packed<[](H a, H b) { return H{MinimumF(a.v, b.v)}; }>()},
    {"v_pk_maximum_f16",
     Packed<[](H a, H b) { return H{MaximumF(a.v, b.v)}; }>()},
    {"v_pk_minimum3_f16", Packed<[](H a, H b, H c) {
       return H{MinimumF(MinimumF(a.v, b.v), c.v)};
     }>()},
    {"v_pk_maximum3_f16", Packed<[](H a, H b, H c) {
       return H{MaximumF(MaximumF(a.v, b.v), c.v)};
     }>()},

    {"v_pk_add_f32", ArithPairs<AddOp, float, float>()},
    {"v_pk_mul_f32", ArithPairs<MulOp, float, float>()},
    {"v_pk_fma_f32", ArithPairs<FmaOp, float, float, float>()},

    // Mixed precision: valu.cc has turned each source into f32 already.
    {"v_fma_mix_f32",
     Lanes<[](float a, float b, float c) { return FmaF(a, b, c); }>(kRowMix)},
    {"v_mad_mix_f32",
     Lanes<[](float a, float b, float c) { return FmaF(a, b, c); }>(kRowMix)},
    {"v_fma_mixlo_f16",
     Lanes<[](float a, float b, float c) { return H{FmaF(a, b, c)}; }>(
         kRowMix | kRowPreserve)},
    {"v_mad_mixlo_f16",
     Lanes<[](float a, float b, float c) { return H{FmaF(a, b, c)}; }>(
         kRowMix | kRowPreserve)},
    {"v_fma_mixhi_f16",
     Lanes<[](float a, float b, float c) { return H{FmaF(a, b, c)}; }>(
         kRowMix | kRowPreserve | kRowHighHalf)},
    {"v_mad_mixhi_f16",
     Lanes<[](float a, float b, float c) { return H{FmaF(a, b, c)}; }>(
         kRowMix | kRowPreserve | kRowHighHalf)},

    {"v_dot2_f32_f16", Lanes2<kDot2Halves, kDot2Halves>()},
    {"v_dot2c_f32_f16", Lanes<[](const Cx& cx, Pk a, Pk b, float c) {
       return Dot2(a.v, b.v, c, cx.mode);
     }>(kRowTied)},
    {"v_dot2_f32_bf16",
     Lanes<[](Pk a, Pk b, float c) { return Dot2Bf(a.v, b.v, c); }>()},
    {"v_dot2acc_f32_f16", Lanes<[](const Cx& cx, Pk a, Pk b, float c) {
       return Dot2(a.v, b.v, c, cx.mode);
     }>(kRowTied)},
    {"v_dot2acc_f32_bf16",
     Lanes<[](Pk a, Pk b, float c) { return Dot2Bf(a.v, b.v, c); }>(kRowTied)},
    {"v_dot2c_f32_bf16",
     Lanes<[](Pk a, Pk b, float c) { return Dot2Bf(a.v, b.v, c); }>(kRowTied)},
    {"v_dot2_f16_f16", Lanes<[](const Cx& cx, Pk a, Pk b, H c) {
       // Each step is rounded to f16.
       const Mode& m = cx.mode;
       const u32 round = m.round64;
       const float first =
           FmaOddHalf(Half(a.v, 0, m), Half(b.v, 0, m), c.v, round);
       const float r = HalfToFloat(FloatToHalf(first, round));
       return H{FmaOddHalf(Half(a.v, 1, m), Half(b.v, 1, m), r, round)};
     }>()},
    {"v_dot2_bf16_bf16", Lanes<[](Pk a, Pk b, B c) {
       float r = Bf16ToFloat(FloatToBf16(c.v + Bf(a.v, 0) * Bf(b.v, 0)));
       return B{r + Bf(a.v, 1) * Bf(b.v, 1)};
     }>()},
    {"v_dot2_i32_i16", Lanes2<[](u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 16, true, true) + c);
     },
                              [](u32 a, u32 b, i32 c) {
                                return SatI32(DotSigned(a, b, 16, true, true) +
                                              c);
                              }>()},
    {"v_dot2_u32_u16", Lanes2<[](u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 16, false, false) + c);
     },
                              [](u32 a, u32 b, u32 c) {
                                return SatU32(
                                    DotSigned(a, b, 16, false, false) + c);
                              }>()},
    {"v_dot2c_i32_i16", Lanes2<[](u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 16, true, true) + c);
     },
                               [](u32 a, u32 b, i32 c) {
                                 return SatI32(DotSigned(a, b, 16, true, true) +
                                               c);
                               }>(kRowTied)},
    {"v_dot4_i32_i8", Lanes2<[](u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 8, true, true) + c);
     },
                             [](u32 a, u32 b, i32 c) {
                               return SatI32(DotSigned(a, b, 8, true, true) +
                                             c);
                             }>()},
    {"v_dot4c_i32_i8", Lanes2<[](u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 8, true, true) + c);
     },
                              [](u32 a, u32 b, i32 c) {
                                return SatI32(DotSigned(a, b, 8, true, true) +
                                              c);
                              }>(kRowTied)},
    {"v_dot4_u32_u8", Lanes2<[](u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 8, false, false) + c);
     },
                             [](u32 a, u32 b, u32 c) {
                               return SatU32(DotSigned(a, b, 8, false, false) +
                                             c);
                             }>()},
    {"v_dot8_i32_i4", Lanes2<[](u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 4, true, true) + c);
     },
                             [](u32 a, u32 b, i32 c) {
                               return SatI32(DotSigned(a, b, 4, true, true) +
                                             c);
                             }>()},
    {"v_dot8c_i32_i4", Lanes2<[](u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 4, true, true) + c);
     },
                              [](u32 a, u32 b, i32 c) {
                                return SatI32(DotSigned(a, b, 4, true, true) +
                                              c);
                              }>(kRowTied)},
    {"v_dot8_u32_u4", Lanes2<[](u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 4, false, false) + c);
     },
                             [](u32 a, u32 b, u32 c) {
                               return SatU32(DotSigned(a, b, 4, false, false) +
                                             c);
                             }>()},
    {"v_dot4_i32_iu8", Lanes2<[](const Cx& cx, u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 8, Signed(cx, 0), Signed(cx, 1)) + c);
     },
                              [](const Cx& cx, u32 a, u32 b, i32 c) {
                                return SatI32(DotSigned(a, b, 8, Signed(cx, 0),
                                                        Signed(cx, 1)) +
                                              c);
                              }>(kRowNoMods)},
    {"v_dot8_i32_iu4", Lanes2<[](const Cx& cx, u32 a, u32 b, u32 c) {
       return u32(DotSigned(a, b, 4, Signed(cx, 0), Signed(cx, 1)) + c);
     },
                              [](const Cx& cx, u32 a, u32 b, i32 c) {
                                return SatI32(DotSigned(a, b, 4, Signed(cx, 0),
                                                        Signed(cx, 1)) +
                                              c);
                              }>(kRowNoMods)},
    {"v_dot4_f32_fp8_fp8", Lanes<[](u32 a, u32 b, float c) {
       return Dot4Fp8(a, b, c, kFp8, kFp8);
     }>()},
    {"v_dot4_f32_fp8_bf8", Lanes<[](u32 a, u32 b, float c) {
       return Dot4Fp8(a, b, c, kFp8, kBf8);
     }>()},
    {"v_dot4_f32_bf8_fp8", Lanes<[](u32 a, u32 b, float c) {
       return Dot4Fp8(a, b, c, kBf8, kFp8);
     }>()},
    {"v_dot4_f32_bf8_bf8", Lanes<[](u32 a, u32 b, float c) {
       return Dot4Fp8(a, b, c, kBf8, kBf8);
     }>()},
};

}  // namespace

std::span<const Row> ValuPackedRows() { return kRows; }

}  // namespace cerberus::emulator::CERBERUS_EMU_ISA
