// Sending and receiving: all to all in one group, and halves of a field that
// neighbours exchange between steps of a kernel, in a graph for each device.
//
// RUN: env "DEVICES=gfx1100,gfx1100 gfx942,gfx942,gfx942" \
// RUN:   %check %s %t %library -l:libnccl.so.2
#include "ranks.h"

constexpr int kN = 32, kRounds = 4;

void AllToAll(const std::vector<Rank>& ranks) {
  const int count = int(ranks.size());
  std::vector<float*> in, out;
  for (const Rank& rank : ranks) {
    CHECK(cudaSetDevice(rank.device));
    in.push_back(ToDevice(Values(rank.device, kN * count)));
    out.push_back(Zeros<float>(kN * count));
  }
  CALL(ncclGroupStart());
  for (const Rank& r : ranks) {
    for (int peer = 0; peer < count; ++peer) {
      CALL(ncclSend(in[r.device] + peer * kN, kN, ncclFloat, peer, r.comm,
                    r.stream));
      CALL(ncclRecv(out[r.device] + peer * kN, kN, ncclFloat, peer, r.comm,
                    r.stream));
    }
  }
  CALL(ncclGroupEnd());
  Wait(ranks);
  for (int me = 0; me < count; ++me) {
    const auto got = ToHost(out[me], kN * count);
    for (int i = 0; i < kN * count; ++i) {
      EXPECT(got[i] == Value(i / kN, me * kN + i % kN));
    }
  }
}

// Each rank has kN cells of a ring and one of each neighbour's.
__global__ void Smooth(const float* from, float* to) {
  const int i = threadIdx.x + 1;
  to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
}

void Ring(const std::vector<Rank>& ranks) {
  const int count = int(ranks.size());
  std::vector<float*> now, next;
  std::vector<float> field;
  for (const Rank& r : ranks) {
    CHECK(cudaSetDevice(r.device));
    auto mine = Values(r.device, kN);
    field.insert(field.end(), mine.begin(), mine.end());
    mine.insert(mine.begin(), 0);
    mine.push_back(0);
    now.push_back(ToDevice(mine));
    next.push_back(Zeros<float>(kN + 2));
  }
  for (const Rank& r : ranks) {
    CHECK(cudaSetDevice(r.device));
    CHECK(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeRelaxed));
  }
  CALL(ncclGroupStart());
  for (const Rank& r : ranks) {
    float* const cells = now[r.device];
    const int left = (r.device + count - 1) % count;
    const int right = (r.device + 1) % count;
    CALL(ncclSend(cells + 1, 1, ncclFloat, left, r.comm, r.stream));
    CALL(ncclRecv(cells + kN + 1, 1, ncclFloat, right, r.comm, r.stream));
    CALL(ncclSend(cells + kN, 1, ncclFloat, right, r.comm, r.stream));
    CALL(ncclRecv(cells, 1, ncclFloat, left, r.comm, r.stream));
  }
  CALL(ncclGroupEnd());
  std::vector<cudaGraphExec_t> steps(count);
  for (const Rank& r : ranks) {
    CHECK(cudaSetDevice(r.device));
    Smooth<<<1, kN, 0, r.stream>>>(now[r.device], next[r.device]);
    CHECK(cudaMemcpyAsync(now[r.device] + 1, next[r.device] + 1,
                          kN * sizeof(float), cudaMemcpyDeviceToDevice,
                          r.stream));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(r.stream, &graph));
    CHECK(cudaGraphInstantiate(&steps[r.device], graph, 0));
  }
  for (int round = 0; round < kRounds; ++round) {
    for (const Rank& r : ranks) {
      CHECK(cudaSetDevice(r.device));
      CHECK(cudaGraphLaunch(steps[r.device], r.stream));
    }
    const int size = int(field.size());
    const std::vector<float> old = field;
    for (int i = 0; i < size; ++i) {
      field[i] = 0.25f * old[(i + size - 1) % size] + 0.5f * old[i] +
                 0.25f * old[(i + 1) % size];
    }
  }
  Wait(ranks);
  for (const Rank& r : ranks) {
    EXPECT(Near(ToHost(now[r.device] + 1, kN),
                std::vector<float>(field.begin() + r.device * kN,
                                   field.begin() + (r.device + 1) * kN),
                1e-6));
  }
}

int main() {
  const std::vector<Rank> ranks = AllRanks();
  AllToAll(ranks);
  Ring(ranks);
  for (const Rank& rank : ranks) CALL(ncclCommDestroy(rank.comm));
  return Pass();
}
