// The texture sampler. What it reads: docs/texture-descriptor.md.
#ifndef CERBERUS_DEVLIB_TEXTURE_H_
#define CERBERUS_DEVLIB_TEXTURE_H_

#include "device.h"

struct Level {
  u64 base;
  u32 extent[3];
  u32 reserved;
  u64 row_bytes;
  u64 slice_bytes;
};

struct Texture {
  u64 base;
  u32 extent[3];
  u32 layers;
  u64 row_bytes;
  u64 slice_bytes;
  u32 format;
  u32 channels;
  u32 flags;
  u32 addressing[3];
  float border[4];
  u32 levels;
  float bias;
  float least_lod;
  float greatest_lod;
  u64 level_records;
  u64 reserved[3];
};
static_assert(sizeof(Texture) == 128);
static_assert(sizeof(Level) == 40);

enum TextureFlag : u32 {
  kNormalized = 1,
  kLinear = 2,
  kAsInteger = 4,
  kSrgb = 8,
  kMipLinear = 16,
};
enum Addressing : u32 { kWrap, kClampEdge, kMirror, kBorder };
enum Format : u32 {
  kU8 = 1, kU16 = 2, kU32 = 3, kS8 = 8, kS16 = 9, kS32 = 10, kHalf = 16,
  kFloat = 32,
};

using TexturePtr = GLOBAL const Texture*;
using Texel = u32 __attribute__((ext_vector_type(4)));
using Color = float __attribute__((ext_vector_type(4)));

INLINE Color AsColor(Texel t) { return __builtin_bit_cast(Color, t); }
INLINE Texel AsTexel(Color c) { return __builtin_bit_cast(Texel, c); }

INLINE Level LevelOf(TexturePtr t, u32 level) {
  if (t->level_records == 0) {
    return {t->base, {t->extent[0], t->extent[1], t->extent[2]}, 0,
            t->row_bytes, t->slice_bytes};
  }
  return reinterpret_cast<GLOBAL const Level*>(t->level_records)[level];
}

INLINE bool IsReal(TexturePtr t) {
  return t->format >= kHalf || !(t->flags & kAsInteger);
}

INLINE float FromSrgb(float v) {
  return v <= 0.04045f
             ? v * (1.0f / 12.92f)
             : __builtin_amdgcn_exp2f(
                   2.4f * __builtin_amdgcn_logf((v + 0.055f) *
                                                (1.0f / 1.055f)));
}

INLINE u32 ChannelBytes(u32 format) {
  switch (format) {
    case kU8:
    case kS8:
      return 1;
    case kU16:
    case kS16:
    case kHalf:
      return 2;
    default:
      return 4;
  }
}

// One channel, as a float's bits or as an integer.
INLINE u32 Channel(TexturePtr t, u64 at, u32 bytes, u32 number) {
  const bool is_signed = t->format >= kS8 && t->format <= kS32;
  if (bytes == 4) return reinterpret_cast<GLOBAL const u32*>(at)[number];
  s32 raw;
  if (bytes == 1) {
    raw = reinterpret_cast<GLOBAL const u8*>(at)[number];
    if (is_signed) raw = static_cast<signed char>(raw);
  } else {
    raw = reinterpret_cast<GLOBAL const u16*>(at)[number];
    if (t->format == kHalf) {
      return BitsOf(static_cast<float>(
          __builtin_bit_cast(_Float16, static_cast<u16>(raw))));
    }
    if (is_signed) raw = static_cast<short>(raw);
  }
  if (t->flags & kAsInteger) return static_cast<u32>(raw);
  const float range = bytes == 1 ? (is_signed ? 127.0f : 255.0f)
                                 : (is_signed ? 32767.0f : 65535.0f);
  float v = static_cast<float>(raw) / range;
  if (v < -1.0f) v = -1.0f;
  if ((t->flags & kSrgb) && t->format == kU8 && number < 3) v = FromSrgb(v);
  return BitsOf(v);
}

INLINE Texel Load(TexturePtr t, const Level& level, u32 x, u32 y, u32 slice) {
  const u32 bytes = ChannelBytes(t->format);
  const u64 at = level.base + slice * level.slice_bytes +
                 y * level.row_bytes +
                 static_cast<u64>(x) * (bytes * t->channels);
  Texel texel = {0, 0, 0, IsReal(t) ? 0x3f800000u : 1u};
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < t->channels && i < 4; ++i) {
    texel[i] = Channel(t, at, bytes, i);
  }
  return texel;
}

// The texel index that a coordinate means, or -1 for the border.
INLINE s32 Place(s32 i, s32 n, u32 mode, bool normalized) {
  if (!normalized && (mode == kWrap || mode == kMirror)) mode = kClampEdge;
  switch (mode) {
    case kWrap: {
      const s32 r = i % n;
      return r < 0 ? r + n : r;
    }
    case kMirror: {
      s32 r = i % (2 * n);
      if (r < 0) r += 2 * n;
      return r < n ? r : 2 * n - 1 - r;
    }
    case kBorder:
      return i < 0 || i >= n ? -1 : i;
    default:
      return i < 0 ? 0 : i >= n ? n - 1 : i;
  }
}

