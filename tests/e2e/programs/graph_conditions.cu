// Conditional nodes of graphs: if and else, while, switch, built and captured,
// one within another, and what an executable graph of them takes over.
//
// RUN: %check %s %t
#include <tuple>

#include "program.h"

using Handle = cudaGraphConditionalHandle;

__global__ void SetFrom(Handle handle, const int* value) {
  cudaGraphSetConditional(handle, unsigned(*value));
}
__global__ void AddTo(int* p, int by) { p[threadIdx.x] += by; }
// Takes one off, and goes on until none is left.
__global__ void Count(Handle handle, int* left) {
  cudaGraphSetConditional(handle, --*left != 0);
}
__global__ void Store(int* p, int value) { *p = value; }

Handle MakeHandle(cudaGraph_t graph, unsigned value = 0, bool assign = true) {
  Handle handle;
  CHECK(cudaGraphConditionalHandleCreate(
      &handle, graph, value, assign ? cudaGraphCondAssignDefault : 0));
  return handle;
}
struct Conditional {
  cudaGraphNode_t node;
  cudaGraph_t* bodies;
};
cudaError_t TryAdd(cudaGraph_t graph, Handle handle,
                   cudaGraphConditionalNodeType type, unsigned size,
                   const std::vector<cudaGraphNode_t>& after,
                   Conditional* made) {
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = size;
  const cudaError_t error = cudaGraphAddNode(&made->node, graph, after.data(),
                                             nullptr, after.size(), &params);
  made->bodies = params.conditional.phGraph_out;
  return error;
}
Conditional Add(cudaGraph_t graph, Handle handle,
                cudaGraphConditionalNodeType type, unsigned size,
                const std::vector<cudaGraphNode_t>& after = {}) {
  Conditional made = {};
  CHECK(TryAdd(graph, handle, type, size, after, &made));
  for (unsigned i = 0; i < size; ++i) EXPECT(made.bodies[i] != nullptr);
  return made;
}
template <typename... Params, typename... Args>
cudaGraphNode_t AddKernel(cudaGraph_t graph,
                          const std::vector<cudaGraphNode_t>& after,
                          void (*kernel)(Params...), Args... given) {
  std::tuple<Params...> values(given...);
  return std::apply(
      [&](auto&... value) {
        void* args[] = {&value...};
        cudaKernelNodeParams params = {};
        params.func = reinterpret_cast<void*>(kernel);
        params.gridDim = params.blockDim = dim3(1);
        params.kernelParams = args;
        cudaGraphNode_t node;
        CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(),
                                     &params));
        return node;
      },
      values);
}
cudaGraphExec_t Instantiate(cudaGraph_t graph) {
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  return exec;
}
void Launch(cudaGraphExec_t exec, cudaStream_t s) {
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
}
void Put(int* p, int value) {
  CHECK(cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice));
}
int Get(const int* p) { return ToHost(p, 1)[0]; }

void IfElse(cudaStream_t s) {
  int* value = ToDevice(std::vector<int>(1, 0));
  int* sum = ToDevice(std::vector<int>(1, 0));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const Handle handle = MakeHandle(graph);
  cudaGraphNode_t set = AddKernel(graph, {}, SetFrom, handle, value);
  Conditional node = Add(graph, handle, cudaGraphCondTypeIf, 2, {set});
  AddKernel(node.bodies[0], {}, AddTo, sum, 1);
  AddKernel(node.bodies[1], {}, AddTo, sum, 100);
  AddKernel(graph, {node.node}, AddTo, sum, 10000);
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(node.node, &type));
  EXPECT(type == cudaGraphNodeTypeConditional);
  cudaGraphExec_t exec = Instantiate(graph);
  CHECK(cudaGraphUpload(exec, s));
  int expected = 0;
  for (const int v : {0, 1, 5, 0}) {
    Put(value, v);
    Launch(exec, s);
    expected += (v != 0 ? 1 : 100) + 10000;
    EXPECT(Get(sum) == expected);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  // Without an else, by the default alone, which every launch gets anew.
  for (const unsigned by_default : {0u, 1u}) {
    CHECK(cudaGraphCreate(&graph, 0));
    const Handle other = MakeHandle(graph, by_default);
    node = Add(graph, other, cudaGraphCondTypeIf, 1);
    Put(value, 0);
    AddKernel(node.bodies[0], {AddKernel(node.bodies[0], {}, AddTo, sum, 1)},
              SetFrom, other, value);
    exec = Instantiate(graph);
    Put(sum, 0);
    for (int i = 0; i < 3; ++i) Launch(exec, s);
    EXPECT(Get(sum) == int(by_default) * 3);
    CHECK(cudaGraphDestroy(graph));
    Launch(exec, s);  // which lives without its graph
    EXPECT(Get(sum) == int(by_default) * 4);
    CHECK(cudaGraphExecDestroy(exec));
  }
}

