// Graphs of several devices: each node is executed on its own, in order, and a
// graph of one device on that, whichever stream it is launched in.
//
// RUN: env DEVICES="gfx1100,gfx1100 gfx942,gfx942" %check %s %t
#include "program.h"

__device__ int of_device;
__global__ void Set(int* p, int value) { *p = value + of_device; }
__global__ void Times(int* p, int by) { *p = *p * by + of_device; }

cudaStream_t stream[2], launching[2];
cudaEvent_t event[2];
int* p[2];

// Streams that are in no capture: HIP 5.2.3 leaves those in one that came to it
// by an event.
void MakeStreams() {
  for (int d = 0; d < 2; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaStreamCreate(&stream[d]));
    CHECK(cudaStreamCreate(&launching[d]));
  }
}

void Hand(int from, int to) {
  CHECK(cudaSetDevice(from));
  CHECK(cudaEventRecord(event[from], stream[from]));
  CHECK(cudaSetDevice(to));
  CHECK(cudaStreamWaitEvent(stream[to], event[from], 0));
}
int Value(int device) {
  CHECK(cudaSetDevice(device));
  return ToHost(p[device], 1)[0];
}
// Launches it in a stream of the device, and waits.
void Launch(cudaGraphExec_t exec, int device) {
  CHECK(cudaSetDevice(device));
  CHECK(cudaGraphLaunch(exec, launching[device]));
  CHECK(cudaStreamSynchronize(launching[device]));
}

// A capture that goes on from one device to another and back.
void ThereAndBack() {
  MakeStreams();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeRelaxed));
  Set<<<1, 1, 0, stream[0]>>>(p[0], 1);
  Hand(0, 1);
  Set<<<1, 1, 0, stream[1]>>>(p[1], 2);
  CHECK(cudaMemcpyAsync(p[0], p[1], sizeof(int), cudaMemcpyDefault, stream[1]));
  Hand(1, 0);
  Times<<<1, 1, 0, stream[0]>>>(p[0], 10);
  CHECK(cudaStreamEndCapture(stream[0], &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int device = 0; device < 2; ++device) {
    Launch(exec, device);
    EXPECT(Value(0) == 202 * 10 + 100);
    EXPECT(Value(1) == 202);
  }
  // Another kernel node's parameters, in the part of its device.
  std::size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams params = {};
    CHECK(cudaGraphKernelNodeGetParams(node, &params));
    int* of = *static_cast<int**>(params.kernelParams[0]);
    if (of != p[1]) continue;
    int value = 5;
    params.kernelParams[1] = &value;
    CHECK(cudaSetDevice(1));
    CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
  }
  Launch(exec, 0);
  EXPECT(Value(0) == 205 * 10 + 100);
  EXPECT(Value(1) == 205);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

// Nodes of both devices that need not wait for each other, many times over.
void SideBySide() {
  MakeStreams();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeRelaxed));
  Set<<<1, 1, 0, stream[0]>>>(p[0], -99);
  Hand(0, 1);
  Set<<<1, 1, 0, stream[1]>>>(p[1], -199);
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaSetDevice(0));
    Times<<<1, 1, 0, stream[0]>>>(p[0], 2);
    CHECK(cudaSetDevice(1));
    Times<<<1, 1, 0, stream[1]>>>(p[1], 2);
  }
  Hand(1, 0);
  Times<<<1, 1, 0, stream[0]>>>(p[0], 1);
  CHECK(cudaStreamEndCapture(stream[0], &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 20; ++i) {
    CHECK(cudaSetDevice(i % 2));
    CHECK(cudaGraphLaunch(exec, launching[i % 2]));
    CHECK(cudaStreamSynchronize(launching[i % 2]));
  }
  EXPECT(Value(0) == 8 + 8 * 100);
  EXPECT(Value(1) == 8 + 7 * 200);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

// A graph of the second device alone: made and launched from the first one,
// and as a child beside a kernel of the first.
void OfTheOther() {
  MakeStreams();
  cudaGraph_t graph, whole;
  cudaGraphExec_t exec;
  CHECK(cudaSetDevice(1));
  CHECK(cudaStreamBeginCapture(stream[1], cudaStreamCaptureModeRelaxed));
  Set<<<1, 1, 0, stream[1]>>>(p[1], 7);
  CHECK(cudaStreamEndCapture(stream[1], &graph));
  CHECK(cudaSetDevice(0));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  Launch(exec, 0);
  EXPECT(Value(1) == 207);
  CHECK(cudaGraphExecDestroy(exec));

  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeRelaxed));
  Set<<<1, 1, 0, stream[0]>>>(p[0], 3);
  CHECK(cudaStreamEndCapture(stream[0], &whole));
  std::size_t count = 1;
  cudaGraphNode_t first, child;
  CHECK(cudaGraphGetNodes(whole, &first, &count));
  CHECK(cudaGraphAddChildGraphNode(&child, whole, &first, 1, graph));
  CHECK(cudaGraphInstantiate(&exec, whole, 0));
  CHECK(cudaSetDevice(1));
  CHECK(cudaMemset(p[1], 0, sizeof(int)));
  Launch(exec, 1);
  EXPECT(Value(0) == 103);
  EXPECT(Value(1) == 207);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(whole));
  CHECK(cudaGraphDestroy(graph));
}

int main() {
  for (int d = 0; d < 2; ++d) {
    const int own = 100 * (d + 1);
    CHECK(cudaSetDevice(d));
    CHECK(cudaEventCreateWithFlags(&event[d], cudaEventDisableTiming));
    CHECK(cudaMalloc(&p[d], sizeof(int)));
    CHECK(cudaMemcpyToSymbol(of_device, &own, sizeof own));
    CHECK(cudaDeviceEnablePeerAccess(1 - d, 0));
  }
  ThereAndBack();
  SideBySide();
  OfTheOther();
  return Pass();
}