struct Point {
  s32 at[3];
};

// The texel at integer coordinates after addressing. `slice` is added to z.
template <int dimensions>
INLINE Texel Fetch(TexturePtr t, const Level& level, Point p, u32 slice) {
  const bool normalized = t->flags & kNormalized;
  s32 place[3] = {0, 0, 0};
  for (int i = 0; i < dimensions; ++i) {
    place[i] = Place(p.at[i], static_cast<s32>(level.extent[i]),
                     t->addressing[i], normalized);
    if (place[i] < 0) {
      const Color border = {t->border[0], t->border[1], t->border[2],
                            t->border[3]};
      if (IsReal(t)) return AsTexel(border);
      return Texel{static_cast<u32>(static_cast<s32>(border.x)),
                   static_cast<u32>(static_cast<s32>(border.y)),
                   static_cast<u32>(static_cast<s32>(border.z)),
                   static_cast<u32>(static_cast<s32>(border.w))};
    }
  }
  return Load(t, level, static_cast<u32>(place[0]),
              static_cast<u32>(place[1]),
              slice + static_cast<u32>(place[2]));
}

// A float to an index; what does not fit lands far outside.
INLINE s32 Index(float v) {
  if (!(v > -1e9f)) return -1000000000;
  if (v > 1e9f) return 1000000000;
  return static_cast<s32>(v);
}

template <int dimensions>
INLINE Color SampleLevel(TexturePtr t, u32 number, u32 slice,
                         const float (&c)[3], Point offset, bool linear,
                         Texel* nearest) {
  const Level level = LevelOf(t, number);
  Point p = {{0, 0, 0}};
  float weight[3] = {0, 0, 0};
  for (int i = 0; i < dimensions; ++i) {
    float at = c[i];
    if (t->flags & kNormalized) at *= static_cast<float>(level.extent[i]);
    if (linear) at -= 0.5f;
    const float whole = __builtin_floorf(at);
    p.at[i] = Index(whole) + offset.at[i];
    // Weights are fixed-point numbers with 8 fractional bits.
    if (linear) {
      weight[i] = __builtin_rintf((at - whole) * 256.0f) * (1.0f / 256.0f);
    }
  }
  Color sum = {0, 0, 0, 0};
  const int corners = linear ? 1 << dimensions : 1;
#pragma clang loop unroll(disable)
  for (int corner = 0; corner < corners; ++corner) {
    Point q = p;
    float share = 1.0f;
    for (int i = 0; i < dimensions; ++i) {
      const bool upper = corner >> i & 1;
      q.at[i] += upper;
      share *= upper ? weight[i] : 1.0f - weight[i];
    }
    // A corner without weight must not bring in an infinity or NaN.
    if (linear && share == 0) continue;
    *nearest = Fetch<dimensions>(t, level, q, slice);
    sum += share * AsColor(*nearest);
  }
  return sum;
}

template <int dimensions>
INLINE Texel Sample(u64 handle, u32 slice, float x, float y, float z,
                    s32 ox, s32 oy, s32 oz, float lod) {
  TexturePtr t = reinterpret_cast<TexturePtr>(handle);
  const float c[3] = {x, y, z};
  const Point offset = {{ox, oy, oz}};
  const bool linear = (t->flags & kLinear) && IsReal(t);
  u32 first = 0;
  float part = 0;
  if (t->levels > 1) {
    lod += t->bias;
    const float last = static_cast<float>(t->levels - 1);
    const float most = t->greatest_lod < last ? t->greatest_lod : last;
    const float least = t->least_lod > 0 ? t->least_lod : 0;
    if (lod > most) lod = most;
    if (!(lod >= least)) lod = least;
    if ((t->flags & kMipLinear) && IsReal(t)) {
      const float whole = __builtin_floorf(lod);
      first = static_cast<u32>(whole);
      if (first + 1 < t->levels) {
        part = __builtin_rintf((lod - whole) * 256.0f) * (1.0f / 256.0f);
      }
    } else {
      first = static_cast<u32>(lod + 0.5f);
    }
  }
  Color sum = {0, 0, 0, 0};
  Texel nearest = {0, 0, 0, 0};
  const u32 count = part > 0 ? 2 : 1;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < count; ++i) {
    const float share = i == 0 ? 1.0f - part : part;
    sum += share * SampleLevel<dimensions>(t, first + i, slice, c, offset,
                                           linear, &nearest);
  }
  // One texel alone keeps its bits: integers, and NaN as it is.
  return linear || count > 1 ? AsTexel(sum) : nearest;
}

INLINE u32 LayerOf(u64 handle, u32 layer) {
  const u32 layers = reinterpret_cast<TexturePtr>(handle)->layers;
  return layer < layers ? layer : layers - 1;
}

