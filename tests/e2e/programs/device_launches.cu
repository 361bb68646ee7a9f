// Kernels that launch kernels: order in streams, fire and forget, tail
// launches, depth, copies, questions and errors.
//
// RUN: %check %s %t -rdc=true -lcudadevrt
#include <algorithm>

#include "program.h"

__device__ int g_time;  // counts what has happened

__device__ int Now() { return atomicAdd(&g_time, 1); }

__global__ void Set(int* out, int value) { *out = value; }
__global__ void Note(int* out) { *out = Now(); }
__global__ void Double(int* out) { *out *= 2; }
__global__ void AddOne(int* out) { atomicAdd(out, 1); }

// ---- The null stream --------------------------------------------------------

__global__ void FillBlock(int* out, int value) { out[threadIdx.x] = value; }
__global__ void SumBlock(const int* in, int* sum) {
  atomicAdd(sum, in[threadIdx.x]);
}
// One thread's launches follow each other, and see what the block wrote.
__global__ void InOrder(int* scratch, int* sum) {
  int* mine = scratch + 64 * blockIdx.x;
  mine[threadIdx.x] = 7;
  __syncthreads();
  if (threadIdx.x != 0) return;
  SumBlock<<<1, 64>>>(mine, sum);
  FillBlock<<<1, 64>>>(mine, 1 + int(blockIdx.x));
  SumBlock<<<1, 64>>>(mine, sum);
}
void TestNullStream() {
  int* scratch = ToDevice(std::vector<int>(3 * 64));
  int* sum = ToDevice(std::vector<int>(1));
  InOrder<<<3, 64>>>(scratch, sum);
  Double<<<1, 1>>>(sum);  // behind all children
  EXPECT(ToHost(sum, 1)[0] == 2 * (3 * 64 * 7 + 64 * (1 + 2 + 3)));
}

// All threads of a block share a stream: the second launch is behind all of
// the first ones.
__global__ void OneStreamForBlock(int* count, int* seen) {
  AddOne<<<1, 1>>>(count);
  __syncthreads();
  if (threadIdx.x == 0) cudaMemcpyAsync(seen, count, 4, cudaMemcpyDefault, 0);
}
void TestOneStreamForBlock() {
  int* out = ToDevice(std::vector<int>(2));
  OneStreamForBlock<<<1, 100>>>(out, out + 1);
  EXPECT(ToHost(out, 2) == std::vector<int>({100, 100}));
}

// ---- Streams of the host ----------------------------------------------------

__global__ void OnlyAllocates(int* out) {
  int* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, 16);
  if (error != cudaSuccess) return;
  *memory = 30;
  *out = *memory;
  cudaFree(memory);
}

void TestHostStreams() {
  cudaStream_t first, second;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  cudaEvent_t event;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  int* scratch = ToDevice(std::vector<int>(64));
  int* sum = ToDevice(std::vector<int>(1));
  InOrder<<<1, 64, 0, first>>>(scratch, sum);
  CHECK(cudaEventRecord(event, first));
  CHECK(cudaStreamWaitEvent(second, event, 0));
  Double<<<1, 1, 0, second>>>(sum);
  CHECK(cudaStreamSynchronize(second));
  EXPECT(ToHost(sum, 1)[0] == 2 * (64 * 7 + 64));
  // Kernels that allocate are none that launch.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
  OnlyAllocates<<<1, 1, 0, first>>>(sum);
  CHECK(cudaStreamEndCapture(first, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, first));
  CHECK(cudaStreamSynchronize(first));
  EXPECT(ToHost(sum, 1)[0] == 30);
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
}

// ---- Graphs -----------------------------------------------------------------

int RunGraph(cudaGraphExec_t exec, cudaStream_t stream, const int* sum) {
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  return ToHost(sum, 1)[0];
}

constexpr int kSum = 64 * 7 + 64;
struct Graphs {
  cudaStream_t stream, other;
  int* scratch = ToDevice(std::vector<int>(64));
  int* sum = ToDevice(std::vector<int>(1));
  int* beside = ToDevice(std::vector<int>(1));

  void Captured();
  void Within(cudaGraph_t graph, cudaGraphExec_t exec, int first);
  void Built();
};

