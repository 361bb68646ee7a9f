#include "libraries/common/driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace cerberus::libraries {
namespace {

bool Fill(Driver* driver) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return false;
  const bool all =
      Look(library, "cuInit", &driver->init) &&
      Look(library, "cuCtxGetCurrent", &driver->context) &&
      Look(library, "cuDevicePrimaryCtxRetain", &driver->retain_primary) &&
      Look(library, "cuCtxSetCurrent", &driver->set_context) &&
      Look(library, "cuLaunchHostFunc", &driver->launch_host) &&
      Look(library, "cuStreamSynchronize", &driver->synchronize) &&
      Look(library, "cuStreamGetCaptureInfo_v2", &driver->capture_info) &&
      Look(library, "cuUserObjectCreate", &driver->make_user_object) &&
      Look(library, "cuGraphRetainUserObject", &driver->graph_retain) &&
      Look(library, "cuMemcpyAsync", &driver->copy) &&
      Look(library, "cuMemcpy2DAsync_v2", &driver->copy_2d) &&
      Look(library, "cuMemAlloc_v2", &driver->allocate) &&
      Look(library, "cuMemFree_v2", &driver->free) &&
      Look(library, "cuMemAllocHost_v2", &driver->allocate_host) &&
      Look(library, "cuThreadExchangeStreamCaptureMode",
           &driver->exchange_capture_mode) &&
      Look(library, "cuCtxGetDevice", &driver->device);
  Look(library, "cuMemAllocAsync", &driver->allocate_in);
  Look(library, "cuMemFreeAsync", &driver->free_in);
  Look(library, "cuMemsetD32Async", &driver->set_words);
  Look(library, "cuLibraryLoadData", &driver->load_library);
  Look(library, "cuLibraryGetKernel", &driver->find_kernel);
  Look(library, "cuKernelGetFunction", &driver->function_of_kernel);
  Look(library, "cuLaunchKernel", &driver->launch);
  int (*shares_memory)();
  driver->shares_memory =
      Look(library, "cuCerberusSharesMemory", &shares_memory) &&
      shares_memory() != 0 && std::getenv("CERBERUS_LIBRARY_COPIES") == nullptr;
  Look(library, "cuCerberusHip", &driver->describe_hip);
  Look(library, "cuCerberusHipStream", &driver->hip_stream);
  return all;
}

}  // namespace

const Driver* FindDriver() {
  static Driver driver;
  static const bool found = Fill(&driver);
  return found ? &driver : nullptr;
}

bool EnsureContext(const Driver& driver) {
  Context context = nullptr;
  if (driver.init(0) != 0) return false;
  if (driver.context(&context) == 0 && context != nullptr) return true;
  return driver.retain_primary(&context, 0) == 0 &&
         driver.set_context(context) == 0;
}

bool IsCaptured(const Driver& driver, Stream stream) {
  constexpr int kActive = 1;  // CU_STREAM_CAPTURE_STATUS_ACTIVE
  int status = 0;
  return driver.capture_info(stream, &status, nullptr, nullptr, nullptr,
                             nullptr) != 0 ||
         status == kActive;
}

}  // namespace cerberus::libraries
