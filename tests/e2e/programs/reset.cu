// cudaDeviceReset: everything works again afterwards.
//
// RUN: %check %s %t
#include "program.h"

__device__ int state = 1;
__global__ void Next(int* out) { out[threadIdx.x] = state++; }

int main() {
  for (int round = 0; round < 3; ++round) {
    int* out = ToDevice(std::vector<int>(1, 0));
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    Next<<<1, 1, 0, s>>>(out);
    Next<<<1, 1, 0, s>>>(out);
    CHECK(cudaStreamSynchronize(s));
    // The variable starts anew with the module.
    EXPECT(ToHost(out, 1)[0] == 2);
    CHECK(cudaDeviceReset());
    unsigned flags = 0;
    int active = -1;
    CHECK_DRIVER(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active == 0);
  }
  return Pass();
}
