// docs/texture-descriptor.md in C++: what a texture or surface handle leads to.
//
// The driver stub writes it, the device library reads it, compiled for the GPU
// without a standard library: nothing but <stdint.h> is used.
#ifndef CERBERUS_FORMATS_TEXTURE_DESCRIPTOR_H_
#define CERBERUS_FORMATS_TEXTURE_DESCRIPTOR_H_

#include <stdint.h>

namespace cerberus::formats {

struct TextureDescriptor {
  uint64_t base = 0;  // of level 0
  uint32_t extent[3] = {0, 1, 1};
  uint32_t layers = 1;
  uint64_t row_bytes = 0;
  uint64_t slice_bytes = 0;
  uint32_t format = 0;
  uint32_t channels = 0;
  uint32_t flags = 0;
  uint32_t addressing[3] = {};
  float border[4] = {};
  uint32_t levels = 1;
  float bias = 0;
  float least_lod = 0;
  float greatest_lod = 0;
  uint64_t level_records = 0;
  uint32_t samples = 0;
  uint32_t zero[5] = {};
};
static_assert(sizeof(TextureDescriptor) == 128);
static_assert(__builtin_offsetof(TextureDescriptor, row_bytes) == 24);
static_assert(__builtin_offsetof(TextureDescriptor, flags) == 48);
static_assert(__builtin_offsetof(TextureDescriptor, border) == 64);
static_assert(__builtin_offsetof(TextureDescriptor, level_records) == 96);
static_assert(__builtin_offsetof(TextureDescriptor, samples) == 104);

// One of a mipmap's levels.
struct TextureLevel {
  uint64_t base;
  uint32_t extent[3];
  uint32_t zero;
  uint64_t row_bytes;
  uint64_t slice_bytes;
};
static_assert(sizeof(TextureLevel) == 40);
static_assert(__builtin_offsetof(TextureLevel, row_bytes) == 24);

enum TextureFlag : uint32_t {
  kNormalized = 1,
  kLinear = 2,
  kAsInteger = 4,
  kSrgb = 8,
  kMipLinear = 16,
  kAsTexture = 32,
};
enum TextureAddressing : uint32_t { kWrap, kClampEdge, kMirror, kBorder };
enum TextureFormat : uint32_t {
  kU8 = 1,
  kU16 = 2,
  kU32 = 3,
  kS8 = 8,
  kS16 = 9,
  kS32 = 10,
  kHalf = 16,
  kFloat = 32,
};

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_TEXTURE_DESCRIPTOR_H_
