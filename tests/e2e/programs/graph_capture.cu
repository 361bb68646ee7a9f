// Graphs captured from streams that fork and join.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Add(int* p, int by) { p[threadIdx.x] += by; }
__global__ void Sum(const int* a, const int* b, int* out) {
  out[threadIdx.x] = a[threadIdx.x] * 100 + b[threadIdx.x];
}

int main() {
  cudaStream_t s, side;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  cudaEvent_t forked, joined;
  CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  int* a = ToDevice(std::vector<int>(32, 1));
  int* b = ToDevice(std::vector<int>(32, 2));
  int* out = ToDevice(std::vector<int>(32, 0));
  int host[32] = {};

  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  Add<<<1, 32, 0, s>>>(a, 1);
  CHECK(cudaEventRecord(forked, s));
  CHECK(cudaStreamWaitEvent(side, forked, 0));
  Add<<<1, 32, 0, side>>>(b, 5);
  Add<<<1, 32, 0, s>>>(a, 2);
  CHECK(cudaEventRecord(joined, side));
  CHECK(cudaStreamWaitEvent(s, joined, 0));
  Sum<<<1, 32, 0, s>>>(a, b, out);
  CHECK(cudaMemcpyAsync(host, out, sizeof host, cudaMemcpyDeviceToHost, s));
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(s, &graph));
  CHECK(cudaStreamIsCapturing(s, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
  EXPECT(host[0] == 0);

  std::size_t nodes = 0, roots = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT(nodes == 5 && roots == 1);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphUpload(exec, s));
  for (int launch = 1; launch <= 4; ++launch) {
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    for (const int v : host) {
      EXPECT(v == (1 + 3 * launch) * 100 + 2 + 5 * launch);
    }
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  Add<<<1, 32, 0, s>>>(a, 1);
  EXPECT(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(s, &graph) ==
         cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  return Pass();
}
