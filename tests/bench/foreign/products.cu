// Products of matrices: tiles in shared memory, tiles in registers loaded ahead
// with cp.async, of doubles, of half precision by matrix instructions, with a
// vector, transposes, batched small ones, LU of tiles.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

template <class T, int kTile>
__global__ void Tiled(T* c, const T* a, const T* b, int wa, int wb) {
  __shared__ T as[kTile][kTile], bs[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, column = blockIdx.x * kTile + tx;
  T sum = 0;
  for (int k = 0; k < wa; k += kTile) {
    as[ty][tx] = a[row * wa + k + tx];
    bs[ty][tx] = b[(k + ty) * wb + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  c[row * wb + column] = sum;
}

template <class T, int kM, int kN, int kK, int kR, int kC>
__global__ void __launch_bounds__(kM / kR * (kN / kC))
    Registers(int m, int n, int k, T alpha, const T* a, const T* b, T beta,
              T* c) {
  constexpr int kThreads = kM / kR * (kN / kC);
  __shared__ T as[2][kK][kM + 4], bs[2][kK][kN];
  const int t = threadIdx.x, tx = t % (kN / kC), ty = t / (kN / kC);
  const int row = blockIdx.y * kM, column = blockIdx.x * kN;
  T sums[kR][kC] = {};
  const auto load = [&](int stage, int at) {
    for (int i = t; i < kM * kK; i += kThreads) {
      const int r = i / kK, q = i % kK;
      __pipeline_memcpy_async(&as[stage][q][r], &a[(row + r) * k + at + q],
                              sizeof(T));
    }
    for (int i = t; i < kN * kK; i += kThreads) {
      const int q = i / kN, r = i % kN;
      __pipeline_memcpy_async(&bs[stage][q][r], &b[(at + q) * n + column + r],
                              sizeof(T));
    }
    __pipeline_commit();
  };
  load(0, 0);
  for (int at = 0, stage = 0; at < k; at += kK, stage ^= 1) {
    if (at + kK < k) {
      load(stage ^ 1, at + kK);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < kK; ++q) {
      T x[kR], y[kC];
#pragma unroll
      for (int i = 0; i < kR; ++i) x[i] = as[stage][q][ty * kR + i];
#pragma unroll
      for (int j = 0; j < kC; ++j) y[j] = bs[stage][q][tx * kC + j];
#pragma unroll
      for (int i = 0; i < kR; ++i) {
#pragma unroll
        for (int j = 0; j < kC; ++j) sums[i][j] += x[i] * y[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kR; ++i) {
#pragma unroll
    for (int j = 0; j < kC; ++j) {
      T& to = c[(row + ty * kR + i) * n + column + tx * kC + j];
      to = alpha * sums[i][j] + beta * to;
    }
  }
}

template <class Sum, int kWarps>
__global__ void Matrix(const half* a, const half* b, Sum* c, int m, int n,
                       int k) {
  using namespace nvcuda;
  __shared__ half as[64][40], bs[32][72];
  const int warp = threadIdx.x / 32, row = blockIdx.y * 64,
            column = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sums[2][2];
#pragma unroll
  for (int i = 0; i < 4; ++i) wmma::fill_fragment(sums[i / 2][i % 2], Sum(0));
  for (int at = 0; at < k; at += 32) {
    for (int i = threadIdx.x; i < 64 * 4; i += kWarps * 32) {
      *reinterpret_cast<int4*>(&as[i / 4][i % 4 * 8]) =
          *reinterpret_cast<const int4*>(
              &a[(row + i / 4) * k + at + i % 4 * 8]);
    }
    for (int i = threadIdx.x; i < 32 * 8; i += kWarps * 32) {
      *reinterpret_cast<int4*>(&bs[i / 8][i % 8 * 8]) =
          *reinterpret_cast<const int4*>(
              &b[(at + i / 8) * n + column + i % 8 * 8]);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 32; q += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(x[i], &as[warp / 2 * 32 + i * 16][q], 40);
        wmma::load_matrix_sync(y[i], &bs[q][warp % 2 * 32 + i * 16], 72);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        wmma::mma_sync(sums[i / 2][i % 2], x[i / 2], y[i % 2],
                       sums[i / 2][i % 2]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    wmma::store_matrix_sync(&c[(row + warp / 2 * 32 + i / 2 * 16) * n + column +
                               warp % 2 * 32 + i % 2 * 16],
                            sums[i / 2][i % 2], n, wmma::mem_row_major);
  }
}

template <class T>
__global__ void TimesVector(const T* a, const T* x, T* y, int m, int n) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  T sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += a[row * n + i] * x[i];
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, offset);
  }
  if (threadIdx.x == 0 && row < m) y[row] = sum;
}

template <class T>
__global__ void Transpose(T* out, const T* in, int width, int height) {
  __shared__ T tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    if (x < width && y + j < height) {
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    }
  }
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    if (x < height && y + j < width) {
      out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
    }
  }
}

template <class T, int kSize>
__global__ void SolveSmall(T* matrices, T* rights, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  T a[kSize][kSize], b[kSize];
#pragma unroll
  for (int r = 0; r < kSize; ++r) {
    b[r] = rights[r * count + i];
#pragma unroll
    for (int c = 0; c < kSize; ++c)
      a[r][c] = matrices[(r * kSize + c) * count + i];
  }
#pragma unroll
  for (int p = 0; p < kSize; ++p) {
#pragma unroll
    for (int r = p + 1; r < kSize; ++r) {
      const T factor = a[r][p] / a[p][p];
#pragma unroll
      for (int c = p; c < kSize; ++c) a[r][c] -= factor * a[p][c];
      b[r] -= factor * b[p];
    }
  }
#pragma unroll
  for (int r = kSize - 1; r >= 0; --r) {
#pragma unroll
    for (int c = r + 1; c < kSize; ++c) b[r] -= a[r][c] * b[c];
    b[r] /= a[r][r];
    rights[r * count + i] = b[r];
  }
}

template __global__ void Tiled<float, 16>(float*, const float*, const float*,
                                          int, int);
template __global__ void Tiled<float, 32>(float*, const float*, const float*,
                                          int, int);
template __global__ void Tiled<double, 16>(double*, const double*,
                                           const double*, int, int);
template __global__ void Registers<float, 128, 128, 8, 8, 8>(
    int, int, int, float, const float*, const float*, float, float*);
template __global__ void Registers<float, 64, 64, 16, 4, 4>(int, int, int,
                                                            float, const float*,
                                                            const float*, float,
                                                            float*);
template __global__ void Registers<double, 64, 64, 8, 4, 4>(
    int, int, int, double, const double*, const double*, double, double*);
template __global__ void Matrix<float, 4>(const half*, const half*, float*, int,
                                          int, int);
template __global__ void Matrix<half, 4>(const half*, const half*, half*, int,
                                         int, int);
template __global__ void TimesVector<float>(const float*, const float*, float*,
                                            int, int);
template __global__ void TimesVector<double>(const double*, const double*,
                                             double*, int, int);
template __global__ void Transpose<float>(float*, const float*, int, int);
template __global__ void Transpose<double>(double*, const double*, int, int);
template __global__ void SolveSmall<float, 4>(float*, float*, int);
template __global__ void SolveSmall<float, 8>(float*, float*, int);
template __global__ void SolveSmall<double, 6>(double*, double*, int);
