// An executable graph that takes over graph after graph, each of which holds
// what a library captured: kernels, host functions and objects of its own in a
// child. So frameworks run that build a graph for each step. What is changed or
// destroyed goes on for the launches that were there.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Add(int* values, int by) { values[threadIdx.x] += by; }

namespace {

int g_alive = 0;

struct Step {
  int* sum;
  int value;
};
void CUDART_CB Run(void* data) {
  const auto* step = static_cast<const Step*>(data);
  *step->sum += step->value;
}
void CUDART_CB Destroy(void* data) {
  static_cast<Step*>(data)->value = -1'000'000;  // whoever still runs it shows
  delete static_cast<Step*>(data);
  --g_alive;
}

// A graph around a child that adds `value` to *sum and, by a kernel, to
// values[]. The kernel may be left out, or do so twice.
cudaGraph_t Around(cudaStream_t stream, int* values, int* sum, int value,
                   int kernels = 1) {
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  auto* step = new Step{sum, value};
  ++g_alive;
  CHECK(cudaLaunchHostFunc(stream, Run, step));
  for (int i = 0; i < kernels; ++i) Add<<<1, 32, 0, stream>>>(values, value);
  cudaGraph_t child, graph;
  CHECK(cudaStreamEndCapture(stream, &child));
  cudaUserObject_t object;
  CHECK(cudaUserObjectCreate(&object, step, Destroy, 1,
                             cudaUserObjectNoDestructorSync));
  CHECK(cudaGraphRetainUserObject(child, object, 1, cudaGraphUserObjectMove));
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t node;
  CHECK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  CHECK(cudaGraphDestroy(child));
  return graph;
}

__global__ void Await(volatile int* go) {
  while (*go == 0) {
  }
}

// Executable graphs that are destroyed before their launches begin.
void DestroyLaunched(cudaStream_t stream, int* values) {
  volatile int* go;
  CHECK(cudaMallocHost(&go, sizeof *go));
  *go = 0;
  CHECK(cudaMemset(values, 0, 32 * sizeof *values));
  int sum = 0;
  Await<<<1, 1, 0, stream>>>(go);
  for (int value = 1; value < 20; ++value) {
    cudaGraph_t graph = Around(stream, values, &sum, value);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphExecDestroy(exec));
  }
  *go = 1;
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(sum == 190);
  EXPECT(ToHost(values, 32)[31] == 190);
  CHECK(cudaFreeHost(const_cast<int*>(go)));
}

}  // namespace

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int* values = ToDevice(std::vector<int>(32, 0));
  int sum = 0;

  cudaGraphExec_t exec;
  cudaGraph_t graph = Around(stream, values, &sum, 1);
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphLaunch(exec, stream));
  int expected = 1;
  cudaGraphExecUpdateResultInfo info;
  for (int value = 2; value < 20; ++value) {
    graph = Around(stream, values, &sum, value);
    CHECK(cudaGraphExecUpdate(exec, graph, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess);
    CHECK(cudaGraphDestroy(graph));
    // The one before may still run.
    CHECK(cudaGraphLaunch(exec, stream));
    expected += value;
  }
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(sum == expected);
  EXPECT(ToHost(values, 32)[31] == expected);

  // A child of another shape, or with other kinds of nodes.
  for (const int kernels : {0, 2}) {
    graph = Around(stream, values, &sum, 100, kernels);
    EXPECT(cudaGraphExecUpdate(exec, graph, &info) ==
           cudaErrorGraphExecUpdateFailure);
    EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    cudaGetLastError();
    CHECK(cudaGraphDestroy(graph));
  }
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(sum == expected + 19);

  // A launch that is captured is a child, which keeps what it launches.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(sum == expected + 2 * 19);
  EXPECT(g_alive == 1);
  CHECK(cudaGraphExecDestroy(exec));
  DestroyLaunched(stream, values);
  CHECK(cudaDeviceSynchronize());
  EXPECT(g_alive == 0);
  return Pass();
}
