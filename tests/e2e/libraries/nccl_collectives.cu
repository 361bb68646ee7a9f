// Every collective operation, in place where programs do that, in halves too.
//
// RUN: env "DEVICES=gfx1100,gfx1100 gfx942,gfx942,gfx942" \
// RUN:   %check %s %t %library -l:libnccl.so.2
#include <cuda_fp16.h>

#include "ranks.h"

constexpr int kN = 60;

// One call on each rank, in a group.
template <typename F>
void Together(const std::vector<Rank>& ranks, F call) {
  CALL(ncclGroupStart());
  for (const Rank& rank : ranks) CALL(call(rank));
  CALL(ncclGroupEnd());
  Wait(ranks);
}

int main() {
  const std::vector<Rank> ranks = AllRanks();
  const int count = int(ranks.size());
  std::vector<float*> in, out;
  for (const Rank& rank : ranks) {
    CHECK(cudaSetDevice(rank.device));
    in.push_back(ToDevice(Values(rank.device, kN * count)));
    out.push_back(Zeros<float>(kN * count));
  }
  Together(ranks, [&](const Rank& r) {
    return ncclBroadcast(in[r.device], out[r.device], kN, ncclFloat32, 1,
                         r.comm, r.stream);
  });
  for (const float* one : out) EXPECT(ToHost(one, kN) == Values(1, kN));
  Together(ranks, [&](const Rank& r) {
    return ncclReduce(in[r.device], out[r.device], kN, ncclFloat32, ncclMax, 0,
                      r.comm, r.stream);
  });
  std::vector<float> most(kN);
  for (int i = 0; i < kN; ++i) {
    most[i] = Value(0, i);
    for (int r = 1; r < count; ++r) most[i] = std::fmax(most[i], Value(r, i));
  }
  EXPECT(ToHost(out[0], kN) == most);
  EXPECT(ToHost(out[1], kN) == Values(1, kN));  // as it was
  Together(ranks, [&](const Rank& r) {
    // In place: each rank's part lies where it will be.
    float* const mine = out[r.device];
    CHECK(cudaMemcpyAsync(mine + r.device * kN, in[r.device],
                          kN * sizeof(float), cudaMemcpyDefault, r.stream));
    return ncclAllGather(mine + r.device * kN, mine, kN, ncclFloat32, r.comm,
                         r.stream);
  });
  for (const float* one : out) {
    for (int r = 0; r < count; ++r) {
      EXPECT(ToHost(one + r * kN, kN) == Values(r, kN));
    }
  }
  Together(ranks, [&](const Rank& r) {
    return ncclReduceScatter(in[r.device], out[r.device], kN, ncclFloat32,
                             ncclSum, r.comm, r.stream);
  });
  for (const Rank& r : ranks) {
    std::vector<float> sums(kN);
    for (int i = 0; i < kN * count; ++i) {
      if (i / kN == r.device) {
        for (int k = 0; k < count; ++k) sums[i % kN] += Value(k, i);
      }
    }
    EXPECT(ToHost(out[r.device], kN) == sums);
  }
  // Halves, averaged, and a factor of each rank's own.
  std::vector<__half*> halves;
  std::vector<ncclRedOp_t> scaled(count);
  for (const Rank& r : ranks) {
    std::vector<__half> values;
    for (const float value : Values(r.device, kN)) {
      values.push_back(__float2half(value));
    }
    CHECK(cudaSetDevice(r.device));
    halves.push_back(ToDevice(values));
  }
  Together(ranks, [&](const Rank& r) {
    return ncclAllReduce(halves[r.device], halves[r.device], kN, ncclHalf,
                         ncclAvg, r.comm, r.stream);
  });
  const auto averages = ToHost(halves[1], kN);
  for (int i = 0; i < kN; ++i) {
    float sum = 0;
    for (int r = 0; r < count; ++r) sum += Value(r, i);
    EXPECT(std::fabs(__half2float(averages[i]) - sum / count) < 4e-3f);
  }
  for (const Rank& r : ranks) {
    float by = r.device + 1;
    CALL(ncclRedOpCreatePreMulSum(&scaled[r.device], &by, ncclFloat32,
                                  ncclScalarHostImmediate, r.comm));
  }
  Together(ranks, [&](const Rank& r) {
    return ncclAllReduce(in[r.device], out[r.device], kN, ncclFloat32,
                         scaled[r.device], r.comm, r.stream);
  });
  const auto sums = ToHost(out[0], kN);
  for (int i = 0; i < kN; ++i) {
    float sum = 0;
    for (int r = 0; r < count; ++r) sum += (r + 1) * Value(r, i);
    EXPECT(sums[i] == sum);
  }
  for (const Rank& r : ranks) {
    CALL(ncclRedOpDestroy(scaled[r.device], r.comm));
    CALL(ncclCommDestroy(r.comm));
  }
  return Pass();
}
