// What lowering and the device library agree on about tensor memory
// (docs/launch-abi.md, "Tensor memory").
#ifndef CERBERUS_FORMATS_TENSOR_MEMORY_H_
#define CERBERUS_FORMATS_TENSOR_MEMORY_H_

#include <stdint.h>

namespace cerberus::formats {

// 128 lanes of 512 columns of 4 bytes, in front of the shared memory that a
// program knows of.
inline constexpr uint32_t kTensorMemoryBytes = 128 * 512 * 4;

// How a matrix product with sums in tensor memory is meant, as bits.
struct TensorHow {
  static constexpr uint32_t kAdds = 1 << 0;  // to what is in D
  static constexpr uint32_t kAInMemory = 1 << 1;
  static constexpr uint32_t kWeights = 1 << 2;  // .ws
  static constexpr uint32_t kPair = 1 << 3;     // .cta_group::2
  static constexpr uint32_t kSparse = 1 << 4;
  static constexpr uint32_t kShiftA = 1 << 5;
  static constexpr uint32_t kScaled = 1 << 6;
  static constexpr uint32_t kLogOfScales = 8;  // from this bit on, two
  static constexpr uint32_t kScaleOfD = 12;    // from this bit on, four
};

// How a copy from shared to tensor memory is.
struct TensorCopy {
  static constexpr uint32_t kPair = 1 << 0;
  static constexpr uint32_t kWide = 1 << 1;  // 256 bits, not 128
  // Of each 16 bytes there are 16 elements of so many bits.
  static constexpr uint32_t kFrom4 = 1 << 2;
  static constexpr uint32_t kFrom6 = 1 << 3;
  // Two neighbouring warps get the same, not every second one.
  static constexpr uint32_t kNeighbours = 1 << 4;
  static constexpr uint32_t kLogOfRows = 8;     // from this bit on, three
  static constexpr uint32_t kLogOfCopies = 12;  // as well
};

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_TENSOR_MEMORY_H_
