// Products of half matrices, 16 x 16 x 16, as nvcuda::wmma has them, and on
// HIP's side as rocWMMA does them, by the instructions of gfx11 and of CDNA 3.
// A unit, which works on a product together, is a warp or a wave.
#ifndef CERBERUS_TESTS_BENCH_PORTABLE_MATRIX_H_
#define CERBERUS_TESTS_BENCH_PORTABLE_MATRIX_H_

#include "portable.h"

#ifndef __HIP__

#include <mma.h>

constexpr int kUnit = 32;
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, Half,
                               nvcuda::wmma::row_major>
    Left;
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, Half,
                               nvcuda::wmma::row_major>
    Right;
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, Half,
                               nvcuda::wmma::col_major>
    RightByColumns;
typedef nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>
    Sums;

template <typename Fragment>
__device__ __forceinline__ void Load(Fragment& to, const Half* from,
                                     int stride) {
  nvcuda::wmma::load_matrix_sync(to, from, stride);
}
__device__ __forceinline__ void LoadSums(Sums& to, const float* from,
                                         int stride) {
  nvcuda::wmma::load_matrix_sync(to, from, stride, nvcuda::wmma::mem_row_major);
}
__device__ __forceinline__ void StoreSums(float* to, const Sums& sums,
                                          int stride) {
  nvcuda::wmma::store_matrix_sync(to, sums, stride,
                                  nvcuda::wmma::mem_row_major);
}
__device__ __forceinline__ void Clear(Sums& sums) {
  nvcuda::wmma::fill_fragment(sums, 0.0f);
}
template <typename B>
__device__ __forceinline__ void Multiply(Sums& sums, const Left& a,
                                         const B& b) {
  nvcuda::wmma::mma_sync(sums, a, b, sums);
}

#else

#if defined(__gfx942__)
constexpr int kUnit = 64, kHalves = 4, kFloats = 4;
#else
constexpr int kUnit = 32, kHalves = 16, kFloats = 8;
#endif

typedef _Float16 Halves __attribute__((ext_vector_type(kHalves)));
typedef float Floats __attribute__((ext_vector_type(kFloats)));
struct Left {
  Halves of;
};
struct Right {
  Halves of;
};
struct RightByColumns {
  Halves of;
};
struct Sums {
  Floats of;
};

__device__ inline int PlaceOfUnit() { return LaneId() % 16; }
__device__ inline int PartOfUnit() { return LaneId() / 16; }

// The row and the column of element i of a lane's sums.
__device__ inline int RowOfSums(int i) {
#if defined(__gfx942__)
  return PartOfUnit() * 4 + i;
#else
  return i * 2 + PartOfUnit();
#endif
}
// Where along the summed dimension a lane's halves begin.
__device__ inline int DepthOfUnit() {
#if defined(__gfx942__)
  return PartOfUnit() * 4;
#else
  return 0;
#endif
}

__device__ __forceinline__ void Load(Left& to, const Half* from, int stride) {
#pragma unroll
  for (int i = 0; i < kHalves; ++i)
    to.of[i] = from[PlaceOfUnit() * stride + DepthOfUnit() + i];
}
__device__ __forceinline__ void Load(RightByColumns& to, const Half* from,
                                     int stride) {
#pragma unroll
  for (int i = 0; i < kHalves; ++i)
    to.of[i] = from[PlaceOfUnit() * stride + DepthOfUnit() + i];
}
__device__ __forceinline__ void Load(Right& to, const Half* from, int stride) {
#pragma unroll
  for (int i = 0; i < kHalves; ++i)
    to.of[i] = from[(DepthOfUnit() + i) * stride + PlaceOfUnit()];
}
__device__ __forceinline__ void LoadSums(Sums& to, const float* from,
                                         int stride) {
#pragma unroll
  for (int i = 0; i < kFloats; ++i)
    to.of[i] = from[RowOfSums(i) * stride + PlaceOfUnit()];
}
__device__ __forceinline__ void StoreSums(float* to, const Sums& sums,
                                          int stride) {
#pragma unroll
  for (int i = 0; i < kFloats; ++i)
    to[RowOfSums(i) * stride + PlaceOfUnit()] = sums.of[i];
}
__device__ __forceinline__ void Clear(Sums& sums) { sums.of = 0; }
template <typename B>
__device__ __forceinline__ void Multiply(Sums& sums, const Left& a,
                                         const B& b) {
#if defined(__gfx942__)
  sums.of = __builtin_amdgcn_mfma_f32_16x16x16f16(a.of, b.of, sums.of, 0, 0, 0);
#elif defined(__gfx1100__)
  sums.of = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a.of, b.of, sums.of);
#endif
}

__device__ __forceinline__ void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

#endif  // __HIP__

#endif  // CERBERUS_TESTS_BENCH_PORTABLE_MATRIX_H_
