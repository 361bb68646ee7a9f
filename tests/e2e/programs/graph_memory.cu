// Memory that a graph allocates and frees.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Set(int* p, int v) { p[threadIdx.x] = v + threadIdx.x; }
__global__ void Copy(const int* p, int* out) { out[threadIdx.x] = p[threadIdx.x]; }

int main() {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams alloc = {};
  alloc.poolProps.allocType = cudaMemAllocationTypePinned;
  alloc.poolProps.location = {cudaMemLocationTypeDevice, 0};
  alloc.bytesize = 256;
  cudaGraphNode_t first, set, copy, last;
  CHECK(cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &alloc));
  EXPECT(alloc.dptr != nullptr);
  int v = 5;
  int* out = ToDevice(std::vector<int>(64, 0));
  void* set_args[] = {&alloc.dptr, &v};
  void* copy_args[] = {&alloc.dptr, &out};
  cudaKernelNodeParams k = {};
  k.func = reinterpret_cast<void*>(Set);
  k.gridDim = 1;
  k.blockDim = 64;
  k.kernelParams = set_args;
  CHECK(cudaGraphAddKernelNode(&set, graph, &first, 1, &k));
  k.func = reinterpret_cast<void*>(Copy);
  k.kernelParams = copy_args;
  CHECK(cudaGraphAddKernelNode(&copy, graph, &set, 1, &k));
  CHECK(cudaGraphAddMemFreeNode(&last, graph, &copy, 1, alloc.dptr));
  void* freed = nullptr;
  CHECK(cudaGraphMemFreeNodeGetParams(last, &freed));
  EXPECT(freed == alloc.dptr);
  cudaMemAllocNodeParams asked = {};
  CHECK(cudaGraphMemAllocNodeGetParams(first, &asked));
  EXPECT(asked.bytesize == 256 && asked.dptr == alloc.dptr);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 3; ++round) {
    CHECK(cudaMemset(out, 0, 256));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    const std::vector<int> got = ToHost(out, 64);
    for (int i = 0; i < 64; ++i) EXPECT(got[i] == 5 + i);
  }
  // One executable graph at a time.
  cudaGraphExec_t second;
  EXPECT(cudaGraphInstantiate(&second, graph, 0) == cudaErrorInvalidValue);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  // What a graph leaves allocated has to be freed before the next launch, by
  // whomever, unless it is told to do that itself.
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &alloc));
  k.func = reinterpret_cast<void*>(Set);
  k.kernelParams = set_args;
  CHECK(cudaGraphAddKernelNode(&set, graph, &first, 1, &k));
  cudaGraph_t freeing;
  CHECK(cudaGraphCreate(&freeing, 0));
  CHECK(cudaGraphAddMemFreeNode(&last, freeing, nullptr, 0, alloc.dptr));
  cudaGraphExec_t free_exec;
  CHECK(cudaGraphInstantiate(&free_exec, freeing, 0));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 3; ++round) {
    CHECK(cudaGraphLaunch(exec, 0));
    EXPECT(ToHost(static_cast<int*>(alloc.dptr), 64)[63] == 5 + 63);
    EXPECT(cudaGraphLaunch(exec, 0) == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    if (round == 0) CHECK(cudaFreeAsync(alloc.dptr, 0));
    if (round == 1) CHECK(cudaFree(alloc.dptr));
    if (round == 2) CHECK(cudaGraphLaunch(free_exec, 0));
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&exec, graph,
                             cudaGraphInstantiateFlagAutoFreeOnLaunch));
  for (int round = 0; round < 3; ++round) CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaFree(alloc.dptr));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphExecDestroy(free_exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(freeing));

  // A capture makes the same nodes; a stream that has joined may go.
  cudaStream_t s, side;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamCreate(&side));
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  int* p = nullptr;
  CHECK(cudaMallocAsync(&p, 256, s));
  CHECK(cudaEventRecord(event, s));
  CHECK(cudaStreamWaitEvent(side, event, 0));
  Set<<<1, 64, 0, side>>>(p, 9);
  CHECK(cudaEventRecord(event, side));
  CHECK(cudaStreamWaitEvent(s, event, 0));
  CHECK(cudaStreamDestroy(side));
  Copy<<<1, 64, 0, s>>>(p, out);
  CHECK(cudaFreeAsync(p, s));
  CHECK(cudaStreamEndCapture(s, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  for (int round = 0; round < 3; ++round) {
    CHECK(cudaMemset(out, 0, 256));
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    const std::vector<int> got = ToHost(out, 64);
    for (int i = 0; i < 64; ++i) EXPECT(got[i] == 9 + i);
  }
  CHECK(cudaGraphExecDestroy(exec));

  // One after the other, and one beside them.
  int *q = nullptr, *beside = nullptr, *more = ToDevice(std::vector<int>(64, 0));
  CHECK(cudaStreamCreate(&side));
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&p, 256, s));
  CHECK(cudaEventRecord(event, s));
  CHECK(cudaStreamWaitEvent(side, event, 0));
  Set<<<1, 64, 0, s>>>(p, 1);
  CHECK(cudaMallocAsync(&beside, 256, side));
  EXPECT(beside != p);
  Set<<<1, 64, 0, side>>>(beside, 1000);
  Copy<<<1, 64, 0, s>>>(p, out);
  CHECK(cudaFreeAsync(p, s));
  CHECK(cudaMallocAsync(&q, 128, s));
  EXPECT(q != beside);
  Set<<<1, 32, 0, s>>>(q, 500);
  Copy<<<1, 32, 0, s>>>(q, more);
  CHECK(cudaFreeAsync(q, s));
  Copy<<<1, 32, 0, side>>>(beside, more + 32);
  CHECK(cudaEventRecord(event, side));
  CHECK(cudaStreamWaitEvent(s, event, 0));
  CHECK(cudaFreeAsync(beside, s));
  CHECK(cudaStreamEndCapture(s, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  for (int round = 0; round < 2; ++round) {
    CHECK(cudaMemset(more, 0, 256));
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    const std::vector<int> got = ToHost(out, 64), there = ToHost(more, 64);
    for (int i = 0; i < 64; ++i) {
      EXPECT(got[i] == 1 + i);
      EXPECT(there[i] == (i < 32 ? 500 : 1000 - 32) + i);
    }
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaDeviceGraphMemTrim(0));
  std::uint64_t used = 1;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent,
                                       &used));
  EXPECT(used == 0);
  return Pass();
}
