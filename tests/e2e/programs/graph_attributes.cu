// Attributes of kernel nodes: they stay with a node whose parameters change,
// and a cooperative one's blocks meet.
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
  return Pass();
}
