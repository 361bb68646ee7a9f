// Launches that cannot be give the errors that CUDA documents.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Kernel(int* p) { p[0] = 1; }

cudaError_t Try(dim3 grid, dim3 block, std::size_t shared = 0) {
  Kernel<<<grid, block, shared>>>(nullptr);
  return cudaGetLastError();
}

int main() {
  CHECK(cudaFree(nullptr));
  EXPECT(Try(1, 0) == cudaErrorInvalidConfiguration);
  EXPECT(Try(0, 1) == cudaErrorInvalidConfiguration);
  EXPECT(Try(1, 1025) == cudaErrorInvalidConfiguration);
  EXPECT(Try(1, dim3(32, 33)) == cudaErrorInvalidConfiguration);
  EXPECT(Try(1, dim3(1, 1, 65)) == cudaErrorInvalidConfiguration);
  EXPECT(Try(dim3(1, 65536), 1) == cudaErrorInvalidConfiguration);
  EXPECT(Try(1, 1, 1 << 20) == cudaErrorInvalidValue);
  // None of them harms what follows.
  int* p = ToDevice(std::vector<int>{0});
  Kernel<<<1, 1>>>(p);
  EXPECT(ToHost(p, 1)[0] == 1);
  // For the driver API it is an invalid value.
  CUfunction f;
  CHECK(cudaGetFuncBySymbol(&f, reinterpret_cast<const void*>(Kernel)));
  void* args[] = {&p};
  CHECK_DRIVER(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, nullptr));
  EXPECT(cuLaunchKernel(f, 1, 1, 1, 2000, 1, 1, 0, 0, args, nullptr) ==
         CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, 0, args, nullptr) ==
         CUDA_ERROR_INVALID_HANDLE);
  return Pass();
}
