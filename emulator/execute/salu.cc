// Scalar arithmetic and logic: RDNA3 ISA, sections 16.1 to 16.3. What steers
// a wave is in salu_flow.cc.
#include "emulator/execute/salu.h"

#include <bit>

#include "emulator/vector/float_math.h"

namespace cerberus::emulator {
namespace {

template <typename T> T NotZero(const Sx& s, T v) {
  s.Scc(v != 0);
  return v;
}
u32 Wqm(u32 v) {
  u32 m = v | v >> 1 | v >> 2 | v >> 3;
  return (m & 0x11111111) * 15;
}
u64 Wqm(u64 v) {
  u64 m = v | v >> 1 | v >> 2 | v >> 3;
  return (m & 0x1111111111111111) * 15;
}
u64 Quads(u64 v) {
  u64 r = 0;
  for (int i = 0; i < 16; ++i) {
    r |= static_cast<u64>((v >> (4 * i) & 15) != 0) << i;
  }
  return r;
}
u64 Reverse64(u64 v) {
  u64 r = 0;
  for (int i = 0; i < 64; ++i) r |= (v >> i & 1) << (63 - i);
  return r;
}
u32 Reverse32(u32 v) { return static_cast<u32>(Reverse64(v) >> 32); }

template <typename T, auto F>
T SaveExec(const Sx& s, T a) {
  const T old = sizeof(T) == 8 ? static_cast<T>(s.w.S64(kExec))
                               : static_cast<T>(s.w.sgpr[kExec]);
  const T now = F(a, old);
  if constexpr (sizeof(T) == 8) s.w.SetS64(kExec, now);
  else s.w.sgpr[kExec] = now;
  s.Scc(now != 0);
  return old;
}
template <typename T, auto F>
T WriteExec(const Sx& s, T a) {
  SaveExec<T, F>(s, a);
  return sizeof(T) == 8 ? static_cast<T>(s.w.S64(kExec))
                        : static_cast<T>(s.w.sgpr[kExec]);
}
#define CERBERUS_SAVEEXEC(name, expr)                                       \
  {"s_" name "_saveexec_b32", S<[](const Sx& s, u32 a) {                    \
     return SaveExec<u32, [](u32 x, u32 e) -> u32 { return expr; }>(s, a);  \
   }>()},                                                                   \
  {                                                                         \
    "s_" name "_saveexec_b64", S<[](const Sx& s, u64 a) {                   \
      return SaveExec<u64, [](u64 x, u64 e) -> u64 { return expr; }>(s, a); \
    }>()                                                                    \
  }
#define CERBERUS_WREXEC(name, expr)                                          \
  {"s_" name "_wrexec_b32", S<[](const Sx& s, u32 a) {                       \
     return WriteExec<u32, [](u32 x, u32 e) -> u32 { return expr; }>(s, a);  \
   }>()},                                                                    \
  {                                                                          \
    "s_" name "_wrexec_b64", S<[](const Sx& s, u64 a) {                      \
      return WriteExec<u64, [](u64 x, u64 e) -> u64 { return expr; }>(s, a); \
    }>()                                                                     \
  }
#define CERBERUS_LOGIC(name, expr)                             \
  {"s_" name "_b32", S<[](const Sx& s, u32 a, u32 b) -> u32 {  \
     return NotZero<u32>(s, expr);                             \
   }>()},                                                      \
  {                                                            \
    "s_" name "_b64", S<[](const Sx& s, u64 a, u64 b) -> u64 { \
      return NotZero<u64>(s, expr);                            \
    }>()                                                       \
  }
#define CERBERUS_CMP(name, T, expr) \
  {"s_cmp_" name, S<[](const Sx& s, T a, T b) { s.Scc(expr); }>()}
#define CERBERUS_FCMP(op, expr)                              \
  {"s_cmp_" op "_f32",                                       \
   S<[](const Sx& s, float a, float b) { s.Scc(expr); }>()}, \
  {                                                          \
    "s_cmp_" op "_f16", S<[](const Sx& s, H ha, H hb) {      \
      const float a = ha.v, b = hb.v;                        \
      s.Scc(expr);                                           \
    }>()                                                     \
  }
// The immediate of SOPK compares: sign-extended for i32, not for u32.
#define CERBERUS_CMPK(op, expr)                              \
  {"s_cmpk_" op "_i32", S<[](const Sx& s, i32 a, i32 imm) {  \
     const i32 b = static_cast<i16>(imm);                    \
     s.Scc(expr);                                            \
   }>()},                                                    \
  {                                                          \
    "s_cmpk_" op "_u32", S<[](const Sx& s, u32 a, u32 imm) { \
      const u32 b = imm & 0xffff;                            \
      s.Scc(expr);                                           \
    }>()                                                     \
  }
#define CERBERUS_SHIFT_ADD(n)                                \
  {"s_lshl" #n "_add_u32", S<[](const Sx& s, u32 a, u32 b) { \
     const u64 t = (static_cast<u64>(a) << n) + b;           \
     s.Scc(t >> 32 != 0);                                    \
     return static_cast<u32>(t);                             \
   }>()}

u64 BfeU64(u64 a, u32 b) {
  const u32 width = b >> 16 & 127;
  const u64 m = width >= 64 ? ~u64{0} : (u64{1} << width) - 1;
  return a >> (b & 63) & m;
}
i64 BfeI64(i64 a, u32 b) {
  const u32 width = b >> 16 & 127;
  if (width == 0) return 0;
  const u64 f = static_cast<u64>(a >> (b & 63));
  if (width >= 64) return static_cast<i64>(f);
  return static_cast<i64>(f << (64 - width)) >> (64 - width);
}
u32 BfeU32(u32 a, u32 b) {
  const u32 width = b >> 16 & 127;
  const u32 m = width >= 32 ? ~0u : (1u << width) - 1;
  return a >> (b & 31) & m;
}
i32 BfeI32(i32 a, u32 b) {
  const u32 width = b >> 16 & 127;
  if (width == 0) return 0;
  const u32 f = static_cast<u32>(a >> (b & 31));
  if (width >= 32) return static_cast<i32>(f);
  return static_cast<i32>(f << (32 - width)) >> (32 - width);
}

float FloorF(float v) { return IsNan(v) ? Quiet(v) : std::floor(v); }
float CeilF(float v) { return IsNan(v) ? Quiet(v) : std::ceil(v); }
float TruncF(float v) { return IsNan(v) ? Quiet(v) : std::trunc(v); }
float EvenF(float v) { return IsNan(v) ? Quiet(v) : __builtin_roundevenf(v); }
H FmaHalf(const Sx& s, H a, H b, H c) {
  return H{FmaHalfOp::Exact(a.v, b.v, c.v, s.w.mode.round64)};
}

const Row kRows[] = {
    {"s_mov_b32", S<[](const Sx&, u32 a) { return a; }>()},
    {"s_mov_b64", S<[](const Sx&, u64 a) { return a; }>()},
    {"s_cmov_b32",
     S<[](const Sx& s, u32 a) { return s.scc() ? a : s.dst32(); }>()},
    {"s_cmov_b64",
     S<[](const Sx& s, u64 a) { return s.scc() ? a : s.dst64(); }>()},
    {"s_brev_b32", S<[](const Sx&, u32 a) { return Reverse32(a); }>()},
    {"s_brev_b64", S<[](const Sx&, u64 a) { return Reverse64(a); }>()},
    {"s_ctz_i32_b32", S<[](const Sx&, u32 a) {
       return a == 0 ? ~0u : u32(std::countr_zero(a));
     }>()},
    {"s_ctz_i32_b64", S<[](const Sx&, u64 a) {
       return a == 0 ? ~0u : u32(std::countr_zero(a));
     }>()},
    {"s_ff0_i32_b32", S<[](const Sx&, u32 a) {
       return a == ~0u ? ~0u : u32(std::countr_one(a));
     }>()},
    {"s_ff0_i32_b64", S<[](const Sx&, u64 a) {
       return a == ~u64{0} ? ~0u : u32(std::countr_one(a));
     }>()},
    {"s_clz_i32_u32", S<[](const Sx&, u32 a) {
       return a == 0 ? ~0u : u32(std::countl_zero(a));
     }>()},
    {"s_clz_i32_u64", S<[](const Sx&, u64 a) {
       return a == 0 ? ~0u : u32(std::countl_zero(a));
     }>()},
    {"s_cls_i32", S<[](const Sx&, u32 a) {
       const u32 x = a ^ static_cast<u32>(static_cast<i32>(a) >> 31);
       return x == 0 ? ~0u : u32(std::countl_zero(x));
     }>()},
    {"s_cls_i32_i64", S<[](const Sx&, u64 a) {
       const u64 x = a ^ static_cast<u64>(static_cast<i64>(a) >> 63);
       return x == 0 ? ~0u : u32(std::countl_zero(x));
     }>()},
    {"s_sext_i32_i8", S<[](const Sx&, u32 a) {
       return static_cast<i32>(static_cast<i8>(a));
     }>()},
    {"s_sext_i32_i16", S<[](const Sx&, u32 a) {
       return static_cast<i32>(static_cast<i16>(a));
     }>()},
    {"s_bitset0_b32",
     S<[](const Sx& s, u32 a) { return s.dst32() & ~(1u << (a & 31)); }>()},
    {"s_bitset1_b32",
     S<[](const Sx& s, u32 a) { return s.dst32() | 1u << (a & 31); }>()},
    {"s_bitset0_b64",
     S<[](const Sx& s, u32 a) { return s.dst64() & ~(u64{1} << (a & 63)); }>()},
    {"s_bitset1_b64",
     S<[](const Sx& s, u32 a) { return s.dst64() | u64{1} << (a & 63); }>()},
    {"s_bitreplicate_b64_b32", S<[](const Sx&, u32 a) {
       u64 r = 0;
       for (int i = 0; i < 32; ++i) {
         r |= static_cast<u64>(a >> i & 1) * 3 << (2 * i);
       }
       return r;
     }>()},
    {"s_abs_i32", S<[](const Sx& s, u32 a) {
       return NotZero<u32>(s, static_cast<i32>(a) < 0 ? 0 - a : a);
     }>()},
    {"s_bcnt0_i32_b32", S<[](const Sx& s, u32 a) {
       return NotZero<u32>(s, 32 - u32(std::popcount(a)));
     }>()},
    {"s_bcnt0_i32_b64", S<[](const Sx& s, u64 a) {
       return NotZero<u32>(s, 64 - u32(std::popcount(a)));
     }>()},
    {"s_bcnt1_i32_b32", S<[](const Sx& s, u32 a) {
       return NotZero<u32>(s, u32(std::popcount(a)));
     }>()},
    {"s_bcnt1_i32_b64", S<[](const Sx& s, u64 a) {
       return NotZero<u32>(s, u32(std::popcount(a)));
     }>()},
    {"s_quadmask_b32",
     S<[](const Sx& s, u32 a) { return NotZero<u32>(s, u32(Quads(a))); }>()},
    {"s_quadmask_b64",
     S<[](const Sx& s, u64 a) { return NotZero<u64>(s, Quads(a)); }>()},
    {"s_wqm_b32",
     S<[](const Sx& s, u32 a) { return NotZero<u32>(s, Wqm(a)); }>()},
    {"s_wqm_b64",
     S<[](const Sx& s, u64 a) { return NotZero<u64>(s, Wqm(a)); }>()},
    {"s_not_b32", S<[](const Sx& s, u32 a) { return NotZero<u32>(s, ~a); }>()},
    {"s_not_b64", S<[](const Sx& s, u64 a) { return NotZero<u64>(s, ~a); }>()},
    CERBERUS_SAVEEXEC("and", x& e),
    CERBERUS_SAVEEXEC("or", x | e),
    CERBERUS_SAVEEXEC("xor", x ^ e),
    CERBERUS_SAVEEXEC("nand", ~(x& e)),
    CERBERUS_SAVEEXEC("nor", ~(x | e)),
    CERBERUS_SAVEEXEC("xnor", ~(x ^ e)),
    CERBERUS_SAVEEXEC("and_not0", ~x& e),
    CERBERUS_SAVEEXEC("or_not0", ~x | e),
    CERBERUS_SAVEEXEC("and_not1", x & ~e),
    CERBERUS_SAVEEXEC("or_not1", x | ~e),
    CERBERUS_WREXEC("and_not0", ~x& e),
    CERBERUS_WREXEC("and_not1", x & ~e),
    {"s_movrels_b32", S<[](const Sx& s, u32) {
       const u32 at = s.op.src[0].reg + s.w.sgpr[kM0];
       if (at >= 106) Throw("s_movrels reads outside the registers");
       return s.w.sgpr[at];
     }>()},
    {"s_movrels_b64", S<[](const Sx& s, u64) {
       const u32 at = s.op.src[0].reg + s.w.sgpr[kM0];
       if (at >= 105) Throw("s_movrels reads outside the registers");
       return s.w.S64(at);
     }>()},
    {"s_movreld_b32", S<[](const Sx& s, u32 a) {
       const u32 at = s.op.dst.reg + s.w.sgpr[kM0];
       if (at >= 106) Throw("s_movreld writes outside the registers");
       s.w.sgpr[at] = a;
     }>(Type::kB32)},
    {"s_movreld_b64", S<[](const Sx& s, u64 a) {
       const u32 at = s.op.dst.reg + s.w.sgpr[kM0];
       if (at >= 105) Throw("s_movreld writes outside the registers");
       s.w.SetS64(at, a);
     }>(Type::kB64)},
    {"s_movrelsd_2_b32", S<[](const Sx& s, u32) {
       const u32 m0 = s.w.sgpr[kM0];
       const u32 from = s.op.src[0].reg + (m0 & 0x3ff);
       const u32 to = s.op.dst.reg + (m0 >> 16 & 0x3ff);
       if (from >= 106 || to >= 106) {
         Throw("s_movrelsd leaves the registers");
       }
       s.w.sgpr[to] = s.w.sgpr[from];
     }>(Type::kB32)},

    {"s_add_u32", S<[](const Sx& s, u32 a, u32 b) {
       s.Scc(a + b < a);
       return a + b;
     }>()},
    {"s_sub_u32", S<[](const Sx& s, u32 a, u32 b) {
       s.Scc(b > a);
       return a - b;
     }>()},
    {"s_add_i32", S<[](const Sx& s, u32 a, u32 b) {
       const u32 r = a + b;
       s.Scc(((a ^ r) & (b ^ r)) >> 31 != 0);
       return r;
     }>()},
    {"s_sub_i32", S<[](const Sx& s, u32 a, u32 b) {
       const u32 r = a - b;
       s.Scc(((a ^ b) & (a ^ r)) >> 31 != 0);
       return r;
     }>()},
    {"s_addc_u32", S<[](const Sx& s, u32 a, u32 b) {
       const u64 t = static_cast<u64>(a) + b + s.scc();
       s.Scc(t >> 32 != 0);
       return static_cast<u32>(t);
     }>()},
    {"s_subb_u32", S<[](const Sx& s, u32 a, u32 b) {
       const u32 c = s.scc();
       s.Scc(static_cast<u64>(b) + c > a);
       return a - b - c;
     }>()},
    {"s_add_nc_u64", S<[](const Sx&, u64 a, u64 b) { return a + b; }>()},
    {"s_sub_nc_u64", S<[](const Sx&, u64 a, u64 b) { return a - b; }>()},
    {"s_mul_u64", S<[](const Sx&, u64 a, u64 b) { return a * b; }>()},
    {"s_absdiff_i32", S<[](const Sx& s, u32 a, u32 b) {
       const u32 d = a - b;
       return NotZero<u32>(s, static_cast<i32>(d) < 0 ? 0 - d : d);
     }>()},
    {"s_lshl_b32", S<[](const Sx& s, u32 a, u32 b) {
       return NotZero<u32>(s, a << (b & 31));
     }>()},
    {"s_lshl_b64", S<[](const Sx& s, u64 a, u32 b) {
       return NotZero<u64>(s, a << (b & 63));
     }>()},
    {"s_lshr_b32", S<[](const Sx& s, u32 a, u32 b) {
       return NotZero<u32>(s, a >> (b & 31));
     }>()},
    {"s_lshr_b64", S<[](const Sx& s, u64 a, u32 b) {
       return NotZero<u64>(s, a >> (b & 63));
     }>()},
    {"s_ashr_i32", S<[](const Sx& s, i32 a, u32 b) {
       return NotZero<i32>(s, a >> (b & 31));
     }>()},
    {"s_ashr_i64", S<[](const Sx& s, i64 a, u32 b) {
       return NotZero<i64>(s, a >> (b & 63));
     }>()},
    CERBERUS_SHIFT_ADD(1),
    CERBERUS_SHIFT_ADD(2),
    CERBERUS_SHIFT_ADD(3),
    CERBERUS_SHIFT_ADD(4),
    {"s_min_i32", S<[](const Sx& s, i32 a, i32 b) {
       s.Scc(a < b);
       return a < b ? a : b;
     }>()},
    {"s_min_u32", S<[](const Sx& s, u32 a, u32 b) {
       s.Scc(a < b);
       return a < b ? a : b;
     }>()},
    {"s_max_i32", S<[](const Sx& s, i32 a, i32 b) {
       s.Scc(a >= b);
       return a >= b ? a : b;
     }>()},
    {"s_max_u32", S<[](const Sx& s, u32 a, u32 b) {
       s.Scc(a >= b);
       return a >= b ? a : b;
     }>()},
    CERBERUS_LOGIC("and", a& b),
    CERBERUS_LOGIC("or", a | b),
    CERBERUS_LOGIC("xor", a ^ b),
    CERBERUS_LOGIC("nand", ~(a& b)),
    CERBERUS_LOGIC("nor", ~(a | b)),
    CERBERUS_LOGIC("xnor", ~(a ^ b)),
    CERBERUS_LOGIC("and_not1", a & ~b),
    CERBERUS_LOGIC("or_not1", a | ~b),
    {"s_bfe_u32", S<[](const Sx& s, u32 a, u32 b) {
       return NotZero<u32>(s, BfeU32(a, b));
     }>()},
    {"s_bfe_i32", S<[](const Sx& s, i32 a, u32 b) {
       return NotZero<i32>(s, BfeI32(a, b));
     }>()},
    {"s_bfe_u64", S<[](const Sx& s, u64 a, u32 b) {
       return NotZero<u64>(s, BfeU64(a, b));
     }>()},
    {"s_bfe_i64", S<[](const Sx& s, i64 a, u32 b) {
       return NotZero<i64>(s, BfeI64(a, b));
     }>()},
    {"s_bfm_b32", S<[](const Sx&, u32 a, u32 b) {
       return ((1u << (a & 31)) - 1) << (b & 31);
     }>()},
    {"s_bfm_b64", S<[](const Sx&, u32 a, u32 b) {
       return ((u64{1} << (a & 63)) - 1) << (b & 63);
     }>()},
    {"s_mul_i32", S<[](const Sx&, u32 a, u32 b) { return a * b; }>()},
    {"s_mul_hi_u32", S<[](const Sx&, u32 a, u32 b) {
       return static_cast<u32>(static_cast<u64>(a) * b >> 32);
     }>()},
    {"s_mul_hi_i32", S<[](const Sx&, i32 a, i32 b) {
       return static_cast<i32>(static_cast<i64>(a) * b >> 32);
     }>()},
    {"s_cselect_b32",
     S<[](const Sx& s, u32 a, u32 b) { return s.scc() ? a : b; }>()},
    {"s_cselect_b64",
     S<[](const Sx& s, u64 a, u64 b) { return s.scc() ? a : b; }>()},
    {"s_pack_ll_b32_b16",
     S<[](const Sx&, u32 a, u32 b) { return (a & 0xffff) | b << 16; }>()},
    {"s_pack_lh_b32_b16", S<[](const Sx&, u32 a, u32 b) {
       return (a & 0xffff) | (b & 0xffff0000);
     }>()},
    {"s_pack_hh_b32_b16",
     S<[](const Sx&, u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }>()},
    {"s_pack_hl_b32_b16",
     S<[](const Sx&, u32 a, u32 b) { return a >> 16 | b << 16; }>()},

    // Scalar floating point (gfx11.5 and gfx12).
    {"s_add_f32", S<[](const Sx&, float a, float b) { return AddF(a, b); }>()},
    {"s_sub_f32", S<[](const Sx&, float a, float b) { return SubF(a, b); }>()},
    {"s_mul_f32", S<[](const Sx&, float a, float b) { return MulF(a, b); }>()},
    {"s_min_f32", S<[](const Sx& s, float a, float b) {
       return MinF(a, b, s.w.mode.ieee);
     }>()},
    {"s_max_f32", S<[](const Sx& s, float a, float b) {
       return MaxF(a, b, s.w.mode.ieee);
     }>()},
    {"s_min_num_f32",
     S<[](const Sx&, float a, float b) { return MinNumF(a, b); }>()},
    {"s_max_num_f32",
     S<[](const Sx&, float a, float b) { return MaxNumF(a, b); }>()},
    {"s_minimum_f32",
     S<[](const Sx&, float a, float b) { return MinimumF(a, b); }>()},
    {"s_maximum_f32",
     S<[](const Sx&, float a, float b) { return MaximumF(a, b); }>()},
    {"s_fmac_f32", S<[](const Sx& s, float a, float b) {
       return FmaF(a, b, F32(s.dst32()));
     }>()},
    {"s_fmaak_f32",
     S<[](const Sx&, float a, float b, float c) { return FmaF(a, b, c); }>()},
    {"s_fmamk_f32",
     S<[](const Sx&, float a, float b, float c) { return FmaF(a, b, c); }>()},
    {"s_ceil_f32", S<[](const Sx&, float a) { return CeilF(a); }>()},
    {"s_floor_f32", S<[](const Sx&, float a) { return FloorF(a); }>()},
    {"s_trunc_f32", S<[](const Sx&, float a) { return TruncF(a); }>()},
    {"s_rndne_f32", S<[](const Sx&, float a) { return EvenF(a); }>()},
    {"s_cvt_f32_i32",
     S<[](const Sx&, i32 a) { return static_cast<float>(a); }>()},
    {"s_cvt_f32_u32",
     S<[](const Sx&, u32 a) { return static_cast<float>(a); }>()},
    {"s_cvt_i32_f32", S<[](const Sx&, float a) { return ToI32(a); }>()},
    {"s_cvt_u32_f32", S<[](const Sx&, float a) { return ToU32(a); }>()},
    {"s_cvt_f16_f32", S<[](const Sx&, float a) { return H{a}; }>()},
    {"s_cvt_f32_f16",
     S<[](const Sx&, H a) { return IsNan(a.v) ? Quiet(a.v) : a.v; }>()},
    {"s_cvt_hi_f32_f16", S<[](const Sx& s, u32 a) {
       const float v =
           HalfToFloat(static_cast<u16>(a >> 16), (s.w.mode.denorm64 & 1) == 0);
       return IsNan(v) ? Quiet(v) : v;
     }>()},
    {"s_cvt_pk_rtz_f16_f32", S<[](const Sx& s, float a, float b) {
       const bool flush = (s.w.mode.denorm64 & 2) == 0;
       return u32(FloatToHalf(a, kZero, flush)) |
              u32(FloatToHalf(b, kZero, flush)) << 16;
     }>()},
    {"s_add_f16", S<[](const Sx&, H a, H b) { return H{AddF(a.v, b.v)}; }>()},
    {"s_sub_f16", S<[](const Sx&, H a, H b) { return H{SubF(a.v, b.v)}; }>()},
    {"s_mul_f16", S<[](const Sx&, H a, H b) { return H{MulF(a.v, b.v)}; }>()},
    {"s_min_f16", S<[](const Sx& s, H a, H b) {
       return H{MinF(a.v, b.v, s.w.mode.ieee)};
     }>()},
    {"s_max_f16", S<[](const Sx& s, H a, H b) {
       return H{MaxF(a.v, b.v, s.w.mode.ieee)};
     }>()},
    {"s_min_num_f16",
     S<[](const Sx&, H a, H b) { return H{MinNumF(a.v, b.v)}; }>()},
    {"s_max_num_f16",
     S<[](const Sx&, H a, H b) { return H{MaxNumF(a.v, b.v)}; }>()},
    {"s_minimum_f16",
     S<[](const Sx&, H a, H b) { return H{MinimumF(a.v, b.v)}; }>()},
    {"s_maximum_f16",
     S<[](const Sx&, H a, H b) { return H{MaximumF(a.v, b.v)}; }>()},
    {"s_fmac_f16", S<[](const Sx& s, H a, H b) {
       return FmaHalf(s, a, b, H{HalfToFloat(static_cast<u16>(s.dst32()))});
     }>()},
    {"s_ceil_f16", S<[](const Sx&, H a) { return H{CeilF(a.v)}; }>()},
    {"s_floor_f16", S<[](const Sx&, H a) { return H{FloorF(a.v)}; }>()},
    {"s_trunc_f16", S<[](const Sx&, H a) { return H{TruncF(a.v)}; }>()},
    {"s_rndne_f16", S<[](const Sx&, H a) { return H{EvenF(a.v)}; }>()},

    CERBERUS_CMP("eq_i32", i32, a == b),
    CERBERUS_CMP("lg_i32", i32, a != b),
    CERBERUS_CMP("gt_i32", i32, a > b),
    CERBERUS_CMP("ge_i32", i32, a >= b),
    CERBERUS_CMP("lt_i32", i32, a < b),
    CERBERUS_CMP("le_i32", i32, a <= b),
    CERBERUS_CMP("eq_u32", u32, a == b),
    CERBERUS_CMP("lg_u32", u32, a != b),
    CERBERUS_CMP("gt_u32", u32, a > b),
    CERBERUS_CMP("ge_u32", u32, a >= b),
    CERBERUS_CMP("lt_u32", u32, a < b),
    CERBERUS_CMP("le_u32", u32, a <= b),
    CERBERUS_CMP("eq_u64", u64, a == b),
    CERBERUS_CMP("lg_u64", u64, a != b),
    {"s_bitcmp0_b32",
     S<[](const Sx& s, u32 a, u32 b) { s.Scc((a >> (b & 31) & 1) == 0); }>()},
    {"s_bitcmp1_b32",
     S<[](const Sx& s, u32 a, u32 b) { s.Scc((a >> (b & 31) & 1) != 0); }>()},
    {"s_bitcmp0_b64",
     S<[](const Sx& s, u64 a, u32 b) { s.Scc((a >> (b & 63) & 1) == 0); }>()},
    {"s_bitcmp1_b64",
     S<[](const Sx& s, u64 a, u32 b) { s.Scc((a >> (b & 63) & 1) != 0); }>()},
    CERBERUS_FCMP("lt", a < b),
    CERBERUS_FCMP("eq", a == b),
    CERBERUS_FCMP("le", a <= b),
    CERBERUS_FCMP("gt", a > b),
    CERBERUS_FCMP("lg", a<b || a> b),
    CERBERUS_FCMP("ge", a >= b),
    CERBERUS_FCMP("o", !IsNan(a) && !IsNan(b)),
    CERBERUS_FCMP("u", IsNan(a) || IsNan(b)),
    CERBERUS_FCMP("nge", !(a >= b)),
    CERBERUS_FCMP("nlg", !(a < b || a > b)),
    CERBERUS_FCMP("ngt", !(a > b)),
    CERBERUS_FCMP("nle", !(a <= b)),
    CERBERUS_FCMP("neq", !(a == b)),
    CERBERUS_FCMP("nlt", !(a < b)),

    {"s_movk_i32", S<[](const Sx&, i32 imm) {
       return static_cast<i32>(static_cast<i16>(imm));
     }>()},
    {"s_cmovk_i32", S<[](const Sx& s, i32 imm) {
       return s.scc() ? static_cast<u32>(i32{static_cast<i16>(imm)})
                      : s.dst32();
     }>()},
    CERBERUS_CMPK("eq", a == b),
    CERBERUS_CMPK("lg", a != b),
    CERBERUS_CMPK("gt", a > b),
    CERBERUS_CMPK("ge", a >= b),
    CERBERUS_CMPK("lt", a < b),
    CERBERUS_CMPK("le", a <= b),
    {"s_addk_i32", S<[](const Sx& s, i32 imm) {
       const u32 a = s.dst32();
       const u32 b = static_cast<u32>(i32{static_cast<i16>(imm)});
       const u32 r = a + b;
       s.Scc(((a ^ r) & (b ^ r)) >> 31 != 0);
       return r;
     }>()},
    {"s_mulk_i32", S<[](const Sx& s, i32 imm) {
       return s.dst32() * static_cast<u32>(i32{static_cast<i16>(imm)});
     }>()},

};

}  // namespace

std::span<const Row> SaluRows() { return kRows; }

}  // namespace cerberus::emulator
