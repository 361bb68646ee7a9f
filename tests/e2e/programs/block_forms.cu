// A kernel whose values fit into registers in small blocks only has forms for
// those, and every way to launch it takes the right one: each gives the same
// result. With machine code beside the PTX that a GPU would run (-arch=sm_80),
// blocks that NVIDIA's registers rule out are refused.
//
// RUN: %check %s %t -rdc=true -lcudadevrt -arch=compute_80
// RUN: %check %s %t -rdc=true -lcudadevrt -arch=sm_80 -DBOUNDED
// RUN: env CONVERT=--shared-overflow=global %check %s %t -rdc=true \
// RUN:   -lcudadevrt -arch=compute_80
#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>

#include "program.h"

namespace cg = cooperative_groups;

constexpr int kValues = 120, kRounds = 3;

__constant__ float factors[2] = {0.5f, 0.25f};
__device__ unsigned launches;

__device__ __forceinline__ void Work(float* out, const float* in, int rounds) {
  extern __shared__ float dynamic[];
  __shared__ float shared[1024];
  const int n = blockDim.x, t = threadIdx.x;
  float v[kValues];
#pragma unroll
  for (int i = 0; i < kValues; ++i) v[i] = in[i * n + t];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    float next[kValues];
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      next[i] = v[i] * factors[0] + v[(i + 37) % kValues] * factors[1];
    }
    dynamic[t] = shared[t] = next[0];
    __syncthreads();
    next[0] = dynamic[n - 1 - t] + shared[(t + 1) % n];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kValues; ++i) v[i] = next[i];
  }
#pragma unroll
  for (int i = 0; i < kValues; ++i) out[i * n + t] = v[i];
  if (t == 0) atomicAdd(&launches, 1);
}

__global__ void Hungry(float* out, const float* in, int rounds) {
  const std::size_t block = std::size_t{kValues} * blockDim.x * blockIdx.x;
  Work(out + block, in + block, rounds);
}

__global__ void Together(float* out, const float* in, int rounds) {
  const std::size_t block = std::size_t{kValues} * blockDim.x * blockIdx.x;
  Work(out + block, in + block, rounds);
  cg::this_grid().sync();
  // What another block has written by now.
  const int other = (blockIdx.x + 1) % gridDim.x;
  const std::size_t first = std::size_t{kValues} * blockDim.x * other;
  float* mine = out + std::size_t{kValues} * blockDim.x * gridDim.x;
  mine[blockDim.x * blockIdx.x + threadIdx.x] = out[first + threadIdx.x];
}

__global__ void Parent(float* out, const float* in, int threads) {
  Hungry<<<2, threads, threads * sizeof(float)>>>(out, in, kRounds);
}

std::vector<float> Input(int threads, int blocks) {
  std::vector<float> in(std::size_t(kValues) * threads * blocks);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = float(i * 7 % 1021) / 8;
  return in;
}

std::vector<float> Expected(std::vector<float> v, int threads, int blocks) {
  for (int block = 0; block < blocks; ++block) {
    float* values = v.data() + std::size_t(kValues) * threads * block;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<float> next(std::size_t(kValues) * threads);
      for (int i = 0; i < kValues; ++i) {
        for (int t = 0; t < threads; ++t) {
          next[i * threads + t] =
              std::fma(values[(i + 37) % kValues * threads + t], 0.25f,
                       values[i * threads + t] * 0.5f);
        }
      }
      std::vector<float> first(next.begin(), next.begin() + threads);
      for (int t = 0; t < threads; ++t) {
        next[t] = first[threads - 1 - t] + first[(t + 1) % threads];
      }
      std::copy(next.begin(), next.end(), values);
    }
  }
  return v;
}

template <typename Launch>
void Check(int line, int threads, int blocks, Launch launch, int times = 1) {
  const std::vector<float> in = Input(threads, blocks);
  const std::vector<float> expected = Expected(in, threads, blocks);
  float* device_in = ToDevice(in);
  float* out = nullptr;
  // `Together` writes a row behind it.
  CHECK(cudaMalloc(&out, (in.size() + threads * blocks) * sizeof(float)));
  const unsigned zero = 0;
  CHECK(cudaMemcpyToSymbol(launches, &zero, sizeof zero));
  launch(out, device_in);
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> result = ToHost(out, in.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (std::fabs(result[i] - expected[i]) > 1e-3f * std::fabs(expected[i])) {
      std::printf("%d: blocks of %d: value %zu is %g, not %g\n", line, threads,
                  i, result[i], expected[i]);
      std::exit(1);
    }
  }
  // All forms count in the same variable.
  unsigned counted = 0;
  CHECK(cudaMemcpyFromSymbol(&counted, launches, sizeof counted));
  if (counted != unsigned(blocks * times)) {
    std::printf("%d: %u blocks counted\n", line, counted);
    std::exit(1);
  }
  CHECK(cudaFree(device_in));
  CHECK(cudaFree(out));
}

