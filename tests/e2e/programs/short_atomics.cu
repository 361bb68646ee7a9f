// Atomic operations on halves of a word that end where the memory does: of an
// array of three, of a variable, and in shared memory.
//
// RUN: %check %s %t -arch=sm_80
#include <cuda_fp16.h>

#include "program.h"

__device__ __half variable;

__global__ void Add(__half* array, __half* sums) {
  __shared__ __half shared;
  if (threadIdx.x == 0) shared = 0;
  __syncthreads();
  atomicAdd(array + 2, __float2half(1));
  atomicAdd(&variable, __float2half(2));
  atomicAdd(&shared, __float2half(0.5f));
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = shared;
}
__global__ void Swap(unsigned short* array) {
  atomicCAS(array + 2, static_cast<unsigned short>(threadIdx.x),
            static_cast<unsigned short>(threadIdx.x + 1));
}

int main() {
  constexpr int kBlocks = 3, kThreads = 40;
  __half* arrays[3];
  CHECK(cudaMalloc(&arrays[0], 3 * sizeof(__half)));
  CHECK(cudaMallocManaged(&arrays[1], 3 * sizeof(__half)));
  CHECK(cudaMallocAsync(&arrays[2], 3 * sizeof(__half), nullptr));
  __half* sums = ToDevice(std::vector<__half>(kBlocks));
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaMemset(arrays[i], 0, 3 * sizeof(__half)));
    Add<<<kBlocks, kThreads>>>(arrays[i], sums);
    for (const __half sum : ToHost(sums, kBlocks)) {
      EXPECT(__half2float(sum) == kThreads / 2);
    }
    const std::vector<__half> got = ToHost(arrays[i], 3);
    EXPECT(__half2float(got[0]) == 0 && __half2float(got[1]) == 0);
    EXPECT(__half2float(got[2]) == kBlocks * kThreads);
    __half sum;
    CHECK(cudaMemcpyFromSymbol(&sum, variable, sizeof sum));
    EXPECT(__half2float(sum) == 2 * kBlocks * kThreads * (i + 1));
    auto* words = reinterpret_cast<unsigned short*>(arrays[i]);
    CHECK(cudaMemset(words, 0, 3 * sizeof(short)));
    for (int round = 0; round < kThreads; ++round) Swap<<<1, kThreads>>>(words);
    EXPECT(ToHost(words, 3)[2] == kThreads);
  }
  return Pass();
}
