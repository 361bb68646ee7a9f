// cuda::barrier where threads of one block, and of one warp, have roles: some
// fill a buffer that others empty, and some leave a loop of meetings earlier
// than others. Below sm_80 the barrier is software: the active lanes of a warp
// choose one that arrives for all. With it latches, semaphores and waits for
// an atomic.
//
// RUN: %check %s %t && %check %s %t -arch=sm_80
// RUN: %check %s %t -G && %check %s %t -G -arch=sm_80
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>

#include "program.h"

using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 96, kWords = 64, kParts = 10;

#pragma nv_diag_suppress static_var_with_dynamic_init
// The first `producers` threads hand parts of `in` to the others, which write
// three times as much. There are two buffers.
__global__ void HandOver(const int* in, int* out, int producers) {
  __shared__ Barrier empty[2], full[2];
  __shared__ int buffer[2][kWords];
  const int t = threadIdx.x;
  if (t < 2) {
    init(&empty[t], kThreads);
    init(&full[t], kThreads);
  }
  __syncthreads();
  if (t < producers) {
    for (int part = 0; part < kParts; ++part) {
      empty[part % 2].arrive_and_wait();
      for (int i = t; i < kWords; i += producers)
        buffer[part % 2][i] = in[part * kWords + i];
      (void)full[part % 2].arrive();
    }
  } else {
    (void)empty[0].arrive();
    (void)empty[1].arrive();
    for (int part = 0; part < kParts; ++part) {
      full[part % 2].arrive_and_wait();
      for (int i = t - producers; i < kWords; i += kThreads - producers)
        out[part * kWords + i] = 3 * buffer[part % 2][i];
      (void)empty[part % 2].arrive();
    }
  }
}

// Thread t meets the others t % 5 + 2 times.
__global__ void Leave(int* out) {
  __shared__ Barrier barrier;
  __shared__ int left;
  const int t = threadIdx.x;
  if (t == 0) {
    init(&barrier, kThreads);
    left = 0;
  }
  __syncthreads();
  for (int round = 0;; ++round) {
    if (round == t % 5 + 2) {
      atomicAdd(&left, 1);
      barrier.arrive_and_drop();
      return;
    }
    barrier.arrive_and_wait();
    out[t] += 1000 + *(volatile int*)&left;
    barrier.arrive_and_wait();
  }
}

// Odd threads wait for the even ones, which count down.
__global__ void CountDown(int* out) {
  __shared__ cuda::latch<cuda::thread_scope_block>* latch;
  __shared__ alignas(8) char
      storage[sizeof(cuda::latch<cuda::thread_scope_block>)];
  __shared__ int words[kThreads];
  const int t = threadIdx.x;
  if (t == 0)
    latch = new (storage)
        cuda::latch<cuda::thread_scope_block>(kThreads / 2);
  __syncthreads();
  if (t % 2 == 1) {
    latch->wait();
    out[t] = words[t - 1];
  } else {
    words[t] = 7 * t;
    latch->count_down();
  }
}

// No more than three threads are inside at a time.
__global__ void Inside(int* count, int* most) {
  using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 3>;
  __shared__ Semaphore* semaphore;
  __shared__ alignas(8) char storage[sizeof(Semaphore)];
  __shared__ int inside;
  if (threadIdx.x == 0) {
    semaphore = new (storage) Semaphore(3);
    inside = 0;
  }
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    semaphore->acquire();
    atomicMax(most, atomicAdd(&inside, 1) + 1);
    atomicAdd(count, 1);
    atomicSub(&inside, 1);
    semaphore->release();
  }
}

__device__ cuda::atomic<int, cuda::thread_scope_device> told{0};
__global__ void Told(int* word, int* out) {
  if (threadIdx.x == 17) {
    *word = 5;
    told.store(1, cuda::memory_order_release);
    told.notify_all();
  } else {
    told.wait(0, cuda::memory_order_acquire);
    out[threadIdx.x] = *word;
  }
}

int* Zeros(int count) { return ToDevice(std::vector<int>(count)); }

int main() {
  std::vector<int> in(kParts * kWords);
  for (int i = 0; i < kParts * kWords; ++i) in[i] = i * i % 1013;
  for (int producers : {1, 16, 32, 40, 64}) {
    int* out = Zeros(kParts * kWords);
    HandOver<<<1, kThreads>>>(ToDevice(in), out, producers);
    const std::vector<int> got = ToHost(out, kParts * kWords);
    for (int i = 0; i < kParts * kWords; ++i) EXPECT(got[i] == 3 * in[i]);
  }

  int* out = Zeros(kThreads);
  Leave<<<1, kThreads>>>(out);
  const std::vector<int> met = ToHost(out, kThreads);
  for (int t = 0; t < kThreads; ++t) {
    int want = 0;
    for (int round = 0; round < t % 5 + 2; ++round) {
      int left = 0;
      for (int other = 0; other < kThreads; ++other)
        left += other % 5 + 2 <= round;
      want += 1000 + left;
    }
    EXPECT(met[t] == want);
  }

  out = Zeros(kThreads);
  CountDown<<<1, kThreads>>>(out);
  const std::vector<int> counted = ToHost(out, kThreads);
  for (int t = 1; t < kThreads; t += 2) EXPECT(counted[t] == 7 * (t - 1));

  int *count = Zeros(1), *most = Zeros(1);
  Inside<<<1, kThreads>>>(count, most);
  EXPECT(ToHost(count, 1)[0] == 2 * kThreads);
  EXPECT(ToHost(most, 1)[0] >= 1 && ToHost(most, 1)[0] <= 3);

  out = Zeros(kThreads);
  Told<<<1, kThreads>>>(Zeros(1), out);
  const std::vector<int> heard = ToHost(out, kThreads);
  for (int t = 0; t < kThreads; ++t) EXPECT(t == 17 || heard[t] == 5);
  return Pass();
}
