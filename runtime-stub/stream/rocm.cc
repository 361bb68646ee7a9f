// What our libraries beside this one have to know to hand work to ROCm's. Not
// of CUDA's.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "formats/hip_of_context.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/guard.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/device.h"
#include "runtime-stub/device/provider.h"
#include "runtime-stub/stream/stream.h"

namespace cerberus::stub {
namespace {

using formats::HipOfContext;

template <std::size_t size>
CUresult Keep(const std::string& text, char (&to)[size]) {
  if (text.size() >= size) return CUDA_ERROR_NOT_SUPPORTED;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return CUDA_SUCCESS;
}

CUresult DescribeHip(HipOfContext* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Provider provider = ChosenProvider();
  if (provider != Provider::kHip && provider != Provider::kEmulator) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  CERB_CONTEXT(context);
  out->device_count = dlsym(hip.library, "hipGetDeviceCount");
  out->major = hip.major;
  out->emulated = provider == Provider::kEmulator;
  Dl_info info;
  const bool told = dladdr(out->device_count, &info) != 0;
  if (const CUresult bad = Keep(told ? info.dli_fname : hip.path, out->file)) {
    return bad;
  }
  return Keep(context->device->target.ToString(), out->target);
}

CUresult HipStreamOf(CUstream handle, void** out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM(context, stream, handle);
  *out = stream;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cerberus::stub

#define CERB_FOR_LIBRARIES extern "C" __attribute__((visibility("default")))

// The HIP below, and the current context's device as HIP calls it.
CERB_FOR_LIBRARIES CUresult
cuCerberusHip(cerberus::formats::HipOfContext* out) {
  return cerberus::stub::Guarded<&cerberus::stub::DescribeHip>::Call(out);
}
// HIP's stream of a stream, whose device becomes HIP's current one.
CERB_FOR_LIBRARIES CUresult cuCerberusHipStream(CUstream stream, void** out) {
  return cerberus::stub::Guarded<&cerberus::stub::HipStreamOf>::Call(stream,
                                                                     out);
}
