// Occupancy: blocks per multiprocessor and proposed block sizes.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Plain(int* p) { p[threadIdx.x] += 1; }
__global__ void Heavy(int* p) {
  __shared__ int table[8192];  // 32 KiB
  table[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = table[threadIdx.x ^ 1];
}

int main() {
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  int small = 0, large = 0, heavy = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&small, Plain, 64, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&large, Plain, 1024,
                                                      0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&heavy, Heavy, 64, 0));
  EXPECT(small >= large && large >= 1);
  EXPECT(small * 64 <= prop.maxThreadsPerMultiProcessor);
  EXPECT(heavy >= 1 && heavy <= 4 && heavy <= small);
  int none = -1;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&none, Plain, 2048, 0));
  EXPECT(none == 0);

  int grid = 0, block = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, Plain, 0, 0));
  EXPECT(block >= 32 && block <= 1024 && block % 32 == 0);
  EXPECT(grid >= prop.multiProcessorCount);
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, Plain, 0, 96));
  EXPECT(block <= 96);
  CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      &grid, &block, Plain, [](int threads) { return threads * 64; }, 0));
  EXPECT(block * 64 <= 48 * 1024);
  std::size_t shared = 0;
  CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, Plain, 1, 256));
  EXPECT(shared >= 32 * 1024);
  return Pass();
}
