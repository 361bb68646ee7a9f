// Groups of several warps, whose barriers and sums lie in the block's reserved
// shared memory, beside a variable of the kernel's own.
//
// RUN: %check %s %t -arch=compute_80
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "program.h"

namespace cg = cooperative_groups;

template <int kSize>
__global__ void Sum(int* out) {
  __shared__ int mine[256];
  __shared__ cg::block_tile_memory<256> memory;
  mine[threadIdx.x] = 3 * threadIdx.x;
  cg::thread_block block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<kSize>(block);
  for (int round = 0; round < 3; ++round) {
    const int sum = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());
    tile.sync();
    out[threadIdx.x] += sum + tile.shfl(int(threadIdx.x), 1);
  }
  block.sync();
  out[threadIdx.x] += mine[255 - threadIdx.x];
}

template <int kSize>
void Check() {
  int* out = ToDevice(std::vector<int>(256));
  Sum<kSize><<<1, 256>>>(out);
  const std::vector<int> got = ToHost(out, 256);
  for (int i = 0; i < 256; ++i) {
    const int first = i / kSize * kSize;
    const int sum = kSize * first + kSize * (kSize - 1) / 2;
    EXPECT(got[i] == 3 * (sum + first + 1) + 3 * (255 - i));
  }
}

int main() {
  Check<64>();
  Check<128>();
  Check<256>();
  return Pass();
}
