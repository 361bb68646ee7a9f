// What ranks bring to an operation, and the operation itself.
#ifndef CERBERUS_LIBRARIES_NCCL_OPERATION_H_
#define CERBERUS_LIBRARIES_NCCL_OPERATION_H_

#include <vector>

#include "libraries/nccl/abi.h"

namespace cerberus::libraries::nccl {

enum class Kind {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kSendReceive,
};

struct Part {
  Kind kind = Kind::kAllReduce;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  Type type = kFloat32;
  Op op = kSum;
  const void* factor = nullptr;
  int root = 0;
};

// How much a rank brings, and gets, of `ranks`; between two the sender is 0 and
// the receiver 1.
std::size_t BytesIn(const Part& part, int rank, std::size_t ranks);
std::size_t BytesOut(const Part& part, int rank, std::size_t ranks);

// Whether all mean the same.
bool Agree(const std::vector<Part>& parts);
// Fills what the parts get; a null one is left out.
void Do(const std::vector<Part>& parts);

}  // namespace cerberus::libraries::nccl

#endif  // CERBERUS_LIBRARIES_NCCL_OPERATION_H_
