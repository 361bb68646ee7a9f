// Tensors as cuDNN describes them, and arrays to compute with.
#ifndef CERBERUS_LIBRARIES_CUDNN_TENSOR_H_
#define CERBERUS_LIBRARIES_CUDNN_TENSOR_H_

#include <cstddef>
#include <vector>

#include "libraries/common/work.h"
#include "libraries/cudnn/abi.h"

namespace cerberus::libraries::cudnn {

// The product of sizes, which are not negative; -1 if 63 bits do not hold it.
Index ProductOf(const Sizes& sizes);
// Strides of a packed array, the last dimension the innermost.
Sizes PackedStrides(const Sizes& sizes);
// Goes to the next place within `sizes`; false behind the last.
bool NextPlace(const Sizes& sizes, Sizes* place);

// Numbers packed by rows, whatever type they had in memory. Doubles hold every
// type of cuDNN's but 64-bit integers above 2^53.
struct Array {
  Sizes sizes;
  std::vector<double> values;

  Array() = default;
  explicit Array(Sizes of, double value = 0)
      : sizes(std::move(of)),
        values(static_cast<std::size_t>(ProductOf(sizes)), value) {}
  Index count() const { return static_cast<Index>(values.size()); }
  double& operator[](Index i) { return values[static_cast<std::size_t>(i)]; }
  double operator[](Index i) const {
    return values[static_cast<std::size_t>(i)];
  }
};

// Of a type of which there are tensors; 0 for another.
int BitsOf(DataType type);
bool IsFloating(DataType type);

struct Tensor {
  DataType type = kFloat;
  Sizes sizes;    // in elements
  Sizes strides;  // in elements; in vectors with vector_count
  // So many neighbours of one dimension lie together (NCHW_VECT_C).
  Index vector_count = 1;
  std::size_t vector_dimension = 0;

  Index count() const { return ProductOf(sizes); }
  // Whether there are elements, at places that an address can have.
  bool IsAddressable() const;
  // Bytes from the first element to behind the last.
  std::size_t SpanBytes() const;
  Array Read(const void* memory) const;
  void Write(void* memory, const Array& array) const;

  // The same of a ragged tensor: what the first dimension counts begins at
  // `starts`, in elements, and ends where the next one begins. What would lie
  // behind that end is zero, and not written.
  Array ReadRagged(const void* memory, const Sizes& starts) const;
  void WriteRagged(void* memory, const Sizes& starts, const Array& array) const;
};

// Memory of a tensor for `work`: where the host finds it when the stream comes
// to it. One level of gaps between elements is left out of copies.
const void* MapIn(Work& work, const Tensor& tensor, const void* memory);
void* MapInOut(Work& work, const Tensor& tensor, void* memory);

// The values as they are after a stay in memory of that type.
void RoundTo(DataType type, Array* array);

// The array with each dimension of size 1 repeated to that of `sizes`.
Array Broadcast(const Array& array, const Sizes& sizes);
// Whether there is such an array.
bool CanBroadcast(const Sizes& from, const Sizes& to);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_TENSOR_H_
