// Contexts of the driver API: the stack, the primary context, flags, limits.
//
// RUN: %check %s %t
#include "program.h"

int main() {
  CHECK_DRIVER(cuInit(0));
  CUdevice device;
  CHECK_DRIVER(cuDeviceGet(&device, 0));
  CUcontext current = nullptr;
  CHECK_DRIVER(cuCtxGetCurrent(&current));
  EXPECT(current == nullptr);
  CUdeviceptr p;
  EXPECT(cuMemAlloc(&p, 4) == CUDA_ERROR_INVALID_CONTEXT);

  CUcontext primary;
  CHECK_DRIVER(cuDevicePrimaryCtxRetain(&primary, device));
  unsigned flags = 9;
  int active = 0;
  CHECK_DRIVER(cuDevicePrimaryCtxGetState(device, &flags, &active));
  EXPECT(active == 1);
  CHECK_DRIVER(cuCtxPushCurrent(primary));

  CUcontext own;
  CHECK_DRIVER(cuCtxCreate(&own, nullptr, CU_CTX_SCHED_BLOCKING_SYNC, device));
  CHECK_DRIVER(cuCtxGetCurrent(&current));
  EXPECT(current == own && own != primary);
  CHECK_DRIVER(cuCtxGetFlags(&flags));
  EXPECT((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC);
  unsigned long long id = 0, other = 0;
  CHECK_DRIVER(cuCtxGetId(own, &id));
  CHECK_DRIVER(cuCtxGetId(primary, &other));
  EXPECT(id != other);
  CUdevice of = -1;
  CHECK_DRIVER(cuCtxGetDevice(&of));
  EXPECT(of == device);

  std::size_t limit = 0;
  CHECK_DRIVER(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20));
  CHECK_DRIVER(cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE));
  EXPECT(limit >= 32u << 20);
  EXPECT(cuCtxGetLimit(&limit, (CUlimit)99) != CUDA_SUCCESS);
  CHECK_DRIVER(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  CUfunc_cache cache;
  CHECK_DRIVER(cuCtxGetCacheConfig(&cache));
  EXPECT(cache == CU_FUNC_CACHE_PREFER_L1);
  int least = 9, greatest = 9;
  CHECK_DRIVER(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT(least >= greatest);

  CHECK_DRIVER(cuMemAlloc(&p, 64));
  CHECK_DRIVER(cuMemsetD32(p, 7, 16));
  CUcontext popped;
  CHECK_DRIVER(cuCtxPopCurrent(&popped));
  EXPECT(popped == own);
  CHECK_DRIVER(cuCtxGetCurrent(&current));
  EXPECT(current == primary);
  // Unified addresses: memory of one context serves the other.
  unsigned word = 0;
  CHECK_DRIVER(cuMemcpyDtoH(&word, p, 4));
  EXPECT(word == 7);
  CHECK_DRIVER(cuCtxSetCurrent(own));
  CHECK_DRIVER(cuMemFree(p));
  CHECK_DRIVER(cuCtxSynchronize());
  CHECK_DRIVER(cuCtxDestroy(own));
  EXPECT(cuCtxSetCurrent(own) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK_DRIVER(cuDevicePrimaryCtxRelease(device));
  CHECK_DRIVER(cuDevicePrimaryCtxGetState(device, &flags, &active));
  EXPECT(active == 0);
  return Pass();
}
