// fork before CUDA is used: both processes work.
//
// RUN: %check %s %t
#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

__global__ void Set(int* p, int v) { p[threadIdx.x] = v; }

void Use(int v) {
  int* p = ToDevice(std::vector<int>(32, 0));
  Set<<<1, 32>>>(p, v);
  EXPECT(ToHost(p, 32) == std::vector<int>(32, v));
}

int main() {
  const pid_t child = fork();
  if (child == 0) {
    Use(1);
    _exit(0);
  }
  Use(2);
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  return Pass();
}
