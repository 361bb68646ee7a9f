// CERBERUS_NVJPEG_MAJOR comes from the build, one library for each.
#define LIBRARY_TABLE "libraries/refusing/nvjpeg.def"
#define LIBRARY_REFUSAL 9  // NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED
#include "libraries/refusing/refusing.h"

namespace {

constexpr int kSuccess = 0, kInvalidParameter = 2;

int Property(int property, int* value) {
  if (value == nullptr || property < 0 || property > 2) {
    return kInvalidParameter;
  }
  *value = property == 0 ? CERBERUS_NVJPEG_MAJOR : 0;
  return kSuccess;
}

}  // namespace

LIBRARY_API int nvjpegGetProperty(int property, int* value) {
  return Property(property, value);
}
LIBRARY_API int nvjpegGetCudartProperty(int property, int* value) {
  return Property(property, value);
}
