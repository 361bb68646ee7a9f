// Memory of one process used by another.
//
// RUN: %check %s %t
#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

__global__ void Add(int* p) { p[threadIdx.x] += threadIdx.x; }

int main() {
  int to_child[2], to_parent[2];
  EXPECT(pipe(to_child) == 0 && pipe(to_parent) == 0);
  cudaIpcMemHandle_t handle;
  // Each process starts CUDA after the fork.
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(read(to_child[0], &handle, sizeof handle) == sizeof handle);
    int* p = nullptr;
    CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&p), handle,
                               cudaIpcMemLazyEnablePeerAccess));
    Add<<<1, 64>>>(p);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaIpcCloseMemHandle(p));
    EXPECT(write(to_parent[1], "x", 1) == 1);
    _exit(0);
  }
  int* p = nullptr;
  CHECK(cudaMalloc(&p, 64 * sizeof(int)));
  CHECK(cudaMemset(p, 0, 64 * sizeof(int)));
  Add<<<1, 64>>>(p);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaIpcGetMemHandle(&handle, p));
  EXPECT(write(to_child[1], &handle, sizeof handle) == sizeof handle);
  char done;
  EXPECT(read(to_parent[0], &done, 1) == 1);
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  const std::vector<int> out = ToHost(p, 64);
  for (int i = 0; i < 64; ++i) EXPECT(out[i] == 2 * i);
  return Pass();
}
