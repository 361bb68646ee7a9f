// A capture that goes on from one device to another and back: each node is its
// stream's device's.
//
// RUN: env DEVICES="gfx1100,gfx1100 gfx942,gfx942" %check %s %t
#include "program.h"

__device__ int of_device;
__global__ void Set(int* p, int value) { *p = value + of_device; }

int main() {
  cudaStream_t stream[2];
  cudaEvent_t event[2];
  int* p[2];
  for (int d = 0; d < 2; ++d) {
    const int own = 100 * (d + 1);
    CHECK(cudaSetDevice(d));
    CHECK(cudaStreamCreate(&stream[d]));
    CHECK(cudaEventCreateWithFlags(&event[d], cudaEventDisableTiming));
    CHECK(cudaMalloc(&p[d], sizeof(int)));
    CHECK(cudaMemcpyToSymbol(of_device, &own, sizeof own));
  }
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeRelaxed));
  Set<<<1, 1, 0, stream[0]>>>(p[0], 1);
  CHECK(cudaEventRecord(event[0], stream[0]));
  CHECK(cudaSetDevice(1));
  CHECK(cudaStreamWaitEvent(stream[1], event[0], 0));
  Set<<<1, 1, 0, stream[1]>>>(p[1], 2);
  CHECK(cudaEventRecord(event[1], stream[1]));
  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamWaitEvent(stream[0], event[1], 0));
  CHECK(cudaStreamEndCapture(stream[0], &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream[0]));
  CHECK(cudaStreamSynchronize(stream[0]));
  EXPECT(ToHost(p[0], 1)[0] == 101);
  CHECK(cudaSetDevice(1));
  EXPECT(ToHost(p[1], 1)[0] == 202);
  return Pass();
}
