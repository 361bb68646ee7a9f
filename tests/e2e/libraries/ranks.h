// What the programs of NCCL share: the ranks of a process, one for each device.
#include <nccl.h>

#include "library.h"

struct Rank {
  int device;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

// One for each device, in one call.
inline std::vector<Rank> AllRanks() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count > 1);
  std::vector<ncclComm_t> comms(count);
  CALL(ncclCommInitAll(comms.data(), count, nullptr));
  std::vector<Rank> ranks;
  for (int i = 0; i < count; ++i) {
    ranks.push_back({i, comms[i]});
    CHECK(cudaSetDevice(i));
    CHECK(cudaStreamCreate(&ranks[i].stream));
  }
  return ranks;
}

inline void Wait(const std::vector<Rank>& ranks) {
  for (const Rank& rank : ranks) {
    CHECK(cudaSetDevice(rank.device));
    CHECK(cudaStreamSynchronize(rank.stream));
  }
}

// What rank `rank` begins with.
inline float Value(int rank, int i) {
  return static_cast<float>((i * 5 + rank * 3) % 11 - 4);
}
inline std::vector<float> Values(int rank, int n) {
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = Value(rank, i);
  return values;
}
