// CUDA arrays. There is no opaque layout here: an array is pitched memory, and
// textures are sampled in software (docs/texture-descriptor.md).
#ifndef CERBERUS_RUNTIME_STUB_MEMORY_ARRAY_H_
#define CERBERUS_RUNTIME_STUB_MEMORY_ARRAY_H_

#include <cstdint>
#include <vector>

#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/device/context.h"

namespace cerberus::stub {

struct Array {
  static constexpr std::uint32_t kAlive = 0x59415241;  // "ARAY"

  std::uint32_t alive = kAlive;
  bool owns_memory = true;     // false: a level of a mipmapped array
  Context* context = nullptr;  // that it was made in
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  std::uint8_t* memory = nullptr;  // device memory
  std::size_t pitch = 0;           // bytes from row to row

  std::size_t rows() const {
    return descriptor.Height != 0 ? descriptor.Height : 1;
  }
  // Of depth, layer or face.
  std::size_t slices() const {
    return descriptor.Depth != 0 ? descriptor.Depth : 1;
  }
  std::size_t slice_bytes() const { return pitch * rows(); }
  std::size_t row_bytes() const;  // without padding
};

// From the largest level to the smallest.
struct MipmappedArray {
  static constexpr std::uint32_t kAlive = 0x504d494d;  // "MIMP"

  std::uint32_t alive = kAlive;
  std::vector<Array*> levels;
};

// Null unless the handle is one.
Array* ArrayOf(CUarray handle);
MipmappedArray* MipmappedArrayOf(CUmipmappedArray handle);

// Bytes of one element; 0 for a format that textures cannot have.
std::size_t ElementBytes(CUarray_format format, unsigned channels);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MEMORY_ARRAY_H_
