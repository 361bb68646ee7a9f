// A graph that allocates and frees memory for kernels that launch kernels, and
// for conditional nodes.
//
// RUN: %check %s %t -rdc=true -lcudadevrt
#include "program.h"

__global__ void Fill(int* p, int value) { p[threadIdx.x] = value; }
__global__ void Launches(int* p, int value) { Fill<<<1, 64>>>(p, value); }
__global__ void Sum(const int* p, int* out) { atomicAdd(out, p[threadIdx.x]); }
__global__ void Count(cudaGraphConditionalHandle handle, int* left) {
  cudaGraphSetConditional(handle, --*left != 0);
}

int main() {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  int* sum = ToDevice(std::vector<int>(1));
  int* left = ToDevice(std::vector<int>(1));
  int* memory = nullptr;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  CHECK(cudaMemsetAsync(sum, 0, sizeof *sum, s));
  CHECK(cudaMallocAsync(&memory, 64 * sizeof *memory, s));
  Launches<<<1, 1, 0, s>>>(memory, 3);
  cudaStreamCaptureStatus status;
  cudaGraph_t graph;
  const cudaGraphNode_t* before;
  std::size_t count;
  const cudaGraphEdgeData* edges;
  CHECK(cudaStreamGetCaptureInfo(s, &status, nullptr, &graph, &before, &edges,
                                 &count));
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1,
                                         cudaGraphCondAssignDefault));
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
  cudaGraphNode_t loop;
  CHECK(cudaGraphAddNode(&loop, graph, before, edges, count, &params));
  CHECK(cudaStreamUpdateCaptureDependencies(s, &loop, nullptr, 1,
                                            cudaStreamSetCaptureDependencies));
  CHECK(cudaFreeAsync(memory, s));
  CHECK(cudaStreamEndCapture(s, &graph));
  cudaGraph_t body = params.conditional.phGraph_out[0];
  void* of_sum[] = {&memory, &sum};
  void* of_count[] = {&handle, &left};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(Sum);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(64);
  kernel.kernelParams = of_sum;
  cudaGraphNode_t first, second;
  CHECK(cudaGraphAddKernelNode(&first, body, nullptr, 0, &kernel));
  kernel.func = reinterpret_cast<void*>(Count);
  kernel.blockDim = dim3(1);
  kernel.kernelParams = of_count;
  CHECK(cudaGraphAddKernelNode(&second, body, &first, 1, &kernel));

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (const int rounds : {1, 4}) {
    CHECK(cudaMemcpy(left, &rounds, sizeof rounds, cudaMemcpyHostToDevice));
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    EXPECT(ToHost(sum, 1)[0] == 64 * 3 * rounds);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  return Pass();
}
