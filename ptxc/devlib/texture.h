// The texture sampler. What it reads: docs/texture-descriptor.md.
#ifndef CERBERUS_DEVLIB_TEXTURE_H_
#define CERBERUS_DEVLIB_TEXTURE_H_

#include "device.h"
#include "formats/texture_descriptor.h"

using Level = cerberus::formats::TextureLevel;
using Texture = cerberus::formats::TextureDescriptor;
using enum cerberus::formats::TextureFlag;
using enum cerberus::formats::TextureAddressing;
using enum cerberus::formats::TextureFormat;

using TexturePtr = GLOBAL const Texture*;

// Where texels come from and how they are sampled: one descriptor in unified
// mode, two in independent mode.
struct Source {
  TexturePtr t;
  TexturePtr sampler;
  bool compare;  // a depth texture: texels are compared with `reference`
  float reference;
};

// Whether coordinates are normalised. A sampler may leave it to the texture.
INLINE bool Normalized(const Source& source) {
  const bool as_texture = source.sampler->flags & kAsTexture;
  return (as_texture ? source.t : source.sampler)->flags & kNormalized;
}
using Texel = u32 __attribute__((ext_vector_type(4)));
using Color = float __attribute__((ext_vector_type(4)));

INLINE Color AsColor(Texel t) { return __builtin_bit_cast(Color, t); }
INLINE Texel AsTexel(Color c) { return __builtin_bit_cast(Texel, c); }

INLINE Level LevelOf(TexturePtr t, u32 level) {
  if (t->level_records == 0) {
    return {t->base,
            {t->extent[0], t->extent[1], t->extent[2]},
            0,
            t->row_bytes,
            t->slice_bytes};
  }
  return reinterpret_cast<GLOBAL const Level*>(t->level_records)[level];
}

INLINE bool IsReal(TexturePtr t) {
  return t->format >= kHalf || !(t->flags & kAsInteger);
}

INLINE float FromSrgb(float v) {
  return v <= 0.04045f ? v * (1.0f / 12.92f)
                       : __builtin_amdgcn_exp2f(
                             2.4f * __builtin_amdgcn_logf((v + 0.055f) *
                                                          (1.0f / 1.055f)));
}

INLINE u32 ChannelBytes(u32 format) {
  switch (format) {
    case kU8:
    case kS8: return 1;
    case kU16:
    case kS16:
    case kHalf: return 2;
    default: return 4;
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
  const u64 at = level.base + slice * level.slice_bytes + y * level.row_bytes +
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
    case kBorder: return i < 0 || i >= n ? -1 : i;
    default: return i < 0 ? 0 : i >= n ? n - 1 : i;
  }
}

struct Point {
  s32 at[3];
};

// Which comparison a depth texture makes is not published; this is the one
// that graphics interfaces start with.
INLINE Texel Compared(const Source& source, Texel texel) {
  if (!source.compare) return texel;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < source.t->channels && i < 4; ++i) {
    const u32 bits = texel[i];  // clang's bit_cast of texel[i] is texel[0]
    texel[i] =
        source.reference <= __builtin_bit_cast(float, bits) ? 0x3f800000u : 0u;
  }
  return texel;
}

// The texel at integer coordinates after addressing. `slice` is added to z.
template <int dimensions>
INLINE Texel Fetch(const Source& source, const Level& level, Point p,
                   u32 slice) {
  TexturePtr t = source.t;
  const bool normalized = Normalized(source);
  s32 place[3] = {0, 0, 0};
  for (int i = 0; i < dimensions; ++i) {
    place[i] = Place(p.at[i], static_cast<s32>(level.extent[i]),
                     source.sampler->addressing[i], normalized);
    if (place[i] < 0) {
      const Color border = {
          source.sampler->border[0], source.sampler->border[1],
          source.sampler->border[2], source.sampler->border[3]};
      if (IsReal(t)) return Compared(source, AsTexel(border));
      return Texel{static_cast<u32>(static_cast<s32>(border.x)),
                   static_cast<u32>(static_cast<s32>(border.y)),
                   static_cast<u32>(static_cast<s32>(border.z)),
                   static_cast<u32>(static_cast<s32>(border.w))};
    }
  }
  return Compared(source, Load(t, level, static_cast<u32>(place[0]),
                               static_cast<u32>(place[1]),
                               slice + static_cast<u32>(place[2])));
}

