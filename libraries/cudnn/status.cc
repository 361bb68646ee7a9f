#include "libraries/cudnn/status.h"

#include <utility>

namespace cerberus::libraries::cudnn {
namespace {

thread_local const char* reason_of_thread = "";

}  // namespace

const char* StatusName(Status status) {
  switch (status) {
    case kSuccess: return "CUDNN_STATUS_SUCCESS";
    case kNotInitialized: return "CUDNN_STATUS_NOT_INITIALIZED";
    case kSubLibraryMismatch: return "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH";
    case kBadParam: return "CUDNN_STATUS_BAD_PARAM";
    case kInvalidValue: return "CUDNN_STATUS_INVALID_VALUE";
    case kNullPointer: return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case kMisaligned: return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
    case kNotFinalized: return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case kOutOfBound: return "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND";
    case kSizeInsufficient: return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    case kShapeMismatch: return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
    case kDuplicated: return "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES";
    case kAttributeType: return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
    case kDescriptorType: return "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE";
    case kNotSupported: return "CUDNN_STATUS_NOT_SUPPORTED";
    case kUnsupportedPattern: return "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN";
    case kUnsupportedShape: return "CUDNN_STATUS_NOT_SUPPORTED_SHAPE";
    case kUnsupportedType: return "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE";
    case kUnsupportedLayout: return "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT";
    case kUnsupportedNativeGraph:
      return "CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API";
    case kInternalError: return "CUDNN_STATUS_INTERNAL_ERROR";
    case kAllocFailed:
      return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case kExecutionFailed: return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "CUDNN_STATUS_UNKNOWN";
}

Status Failed(Status status, const char* reason) {
  reason_of_thread = reason;
  return status;
}
const char* TakeReason() { return std::exchange(reason_of_thread, ""); }

}  // namespace cerberus::libraries::cudnn
