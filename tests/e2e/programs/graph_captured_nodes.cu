// What nodes of a captured graph are made of, asked for and changed: as ggml
// does it, which looks for the kernels of its copies.
//
// RUN: %check %s %t
#include <map>

#include "program.h"

__global__ void Scale(float* p, float by, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) p[i] *= by;
}
__global__ void Copy(const int* from, int* to) {
  to[threadIdx.x] = from[threadIdx.x];
}
__global__ void AddTo(int* p, int by) { p[threadIdx.x] += by; }

void CUDART_CB Count(void* data) { ++*static_cast<int*>(data); }

std::vector<cudaGraphNode_t> NodesOf(cudaGraph_t graph) {
  std::size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  return nodes;
}
cudaGraphNode_t Only(cudaGraph_t graph, cudaGraphNodeType wanted) {
  cudaGraphNode_t found = nullptr;
  for (cudaGraphNode_t node : NodesOf(graph)) {
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(node, &type));
    if (type != wanted) continue;
    EXPECT(found == nullptr);
    found = node;
  }
  EXPECT(found != nullptr);
  return found;
}
template <typename Work>
cudaGraph_t Capture(cudaStream_t stream, Work work) {
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  work();
  CHECK(cudaStreamEndCapture(stream, &graph));
  return graph;
}
cudaGraphExec_t Run(cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  return exec;
}

// A kernel's parameters, changed in the node and in the executable graph.
void Kernels(cudaStream_t s) {
  constexpr int kCount = 100;
  float* p = ToDevice(std::vector<float>(kCount, 1));
  cudaGraph_t graph =
      Capture(s, [&] { Scale<<<4, 32, 64, s>>>(p, 2.0f, kCount); });
  cudaGraphNode_t node = Only(graph, cudaGraphNodeTypeKernel);
  cudaKernelNodeParams params = {};
  CHECK(cudaGraphKernelNodeGetParams(node, &params));
  EXPECT(params.func == reinterpret_cast<void*>(Scale));
  EXPECT(params.gridDim.x == 4 && params.gridDim.y == 1);
  EXPECT(params.blockDim.x == 32 && params.sharedMemBytes == 64);
  EXPECT(params.extra == nullptr);
  EXPECT(*static_cast<float**>(params.kernelParams[0]) == p);
  EXPECT(*static_cast<float*>(params.kernelParams[1]) == 2.0f);
  EXPECT(*static_cast<int*>(params.kernelParams[2]) == kCount);

  cudaGraphExec_t exec = Run(graph, s);
  EXPECT(ToHost(p, 1)[0] == 2);
  float by = 10;
  params.kernelParams[1] = &by;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  EXPECT(ToHost(p, kCount)[kCount - 1] == 20);
  // The node's own are as they were.
  cudaKernelNodeParams again = {};
  CHECK(cudaGraphKernelNodeGetParams(node, &again));
  EXPECT(*static_cast<float*>(again.kernelParams[1]) == 2.0f);
  by = 3;
  again.kernelParams[1] = &by;
  CHECK(cudaGraphKernelNodeSetParams(node, &again));
  by = 100;  // which was copied
  void** const owned = again.kernelParams;
  CHECK(cudaGraphKernelNodeGetParams(node, &again));
  EXPECT(again.kernelParams == owned);
  EXPECT(*static_cast<float*>(again.kernelParams[1]) == 3.0f);
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, graph, &info));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  EXPECT(ToHost(p, 1)[0] == 60);

  cudaGraph_t clone;
  CHECK(cudaGraphClone(&clone, graph));
  cudaGraphNode_t copy;
  CHECK(cudaGraphNodeFindInClone(&copy, node, clone));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphKernelNodeGetParams(copy, &again));
  EXPECT(again.func == reinterpret_cast<void*>(Scale));
  EXPECT(*static_cast<float*>(again.kernelParams[1]) == 3.0f);
  EXPECT(*static_cast<int*>(again.kernelParams[2]) == kCount);
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphExecDestroy(exec));
}

