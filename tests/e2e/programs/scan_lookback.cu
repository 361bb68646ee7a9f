// A scan in one pass, whose blocks wait for those before them.
//
// RUN: %check %s %t
#include "program.h"

constexpr int kBlock = 128;

__device__ unsigned ticket = 0;

// status: 0 nothing, 1 sum of the block, 2 sum of all up to it.
__global__ void Scan(const int* in, int* out, volatile unsigned* status,
                     volatile int* sums, volatile int* prefixes) {
  __shared__ unsigned rank;
  __shared__ int buffer[kBlock];
  __shared__ int before;
  if (threadIdx.x == 0) rank = atomicAdd(&ticket, 1);
  __syncthreads();
  const int i = rank * kBlock + threadIdx.x;
  buffer[threadIdx.x] = in[i];
  __syncthreads();
  for (int step = 1; step < kBlock; step *= 2) {
    const int add =
        int(threadIdx.x) >= step ? buffer[threadIdx.x - step] : 0;
    __syncthreads();
    buffer[threadIdx.x] += add;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    const int total = buffer[kBlock - 1];
    sums[rank] = total;
    __threadfence();
    status[rank] = 1;
    int sum = 0;
    for (int b = int(rank) - 1; b >= 0; --b) {
      unsigned s;
      while ((s = status[b]) == 0) {
      }
      __threadfence();
      if (s == 2) {
        sum += prefixes[b];
        break;
      }
      sum += sums[b];
    }
    prefixes[rank] = sum + total;
    __threadfence();
    status[rank] = 2;
    before = sum;
  }
  __syncthreads();
  out[i] = before + buffer[threadIdx.x];
}

int main() {
  constexpr int kBlocks = 40, kCount = kBlocks * kBlock;
  std::vector<int> in(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = i % 17 - 3;
  int* p = ToDevice(in);
  int* out = ToDevice(std::vector<int>(kCount));
  unsigned* status = ToDevice(std::vector<unsigned>(kBlocks, 0));
  int* sums = ToDevice(std::vector<int>(kBlocks, 0));
  int* prefixes = ToDevice(std::vector<int>(kBlocks, 0));
  Scan<<<kBlocks, kBlock>>>(p, out, status, sums, prefixes);
  const std::vector<int> got = ToHost(out, kCount);
  int sum = 0;
  for (int i = 0; i < kCount; ++i) EXPECT(got[i] == (sum += in[i]));
  return Pass();
}
