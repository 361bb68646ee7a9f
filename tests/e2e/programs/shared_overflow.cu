// More shared memory than an AMD GPU has, in device memory. Blocks of several
// streams and of a captured graph keep theirs apart.
//
// RUN: env CONVERT=--shared-overflow=global %check %s %t
#include "program.h"

constexpr int kWords = 25 * 1024;  // 100 KiB
constexpr int kThreads = 128;

extern __shared__ unsigned words[];

// Reads through a generic pointer, which must find the block's own words.
__device__ __noinline__ unsigned Read(const unsigned* p) { return *p; }

// Fills the block's words, mixes them, and counts in them.
__global__ void Mix(unsigned* out, unsigned seed) {
  __shared__ unsigned odd;
  if (threadIdx.x == 0) odd = 0;
  seed += blockIdx.x + gridDim.x * blockIdx.y;
  for (int i = threadIdx.x; i < kWords; i += blockDim.x) words[i] = seed + i;
  __syncthreads();
  unsigned sum = 0;
  for (int i = threadIdx.x; i < kWords; i += blockDim.x) {
    sum += Read(words + (kWords - 1 - i));
  }
  if (sum % 2 == 1) atomicAdd(&odd, 1u);
  __syncthreads();
  if (threadIdx.x == 0) words[kWords - 1] = 0;
  __syncthreads();
  atomicAdd(words + kWords - 1, sum);
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned* mine = out + 3 * (blockIdx.x + gridDim.x * blockIdx.y);
    mine[0] = words[kWords - 1];
    mine[1] = odd;
    mine[2] = __isShared(words + kWords - 1) + 2 * __isShared(out) +
              4 * __isGlobal(words);
  }
}

struct Expected {
  unsigned sum = 0, odd = 0;
  explicit Expected(unsigned seed) {
    for (int t = 0; t < kThreads; ++t) {
      unsigned part = 0;
      for (int i = t; i < kWords; i += kThreads) part += seed + kWords - 1 - i;
      sum += part;
      odd += part % 2;
    }
  }
};

void Compare(const unsigned* device, int blocks, unsigned seed) {
  const auto got = ToHost(device, 3 * blocks);
  for (int b = 0; b < blocks; ++b) {
    const Expected want(seed + b);
    EXPECT(got[3 * b] == want.sum);
    EXPECT(got[3 * b + 1] == want.odd);
    EXPECT(got[3 * b + 2] == 1);
  }
}

void TestGraphs(unsigned* (&out)[3], cudaStream_t (&streams)[2], int bytes) {
  // A captured launch, beside one on a stream.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
  Mix<<<2, kThreads, bytes, streams[0]>>>(out[2], 60);
  CHECK(cudaStreamEndCapture(streams[0], &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, streams[0]));
  Mix<<<2, kThreads, bytes, streams[1]>>>(out[1], 70);
  CHECK(cudaDeviceSynchronize());
  Compare(out[2], 2, 60);
  Compare(out[1], 2, 70);

  // Two nodes that were added and do not wait for each other.
  CHECK(cudaGraphCreate(&graph, 0));
  unsigned seeds[2] = {80, 90};
  for (int i = 0; i < 2; ++i) {
    void* args[] = {&out[i], &seeds[i]};
    cudaKernelNodeParams node = {};
    node.func = reinterpret_cast<void*>(Mix);
    node.gridDim = 2;
    node.blockDim = kThreads;
    node.sharedMemBytes = bytes;
    node.kernelParams = args;
    cudaGraphNode_t added;
    CHECK(cudaGraphAddKernelNode(&added, graph, nullptr, 0, &node));
  }
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, streams[0]));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 2; ++i) Compare(out[i], 2, seeds[i]);
}

int main() {
  const int bytes = 4 * kWords;
  const std::vector<unsigned> zeros(3 * 8);
  unsigned* out[3];
  for (unsigned*& p : out) p = ToDevice(zeros);
  // As for any kernel, more than 48 KiB must be asked for; and an NVIDIA
  // GPU's limit is the limit.
  Mix<<<1, kThreads, bytes>>>(out[0], 1);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  const auto attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
  EXPECT(cudaFuncSetAttribute(Mix, attribute, 300 << 10) ==
         cudaErrorInvalidValue);
  cudaGetLastError();
  CHECK(cudaFuncSetAttribute(Mix, attribute, bytes));
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Mix, kThreads,
                                                      bytes));
  EXPECT(blocks > 0);

  // Growing, then again with what is there.
  Mix<<<1, kThreads, bytes>>>(out[0], 10);
  Compare(out[0], 1, 10);
  Mix<<<dim3(2, 3), kThreads, bytes>>>(out[0], 20);
  Compare(out[0], 6, 20);
  Mix<<<2, kThreads, bytes>>>(out[0], 30);
  Compare(out[0], 2, 30);

  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 2; ++i) {
    Mix<<<2, kThreads, bytes, streams[i]>>>(out[i], 40 + 10 * i);
  }
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 2; ++i) Compare(out[i], 2, 40 + 10 * i);

  TestGraphs(out, streams, bytes);

  // More blocks than a quarter of the memory has room for.
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  const auto many = static_cast<unsigned>(prop.totalGlobalMem / 4 / bytes + 2);
  Mix<<<many, kThreads, bytes>>>(out[0], 1);
  EXPECT(cudaGetLastError() == cudaErrorLaunchOutOfResources);

  // After a reset everything is made anew.
  CHECK(cudaDeviceReset());
  out[0] = ToDevice(zeros);
  CHECK(cudaFuncSetAttribute(Mix, attribute, bytes));
  Mix<<<1, kThreads, bytes>>>(out[0], 80);
  Compare(out[0], 1, 80);
  return Pass();
}
