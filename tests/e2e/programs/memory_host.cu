// Pinned, mapped and registered host memory.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Double(int* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= 2;
}

int main() {
  constexpr int kCount = 1000;
  int* pinned = nullptr;
  CHECK(cudaHostAlloc(&pinned, kCount * sizeof(int), cudaHostAllocMapped));
  for (int i = 0; i < kCount; ++i) pinned[i] = i;
  int* seen = nullptr;
  CHECK(cudaHostGetDevicePointer(&seen, pinned, 0));
  Double<<<4, 256>>>(seen, kCount);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT(pinned[i] == 2 * i);
  unsigned flags = 0;
  CHECK(cudaHostGetFlags(&flags, pinned));
  EXPECT((flags & cudaHostAllocMapped) != 0);
  cudaPointerAttributes a;
  CHECK(cudaPointerGetAttributes(&a, pinned + 5));
  EXPECT(a.type == cudaMemoryTypeHost && a.hostPointer == pinned + 5);
  CHECK(cudaFreeHost(pinned));

  std::vector<int> plain(4096 / sizeof(int) * 3, 3);
  CHECK(cudaPointerGetAttributes(&a, plain.data()));
  EXPECT(a.type == cudaMemoryTypeUnregistered);
  const std::size_t bytes = plain.size() * sizeof(int);
  CHECK(cudaHostRegister(plain.data(), bytes, cudaHostRegisterMapped));
  EXPECT(cudaHostRegister(plain.data(), bytes, cudaHostRegisterMapped) ==
         cudaErrorHostMemoryAlreadyRegistered);
  CHECK(cudaHostGetDevicePointer(&seen, plain.data(), 0));
  Double<<<12, 256>>>(seen, int(plain.size()));
  CHECK(cudaDeviceSynchronize());
  for (const int v : plain) EXPECT(v == 6);
  CHECK(cudaHostUnregister(plain.data()));
  EXPECT(cudaHostUnregister(plain.data()) ==
         cudaErrorHostMemoryNotRegistered);
  return Pass();
}
