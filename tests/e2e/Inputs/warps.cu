// Warps and lanes that wait for each other, as CUDA programs do it.
#include <cstdio>
#include <functional>
#include <vector>

#define CHECK(call)                                                    \
  do {                                                                 \
    cudaError_t error = (call);                                        \
    if (error != cudaSuccess) {                                        \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error));       \
      return 1;                                                        \
    }                                                                  \
  } while (0)

__device__ int lock_word;
__device__ int total;
__device__ unsigned next_ticket;
__device__ volatile unsigned now_serving;
__device__ volatile int flags[1025];

// Warp 0 fills a buffer, warp 1 empties it; named barriers say who may.
__global__ void ProducerConsumer(int* out) {
  __shared__ int buffer[2][32];
  const int lane = threadIdx.x % 32;
  int sum = 0;
  if (threadIdx.x < 32) {
    for (int i = 0; i < 10; ++i) {
      const int empty = 3 + i % 2, full = 1 + i % 2;
      if (i >= 2) asm volatile("bar.sync %0, 64;" ::"r"(empty) : "memory");
      buffer[i % 2][lane] = 100 * i + lane;
      asm volatile("bar.arrive %0, 64;" ::"r"(full) : "memory");
    }
  } else {
    for (int i = 0; i < 10; ++i) {
      const int empty = 3 + i % 2, full = 1 + i % 2;
      asm volatile("bar.sync %0, 64;" ::"r"(full) : "memory");
      sum += buffer[i % 2][31 - lane];
      if (i < 8) asm volatile("bar.arrive %0, 64;" ::"r"(empty) : "memory");
    }
  }
  out[threadIdx.x] = sum;
}

__global__ void BarrierInBothArms(int* out) {
  __shared__ int values[512];
  values[threadIdx.x] = threadIdx.x;
  if (threadIdx.x / 32 % 2 == 0) {
    __syncthreads();
    out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
  } else {
    __syncthreads();
    out[threadIdx.x] = -values[blockDim.x - 1 - threadIdx.x];
  }
}

__global__ void __launch_bounds__(1024) Reverse(int* out) {
  __shared__ int values[1024];
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  for (int i = 0; i < 3; ++i) {
    const int v = values[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = v;
    __syncthreads();
  }
  out[threadIdx.x] = values[threadIdx.x];
}

__global__ void ExitBeforeBarrier(int* out) {
  __shared__ int values[1024];
  values[threadIdx.x] = 7;
  if (threadIdx.x % 5 == 0) return;
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const int other = blockDim.x - 1 - threadIdx.x;
  out[threadIdx.x] = other % 5 == 0 ? 1 : values[other];
}

__global__ void SpinLock(int* out) {
  while (atomicCAS(&lock_word, 0, 1) != 0) {
  }
  __threadfence();
  const int seen = *(volatile int*)&total;
  *(volatile int*)&total = seen + 1;
  __threadfence();
  atomicExch(&lock_word, 0);
  __syncthreads();
  out[threadIdx.x] = *(volatile int*)&total;
}

__global__ void TicketLock(int* out) {
  const unsigned mine = atomicAdd(&next_ticket, 1);
  while (now_serving != mine) {
  }
  __threadfence();
  *(volatile int*)&total += 1;
  __threadfence();
  now_serving = mine + 1;
  __syncthreads();
  out[threadIdx.x] = *(volatile int*)&total;
}

__global__ void ChainOfLanes(int* out) {
  const int t = threadIdx.x;
  int value = 0;
  if (t > 0) {
    while ((value = flags[t]) == 0) {
    }
  }
  __threadfence();
  flags[t + 1] = value + 1;
  out[t] = value;
}

int main() {
  struct Test {
    const char* name;
    void (*kernel)(int*);
    std::vector<int> sizes;
    std::function<int(int t, int n)> expected;
  };
  const std::vector<Test> tests = {
      {"producer and consumer", ProducerConsumer, {64},
       [](int t, int) { return t < 32 ? 0 : 4500 + 10 * (31 - t % 32); }},
      {"barrier in both arms", BarrierInBothArms, {64, 100, 512},
       [](int t, int n) {
         return t / 32 % 2 == 0 ? n - 1 - t : t + 1 - n;
       }},
      {"reverse", Reverse, {1, 33, 500, 1024},
       [](int t, int n) { return n - 1 - t; }},
      {"exit before a barrier", ExitBeforeBarrier, {64, 321, 1024},
       [](int t, int n) {
         const int other = n - 1 - t;
         return t % 5 == 0 ? -1 : other % 5 == 0 ? 1 : other;
       }},
      {"spin lock", SpinLock, {32, 200}, [](int, int n) { return n; }},
      {"ticket lock", TicketLock, {32, 200}, [](int, int n) { return n; }},
      {"chain of lanes", ChainOfLanes, {32, 200},
       [](int t, int) { return t; }},
  };
  int failures = 0;
  int* out = nullptr;
  CHECK(cudaMalloc(&out, 1024 * sizeof(int)));
  for (const Test& test : tests) {
    for (int n : test.sizes) {
      const int zero = 0;
      const std::vector<int> zeros(1025);
      CHECK(cudaMemcpyToSymbol(total, &zero, sizeof zero));
      CHECK(cudaMemcpyToSymbol(next_ticket, &zero, sizeof zero));
      CHECK(cudaMemcpyToSymbol(now_serving, &zero, sizeof zero));
      CHECK(cudaMemcpyToSymbol(flags, zeros.data(), sizeof flags));
      CHECK(cudaMemset(out, 0xff, 1024 * sizeof(int)));
      test.kernel<<<1, n>>>(out);
      CHECK(cudaGetLastError());
      std::vector<int> result(static_cast<std::size_t>(n));
      CHECK(cudaMemcpy(result.data(), out, result.size() * sizeof(int),
                       cudaMemcpyDeviceToHost));
      for (int t = 0; t < n; ++t) {
        const int want = test.expected(t, n);
        if (result[static_cast<std::size_t>(t)] == want) continue;
        std::printf("%s, %d threads: thread %d has %d, expected %d\n",
                    test.name, n, t, result[static_cast<std::size_t>(t)],
                    want);
        ++failures;
        break;
      }
    }
  }
  std::printf("warps: %s\n", failures == 0 ? "PASS" : "FAIL");
  return failures == 0 ? 0 : 1;
}
