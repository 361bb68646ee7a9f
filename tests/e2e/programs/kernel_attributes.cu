// Attributes of kernels, and dynamic shared memory beyond 48 KiB.
//
// RUN: %check %s %t
#include "program.h"

__constant__ int table[20] = {1};

__global__ void __launch_bounds__(128) Small(int* p) { p[threadIdx.x] = 1; }
__global__ void Constant(int* p) { p[threadIdx.x] = table[threadIdx.x]; }
__global__ void Shared(int* p, int n) {
  extern __shared__ int dynamic[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) dynamic[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    p[i] = dynamic[n - 1 - i];
  }
}
__global__ void Fixed(int* p) {
  __shared__ int fixed[512];
  fixed[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = fixed[blockDim.x - 1 - threadIdx.x];
}
// Its barriers need memory that the program does not know of.
__global__ void Voting(int* p) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = __syncthreads_count(threadIdx.x & 1);
  asm volatile("bar.sync 1, 64;");
  p[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

int main() {
  cudaFuncAttributes a;
  CHECK(cudaFuncGetAttributes(&a, Small));
  EXPECT(a.maxThreadsPerBlock == 128 && a.numRegs > 0);
  EXPECT(a.sharedSizeBytes == 0 && a.ptxVersion >= 50);
  CHECK(cudaFuncGetAttributes(&a, Fixed));
  EXPECT(a.sharedSizeBytes == 2048 && a.maxThreadsPerBlock <= 1024);
  CHECK(cudaFuncGetAttributes(&a, Constant));
  EXPECT(a.constSizeBytes >= sizeof table);

  constexpr int kCount = 15000;  // 60,000 bytes
  int* p = ToDevice(std::vector<int>(kCount, -1));
  Shared<<<1, 256, kCount * sizeof(int)>>>(p, kCount);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(Shared,
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kCount * sizeof(int)));
  CHECK(cudaFuncGetAttributes(&a, Shared));
  EXPECT(a.maxDynamicSharedSizeBytes == kCount * sizeof(int));
  Shared<<<1, 256, kCount * sizeof(int)>>>(p, kCount);
  CHECK(cudaGetLastError());
  const std::vector<int> out = ToHost(p, kCount);
  for (int i = 0; i < kCount; ++i) EXPECT(out[i] == kCount - 1 - i);
  EXPECT(cudaFuncSetAttribute(Shared,
                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                              1 << 20) == cudaErrorInvalidValue);
  cudaGetLastError();

  CHECK(cudaFuncGetAttributes(&a, Voting));
  EXPECT(a.sharedSizeBytes == 0);
  EXPECT(a.maxDynamicSharedSizeBytes == 48 * 1024);
  Voting<<<1, 64, 48 * 1024>>>(p);
  CHECK(cudaGetLastError());
  for (int count : ToHost(p, 64)) EXPECT(count == 32);

  CHECK(cudaFuncSetCacheConfig(Small, cudaFuncCachePreferShared));
  CHECK(cudaFuncSetAttribute(
      Small, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  CUfunction f;
  CHECK(cudaGetFuncBySymbol(&f, reinterpret_cast<const void*>(Small)));
  int value = -2;
  CHECK_DRIVER(cuFuncGetAttribute(
      &value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f));
  EXPECT(value == 50);
  Small<<<1, 256>>>(p);  // more than its bounds
  EXPECT(cudaGetLastError() != cudaSuccess);
  return Pass();
}
