// Floating-point vector instructions: RDNA3 ISA, sections 16.7 to 16.11, and
// the same instructions of the other generations.
#include "emulator/vector/float_math.h"
#include "emulator/vector/lane_loop.h"
#include "emulator/vector/transcendental.h"

namespace cerberus::emulator::CERBERUS_EMU_ISA {
namespace {

inline float Trunc(float v) {
  return IsNan(v) ? Quiet(v) : __builtin_truncf(v);
}
inline double Trunc(double v) {
  return IsNan(v) ? Quiet(v) : __builtin_trunc(v);
}
inline float Floor(float v) {
  return IsNan(v) ? Quiet(v) : __builtin_floorf(v);
}
inline double Floor(double v) {
  return IsNan(v) ? Quiet(v) : __builtin_floor(v);
}
inline float Ceil(float v) { return IsNan(v) ? Quiet(v) : __builtin_ceilf(v); }
inline double Ceil(double v) { return IsNan(v) ? Quiet(v) : __builtin_ceil(v); }
inline float Even(float v) {
  return IsNan(v) ? Quiet(v) : __builtin_roundevenf(v);
}
inline double Even(double v) {
  return IsNan(v) ? Quiet(v) : __builtin_roundeven(v);
}
// x - floor(x), kept below 1: the largest number below 1 where rounding would
// give 1 (CDNA3 ISA, V_FRACT_F32).
inline float Fract(float v) {
  const float r = v - __builtin_floorf(v);
  return PickNan(r >= 1.0f ? F32(0x3f7fffff) : r, v, v);
}
inline double Fract(double v) {
  const double r = v - __builtin_floor(v);
  return PickNan(r >= 1.0 ? F64(0x3fefffffffffffff) : r, v, v);
}
inline float FractH(float v) {
  const float r = v - __builtin_floorf(v);
  return PickNan(r > F32(0x3f7fe000) ? F32(0x3f7fe000) : r, v, v);
}

// DX9 rules: 0 * x = 0.
inline float MulDx9(float a, float b) {
  return a == 0 || b == 0 ? 0.0f : MulF(a, b);
}
inline float FmaDx9(float a, float b, float c) {
  return a == 0 || b == 0 ? AddF(0.0f, c) : FmaF(a, b, c);
}
// v_mad_f32 and v_mac_f32 round the product and flush denormals.
inline float MadF32(float a, float b, float c) {
  a = FlushDenormal(a), b = FlushDenormal(b), c = FlushDenormal(c);
  const float p = FlushDenormal(MulF(a, b));
  return FlushDenormal(PickNan(p + c, a, b, c));
}
// So do their f16 forms: LLVM selects them only where denormals are flushed.
inline float FlushHalf(float v) {
  return __builtin_fabsf(v) < 0x1p-14f ? __builtin_copysignf(0, v) : v;
}
inline H MadH(H a, H b, H c, const Mode& mode) {
  const float x = FlushHalf(a.v), y = FlushHalf(b.v), z = FlushHalf(c.v);
  const u16 p = FloatToHalf(x * y, mode.round64, true);
  return H{PickNan(FlushHalf(HalfToFloat(p, true) + z), x, y, z)};
}

inline float CubeId(float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y),
              az = __builtin_fabsf(z);
  if (az >= ax && az >= ay) return z < 0 ? 5.0f : 4.0f;
  if (ay >= ax) return y < 0 ? 3.0f : 2.0f;
  return x < 0 ? 1.0f : 0.0f;
}
inline float CubeSc(float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y),
              az = __builtin_fabsf(z);
  if (az >= ax && az >= ay) return z < 0 ? -x : x;
  if (ay >= ax) return x;
  return x < 0 ? z : -z;
}
inline float CubeTc(float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y),
              az = __builtin_fabsf(z);
  if (az >= ax && az >= ay) return -y;
  if (ay >= ax) return y < 0 ? -z : z;
  return -y;
}
inline float CubeMa(float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y),
              az = __builtin_fabsf(z);
  if (az >= ax && az >= ay) return z * 2;
  if (ay >= ax) return y * 2;
  return x * 2;
}
inline float Mullit(float a, float b, float c) {
  const float least = F32(0xff7fffff);
  if (b == least || b == F32(0xff800000) || IsNan(b) || c <= 0 || IsNan(c)) {
    return least;
  }
  return MulF(a, b);
}
inline float RcpH(float v) { return IsNan(v) ? Quiet(v) : 1.0f / v; }

