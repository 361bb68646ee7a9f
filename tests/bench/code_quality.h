// What the kernels that code_quality.py compares have in common.
//
// All have the same parameters: an output, two inputs, integers in [0, n), and
// n. A program launches each once and prints a checksum of the output, rounded
// so that contraction of floating-point operations does not show. Where the
// host computes the same, each output is compared with its own.
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

// What the host expects of a kernel, one block after the other.
#define EXPECTED(name)                                         \
  void name##_host(float* out, const float* a, const float* b, \
                   const int* index, int n)
// One whose thread t computes Name(t), with nothing from other threads.
#define EXPECTED_OF_EACH(name, Function)                              \
  EXPECTED(name) {                                                    \
    for (int t = 0; t < n; ++t) out[t] = Function(t, a, b, index, n); \
  }

struct Entry {
  const char* name;
  void (*kernel)(float*, const float*, const float*, const int*, int);
  void (*expected)(float*, const float*, const float*, const int*, int);
  float tolerance;  // of what is expected and of its mean
};
#define ENTRY(name) {#name, name, nullptr, 0}
#define CHECKED(name, tolerance) {#name, name, name##_host, tolerance}

inline bool AsExpected(const Entry& entry, const std::vector<float>& out,
                       const std::vector<float>& expected) {
  double mean = 0;
  for (float value : expected) mean += fabs((double)value) / kCount;
  for (int i = 0; i < kCount; ++i) {
    const double off = fabs((double)out[i] - expected[i]);
    if (!(off <= entry.tolerance * (fabs((double)expected[i]) + mean))) {
      fprintf(stderr, "%s: thread %d: %.9g, expected %.9g\n", entry.name, i,
              out[i], expected[i]);
      return false;
    }
  }
  return true;
}

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
    if (entry.expected) {
      std::vector<float> expected(kCount);
      entry.expected(expected.data(), a.data(), b.data(), index.data(), kCount);
      if (!AsExpected(entry, out, expected)) return 1;
    }
    double sum = 0;
    for (int i = 0; i < kCount; ++i) {
      if (out[i] == out[i]) sum += (i % 7 + 1) * (double)out[i];
    }
    printf("%s %.3e\n", entry.name, sum);
  }
  return 0;
}

#endif  // CERBERUS_TESTS_BENCH_CODE_QUALITY_H_
