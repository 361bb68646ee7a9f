// A captured graph, one made by hand, and one changed after it was made.
#include <cstring>

#include "check.h"

constexpr int kCount = 1000;

__global__ void Add(int* data, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += by;
}

int* data = nullptr;
int host[kCount];
cudaStream_t stream;

void ExpectAll(int value) {
  CHECK(cudaStreamSynchronize(stream));
  for (int v : host) EXPECT(v == value);
}

void Captured() {
  CHECK(cudaMemset(data, 0, sizeof host));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  Add<<<4, 256, 0, stream>>>(data, kCount, 1);
  Add<<<4, 256, 0, stream>>>(data, kCount, 2);
  CHECK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost,
                        stream));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 3);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
  ExpectAll(9);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

void MadeByHand() {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t set, first, second, copy;
  cudaMemsetParams set_params = {};
  set_params.dst = data;
  set_params.elementSize = 4;
  set_params.width = kCount;
  set_params.height = 1;
  set_params.value = 5;
  CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &set_params));
  int n = kCount, by = 10;
  void* arguments[] = {&data, &n, &by};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(Add);
  params.gridDim = dim3(4);
  params.blockDim = dim3(256);
  params.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&first, graph, &set, 1, &params));
  by = 100;
  CHECK(cudaGraphAddKernelNode(&second, graph, &first, 1, &params));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &second, 1, host, data,
                                 sizeof host, cudaMemcpyDeviceToHost));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  ExpectAll(115);
  by = 1000;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, first, &params));
  CHECK(cudaGraphLaunch(exec, stream));
  ExpectAll(1105);
}

int main() {
  CHECK(cudaMalloc(&data, sizeof host));
  CHECK(cudaStreamCreate(&stream));
  Captured();
  MadeByHand();
  std::puts("api_graph: PASS");
}
