// A process that is forked off one which has used CUDA cannot use it, and is
// told so; the parent goes on.
//
// RUN: %check %s %t
#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

__global__ void Add(int* p, int v) { p[threadIdx.x] += v; }

// In the child: what a call of it answers, as its exit code.
int UseIn(int call, int* p) {
  alarm(30);
  void* more = nullptr;
  int value = 0;
  int version = 0;
  const char* name = nullptr;
  switch (call) {
    case 0: Add<<<1, 32>>>(p, 100); return cudaGetLastError();
    case 1: return cudaMalloc(&more, 64);
    case 2: return cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);
    case 3: return cudaDeviceSynchronize();
    case 4: return cuInit(0);
    case 5: return cuDeviceGetCount(&value);
    default:
      // What needs no GPU answers.
      return cuDriverGetVersion(&version) == CUDA_SUCCESS &&
                     cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &name) ==
                         CUDA_SUCCESS &&
                     version >= CUDART_VERSION
                 ? 3
                 : 1;
  }
}

int main() {
  int* p = ToDevice(std::vector<int>(32, 1));
  Add<<<1, 32>>>(p, 1);
  CHECK(cudaDeviceSynchronize());
  static_assert(cudaErrorInitializationError == 3);
  for (int call = 0; call < 7; ++call) {
    const pid_t child = fork();
    if (child == 0) exit(UseIn(call, p));
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }
  Add<<<1, 32>>>(p, 1);
  EXPECT(ToHost(p, 32) == std::vector<int>(32, 3));
  return Pass();
}
