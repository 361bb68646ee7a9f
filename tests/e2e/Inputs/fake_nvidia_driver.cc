// An NVIDIA driver for tests: the functions that samples/driver_ptx uses,
// "device" memory on the host, and one kernel, which it knows by name.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

float factor = 1.0f;

CUdeviceptr Address(void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

template <typename T>
T Handle(unsigned long number) {
  return reinterpret_cast<T>(number);
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  std::fprintf(stderr, "fake NVIDIA driver: cuInit\n");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = std::getenv("FAKE_NVIDIA_NO_GPU") != nullptr ? 0 : 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = Handle<CUcontext>(1);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = Handle<CUmodule>(2);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  *function = Handle<CUfunction>(3);
  return std::strcmp(name, "saxpy") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* size, CUmodule,
                           const char*) {
  *address = Address(&factor);
  *size = sizeof(factor);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* address, size_t size) {
  *address = Address(std::malloc(size));
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  std::free(Pointer(address));
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t size) {
  std::memcpy(Pointer(to), from, size);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t size) {
  std::memcpy(to, Pointer(from), size);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t size,
                           CUstream) {
  return cuMemcpyHtoD(to, from, size);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t size, CUstream) {
  return cuMemcpyDtoH(to, from, size);
}
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = Handle<CUstream>(4);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned,
                        unsigned, unsigned, unsigned, CUstream, void** params,
                        void**) {
  auto array = [params](int i) {
    return static_cast<float*>(Pointer(*static_cast<CUdeviceptr*>(params[i])));
  };
  const float* x = array(0);
  float* y = array(1);
  int n = *static_cast<int*>(params[2]);
  for (int i = 0; i < n; ++i) y[i] += factor * x[i];
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "fake";
  return CUDA_SUCCESS;
}

}  // extern "C"
