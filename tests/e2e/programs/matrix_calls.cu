// mma.sync in functions called by pointer, and by warps that take different
// numbers of steps: what other lanes of the wave hold meanwhile must survive.
//
// RUN: %check %s %t -arch=sm_80
#include "program.h"

#include <cuda_fp16.h>

using Step = void (*)(float* d, const uint32_t* a, const uint32_t* b);

__device__ __noinline__ void Add(float* d, const uint32_t* a,
                                 const uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __noinline__ void Subtract(float* d, const uint32_t* a,
                                      const uint32_t* b) {
  uint32_t negated[4];
  for (int i = 0; i < 4; ++i) negated[i] = a[i] ^ 0x80008000u;
  Add(d, negated, b);
}

__device__ Step steps[2] = {Add, Subtract};

__host__ __device__ inline int ElementA(int row, int k, int warp) {
  return (row * 5 + k * 3 + warp) % 7 - 3;
}
__host__ __device__ inline int ElementB(int k, int column) {
  return (k * 11 + column * 2) % 9 - 4;
}
__device__ uint32_t Pack(int low, int high) {
  return static_cast<uint32_t>(__half_as_ushort(__int2half_rn(low))) |
         static_cast<uint32_t>(__half_as_ushort(__int2half_rn(high))) << 16;
}

constexpr int kThreads = 128, kSteps = 3, kOut = 5;

// Warp w makes kSteps + w steps, by turns adding and subtracting.
__global__ void Multiply(float* out) {
  const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4;
  const int thread = threadIdx.x % 4;
  uint32_t a[4], b[2];
  for (int i = 0; i < 4; ++i) {
    const int row = group + i % 2 * 8, k = 2 * thread + i / 2 * 8;
    a[i] = Pack(ElementA(row, k, warp), ElementA(row, k + 1, warp));
  }
  for (int i = 0; i < 2; ++i) {
    const int k = 2 * thread + i * 8;
    b[i] = Pack(ElementB(k, group), ElementB(k + 1, group));
  }
  float d[4] = {1, 2, 3, 4};
  const float kept = threadIdx.x * 0.5f;
  for (int i = 0; i < kSteps + warp; ++i) steps[(i + warp) % 2](d, a, b);
  for (int i = 0; i < 4; ++i) out[threadIdx.x * kOut + i] = d[i];
  out[threadIdx.x * kOut + 4] = kept;
}

int main() {
  float* out = ToDevice(std::vector<float>(kThreads * kOut));
  Multiply<<<1, kThreads>>>(out);
  const std::vector<float> got = ToHost(out, kThreads * kOut);
  for (int x = 0; x < kThreads; ++x) {
    const int warp = x / 32, group = x % 32 / 4, thread = x % 4;
    EXPECT(got[x * kOut + 4] == x * 0.5f);
    for (int i = 0; i < 4; ++i) {
      const int row = group + i / 2 * 8, column = 2 * thread + i % 2;
      int product = 0;
      for (int k = 0; k < 16; ++k) {
        product += ElementA(row, k, warp) * ElementB(k, column);
      }
      float want = i + 1;
      for (int step = 0; step < kSteps + warp; ++step) {
        want += (step + warp) % 2 == 0 ? product : -product;
      }
      EXPECT(got[x * kOut + i] == want);
    }
  }
  return Pass();
}