// Copies, sets and functions of the host.
void Others(cudaStream_t s) {
  int* a = ToDevice(std::vector<int>(64, 7));
  int host[64] = {}, called = 0;
  cudaGraph_t graph =
      Capture(s, [&] { CHECK(cudaMemsetAsync(a + 4, 3, 40, s)); });
  cudaMemsetParams set = {};
  CHECK(
      cudaGraphMemsetNodeGetParams(Only(graph, cudaGraphNodeTypeMemset), &set));
  EXPECT(set.dst == a + 4 && set.value == 3 && set.elementSize == 1);
  EXPECT(set.width == 40 && set.height == 1);
  CHECK(cudaGraphDestroy(graph));
  graph = Capture(s, [&] { CHECK(cudaMemset2DAsync(a, 32, 1, 8, 4, s)); });
  CHECK(
      cudaGraphMemsetNodeGetParams(Only(graph, cudaGraphNodeTypeMemset), &set));
  EXPECT(set.width == 8 && set.height == 4 && set.pitch == 32);
  Run(graph, s);
  std::vector<int> got = ToHost(a, 64);
  EXPECT(got[0] == 0x01010101 && got[2] == 7 && got[25] == 0x01010101);
  CHECK(cudaGraphDestroy(graph));
  graph = Capture(s, [&] {
    CHECK_DRIVER(cuMemsetD16Async(CUdeviceptr(a + 1), 0x1234, 6, s));
  });
  CHECK(
      cudaGraphMemsetNodeGetParams(Only(graph, cudaGraphNodeTypeMemset), &set));
  EXPECT(set.elementSize == 2 && set.value == 0x1234 && set.width == 6);
  CHECK(cudaGraphDestroy(graph));

  graph = Capture(s, [&] {
    CHECK(cudaMemcpyAsync(host, a, sizeof host, cudaMemcpyDeviceToHost, s));
  });
  cudaGraphNode_t node = Only(graph, cudaGraphNodeTypeMemcpy);
  cudaMemcpy3DParms copy = {};
  CHECK(cudaGraphMemcpyNodeGetParams(node, &copy));
  EXPECT(copy.srcPtr.ptr == a && copy.dstPtr.ptr == host);
  EXPECT(copy.extent.width == sizeof host && copy.extent.height == 1 &&
         copy.extent.depth == 1);
  EXPECT(copy.kind == cudaMemcpyDeviceToHost);
  // What was asked for can be given back, changed.
  int other[64] = {};
  copy.dstPtr.ptr = other;
  CHECK(cudaGraphMemcpyNodeSetParams(node, &copy));
  Run(graph, s);
  EXPECT(host[0] == 0 && other[0] == 0x01010101);
  CHECK(cudaGraphDestroy(graph));

  // Rows are one node, not one for each row.
  graph = Capture(s, [&] {
    CHECK(cudaMemcpy2DAsync(host, 16, a, 32, 8, 3, cudaMemcpyDefault, s));
  });
  node = Only(graph, cudaGraphNodeTypeMemcpy);
  EXPECT(NodesOf(graph).size() == 1);
  CHECK(cudaGraphMemcpyNodeGetParams(node, &copy));
  EXPECT(copy.extent.width == 8 && copy.extent.height == 3);
  EXPECT(copy.srcPtr.pitch == 32 && copy.dstPtr.pitch == 16);
  EXPECT(copy.kind == cudaMemcpyDefault);
  Run(graph, s);
  EXPECT(host[0] == 0x01010101 && host[4] == 0x01010101 && host[6] == 0);
  CHECK(cudaGraphDestroy(graph));

  // Into an array and back.
  cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, 8, 8));
  for (int i = 0; i < 64; ++i) host[i] = i;
  graph = Capture(s, [&] {
    CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, host, 32, 32, 8,
                                   cudaMemcpyHostToDevice, s));
    CHECK_DRIVER(cuMemcpyAtoHAsync(other, CUarray(array), 20 * 4, 24 * 4, s));
  });
  EXPECT(NodesOf(graph).size() == 4);  // the rest of a row, two rows, a begin
  Run(graph, s);
  for (int i = 0; i < 24; ++i) EXPECT(other[i] == 20 + i);
  CHECK(cudaGraphMemcpyNodeGetParams(NodesOf(graph)[0], &copy));
  EXPECT(copy.dstArray == array && copy.srcPtr.ptr == host);
  CHECK(cudaGraphDestroy(graph));

  graph = Capture(s, [&] { CHECK(cudaLaunchHostFunc(s, Count, &called)); });
  cudaHostNodeParams function = {};
  CHECK(cudaGraphHostNodeGetParams(Only(graph, cudaGraphNodeTypeHost),
                                   &function));
  EXPECT(function.fn == Count && function.userData == &called);
  Run(graph, s);
  EXPECT(called == 1);
  CHECK(cudaGraphDestroy(graph));
}

