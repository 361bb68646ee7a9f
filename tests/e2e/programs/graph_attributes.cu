// Attributes of kernel nodes: they stay with a node whose parameters change,
// and a cooperative one's blocks meet. And what edges say.
//
// RUN: %check %s %t
#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

// Every block writes, then reads what the next one has written.
__global__ void Meet(int* words, int by) {
  cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) words[blockIdx.x] += by;
  grid.sync();
  const int next = words[(blockIdx.x + 1) % gridDim.x];
  grid.sync();
  if (threadIdx.x == 0) words[blockIdx.x] = next + int(blockIdx.x) * 100;
}

int Attribute(cudaGraphNode_t node, cudaLaunchAttributeID id) {
  cudaLaunchAttributeValue value = {};
  CHECK(cudaGraphKernelNodeGetAttribute(node, id, &value));
  return id == cudaLaunchAttributeCooperative ? value.cooperative
                                              : value.priority;
}
void Set(cudaGraphNode_t node, cudaLaunchAttributeID id, int to) {
  cudaLaunchAttributeValue value = {};
  (id == cudaLaunchAttributeCooperative ? value.cooperative : value.priority) =
      to;
  CHECK(cudaGraphKernelNodeSetAttribute(node, id, &value));
}

void Expect(int* words, int first) {
  for (int i = 0; i < 4; ++i) EXPECT(ToHost(words, 4)[i] == first + i * 100);
  CHECK(cudaMemset(words, 0, 16));
}

__global__ void Add(int* words, int by) { words[threadIdx.x] += by; }

cudaGraphNode_t AddKernel(cudaGraph_t graph, int* words, int by) {
  void* args[] = {&words, &by};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(Add);
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = args;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  return node;
}

// Edges that let a kernel begin early keep what they say.
void Edges(cudaStream_t s, int* words) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const cudaGraphNode_t a = AddKernel(graph, words, 1);
  const cudaGraphNode_t b = AddKernel(graph, words, 2);
  cudaGraphNode_t c;
  CHECK(cudaGraphAddEmptyNode(&c, graph, nullptr, 0));
  cudaGraphEdgeData early = {}, plain = {}, bad = {};
  early.from_port = cudaGraphKernelNodePortProgrammatic;
  early.type = cudaGraphDependencyTypeProgrammatic;
  bad.to_port = 1;
  EXPECT(cudaGraphAddDependencies(graph, &a, &b, &bad, 1) ==
         cudaErrorInvalidValue);
  bad = early;
  bad.reserved[4] = 1;
  EXPECT(cudaGraphAddDependencies(graph, &a, &b, &bad, 1) ==
         cudaErrorInvalidValue);
  // Only kernels have ports.
  EXPECT(cudaGraphAddDependencies(graph, &c, &b, &early, 1) ==
         cudaErrorInvalidValue);
  CHECK(cudaGraphAddDependencies(graph, &a, &b, &early, 1));
  CHECK(cudaGraphAddDependencies(graph, &b, &c, nullptr, 1));
  const auto check = [&](cudaGraph_t of) {
    cudaGraphNode_t from[2], to[2];
    cudaGraphEdgeData data[2];
    std::size_t count = 2;
    CHECK(cudaGraphGetEdges(of, from, to, data, &count));
    EXPECT(count == 2);
    for (int i = 0; i < 2; ++i) {
      cudaGraphNodeType type;
      CHECK(cudaGraphNodeGetType(to[i], &type));
      const bool first = type == cudaGraphNodeTypeKernel;
      EXPECT(data[i].type == (first ? early.type : 0));
      EXPECT(data[i].from_port == (first ? early.from_port : 0));
      cudaGraphEdgeData one;
      cudaGraphNode_t other;
      count = 1;
      CHECK(cudaGraphNodeGetDependencies(to[i], &other, &one, &count));
      EXPECT(other == from[i] && one.type == data[i].type);
      count = 1;
      CHECK(cudaGraphNodeGetDependentNodes(from[i], &other, &one, &count));
      EXPECT(other == to[i] && one.type == data[i].type);
      count = 1;
      EXPECT(cudaGraphNodeGetDependencies(to[i], &other, nullptr, &count) ==
             (first ? cudaErrorLossyQuery : cudaSuccess));
    }
    count = 2;
    EXPECT(cudaGraphGetEdges(of, from, to, nullptr, &count) ==
           cudaErrorLossyQuery);
    CHECK(cudaGraphGetEdges(of, nullptr, nullptr, nullptr, &count));
  };
  check(graph);
  cudaGraph_t clone;
  CHECK(cudaGraphClone(&clone, graph));
  check(clone);
  CHECK(cudaGraphDestroy(clone));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  EXPECT(ToHost(words, 1)[0] == 3);
  CHECK(cudaGraphExecDestroy(exec));
  EXPECT(cudaGraphRemoveDependencies(graph, &a, &b, &plain, 1) ==
         cudaErrorInvalidValue);
  CHECK(cudaGraphRemoveDependencies(graph, &a, &b, &early, 1));
  CHECK(cudaGraphAddDependencies(graph, &a, &b, nullptr, 1));
  cudaGraphNode_t from[2], to[2];
  std::size_t count = 2;
  CHECK(cudaGraphGetEdges(graph, from, to, nullptr, &count));
  CHECK(cudaGraphDestroy(graph));

  // Those of a capture that are to come.
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  Add<<<1, 1, 0, s>>>(words, 1);
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t* before;
  const cudaGraphEdgeData* data;
  CHECK(cudaStreamGetCaptureInfo(s, &status, nullptr, &graph, &before, &data,
                                 &count));
  EXPECT(count == 1);
  cudaGraphNode_t last = before[0];
  CHECK(cudaStreamUpdateCaptureDependencies(s, &last, &early, 1,
                                            cudaStreamSetCaptureDependencies));
  Add<<<1, 1, 0, s>>>(words, 1);
  Add<<<1, 1, 0, s>>>(words, 1);
  CHECK(cudaStreamEndCapture(s, &graph));
  cudaGraphEdgeData told[2];
  count = 2;
  CHECK(cudaGraphGetEdges(graph, from, to, told, &count));
  EXPECT(count == 2);
  for (int i = 0; i < 2; ++i) EXPECT(told[i].type == (from[i] == last));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaMemset(words, 0, 16));

  // A child graph is cloned, not moved.
  cudaGraph_t child;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeGraph;
  params.graph.graph = child;
  params.graph.ownership = cudaGraphChildGraphOwnershipMove;
  EXPECT(cudaGraphAddNode(&c, graph, nullptr, nullptr, 0, &params) ==
         cudaErrorNotSupported);
  params.graph.ownership = cudaGraphChildGraphOwnershipClone;
  CHECK(cudaGraphAddNode(&c, graph, nullptr, nullptr, 0, &params));
  cudaGetLastError();
  CHECK(cudaGraphDestroy(child));
  CHECK(cudaGraphDestroy(graph));
}

