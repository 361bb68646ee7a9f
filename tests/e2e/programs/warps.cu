// Warps of 32: shuffles, votes, matches, reductions.
//
// RUN: %check %s %t -arch=sm_80
#include "program.h"

__global__ void Warp(int* out) {
  const int t = threadIdx.x, lane = t % 32;
  int* mine = out + 8 * t;
  mine[0] = __shfl_xor_sync(~0u, t, 5);
  mine[1] = __shfl_up_sync(~0u, t, 3);
  mine[2] = int(__ballot_sync(~0u, lane % 3 == 0));
  mine[3] = __all_sync(~0u, t < 32) + 2 * __any_sync(~0u, t == 40);
  mine[4] = int(__match_any_sync(~0u, lane / 4));
  mine[5] = __reduce_add_sync(~0u, lane);
  int sum = t;
  for (int step = 16; step > 0; step /= 2) {
    sum += __shfl_down_sync(~0u, sum, step);
  }
  mine[6] = __shfl_sync(~0u, sum, 0);
  if (lane < 10) {
    mine[7] = int(__activemask()) & 0x3ff;
    __syncwarp(0x3ff);
  } else {
    mine[7] = -1;
  }
}

int main() {
  int* out = ToDevice(std::vector<int>(8 * 64));
  Warp<<<1, 64>>>(out);
  const std::vector<int> got = ToHost(out, 8 * 64);
  unsigned thirds = 0;
  for (int i = 0; i < 32; i += 3) thirds |= 1u << i;
  for (int t = 0; t < 64; ++t) {
    const int lane = t % 32, base = t - lane;
    const int* mine = &got[8 * t];
    EXPECT(mine[0] == (t ^ 5));
    EXPECT(mine[1] == (lane < 3 ? t : t - 3));
    EXPECT(unsigned(mine[2]) == thirds);
    EXPECT(mine[3] == (base == 0 ? 1 : 2));
    EXPECT(unsigned(mine[4]) == 0xfu << (lane / 4 * 4));
    EXPECT(mine[5] == 496 && mine[6] == 496 + 32 * base);
    EXPECT(mine[7] == (lane < 10 ? 0x3ff : -1));
  }
  return Pass();
}