// What stands behind a kernel of a graph finds what its children have done.
void Graphs::Captured() {
  cudaEvent_t fork, join;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  int* more = ToDevice(std::vector<int>(64));
  cudaGraph_t graph = nullptr, whole = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  Set<<<1, 1, 0, stream>>>(sum, 0);
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(other, fork, 0));
  Set<<<1, 1, 0, other>>>(beside, 5);
  InOrder<<<1, 64, 0, stream>>>(scratch, sum);
  Double<<<1, 1, 0, stream>>>(sum);
  InOrder<<<1, 64, 0, other>>>(more, beside);
  CHECK(cudaEventRecord(join, other));
  CHECK(cudaStreamWaitEvent(stream, join, 0));
  Double<<<1, 1, 0, stream>>>(beside);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT(ToHost(sum, 1)[0] == 0);
  const int first = RunGraph(exec, stream, sum);
  EXPECT(first == 2 * kSum);
  const int at_the_side = ToHost(beside, 1)[0];
  EXPECT(at_the_side != 0);
  EXPECT(RunGraph(exec, stream, sum) == first);
  EXPECT(ToHost(beside, 1)[0] == at_the_side);

  Within(graph, exec, first);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
}

// In another graph: as a child, and launched into a capture.
void Graphs::Within(cudaGraph_t graph, cudaGraphExec_t exec, int first) {
  for (const bool captured : {false, true}) {
    cudaGraph_t whole = nullptr;
    cudaGraphExec_t outer = nullptr;
    cudaGraphNode_t child = nullptr, doubled = nullptr;
    if (captured) {
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
      CHECK(cudaGraphLaunch(exec, stream));
      Double<<<1, 1, 0, stream>>>(sum);
      CHECK(cudaStreamEndCapture(stream, &whole));
    } else {
      void* args[] = {&sum};
      cudaKernelNodeParams params = {};
      params.func = reinterpret_cast<void*>(Double);
      params.gridDim = params.blockDim = dim3(1);
      params.kernelParams = args;
      CHECK(cudaGraphCreate(&whole, 0));
      CHECK(cudaGraphAddChildGraphNode(&child, whole, nullptr, 0, graph));
      CHECK(cudaGraphAddKernelNode(&doubled, whole, &child, 1, &params));
    }
    CHECK(cudaGraphInstantiate(&outer, whole, 0));
    CHECK(cudaMemset(sum, 0, sizeof *sum));
    EXPECT(RunGraph(outer, stream, sum) == 2 * first);
    EXPECT(RunGraph(outer, stream, sum) == 2 * first);
    if (!captured) {
      CHECK(cudaGraphExecChildGraphNodeSetParams(outer, child, graph));
      EXPECT(RunGraph(outer, stream, sum) == 2 * first);
    }
    CHECK(cudaGraphExecDestroy(outer));
    CHECK(cudaGraphDestroy(whole));
  }
}

// Built by hand, and changed when it is executable.
void Graphs::Built() {
  cudaGraph_t whole = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphCreate(&whole, 0));
  void* arguments[] = {&scratch, &sum};
  void* of_double[] = {&sum};
  cudaKernelNodeParams launches = {}, doubles = {};
  launches.func = reinterpret_cast<void*>(InOrder);
  launches.gridDim = dim3(1);
  launches.blockDim = dim3(64);
  launches.kernelParams = arguments;
  doubles.func = reinterpret_cast<void*>(Double);
  doubles.gridDim = doubles.blockDim = dim3(1);
  doubles.kernelParams = of_double;
  cudaMemsetParams clear = {};
  clear.dst = sum;
  clear.elementSize = 4;
  clear.width = clear.height = 1;
  cudaGraphNode_t cleared, launched, doubled;
  CHECK(cudaGraphAddMemsetNode(&cleared, whole, nullptr, 0, &clear));
  CHECK(cudaGraphAddKernelNode(&launched, whole, &cleared, 1, &launches));
  CHECK(cudaGraphAddKernelNode(&doubled, whole, &launched, 1, &doubles));
  CHECK(cudaGraphInstantiate(&exec, whole, 0));
  EXPECT(RunGraph(exec, stream, sum) == 2 * kSum);
  CHECK(cudaMemset(beside, 0, sizeof *beside));
  arguments[1] = of_double[0] = &beside;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, launched, &launches));
  CHECK(cudaGraphExecKernelNodeSetParams(exec, doubled, &doubles));
  EXPECT(RunGraph(exec, stream, beside) == 2 * kSum);
  EXPECT(ToHost(sum, 1)[0] == 0);
  cudaGraphExecUpdateResultInfo info = {};
  CHECK(cudaGraphExecUpdate(exec, whole, &info));
  EXPECT(RunGraph(exec, stream, sum) == 2 * kSum);
  unsigned enabled = 2;
  CHECK(cudaGraphNodeSetEnabled(exec, launched, 0));
  CHECK(cudaGraphNodeGetEnabled(exec, launched, &enabled));
  EXPECT(enabled == 0 && RunGraph(exec, stream, sum) == 0);
  CHECK(cudaGraphNodeSetEnabled(exec, launched, 1));
  EXPECT(RunGraph(exec, stream, sum) == 2 * kSum);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(whole));
}

