// How a product is done on the GPU, which follows from its descriptors and,
// where scalars are the host's, from whether beta is zero.
#ifndef CERBERUS_LIBRARIES_CUBLASLT_ROCM_PLAN_H_
#define CERBERUS_LIBRARIES_CUBLASLT_ROCM_PLAN_H_

#include <cstddef>

#include "libraries/cublaslt/layout.h"
#include "libraries/cublaslt/matmul.h"

namespace cerberus::libraries::cublaslt {

struct RocmPlan {
  bool fits = false;       // else the host computes
  bool finishes = false;   // a kernel of ours comes behind the sum
  bool in_double = false;  // and computes in f64
  bool in_place = true;    // the sum goes to D
  // The sum is alpha A B + beta C, else A B.
  bool has_scalars = true;
  // A and B are 8-bit floats.
  bool widens = false;
  DataType sum = cublas::kR32F;        // its type
  ComputeType compute = cublas::k32F;  // and how it is computed
  // In memory beside D, from its beginning: the sum, A and B as halves.
  std::size_t halves_of_a = 0, halves_of_b = 0, bytes = 0;
};

// Without `beta_is_zero` the plan is right for any beta.
RocmPlan PlanMatmul(const MatmulDesc& desc, const Layouts& layouts,
                    bool beta_is_zero);

// A matrix as rocBLAS sees it, by columns: one by rows is its own transpose.
Operation FlippedOp(Operation op);
Operation MemoryOp(const Layout& layout, Operation op);

}  // namespace cerberus::libraries::cublaslt

#endif  // CERBERUS_LIBRARIES_CUBLASLT_ROCM_PLAN_H_
