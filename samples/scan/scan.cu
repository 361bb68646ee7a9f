// Inclusive prefix sum of an array of any length: every block scans its
// part, the blocks' totals are scanned in turn, and are added to the parts.
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

constexpr int kThreads = 256;
constexpr int kPerThread = 4;
constexpr int kPerBlock = kThreads * kPerThread;

// Inclusive scan over the lanes of a warp.
__device__ int ScanWarp(int value) {
  int lane = threadIdx.x % 32;
  for (int distance = 1; distance < 32; distance *= 2) {
    int below = __shfl_up_sync(0xffffffffu, value, distance);
    if (lane >= distance) value += below;
  }
  return value;
}

// Inclusive scan over the threads of a block.
__device__ int ScanThreads(int value) {
  __shared__ int warp_totals[kThreads / 32];
  int lane = threadIdx.x % 32;
  int warp = threadIdx.x / 32;
  value = ScanWarp(value);
  if (lane == 31) warp_totals[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int total = lane < kThreads / 32 ? warp_totals[lane] : 0;
    total = ScanWarp(total);
    if (lane < kThreads / 32) warp_totals[lane] = total;
  }
  __syncthreads();
  return warp > 0 ? value + warp_totals[warp - 1] : value;
}

__global__ void ScanBlocks(const int* in, int* out, int* totals, int n) {
  int first = blockIdx.x * kPerBlock + threadIdx.x * kPerThread;
  int values[kPerThread];
  int sum = 0;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    sum += first + i < n ? in[first + i] : 0;
    values[i] = sum;
  }
  int before = ScanThreads(sum) - sum;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    if (first + i < n) out[first + i] = before + values[i];
  }
  if (threadIdx.x == kThreads - 1) totals[blockIdx.x] = before + sum;
}

__global__ void AddTotals(int* out, const int* totals, int n) {
  if (blockIdx.x == 0) return;
  int before = totals[blockIdx.x - 1];
  for (int i = threadIdx.x; i < kPerBlock; i += kThreads) {
    int index = blockIdx.x * kPerBlock + i;
    if (index < n) out[index] += before;
  }
}

void Scan(const int* in, int* out, int n) {
  const int blocks = (n + kPerBlock - 1) / kPerBlock;
  int* totals;
  CHECK(cudaMalloc(&totals, blocks * sizeof(int)));
  ScanBlocks<<<blocks, kThreads>>>(in, out, totals, n);
  CHECK(cudaGetLastError());
  if (blocks > 1) {
    int* scanned;
    CHECK(cudaMalloc(&scanned, blocks * sizeof(int)));
    Scan(totals, scanned, blocks);
    AddTotals<<<blocks, kThreads>>>(out, scanned, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(scanned));
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(totals));
}

bool Test(int n) {
  std::vector<int> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = i * 31 % 101 - 40;
  int *device_in, *device_out;
  CHECK(cudaMalloc(&device_in, n * sizeof(int)));
  CHECK(cudaMalloc(&device_out, n * sizeof(int)));
  CHECK(cudaMemcpy(device_in, in.data(), n * sizeof(int),
                   cudaMemcpyHostToDevice));
  Scan(device_in, device_out, n);
  CHECK(cudaMemcpy(out.data(), device_out, n * sizeof(int),
                   cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_in));
  CHECK(cudaFree(device_out));
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += in[i];
    if (out[i] != sum) {
      std::printf("n %d: out[%d] is %d, expected %d\n", n, i, out[i], sum);
      return false;
    }
  }
  return true;
}

int main() {
  bool ok = true;
  for (int n : {1, 31, 1024, 1025, 40000}) ok &= Test(n);
  std::printf("scan: up to 40000 numbers: %s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