// Events that others see, operations on memory, and memory itself.
void Driver(cudaStream_t s) {
  cudaEvent_t event, seen;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventCreate(&seen));
  cudaGraph_t graph = Capture(s, [&] {
    CHECK(cudaEventRecordWithFlags(event, s, cudaEventRecordExternal));
    CHECK(cudaStreamWaitEvent(s, seen, cudaEventWaitExternal));
  });
  cudaEvent_t out;
  CHECK(cudaGraphEventRecordNodeGetEvent(
      Only(graph, cudaGraphNodeTypeEventRecord), &out));
  EXPECT(out == event);
  CHECK(cudaGraphEventWaitNodeGetEvent(Only(graph, cudaGraphNodeTypeWaitEvent),
                                       &out));
  EXPECT(out == seen);
  CHECK(cudaGraphDestroy(graph));

  unsigned* word = ToDevice(std::vector<unsigned>(2, 0));
  graph = Capture(s, [&] {
    CHECK_DRIVER(cuStreamWriteValue32(s, CUdeviceptr(word), 5, 0));
    CHECK_DRIVER(
        cuStreamWaitValue32(s, CUdeviceptr(word), 5, CU_STREAM_WAIT_VALUE_EQ));
  });
  std::vector<cudaGraphNode_t> nodes = NodesOf(graph);
  EXPECT(nodes.size() == 2);
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {};
  CHECK_DRIVER(cuGraphBatchMemOpNodeGetParams(nodes[0], &batch));
  EXPECT(batch.count == 1);
  EXPECT(batch.paramArray[0].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32);
  EXPECT(batch.paramArray[0].writeValue.value == 5);
  EXPECT(ToHost(word, 1)[0] == 0);  // nothing ran
  Run(graph, s);
  EXPECT(ToHost(word, 1)[0] == 5);
  CHECK(cudaGraphDestroy(graph));

  void* memory = nullptr;
  graph = Capture(s, [&] {
    CHECK(cudaMallocAsync(&memory, 256, s));
    CHECK(cudaMemsetAsync(memory, 1, 256, s));
    CHECK(cudaFreeAsync(memory, s));
  });
  cudaMemAllocNodeParams alloc = {};
  CHECK(cudaGraphMemAllocNodeGetParams(Only(graph, cudaGraphNodeTypeMemAlloc),
                                       &alloc));
  EXPECT(alloc.dptr == memory && alloc.bytesize == 256);
  void* freed = nullptr;
  CHECK(cudaGraphMemFreeNodeGetParams(Only(graph, cudaGraphNodeTypeMemFree),
                                      &freed));
  EXPECT(freed == memory);
  Run(graph, s);
  CHECK(cudaGraphDestroy(graph));
}

