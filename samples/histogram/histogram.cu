// Counts how often each byte value occurs, in two ways: atomics straight on
// global memory, and one private histogram per block in shared memory that
// is added to the global one at the end.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                     \
  do {                                                                  \
    cudaError_t status = (call);                                        \
    if (status != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(status));                         \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

constexpr int kBins = 256;

__global__ void HistogramGlobal(const unsigned char* data, int n,
                                unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[data[i]], 1u);
  }
}

__global__ void HistogramShared(const unsigned char* data, int n,
                                unsigned* bins, unsigned* largest) {
  __shared__ unsigned block_bins[kBins];
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) block_bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    atomicAdd(&block_bins[data[i]], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) {
    unsigned count = block_bins[i];
    if (count != 0) {
      unsigned before = atomicAdd(&bins[i], count);
      atomicMax(largest, before + count);
    }
  }
}

bool Compare(const char* name, const unsigned* found,
             const std::vector<unsigned>& expected) {
  for (int i = 0; i < kBins; ++i) {
    if (found[i] != expected[i]) {
      std::printf("%s: bin %d is %u, expected %u\n", name, i, found[i],
                  expected[i]);
      return false;
    }
  }
  return true;
}

int main() {
  const int n = 100003;
  std::vector<unsigned char> data(n);
  std::vector<unsigned> expected(kBins, 0);
  unsigned random = 1;
  for (int i = 0; i < n; ++i) {
    random = random * 1664525u + 1013904223u;
    // Uneven on purpose: low values are more frequent.
    data[i] = (random >> 24) & (random >> 16);
    ++expected[data[i]];
  }
  unsigned expected_largest = 0;
  for (unsigned count : expected) {
    if (count > expected_largest) expected_largest = count;
  }

  unsigned char* device_data;
  unsigned* device_bins;  // and behind them the largest
  CHECK(cudaMalloc(&device_data, n));
  CHECK(cudaMalloc(&device_bins, (kBins + 1) * sizeof(unsigned)));
  CHECK(cudaMemcpy(device_data, data.data(), n, cudaMemcpyHostToDevice));
  std::vector<unsigned> found(kBins + 1);

  bool ok = true;
  CHECK(cudaMemset(device_bins, 0, (kBins + 1) * sizeof(unsigned)));
  HistogramGlobal<<<24, 256>>>(device_data, n, device_bins);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(found.data(), device_bins, (kBins + 1) * sizeof(unsigned),
                   cudaMemcpyDeviceToHost));
  ok &= Compare("global", found.data(), expected);

  CHECK(cudaMemset(device_bins, 0, (kBins + 1) * sizeof(unsigned)));
  HistogramShared<<<24, 192>>>(device_data, n, device_bins,
                               device_bins + kBins);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(found.data(), device_bins, (kBins + 1) * sizeof(unsigned),
                   cudaMemcpyDeviceToHost));
  ok &= Compare("shared", found.data(), expected);
  if (found[kBins] != expected_largest) {
    std::printf("largest is %u, expected %u\n", found[kBins],
                expected_largest);
    ok = false;
  }

  CHECK(cudaFree(device_data));
  CHECK(cudaFree(device_bins));
  std::printf("histogram: %d bytes, global and shared atomics: %s\n", n,
              ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