void TestGraphs() {
  Graphs graphs;
  CHECK(cudaStreamCreateWithFlags(&graphs.stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&graphs.other, cudaStreamNonBlocking));
  graphs.Captured();
  graphs.Built();
  CHECK(cudaStreamDestroy(graphs.other));
  CHECK(cudaStreamDestroy(graphs.stream));
}

// ---- Depth ------------------------------------------------------------------

__global__ void Descend(int depth, int* deepest) {
  atomicMax(deepest, depth);
  if (depth < 40) Descend<<<1, 1>>>(depth + 1, deepest);
}
// A tree: what stands behind it waits for all of it.
__global__ void Grow(int depth, int* leaves) {
  if (depth == 0) {
    atomicAdd(leaves, 1);
    return;
  }
  Grow<<<2, 1>>>(depth - 1, leaves);
}
__global__ void GrowThen(int* leaves, int* seen) {
  Grow<<<2, 1>>>(5, leaves);
  cudaMemcpyAsync(seen, leaves, 4, cudaMemcpyDeviceToDevice, 0);
}
void TestDepth() {
  int* out = ToDevice(std::vector<int>(3));
  Descend<<<1, 1>>>(1, out);
  GrowThen<<<1, 1>>>(out + 1, out + 2);
  EXPECT(ToHost(out, 3) == std::vector<int>({40, 64, 64}));
}

// ---- Fire and forget, tail launches -----------------------------------------

__global__ void NoteWithChild(int* out) {
  out[0] = Now();
  Note<<<1, 1>>>(out + 1);
  Note<<<1, 1, 0, cudaStreamTailLaunch>>>(out + 2);
}
__global__ void TailLast(int* out) {
  NoteWithChild<<<1, 1, 0, cudaStreamTailLaunch>>>(out);
  Note<<<1, 1, 0, cudaStreamTailLaunch>>>(out + 3);
  NoteWithChild<<<1, 1, 0, cudaStreamFireAndForget>>>(out + 4);
  NoteWithChild<<<1, 1>>>(out + 7);
  out[10] = Now();
}
void TestTail() {
  int* out = ToDevice(std::vector<int>(12));
  TailLast<<<1, 1>>>(out);
  Note<<<1, 1>>>(out + 11);
  const std::vector<int> at = ToHost(out, 12);
  EXPECT(at[4] < at[5] && at[5] < at[6]);
  EXPECT(at[7] < at[8] && at[8] < at[9]);
  const int last = std::max({at[6], at[9], at[10]});
  EXPECT(last < at[0] && at[0] < at[1] && at[1] < at[2] && at[2] < at[3]);
  EXPECT(at[3] < at[11]);
}

// ---- Named streams, events --------------------------------------------------

__global__ void WithEvents(int* out, int* errors) {
  cudaStream_t a, b;
  cudaEvent_t event, never;
  *errors += cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  *errors += cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  *errors += cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  *errors += cudaEventCreateWithFlags(&never, cudaEventDisableTiming);
  Grow<<<1, 1, 0, a>>>(4, out);
  *errors += cudaEventRecord(event, a);
  Set<<<1, 1, 0, a>>>(out + 1, 5);
  *errors += cudaStreamWaitEvent(b, never, 0);
  *errors += cudaStreamWaitEvent(b, event, 0);
  *errors += cudaMemcpyAsync(out + 2, out, 4, cudaMemcpyDeviceToDevice, b);
  *errors += cudaEventDestroy(event);
  *errors += cudaEventDestroy(never);
  *errors += cudaStreamDestroy(a);
  *errors += cudaStreamDestroy(b);
}
void TestEvents() {
  int* out = ToDevice(std::vector<int>(4));
  WithEvents<<<1, 1>>>(out, out + 3);
  EXPECT(ToHost(out, 4) == std::vector<int>({16, 5, 16, 0}));
}

// ---- Copies and memory ------------------------------------------------------

