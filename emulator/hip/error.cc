// Error names and the calling thread's last error.
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

HIP_API const char* hipGetErrorName(std::uint32_t error) {
  switch (error) {
#define HIP_ERROR(name, value, text) \
  case value: return #name;
#include "emulator/hip/errors.def"
#undef HIP_ERROR
    default: return "hipErrorUnknown";
  }
}

HIP_API const char* hipGetErrorString(std::uint32_t error) {
  switch (error) {
#define HIP_ERROR(name, value, text) \
  case value: return text;
#include "emulator/hip/errors.def"
#undef HIP_ERROR
    default: return "unknown error";
  }
}

HIP_API hipError_t hipDrvGetErrorName(std::uint32_t error, const char** name) {
  if (name == nullptr) return hipErrorInvalidValue;
  *name = hipGetErrorName(error);
  return hipSuccess;
}

HIP_API hipError_t hipDrvGetErrorString(std::uint32_t error,
                                        const char** text) {
  if (text == nullptr) return hipErrorInvalidValue;
  *text = hipGetErrorString(error);
  return hipSuccess;
}

HIP_API hipError_t hipGetLastError() {
  hipError_t error = Thread().last_error;
  Thread().last_error = hipSuccess;
  return error;
}

HIP_API hipError_t hipExtGetLastError() { return hipGetLastError(); }

HIP_API hipError_t hipPeekAtLastError() { return Thread().last_error; }
