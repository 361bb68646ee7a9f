// Atomic operations on global and shared memory, in three scopes.
//
// RUN: %check %s %t
#include "program.h"

__global__ void All(int* i32, unsigned long long* u64, float* f32,
                    double* f64) {
  __shared__ int shared[2];
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 2) shared[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&shared[t % 2], 1);
  atomicAdd(&i32[0], t);
  atomicSub(&i32[1], 1);
  atomicMin(&i32[2], -t);
  atomicMax(&i32[3], t);
  atomicOr(&i32[4], 1 << (t % 31));
  atomicAnd(&i32[5], ~(1 << (t % 8)));
  atomicXor(&i32[6], t);
  atomicInc(reinterpret_cast<unsigned*>(&i32[7]), 99);
  atomicDec(reinterpret_cast<unsigned*>(&i32[8]), 99);
  atomicAdd_system(&i32[9], 2);
  atomicAdd(&u64[0], 1ull << 32);
  atomicMax(&u64[1], static_cast<unsigned long long>(t) << 40);
  atomicAdd(f32, 0.5f);
  atomicAdd(f64, 0.25);
  // A sum by compare-and-swap.
  unsigned long long old = u64[2], assumed;
  do {
    assumed = old;
    old = atomicCAS(&u64[2], assumed, assumed + 3);
  } while (old != assumed);
  if (atomicExch(&i32[10], 1) == 0) atomicAdd(&i32[11], 1);
  __syncthreads();
  if (threadIdx.x < 2) atomicAdd_block(&i32[12 + threadIdx.x],
                                       shared[threadIdx.x]);
}

int main() {
  std::vector<int> words(14, 0);
  words[5] = -1;
  int* i32 = ToDevice(words);
  auto* u64 = ToDevice(std::vector<unsigned long long>(3, 0));
  float* f32 = ToDevice(std::vector<float>{0});
  double* f64 = ToDevice(std::vector<double>{0});
  All<<<1, 256>>>(i32, u64, f32, f64);
  words = ToHost(i32, 14);
  int x = 0;
  for (int t = 0; t < 256; ++t) x ^= t;
  const int want[] = {255 * 128, -256, -255, 255, 0x7fffffff, ~0xff, x,
                      56, (100 - 56 + 0) % 100, 512, 1, 1, 128, 128};
  for (int i = 0; i < 14; ++i) EXPECT(words[i] == want[i]);
  const std::vector<unsigned long long> wide = ToHost(u64, 3);
  EXPECT(wide[0] == 256ull << 32 && wide[1] == 255ull << 40 &&
         wide[2] == 768);
  EXPECT(ToHost(f32, 1)[0] == 128 && ToHost(f64, 1)[0] == 64);
  return Pass();
}
