// What the runtimes of CUDA 13.1 to 13.5 have that 13.0's has not.
#include "../programs/program.h"

namespace {

constexpr int kCount = 64;

__global__ void Add(int* data, int by) { data[threadIdx.x] += by; }

void CopiesAndCalls(int* data, cudaStream_t stream) {
  const std::vector<int> fives(kCount, 5);
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  CHECK(cudaMemcpyWithAttributesAsync(data, fives.data(), kCount * sizeof(int),
                                      &attributes, stream));
  int calls = 0;
  CHECK(cudaLaunchHostFunc_v2(
      stream, [](void* calls) { ++*static_cast<int*>(calls); }, &calls,
      cudaHostTaskSpinWait));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(calls == 1);
  EXPECT(ToHost(data, kCount) == fives);
}

void Nodes(int* data) {
  std::size_t count = 0;
  CHECK(cudaFuncGetParamCount(reinterpret_cast<const void*>(Add), &count));
  EXPECT(count == 2);
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  int by = 3;
  void* arguments[] = {&data, &by};
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = reinterpret_cast<void*>(Add);
  params.kernel.gridDim = dim3(1);
  params.kernel.blockDim = dim3(kCount);
  params.kernel.kernelParams = arguments;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
  cudaGraphNodeParams seen = {};
  CHECK(cudaGraphNodeGetParams(node, &seen));
  EXPECT(seen.type == cudaGraphNodeTypeKernel);
  EXPECT(seen.kernel.blockDim.x == kCount);
  EXPECT(*static_cast<int*>(seen.kernel.kernelParams[1]) == 3);
  CHECK(cudaGraphDestroy(graph));
}

// Work on six multiprocessors.
void PartOfTheGpu(int* data) {
  cudaDevResource all, part, rest;
  CHECK(cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm));
  cudaDevSmResourceGroupParams group = {};
  group.smCount = 6;
  CHECK(cudaDevSmResourceSplit(&part, 1, &all, &rest, 0, &group));
  EXPECT(part.sm.smCount == 6);
  EXPECT(rest.sm.smCount == all.sm.smCount - 6);
  cudaDevResourceDesc_t description;
  CHECK(cudaDevResourceGenerateDesc(&description, &part, 1));
  cudaExecutionContext_t context;
  CHECK(cudaGreenCtxCreate(&context, description, 0, 0));
  cudaStream_t stream;
  CHECK(
      cudaExecutionCtxStreamCreate(&stream, context, cudaStreamNonBlocking, 0));
  cudaDevResource of_stream;
  CHECK(cudaStreamGetDevResource(stream, &of_stream, cudaDevResourceTypeSm));
  EXPECT(of_stream.sm.smCount == 6);
  Add<<<1, kCount, 0, stream>>>(data, 2);
  CHECK(cudaExecutionCtxSynchronize(context));
  EXPECT(ToHost(data, kCount) == std::vector<int>(kCount, 7));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaExecutionCtxDestroy(context));
}

}  // namespace

int main() {
  int version = 0;
  CHECK(cudaDriverGetVersion(&version));
  EXPECT(version >= CUDART_VERSION);
  int* data = ToDevice(std::vector<int>(kCount, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CopiesAndCalls(data, stream);
  Nodes(data);
  PartOfTheGpu(data);
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(data));
  return Pass();
}
