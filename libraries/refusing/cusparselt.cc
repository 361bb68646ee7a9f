// Its statuses are cuSPARSE's.
#define LIBRARY_TABLE "libraries/refusing/cusparselt.def"
#define LIBRARY_REFUSAL 10  // CUSPARSE_STATUS_NOT_SUPPORTED
#include "libraries/refusing/refusing.h"

namespace {

constexpr int kSuccess = 0, kInvalidValue = 3;
constexpr int kVersion[] = {0, 8, 1};

}  // namespace

LIBRARY_API int cusparseLtGetVersion(const void*, int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = kVersion[0] * 1000 + kVersion[1] * 100 + kVersion[2];
  return kSuccess;
}
LIBRARY_API int cusparseLtGetProperty(int property, int* value) {
  if (value == nullptr || property < 0 || property > 2) return kInvalidValue;
  *value = kVersion[property];
  return kSuccess;
}
LIBRARY_API const char* cusparseLtGetErrorName(int status) {
  switch (status) {
    case kSuccess: return "CUSPARSE_STATUS_SUCCESS";
    case kInvalidValue: return "CUSPARSE_STATUS_INVALID_VALUE";
    case LIBRARY_REFUSAL: return "CUSPARSE_STATUS_NOT_SUPPORTED";
    default: return "unrecognized error code";
  }
}
LIBRARY_API const char* cusparseLtGetErrorString(int status) {
  switch (status) {
    case kSuccess: return "success";
    case kInvalidValue: return "invalid value";
    case LIBRARY_REFUSAL: return "operation not supported";
    default: return "unrecognized error code";
  }
}
