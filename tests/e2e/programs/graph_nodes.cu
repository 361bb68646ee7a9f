// Nodes of graphs: edges, changes, switches, events, by one structure.
//
// RUN: %check %s %t
#include "program.h"

#if CUDART_VERSION < 13000
// The forms with edge data got the plain names in CUDA 13.
#define cudaGraphAddNode cudaGraphAddNode_v2
#define cudaGraphAddDependencies cudaGraphAddDependencies_v2
#define cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2
#define cudaGraphGetEdges cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#define cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
#endif

__global__ void Add(int* p, int by) { p[threadIdx.x] += by; }

// Events of a graph are seen outside of it.
void TestEvents(cudaStream_t s) {
  cudaEvent_t event;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  cudaGraph_t graph;
  cudaGraphNode_t a, b;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddEventRecordNode(&a, graph, nullptr, 0, event));
  CHECK(cudaGraphAddEventWaitNode(&b, graph, &a, 1, event));
  cudaEvent_t same;
  CHECK(cudaGraphEventRecordNodeGetEvent(a, &same));
  EXPECT(same == event);
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(b, &type));
  EXPECT(type == cudaGraphNodeTypeWaitEvent);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  EXPECT(cudaEventQuery(event) == cudaSuccess);
}

void TestEdges(cudaGraph_t graph, cudaGraphNode_t a, cudaGraphNode_t b,
               cudaGraphNode_t c) {
  cudaGraphNode_t from[4], to[4];
  std::size_t count = 4;
  CHECK(cudaGraphGetEdges(graph, from, to, nullptr, &count));
  EXPECT(count == 2);
  count = 1;
  cudaGraphNode_t next;
  CHECK(cudaGraphNodeGetDependentNodes(b, &next, nullptr, &count));
  EXPECT(count == 1 && next == c);
  CHECK(cudaGraphNodeGetDependencies(b, &next, nullptr, &count));
  EXPECT(count == 1 && next == a);
  CHECK(cudaGraphRemoveDependencies(graph, &b, &c, nullptr, 1));
  CHECK(cudaGraphAddDependencies(graph, &a, &c, nullptr, 1));
}

void CUDART_CB CountRun(void* runs) { ++*static_cast<int*>(runs); }

// A kernel that is switched off stays so when the graph is updated.
void UpdateSwitchedOff(cudaStream_t stream, int* values) {
  CHECK(cudaMemset(values, 0, 32 * sizeof *values));
  int runs = 0;
  int by = 1;
  void* args[] = {&values, &by};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(Add);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(32);
  kernel.kernelParams = args;
  const cudaHostNodeParams host = {CountRun, &runs};
  cudaGraph_t graph;
  cudaGraphNode_t off, on, last;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddKernelNode(&off, graph, nullptr, 0, &kernel));
  CHECK(cudaGraphAddKernelNode(&on, graph, &off, 1, &kernel));
  CHECK(cudaGraphAddHostNode(&last, graph, &on, 1, &host));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphNodeSetEnabled(exec, off, 0));
  by = 10;
  CHECK(cudaGraphKernelNodeSetParams(off, &kernel));
  CHECK(cudaGraphKernelNodeSetParams(on, &kernel));
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, graph, &info));
  unsigned enabled = 9;
  CHECK(cudaGraphNodeGetEnabled(exec, off, &enabled));
  EXPECT(enabled == 0);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaGraphNodeSetEnabled(exec, off, 1));
  CHECK(cudaGraphLaunch(exec, stream));
  // Its nodes are still known by those of the first graph.
  by = 100;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, on, &kernel));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(ToHost(values, 32)[31] == 10 + 20 + 110);
  EXPECT(runs == 3);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

int main() {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  int* p = ToDevice(std::vector<int>(32, 0));
  int by = 1;
  void* args[] = {&p, &by};
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = reinterpret_cast<void*>(Add);
  params.kernel.gridDim = 1;
  params.kernel.blockDim = 32;
  params.kernel.kernelParams = args;
  cudaGraphNode_t a, b, c;
  CHECK(cudaGraphAddNode(&a, graph, nullptr, nullptr, 0, &params));
  by = 10;
  CHECK(cudaGraphAddNode(&b, graph, &a, nullptr, 1, &params));
  by = 100;
  CHECK(cudaGraphAddNode(&c, graph, nullptr, nullptr, 0, &params));
  CHECK(cudaGraphAddDependencies(graph, &b, &c, nullptr, 1));

  TestEdges(graph, a, b, c);

  const auto run = [&](cudaGraphExec_t exec) {
    CHECK(cudaMemsetAsync(p, 0, 128, s));
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    return ToHost(p, 32)[17];
  };
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT(run(exec) == 111);
  CHECK(cudaGraphNodeSetEnabled(exec, b, 0));
  unsigned enabled = 9;
  CHECK(cudaGraphNodeGetEnabled(exec, b, &enabled));
  EXPECT(enabled == 0 && run(exec) == 101);
  CHECK(cudaGraphNodeSetEnabled(exec, b, 1));
  by = 70;
  CHECK(cudaGraphExecNodeSetParams(exec, b, &params));
  EXPECT(run(exec) == 171);

  // The graph itself, and a clone that was made before.
  cudaGraph_t clone;
  CHECK(cudaGraphClone(&clone, graph));
  cudaGraphNode_t twin;
  CHECK(cudaGraphNodeFindInClone(&twin, a, clone));
  cudaKernelNodeParams kernel = {};
  CHECK(cudaGraphKernelNodeGetParams(twin, &kernel));
  EXPECT(*static_cast<int*>(kernel.kernelParams[1]) == 1);
  kernel.kernelParams = args;
  by = 3;
  CHECK(cudaGraphKernelNodeSetParams(a, &kernel));
  CHECK(cudaGraphDestroyNode(b));
  cudaGraphExec_t changed, cloned;
  CHECK(cudaGraphInstantiate(&changed, graph, 0));
  CHECK(cudaGraphInstantiate(&cloned, clone, 0));
  EXPECT(run(changed) == 103 && run(cloned) == 111);

  cudaLaunchAttributeValue value = {};
  value.priority = 0;
  CHECK(
      cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributePriority, &value));
  CHECK(cudaGraphKernelNodeCopyAttributes(c, a));
  for (cudaGraphExec_t e : {exec, changed, cloned}) {
    CHECK(cudaGraphExecDestroy(e));
  }
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphDestroy(graph));

  UpdateSwitchedOff(s, p);
  TestEvents(s);
  return Pass();
}
