// Blocks of 1,024 threads that wait for each other by one thread of theirs: a
// lock, a semaphore, a barrier of the grid made by hand, an answer to the host.
//
// RUN: %check %s %t -arch=sm_80
#include <cuda/barrier>

#include "program.h"

constexpr int kThreads = 1024, kBlocks = 5;

__device__ int lock, state;
__global__ void Lock(volatile int* count) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
  }
  __syncthreads();
  count[threadIdx.x] += 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(&lock, 0);
}

// The blocks have their turn from the last to the first.
__global__ void Semaphore(volatile int* value) {
  const int turn = gridDim.x - 1 - blockIdx.x;
  int seen = -1;
  while (__syncthreads_or(seen != turn)) {
    if (threadIdx.x == 0) seen = *(volatile int*)&state;
    seen = __syncthreads_or(threadIdx.x == 0 && seen == turn) ? turn : -1;
  }
  __threadfence();
  value[threadIdx.x] = value[threadIdx.x] * 3 + turn;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile int*)&state = turn + 1;
}

__device__ unsigned arrived;
__device__ volatile unsigned generation;
__device__ void MeetBlocks() {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned before = generation;
    __threadfence();
    if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
      arrived = 0;
      __threadfence();
      generation = before + 1;
    } else {
      while (generation == before) {
      }
    }
    __threadfence();
  }
  __syncthreads();
}
__global__ void Shift(int* data) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  for (int round = 0; round < 3; ++round) {
    const int other = ((volatile int*)data)[(i + 1000) % (kBlocks * kThreads)];
    MeetBlocks();
    ((volatile int*)data)[i] = other + 1;
    MeetBlocks();
  }
}

// Serves what the host asks for.
__global__ void Serve(volatile int* asked, volatile int* done, int* sum) {
  for (int i = 1; i <= 4; ++i) {
    if (threadIdx.x == 0) {
      while (*asked < i) {
      }
    }
    __syncthreads();
    sum[threadIdx.x] += i * threadIdx.x;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *done = i;
  }
}

__global__ void Reverse(int* data) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> all;
  __shared__ int words[kThreads];
  if (threadIdx.x == 0) init(&all, kThreads);
  __syncthreads();
  words[threadIdx.x] = data[threadIdx.x];
  all.arrive_and_wait();
  data[threadIdx.x] = words[kThreads - 1 - threadIdx.x];
}

int main() {
  int* words = ToDevice(std::vector<int>(kThreads, 0));
  Lock<<<kBlocks, kThreads>>>(words);
  for (int word : ToHost(words, kThreads)) EXPECT(word == kBlocks);

  words = ToDevice(std::vector<int>(kThreads, 0));
  Semaphore<<<kBlocks, kThreads>>>(words);
  int want = 0;
  for (int turn = 0; turn < kBlocks; ++turn) want = want * 3 + turn;
  for (int word : ToHost(words, kThreads)) EXPECT(word == want);

  const int count = kBlocks * kThreads;
  std::vector<int> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = i;
  int* data = ToDevice(numbers);
  Shift<<<kBlocks, kThreads>>>(data);
  const std::vector<int> shifted = ToHost(data, count);
  for (int i = 0; i < count; ++i) {
    EXPECT(shifted[i] == (i + 3000) % count + 3);
  }

  volatile int* host = nullptr;
  EXPECT(cudaMallocHost((void**)&host, 2 * sizeof(int)) == cudaSuccess);
  host[0] = host[1] = 0;
  words = ToDevice(std::vector<int>(kThreads, 0));
  Serve<<<1, kThreads>>>(host, host + 1, words);
  for (int i = 1; i <= 4; ++i) {
    host[0] = i;
    while (host[1] < i) {
    }
  }
  const std::vector<int> sums = ToHost(words, kThreads);
  for (int t = 0; t < kThreads; ++t) EXPECT(sums[t] == 10 * t);

  data = ToDevice(numbers);
  Reverse<<<1, kThreads>>>(data);
  const std::vector<int> reversed = ToHost(data, kThreads);
  for (int t = 0; t < kThreads; ++t) EXPECT(reversed[t] == kThreads - 1 - t);
  return Pass();
}