__global__ void Copies(unsigned char* bytes, int* errors) {
  *errors += cudaMemsetAsync(bytes, 1, 64, 0);
  *errors += cudaMemset2DAsync(bytes + 1, 8, 2, 3, 4, 0);
  *errors +=
      cudaMemcpyAsync(bytes + 64, bytes, 64, cudaMemcpyDeviceToDevice, 0);
  *errors += cudaMemcpy2DAsync(bytes + 128, 4, bytes, 8, 4, 8,
                               cudaMemcpyDeviceToDevice, 0);
  cudaMemcpy3DParms all = {};
  all.srcPtr = {bytes, 8, 8, 4};
  all.dstPtr = {bytes + 160, 4, 4, 4};
  all.srcPos = {2, 1, 0};
  all.extent = {2, 2, 2};
  all.kind = cudaMemcpyDeviceToDevice;
  *errors += cudaMemcpy3DAsync(&all, 0);
  const cudaPitchedPtr to = {bytes + 192, 8, 8, 2};
  const cudaExtent extent = {2, 1, 2};
  *errors += cudaMemset3DAsync(to, 3, extent, 0);
}
__global__ void WriteTo(int* memory, int n) {
  if (threadIdx.x < n) memory[threadIdx.x] = 3 * int(threadIdx.x);
}
__global__ void SumAndFree(int* memory, int n, int* sum) {
  for (int i = 0; i < n; ++i) *sum += memory[i];
  cudaFree(memory);
}
__global__ void Allocates(int* sum, int* errors) {
  int* memory = nullptr;
  *errors += cudaMalloc(&memory, 50 * sizeof(int));
  WriteTo<<<1, 64>>>(memory, 50);
  SumAndFree<<<1, 1, 0, cudaStreamTailLaunch>>>(memory, 50, sum);
}
void TestMemory() {
  unsigned char* bytes = ToDevice(std::vector<unsigned char>(256));
  int* out = ToDevice(std::vector<int>(2));
  Copies<<<1, 1>>>(bytes, out + 1);
  Allocates<<<1, 1>>>(out, out + 1);
  EXPECT(ToHost(out, 2) == std::vector<int>({3 * 49 * 50 / 2, 0}));
  std::vector<unsigned char> want(256);
  for (int i = 0; i < 64; ++i) {
    const bool inside = i < 32 && i % 8 >= 1 && i % 8 < 4;
    want[i] = want[64 + i] = inside ? 2 : 1;
  }
  for (int i = 0; i < 32; ++i) want[128 + i] = want[i / 4 * 8 + i % 4];
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 2; ++x) {
        want[160 + z * 16 + y * 4 + x] = want[z * 32 + (y + 1) * 8 + x + 2];
        if (y == 0) want[192 + z * 16 + x] = 3;
      }
    }
  }
  EXPECT(ToHost(bytes, 256) == want);
}

// ---- What is launched -------------------------------------------------------

struct Large {
  int numbers[100];
  double scale;
};
__global__ void TakesLarge(Large large, char shift, double* out) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = large.numbers[threadIdx.x];
  __syncthreads();
  if (threadIdx.x != 0) return;
  *out = 0;
  for (int i = 0; i < 100; ++i) *out += shared[i] << shift;
  *out *= large.scale;
}
using Kernel = void (*)(int*);
__device__ Kernel g_kernels[] = {AddOne, Double};
__global__ void Various(int* out, double* large_out) {
  Large large;
  for (int i = 0; i < 100; ++i) large.numbers[i] = i;
  large.scale = 0.5;
  TakesLarge<<<1, 100, 100 * sizeof(int)>>>(large, 2, large_out);
  for (int i = 0; i < 6; ++i) g_kernels[i % 2]<<<1, 1>>>(out);
}
// More shared memory than every kernel may have; the host allows it.
__global__ void TakesMuch(int* out) {
  extern __shared__ int shared[];
  shared[60 * 256 - 1] = 3;
  *out = shared[60 * 256 - 1];
}
__global__ void LaunchesMuch(int* out, int* error) {
  TakesMuch<<<1, 1, 60 * 1024>>>(out);
  *error = cudaGetLastError();
}
__global__ void LaunchesEach(int* out) { AddOne<<<1, 1>>>(out); }
void TestVarious() {
  int* out = ToDevice(std::vector<int>(2));
  double* large = ToDevice(std::vector<double>(1));
  Various<<<1, 1>>>(out, large);
  LaunchesEach<<<24, 128>>>(out + 1);
  EXPECT(ToHost(out, 2) == std::vector<int>({14, 24 * 128}));
  EXPECT(ToHost(large, 1)[0] == 0.5 * 4 * 4950);
  int* much = ToDevice(std::vector<int>(2));
  LaunchesMuch<<<1, 1>>>(much, much + 1);
  EXPECT(ToHost(much, 2) == std::vector<int>({0, cudaErrorInvalidValue}));
  CHECK(cudaFuncSetAttribute(
      TakesMuch, cudaFuncAttributeMaxDynamicSharedMemorySize, 60 * 1024));
  LaunchesMuch<<<1, 1>>>(much, much + 1);
  EXPECT(ToHost(much, 2) == std::vector<int>({3, cudaSuccess}));
}

