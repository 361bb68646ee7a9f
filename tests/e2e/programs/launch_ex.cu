// cudaLaunchKernelEx, its attributes, and cooperative launches.
//
// RUN: %check %s %t
#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

__global__ void Sum(int* parts, int* total) {
  cg::grid_group grid = cg::this_grid();
  const int rank = int(grid.thread_rank());
  parts[rank] = rank;
  grid.sync();
  if (rank == 0) {
    int sum = 0;
    for (unsigned i = 0; i < grid.size(); ++i) sum += parts[i];
    *total = sum;
  }
  grid.sync();
  if (rank == int(grid.size()) - 1) *total += 1;
}

__global__ void Count(int* total) { atomicAdd(total, 1); }

int main() {
  int* parts = ToDevice(std::vector<int>(1024, -1));
  int* total = ToDevice(std::vector<int>{0});
  cudaLaunchConfig_t config = {};
  config.gridDim = 4;
  config.blockDim = 64;
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  attributes[1].id = cudaLaunchAttributePriority;
  attributes[1].val.priority = 0;
  config.attrs = attributes;
  config.numAttrs = 2;
  CHECK(cudaLaunchKernelEx(&config, Sum, parts, total));
  EXPECT(ToHost(total, 1)[0] == 256 * 255 / 2 + 1);

  void* args[] = {&parts, &total};
  CHECK(cudaLaunchCooperativeKernel(Sum, 2, 128, args));
  EXPECT(ToHost(total, 1)[0] == 256 * 255 / 2 + 1);
  EXPECT(cudaLaunchCooperativeKernel(Sum, 1 << 20, 256, args) ==
         cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();

  // Events of a launch are recorded.
  cudaEvent_t before, done, begun;
  for (cudaEvent_t* event : {&before, &done, &begun}) {
    CHECK(cudaEventCreate(event));
  }
  CHECK(cudaEventRecord(before));
  attributes[0].id = cudaLaunchAttributeLaunchCompletionEvent;
  attributes[0].val.launchCompletionEvent.event = begun;
  attributes[0].val.launchCompletionEvent.flags = 0;
  attributes[1].id = cudaLaunchAttributeProgrammaticEvent;
  attributes[1].val.programmaticEvent.event = done;
  attributes[1].val.programmaticEvent.flags = 0;
  attributes[1].val.programmaticEvent.triggerAtBlockStart = 0;
  config.gridDim = 1;
  CHECK(cudaLaunchKernelEx(&config, Count, total));
  float time = -1;
  for (cudaEvent_t event : {done, begun}) {
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaEventElapsedTime(&time, before, event));
  }
  EXPECT(ToHost(total, 1)[0] == 256 * 255 / 2 + 1 + 64);

  attributes[1].id = cudaLaunchAttributePriority;
  attributes[1].val.priority = 0;
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {2, 1, 1};
  config.gridDim = 3;
  EXPECT(cudaLaunchKernelEx(&config, Sum, parts, total) ==
         cudaErrorInvalidClusterSize);
  return Pass();
}
