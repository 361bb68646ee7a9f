// A pipeline of threads, streams and events over pinned buffers.
//
// RUN: %check %s %t
#include "program.h"

#include <thread>

__global__ void Stage(const int* in, int* out, int n, int add) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2 + add;
}

int main() {
  constexpr int kThreads = 3, kChunks = 6, kSize = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      cudaStream_t load, compute, store;
      for (cudaStream_t* s : {&load, &compute, &store}) {
        CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
      }
      int *host, *result, *a, *b;
      const std::size_t bytes = kChunks * kSize * sizeof(int);
      CHECK(cudaMallocHost(&host, bytes));
      CHECK(cudaMallocHost(&result, bytes));
      CHECK(cudaMalloc(&a, bytes));
      CHECK(cudaMalloc(&b, bytes));
      for (int i = 0; i < kChunks * kSize; ++i) host[i] = i + t;
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const int at = chunk * kSize;
        cudaEvent_t loaded, computed;
        CHECK(cudaEventCreateWithFlags(&loaded, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
        CHECK(cudaMemcpyAsync(a + at, host + at, kSize * sizeof(int),
                              cudaMemcpyHostToDevice, load));
        CHECK(cudaEventRecord(loaded, load));
        CHECK(cudaStreamWaitEvent(compute, loaded, 0));
        Stage<<<1, 256, 0, compute>>>(a + at, b + at, kSize, chunk);
        CHECK(cudaEventRecord(computed, compute));
        CHECK(cudaStreamWaitEvent(store, computed, 0));
        CHECK(cudaMemcpyAsync(result + at, b + at, kSize * sizeof(int),
                              cudaMemcpyDeviceToHost, store));
        CHECK(cudaEventDestroy(loaded));
        CHECK(cudaEventDestroy(computed));
      }
      CHECK(cudaStreamSynchronize(store));
      for (int i = 0; i < kChunks * kSize; ++i) {
        EXPECT(result[i] == 2 * (i + t) + i / kSize);
      }
      CHECK(cudaFreeHost(host));
      CHECK(cudaFreeHost(result));
      CHECK(cudaFree(a));
      CHECK(cudaFree(b));
    });
  }
  for (std::thread& t : threads) t.join();
  return Pass();
}