// ---- Questions and errors ---------------------------------------------------

__device__ bool Same(const char* a, const char* b) {
  for (; *a != 0 && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}
struct Answers {
  int device, count, threads, version, blocks;
  size_t limit;
  int max_threads, ptx;
  size_t shared;
  bool texts;
};
__global__ void Asks(Answers* a) {
  cudaGetDevice(&a->device);
  cudaGetDeviceCount(&a->count);
  cudaDeviceGetAttribute(&a->threads, cudaDevAttrMaxThreadsPerBlock, a->device);
  cudaRuntimeGetVersion(&a->version);
  cudaDeviceGetLimit(&a->limit, cudaLimitMallocHeapSize);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a->blocks, TakesLarge, 64, 0);
  cudaFuncAttributes function;
  cudaFuncGetAttributes(&function, Asks);
  a->max_threads = function.maxThreadsPerBlock;
  a->ptx = function.ptxVersion;
  a->shared = function.sharedSizeBytes;
  a->texts = Same(cudaGetErrorName(cudaErrorLaunchPendingCountExceeded),
                  "cudaErrorLaunchPendingCountExceeded") &&
             Same(cudaGetErrorString(cudaSuccess), "no error");
}
__global__ void Errors(int* out) {
  Set<<<1, 5000>>>(out, 1);
  out[1] = cudaPeekAtLastError();
  out[2] = cudaGetLastError();
  out[3] = cudaGetLastError();
  Set<<<0, 1>>>(out, 1);
  out[4] = cudaGetLastError();
  Set<<<1, 1, 1 << 20>>>(out, 1);
  out[5] = cudaGetLastError();
  cudaStream_t stream;
  out[6] = cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
  out[7] = cudaGetLastError();
  // An error is its thread's own.
  if (threadIdx.x == 1) Set<<<1, 1, 0, (cudaStream_t)12345>>>(out, 1);
  if (threadIdx.x == 0) out[8] = cudaGetLastError();
  if (threadIdx.x == 1) out[9] = cudaGetLastError();
}
// What waits for the end of its parent is pending up to there.
__global__ void TooMany(int* out, int* good, int* errors) {
  for (int i = 0; i < 10; ++i) {
    AddOne<<<1, 1, 0, cudaStreamTailLaunch>>>(out);
    const cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) atomicAdd(good, 1);
    if (error == cudaErrorLaunchPendingCountExceeded) atomicAdd(errors, 1);
  }
}
void TestErrors() {
  Answers* answers = ToDevice(std::vector<Answers>(1));
  Asks<<<1, 1>>>(answers);
  const Answers a = ToHost(answers, 1)[0];
  int threads = 0, count = 0;
  size_t limit = 0;
  cudaFuncAttributes function;
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0));
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  CHECK(cudaFuncGetAttributes(&function, Asks));
  EXPECT(a.device == 0 && a.count == count && a.threads == threads);
  EXPECT(a.version >= 12000 && a.limit == limit && a.blocks > 0);
  EXPECT(a.max_threads == function.maxThreadsPerBlock);
  EXPECT(a.ptx == function.ptxVersion && a.shared == function.sharedSizeBytes);
  EXPECT(a.texts);

  int* out = ToDevice(std::vector<int>(10));
  Errors<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  Errors<<<1, 2>>>(out);
  EXPECT(ToHost(out, 10) ==
         std::vector<int>({0, cudaErrorInvalidConfiguration,
                           cudaErrorInvalidConfiguration, cudaSuccess,
                           cudaErrorInvalidConfiguration, cudaErrorInvalidValue,
                           cudaErrorInvalidValue, cudaErrorInvalidValue,
                           cudaSuccess, cudaErrorInvalidResourceHandle}));

  CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 16));
  for (int round = 1; round <= 2; ++round) {
    int* counts = ToDevice(std::vector<int>(3));
    TooMany<<<2, 2>>>(counts, counts + 1, counts + 2);
    EXPECT(ToHost(counts, 3) == std::vector<int>({16, 16, 24}));
  }
}

__global__ void Traps() { asm volatile("trap;"); }
__global__ void LaunchesTrap(int* out) {
  Traps<<<1, 1>>>();
  AddOne<<<1, 1>>>(out);
}

int main() {
  TestNullStream();
  TestOneStreamForBlock();
  TestHostStreams();
  TestGraphs();
  TestDepth();
  TestTail();
  TestEvents();
  TestMemory();
  TestVarious();
  TestErrors();
  // A child's fault is the context's.
  int* out = ToDevice(std::vector<int>(1));
  LaunchesTrap<<<1, 1>>>(out);
  EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  return Pass();
}