// Coordinates are floats; `layer` counts where the geometry has layers.
DEV(Texel, tex_1d)(u64 t, u32 layer, float x, float y, float z, s32 ox,
                   s32 oy, s32 oz, float lod) {
  return Sample<1>(t, LayerOf(t, layer), x, 0, 0, ox, 0, 0, lod);
}
DEV(Texel, tex_2d)(u64 t, u32 layer, float x, float y, float z, s32 ox,
                   s32 oy, s32 oz, float lod) {
  return Sample<2>(t, LayerOf(t, layer), x, y, 0, ox, oy, 0, lod);
}
DEV(Texel, tex_3d)(u64 t, u32, float x, float y, float z, s32 ox, s32 oy,
                   s32 oz, float lod) {
  return Sample<3>(t, 0, x, y, z, ox, oy, oz, lod);
}

// A direction picks the face of the largest component; faces are +x, -x, +y,
// -y, +z, -z with the orientation of the CUDA Programming Guide, "Cubemap
// Textures".
DEV(Texel, tex_cube)(u64 t, u32 layer, float x, float y, float z, s32, s32,
                     s32, float lod) {
  const float ax = __builtin_fabsf(x);
  const float ay = __builtin_fabsf(y);
  const float az = __builtin_fabsf(z);
  u32 face;
  float m;
  float s;
  float r;
  if (ax >= ay && ax >= az) {
    face = x >= 0 ? 0 : 1;
    m = ax;
    s = x >= 0 ? -z : z;
    r = -y;
  } else if (ay >= az) {
    face = y >= 0 ? 2 : 3;
    m = ay;
    s = x;
    r = y >= 0 ? z : -z;
  } else {
    face = z >= 0 ? 4 : 5;
    m = az;
    s = z >= 0 ? x : -x;
    r = -y;
  }
  float u = (s / m + 1) * 0.5f;
  float v = (r / m + 1) * 0.5f;
  TexturePtr texture = reinterpret_cast<TexturePtr>(t);
  if (!(texture->flags & kNormalized)) {
    u *= static_cast<float>(texture->extent[0]);
    v *= static_cast<float>(texture->extent[1]);
  }
  return Sample<2>(t, LayerOf(t, layer * 6 + face), u, v, 0, 0, 0, 0, lod);
}

// Texels by integer coordinates.
template <int dimensions>
INLINE Texel FetchAt(u64 handle, u32 slice, s32 x, s32 y, s32 z, s32 level) {
  TexturePtr t = reinterpret_cast<TexturePtr>(handle);
  const s32 last = static_cast<s32>(t->levels) - 1;
  const u32 number =
      static_cast<u32>(level < 0 ? 0 : level > last ? last : level);
  const Point p = {{x, y, z}};
  return Fetch<dimensions>(t, LevelOf(t, number), p, slice);
}
DEV(Texel, texel_1d)(u64 t, u32 layer, s32 x, s32 y, s32 z, s32 level) {
  return FetchAt<1>(t, LayerOf(t, layer), x, 0, 0, level);
}
DEV(Texel, texel_2d)(u64 t, u32 layer, s32 x, s32 y, s32 z, s32 level) {
  return FetchAt<2>(t, LayerOf(t, layer), x, y, 0, level);
}
DEV(Texel, texel_3d)(u64 t, u32, s32 x, s32 y, s32 z, s32 level) {
  return FetchAt<3>(t, 0, x, y, z, level);
}

// The level of detail for explicit gradients, in texels per step.
DEV(float, tex_lod)(u64 handle, float dxx, float dxy, float dxz, float dyx,
                    float dyy, float dyz) {
  TexturePtr t = reinterpret_cast<TexturePtr>(handle);
  float w = 1;
  float h = 1;
  float d = 1;
  if (t->flags & kNormalized) {
    w = static_cast<float>(t->extent[0]);
    h = static_cast<float>(t->extent[1]);
    d = static_cast<float>(t->extent[2]);
  }
  const float a = dxx * w * (dxx * w) + dxy * h * (dxy * h) +
                  dxz * d * (dxz * d);
  const float b = dyx * w * (dyx * w) + dyy * h * (dyy * h) +
                  dyz * d * (dyz * d);
  return 0.5f * __builtin_amdgcn_logf(a > b ? a : b);
}

// tld4: one channel of the four texels a linear filter would read, in the
// order of the PTX manual: (0,1) (1,1) (1,0) (0,0).
DEV(Texel, tex_gather)(u64 handle, u32 layer, float x, float y, s32 ox,
                       s32 oy, u32 channel) {
  TexturePtr t = reinterpret_cast<TexturePtr>(handle);
  const Level level = LevelOf(t, 0);
  if (t->flags & kNormalized) {
    x *= static_cast<float>(level.extent[0]);
    y *= static_cast<float>(level.extent[1]);
  }
  const s32 i = Index(__builtin_floorf(x - 0.5f)) + ox;
  const s32 j = Index(__builtin_floorf(y - 0.5f)) + oy;
  const u32 slice = LayerOf(handle, layer);
  const auto one = [&](s32 di, s32 dj) {
    const Texel texel =
        Fetch<2>(t, level, Point{{i + di, j + dj, 0}}, slice);
    return texel[channel];
  };
  return Texel{one(0, 1), one(1, 1), one(1, 0), one(0, 0)};
}

#endif  // CERBERUS_DEVLIB_TEXTURE_H_
