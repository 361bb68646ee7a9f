// Arrays and mipmapped arrays: device memory with a shape and an element's
// format, behind handles.
//
// On AMD's GPUs an array is tiled memory; here rows and slices follow each
// other without gaps, since no kernel of the emulator samples one.
#ifndef CERBERUS_EMULATOR_HIP_MEMORY_ARRAY_H_
#define CERBERUS_EMULATOR_HIP_MEMORY_ARRAY_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "emulator/hip/abi.h"

// Programs of HIP 5 may read the first members: their header declares them.
struct hipArray {
  void* data;
  hipChannelFormatDesc desc;
  unsigned type;
  unsigned width, height, depth;  // height, depth 0: fewer dimensions
  std::uint32_t Format;
  unsigned NumChannels;
  bool isDrv;
  unsigned textureType;

  unsigned flags;
  int device;
  hipMipmappedArray_t level_of;  // null: an array of its own

  std::size_t element() const;
  std::size_t pitch() const { return width * element(); }
  std::size_t rows() const { return std::max(height, 1u); }
  std::size_t slice() const { return pitch() * rows(); }
  std::size_t bytes() const { return slice() * std::max(depth, 1u); }
};

struct hipMipmappedArray {
  void* data;
  hipChannelFormatDesc desc;
  unsigned type;
  unsigned width, height, depth;
  unsigned min_mipmap_level, max_mipmap_level;
  unsigned flags;
  std::uint32_t format;

  int device;
  std::vector<std::unique_ptr<hipArray>> levels;
};

namespace cerberus::emulator::hip {

struct Gpu;

bool IsArray(hipArray_const_t array);
bool IsMipmappedArray(hipMipmappedArray_const_t array);
// Bytes of one element; 0 if the description is none of an array's.
std::size_t ElementBytes(const hipChannelFormatDesc& desc);
std::size_t ElementBytes(std::uint32_t format, unsigned channels);
// A device's reset takes its arrays away.
void ForgetArrays(Gpu* gpu);

}  // namespace cerberus::emulator::hip

#endif  // CERBERUS_EMULATOR_HIP_MEMORY_ARRAY_H_
