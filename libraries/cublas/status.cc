#include "libraries/cublas/status.h"

namespace cerberus::libraries::cublas {

const char* StatusName(Status status) {
  switch (status) {
    case kSuccess: return "CUBLAS_STATUS_SUCCESS";
    case kNotInitialized: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kAllocFailed: return "CUBLAS_STATUS_ALLOC_FAILED";
    case kInvalidValue: return "CUBLAS_STATUS_INVALID_VALUE";
    case kArchMismatch: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case kMappingError: return "CUBLAS_STATUS_MAPPING_ERROR";
    case kExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kInternalError: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case kNotSupported: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case kLicenseError: return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

const char* StatusText(Status status) {
  switch (status) {
    case kSuccess: return "success";
    case kNotInitialized: return "the library was not initialized";
    case kAllocFailed: return "the resource allocation failed";
    case kInvalidValue: return "an invalid value was passed as an argument";
    case kArchMismatch: return "the device lacks what the function needs";
    case kMappingError: return "access to the GPU memory space failed";
    case kExecutionFailed: return "the GPU program failed to execute";
    case kInternalError: return "an internal operation failed";
    case kNotSupported: return "the functionality is not supported";
    case kLicenseError: return "the license of the functionality failed";
  }
  return "unknown status";
}

}  // namespace cerberus::libraries::cublas
