#include <cassert>
#include <cstdio>

__global__ void Check(int limit) {
  printf("thread %d\n", threadIdx.x);
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  assert(id < limit && "the last one");
}

int main() {
  Check<<<2, 8>>>(100);
  printf("holds: %d\n", cudaDeviceSynchronize());
  Check<<<2, 8>>>(15);
  printf("fails: %d\n", cudaDeviceSynchronize());
  printf("stays: %d %s\n", cudaDeviceSynchronize(),
         cudaGetErrorName(cudaGetLastError()));
  void* memory;
  printf("malloc: %d\n", cudaMalloc(&memory, 4));
  cudaDeviceReset();
  Check<<<2, 8>>>(100);
  printf("after a reset: %d\n", cudaDeviceSynchronize());
}
