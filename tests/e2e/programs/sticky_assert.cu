// A failed assert: error 710 for good, until the device is reset.
//
// RUN: %check %s %t
#include "program.h"

#include <cassert>

__global__ void Check(int* p, int limit) {
  assert(int(threadIdx.x) < limit);
  p[threadIdx.x] = 1;
}

int main() {
  int* p = ToDevice(std::vector<int>(64, 0));
  Check<<<1, 64>>>(p, 64);
  CHECK(cudaDeviceSynchronize());
  EXPECT(ToHost(p, 64) == std::vector<int>(64, 1));
  Check<<<1, 64>>>(p, 10);
  EXPECT(cudaDeviceSynchronize() == cudaErrorAssert);
  EXPECT(cudaGetLastError() == cudaErrorAssert);
  void* q = nullptr;
  EXPECT(cudaMalloc(&q, 4) == cudaErrorAssert);
  EXPECT(cudaStreamSynchronize(0) == cudaErrorAssert);
  CHECK(cudaDeviceReset());
  p = ToDevice(std::vector<int>(64, 0));
  Check<<<1, 64>>>(p, 64);
  EXPECT(ToHost(p, 64) == std::vector<int>(64, 1));
  return Pass();
}
