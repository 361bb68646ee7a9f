// Error codes: HIP's turned into CUDA's, and what remains of a kernel's fault.
#ifndef CERBERUS_RUNTIME_STUB_API_ERROR_H_
#define CERBERUS_RUNTIME_STUB_API_ERROR_H_

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

// HIP's number as CUDA's. Faults of kernels become sticky: see
// NoteFault in context.h, which callers with a context use instead.
CUresult FromHip(hipError_t error);

// After these a context is lost: every later call in it answers the same
// (CUDA Driver API, CUresult: "the process must be terminated").
bool IsSticky(CUresult result);

// "CUDA_ERROR_NOT_FOUND"; null for a number that is no CUresult.
const char* ErrorName(CUresult result);
const char* ErrorText(CUresult result);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_API_ERROR_H_
