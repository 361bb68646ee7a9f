// What a descriptor says of its texture or surface, and accesses to surfaces.
#ifndef CERBERUS_DEVLIB_SURFACE_H_
#define CERBERUS_DEVLIB_SURFACE_H_

#include "texture.h"

// ---- Queries ----------------------------------------------------------------

// Channel types and orders have the numbers of OpenCL's cl_channel_type and
// cl_channel_order (PTX ISA, "Channel Data Type and Channel Order Fields").
DEV(u32, query_channel_data_type)(u64 handle) {
  TexturePtr t = reinterpret_cast<TexturePtr>(handle);
  const bool integer = t->flags & kAsInteger;
  switch (t->format) {
    case kU8: return integer ? 0x10da : 0x10d2;
    case kU16: return integer ? 0x10db : 0x10d3;
    case kU32: return 0x10dc;
    case kS8: return integer ? 0x10d7 : 0x10d0;
    case kS16: return integer ? 0x10d8 : 0x10d1;
    case kS32: return 0x10d9;
    case kHalf: return 0x10dd;
    default: return 0x10de;
  }
}
DEV(u32, query_channel_order)(u64 handle) {
  const u32 channels = reinterpret_cast<TexturePtr>(handle)->channels;
  return channels == 1 ? 0x10b0 : channels == 2 ? 0x10b2 : 0x10b5;
}
DEV(u32, query_num_samples)(u64 handle) {
  const u32 samples = reinterpret_cast<TexturePtr>(handle)->samples;
  return samples < 1 ? 1 : samples;
}
DEV(u32, query_normalized_coords)(u64 handle) {
  return reinterpret_cast<TexturePtr>(handle)->flags & kNormalized ? 1 : 0;
}
DEV(u32, query_force_unnormalized)(u64 handle) {
  return reinterpret_cast<TexturePtr>(handle)->flags & kNormalized ? 0 : 1;
}
// PTX counts { nearest, linear }.
DEV(u32, query_filter_mode)(u64 handle) {
  return reinterpret_cast<TexturePtr>(handle)->flags & kLinear ? 1 : 0;
}
// PTX counts { wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border }.
DEV(u32, query_addressing)(u64 handle, u32 axis) {
  switch (reinterpret_cast<TexturePtr>(handle)->addressing[axis]) {
    case kWrap: return 0;
    case kMirror: return 1;
    case kBorder: return 4;
    default: return 3;
  }
}

// ---- Surfaces ---------------------------------------------------------------

INLINE s32 Clamp(s32 v, s32 most) { return v < 0 ? 0 : v > most ? most : v; }

// The address of `bytes` bytes at byte x, row y, slice z or layer; 0 outside
// of the surface unless coordinates are clamped. With `samples`, x counts
// texels and `bytes` is theirs.
DEV(u64, surface_at)(u64 handle, u32 layer, s32 x, s32 y, s32 z, u32 bytes,
                     bool samples, bool clamp) {
  TexturePtr t = reinterpret_cast<TexturePtr>(handle);
  const Level level = LevelOf(t, 0);
  const u32 texel = ChannelBytes(t->format) * t->channels;
  const u32 unit = samples ? texel : 1;
  const s32 last_x = static_cast<s32>(
      samples ? level.extent[0] - 1 : level.extent[0] * texel - bytes);
  const s32 last_y = static_cast<s32>(level.extent[1]) - 1;
  const s32 last_z = static_cast<s32>(level.extent[2]) - 1;
  if (clamp) {
    x = Clamp(x, last_x);
    y = Clamp(y, last_y);
    z = Clamp(z, last_z);
    layer = LayerOf(t, layer);
  } else if (x < 0 || x > last_x || y < 0 || y > last_y || z < 0 ||
             z > last_z || layer >= t->layers) {
    return 0;
  }
  return level.base +
         (static_cast<u64>(layer) + static_cast<u32>(z)) * level.slice_bytes +
         static_cast<u64>(static_cast<u32>(y)) * level.row_bytes +
         static_cast<u64>(static_cast<u32>(x)) * unit;
}

// A formatted store: floats into the real formats, integers, as large as
// fits, into the others.
DEV(void, surface_store)(u64 handle, u64 at, Texel value, u32 count) {
  TexturePtr t = reinterpret_cast<TexturePtr>(handle);
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < t->channels && i < count; ++i) {
    const u32 v = value[i];
    const s32 n = static_cast<s32>(v);
    switch (t->format) {
      case kU8:
        reinterpret_cast<GLOBAL u8*>(at)[i] =
            static_cast<u8>(v > 0xff ? 0xff : v);
        break;
      case kU16:
        reinterpret_cast<GLOBAL u16*>(at)[i] =
            static_cast<u16>(v > 0xffff ? 0xffff : v);
        break;
      case kS8:
        reinterpret_cast<GLOBAL u8*>(at)[i] = static_cast<u8>(n < -128  ? -128
                                                              : n > 127 ? 127
                                                                        : n);
        break;
      case kS16:
        reinterpret_cast<GLOBAL u16*>(at)[i] =
            static_cast<u16>(n < -32768  ? -32768
                             : n > 32767 ? 32767
                                         : n);
        break;
      case kHalf:
        reinterpret_cast<GLOBAL _Float16*>(at)[i] =
            static_cast<_Float16>(__builtin_bit_cast(float, v));
        break;
      default: reinterpret_cast<GLOBAL u32*>(at)[i] = v; break;
    }
  }
}

DEV(bool, surface_is_signed)(u64 handle) {
  const u32 format = reinterpret_cast<TexturePtr>(handle)->format;
  return format >= kS8 && format <= kS32;
}

#endif  // CERBERUS_DEVLIB_SURFACE_H_
