// The per-thread default stream, from several threads.
//
// RUN: %check %s %t --default-stream per-thread
#include "program.h"

#include <thread>

__global__ void Count(int* p) { atomicAdd(p, 1); }

int main() {
  std::vector<std::thread> threads;
  std::vector<int> results(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &results] {
      int* p = nullptr;
      CHECK(cudaMallocAsync(&p, sizeof(int), 0));
      CHECK(cudaMemsetAsync(p, 0, sizeof(int), 0));
      for (int i = 0; i < 5; ++i) Count<<<t + 1, 32>>>(p);
      CHECK(cudaMemcpyAsync(&results[t], p, sizeof(int),
                            cudaMemcpyDeviceToHost, 0));
      CHECK(cudaStreamSynchronize(0));
      CHECK(cudaFreeAsync(p, cudaStreamPerThread));
    });
  }
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < 4; ++t) EXPECT(results[t] == 5 * 32 * (t + 1));
  unsigned long long own = 0, legacy = 0;
  CHECK(cudaStreamGetId(cudaStreamPerThread, &own));
  CHECK(cudaStreamGetId(cudaStreamLegacy, &legacy));
  EXPECT(own != legacy);
  return Pass();
}
