// Contexts: HIP keeps CUDA's calls, but a device has its primary context and
// no other; creating one gives a handle of that.
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

namespace {

// hipCtxCreate and hipCtxPushCurrent push, pop takes away; below the stack
// lies the device that hipSetDevice chose.
void Push(Gpu* gpu) {
  ThreadState& thread = Thread();
  thread.contexts.push_back(thread.device);
  thread.device = gpu->ordinal;
}

}  // namespace

HIP_API hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context,
                                             hipDevice_t device) {
  if (context == nullptr) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(gpu->order);
  ++gpu->primary_retains;
  *context = ContextOf(gpu);
  return Return(hipSuccess);
}

HIP_API hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(gpu->order);
  if (gpu->primary_retains > 0) --gpu->primary_retains;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) {
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  Runtime::Get().Reset(gpu);
  return Return(hipSuccess);
}

HIP_API hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device,
                                               unsigned flags) {
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  gpu->flags = flags;
  return Return(hipSuccess);
}

HIP_API hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device,
                                               unsigned* flags, int* active) {
  if (flags == nullptr || active == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(gpu->order);
  *flags = gpu->flags;
  *active = gpu->primary_retains > 0 || Thread().device == device;
  return Return(hipSuccess);
}

HIP_API hipError_t hipCtxCreate(hipCtx_t* context, unsigned flags,
                                hipDevice_t device) {
  if (context == nullptr) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().gpu(device);
  if (gpu == nullptr) return Return(hipErrorInvalidDevice);
  gpu->flags = flags;
  *context = ContextOf(gpu);
  Push(gpu);
  return Return(hipSuccess);
}

HIP_API hipError_t hipCtxPushCurrent(hipCtx_t context) {
  Gpu* gpu = GpuOf(context);
  if (gpu == nullptr) return Return(hipErrorInvalidContext);
  Push(gpu);
  return Return(hipSuccess);
}

HIP_API hipError_t hipCtxPopCurrent(hipCtx_t* context) {
  ThreadState& thread = Thread();
  if (thread.contexts.empty()) return Return(hipErrorInvalidContext);
  if (context != nullptr) *context = ContextOf(Runtime::Get().current());
  thread.device = thread.contexts.back();
  thread.contexts.pop_back();
  return Return(hipSuccess);
}

HIP_API hipError_t hipCtxDestroy(hipCtx_t context) {
  Gpu* gpu = GpuOf(context);
  if (gpu == nullptr) return Return(hipErrorInvalidValue);
  gpu->Synchronize();
  ThreadState& thread = Thread();
  if (thread.device == gpu->ordinal && !thread.contexts.empty()) {
    thread.device = thread.contexts.back();
    thread.contexts.pop_back();
  }
  return Return(hipSuccess);
}

HIP_API hipError_t hipCtxSetCurrent(hipCtx_t context) {
  if (context == nullptr) {
    ThreadState& thread = Thread();
    if (!thread.contexts.empty()) {
      thread.device = thread.contexts.back();
      thread.contexts.pop_back();
    }
    return Return(hipSuccess);
  }
  Gpu* gpu = GpuOf(context);
  if (gpu == nullptr) return Return(hipErrorInvalidContext);
  Thread().device = gpu->ordinal;
  return Return(hipSuccess);
}

HIP_API hipError_t hipCtxGetCurrent(hipCtx_t* context) {
  if (context == nullptr) return Return(hipErrorInvalidValue);
  Gpu* gpu = Runtime::Get().current();
  if (gpu == nullptr) return Return(hipErrorNoDevice);
  *context = ContextOf(gpu);
  return Return(hipSuccess);
}

HIP_API hipError_t hipCtxGetDevice(hipDevice_t* device) {
  if (device == nullptr) return Return(hipErrorInvalidValue);
  if (Runtime::Get().gpus().empty()) return Return(hipErrorInvalidContext);
  *device = Thread().device;
  return Return(hipSuccess);
}

HIP_API hipError_t hipCtxSynchronize() {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  gpu->Synchronize();
  return Return(gpu->sticky);
}

HIP_API hipError_t hipCtxGetFlags(unsigned* flags) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (flags == nullptr) return Return(hipErrorInvalidValue);
  *flags = gpu->flags;
  return Return(hipSuccess);
}

HIP_API hipError_t hipCtxGetApiVersion(hipCtx_t, int* version) {
  if (version == nullptr) return Return(hipErrorInvalidValue);
  *version = 4;  // what AMD's runtime has always answered
  return Return(hipSuccess);
}
