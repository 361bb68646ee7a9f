// Textures and surfaces as tests describe them.
#ifndef CERBERUS_TESTS_EXEC_TEXTURE_DESCRIPTOR_H_
#define CERBERUS_TESTS_EXEC_TEXTURE_DESCRIPTOR_H_

#include <cstdint>

#include "formats/texture_descriptor.h"

namespace cerberus::exec {

using Descriptor = formats::TextureDescriptor;
using LevelRecord = formats::TextureLevel;
using enum formats::TextureFlag;
using enum formats::TextureAddressing;

// A two-dimensional or deeper image of 32-bit floats in one piece.
inline Descriptor PlainTexture(int width, int height, int depth) {
  Descriptor d;
  d.extent[0] = static_cast<std::uint32_t>(width);
  d.extent[1] = static_cast<std::uint32_t>(height);
  d.extent[2] = static_cast<std::uint32_t>(depth);
  d.row_bytes = static_cast<std::uint64_t>(width) * 4;
  d.slice_bytes = d.row_bytes * static_cast<std::uint64_t>(height);
  d.format = formats::kFloat;
  d.channels = 1;
  for (std::uint32_t& mode : d.addressing) mode = kClampEdge;
  d.greatest_lod = 100;
  return d;
}

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_TEXTURE_DESCRIPTOR_H_
