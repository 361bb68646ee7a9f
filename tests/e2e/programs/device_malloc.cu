// malloc, free and new in kernels, and the heap's limit.
//
// RUN: %check %s %t
#include "program.h"

struct Shape {
  int side;
  __device__ explicit Shape(int s) : side(s) {}
};

__global__ void Use(int* out) {
  int* mine = static_cast<int*>(malloc(16 * sizeof(int)));
  for (int i = 0; mine != nullptr && i < 16; ++i) mine[i] = threadIdx.x + i;
  Shape* shape = new Shape(threadIdx.x);
  int sum = 0;
  for (int i = 0; mine != nullptr && i < 16; ++i) sum += mine[i];
  out[threadIdx.x] = sum + 1000 * shape->side;
  delete shape;
  free(mine);
}
__global__ void TooMuch(int* out) {
  out[0] = malloc(std::size_t{1} << 40) == nullptr;
}

int main() {
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20));
  std::size_t bytes = 0;
  CHECK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
  EXPECT(bytes >= 4 << 20);
  int* out = ToDevice(std::vector<int>(64, 0));
  for (int round = 0; round < 3; ++round) Use<<<1, 64>>>(out);
  const std::vector<int> got = ToHost(out, 64);
  for (int i = 0; i < 64; ++i) EXPECT(got[i] == 16 * i + 120 + 1000 * i);
  TooMuch<<<1, 1>>>(out);
  EXPECT(ToHost(out, 1)[0] == 1);
  return Pass();
}
