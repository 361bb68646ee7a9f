// One source for nvcc and for `clang -x hip`: CUDA's spellings, of which HIP's
// side defines what the kernels of code_quality.cu use, as HIP's own headers
// do, without ROCm's headers and device libraries.
#ifndef CERBERUS_TESTS_BENCH_PORTABLE_H_
#define CERBERUS_TESTS_BENCH_PORTABLE_H_

#ifndef __HIP__

#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>
typedef __half Half;
typedef __half2 Half2;
__device__ inline Half2 FmaHalf2(Half2 a, Half2 b, Half2 c) {
  return __hfma2(a, b, c);
}

#else

#include <math.h>

#include "mini_hip.h"

#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __ldg(p) (*(p))

typedef _Float16 Half;
typedef _Float16 Half2 __attribute__((ext_vector_type(2)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef unsigned char uchar4 __attribute__((ext_vector_type(4)));
#define make_float4(x, y, z, w) (float4{x, y, z, w})
#define make_float2(x, y) (float2{x, y})

__device__ inline Half2 FmaHalf2(Half2 a, Half2 b, Half2 c) {
  return __builtin_elementwise_fma(a, b, c);
}

#define PORTABLE_INDEX(type, x_value, y_value)                 \
  struct type {                                                \
    struct X {                                                 \
      __device__ operator unsigned() const { return x_value; } \
    };                                                         \
    struct Y {                                                 \
      __device__ operator unsigned() const { return y_value; } \
    };                                                         \
    X x;                                                       \
    Y y;                                                       \
  };
PORTABLE_INDEX(ThreadIndex, ThreadX(), ThreadY())
PORTABLE_INDEX(BlockIndex, BlockX(), BlockY())
PORTABLE_INDEX(BlockSize, BlockDimX(), BlockDimY())
PORTABLE_INDEX(GridSize, GridDimX(), GridDimX())
static constexpr __device__ ThreadIndex threadIdx = {};
static constexpr __device__ BlockIndex blockIdx = {};
static constexpr __device__ BlockSize blockDim = {};
static constexpr __device__ GridSize gridDim = {};

__device__ inline void __syncthreads() { SyncThreads(); }

// HIP's shuffles in groups of 32 lanes.
__device__ inline int LaneOf32() { return LaneId() & 31; }
template <typename T>
__device__ inline T ShuffleFrom(T value, int lane) {
  return __builtin_bit_cast(
      T, Shuffle(__builtin_bit_cast(int, value), lane + ((int)LaneId() & ~31)));
}
template <typename T>
__device__ inline T __shfl_sync(unsigned, T value, int from) {
  return ShuffleFrom(value, from & 31);
}
template <typename T>
__device__ inline T __shfl_xor_sync(unsigned, T value, int mask) {
  const int from = LaneOf32() ^ mask;
  return ShuffleFrom(value, from > 31 ? LaneOf32() : from);
}
template <typename T>
__device__ inline T __shfl_up_sync(unsigned, T value, unsigned delta) {
  const int from = LaneOf32() - (int)delta;
  return ShuffleFrom(value, from < 0 ? LaneOf32() : from);
}
template <typename T>
__device__ inline T __shfl_down_sync(unsigned, T value, unsigned delta) {
  const int from = LaneOf32() + (int)delta;
  return ShuffleFrom(value, from > 31 ? LaneOf32() : from);
}
__device__ inline unsigned __ballot_sync(unsigned, bool vote) {
#if __AMDGCN_WAVEFRONT_SIZE__ == 32 || defined(__gfx1100__)
  return __builtin_amdgcn_ballot_w32(vote);
#else
  return (unsigned)(__builtin_amdgcn_ballot_w64(vote) >> (LaneId() & 32));
#endif
}

template <typename T>
__device__ inline T atomicAdd(T* at, T value) {
  return AtomicAdd(at, value);
}
__device__ inline int atomicMin(int* at, int value) {
  return __hip_atomic_fetch_min(at, value, __ATOMIC_RELAXED,
                                __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline int atomicMax(int* at, int value) {
  return __hip_atomic_fetch_max(at, value, __ATOMIC_RELAXED,
                                __HIP_MEMORY_SCOPE_AGENT);
}

template <typename T>
__device__ __host__ inline T min(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
__device__ __host__ inline T max(T a, T b) {
  return a > b ? a : b;
}
__device__ inline float fminf(float a, float b) {
  return __builtin_fminf(a, b);
}
__device__ inline float fmaxf(float a, float b) {
  return __builtin_fmaxf(a, b);
}
__device__ inline float fabsf(float a) { return __builtin_fabsf(a); }
__device__ inline float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
__device__ inline double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
__device__ inline int __popc(unsigned v) { return __builtin_popcount(v); }
__device__ inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
__device__ inline unsigned __brev(unsigned v) {
  return __builtin_bitreverse32(v);
}
__device__ inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)(((uint64_t)a * b) >> 32);
}
__device__ inline float sqrtf(float v) { return __builtin_sqrtf(v); }
__device__ inline double sqrt(double v) { return __builtin_sqrt(v); }
// The approximate instructions, as __expf, __logf and rsqrtf of HIP.
__device__ inline float __expf(float v) {
  return __builtin_amdgcn_exp2f(v * 1.44269504f);
}
__device__ inline float __logf(float v) {
  return __builtin_amdgcn_logf(v) * 0.693147181f;
}
__device__ inline float rsqrtf(float v) { return __builtin_amdgcn_rsqf(v); }
__device__ inline float __fdividef(float a, float b) {
  return a * __builtin_amdgcn_rcpf(b);
}

__device__ inline float __sinf(float v) {
  return __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(v * 0.159154943f));
}
__device__ inline float __cosf(float v) {
  return __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(v * 0.159154943f));
}

#define cudaMalloc hipMalloc
#define cudaFree hipFree
#define cudaMemcpy hipMemcpy
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaGetLastError hipGetLastError

#endif  // __HIP__

// What a kernel and the host's check of it have in common.
#define BOTH __host__ __device__ __forceinline__

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define ON_DEVICE 1
#else
#define ON_DEVICE 0
#endif

BOTH float FastExp(float v) {
#if ON_DEVICE
  return __expf(v);
#else
  return expf(v);
#endif
}
BOTH float FastLog(float v) {
#if ON_DEVICE
  return __logf(v);
#else
  return logf(v);
#endif
}
BOTH float FastSine(float v) {
#if ON_DEVICE
  return __sinf(v);
#else
  return sinf(v);
#endif
}
BOTH float FastCosine(float v) {
#if ON_DEVICE
  return __cosf(v);
#else
  return cosf(v);
#endif
}
BOTH float InverseRoot(float v) {
#if ON_DEVICE
  return rsqrtf(v);
#else
  return 1 / sqrtf(v);
#endif
}
BOTH float FastDivide(float a, float b) {
#if ON_DEVICE
  return __fdividef(a, b);
#else
  return a / b;
#endif
}
BOTH unsigned MultiplyHigh(unsigned a, unsigned b) {
#if ON_DEVICE
  return __umulhi(a, b);
#else
  return (unsigned)(((uint64_t)a * b) >> 32);
#endif
}

#endif  // CERBERUS_TESTS_BENCH_PORTABLE_H_
