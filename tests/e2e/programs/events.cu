// Events: order, times, flags, errors.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Work(int* p, int n) {
  for (int i = 0; i < n; ++i) atomicAdd(p, 1);
}

int main() {
  cudaEvent_t start, stop, plain;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreateWithFlags(&stop, cudaEventBlockingSync));
  CHECK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
  int* p = ToDevice(std::vector<int>{0});
  EXPECT(cudaEventQuery(start) == cudaSuccess);  // never recorded
  CHECK(cudaEventRecord(start));
  Work<<<4, 64>>>(p, 20);
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  EXPECT(cudaEventQuery(stop) == cudaSuccess);
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  EXPECT(ms >= 0 && ms < 60000);
  float back = 1;
  CHECK(cudaEventElapsedTime(&back, stop, start));
  EXPECT(back <= 0);
  CHECK(cudaEventRecordWithFlags(plain, 0, cudaEventRecordDefault));
  CHECK(cudaEventSynchronize(plain));
  EXPECT(cudaEventElapsedTime(&ms, start, plain) ==
         cudaErrorInvalidResourceHandle);
  EXPECT(ToHost(p, 1)[0] == 4 * 64 * 20);
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaEventDestroy(plain));
  CUevent none;
  EXPECT(cuEventCreate(&none, 0x100) == CUDA_ERROR_INVALID_VALUE);
  return Pass();
}