constexpr Row kRows[] = {
    {"v_add_f32", Arith<AddOp, float, float>()},
    {"v_sub_f32", Arith<SubOp, float, float>()},
    {"v_subrev_f32", Arith<SubrevOp, float, float>()},
    {"v_mul_f32", Arith<MulOp, float, float>()},
    {"v_mul_dx9_zero_f32",
     Lanes<[](float a, float b) { return MulDx9(a, b); }>()},
    {"v_fma_f32", Arith<FmaOp, float, float, float>()},
    {"v_fmac_f32", Arith<FmaOp, float, float, float>(kRowTied)},
    {"v_fma_dx9_zero_f32",
     Lanes<[](float a, float b, float c) { return FmaDx9(a, b, c); }>()},
    {"v_fmac_dx9_zero_f32",
     Lanes<[](float a, float b, float c) { return FmaDx9(a, b, c); }>(
         kRowTied)},
    {"v_fmaak_f32", Arith<FmaOp, float, float, float>()},
    {"v_fmamk_f32", Arith<FmaOp, float, float, float>()},
    {"v_mad_f32",
     Lanes<[](float a, float b, float c) { return MadF32(a, b, c); }>()},
    {"v_mac_f32",
     Lanes<[](float a, float b, float c) { return MadF32(a, b, c); }>(
         kRowTied)},
    {"v_madak_f32",
     Lanes<[](float a, float b, float c) { return MadF32(a, b, c); }>()},
    {"v_madmk_f32",
     Lanes<[](float a, float b, float c) { return MadF32(a, b, c); }>()},
    {"v_mad_legacy_f32", Lanes<[](float a, float b, float c) {
       return a == 0 || b == 0 ? c : MadF32(a, b, c);
     }>()},
    {"v_mac_legacy_f32", Lanes<[](float a, float b, float c) {
       return a == 0 || b == 0 ? c : MadF32(a, b, c);
     }>(kRowTied)},
    {"v_min_f32", Lanes<[](const Cx& cx, float a, float b) {
       return MinF(a, b, cx.mode.ieee);
     }>()},
    {"v_max_f32", Lanes<[](const Cx& cx, float a, float b) {
       return MaxF(a, b, cx.mode.ieee);
     }>()},
    {"v_min_num_f32", Lanes<[](float a, float b) { return MinNumF(a, b); }>()},
    {"v_max_num_f32", Lanes<[](float a, float b) { return MaxNumF(a, b); }>()},
    {"v_minimum_f32", Lanes<[](float a, float b) { return MinimumF(a, b); }>()},
    {"v_maximum_f32", Lanes<[](float a, float b) { return MaximumF(a, b); }>()},
    {"v_min3_f32", Lanes<[](const Cx& cx, float a, float b, float c) {
       return MinF(MinF(a, b, cx.mode.ieee), c, cx.mode.ieee);
     }>()},
    {"v_max3_f32", Lanes<[](const Cx& cx, float a, float b, float c) {
       return MaxF(MaxF(a, b, cx.mode.ieee), c, cx.mode.ieee);
     }>()},
    {"v_med3_f32", Lanes<[](const Cx& cx, float a, float b, float c) {
       return Med3F(a, b, c, cx.mode.ieee);
     }>()},
    {"v_maxmin_f32", Lanes<[](const Cx& cx, float a, float b, float c) {
       return MinF(MaxF(a, b, cx.mode.ieee), c, cx.mode.ieee);
     }>()},
    {"v_minmax_f32", Lanes<[](const Cx& cx, float a, float b, float c) {
       return MaxF(MinF(a, b, cx.mode.ieee), c, cx.mode.ieee);
     }>()},
    {"v_min3_num_f32", Lanes<[](float a, float b, float c) {
       return MinNumF(MinNumF(a, b), c);
     }>()},
    {"v_max3_num_f32", Lanes<[](float a, float b, float c) {
       return MaxNumF(MaxNumF(a, b), c);
     }>()},
    {"v_med3_num_f32", Lanes<[](float a, float b, float c) {
       if (IsNan(a) || IsNan(b) || IsNan(c)) {
         return MinNumF(MinNumF(a, b), c);
       }
       return Med3F(a, b, c, false);
     }>()},
    {"v_maxmin_num_f32", Lanes<[](float a, float b, float c) {
       return MinNumF(MaxNumF(a, b), c);
     }>()},
    {"v_minmax_num_f32", Lanes<[](float a, float b, float c) {
       return MaxNumF(MinNumF(a, b), c);
     }>()},
    {"v_minimum3_f32", Lanes<[](float a, float b, float c) {
       return MinimumF(MinimumF(a, b), c);
     }>()},
    {"v_maximum3_f32", Lanes<[](float a, float b, float c) {
       return MaximumF(MaximumF(a, b), c);
     }>()},
    {"v_maximumminimum_f32", Lanes<[](float a, float b, float c) {
       return MinimumF(MaximumF(a, b), c);
     }>()},
    {"v_minimummaximum_f32", Lanes<[](float a, float b, float c) {
       return MaximumF(MinimumF(a, b), c);
     }>()},

    {"v_trunc_f32", Lanes<[](float a) { return Trunc(a); }>()},
    {"v_ceil_f32", Lanes<[](float a) { return Ceil(a); }>()},
    {"v_floor_f32", Lanes<[](float a) { return Floor(a); }>()},
    {"v_rndne_f32", Lanes<[](float a) { return Even(a); }>()},
    {"v_fract_f32", Lanes<[](float a) { return Fract(a); }>()},
    {"v_exp_f32", Transcendental<[](float a) { return ExpLane(a); }>()},
    {"v_exp_legacy_f32", Transcendental<[](float a) { return ExpLane(a); }>()},
    {"v_log_f32", Transcendental<[](float a) { return LogLane(a); }>()},
    {"v_log_legacy_f32", Transcendental<[](float a) { return LogLane(a); }>()},
    {"v_rcp_f32", Transcendental<[](float a) { return RcpLane(a); }>()},
    {"v_rcp_iflag_f32", Transcendental<[](float a) { return RcpLane(a); }>()},
    {"v_rsq_f32", Transcendental<[](float a) { return RsqLane(a); }>()},
    {"v_sqrt_f32", Transcendental<[](float a) { return SqrtLane(a); }>()},
    {"v_sin_f32", Transcendental<[](float a) { return SinLane(a); }>()},
    {"v_cos_f32", Transcendental<[](float a) { return CosLane(a); }>()},
    {"v_s_exp_f32", Transcendental<[](float a) { return ExpLane(a); }>()},
    {"v_s_log_f32", Transcendental<[](float a) { return LogLane(a); }>()},
    {"v_s_rcp_f32", Transcendental<[](float a) { return RcpLane(a); }>()},
    {"v_s_rsq_f32", Transcendental<[](float a) { return RsqLane(a); }>()},
    {"v_s_sqrt_f32", Transcendental<[](float a) { return SqrtLane(a); }>()},
    {"v_frexp_exp_i32_f32", Lanes<[](float a) { return FrexpExp(a); }>()},
    {"v_frexp_mant_f32", Lanes<[](float a) { return FrexpMant(a); }>()},
    {"v_ldexp_f32", Lanes<[](float a, i32 b) { return LdexpF32(a, b); }>()},
    {"v_cubeid_f32",
     Lanes<[](float a, float b, float c) { return CubeId(a, b, c); }>()},
    {"v_cubesc_f32",
     Lanes<[](float a, float b, float c) { return CubeSc(a, b, c); }>()},
    {"v_cubetc_f32",
     Lanes<[](float a, float b, float c) { return CubeTc(a, b, c); }>()},
    {"v_cubema_f32",
     Lanes<[](float a, float b, float c) { return CubeMa(a, b, c); }>()},
    {"v_mullit_f32",
     Lanes<[](float a, float b, float c) { return Mullit(a, b, c); }>()},
    {"v_div_fixup_f32",
     Lanes<[](float a, float b, float c) { return DivFixup(a, b, c); }>()},
    {"v_div_fmas_f32", Lanes<[](float a, float b, float c, bool vcc) {
       return DivFmas(a, b, c, vcc);
     }>(kRowVccIn)},
    {"v_div_scale_f32", Lanes<[](float a, float b, float c) {
       const ScaledF32 r = DivScale(a, b, c);
       return With<float>{r.value, r.flag};
     }>()},

    {"v_add_f64", Arith<AddOp, double, double>()},
    {"v_mul_f64", Arith<MulOp, double, double>()},
    {"v_fma_f64", Arith<FmaOp, double, double, double>()},
    {"v_fmac_f64", Arith<FmaOp, double, double, double>(kRowTied)},
    {"v_min_f64", Lanes<[](const Cx& cx, double a, double b) {
       return MinF(a, b, cx.mode.ieee);
     }>()},
    {"v_max_f64", Lanes<[](const Cx& cx, double a, double b) {
       return MaxF(a, b, cx.mode.ieee);
     }>()},
    {"v_min_num_f64",
     Lanes<[](double a, double b) { return MinNumF(a, b); }>()},
    {"v_max_num_f64",
     Lanes<[](double a, double b) { return MaxNumF(a, b); }>()},
    {"v_minimum_f64",
     Lanes<[](double a, double b) { return MinimumF(a, b); }>()},
    {"v_maximum_f64",
     Lanes<[](double a, double b) { return MaximumF(a, b); }>()},
    {"v_trunc_f64", Lanes<[](double a) { return Trunc(a); }>()},
    {"v_ceil_f64", Lanes<[](double a) { return Ceil(a); }>()},
    {"v_floor_f64", Lanes<[](double a) { return Floor(a); }>()},
    {"v_rndne_f64", Lanes<[](double a) { return Even(a); }>()},
    {"v_fract_f64", Lanes<[](double a) { return Fract(a); }>()},
    {"v_rcp_f64", Transcendental<[](double a) { return RcpLane(a); }>()},
    {"v_rsq_f64", Transcendental<[](double a) { return RsqLane(a); }>()},
    {"v_sqrt_f64", Transcendental<[](double a) { return SqrtLane(a); }>()},
    {"v_frexp_exp_i32_f64", Lanes<[](double a) { return FrexpExp(a); }>()},
    {"v_frexp_mant_f64", Lanes<[](double a) { return FrexpMant(a); }>()},
    {"v_ldexp_f64", Lanes<[](double a, i32 b) { return LdexpF64(a, b); }>()},
    {"v_trig_preop_f64",
     Lanes<[](double a, u32 b) { return TrigPreop(a, b); }>()},
    {"v_div_fixup_f64",
     Lanes<[](double a, double b, double c) { return DivFixup(a, b, c); }>()},
    {"v_div_fmas_f64", Lanes<[](double a, double b, double c, bool vcc) {
       return DivFmas(a, b, c, vcc);
     }>(kRowVccIn)},
    {"v_div_scale_f64", Lanes<[](double a, double b, double c) {
       const ScaledF64 r = DivScale(a, b, c);
       return With<double>{r.value, r.flag};
     }>()},

    {"v_add_f16", Arith<OnHalves<AddOp>, H, H>()},
    {"v_sub_f16", Arith<OnHalves<SubOp>, H, H>()},
    {"v_subrev_f16", Arith<OnHalves<SubrevOp>, H, H>()},
    {"v_mul_f16", Arith<OnHalves<MulOp>, H, H>()},
    {"v_fma_f16", FmaHalves<FmaHalfOp>(kRowPreserve)},
    {"v_fma_legacy_f16", FmaHalves<FmaHalfOp>()},
    {"v_fmac_f16", FmaHalves<FmaHalfOp>(kRowTied)},
    {"v_fmaak_f16", FmaHalves<FmaHalfOp>()},
    {"v_fmamk_f16", FmaHalves<FmaHalfOp>()},
    {"v_mad_f16",
     Lanes<[](const Cx& cx, H a, H b, H c) { return MadH(a, b, c, cx.mode); }>(
         kRowPreserve)},
    {"v_mad_legacy_f16", Lanes<[](const Cx& cx, H a, H b, H c) {
       return MadH(a, b, c, cx.mode);
     }>()},
    {"v_mac_f16",
     Lanes<[](const Cx& cx, H a, H b, H c) { return MadH(a, b, c, cx.mode); }>(
         kRowTied)},
    {"v_madak_f16", Lanes<[](const Cx& cx, H a, H b, H c) {
       return MadH(a, b, c, cx.mode);
     }>()},
    {"v_madmk_f16", Lanes<[](const Cx& cx, H a, H b, H c) {
       return MadH(a, b, c, cx.mode);
     }>()},
    {"v_min_f16", Lanes<[](const Cx& cx, H a, H b) {
       return H{MinF(a.v, b.v, cx.mode.ieee)};
     }>()},
    {"v_max_f16", Lanes<[](const Cx& cx, H a, H b) {
       return H{MaxF(a.v, b.v, cx.mode.ieee)};
     }>()},
    {"v_min_num_f16", Lanes<[](H a, H b) { return H{MinNumF(a.v, b.v)}; }>()},
    {"v_max_num_f16", Lanes<[](H a, H b) { return H{MaxNumF(a.v, b.v)}; }>()},
    {"v_minimum_f16", Lanes<[](H a, H b) { return H{MinimumF(a.v, b.v)}; }>()},
    {"v_maximum_f16", Lanes<[](H a, H b) { return H{MaximumF(a.v, b.v)}; }>()},
    {"v_min3_f16", Lanes<[](const Cx& cx, H a, H b, H c) {
       return H{MinF(MinF(a.v, b.v, cx.mode.ieee), c.v, cx.mode.ieee)};
     }>()},
    {"v_max3_f16", Lanes<[](const Cx& cx, H a, H b, H c) {
       return H{MaxF(MaxF(a.v, b.v, cx.mode.ieee), c.v, cx.mode.ieee)};
     }>()},
    {"v_med3_f16", Lanes<[](const Cx& cx, H a, H b, H c) {
       return H{Med3F(a.v, b.v, c.v, cx.mode.ieee)};
     }>()},
    {"v_maxmin_f16", Lanes<[](const Cx& cx, H a, H b, H c) {
       return H{MinF(MaxF(a.v, b.v, cx.mode.ieee), c.v, cx.mode.ieee)};
     }>()},
    {"v_minmax_f16", Lanes<[](const Cx& cx, H a, H b, H c) {
       return H{MaxF(MinF(a.v, b.v, cx.mode.ieee), c.v, cx.mode.ieee)};
     }>()},
    {"v_min3_num_f16",
     Lanes<[](H a, H b, H c) { return H{MinNumF(MinNumF(a.v, b.v), c.v)}; }>()},
    {"v_max3_num_f16",
     Lanes<[](H a, H b, H c) { return H{MaxNumF(MaxNumF(a.v, b.v), c.v)}; }>()},
    {"v_med3_num_f16", Lanes<[](H a, H b, H c) {
       if (IsNan(a.v) || IsNan(b.v) || IsNan(c.v)) {
         return H{MinNumF(MinNumF(a.v, b.v), c.v)};
       }
       return H{Med3F(a.v, b.v, c.v, false)};
     }>()},
    {"v_maxmin_num_f16",
     Lanes<[](H a, H b, H c) { return H{MinNumF(MaxNumF(a.v, b.v), c.v)}; }>()},
    {"v_minmax_num_f16",
     Lanes<[](H a, H b, H c) { return H{MaxNumF(MinNumF(a.v, b.v), c.v)}; }>()},
    {"v_minimum3_f16", Lanes<[](H a, H b, H c) {
       return H{MinimumF(MinimumF(a.v, b.v), c.v)};
     }>()},
    {"v_maximum3_f16", Lanes<[](H a, H b, H c) {
       return H{MaximumF(MaximumF(a.v, b.v), c.v)};
     }>()},
    {"v_maximumminimum_f16", Lanes<[](H a, H b, H c) {
       return H{MinimumF(MaximumF(a.v, b.v), c.v)};
     }>()},
    {"v_minimummaximum_f16", Lanes<[](H a, H b, H c) {
       return H{MaximumF(MinimumF(a.v, b.v), c.v)};
     }>()},
    {"v_trunc_f16", Lanes<[](H a) { return H{Trunc(a.v)}; }>()},
    {"v_ceil_f16", Lanes<[](H a) { return H{Ceil(a.v)}; }>()},
    {"v_floor_f16", Lanes<[](H a) { return H{Floor(a.v)}; }>()},
    {"v_rndne_f16", Lanes<[](H a) { return H{Even(a.v)}; }>()},
    {"v_fract_f16", Lanes<[](H a) { return H{FractH(a.v)}; }>()},
    {"v_exp_f16", Transcendental<[](H a) { return H{ExpLane(a.v)}; }>()},
    {"v_log_f16", Transcendental<[](H a) { return H{LogLane(a.v)}; }>()},
    {"v_rcp_f16", Transcendental<[](H a) { return H{RcpH(a.v)}; }>()},
    {"v_rsq_f16", Transcendental<[](H a) { return H{RsqLane(a.v)}; }>()},
    {"v_sqrt_f16", Transcendental<[](H a) { return H{SqrtLane(a.v)}; }>()},
    {"v_sin_f16", Transcendental<[](H a) { return H{SinLane(a.v)}; }>()},
    {"v_cos_f16", Transcendental<[](H a) { return H{CosLane(a.v)}; }>()},
    {"v_s_exp_f16", Transcendental<[](H a) { return H{ExpLane(a.v)}; }>()},
    {"v_s_log_f16", Transcendental<[](H a) { return H{LogLane(a.v)}; }>()},
    {"v_s_rcp_f16", Transcendental<[](H a) { return H{RcpH(a.v)}; }>()},
    {"v_s_rsq_f16", Transcendental<[](H a) { return H{RsqLane(a.v)}; }>()},
    {"v_s_sqrt_f16", Transcendental<[](H a) { return H{SqrtLane(a.v)}; }>()},
    {"v_frexp_mant_f16", Lanes<[](H a) { return H{FrexpMant(a.v)}; }>()},
    {"v_frexp_exp_i16_f16",
     Lanes<[](H a) { return static_cast<i16>(FrexpExp(a.v)); }>()},
    {"v_ldexp_f16", Lanes<[](H a, i16 b) { return H{LdexpF32(a.v, b)}; }>()},
    {"v_div_fixup_f16",
     Lanes<[](H a, H b, H c) { return H{DivFixup16(a.v, b.v, c.v)}; }>(
         kRowPreserve)},
    {"v_div_fixup_legacy_f16",
     Lanes<[](H a, H b, H c) { return H{DivFixup16(a.v, b.v, c.v)}; }>()},
};

}  // namespace

std::span<const Row> ValuFloatRows() { return kRows; }

}  // namespace cerberus::emulator::CERBERUS_EMU_ISA
