// Gradients of all devices summed, between kernels that make and use them, in
// each device's stream.
//
// RUN: env "DEVICES=gfx1100,gfx1100 gfx942,gfx942,gfx942" \
// RUN:   %check %s %t %library -l:libnccl.so.2
#include "ranks.h"

constexpr int kN = 1000;

__global__ void Make(float* values, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kN) values[i] = float((i * 5 + rank * 3) % 11 - 4);
}
__global__ void Step(float* weights, const float* sums, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kN) weights[i] -= by * sums[i];
}

int main() {
  const std::vector<Rank> ranks = AllRanks();
  const int count = int(ranks.size());
  std::vector<float*> slopes, weights;
  for (const Rank& rank : ranks) {
    CHECK(cudaSetDevice(rank.device));
    slopes.push_back(Zeros<float>(kN));
    weights.push_back(Zeros<float>(kN));
  }
  for (int round = 0; round < 3; ++round) {
    for (const Rank& rank : ranks) {
      CHECK(cudaSetDevice(rank.device));
      Make<<<Blocks(kN), 128, 0, rank.stream>>>(slopes[rank.device],
                                                rank.device + round);
    }
    CALL(ncclGroupStart());
    for (const Rank& rank : ranks) {
      float* const mine = slopes[rank.device];
      CALL(ncclAllReduce(mine, mine, kN, ncclFloat, ncclSum, rank.comm,
                         rank.stream));
    }
    CALL(ncclGroupEnd());
    for (const Rank& rank : ranks) {
      CHECK(cudaSetDevice(rank.device));
      Step<<<Blocks(kN), 128, 0, rank.stream>>>(weights[rank.device],
                                                slopes[rank.device], 0.5f);
    }
  }
  Wait(ranks);
  std::vector<float> want(kN);
  for (int i = 0; i < kN; ++i) {
    for (int round = 0; round < 3; ++round) {
      for (int r = 0; r < count; ++r) want[i] -= Value(r + round, i) / 2;
    }
  }
  for (const Rank& rank : ranks) {
    EXPECT(ToHost(weights[rank.device], kN) == want);
    CALL(ncclCommDestroy(rank.comm));
  }
  return Pass();
}
