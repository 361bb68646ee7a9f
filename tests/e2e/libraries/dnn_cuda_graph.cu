// A plan as a CUDA graph of its own, without a capture: as a child of the
// program's graph, then with other memory, which an executable graph takes
// over.
//
// RUN: %check %s %t %library -l:libcudnn.so.9
#include "dnn_graph.h"

constexpr int kCount = 500;

__global__ void Twice(float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= 2;
}

int main() {
  cudnnHandle_t handle;
  CALL(cudnnCreate(&handle));
  const auto a = Numbers<float>(kCount, 1), b = Numbers<float>(kCount, 2),
             c = Numbers<float>(kCount, 3);
  float *da = ToDevice(a), *db = ToDevice(b), *dc = ToDevice(c),
        *dy = Zeros<float>(kCount);
  Graph sum;
  const auto ta = sum.Tensor({1, 5, 100}, da), tb = sum.Tensor({1, 5, 100}, db),
             ty = sum.Tensor({1, 5, 100}, dy);
  sum.Pointwise(CUDNN_POINTWISE_ADD, ta, &tb, ty);
  sum.Build(handle);

  cudaGraph_t plan, whole;
  CHECK(cudaGraphCreate(&plan, 0));
  CHECK(cudaGraphCreate(&whole, 0));
  sum.Populate(handle, plan);
  cudaGraphNode_t child, twice;
  CHECK(cudaGraphAddChildGraphNode(&child, whole, nullptr, 0, plan));
  cudaKernelNodeParams kernel = {};
  int n = kCount;
  void* arguments[] = {&dy, &n};
  kernel.func = reinterpret_cast<void*>(Twice);
  kernel.gridDim = dim3(Blocks(kCount));
  kernel.blockDim = dim3(128);
  kernel.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&twice, whole, &child, 1, &kernel));
  cudaGraphExec_t run;
  CHECK(cudaGraphInstantiate(&run, whole, 0));
  const auto check = [&](const std::vector<float>& other) {
    CHECK(cudaGraphLaunch(run, nullptr));
    CHECK(cudaDeviceSynchronize());
    std::vector<float> want;
    for (int i = 0; i < kCount; ++i) want.push_back(2 * (a[i] + other[i]));
    EXPECT(ToHost(dy, kCount) == want);
  };
  check(b);

  // Its second tensor lies elsewhere.
  sum.Update(handle, plan, 1, dc);
  check(b);  // what was made of it before stays
  CHECK(cudaGraphExecChildGraphNodeSetParams(run, child, plan));
  check(c);
  CHECK(cudaGraphDestroy(plan));
  check(c);
  CHECK(cudaGraphExecDestroy(run));
  CHECK(cudaGraphDestroy(whole));
  CALL(cudnnDestroy(handle));
  return Pass();
}
