// Integer vector instructions: RDNA3 ISA, sections 16.7 to 16.11, and the
// sections of the same instructions in the RDNA2, RDNA4 and CDNA3 manuals.
//
// This file is compiled once for each ISA of the host (CMakeLists.txt); the
// macro names the namespace.
#include <bit>

#include "emulator/vector/lane_loop.h"

namespace cerberus::emulator::CERBERUS_EMU_ISA {
namespace {

inline u32 MulHi(u32 a, u32 b) {
  return static_cast<u32>(static_cast<u64>(a) * b >> 32);
}
inline i32 MulHiI(i32 a, i32 b) {
  return static_cast<i32>(static_cast<i64>(a) * b >> 32);
}
inline i32 I24(u32 a) { return static_cast<i32>(a << 8) >> 8; }
inline u32 U24(u32 a) { return a & 0xffffff; }
inline i32 Med3(i32 a, i32 b, i32 c) {
  const i32 lo = a < b ? a : b, hi = a < b ? b : a;
  return c < lo ? lo : c > hi ? hi : c;
}
inline u32 Med3(u32 a, u32 b, u32 c) {
  const u32 lo = a < b ? a : b, hi = a < b ? b : a;
  return c < lo ? lo : c > hi ? hi : c;
}
template <typename T> inline T Min(T a, T b) { return a < b ? a : b; }
template <typename T> inline T Max(T a, T b) { return a > b ? a : b; }
inline u32 AbsDiff(u32 a, u32 b) { return a > b ? a - b : b - a; }
inline i32 SatI32(i64 v) {
  return static_cast<i32>(Max<i64>(Min<i64>(v, 0x7fffffff), -0x80000000ll));
}
inline u32 SatU32(i64 v) {
  return static_cast<u32>(Max<i64>(Min<i64>(v, 0xffffffffll), 0));
}
inline i16 SatI16(i32 v) {
  return static_cast<i16>(Max(Min(v, 0x7fff), -0x8000));
}
inline u16 SatU16(i32 v) { return static_cast<u16>(Max(Min(v, 0xffff), 0)); }
inline u32 Reverse(u32 v) {
  v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
  v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
  v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(v);
}
inline u32 Sad8(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 8) {
    c += AbsDiff(a >> i & 255, b >> i & 255);
  }
  return c;
}
inline u32 Msad8(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 8) {
    c += (b >> i & 255) == 0 ? 0 : AbsDiff(a >> i & 255, b >> i & 255);
  }
  return c;
}
inline u64 Qsad(u64 a, u32 b, u64 c, u32 (*sad)(u32, u32, u32)) {
  u64 r = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 part = sad(static_cast<u32>(a >> (8 * i)), b,
                         static_cast<u32>(c >> (16 * i)) & 0xffff);
    r |= static_cast<u64>(part & 0xffff) << (16 * i);
  }
  return r;
}
inline u32 PermByte(u64 data, u32 sel) {
  if (sel >= 13) return 0xff;
  if (sel == 12) return 0;
  if (sel >= 8) {
    return (data >> (16 * (sel - 8) + 15) & 1) != 0 ? 0xff : 0;
  }
  return static_cast<u32>(data >> (8 * sel)) & 0xff;
}
inline u32 Lerp(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (int i = 0; i < 32; i += 8) {
    r |= (((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1) << i;
  }
  return r;
}
inline u32 BfeU(u32 a, u32 b, u32 c) {
  return a >> (b & 31) & ((1u << (c & 31)) - 1);
}
inline u32 BfeI(i32 a, u32 b, u32 c) {
  const u32 width = c & 31;
  const u32 field = static_cast<u32>(a >> (b & 31)) & ((1u << width) - 1);
  if (width == 0) return 0;
  return static_cast<u32>(static_cast<i32>(field << (32 - width)) >>
                          (32 - width));
}
inline u32 Sat8(i16 v) {
  return static_cast<u32>(Max<i32>(Min<i32>(v, 255), 0));
}

// Bit-field operations of 3 sources: BITOP3 takes the truth table as its
// immediate (CDNA4 and RDNA4 ISA).
inline u32 Bitop3(u32 a, u32 b, u32 c, u32 t) {
  u32 r = 0;
  for (u32 i = 0; i < 8; ++i) {
    if ((t >> i & 1) == 0) continue;
    r |= ((i & 4) ? a : ~a) & ((i & 2) ? b : ~b) & ((i & 1) ? c : ~c);
  }
  return r;
}

constexpr Row kRows[] = {
    {"v_nop", {}},
    {"v_mov_b32", Lanes<[](u32 a) { return a; }>()},
    {"v_accvgpr_read_b32", Lanes<[](u32 a) { return a; }>()},
    {"v_accvgpr_write_b32", Lanes<[](u32 a) { return a; }>()},
    {"v_accvgpr_mov_b32", Lanes<[](u32 a) { return a; }>()},
    {"v_pipeflush", {}},
    {"v_clrexcp", {}},
    {"v_mov_b64", Lanes<[](u64 a) { return a; }>()},
    {"v_mov_b16", Lanes<[](u16 a) { return a; }>()},
    {"v_not_b32", Lanes<[](u32 a) { return ~a; }>()},
    {"v_not_b16", Lanes<[](u16 a) { return static_cast<u16>(~a); }>()},
    {"v_bfrev_b32", Lanes<[](u32 a) { return Reverse(a); }>()},
    {"v_clz_i32_u32", Lanes<[](u32 a) {
       return a == 0 ? ~0u : u32(__builtin_clz(a | 1)) & 31;
     }>()},
    {"v_ctz_i32_b32",
     Lanes<[](u32 a) { return a == 0 ? ~0u : u32(__builtin_ctz(a)); }>()},
    {"v_cls_i32", Lanes<[](u32 a) {
       const u32 x = a ^ static_cast<u32>(static_cast<i32>(a) >> 31);
       return x == 0 ? ~0u : u32(std::countl_zero(x));
     }>()},
    {"v_sat_pk_u8_i16", Lanes<[](u32 a) {
       return static_cast<u16>(Sat8(static_cast<i16>(a)) |
                               Sat8(static_cast<i16>(a >> 16)) << 8);
     }>()},
    {"v_cvt_i32_i16", Lanes<[](i16 a) { return static_cast<i32>(a); }>()},
    {"v_cvt_u32_u16", Lanes<[](u16 a) { return static_cast<u32>(a); }>()},

    {"v_add_nc_u32", Lanes2<[](u32 a, u32 b) { return a + b; },
                            [](u32 a, u32 b) { return SatU32(i64(a) + b); }>()},
    {"v_sub_nc_u32", Lanes2<[](u32 a, u32 b) { return a - b; },
                            [](u32 a, u32 b) { return SatU32(i64(a) - b); }>()},
    {"v_subrev_nc_u32",
     Lanes2<[](u32 a, u32 b) { return b - a; },
            [](u32 a, u32 b) { return SatU32(i64(b) - a); }>()},
    {"v_add_nc_i32", Lanes2<[](u32 a, u32 b) { return a + b; },
                            [](i32 a, i32 b) { return SatI32(i64(a) + b); }>()},
    {"v_sub_nc_i32", Lanes2<[](u32 a, u32 b) { return a - b; },
                            [](i32 a, i32 b) { return SatI32(i64(a) - b); }>()},
    {"v_add_nc_u64", Lanes<[](u64 a, u64 b) { return a + b; }>()},
    {"v_sub_nc_u64", Lanes<[](u64 a, u64 b) { return a - b; }>()},
    {"v_add_co_u32",
     Lanes2<[](u32 a, u32 b) { return With<u32>{a + b, a + b < a}; },
            [](u32 a, u32 b) {
              return With<u32>{SatU32(i64(a) + b), a + b < a};
            }>()},
    {"v_sub_co_u32",
     Lanes2<[](u32 a, u32 b) { return With<u32>{a - b, b > a}; },
            [](u32 a, u32 b) {
              return With<u32>{SatU32(i64(a) - b), b > a};
            }>()},
    {"v_subrev_co_u32",
     Lanes2<[](u32 a, u32 b) { return With<u32>{b - a, a > b}; },
            [](u32 a, u32 b) {
              return With<u32>{SatU32(i64(b) - a), a > b};
            }>()},
    {"v_add_co_ci_u32", Lanes2<[](u32 a, u32 b, bool c) {
       const u64 t = u64(a) + b + (c ? 1 : 0);
       return With<u32>{static_cast<u32>(t), t >> 32 != 0};
     },
                               [](u32 a, u32 b, bool c) {
                                 const u64 t = u64(a) + b + (c ? 1 : 0);
                                 return With<u32>{SatU32(i64(t)), t >> 32 != 0};
                               }>()},
    {"v_sub_co_ci_u32", Lanes2<[](u32 a, u32 b, bool c) {
       return With<u32>{a - b - (c ? 1 : 0), u64(b) + (c ? 1 : 0) > a};
     },
                               [](u32 a, u32 b, bool c) {
                                 return With<u32>{
                                     SatU32(i64(a) - b - (c ? 1 : 0)),
                                     u64(b) + (c ? 1 : 0) > a};
                               }>()},
    {"v_subrev_co_ci_u32", Lanes2<[](u32 a, u32 b, bool c) {
       return With<u32>{b - a - (c ? 1 : 0), u64(a) + (c ? 1 : 0) > b};
     },
                                  [](u32 a, u32 b, bool c) {
                                    return With<u32>{
                                        SatU32(i64(b) - a - (c ? 1 : 0)),
                                        u64(a) + (c ? 1 : 0) > b};
                                  }>()},
    {"v_mul_lo_u32", Lanes<[](u32 a, u32 b) { return a * b; }>()},
    {"v_mul_lo_i32", Lanes<[](u32 a, u32 b) { return a * b; }>()},
    {"v_mul_hi_u32", Lanes<[](u32 a, u32 b) { return MulHi(a, b); }>()},
    {"v_mul_hi_i32", Lanes<[](i32 a, i32 b) { return MulHiI(a, b); }>()},
    {"v_mul_i32_i24",
     Lanes<[](u32 a, u32 b) { return u32(I24(a)) * u32(I24(b)); }>()},
    {"v_mul_hi_i32_i24",
     Lanes<[](u32 a, u32 b) { return MulHiI(I24(a), I24(b)); }>()},
    {"v_mul_u32_u24", Lanes<[](u32 a, u32 b) { return U24(a) * U24(b); }>()},
    {"v_mul_hi_u32_u24",
     Lanes<[](u32 a, u32 b) { return MulHi(U24(a), U24(b)); }>()},
    {"v_mad_i32_i24",
     Lanes2<[](u32 a, u32 b, u32 c) { return u32(I24(a)) * u32(I24(b)) + c; },
            [](u32 a, u32 b, i32 c) {
              return SatI32(i64(I24(a)) * I24(b) + c);
            }>()},
    {"v_mad_u32_u24",
     Lanes2<[](u32 a, u32 b, u32 c) { return U24(a) * U24(b) + c; },
            [](u32 a, u32 b, u32 c) {
              const u64 t = u64(U24(a)) * U24(b) + c;
              return t >> 32 != 0 ? ~0u : u32(t);
            }>()},
    {"v_mad_u64_u32", Lanes<[](u32 a, u32 b, u64 c) {
       const u64 r = u64(a) * b + c;
       return With<u64>{r, r < c};
     }>()},
    {"v_mad_i64_i32", Lanes<[](i32 a, i32 b, i64 c) {
       // The 65th bit of the exact sum.
       const i64 p = i64(a) * b;
       const u64 r = u64(p) + u64(c);
       const bool carry = r < u64(c);
       const u32 top = u32(p < 0) + u32(c < 0) + u32(carry);
       return With<i64>{i64(r), (top & 1) != 0};
     }>()},
    {"v_mad_nc_u64_u32",
     Lanes<[](u32 a, u32 b, u64 c) { return u64(a) * b + c; }>()},
    {"v_mad_nc_i64_i32",
     Lanes<[](i32 a, i32 b, u64 c) { return u64(i64(a) * b) + c; }>()},
    {"v_mad_u32", Lanes<[](u32 a, u32 b, u32 c) { return a * b + c; }>()},
    {"v_mul_u64", Lanes<[](u64 a, u64 b) { return a * b; }>()},
    {"v_mad_u32_u16",
     Lanes2<[](u16 a, u16 b, u32 c) { return u32(a) * b + c; },
            [](u16 a, u16 b, u32 c) { return SatU32(i64(u32(a) * b) + c); }>()},
    {"v_mad_i32_i16",
     Lanes2<[](i16 a, i16 b, u32 c) { return u32(i32(a) * b) + c; },
            [](i16 a, i16 b, i32 c) { return SatI32(i64(i32(a) * b) + c); }>()},
    {"v_mul_legacy_u32", Lanes<[](u32 a, u32 b) { return a * b; }>()},

    {"v_and_b32", Lanes<[](u32 a, u32 b) { return a & b; }>()},
    {"v_or_b32", Lanes<[](u32 a, u32 b) { return a | b; }>()},
    {"v_xor_b32", Lanes<[](u32 a, u32 b) { return a ^ b; }>()},
    {"v_xnor_b32", Lanes<[](u32 a, u32 b) { return ~(a ^ b); }>()},
    {"v_lshlrev_b32", Lanes<[](u32 a, u32 b) { return b << (a & 31); }>()},
    {"v_lshrrev_b32", Lanes<[](u32 a, u32 b) { return b >> (a & 31); }>()},
    {"v_ashrrev_i32", Lanes<[](u32 a, i32 b) { return b >> (a & 31); }>()},
    {"v_lshl_b32", Lanes<[](u32 a, u32 b) { return a << (b & 31); }>()},
    {"v_lshr_b32", Lanes<[](u32 a, u32 b) { return a >> (b & 31); }>()},
    {"v_lshlrev_b64", Lanes<[](u32 a, u64 b) { return b << (a & 63); }>()},
    {"v_lshrrev_b64", Lanes<[](u32 a, u64 b) { return b >> (a & 63); }>()},
    {"v_ashrrev_i64", Lanes<[](u32 a, i64 b) { return b >> (a & 63); }>()},
    {"v_lshl_add_u64",
     Lanes<[](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }>()},
    {"v_min_i32", Lanes<[](i32 a, i32 b) { return Min(a, b); }>()},
    {"v_max_i32", Lanes<[](i32 a, i32 b) { return Max(a, b); }>()},
    {"v_min_u32", Lanes<[](u32 a, u32 b) { return Min(a, b); }>()},
    {"v_max_u32", Lanes<[](u32 a, u32 b) { return Max(a, b); }>()},
    {"v_min_i64", Lanes<[](i64 a, i64 b) { return Min(a, b); }>()},
    {"v_max_i64", Lanes<[](i64 a, i64 b) { return Max(a, b); }>()},
    {"v_min_u64", Lanes<[](u64 a, u64 b) { return Min(a, b); }>()},
    {"v_max_u64", Lanes<[](u64 a, u64 b) { return Max(a, b); }>()},
    {"v_cndmask_b32", Lanes<[](u32 a, u32 b, bool c) { return c ? b : a; }>()},
    {"v_cndmask_b16", Lanes<[](u16 a, u16 b, bool c) { return c ? b : a; }>()},

    {"v_bfe_u32", Lanes<[](u32 a, u32 b, u32 c) { return BfeU(a, b, c); }>()},
    {"v_bfe_i32", Lanes<[](i32 a, u32 b, u32 c) { return BfeI(a, b, c); }>()},
    {"v_bfi_b32",
     Lanes<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>()},
    {"v_bfm_b32",
     Lanes<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>()},
    {"v_bcnt_u32_b32",
     Lanes<[](u32 a, u32 b) { return b + u32(std::popcount(a)); }>()},
    {"v_mbcnt_lo_u32_b32", Lanes<[](const Cx& cx, u32 a, u32 b) {
       const u32 below = cx.lane >= 32 ? ~0u : (1u << (cx.lane & 31)) - 1;
       return b + u32(std::popcount(a & below));
     }>()},
    {"v_mbcnt_hi_u32_b32", Lanes<[](const Cx& cx, u32 a, u32 b) {
       const u32 below = cx.lane < 32 ? 0 : (1u << (cx.lane & 31)) - 1;
       return b + u32(std::popcount(a & below));
     }>()},
    {"v_alignbit_b32", Lanes<[](u32 a, u32 b, u32 c) {
       return static_cast<u32>((u64(a) << 32 | b) >> (c & 31));
     }>()},
    {"v_alignbyte_b32", Lanes<[](u32 a, u32 b, u32 c) {
       return static_cast<u32>((u64(a) << 32 | b) >> (8 * (c & 3)));
     }>()},
    {"v_lerp_u8", Lanes<[](u32 a, u32 b, u32 c) { return Lerp(a, b, c); }>()},
    {"v_min3_i32",
     Lanes<[](i32 a, i32 b, i32 c) { return Min(Min(a, b), c); }>()},
    {"v_max3_i32",
     Lanes<[](i32 a, i32 b, i32 c) { return Max(Max(a, b), c); }>()},
    {"v_med3_i32", Lanes<[](i32 a, i32 b, i32 c) { return Med3(a, b, c); }>()},
    {"v_min3_u32",
     Lanes<[](u32 a, u32 b, u32 c) { return Min(Min(a, b), c); }>()},
    {"v_max3_u32",
     Lanes<[](u32 a, u32 b, u32 c) { return Max(Max(a, b), c); }>()},
    {"v_med3_u32", Lanes<[](u32 a, u32 b, u32 c) { return Med3(a, b, c); }>()},
    {"v_maxmin_u32",
     Lanes<[](u32 a, u32 b, u32 c) { return Min(Max(a, b), c); }>()},
    {"v_minmax_u32",
     Lanes<[](u32 a, u32 b, u32 c) { return Max(Min(a, b), c); }>()},
    {"v_maxmin_i32",
     Lanes<[](i32 a, i32 b, i32 c) { return Min(Max(a, b), c); }>()},
    {"v_minmax_i32",
     Lanes<[](i32 a, i32 b, i32 c) { return Max(Min(a, b), c); }>()},
    {"v_sad_u8", Lanes2<[](u32 a, u32 b, u32 c) { return Sad8(a, b, c); },
                        [](u32 a, u32 b, u32 c) {
                          return SatU32(i64(Sad8(a, b, 0)) + c);
                        }>()},
    {"v_sad_hi_u8",
     Lanes2<[](u32 a, u32 b, u32 c) { return (Sad8(a, b, 0) << 16) + c; },
            [](u32 a, u32 b, u32 c) {
              return SatU32(i64(Sad8(a, b, 0) << 16) + c);
            }>()},
    {"v_sad_u16", Lanes2<[](u32 a, u32 b, u32 c) {
       return c + AbsDiff(a & 0xffff, b & 0xffff) + AbsDiff(a >> 16, b >> 16);
     },
                         [](u32 a, u32 b, u32 c) {
                           return SatU32(i64(c) +
                                         AbsDiff(a & 0xffff, b & 0xffff) +
                                         AbsDiff(a >> 16, b >> 16));
                         }>()},
    {"v_sad_u32", Lanes2<[](u32 a, u32 b, u32 c) { return AbsDiff(a, b) + c; },
                         [](u32 a, u32 b, u32 c) {
                           return SatU32(i64(AbsDiff(a, b)) + c);
                         }>()},
    {"v_msad_u8", Lanes2<[](u32 a, u32 b, u32 c) { return Msad8(a, b, c); },
                         [](u32 a, u32 b, u32 c) {
                           return SatU32(i64(Msad8(a, b, 0)) + c);
                         }>()},
    {"v_qsad_pk_u16_u8",
     Lanes<[](u64 a, u32 b, u64 c) { return Qsad(a, b, c, Sad8); }>()},
    {"v_mqsad_pk_u16_u8",
     Lanes<[](u64 a, u32 b, u64 c) { return Qsad(a, b, c, Msad8); }>()},
    {"v_perm_b32", Lanes<[](u32 a, u32 b, u32 c) {
       const u64 data = u64(a) << 32 | b;
       u32 r = 0;
       for (int i = 0; i < 32; i += 8) {
         r |= PermByte(data, c >> i & 255) << i;
       }
       return r;
     }>()},
    {"v_xad_u32", Lanes<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>()},
    {"v_lshl_add_u32",
     Lanes<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>()},
    {"v_add_lshl_u32",
     Lanes<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>()},
    {"v_add3_u32", Lanes<[](u32 a, u32 b, u32 c) { return a + b + c; }>()},
    {"v_lshl_or_b32",
     Lanes<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; }>()},
    {"v_and_or_b32", Lanes<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>()},
    {"v_or3_b32", Lanes<[](u32 a, u32 b, u32 c) { return a | b | c; }>()},
    {"v_xor3_b32", Lanes<[](u32 a, u32 b, u32 c) { return a ^ b ^ c; }>()},
    {"v_bitop3_b32", Lanes<[](const Cx& cx, u32 a, u32 b, u32 c) {
       return Bitop3(a, b, c, cx.op.aux);
     }>()},
    {"v_bitop3_b16", Lanes<[](const Cx& cx, u16 a, u16 b, u16 c) {
       return static_cast<u16>(Bitop3(a, b, c, cx.op.aux));
     }>()},
    {"v_ashr_pk_i8_i32", Lanes<[](i32 a, i32 b, u32 c) {
       const auto sat = [](i32 v) {
         return static_cast<u32>(Max(Min(v, 127), -128)) & 255;
       };
       return static_cast<u16>(sat(a >> (c & 31)) | sat(b >> (c & 31)) << 8);
     }>()},
    {"v_ashr_pk_u8_i32", Lanes<[](i32 a, i32 b, u32 c) {
       const auto sat = [](i32 v) {
         return static_cast<u32>(Max(Min(v, 255), 0));
       };
       return static_cast<u16>(sat(a >> (c & 31)) | sat(b >> (c & 31)) << 8);
     }>()},
    {"v_prng_b32",
     Lanes<[](u32 a) { return (a << 1) ^ (a >> 31 != 0 ? 197u : 0u); }>()},

    {"v_add_nc_u16", Lanes2<[](u16 a, u16 b) { return u16(a + b); },
                            [](u16 a, u16 b) { return SatU16(a + b); }>()},
    {"v_sub_nc_u16", Lanes2<[](u16 a, u16 b) { return u16(a - b); },
                            [](u16 a, u16 b) { return SatU16(a - b); }>()},
    {"v_subrev_nc_u16", Lanes2<[](u16 a, u16 b) { return u16(b - a); },
                               [](u16 a, u16 b) { return SatU16(b - a); }>()},
    {"v_add_nc_i16", Lanes2<[](i16 a, i16 b) { return i16(a + b); },
                            [](i16 a, i16 b) { return SatI16(a + b); }>()},
    {"v_sub_nc_i16", Lanes2<[](i16 a, i16 b) { return i16(a - b); },
                            [](i16 a, i16 b) { return SatI16(a - b); }>()},
    {"v_mul_lo_u16", Lanes2<[](u16 a, u16 b) { return u16(u32(a) * b); },
                            [](u16 a, u16 b) {
                              const u32 p = u32(a) * b;
                              return u16(p > 0xffff ? 0xffff : p);
                            }>()},
    {"v_mad_u16",
     Lanes2<[](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
            [](u16 a, u16 b, u16 c) {
              const u32 p = u32(a) * b;
              return u16(p > 0xffff - u32(c) ? 0xffff : p + c);
            }>(kRowPreserve)},
    {"v_mad_i16",
     Lanes2<[](i16 a, i16 b, i16 c) { return i16(i32(a) * b + c); },
            [](i16 a, i16 b, i16 c) { return SatI16(i32(a) * b + c); }>(
         kRowPreserve)},
    {"v_mad_legacy_u16",
     Lanes<[](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); }>()},
    {"v_mad_legacy_i16",
     Lanes<[](i16 a, i16 b, i16 c) { return i16(i32(a) * b + c); }>()},
    {"v_max_u16", Lanes<[](u16 a, u16 b) { return Max(a, b); }>()},
    {"v_max_i16", Lanes<[](i16 a, i16 b) { return Max(a, b); }>()},
    {"v_min_u16", Lanes<[](u16 a, u16 b) { return Min(a, b); }>()},
    {"v_min_i16", Lanes<[](i16 a, i16 b) { return Min(a, b); }>()},
    {"v_min3_i16",
     Lanes<[](i16 a, i16 b, i16 c) { return Min(Min(a, b), c); }>()},
    {"v_max3_i16",
     Lanes<[](i16 a, i16 b, i16 c) { return Max(Max(a, b), c); }>()},
    {"v_med3_i16", Lanes<[](i16 a, i16 b, i16 c) {
       return i16(Med3(i32(a), i32(b), i32(c)));
     }>()},
    {"v_min3_u16",
     Lanes<[](u16 a, u16 b, u16 c) { return Min(Min(a, b), c); }>()},
    {"v_max3_u16",
     Lanes<[](u16 a, u16 b, u16 c) { return Max(Max(a, b), c); }>()},
    {"v_med3_u16", Lanes<[](u16 a, u16 b, u16 c) {
       return u16(Med3(u32(a), u32(b), u32(c)));
     }>()},
    {"v_lshlrev_b16", Lanes<[](u16 a, u16 b) { return u16(b << (a & 15)); }>()},
    {"v_lshrrev_b16", Lanes<[](u16 a, u16 b) { return u16(b >> (a & 15)); }>()},
    {"v_ashrrev_i16", Lanes<[](u16 a, i16 b) { return i16(b >> (a & 15)); }>()},
    {"v_and_b16", Lanes<[](u16 a, u16 b) { return u16(a & b); }>()},
    {"v_or_b16", Lanes<[](u16 a, u16 b) { return u16(a | b); }>()},
    {"v_xor_b16", Lanes<[](u16 a, u16 b) { return u16(a ^ b); }>()},
    {"v_pack_b32_f16",
     Lanes<[](u16 a, u16 b) { return u32(a) | u32(b) << 16; }>()},
    {"v_cvt_pk_u16_u32", Lanes<[](u32 a, u32 b) {
       return Min(a, 0xffffu) | Min(b, 0xffffu) << 16;
     }>()},
    {"v_cvt_pk_i16_i32", Lanes<[](i32 a, i32 b) {
       return u32(u16(SatI16(a))) | u32(u16(SatI16(b))) << 16;
     }>()},
};

}  // namespace

std::span<const Row> ValuIntRows() { return kRows; }

}  // namespace cerberus::emulator::CERBERUS_EMU_ISA