// A graph that is launched while another is captured, with its own changes.
void Children(cudaStream_t s) {
  int* p = ToDevice(std::vector<int>(32, 0));
  int* q = ToDevice(std::vector<int>(32, 0));
  cudaGraph_t inner = Capture(s, [&] {
    AddTo<<<1, 32, 0, s>>>(p, 1);
    CHECK(cudaMemcpyAsync(q, p, 128, cudaMemcpyDeviceToDevice, s));
  });
  cudaGraphExec_t exec = Run(inner, s);
  EXPECT(ToHost(q, 1)[0] == 1);
  cudaKernelNodeParams params = {};
  cudaGraphNode_t node = Only(inner, cudaGraphNodeTypeKernel);
  CHECK(cudaGraphKernelNodeGetParams(node, &params));
  int by = 50;
  params.kernelParams[1] = &by;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
  CHECK(cudaGraphDestroy(inner));

  cudaGraph_t outer = Capture(s, [&] {
    AddTo<<<1, 32, 0, s>>>(p, 1000);
    CHECK(cudaGraphLaunch(exec, s));
    AddTo<<<1, 32, 0, s>>>(q, 7);
  });
  CHECK(cudaStreamSynchronize(s));
  EXPECT(ToHost(p, 1)[0] == 1);  // nothing ran
  EXPECT(NodesOf(outer).size() == 3);
  cudaGraph_t child;
  CHECK(cudaGraphChildGraphNodeGetGraph(Only(outer, cudaGraphNodeTypeGraph),
                                        &child));
  CHECK(cudaGraphKernelNodeGetParams(Only(child, cudaGraphNodeTypeKernel),
                                     &params));
  EXPECT(*static_cast<int*>(params.kernelParams[1]) == 50);
  cudaMemcpy3DParms copy = {};
  CHECK(cudaGraphMemcpyNodeGetParams(Only(child, cudaGraphNodeTypeMemcpy),
                                     &copy));
  EXPECT(copy.dstPtr.ptr == q);
  CHECK(cudaGraphExecDestroy(exec));
  exec = Run(outer, s);
  EXPECT(ToHost(p, 1)[0] == 1051 && ToHost(q, 1)[0] == 1058);

  // A clone of it, whose children are clones too.
  cudaGraph_t clone;
  CHECK(cudaGraphClone(&clone, outer));
  CHECK(cudaGraphDestroy(outer));
  CHECK(cudaGraphChildGraphNodeGetGraph(Only(clone, cudaGraphNodeTypeGraph),
                                        &child));
  CHECK(cudaGraphKernelNodeGetParams(Only(child, cudaGraphNodeTypeKernel),
                                     &params));
  EXPECT(*static_cast<int*>(params.kernelParams[1]) == 50);
  EXPECT(*static_cast<int**>(params.kernelParams[0]) == p);
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphExecDestroy(exec));
}

// Two streams that an event joins, and a walk over what they did: of all
// kernels that copy, the target moves.
void Walk(cudaStream_t s) {
  cudaStream_t side;
  cudaEvent_t forked, joined;
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  int* from = ToDevice(std::vector<int>(32, 9));
  int* to = ToDevice(std::vector<int>(64, 0));
  int* moved = ToDevice(std::vector<int>(64, 0));
  cudaGraph_t graph = Capture(s, [&] {
    CHECK(cudaEventRecord(forked, s));
    CHECK(cudaStreamWaitEvent(side, forked, 0));
    Copy<<<1, 32, 0, side>>>(from, to + 32);
    Copy<<<1, 32, 0, s>>>(from, to);
    CHECK(cudaEventRecord(joined, side));
    CHECK(cudaStreamWaitEvent(s, joined, 0));
    AddTo<<<2, 32, 0, s>>>(to, 1);
  });
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  int found = 0;
  for (cudaGraphNode_t node : NodesOf(graph)) {
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams params = {};
    CHECK(cudaGraphKernelNodeGetParams(node, &params));
    if (params.func != reinterpret_cast<void*>(Copy)) continue;
    int* target = *static_cast<int**>(params.kernelParams[1]) - to + moved;
    params.kernelParams[1] = &target;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    ++found;
  }
  EXPECT(found == 2);
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  for (const int v : ToHost(moved, 64)) EXPECT(v == 9);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

int main() {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  Kernels(s);
  Others(s);
  Driver(s);
  Children(s);
  Walk(s);
  return Pass();
}
