// samples/vector_add over the driver API, up to its first launch: what cudart
// does at a program's start is not in it. For start_bench.py, which gives it
// the fatbin of the kernel.
#include <unistd.h>

#include <vector>

#include "runtime-stub/api/api.h"

asm(".section .rodata\n"
    ".p2align 4\n"
    ".globl fatbin\n"
    "fatbin: .incbin \"" FATBIN
    "\"\n"
    ".previous\n");
extern "C" {
extern const char fatbin[];
#define EXPORTED(function) decltype(cerberus::stub::api::function) function
EXPORTED(cuInit);
EXPORTED(cuDevicePrimaryCtxRetain);
EXPORTED(cuCtxSetCurrent);
EXPORTED(cuMemAlloc_v2);
EXPORTED(cuMemcpyHtoD_v2);
EXPORTED(cuModuleLoadData);
EXPORTED(cuModuleGetFunction);
EXPORTED(cuLaunchKernel);
}

int main() {
  constexpr int kSize = 50000;
  constexpr std::size_t kBytes = kSize * sizeof(float);
  constexpr unsigned kBlock = 256;
  const std::vector<float> a(kSize, 1.0f), b(kSize, 2.0f), c(kSize);
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr on_device[3] = {};
  int size = kSize;
  void* arguments[] = {&on_device[0], &on_device[1], &on_device[2], &size};
  const bool good =
      cuInit(0) == CUDA_SUCCESS &&
      cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
      cuCtxSetCurrent(context) == CUDA_SUCCESS &&
      cuMemAlloc_v2(&on_device[0], kBytes) == CUDA_SUCCESS &&
      cuMemAlloc_v2(&on_device[1], kBytes) == CUDA_SUCCESS &&
      cuMemAlloc_v2(&on_device[2], kBytes) == CUDA_SUCCESS &&
      cuMemcpyHtoD_v2(on_device[0], a.data(), kBytes) == CUDA_SUCCESS &&
      cuMemcpyHtoD_v2(on_device[1], b.data(), kBytes) == CUDA_SUCCESS &&
      cuModuleLoadData(&module, fatbin) == CUDA_SUCCESS &&
      cuModuleGetFunction(&function, module, "_Z9VectorAddPKfS0_Pfi") ==
          CUDA_SUCCESS &&
      cuLaunchKernel(function, (kSize + kBlock - 1) / kBlock, 1, 1, kBlock, 1,
                     1, 0, nullptr, arguments, nullptr) == CUDA_SUCCESS;
  // A compiler would leave out what nobody reads.
  asm volatile("" : : "r"(c.data()) : "memory");
  _exit(good ? 0 : 1);
}