int MostThreads(void (*kernel)(float*, const float*, int)) {
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, kernel));
  return attributes.maxThreadsPerBlock;
}

void LaunchesOf(int threads) {
  const std::size_t shared = threads * sizeof(float);
  int rounds = kRounds;
  Check(__LINE__, threads, 2, [&](float* out, const float* in) {
    Hungry<<<2, threads, shared>>>(out, in, rounds);
  });
  Check(__LINE__, threads, 2, [&](float* out, const float* in) {
    cudaLaunchConfig_t config = {};
    config.gridDim = 2;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared;
    CHECK(cudaLaunchKernelEx(&config, Hungry, out, in, rounds));
  });
  // Of more threads not all blocks may be resident.
  if (threads <= std::min(512, MostThreads(Together))) {
    Check(__LINE__, threads, 2, [&](float* out, const float* in) {
      void* args[] = {&out, &in, &rounds};
      CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Together), 2,
                                        threads, args, shared, nullptr));
    });
  }
  Check(__LINE__, threads, 2, [&](float* out, const float* in) {
    Parent<<<1, 1>>>(out, in, threads);
  });
  Check(
      __LINE__, threads, 2,
      [&](float* out, const float* in) {
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        Hungry<<<2, threads, shared, stream>>>(out, in, rounds);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaGraphExecDestroy(exec));
        CHECK(cudaGraphDestroy(graph));
      },
      2);
}

// A node that gets blocks of another size, and with them another form.
void NodeOf(int before, int threads) {
  Check(__LINE__, threads, 1, [&](float* out, const float* in) {
    int rounds = kRounds, none = 0;
    void* args[] = {&out, &in, &none};
    cudaKernelNodeParams node_params = {};
    node_params.func = reinterpret_cast<void*>(Hungry);
    node_params.gridDim = 1;
    node_params.blockDim = before;
    node_params.sharedMemBytes = before * sizeof(float);
    node_params.kernelParams = args;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &node_params));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    args[2] = &rounds;
    node_params.blockDim = threads;
    node_params.sharedMemBytes = threads * sizeof(float);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &node_params));
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
  });
}

// What is too large does not fit; how large a block a multiprocessor holds is
// also a matter of the GPU.
void Occupancy(int most) {
  for (int threads = 32; threads <= 1024; threads += 32) {
    int blocks = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, Hungry, threads, threads * sizeof(float)));
    if (threads <= std::min(most, 512) ? blocks < 1
                                       : blocks > 0 && threads > most) {
      std::printf("blocks of %d: %d on a multiprocessor\n", threads, blocks);
      std::exit(1);
    }
  }
  int grid = 0, block = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, Hungry, 4096));
  if (block < 32 || block > most || grid < 1) {
    std::printf("proposed: %d blocks of %d\n", grid, block);
    std::exit(1);
  }
}

int main() {
  const int most = MostThreads(Hungry);
#ifdef BOUNDED
  // As many registers as nvcc of any version takes for 120 values.
  if (most < 256 || most > 480) {
    std::printf("at most %d threads\n", most);
    return 1;
  }
  Hungry<<<1, most + 32, 8192>>>(nullptr, nullptr, 0);
  EXPECT(cudaGetLastError() == cudaErrorLaunchOutOfResources);
#else
  EXPECT(most == 1024);
  // What is said of the kernel is true of those blocks.
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, Hungry));
  EXPECT(attributes.localSizeBytes != 0 && attributes.numRegs != 0);
#endif
  for (int threads : {64, 128, 256, 257, 512, 1024}) {
    if (threads <= most) LaunchesOf(threads);
  }
  NodeOf(64, most);
  NodeOf(most, 64);
  Occupancy(most);
  return Pass();
}
