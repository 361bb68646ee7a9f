// Memory of all kinds, streams, events, threads, and a reset in between.
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

__device__ int device_value = 5;
__constant__ int constant_values[4] = {1, 2, 3, 4};
__managed__ int managed_value = 7;

__global__ void ReadVariables(int* out) {
  out[0] = device_value;
  out[1] = constant_values[2];
  out[2] = managed_value;
  managed_value = 99;
  device_value = 6;
}

__global__ void Add(int* data, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += by;
}

__global__ void Reverse(int* out) {
  extern __shared__ int values[];
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

void Variables() {
  int* out = nullptr;
  CHECK(cudaMalloc(&out, 16));
  int values[3];
  ReadVariables<<<1, 1>>>(out);
  CHECK(cudaMemcpy(values, out, sizeof values, cudaMemcpyDefault));
  EXPECT(values[0] == 5 && values[1] == 3 && values[2] == 7);
  EXPECT(managed_value == 99);
  int value = 0;
  CHECK(cudaMemcpyFromSymbol(&value, device_value, sizeof value));
  EXPECT(value == 6);
  const int nines[4] = {9, 9, 9, 9};
  CHECK(cudaMemcpyToSymbol(constant_values, nines, sizeof nines));
  ReadVariables<<<1, 1>>>(out);
  CHECK(cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost));
  EXPECT(values[1] == 9);
  CHECK(cudaFree(out));
}

void Streams() {
  constexpr int kCount = 4096;
  cudaStream_t stream;
  cudaEvent_t start, end;
  int *data = nullptr, *host = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaMallocAsync(&data, kCount * sizeof(int), stream));
  CHECK(cudaMallocHost(&host, kCount * sizeof(int)));
  CHECK(cudaMemsetAsync(data, 0, kCount * sizeof(int), stream));
  CHECK(cudaEventRecord(start, stream));
  for (int i = 0; i < 5; ++i) Add<<<16, 256, 0, stream>>>(data, kCount, 1);
  CHECK(cudaEventRecord(end, stream));
  CHECK(cudaMemcpyAsync(host, data, kCount * sizeof(int),
                        cudaMemcpyDeviceToHost, stream));
  bool called = false;
  CHECK(cudaLaunchHostFunc(
      stream, [](void* flag) { *static_cast<bool*>(flag) = true; }, &called));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < kCount; ++i) EXPECT(host[i] == 5);
  EXPECT(called);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT(milliseconds >= 0);
  CHECK(cudaFreeAsync(data, stream));
  CHECK(cudaFreeHost(host));
  CHECK(cudaStreamDestroy(stream));
}

void Pitched() {
  constexpr int kWidth = 100, kHeight = 10;
  char* area = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&area, &pitch, kWidth, kHeight));
  CHECK(cudaMemset2D(area, pitch, 3, kWidth, kHeight));
  char host[kHeight][kWidth] = {};
  CHECK(cudaMemcpy2D(host, kWidth, area, pitch, kWidth, kHeight,
                     cudaMemcpyDeviceToHost));
  for (auto& row : host) {
    for (char c : row) EXPECT(c == 3);
  }
  CHECK(cudaFree(area));
}

void Pointers() {
  int *device = nullptr, *pinned = nullptr, *managed = nullptr, local = 0;
  CHECK(cudaMalloc(&device, 64));
  CHECK(cudaMallocHost(&pinned, 64));
  CHECK(cudaMallocManaged(&managed, 64));
  struct Row {
    int* pointer;
    cudaMemoryType type;
  };
  for (const Row& row : {Row{device, cudaMemoryTypeDevice},
                         Row{pinned, cudaMemoryTypeHost},
                         Row{managed, cudaMemoryTypeManaged},
                         Row{&local, cudaMemoryTypeUnregistered}}) {
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, row.pointer));
    EXPECT(attributes.type == row.type);
  }
}

void SharedMemory() {
  constexpr int kBytes = 60000;  // more than the 48 KiB of every kernel
  int* out = nullptr;
  int host[64];
  CHECK(cudaMalloc(&out, sizeof host));
  Reverse<<<1, 64, kBytes>>>(out);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(
      Reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  Reverse<<<1, 64, kBytes>>>(out);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) EXPECT(host[i] == 63 - i);
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, Reverse));
  EXPECT(attributes.maxThreadsPerBlock == 1024);
  EXPECT(attributes.ptxVersion >= 75);
  int blocks = 0, grid = 0, block = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Add, 256, 0));
  EXPECT(blocks > 0);
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, Add));
  EXPECT(grid > 0 && block % 32 == 0);
}

void Threads() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      constexpr int kCount = 1000;
      int *data = nullptr, host[kCount];
      CHECK(cudaMalloc(&data, sizeof host));
      CHECK(cudaMemset(data, 0, sizeof host));
      for (int i = 0; i < 3; ++i) {
        Add<<<4, 256, 0, cudaStreamPerThread>>>(data, kCount, t);
      }
      CHECK(cudaStreamSynchronize(cudaStreamPerThread));
      CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
      for (int value : host) EXPECT(value == 3 * t);
      CHECK(cudaFree(data));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

int main() {
  Variables();
  Streams();
  Pitched();
  Pointers();
  SharedMemory();
  Threads();
  CHECK(cudaDeviceReset());
  Streams();
  std::puts("api_memory: PASS");
}
