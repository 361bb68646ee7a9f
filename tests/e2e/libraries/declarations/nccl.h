// What the programs here call of NCCL, declared after NVIDIA's documentation.
#ifndef CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_NCCL_H_
#define CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_NCCL_H_
#include <cuda_runtime.h>

#include <climits>
#include <cstddef>

enum ncclResult_t : int { ncclSuccess = 0, ncclInternalError = 3 };
enum ncclDataType_t : int {
  ncclUint8 = 1,
  ncclInt64 = 4,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclDouble = 8
};
using ncclComm_t = struct ncclComm*;
enum ncclRedOp_t : int {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4
};
struct ncclUniqueId {
  char internal[128];
};
// As of NCCL 2.14, the first that has it; `size` says how much is there.
struct ncclConfig_t {
  std::size_t size;
  unsigned magic, version;
  int blocking;
};
#define NCCL_CONFIG_INITIALIZER \
  {sizeof(ncclConfig_t), 0xcafebeef, 21400, INT_MIN}
enum ncclScalarResidence_t : int { ncclScalarHostImmediate = 1 };

#define NCCL_SPLIT_NOCOLOR -1
extern "C" {
ncclResult_t ncclAllGather(const void*, void*, std::size_t, ncclDataType_t,
                           ncclComm_t, cudaStream_t);
ncclResult_t ncclAllReduce(const void*, void*, std::size_t, ncclDataType_t,
                           ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclBcast(void*, std::size_t, ncclDataType_t, int, ncclComm_t,
                       cudaStream_t);
ncclResult_t ncclBroadcast(const void*, void*, std::size_t, ncclDataType_t, int,
                           ncclComm_t, cudaStream_t);
ncclResult_t ncclCommCount(const ncclComm_t, int*);
ncclResult_t ncclCommCuDevice(const ncclComm_t, int*);
ncclResult_t ncclCommDestroy(ncclComm_t);
ncclResult_t ncclCommFinalize(ncclComm_t);
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t*);
ncclResult_t ncclCommInitAll(ncclComm_t*, int, const int*);
ncclResult_t ncclCommInitRank(ncclComm_t*, int, ncclUniqueId, int);
ncclResult_t ncclCommInitRankConfig(ncclComm_t*, int, ncclUniqueId, int,
                                    ncclConfig_t*);
ncclResult_t ncclCommSplit(ncclComm_t, int, int, ncclComm_t*, ncclConfig_t*);
ncclResult_t ncclCommUserRank(const ncclComm_t, int*);
const char* ncclGetErrorString(ncclResult_t);
ncclResult_t ncclGetUniqueId(ncclUniqueId*);
ncclResult_t ncclGetVersion(int*);
ncclResult_t ncclGroupEnd();
ncclResult_t ncclGroupStart();
ncclResult_t ncclRecv(void*, std::size_t, ncclDataType_t, int, ncclComm_t,
                      cudaStream_t);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t*, void*, ncclDataType_t,
                                      ncclScalarResidence_t, ncclComm_t);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t);
ncclResult_t ncclReduce(const void*, void*, std::size_t, ncclDataType_t,
                        ncclRedOp_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclReduceScatter(const void*, void*, std::size_t, ncclDataType_t,
                               ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclSend(const void*, std::size_t, ncclDataType_t, int, ncclComm_t,
                      cudaStream_t);
}

#endif  // CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_NCCL_H_
