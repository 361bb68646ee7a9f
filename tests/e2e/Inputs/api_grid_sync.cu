// A barrier over the whole grid, by cooperative groups.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;
constexpr int kBlocks = 8, kThreads = 64, kCount = kBlocks * kThreads;
constexpr int kRounds = 3, kShift = 77;

__global__ void Mix(int* data, int n) {
  cg::grid_group grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  for (int round = 0; round < kRounds; ++round) {
    data[i] += 1;
    grid.sync();
    const int other = data[(i + kShift) % n];
    grid.sync();
    data[i] += other;
    grid.sync();
  }
}

int main() {
  int expected[kCount], before[kCount];
  for (int i = 0; i < kCount; ++i) expected[i] = i % 5;
  for (int round = 0; round < kRounds; ++round) {
    for (int& value : expected) ++value;
    for (int i = 0; i < kCount; ++i) before[i] = expected[i];
    for (int i = 0; i < kCount; ++i) {
      expected[i] += before[(i + kShift) % kCount];
    }
  }
  int* data = nullptr;
  int count = kCount;
  CHECK(cudaMallocManaged(&data, kCount * sizeof(int)));
  void* arguments[] = {&data, &count};
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < kCount; ++i) data[i] = i % 5;
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Mix), kBlocks,
                                      kThreads, arguments, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < kCount; ++i) EXPECT(data[i] == expected[i]);
  }
  EXPECT(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Mix), 1 << 20,
                                     kThreads, arguments, 0, nullptr) ==
         cudaErrorCooperativeLaunchTooLarge);
  std::puts("api_grid_sync: PASS");
}
