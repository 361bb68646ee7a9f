// Types and numbers of NCCL's interface (NVIDIA, nccl.h).
#ifndef CERBERUS_LIBRARIES_NCCL_ABI_H_
#define CERBERUS_LIBRARIES_NCCL_ABI_H_

#include <cstddef>
#include <cstdint>

namespace cerberus::libraries::nccl {

enum Status : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

enum Type : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kFloat8E4M3 = 10,
  kFloat8E5M2 = 11,
};

// Those from kFirstOwn on are made by ncclRedOpCreatePreMulSum.
enum Op : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4 };
inline constexpr int kFirstOwn = 5;

struct UniqueId {
  char bytes[128];
};

// Bytes of an element; 0 for a type that is none.
std::size_t SizeOf(Type type);

}  // namespace cerberus::libraries::nccl

#endif  // CERBERUS_LIBRARIES_NCCL_ABI_H_
