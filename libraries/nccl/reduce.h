// Reductions of elements of a type that is told at run time.
#ifndef CERBERUS_LIBRARIES_NCCL_REDUCE_H_
#define CERBERUS_LIBRARIES_NCCL_REDUCE_H_

#include <vector>

#include "libraries/nccl/abi.h"

namespace cerberus::libraries::nccl {

// What is done with the elements of all ranks.
struct Reduction {
  Op op = kSum;
  Type type = kFloat32;
  // Of an operation of the program's own, which sums up: what each rank's
  // elements are multiplied with first, one element of the type; else null.
  std::vector<const void*> factors;
};

// out[i] for each of `outs` := in[0][i] op in[1][i] op …, which may be the same
// memory. Halves and smaller are computed in f32 and rounded once.
void Reduce(const Reduction& reduction, const std::vector<const void*>& ins,
            const std::vector<void*>& outs, std::size_t count);

}  // namespace cerberus::libraries::nccl

#endif  // CERBERUS_LIBRARIES_NCCL_REDUCE_H_
