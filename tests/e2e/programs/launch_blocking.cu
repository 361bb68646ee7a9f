// CUDA_LAUNCH_BLOCKING: the launch itself gives the kernel's error.
//
// RUN: env RUN_ENV=CUDA_LAUNCH_BLOCKING=1 %check %s %t
#include "program.h"

__global__ void Trap() { __trap(); }
__global__ void Fine(int* p) { *p = 1; }

int main() {
  int* p = ToDevice(std::vector<int>{0});
  Fine<<<1, 1>>>(p);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamQuery(0));
  Trap<<<1, 1>>>();
  EXPECT(cudaGetLastError() != cudaSuccess);
  return Pass();
}
