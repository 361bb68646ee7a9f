// Profilers are told that there is nothing to measure with: programs go on
// without. CERBERUS_CUPTI_VERSION comes from the build, one library for each
// version of CUDA; some programs look whether it is what they were built with.
#include <cstdint>

#define LIBRARY_TABLE "libraries/refusing/cupti.def"
#define LIBRARY_REFUSAL 27  // CUPTI_ERROR_NOT_SUPPORTED
#include "libraries/refusing/refusing.h"

namespace {

constexpr int kSuccess = 0, kInvalidParameter = 1;

// Of the results that these functions have; null for others.
const char* NameOf(int result) {
  switch (result) {
    case kSuccess: return "CUPTI_SUCCESS";
    case kInvalidParameter: return "CUPTI_ERROR_INVALID_PARAMETER";
    case LIBRARY_REFUSAL: return "CUPTI_ERROR_NOT_SUPPORTED";
    default: return nullptr;
  }
}
const char* TextOf(int result) {
  switch (result) {
    case kSuccess: return "success";
    case kInvalidParameter: return "a parameter is invalid";
    case LIBRARY_REFUSAL: return "profiling is not supported on this device";
    default: return nullptr;
  }
}
int Tell(const char* text, const char** to) {
  if (to == nullptr || text == nullptr) return kInvalidParameter;
  *to = text;
  return kSuccess;
}

}  // namespace

LIBRARY_API int cuptiGetVersion(std::uint32_t* version) {
  if (version == nullptr) return kInvalidParameter;
  *version = CERBERUS_CUPTI_VERSION;
  return kSuccess;
}
LIBRARY_API int cuptiGetResultString(int result, const char** text) {
  return Tell(NameOf(result), text);
}
LIBRARY_API int cuptiGetErrorMessage(int result, const char** text) {
  return Tell(TextOf(result), text);
}
