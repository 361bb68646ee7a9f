// Many threads of the host on one device.
//
// RUN: %check %s %t
#include "program.h"

#include <thread>

__global__ void Square(int* p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i] = p[i] * p[i];
}

int main() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      CHECK(cudaSetDevice(0));
      cudaStream_t stream;
      CHECK(cudaStreamCreate(&stream));
      for (int round = 0; round < 5; ++round) {
        std::vector<int> in(128);
        for (int i = 0; i < 128; ++i) in[i] = t * 1000 + i;
        int* p = nullptr;
        CHECK(cudaMalloc(&p, 512));
        CHECK(cudaMemcpyAsync(p, in.data(), 512, cudaMemcpyHostToDevice,
                              stream));
        Square<<<2, 64, 0, stream>>>(p);
        std::vector<int> out(128);
        CHECK(cudaMemcpyAsync(out.data(), p, 512, cudaMemcpyDeviceToHost,
                              stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < 128; ++i) EXPECT(out[i] == in[i] * in[i]);
        CHECK(cudaFree(p));
      }
      CHECK(cudaStreamDestroy(stream));
    });
  }
  for (std::thread& t : threads) t.join();
  return Pass();
}
