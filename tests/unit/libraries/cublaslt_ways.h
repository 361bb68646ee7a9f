// The ways that the tests of cuBLASLt's products run: on the host, in place and
// over copies (cublaslt_host.cc), and by the library's functions on the GPU,
// with a workspace and without (cublaslt_rocm.cc).
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_CUBLASLT_WAYS_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_CUBLASLT_WAYS_H_

#include <cstddef>
#include <vector>

#include "libraries/cublaslt/matmul.h"

namespace cerberus::libraries::cublaslt {

// Memory that the test and what computes both reach.
void* TakeShared(std::size_t bytes);
void GiveShared(void* memory);

template <typename T>
struct SharedAllocator {
  using value_type = T;
  SharedAllocator() = default;
  template <typename U>
  explicit SharedAllocator(const SharedAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(TakeShared(n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) { GiveShared(memory); }
  template <typename U>
  bool operator==(const SharedAllocator<U>&) const {
    return true;
  }
};
template <typename T>
using Shared = std::vector<T, SharedAllocator<T>>;

// `first`: of the two ways. They return when all is done.
Status DoMatmul(bool first, const MatmulDesc& desc, const Layouts& layouts,
                const Operands& operands);
Status DoTransform(bool first, const TransformDesc& desc,
                   const Layouts& layouts, const Operands& operands);

inline MatmulDesc NewDesc(ComputeType compute, DataType scale) {
  MatmulDesc desc = {};
  desc.compute = compute;
  desc.scale = scale;
  desc.fill = cublas::kFull;
  desc.epilogue = kDefault;
  desc.aux_type = desc.bias_type = -1;
  return desc;
}

}  // namespace cerberus::libraries::cublaslt

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_CUBLASLT_WAYS_H_
