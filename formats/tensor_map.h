// docs/tensor-map.md in C++: how a tensor lies in memory, and the boxes of it
// that are copied.
//
// The driver stub writes it, the device library reads it, compiled for the GPU
// without a standard library: nothing but <stdint.h> is used.
#ifndef CERBERUS_FORMATS_TENSOR_MAP_H_
#define CERBERUS_FORMATS_TENSOR_MAP_H_

#include <stdint.h>

namespace cerberus::formats {

inline constexpr int kTensorDimensions = 5;

struct alignas(64) TensorMap {
  uint64_t address = 0;
  uint64_t strides[4] = {};            // bytes, from dimension 1 on
  uint32_t last[5] = {};               // the greatest coordinate
  uint16_t box[5] = {1, 1, 1, 1, 1};   // elements from end to end
  uint8_t steps[5] = {1, 1, 1, 1, 1};  // from one that is copied to the next
  uint8_t rank = 0;
  uint8_t element_log2 = 0;  // bytes of an element: 1 << this
  uint8_t type = 0;          // CUtensorMapDataType
  uint8_t swizzle = 0;       // 16-byte chunks in 16 << this bytes
  uint8_t kind = 0;
  // Of a map of pixels: the first coordinate of each row of them, how far its
  // end is behind the tensor's, and how many are copied.
  int16_t lower[3] = {};
  int16_t upper[3] = {};
  uint16_t pixels = 0;
  uint16_t zero[17] = {};
};
static_assert(sizeof(TensorMap) == 128);
static_assert(__builtin_offsetof(TensorMap, last) == 40);
static_assert(__builtin_offsetof(TensorMap, box) == 60);
static_assert(__builtin_offsetof(TensorMap, steps) == 70);
static_assert(__builtin_offsetof(TensorMap, rank) == 75);
static_assert(__builtin_offsetof(TensorMap, kind) == 79);
static_assert(__builtin_offsetof(TensorMap, pixels) == 92);

// What stands in `kind`: 0 is no tensor map.
inline constexpr uint8_t kTensorMapTiled = 1;
inline constexpr uint8_t kTensorMapPixels = 2;  // im2col

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_TENSOR_MAP_H_
