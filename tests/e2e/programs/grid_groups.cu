// Cooperative groups: tiles, coalesced groups, reductions.
//
// RUN: %check %s %t
#include "program.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void Groups(int* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  const int rank = int(block.thread_rank());
  int result = cg::reduce(tile, rank, cg::plus<int>());
  result = result * 100 + int(tile.meta_group_rank());
  if (rank % 3 == 0) {
    cg::coalesced_group some = cg::coalesced_threads();
    result += 100000 * int(some.size());
  }
  block.sync();
  out[rank] = result + 10000000 * tile.shfl(rank, 0);
}

int main() {
  int* out = ToDevice(std::vector<int>(64));
  Groups<<<1, 64>>>(out);
  const std::vector<int> got = ToHost(out, 64);
  for (int i = 0; i < 64; ++i) {
    const int first = i / 8 * 8;
    int want = (8 * first + 28) * 100 + i / 8 + 10000000 * first;
    int members = 0;  // of the warp, with a rank that 3 divides
    for (int lane = i / 32 * 32; lane < i / 32 * 32 + 32; ++lane) {
      members += lane % 3 == 0;
    }
    if (i % 3 == 0) want += 100000 * members;
    EXPECT(got[i] == want);
  }
  return Pass();
}
