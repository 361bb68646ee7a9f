// Graphs that kernels launch: fired and forgotten, in the tail, as siblings.
//
// RUN: %check %s %t -rdc=true -lcudadevrt
#include "program.h"

// What happened, in order.
struct Log {
  int count;
  int entries[62];
};
__device__ void Note(Log* log, int what) {
  log->entries[atomicAdd(&log->count, 1)] = what;
}

__global__ void Say(Log* log, int what) { Note(log, what); }
__global__ void Fire(Log* log, int what, cudaGraphExec_t first,
                     cudaGraphExec_t second, cudaGraphExec_t tail,
                     int* errors) {
  Note(log, what);
  if (first) *errors |= cudaGraphLaunch(first, cudaStreamGraphFireAndForget);
  if (tail) *errors |= cudaGraphLaunch(tail, cudaStreamGraphTailLaunch);
  if (second) *errors |= cudaGraphLaunch(second, cudaStreamGraphFireAndForget);
}
__global__ void Sibling(Log* log, int what, cudaGraphExec_t exec,
                        cudaGraphExec_t tail) {
  Note(log, what);
  cudaGraphLaunch(tail, cudaStreamGraphTailLaunch);
  cudaGraphLaunch(exec, cudaStreamGraphFireAndForgetAsSibling);
}
// Launches its own graph again, until none are left.
__global__ void Again(int* left, int* runs) {
  ++*runs;
  if (--*left > 0) {
    cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
  }
}
__global__ void Wrong(cudaGraphExec_t exec, int* errors) {
  errors[0] = cudaGraphLaunch(nullptr, cudaStreamGraphTailLaunch);
  errors[1] = cudaGraphLaunch(exec, cudaStream_t(0));
  errors[2] = cudaGetLastError();
  errors[3] = cudaGetCurrentGraphExec() != nullptr;
}
// Its own graph, which runs still.
__global__ void Itself(Log* log) {
  Note(log, 1);
  cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphFireAndForget);
}
__global__ void Outside(int* current) {
  *current = cudaGetCurrentGraphExec() != nullptr;
}

