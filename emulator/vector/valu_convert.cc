// Conversions between number formats.
#include "emulator/vector/float_math.h"
#include "emulator/vector/lane_loop.h"

namespace cerberus::emulator::CERBERUS_EMU_ISA {
namespace {

// Towards zero, saturating, NaN to 0; without branches for the vectoriser.
inline i32 F32ToI32(float v) {
  const bool low = !(v >= -2147483648.0f), high = v >= 2147483648.0f;
  const i32 r = static_cast<i32>(low || high ? 0.0f : v);
  return v != v ? 0 : low ? INT32_MIN : high ? INT32_MAX : r;
}
inline u32 F32ToU32(float v) {
  const bool low = !(v > -1.0f), high = v >= 4294967296.0f;
  const u32 r = static_cast<u32>(static_cast<i64>(low || high ? 0.0f : v));
  return low ? 0 : high ? ~0u : r;
}
inline u16 F32ToU16(float v) {
  return static_cast<u16>(!(v > 0) ? 0.0f : v > 65535.0f ? 65535.0f : v);
}
inline i16 F32ToI16(float v) {
  return static_cast<i16>(v != v          ? 0.0f
                          : v < -32768.0f ? -32768.0f
                          : v > 32767.0f  ? 32767.0f
                                          : v);
}
inline i16 Snorm(float v) {
  v = v != v ? 0.0f : v < -1.0f ? -1.0f : v > 1.0f ? 1.0f : v;
  // In double: rounded to f32 first, the product could land on a half.
  return static_cast<i16>(
      __builtin_roundeven(static_cast<double>(v) * 32767.0));
}
inline u16 Unorm(float v) {
  v = !(v > 0) ? 0.0f : v > 1.0f ? 1.0f : v;
  return static_cast<u16>(
      __builtin_roundeven(static_cast<double>(v) * 65535.0));
}
inline u32 Pair(u32 lo, u32 hi) { return (lo & 0xffff) | hi << 16; }
inline u32 ByteOfFloat(float v) {
  // f32_to_u8: rounds to nearest even, saturates (RDNA3 ISA, V_CVT_PK_U8_F32).
  if (!(v > 0)) return 0;
  return v >= 255.0f ? 255 : static_cast<u32>(__builtin_roundevenf(v));
}
// Not by a loop over vectors: its conversion subtracts two equal numbers for 0,
// which gives -0 where the mode rounds down.
template <typename T>
CERBERUS_EMU_INLINE T FromUnsigned(u32 v) {
  i64 wide = v;
  asm("" : "+r"(wide));
  return static_cast<T>(wide);
}
inline float DoubleToFloat(double v) {
  return v != v ? F32(static_cast<u32>(Bits(v) >> 32 & 0x80000000) |
                      0x7fc00000 | static_cast<u32>(Bits(v) >> 29 & 0x3fffff))
                : static_cast<float>(v);
}
// cvt_off: a signed 4-bit number of sixteenths.
inline float OffI4(u32 v) {
  const i32 s = static_cast<i32>(v << 28) >> 28;
  return static_cast<float>(s) * 0.0625f;
}
inline H HalfOf(float v) { return H{v}; }

constexpr Row kRows[] = {
    {"v_cvt_f32_i32", Lanes<[](i32 a) { return static_cast<float>(a); }>()},
    {"v_cvt_f32_u32", Lanes<[](u32 a) { return FromUnsigned<float>(a); }>()},
    {"v_cvt_i32_f32", Lanes<[](float a) { return F32ToI32(a); }>()},
    {"v_cvt_u32_f32", Lanes<[](float a) { return F32ToU32(a); }>()},
    {"v_cvt_f16_f32", Lanes<[](float a) { return HalfOf(a); }>()},
    {"v_cvt_f32_f16",
     Lanes<[](H a) { return IsNan(a.v) ? Quiet(a.v) : a.v; }>()},
    {"v_cvt_nearest_i32_f32",
     Lanes<[](float a) { return F32ToI32(__builtin_floorf(a + 0.5f)); }>()},
    {"v_cvt_floor_i32_f32",
     Lanes<[](float a) { return F32ToI32(__builtin_floorf(a)); }>()},
    {"v_cvt_off_f32_i4", Lanes<[](u32 a) { return OffI4(a); }>()},
    {"v_cvt_f32_f64", Lanes<[](double a) { return DoubleToFloat(a); }>()},
    {"v_cvt_f64_f32", Lanes<[](float a) { return static_cast<double>(a); }>()},
    {"v_cvt_f32_ubyte0",
     Lanes<[](u32 a) { return static_cast<float>(i32(a & 255)); }>()},
    {"v_cvt_f32_ubyte1",
     Lanes<[](u32 a) { return static_cast<float>(i32(a >> 8 & 255)); }>()},
    {"v_cvt_f32_ubyte2",
     Lanes<[](u32 a) { return static_cast<float>(i32(a >> 16 & 255)); }>()},
    {"v_cvt_f32_ubyte3",
     Lanes<[](u32 a) { return static_cast<float>(i32(a >> 24)); }>()},
    {"v_cvt_i32_f64", Lanes<[](double a) { return ToI32(a); }>()},
    {"v_cvt_u32_f64", Lanes<[](double a) { return ToU32(a); }>()},
    {"v_cvt_f64_i32", Lanes<[](i32 a) { return static_cast<double>(a); }>()},
    {"v_cvt_f64_u32", Lanes<[](u32 a) { return FromUnsigned<double>(a); }>()},
    {"v_cvt_f16_u16",
     Lanes<[](u16 a) { return HalfOf(static_cast<float>(a)); }>()},
    {"v_cvt_f16_i16",
     Lanes<[](i16 a) { return HalfOf(static_cast<float>(a)); }>()},
    {"v_cvt_u16_f16", Lanes<[](H a) { return F32ToU16(a.v); }>()},
    {"v_cvt_i16_f16", Lanes<[](H a) { return F32ToI16(a.v); }>()},
    {"v_cvt_norm_i16_f16", Lanes<[](H a) { return Snorm(a.v); }>()},
    {"v_cvt_norm_u16_f16", Lanes<[](H a) { return Unorm(a.v); }>()},
    {"v_cvt_pk_norm_i16_f16",
     Lanes<[](H a, H b) { return Pair(u16(Snorm(a.v)), u16(Snorm(b.v))); }>()},
    {"v_cvt_pk_norm_u16_f16",
     Lanes<[](H a, H b) { return Pair(Unorm(a.v), Unorm(b.v)); }>()},
    {"v_cvt_pk_norm_i16_f32", Lanes<[](float a, float b) {
       return Pair(u16(Snorm(a)), u16(Snorm(b)));
     }>()},
    {"v_cvt_pk_norm_u16_f32",
     Lanes<[](float a, float b) { return Pair(Unorm(a), Unorm(b)); }>()},
    {"v_cvt_pk_i16_f32", Lanes<[](float a, float b) {
       return Pair(u16(F32ToI16(a)), u16(F32ToI16(b)));
     }>()},
    {"v_cvt_pk_u16_f32",
     Lanes<[](float a, float b) { return Pair(F32ToU16(a), F32ToU16(b)); }>()},
    {"v_cvt_pk_rtz_f16_f32", Lanes<[](const Cx& cx, float a, float b) {
       const bool flush = (cx.mode.denorm64 & 2) == 0;
       return Pk{
           Pair(FloatToHalf(a, kZero, flush), FloatToHalf(b, kZero, flush))};
     }>()},
    {"v_cvt_pk_f16_f32", Lanes<[](const Cx& cx, float a, float b) {
       const bool flush = (cx.mode.denorm64 & 2) == 0;
       return Pk{Pair(FloatToHalf(a, cx.mode.round64, flush),
                      FloatToHalf(b, cx.mode.round64, flush))};
     }>()},
    {"v_cvt_pk_bf16_f32", Lanes<[](float a, float b) {
       return Pk{Pair(FloatToBf16(a), FloatToBf16(b))};
     }>()},
    {"v_cvt_f32_bf16", Lanes<[](B a) { return a.v; }>()},
    {"v_cvt_sr_f16_f32", Lanes<[](float a, u32 noise) {
       // Adds the number's 13 upper bits below the kept mantissa and cuts;
       // V_CVT_SR_FP8_F32 too takes upper bits. The other half stays.
       const u32 x = Bits(a), m = x & 0x7fffffff;
       const u32 y = m < 0x7f800000 ? x + (noise >> 19) : x;
       return u16(FloatToHalf(F32(y), kZero));
     }>(kRowPreserve)},
    {"v_cvt_sr_bf16_f32", Lanes<[](float a, u32 noise) {
       const u32 x = Bits(a), m = x & 0x7fffffff;
       const u32 y = m < 0x7f800000 ? x + (noise >> 16) : x;
       return u16(m > 0x7f800000 ? x >> 16 | 0x40 : y >> 16);
     }>(kRowPreserve)},
    {"v_cvt_pk_u8_f32", Lanes<[](float a, u32 b, u32 c) {
       const u32 shift = 8 * (b & 3);
       return (c & ~(0xffu << shift)) | ByteOfFloat(a) << shift;
     }>()},
    {"v_cvt_pkaccum_u8_f32", Lanes<[](float a, u32 b, u32 d) {
       const u32 shift = 8 * (b & 3);
       return (d & ~(0xffu << shift)) | ByteOfFloat(a) << shift;
     }>(kRowTied)},
};

}  // namespace

std::span<const Row> ValuConvertRows() { return kRows; }

}  // namespace cerberus::emulator::CERBERUS_EMU_ISA
