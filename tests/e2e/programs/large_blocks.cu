// Blocks of 1,024 threads whose warps wait for each other: at barriers of their
// own, at named ones, in tiles of several warps, for flags, for a lock. On GPUs
// with waves of 64 such a block is one work-group only if two warps share each
// wave.
//
// RUN: %check %s %t -arch=compute_80
// RUN: %check %s %t -arch=compute_75 -G
// RUN: env CONVERT=--lanes=serial %check %s %t
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "program.h"

namespace cg = cooperative_groups;

constexpr int kThreads = 1024, kWarps = kThreads / 32;

// Warps of even and odd numbers come to a barrier of their own, as often as one
// another.
__global__ void BarriersAside(int* out) {
  __shared__ int words[kThreads];
  const int t = threadIdx.x;
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    words[t] = t + round;
    if (t / 32 % 2 == 0) {
      __syncthreads();
      sum += words[kThreads - 1 - t];
      __syncthreads();
    } else {
      __syncthreads();
      sum += 2 * words[(t + 512) % kThreads];
      __syncthreads();
    }
  }
  out[t] = sum;
}

__device__ void NamedSync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ void NamedArrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// The lower half of the warps fills one of two buffers while the upper half
// empties the other.
__global__ void HandOver(const int* in, int* out, int parts) {
  __shared__ int buffer[2][512];
  const int t = threadIdx.x;
  if (t < 512) {
    for (int part = 0; part < parts; ++part) {
      NamedSync(1 + part % 2, kThreads);  // is empty
      buffer[part % 2][t] = in[part * 512 + t];
      NamedArrive(3 + part % 2, kThreads);  // is full
    }
  } else {
    NamedArrive(1, kThreads);
    NamedArrive(2, kThreads);
    int sum = 0;
    for (int part = 0; part < parts; ++part) {
      NamedSync(3 + part % 2, kThreads);
      sum += buffer[part % 2][1023 - t] * (part + 1);
      if (part + 2 < parts) NamedArrive(1 + part % 2, kThreads);
    }
    out[t - 512] = sum;
  }
}

template <int kSize>
__global__ void Tiles(int* out) {
  __shared__ cg::block_tile_memory<kThreads> memory;
  cg::thread_block block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<kSize>(block);
  const int sum = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());
  tile.sync();
  out[threadIdx.x] = sum + tile.shfl(int(threadIdx.x), kSize - 1);
}

// Each warp waits for the one behind it.
__global__ void Chain(int* out) {
  __shared__ volatile int turn;
  const int t = threadIdx.x, warp = t / 32;
  if (t == 0) turn = kWarps - 1;
  __syncthreads();
  while (turn != warp) {
  }
  out[t] = kWarps - warp + __shfl_sync(0xffffffff, t, 31);
  __syncwarp();
  __threadfence_block();
  if (t % 32 == 0) turn = warp - 1;
}

__device__ int lock, count;

// As many as the block has want a lock, some twice.
__global__ void __launch_bounds__(kThreads) Locks(int* out) {
  const int t = threadIdx.x;
  for (int round = 0; round <= t % 2; ++round) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    const int had = *(volatile int*)&count;
    *(volatile int*)&count = had + 1;
    __threadfence();
    atomicExch(&lock, 0);
  }
  __syncthreads();
  out[t] = *(volatile int*)&count;
}

template <typename Expected>
void Run(const char* name, void (*kernel)(int*), Expected expected) {
  int* out = ToDevice(std::vector<int>(kThreads));
  kernel<<<1, kThreads>>>(out);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> got = ToHost(out, kThreads);
  for (int t = 0; t < kThreads; ++t) {
    if (got[t] != expected(t)) {
      std::printf("%s: thread %d has %d, not %d\n", name, t, got[t],
                  expected(t));
      std::exit(1);
    }
  }
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, kernel));
  EXPECT(attributes.maxThreadsPerBlock == kThreads);
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads,
                                                      0));
  EXPECT(blocks >= 1);
}

int main() {
  Run("barriers aside", BarriersAside, [](int t) {
    return t / 32 % 2 == 0 ? 3 * (kThreads - 1 - t) + 3
                           : 6 * ((t + 512) % kThreads) + 6;
  });
  Run("tiles of 64", Tiles<64>, [](int t) {
    const int first = t / 64 * 64;
    return 64 * first + 63 * 64 / 2 + first + 63;
  });
  Run("tiles of 512", Tiles<512>, [](int t) {
    const int first = t / 512 * 512;
    return 512 * first + 511 * 512 / 2 + first + 511;
  });
  Run("chain", Chain,
      [](int t) { return kWarps - t / 32 + t / 32 * 32 + 31; });
  Run("locks", Locks, [](int) { return kThreads + kThreads / 2; });

  constexpr int kParts = 7;
  std::vector<int> in(kParts * 512);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = int(i * 37 % 1001);
  int* from = ToDevice(in);
  int* out = ToDevice(std::vector<int>(512));
  HandOver<<<1, kThreads>>>(from, out, kParts);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> got = ToHost(out, 512);
  for (int i = 0; i < 512; ++i) {
    int sum = 0;
    for (int part = 0; part < kParts; ++part)
      sum += in[part * 512 + 511 - i] * (part + 1);
    EXPECT(got[i] == sum);
  }
  return Pass();
}
