// Graphs built by hand: every kind of node, by the generic calls too.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Scale(int* p, int by) { p[threadIdx.x] *= by; }

int calls = 0;
void CUDART_CB Count(void* data) { calls += *static_cast<int*>(data); }

int main() {
  int* p = nullptr;
  CHECK(cudaMalloc(&p, 64 * sizeof(int)));
  int host[64] = {}, three = 3;
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemsetParams set = {};
  set.dst = p;
  set.value = 7;
  set.elementSize = 4;
  set.width = 64;
  set.height = 1;
  cudaGraphNode_t first, kernel, copy, call, empty;
  CHECK(cudaGraphAddMemsetNode(&first, graph, nullptr, 0, &set));
  int by = 2;
  void* args[] = {&p, &by};
  cudaKernelNodeParams k = {};
  k.func = reinterpret_cast<void*>(Scale);
  k.gridDim = 1;
  k.blockDim = 64;
  k.kernelParams = args;
  CHECK(cudaGraphAddKernelNode(&kernel, graph, &first, 1, &k));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host, p,
                                 sizeof host, cudaMemcpyDeviceToHost));
  cudaHostNodeParams h = {Count, &three};
  CHECK(cudaGraphAddHostNode(&call, graph, &copy, 1, &h));
  CHECK(cudaGraphAddEmptyNode(&empty, graph, &call, 1));

  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(copy, &type));
  EXPECT(type == cudaGraphNodeTypeMemcpy);
  CHECK(cudaGraphNodeGetType(call, &type));
  EXPECT(type == cudaGraphNodeTypeHost);
  cudaKernelNodeParams got = {};
  CHECK(cudaGraphKernelNodeGetParams(kernel, &got));
  EXPECT(got.blockDim.x == 64 && got.gridDim.x == 1 &&
         got.func == k.func);
  EXPECT(*static_cast<int*>(got.kernelParams[1]) == 2);
  cudaMemsetParams same = {};
  CHECK(cudaGraphMemsetNodeGetParams(first, &same));
  EXPECT(same.dst == p && same.value == 7 && same.width == 64);
  cudaHostNodeParams asked = {};
  CHECK(cudaGraphHostNodeGetParams(call, &asked));
  EXPECT(asked.fn == Count && asked.userData == &three);

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaDeviceSynchronize());
  for (const int v : host) EXPECT(v == 14);
  EXPECT(calls == 3);

  // A child graph, and a change of an executable graph's kernel.
  cudaGraph_t outer;
  CHECK(cudaGraphCreate(&outer, 0));
  cudaGraphNode_t child, after;
  CHECK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph));
  CHECK(cudaGraphAddKernelNode(&after, outer, &child, 1, &k));
  cudaGraphExec_t whole;
  CHECK(cudaGraphInstantiate(&whole, outer, 0));
  by = 5;
  CHECK(cudaGraphExecKernelNodeSetParams(whole, after, &k));
  CHECK(cudaGraphLaunch(whole, 0));
  EXPECT(ToHost(p, 64) == std::vector<int>(64, 70));
  EXPECT(calls == 6);
  CHECK(cudaGraphExecDestroy(whole));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(outer));
  CHECK(cudaGraphDestroy(graph));
  return Pass();
}
