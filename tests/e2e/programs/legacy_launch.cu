// The launch calls of CUDA 3.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Fill(int* p, float scale, int n) {
  extern __shared__ int buffer[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  buffer[threadIdx.x] = i;
  __syncthreads();
  if (i < n) p[i] = int(buffer[threadIdx.x] * scale);
}

int main() {
  int* p = ToDevice(std::vector<int>(128, -1));
  CUfunction f;
  CHECK(cudaGetFuncBySymbol(&f, reinterpret_cast<const void*>(Fill)));
  CHECK_DRIVER(cuFuncSetBlockShape(f, 32, 1, 1));
  CHECK_DRIVER(cuFuncSetSharedSize(f, 128));
  CHECK_DRIVER(cuParamSetSize(f, 16));
  CHECK_DRIVER(cuParamSetv(f, 0, &p, sizeof p));
  CHECK_DRIVER(cuParamSetf(f, 8, 2.5f));
  CHECK_DRIVER(cuParamSeti(f, 12, 100));
  CHECK_DRIVER(cuLaunchGrid(f, 4, 1));
  const std::vector<int> out = ToHost(p, 128);
  for (int i = 0; i < 128; ++i) EXPECT(out[i] == (i < 100 ? i * 5 / 2 : -1));
  EXPECT(cuParamSetSize(f, 1 << 20) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuLaunchGrid(f, 0, 1) == CUDA_ERROR_INVALID_VALUE);
  return Pass();
}
