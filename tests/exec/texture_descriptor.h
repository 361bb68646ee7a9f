// The descriptor of textures and surfaces, as docs/texture-descriptor.md says.
#ifndef CERBERUS_TESTS_EXEC_TEXTURE_DESCRIPTOR_H_
#define CERBERUS_TESTS_EXEC_TEXTURE_DESCRIPTOR_H_

#include <cstdint>

namespace cerberus::exec {

enum Flag : std::uint32_t {
  kNormalized = 1,
  kLinear = 2,
  kInteger = 4,
  kMipLinear = 16,
};
enum Addressing : std::uint32_t { kWrap, kClamp, kMirror, kBorder };

struct Descriptor {
  std::uint64_t base = 0;
  std::uint32_t extent[3] = {1, 1, 1};
  std::uint32_t layers = 1;
  std::uint64_t row_bytes = 0;
  std::uint64_t slice_bytes = 0;
  std::uint32_t format = 32;
  std::uint32_t channels = 1;
  std::uint32_t flags = 0;
  std::uint32_t addressing[3] = {kClamp, kClamp, kClamp};
  float border[4] = {0, 0, 0, 0};
  std::uint32_t levels = 1;
  float bias = 0;
  float least_lod = 0;
  float greatest_lod = 100;
  std::uint64_t records = 0;
  std::uint32_t samples = 0;
  std::uint32_t reserved[5] = {0, 0, 0, 0, 0};
};
static_assert(sizeof(Descriptor) == 128);

// A two-dimensional or deeper image of 32-bit texels in one piece.
inline Descriptor PlainTexture(int width, int height, int depth) {
  Descriptor d;
  d.extent[0] = static_cast<std::uint32_t>(width);
  d.extent[1] = static_cast<std::uint32_t>(height);
  d.extent[2] = static_cast<std::uint32_t>(depth);
  d.row_bytes = static_cast<std::uint64_t>(width) * 4;
  d.slice_bytes = d.row_bytes * static_cast<std::uint64_t>(height);
  return d;
}

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_TEXTURE_DESCRIPTOR_H_
