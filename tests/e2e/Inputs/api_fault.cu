// A kernel that traps, and one that writes where nothing is: the error stays
// until the device is reset.
#include "check.h"

__global__ void Trap(int* data) {
  if (threadIdx.x == 3) __trap();
  data[threadIdx.x] = 1;
}
__global__ void Stray(int* data) { data[1ull << 40] = 1; }

int main() {
  int* data = nullptr;
  for (const bool trap : {true, false}) {
    const cudaError_t expected =
        trap ? cudaErrorLaunchFailure : cudaErrorIllegalAddress;
    CHECK(cudaMalloc(&data, 1024));
    if (trap) {
      Trap<<<2, 32>>>(data);
    } else {
      Stray<<<1, 1>>>(data);
    }
    EXPECT(cudaDeviceSynchronize() == expected);
    EXPECT(cudaMalloc(&data, 4) == expected);
    CHECK(cudaDeviceReset());
  }
  CHECK(cudaMalloc(&data, 4));
  std::puts("api_fault: PASS");
}