int main() {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  int* words = ToDevice(std::vector<int>(4, 0));
  int by = 1;
  void* args[] = {&words, &by};
  cudaGraph_t graph;
  cudaGraphExec_t exec;

  // Captured.
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Meet), 4, 32, args,
                                    0, s));
  CHECK(cudaStreamEndCapture(s, &graph));
  cudaGraphNode_t node;
  std::size_t count = 1;
  CHECK(cudaGraphGetNodes(graph, &node, &count));
  EXPECT(Attribute(node, cudaLaunchAttributeCooperative) == 1);
  Set(node, cudaLaunchAttributePriority, -1);
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  Expect(words, 1);

  // New parameters, in the executable graph and in the node.
  cudaKernelNodeParams params = {};
  CHECK(cudaGraphKernelNodeGetParams(node, &params));
  by = 5;
  params.kernelParams = args;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  Expect(words, 5);
  by = 6;
  CHECK(cudaGraphKernelNodeSetParams(node, &params));
  EXPECT(Attribute(node, cudaLaunchAttributeCooperative) == 1);
  EXPECT(Attribute(node, cudaLaunchAttributePriority) == -1);
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, graph, &info));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  Expect(words, 6);
  CHECK(cudaGraphExecDestroy(exec));

  cudaGraph_t clone;
  cudaGraphNode_t copy;
  CHECK(cudaGraphClone(&clone, graph));
  CHECK(cudaGraphNodeFindInClone(&copy, node, clone));
  EXPECT(Attribute(copy, cudaLaunchAttributeCooperative) == 1);
  EXPECT(Attribute(copy, cudaLaunchAttributePriority) == -1);

  // Built, and made cooperative afterwards, by hand and by another node.
  for (const bool by_hand : {true, false}) {
    cudaGraph_t built;
    cudaGraphNode_t made;
    by = by_hand ? 7 : 8;
    CHECK(cudaGraphCreate(&built, 0));
    CHECK(cudaGraphAddKernelNode(&made, built, nullptr, 0, &params));
    EXPECT(Attribute(made, cudaLaunchAttributeCooperative) == 0);
    if (by_hand) {
      Set(made, cudaLaunchAttributeCooperative, 1);
    } else {
      CHECK(cudaGraphKernelNodeCopyAttributes(made, copy));
      EXPECT(Attribute(made, cudaLaunchAttributePriority) == -1);
    }
    EXPECT(Attribute(made, cudaLaunchAttributeCooperative) == 1);
    CHECK(cudaGraphInstantiate(&exec, built, 0));
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    Expect(words, by);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(built));
  }
  // More blocks than can be there at once do not cooperate.
  params.gridDim.x = 1 << 20;
  EXPECT(cudaGraphKernelNodeSetParams(node, &params) ==
         cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphDestroy(graph));
  Edges(s, words);
  return Pass();
}
