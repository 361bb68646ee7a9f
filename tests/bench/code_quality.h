// What the kernels that code_quality.py compares have in common.
//
// All have the same parameters: an output, two inputs, integers in [0, n), and
// n. A program launches each once and prints a checksum of the output, rounded
// so that contraction of floating-point operations does not show.
#ifndef CERBERUS_TESTS_BENCH_CODE_QUALITY_H_
#define CERBERUS_TESTS_BENCH_CODE_QUALITY_H_

#include "portable.h"

#define KERNEL(name)                                             \
  __global__ void __launch_bounds__(256)                         \
      name(float* __restrict__ out, const float* __restrict__ a, \
           const float* __restrict__ b, const int* __restrict__ index, int n)

__device__ __forceinline__ int Global() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

constexpr int kCount = 4096, kBlock = 256;

struct Entry {
  const char* name;
  void (*kernel)(float*, const float*, const float*, const int*, int);
};
#define ENTRY(name) {#name, name}

template <int kNumber>
int RunAll(const Entry (&entries)[kNumber]) {
  std::vector<float> a(kCount), b(kCount), out(kCount);
  std::vector<int> index(kCount);
  uint64_t state = 1;
  for (int i = 0; i < kCount; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    a[i] = (state >> 40) * (1.0f / (1 << 24));
    b[i] = (state >> 20 & 0xffffff) * (1.0f / (1 << 24));
    index[i] = (int)(state >> 50) & (kCount - 1);
  }
  float *da, *db, *dout;
  int* dindex;
  const size_t bytes = kCount * sizeof(float);
  cudaMalloc((void**)&da, bytes);
  cudaMalloc((void**)&db, bytes);
  cudaMalloc((void**)&dout, bytes);
  cudaMalloc((void**)&dindex, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(dindex, index.data(), bytes, cudaMemcpyHostToDevice);
  for (const Entry& entry : entries) {
    memset(out.data(), 0, bytes);
    cudaMemcpy(dout, out.data(), bytes, cudaMemcpyHostToDevice);
    entry.kernel<<<kCount / kBlock, kBlock>>>(dout, da, db, dindex, kCount);
    if (cudaDeviceSynchronize() != 0) {
      printf("%s failed\n", entry.name);
      return 1;
    }
    cudaMemcpy(out.data(), dout, bytes, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < kCount; ++i) {
      if (out[i] == out[i]) sum += (i % 7 + 1) * (double)out[i];
    }
    printf("%s %.3e\n", entry.name, sum);
  }
  return 0;
}

#endif  // CERBERUS_TESTS_BENCH_CODE_QUALITY_H_
