// Objects that graphs keep alive, and capture into a graph that is there.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Add(int* values, int by) { values[threadIdx.x] += by; }

static void CUDART_CB Destroy(void* count) { ++*static_cast<int*>(count); }

static void UserObjects() {
  int destroyed = 0;
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaUserObject_t object;
  CHECK(cudaUserObjectCreate(&object, &destroyed, Destroy, 2,
                             cudaUserObjectNoDestructorSync));
  EXPECT(cudaUserObjectRelease(object, 3) == cudaErrorInvalidValue);
  CHECK(cudaUserObjectRetain(object, 1));
  CHECK(cudaUserObjectRelease(object, 2));
  CHECK(cudaGraphRetainUserObject(graph, object, 2));
  CHECK(cudaGraphReleaseUserObject(graph, object, 1));
  CHECK(cudaUserObjectRelease(object));
  EXPECT(destroyed == 0);

  // What is made from the graph keeps it too.
  cudaGraph_t clone;
  cudaGraphExec_t exec;
  CHECK(cudaGraphClone(&clone, graph));
  CHECK(cudaGraphInstantiate(&exec, clone,
                             cudaGraphInstantiateFlagAutoFreeOnLaunch));
  unsigned long long flags = 0;
  CHECK(cudaGraphExecGetFlags(exec, &flags));
  EXPECT(flags == cudaGraphInstantiateFlagAutoFreeOnLaunch);
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(clone));
  EXPECT(destroyed == 0);
  CHECK(cudaGraphExecDestroy(exec));
  EXPECT(destroyed == 1);

  // Moved into a graph, and dropped by it.
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaUserObjectCreate(&object, &destroyed, Destroy, 1,
                             cudaUserObjectNoDestructorSync));
  CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  EXPECT(destroyed == 1);
  CHECK(cudaGraphReleaseUserObject(graph, object));
  EXPECT(destroyed == 2);
  EXPECT(cudaUserObjectRelease(object) == cudaErrorInvalidValue);
  CHECK(cudaGraphDestroy(graph));
}

#if CUDART_VERSION >= 12030
static void CaptureToGraph() {
  int* values = ToDevice(std::vector<int>(32, 5));
  cudaStream_t stream;
  cudaGraph_t graph, ended;
  cudaGraphNode_t clear;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemsetParams params = {};
  params.dst = values;
  params.elementSize = 4;
  params.width = 32;
  params.height = 1;
  CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &params));
  CHECK(cudaStreamBeginCaptureToGraph(stream, graph, &clear, nullptr, 1,
                                      cudaStreamCaptureModeGlobal));
  Add<<<1, 32, 0, stream>>>(values, 7);
  CHECK(cudaStreamEndCapture(stream, &ended));
  EXPECT(ended == graph);
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 2);

  // A capture that fails leaves the graph alive.
  CHECK(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0,
                                      cudaStreamCaptureModeGlobal));
  EXPECT(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(stream, &ended) ==
         cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(ToHost(values, 32)[31] == 7);
}
#else
static void CaptureToGraph() {}
#endif

int main() {
  UserObjects();
  CaptureToGraph();
  return Pass();
}
