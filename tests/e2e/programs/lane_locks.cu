// Threads that wait for each other, also within a warp: locks, tickets, a
// list without locks, and the waiting classes of CUDA's C++ library.
//
// RUN: %check %s %t && %check %s %t -arch=sm_80
// RUN: %check %s %t -G && %check %s %t -G -arch=sm_80
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>

#include "program.h"

constexpr int kThreads = 70;  // the last warp is not whole

__device__ int lock, next_ticket, serving;
__global__ void Locks(int* counter) {
  for (int i = 0; i < 3; ++i) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    *(volatile int*)counter = *(volatile int*)counter + 1;
    __threadfence();
    atomicExch(&lock, 0);
  }
}

__global__ void Tickets(int* value) {
  const int ticket = atomicAdd(&next_ticket, 1);
  while (atomicAdd(&serving, 0) != ticket) __nanosleep(20);
  *(volatile int*)value = *(volatile int*)value * 3 + 1;
  __threadfence();
  atomicAdd(&serving, 1);
}

// List element i is `next[i]`; 0 ends it.
__global__ void Push(int* head, int* next) {
  const int i = 1 + threadIdx.x + blockIdx.x * blockDim.x;
  int old;
  do {
    old = *(volatile int*)head;
    next[i] = old;
    __threadfence();
  } while (atomicCAS(head, old, i) != old);
}

// Half of the threads fill a ring of four places, the others empty it.
__global__ void Ring(int* state, int* value, int* ends, int* out) {
  const int turn = atomicAdd(&ends[threadIdx.x % 2], 1), at = turn % 4;
  if (threadIdx.x % 2 == 0) {
    while (atomicAdd(&state[at], 0) != turn / 4 * 2) {
    }
    value[at] = turn * 10;
    __threadfence();
    atomicExch(&state[at], turn / 4 * 2 + 1);
  } else {
    while (atomicAdd(&state[at], 0) != turn / 4 * 2 + 1) {
    }
    out[turn] = *(volatile int*)&value[at];
    __threadfence();
    atomicExch(&state[at], turn / 4 * 2 + 2);
  }
}

#pragma nv_diag_suppress static_var_with_dynamic_init
// All meet ten times; then odd threads drop out, and even ones meet twice.
__global__ void Barrier(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int words[kThreads];
  const int t = threadIdx.x;
  if (t == 0) init(&barrier, blockDim.x);
  __syncthreads();
  for (int round = 0; round < 5; ++round) {
    words[t] = t + round;
    barrier.arrive_and_wait();
    out[t] += words[(t + 33) % kThreads];
    barrier.arrive_and_wait();
  }
  if (t % 2 == 1) {
    barrier.arrive_and_drop();
  } else {
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
    out[t] = -out[t];
  }
}

__global__ void Pipeline(const int* in, int* out) {
  __shared__ int words[4][kThreads];
  auto pipeline = cuda::make_pipeline();
  const int t = threadIdx.x;
  for (int i = 0; i < 11; ++i) {
    pipeline.producer_acquire();
    if (i < 8)
      cuda::memcpy_async(&words[i % 4][t], in + i * kThreads + t, sizeof(int),
                         pipeline);
    pipeline.producer_commit();
    if (i < 3) continue;
    cuda::pipeline_consumer_wait_prior<3>(pipeline);
    out[t] = out[t] * 3 + words[(i - 3) % 4][t];
    pipeline.consumer_release();
  }
}

__global__ void Semaphore(int* counter) {
  __shared__ cuda::binary_semaphore<cuda::thread_scope_block> semaphore;
  if (threadIdx.x == 0)
    new (&semaphore) cuda::binary_semaphore<cuda::thread_scope_block>(1);
  __syncthreads();
  semaphore.acquire();
  *(volatile int*)counter = *(volatile int*)counter + 1;
  semaphore.release();
}

int* Zeros(int count) { return ToDevice(std::vector<int>(count)); }

int main() {
  int* word = Zeros(1);
  Locks<<<3, kThreads>>>(word);
  EXPECT(ToHost(word, 1)[0] == 9 * kThreads);

  word = Zeros(1);
  Tickets<<<2, 33>>>(word);
  unsigned want = 0;
  for (int i = 0; i < 66; ++i) want = 3 * want + 1;
  EXPECT(unsigned(ToHost(word, 1)[0]) == want);

  int* next = Zeros(1 + 4 * kThreads);
  word = Zeros(1);
  Push<<<4, kThreads>>>(word, next);
  const std::vector<int> list = ToHost(next, 1 + 4 * kThreads);
  int length = 0;
  for (int i = ToHost(word, 1)[0]; i != 0 && length <= 4 * kThreads;
       i = list[i])
    ++length;
  EXPECT(length == 4 * kThreads);

  int* out = Zeros(kThreads);
  Ring<<<1, kThreads>>>(Zeros(4), Zeros(4), Zeros(2), out);
  const std::vector<int> ring = ToHost(out, kThreads / 2);
  for (int i = 0; i < kThreads / 2; ++i) EXPECT(ring[i] == 10 * i);

  out = Zeros(kThreads);
  Barrier<<<1, kThreads>>>(out);
  const std::vector<int> met = ToHost(out, kThreads);
  for (int t = 0; t < kThreads; ++t) {
    const int sum = 5 * ((t + 33) % kThreads) + 10;
    EXPECT(met[t] == (t % 2 == 1 ? sum : -sum));
  }

  std::vector<int> input(8 * kThreads);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = int(i * i % 1009);
  out = Zeros(kThreads);
  Pipeline<<<1, kThreads>>>(ToDevice(input), out);
  const std::vector<int> piped = ToHost(out, kThreads);
  for (int t = 0; t < kThreads; ++t) {
    int value = 0;
    for (int i = 0; i < 8; ++i) value = 3 * value + input[i * kThreads + t];
    EXPECT(piped[t] == value);
  }

  word = Zeros(1);
  Semaphore<<<1, kThreads>>>(word);
  EXPECT(ToHost(word, 1)[0] == kThreads);
  return Pass();
}
