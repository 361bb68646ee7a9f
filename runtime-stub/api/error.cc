#include "runtime-stub/api/error.h"

#include "runtime-stub/api/api.h"

namespace cerberus::stub {
namespace {

// Where HIP's number has no CUresult of the same number. HIP keeps CUDA
// runtime numbers there.
struct ErrorPair {
  int hip;
  CUresult cuda;
};
constexpr ErrorPair kRuntimeErrors[] = {
    {9, CUDA_ERROR_INVALID_VALUE},            // InvalidConfiguration
    {12, CUDA_ERROR_INVALID_VALUE},           // InvalidPitchValue
    {13, CUDA_ERROR_NOT_FOUND},               // InvalidSymbol
    {17, CUDA_ERROR_INVALID_VALUE},           // InvalidDevicePointer
    {21, CUDA_ERROR_INVALID_VALUE},           // InvalidMemcpyDirection
    {35, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH},  // InsufficientDriver
    {52, CUDA_ERROR_INVALID_VALUE},           // MissingConfiguration
    {53, CUDA_ERROR_LAUNCH_FAILED},           // PriorLaunchFailure
    {98, CUDA_ERROR_INVALID_HANDLE},          // InvalidDeviceFunction
    {1052, CUDA_ERROR_UNKNOWN},               // RuntimeMemory
    {1053, CUDA_ERROR_UNKNOWN},               // RuntimeOther
};

}  // namespace

CUresult FromHip(hipError_t error) {
  if (error == hipSuccess) return CUDA_SUCCESS;
  for (const ErrorPair& row : kRuntimeErrors) {
    if (row.hip == error) return row.cuda;
  }
  const CUresult same = static_cast<CUresult>(error);
  return ErrorName(same) != nullptr ? same : CUDA_ERROR_UNKNOWN;
}

bool IsSticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
  }
}

const char* ErrorName(CUresult result) {
  switch (static_cast<int>(result)) {
#define CUDA_ERROR_ROW(name, value, text) \
  case value: return #name;
#include "runtime-stub/api/cuda_errors.def"
#undef CUDA_ERROR_ROW
    default: return nullptr;
  }
}

const char* ErrorText(CUresult result) {
  switch (static_cast<int>(result)) {
#define CUDA_ERROR_ROW(name, value, text) \
  case value: return text;
#include "runtime-stub/api/cuda_errors.def"
#undef CUDA_ERROR_ROW
    default: return nullptr;
  }
}

namespace api {

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = ErrorName(error);
  return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = ErrorText(error);
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace api
}  // namespace cerberus::stub
