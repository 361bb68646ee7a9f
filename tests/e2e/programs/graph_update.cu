// Graphs changed after they were made executable.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Add(int* p, int by) { p[threadIdx.x] += by; }
__global__ void Set(int* p, int to) { p[threadIdx.x] = to; }

int main() {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  int* p = ToDevice(std::vector<int>(32, 0));
  const auto capture = [&](int a, int b, bool longer) {
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    Set<<<1, 32, 0, s>>>(p, a);
    Add<<<1, 32, 0, s>>>(p, b);
    if (longer) Add<<<1, 32, 0, s>>>(p, b);
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(s, &graph));
    return graph;
  };
  const auto value = [&](cudaGraphExec_t exec) {
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    return ToHost(p, 32)[31];
  };
  cudaGraph_t first = capture(10, 1, false);
  cudaGraph_t second = capture(20, 2, false);
  cudaGraph_t third = capture(30, 3, true);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, first, 0));
  EXPECT(value(exec) == 11);
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, second, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  EXPECT(value(exec) == 22);
  EXPECT(cudaGraphExecUpdate(exec, third, &info) ==
         cudaErrorGraphExecUpdateFailure);
  EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged);
  cudaGetLastError();
  EXPECT(value(exec) == 22);

  cudaGraph_t clone;
  CHECK(cudaGraphClone(&clone, third));
  CHECK(cudaGraphDestroy(third));
  cudaGraphExec_t other;
  CHECK(cudaGraphInstantiateWithFlags(&other, clone, 0));
  EXPECT(value(other) == 36);
  CHECK(cudaGraphExecDestroy(other));
  CHECK(cudaGraphExecDestroy(exec));
  for (cudaGraph_t g : {first, second, clone}) CHECK(cudaGraphDestroy(g));
  return Pass();
}
