// A trap ends the kernel with error 719.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Trap(int* p) {
  if (threadIdx.x == 3) __trap();
  p[threadIdx.x] = 1;
}

int main() {
  int* p = ToDevice(std::vector<int>(64, 0));
  Trap<<<1, 64>>>(p);
  const cudaError_t error = cudaDeviceSynchronize();
  EXPECT(error == cudaErrorLaunchFailure ||
         error == cudaErrorIllegalInstruction);
  EXPECT(cudaFree(p) == error);
  return Pass();
}