void While(cudaStream_t s) {
  int* left = ToDevice(std::vector<int>(1, 0));
  int* sum = ToDevice(std::vector<int>(1, 0));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const Handle handle = MakeHandle(graph, 1);
  Conditional loop = Add(graph, handle, cudaGraphCondTypeWhile, 1);
  cudaGraphNode_t add = AddKernel(loop.bodies[0], {}, AddTo, sum, 2);
  AddKernel(loop.bodies[0], {add}, Count, handle, left);
  cudaGraphExec_t exec = Instantiate(graph);
  for (const int rounds : {1, 7, 100}) {
    Put(left, rounds);
    Put(sum, 0);
    Launch(exec, s);
    EXPECT(Get(sum) == 2 * rounds && Get(left) == 0);
  }
  // A kernel in the body gets other parameters.
  cudaKernelNodeParams params = {};
  CHECK(cudaGraphKernelNodeGetParams(add, &params));
  int by = 5;
  params.kernelParams[1] = &by;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, add, &params));
  Put(left, 3);
  Put(sum, 0);
  Launch(exec, s);
  EXPECT(Get(sum) == 15);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

void Switch(cudaStream_t s) {
  int* value = ToDevice(std::vector<int>(1, 0));
  int* out = ToDevice(std::vector<int>(1, 0));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const Handle handle = MakeHandle(graph);
  cudaGraphNode_t set = AddKernel(graph, {}, SetFrom, handle, value);
  Conditional node = Add(graph, handle, cudaGraphCondTypeSwitch, 5, {set});
  for (int i = 0; i < 5; ++i) {
    if (i != 3) AddKernel(node.bodies[i], {}, Store, out, 10 + i);
  }
  cudaGraphExec_t exec = Instantiate(graph);
  for (const int v : {0, 4, 2, 3, 5, -1, 1}) {
    Put(value, v);
    Put(out, -7);
    Launch(exec, s);
    EXPECT(Get(out) == (v >= 0 && v < 5 && v != 3 ? 10 + v : -7));
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

// for (outer) { if (odd) ...; for (inner) ...; }, with handles of the graph
// that they are in, and copies, sets and a child graph in the bodies.
__global__ void Odd(Handle handle, const int* left, int* inner, int rounds) {
  cudaGraphSetConditional(handle, *left % 2);
  *inner = rounds;
}
void Nested(cudaStream_t s) {
  int* outer = ToDevice(std::vector<int>(1, 0));
  int* inner = ToDevice(std::vector<int>(1, 0));
  int* counts = ToDevice(std::vector<int>(4, 0));
  cudaGraph_t graph, child;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));
  AddKernel(child, {}, AddTo, counts + 2, 1);
  const Handle loop = MakeHandle(graph, 1), odd = MakeHandle(graph);
  Conditional whole = Add(graph, loop, cudaGraphCondTypeWhile, 1);
  cudaGraph_t body = whole.bodies[0];
  const Handle again = MakeHandle(body, 1);
  cudaGraphNode_t set = AddKernel(body, {}, Odd, odd, outer, inner, 3);
  Conditional branch = Add(body, odd, cudaGraphCondTypeIf, 1, {set});
  cudaGraphNode_t node;
  CHECK(cudaGraphAddMemcpyNode1D(&node, branch.bodies[0], nullptr, 0,
                                 counts + 3, outer, 4,
                                 cudaMemcpyDeviceToDevice));
  AddKernel(branch.bodies[0], {node}, AddTo, counts, 1);
  Conditional second = Add(body, again, cudaGraphCondTypeWhile, 1, {set});
  cudaGraphNode_t add = AddKernel(second.bodies[0], {}, AddTo, counts + 1, 1);
  AddKernel(second.bodies[0], {add}, Count, again, inner);
  CHECK(cudaGraphAddChildGraphNode(&node, body, &second.node, 1, child));
  CHECK(cudaGraphDestroy(child));
  std::vector<cudaGraphNode_t> ends = {branch.node, node};
  AddKernel(body, ends, Count, loop, outer);
  cudaGraphExec_t exec = Instantiate(graph);
  Put(outer, 5);
  Launch(exec, s);
  std::vector<int> got = ToHost(counts, 4);
  EXPECT(got[0] == 3 && got[1] == 15 && got[2] == 5 && got[3] == 1);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

// As programs capture it: the loop into the graph of the outer capture, its
// body by another stream.
void Captured(cudaStream_t s) {
  cudaStream_t inner;
  CHECK(cudaStreamCreate(&inner));
  int* left = ToDevice(std::vector<int>(1, 6));
  int* sum = ToDevice(std::vector<int>(32, 0));
  int host = 0;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  AddTo<<<1, 32, 0, s>>>(sum, 1000);
  cudaStreamCaptureStatus status;
  cudaGraph_t graph;
  const cudaGraphNode_t* before;
  std::size_t count;
  const cudaGraphEdgeData* edges;
  CHECK(cudaStreamGetCaptureInfo(s, &status, nullptr, &graph, &before, &edges,
                                 &count));
  const Handle handle = MakeHandle(graph, 1);
  Conditional loop = Add(graph, handle, cudaGraphCondTypeWhile, 1,
                         std::vector<cudaGraphNode_t>(before, before + count));
  CHECK(cudaStreamUpdateCaptureDependencies(s, &loop.node, nullptr, 1,
                                            cudaStreamSetCaptureDependencies));
  CHECK(cudaStreamBeginCaptureToGraph(inner, loop.bodies[0], nullptr, nullptr,
                                      0, cudaStreamCaptureModeRelaxed));
  AddTo<<<1, 32, 0, inner>>>(sum, 1);
  Count<<<1, 1, 0, inner>>>(handle, left);
  cudaGraph_t captured;
  CHECK(cudaStreamEndCapture(inner, &captured));
  EXPECT(captured == loop.bodies[0]);
  CHECK(cudaMemcpyAsync(&host, sum + 31, 4, cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamEndCapture(s, &captured));
  EXPECT(captured == graph);
  cudaGraphExec_t exec = Instantiate(graph);
  CHECK(cudaGraphDestroy(graph));
  Launch(exec, s);
  EXPECT(host == 1006);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaStreamDestroy(inner));
}

cudaGraph_t Loop(int* left, int* sum, int by,
                 cudaGraphConditionalNodeType type = cudaGraphCondTypeWhile) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const Handle handle = MakeHandle(graph, 1);
  Conditional loop = Add(graph, handle, type, 1);
  AddKernel(loop.bodies[0], {AddKernel(loop.bodies[0], {}, AddTo, sum, by)},
            Count, handle, left);
  return graph;
}
// The executable graph takes over others of its shape, and its own graph.
void Updates(cudaStream_t s) {
  int* left = ToDevice(std::vector<int>(1, 0));
  int* sum = ToDevice(std::vector<int>(1, 0));
  cudaGraph_t graph = Loop(left, sum, 1);
  cudaGraphExec_t exec = Instantiate(graph), second;
  EXPECT(cudaGraphInstantiate(&second, graph, 0) == cudaErrorInvalidValue);
  cudaGetLastError();
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, graph, &info));
  for (const int by : {10, 100}) {
    cudaGraph_t next = Loop(left, sum, by);
    CHECK(cudaGraphExecUpdate(exec, next, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess);
    CHECK(cudaGraphDestroy(next));
    Put(left, 4);
    Put(sum, 0);
    Launch(exec, s);
    EXPECT(Get(sum) == 4 * by && Get(left) == 0);
  }
  // The first graph is free again.
  second = Instantiate(graph);
  Put(left, 4);
  Launch(second, s);
  EXPECT(Get(sum) == 404);
  CHECK(cudaGraphExecDestroy(second));
  cudaGraph_t other = Loop(left, sum, 1, cudaGraphCondTypeIf);
  EXPECT(cudaGraphExecUpdate(exec, other, &info) ==
         cudaErrorGraphExecUpdateFailure);
  EXPECT(info.result == cudaGraphExecUpdateErrorParametersChanged);
  cudaGetLastError();
  CHECK(cudaGraphDestroy(other));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

// A handle is one node's, in its graph; bodies are the node's, and hold what
// CUDA lets them hold; graphs with such nodes are no part of others.
void CUDART_CB Nothing(void*) {}
void Refused(cudaStream_t s) {
  cudaGraph_t graph, other;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&other, 0));
  const Handle handle = MakeHandle(graph);
  Conditional made = {};
  struct {
    cudaGraphConditionalNodeType type;
    unsigned size;
  } wrong[] = {
      {cudaGraphCondTypeIf, 0},     {cudaGraphCondTypeIf, 3},
      {cudaGraphCondTypeWhile, 0},  {cudaGraphCondTypeWhile, 2},
      {cudaGraphCondTypeSwitch, 0}, {cudaGraphConditionalNodeType(3), 1}};
  for (const auto& one : wrong) {
    EXPECT(TryAdd(graph, handle, one.type, one.size, {}, &made) ==
           cudaErrorInvalidValue);
  }
  EXPECT(TryAdd(graph, handle + 8, cudaGraphCondTypeIf, 1, {}, &made) ==
         cudaErrorInvalidValue);
  EXPECT(TryAdd(other, handle, cudaGraphCondTypeIf, 1, {}, &made) ==
         cudaErrorInvalidValue);
  Handle bad;
  EXPECT(cudaGraphConditionalHandleCreate(&bad, graph, 0, 2) ==
         cudaErrorInvalidValue);
  // A handle that is no node's.
  cudaGraphExec_t exec;
  cudaGraphInstantiateParams how = {};
  EXPECT(cudaGraphInstantiateWithParams(&exec, graph, &how) ==
         cudaErrorInvalidValue);
  EXPECT(how.result_out == cudaGraphInstantiateConditionalHandleUnused);

  made = Add(graph, handle, cudaGraphCondTypeIf, 1);
  cudaGraph_t body = made.bodies[0];
  EXPECT(TryAdd(graph, handle, cudaGraphCondTypeIf, 1, {}, &made) ==
         cudaErrorInvalidValue);
  cudaGraphNode_t node;
  cudaGraph_t clone;
  EXPECT(cudaGraphClone(&clone, graph) == cudaErrorInvalidValue);
  EXPECT(cudaGraphAddChildGraphNode(&node, other, nullptr, 0, graph) ==
         cudaErrorInvalidValue);
  EXPECT(cudaGraphDestroy(body) == cudaErrorInvalidValue);
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  Launch(exec, s);
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  EXPECT(cudaGraphLaunch(exec, s) == cudaErrorNotSupported);
  CHECK(cudaStreamEndCapture(s, &clone));
  CHECK(cudaGraphExecDestroy(exec));

  cudaHostNodeParams function = {Nothing, nullptr};
  CHECK(cudaGraphAddHostNode(&node, body, nullptr, 0, &function));
  EXPECT(cudaGraphInstantiateWithParams(&exec, graph, &how) ==
         cudaErrorNotSupported);
  EXPECT(how.result_out == cudaGraphInstantiateNodeOperationNotSupported);
  EXPECT(how.errNode_out == node);
  cudaGetLastError();
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(other));
}

int main() {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  IfElse(s);
  While(s);
  Switch(s);
  Nested(s);
  Captured(s);
  Updates(s);
  Refused(s);
  return Pass();
}