// A float to an index; what does not fit lands far outside.
INLINE s32 Index(float v) {
  if (!(v > -1e9f)) return -1000000000;
  if (v > 1e9f) return 1000000000;
  return static_cast<s32>(v);
}

// A normalised coordinate without its whole periods, so that a large one keeps
// the bits of its fraction when it is multiplied.
INLINE float Reduced(float v, u32 mode) {
  if (mode == kWrap) return v - __builtin_floorf(v);
  if (mode == kMirror) return v - 2 * __builtin_floorf(v * 0.5f);
  return v;
}

template <int dimensions>
INLINE Color SampleLevel(const Source& source, u32 number, u32 slice,
                         const float (&c)[3], Point offset, bool linear,
                         Texel* nearest) {
  const Level level = LevelOf(source.t, number);
  Point p = {{0, 0, 0}};
  float weight[3] = {0, 0, 0};
  for (int i = 0; i < dimensions; ++i) {
    float at = c[i];
    if (Normalized(source)) {
      at = Reduced(at, source.sampler->addressing[i]) *
           static_cast<float>(level.extent[i]);
    }
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
    *nearest = Fetch<dimensions>(source, level, q, slice);
    sum += share * AsColor(*nearest);
  }
  return sum;
}

// `lod`: NaN picks level 0, whatever the sampler adds to levels of detail.
template <int dimensions>
INLINE Texel Sample(const Source& source, u32 slice, float x, float y, float z,
                    s32 ox, s32 oy, s32 oz, float lod) {
  TexturePtr t = source.t;
  TexturePtr sampler = source.sampler;
  const float c[3] = {x, y, z};
  const Point offset = {{ox, oy, oz}};
  const bool linear = (sampler->flags & kLinear) && IsReal(t);
  u32 first = 0;
  float part = 0;
  if (t->levels > 1 && lod == lod) {
    // The sampler's bounds need not be those of the texture.
    const float last = static_cast<float>(t->levels - 1);
    lod += sampler->bias;
    if (lod > sampler->greatest_lod) lod = sampler->greatest_lod;
    if (lod < sampler->least_lod) lod = sampler->least_lod;
    if (lod > last) lod = last;
    if (!(lod >= 0)) lod = 0;
    if ((sampler->flags & kMipLinear) && IsReal(t)) {
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
    sum += share * SampleLevel<dimensions>(source, first + i, slice, c, offset,
                                           linear, &nearest);
  }
  // One texel alone keeps its bits: integers, and NaN as it is.
  return linear || count > 1 ? AsTexel(sum) : nearest;
}

INLINE Source SourceOf(u64 texture, u64 sampler, bool compare,
                       float reference) {
  return {reinterpret_cast<TexturePtr>(texture),
          reinterpret_cast<TexturePtr>(sampler), compare, reference};
}
INLINE u32 LayerOf(TexturePtr t, u32 layer) {
  return layer < t->layers ? layer : t->layers - 1;
}
// A cubemap's layers have six faces each.
INLINE u32 SliceOf(TexturePtr t, u32 layer, u32 face) {
  const u32 last = t->layers / 6 - 1;
  return (layer < last ? layer : last) * 6 + face;
}

// Coordinates are floats; `layer` counts where the geometry has layers.
DEV(Texel, tex_1d)(u64 t, u64 sampler, u32 layer, float x, float y, float z,
                   s32 ox, s32 oy, s32 oz, float lod, bool compare,
                   float reference) {
  const Source s = SourceOf(t, sampler, compare, reference);
  return Sample<1>(s, LayerOf(s.t, layer), x, 0, 0, ox, 0, 0, lod);
}
DEV(Texel, tex_2d)(u64 t, u64 sampler, u32 layer, float x, float y, float z,
                   s32 ox, s32 oy, s32 oz, float lod, bool compare,
                   float reference) {
  const Source s = SourceOf(t, sampler, compare, reference);
  return Sample<2>(s, LayerOf(s.t, layer), x, y, 0, ox, oy, 0, lod);
}
DEV(Texel, tex_3d)(u64 t, u64 sampler, u32, float x, float y, float z, s32 ox,
                   s32 oy, s32 oz, float lod, bool compare, float reference) {
  return Sample<3>(SourceOf(t, sampler, compare, reference), 0, x, y, z, ox, oy,
                   oz, lod);
}

// A direction picks the face of the largest component; faces are +x, -x, +y,
// -y, +z, -z with the orientation of the CUDA Programming Guide, "Cubemap
// Textures". A point on the face is (s / m, r / m), from -1 to 1.
struct Face {
  u32 number;
  float s, r, m;
};
INLINE float Component(u32 face, int which, float x, float y, float z) {
  // which: 0 s, 1 r, 2 m.
  switch (face) {
    case 0: return which == 0 ? -z : which == 1 ? -y : x;
    case 1: return which == 0 ? z : which == 1 ? -y : -x;
    case 2: return which == 0 ? x : which == 1 ? z : y;
    case 3: return which == 0 ? x : which == 1 ? -z : -y;
    case 4: return which == 0 ? x : which == 1 ? -y : z;
    default: return which == 0 ? -x : which == 1 ? -y : -z;
  }
}
INLINE Face FaceOf(float x, float y, float z) {
  const float ax = __builtin_fabsf(x);
  const float ay = __builtin_fabsf(y);
  const float az = __builtin_fabsf(z);
  const u32 face = ax >= ay && ax >= az ? (x >= 0 ? 0 : 1)
                   : ay >= az           ? (y >= 0 ? 2 : 3)
                                        : (z >= 0 ? 4 : 5);
  return {face, Component(face, 0, x, y, z), Component(face, 1, x, y, z),
          Component(face, 2, x, y, z)};
}
// A face's coordinates as those of a two-dimensional texture.
INLINE float OnFace(const Source& source, float position, float m, int axis) {
  const float c = (position / m + 1) * 0.5f;
  return Normalized(source) ? c
                            : c * static_cast<float>(source.t->extent[axis]);
}
DEV(Texel, tex_cube)(u64 t, u64 sampler, u32 layer, float x, float y, float z,
                     s32, s32, s32, float lod, bool compare, float reference) {
  const Source s = SourceOf(t, sampler, compare, reference);
  const Face face = FaceOf(x, y, z);
  return Sample<2>(s, SliceOf(s.t, layer, face.number),
                   OnFace(s, face.s, face.m, 0), OnFace(s, face.r, face.m, 1),
                   0, 0, 0, 0, lod);
}

// Texels by integer coordinates.
template <int dimensions>
INLINE Texel FetchAt(u64 handle, u64 sampler, u32 slice, s32 x, s32 y, s32 z,
                     s32 level) {
  const Source s = SourceOf(handle, sampler, false, 0);
  const s32 last = static_cast<s32>(s.t->levels) - 1;
  const u32 number = static_cast<u32>(level < 0      ? 0
                                      : level > last ? last
                                                     : level);
  const Point p = {{x, y, z}};
  return Fetch<dimensions>(s, LevelOf(s.t, number), p, slice);
}
DEV(Texel, texel_1d)(u64 t, u64 sampler, u32 layer, s32 x, s32 y, s32 z,
                     s32 level) {
  return FetchAt<1>(t, sampler, LayerOf(reinterpret_cast<TexturePtr>(t), layer),
                    x, 0, 0, level);
}
DEV(Texel, texel_2d)(u64 t, u64 sampler, u32 layer, s32 x, s32 y, s32 z,
                     s32 level) {
  return FetchAt<2>(t, sampler, LayerOf(reinterpret_cast<TexturePtr>(t), layer),
                    x, y, 0, level);
}
DEV(Texel, texel_3d)(u64 t, u64 sampler, u32, s32 x, s32 y, s32 z, s32 level) {
  return FetchAt<3>(t, sampler, 0, x, y, z, level);
}
// A multisample texture keeps a layer's samples as slices.
DEV(u32, sample_slice)(u64 handle, u32 layer, u32 sample) {
  const u32 samples = reinterpret_cast<TexturePtr>(handle)->samples;
  return layer * (samples < 1 ? 1 : samples) + sample;
}

// The level of detail for explicit gradients: log2 of the texels in one step.
INLINE float LevelFor(float x0, float y0, float z0, float x1, float y1,
                      float z1) {
  const float a = x0 * x0 + y0 * y0 + z0 * z0;
  const float b = x1 * x1 + y1 * y1 + z1 * z1;
  return 0.5f * __builtin_amdgcn_logf(a > b ? a : b);
}
DEV(float, tex_lod)(u64 handle, u64 sampler, float dxx, float dxy, float dxz,
                    float dyx, float dyy, float dyz) {
  const Source s = SourceOf(handle, sampler, false, 0);
  float w = 1;
  float h = 1;
  float d = 1;
  if (Normalized(s)) {
    w = static_cast<float>(s.t->extent[0]);
    h = static_cast<float>(s.t->extent[1]);
    d = static_cast<float>(s.t->extent[2]);
  }
  return LevelFor(dxx * w, dxy * h, dxz * d, dyx * w, dyy * h, dyz * d);
}
// On a cube the gradients are those of the direction; the face's coordinates
// follow by the quotient rule.
DEV(float, tex_lod_cube)(u64 handle, float x, float y, float z, float dxx,
                         float dxy, float dxz, float dyx, float dyy,
                         float dyz) {
  TexturePtr t = reinterpret_cast<TexturePtr>(handle);
  const Face f = FaceOf(x, y, z);
  const auto step = [&](int which, float position, float dx, float dy,
                        float dz) {
    const float d = Component(f.number, which, dx, dy, dz);
    const float dm = Component(f.number, 2, dx, dy, dz);
    return (d * f.m - position * dm) / (2 * f.m * f.m) *
           static_cast<float>(t->extent[which]);
  };
  return LevelFor(step(0, f.s, dxx, dxy, dxz), step(1, f.r, dxx, dxy, dxz), 0,
                  step(0, f.s, dyx, dyy, dyz), step(1, f.r, dyx, dyy, dyz), 0);
}

// tld4: one channel of the four texels a linear filter would read, in the
// order of the PTX manual: (0,1) (1,1) (1,0) (0,0).
INLINE Texel Gather(const Source& s, u32 slice, float x, float y, s32 ox,
                    s32 oy, u32 channel) {
  const Level level = LevelOf(s.t, 0);
  if (Normalized(s)) {
    x = Reduced(x, s.sampler->addressing[0]) *
        static_cast<float>(level.extent[0]);
    y = Reduced(y, s.sampler->addressing[1]) *
        static_cast<float>(level.extent[1]);
  }
  const s32 i = Index(__builtin_floorf(x - 0.5f)) + ox;
  const s32 j = Index(__builtin_floorf(y - 0.5f)) + oy;
  Texel gathered = {0, 0, 0, 0};
#pragma clang loop unroll(disable)
  for (int corner = 0; corner < 4; ++corner) {
    const Point p = {{i + (corner == 1 || corner == 2), j + (corner < 2), 0}};
    gathered[corner] = Fetch<2>(s, level, p, slice)[channel];
  }
  return gathered;
}
DEV(Texel, gather_2d)(u64 t, u64 sampler, u32 layer, float x, float y, float z,
                      s32 ox, s32 oy, u32 channel, bool compare,
                      float reference) {
  const Source s = SourceOf(t, sampler, compare, reference);
  return Gather(s, LayerOf(s.t, layer), x, y, ox, oy, channel);
}
DEV(Texel, gather_cube)(u64 t, u64 sampler, u32 layer, float x, float y,
                        float z, s32, s32, u32 channel, bool compare,
                        float reference) {
  const Source s = SourceOf(t, sampler, compare, reference);
  const Face face = FaceOf(x, y, z);
  return Gather(s, SliceOf(s.t, layer, face.number),
                OnFace(s, face.s, face.m, 0), OnFace(s, face.r, face.m, 1), 0,
                0, channel);
}

#endif  // CERBERUS_DEVLIB_TEXTURE_H_