template <typename... Params, typename... Args>
cudaGraph_t Graph(cudaStream_t s, void (*kernel)(Params...), Args... args) {
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  kernel<<<1, 1, 0, s>>>(args...);
  CHECK(cudaStreamEndCapture(s, &graph));
  return graph;
}
template <typename... Params, typename... Args>
cudaGraphExec_t ForDevice(cudaStream_t s, void (*kernel)(Params...),
                          Args... args) {
  cudaGraph_t graph = Graph(s, kernel, args...);
  cudaGraphExec_t exec;
  CHECK(
      cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
  unsigned long long flags = 0;
  CHECK(cudaGraphExecGetFlags(exec, &flags));
  EXPECT(flags == cudaGraphInstantiateFlagDeviceLaunch);
  CHECK(cudaGraphUpload(exec, s));
  CHECK(cudaGraphDestroy(graph));
  return exec;
}

void Expect(cudaGraphExec_t exec, cudaStream_t s, Log* log,
            const std::vector<int>& wanted) {
  CHECK(cudaMemset(log, 0, sizeof *log));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  const Log got = ToHost(log, 1)[0];
  EXPECT(got.count == int(wanted.size()));
  for (int i = 0; i < got.count; ++i) EXPECT(got.entries[i] == wanted[i]);
}

void Orders(cudaStream_t s) {
  Log* log = ToDevice(std::vector<Log>(1));
  int* errors = ToDevice(std::vector<int>(1, 0));
  cudaGraphExec_t none = nullptr;
  cudaGraphExec_t one = ForDevice(s, Say, log, 1);
  cudaGraphExec_t two = ForDevice(s, Say, log, 2);
  cudaGraphExec_t last = ForDevice(s, Say, log, 9);
  Expect(one, s, log, {1});  // by the host, too

  // What is fired runs before the tail.
  cudaGraphExec_t fire = ForDevice(s, Fire, log, 5, one, two, last, errors);
  Expect(fire, s, log, {5, 1, 2, 9});
  // The graph that is fired has all of its own first, and a tail of a tail
  // comes before what stands behind that.
  cudaGraphExec_t outer = ForDevice(s, Fire, log, 6, fire, two, last, errors);
  Expect(outer, s, log, {6, 5, 1, 2, 9, 2, 9});
  cudaGraphExec_t tail = ForDevice(s, Fire, log, 7, none, none, one, errors);
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  Fire<<<1, 1, 0, s>>>(log, 3, none, none, tail, errors);
  Fire<<<1, 1, 0, s>>>(log, 4, two, none, last, errors);
  Say<<<1, 1, 0, s>>>(log, 8);
  CHECK(cudaStreamEndCapture(s, &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  Expect(exec, s, log, {3, 4, 2, 8, 7, 1, 9});
  Expect(exec, s, log, {3, 4, 2, 8, 7, 1, 9});
  // A sibling is none of those that the tail waits for; here it comes first.
  cudaGraphExec_t sibling = ForDevice(s, Sibling, log, 5, two, last);
  Expect(sibling, s, log, {5, 2, 9});
  // What follows in the stream waits for all.
  CHECK(cudaMemset(log, 0, sizeof *log));
  CHECK(cudaGraphLaunch(fire, s));
  Say<<<1, 1, 0, s>>>(log, 10);
  CHECK(cudaStreamSynchronize(s));
  EXPECT(ToHost(log, 1)[0].entries[4] == 10);
  EXPECT(ToHost(errors, 1)[0] == 0);
  for (cudaGraphExec_t e : {one, two, last, fire, outer, tail, exec, sibling}) {
    CHECK(cudaGraphExecDestroy(e));
  }
  CHECK(cudaGraphDestroy(graph));
}

void Loops(cudaStream_t s) {
  int* left = ToDevice(std::vector<int>(1, 300));
  int* runs = ToDevice(std::vector<int>(1, 0));
  cudaGraphExec_t exec = ForDevice(s, Again, left, runs);
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  EXPECT(ToHost(runs, 1)[0] == 300 && ToHost(left, 1)[0] == 0);
  CHECK(cudaGraphExecDestroy(exec));
}

void CUDART_CB Nothing(void*) {}
void Refused(cudaStream_t s) {
  Log* log = ToDevice(std::vector<Log>(1));
  int* errors = ToDevice(std::vector<int>(4, -1));
  cudaGraph_t graph = Graph(s, Say, log, 1);
  cudaGraphExec_t plain, device;
  CHECK(cudaGraphInstantiate(&plain, graph, 0));
  device = ForDevice(s, Wrong, plain, errors);
  CHECK(cudaGraphLaunch(device, s));
  CHECK(cudaStreamSynchronize(s));
  std::vector<int> got = ToHost(errors, 4);
  EXPECT(got[0] == cudaErrorInvalidValue && got[1] == cudaErrorInvalidValue);
  EXPECT(got[2] == cudaErrorInvalidValue && got[3] == 1);
  Outside<<<1, 1, 0, s>>>(errors);
  EXPECT(ToHost(errors, 1)[0] == 0);
  CHECK(cudaGraphExecDestroy(device));
  // What is not for the device does not run, nor what runs.
  device = ForDevice(s, Fire, log, 1, plain, nullptr, nullptr, errors);
  Expect(device, s, log, {1});
  CHECK(cudaGraphExecDestroy(device));
  device = ForDevice(s, Itself, log);
  Expect(device, s, log, {1});
  CHECK(cudaGraphExecDestroy(device));
  CHECK(cudaGraphExecDestroy(plain));
  CHECK(cudaGraphDestroy(graph));

  cudaGraphInstantiateParams how = {};
  how.flags = cudaGraphInstantiateFlagDeviceLaunch;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaLaunchHostFunc(s, Nothing, nullptr));
  CHECK(cudaStreamEndCapture(s, &graph));
  EXPECT(cudaGraphInstantiateWithParams(&device, graph, &how) ==
         cudaErrorNotSupported);
  EXPECT(how.result_out == cudaGraphInstantiateNodeOperationNotSupported);
  EXPECT(cudaGraphInstantiate(&device, graph,
                              cudaGraphInstantiateFlagDeviceLaunch |
                                  cudaGraphInstantiateFlagAutoFreeOnLaunch) ==
         cudaErrorInvalidValue);
  cudaGetLastError();
  CHECK(cudaGraphDestroy(graph));
}

int main() {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  Orders(s);
  Loops(s);
  Refused(s);
  return Pass();
}
