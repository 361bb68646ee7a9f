// CUDA_VISIBLE_DEVICES turns the order of two GPUs round.
//
// RUN: env DEVICES=gfx1100,gfx942 RUN_ENV=CUDA_VISIBLE_DEVICES=1,0 %check %s %t
#include <cstdlib>
#include <string>

#include "program.h"

__global__ void Set(int* p) { p[threadIdx.x] = threadIdx.x; }

int main() {
  cudaDeviceProp a, b;
  CHECK(cudaGetDeviceProperties(&a, 0));
  CHECK(cudaGetDeviceProperties(&b, 1));
  const char* given = std::getenv("CERBERUS_DEVICE");
  const std::string targets =
      given != nullptr ? given : std::getenv("CERBERUS_EMU_TARGETS");
  const std::size_t comma = targets.find(',');
  EXPECT(std::strstr(a.name, targets.substr(comma + 1).c_str()) != nullptr);
  EXPECT(std::strstr(b.name, targets.substr(0, comma).c_str()) != nullptr);
  for (int d = 0; d < 2; ++d) {
    CHECK(cudaSetDevice(d));
    int* p = ToDevice(std::vector<int>(32, -1));
    Set<<<1, 32>>>(p);
    EXPECT(ToHost(p, 32)[31] == 31);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, p));
    EXPECT(attributes.device == d);
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, d));
  }
  return Pass();
}
