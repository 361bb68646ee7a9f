// nvcuda::wmma as GEMMs use it: warps in two dimensions whose tiles may lie
// outside of C, several fragments of sums, epilogues with alpha and beta.
// Values are small integers, so that every sum is exact.
//
// RUN: %check %s %t -arch=sm_80
#include "program.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int kM = 80, kN = 48, kK = 64;
constexpr int kTile = 16;

// D = alpha * A * B + beta * C; A by rows, B by columns.
__global__ void Gemm(const half* a, const half* b, const float* c, float* d,
                     float alpha, float beta) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * kTile;
  const int column = (blockIdx.y * blockDim.y + threadIdx.y) * kTile;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int k = 0; k < kK; k += kTile) {
    if (row < kM && column < kN) {
      wmma::load_matrix_sync(fa, a + row * kK + k, kK);
      wmma::load_matrix_sync(fb, b + column * kK + k, kK);
      wmma::mma_sync(sums, fa, fb, sums);
    }
  }
  if (row >= kM || column >= kN) return;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::load_matrix_sync(fc, c + row * kN + column, kN, wmma::mem_row_major);
  for (int i = 0; i < fc.num_elements; ++i) {
    fc.x[i] = alpha * sums.x[i] + beta * fc.x[i];
  }
  wmma::store_matrix_sync(d + row * kN + column, fc, kN, wmma::mem_row_major);
}

// Two by two tiles of sums to a warp, through shared memory.
__global__ void GemmBytes(const signed char* a, const signed char* b, int* d) {
  __shared__ int out[4][kTile * kTile];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major>
      fa[2];
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major>
      fb[2];
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sums[2][2];
  for (int i = 0; i < 4; ++i) wmma::fill_fragment(sums[i / 2][i % 2], 0);
  for (int k = 0; k < kK; k += kTile) {
    for (int i = 0; i < 2; ++i) {
      wmma::load_matrix_sync(fa[i], a + kTile * i * kK + k, kK);
      wmma::load_matrix_sync(fb[i], b + k * 32 + kTile * i, 32);
    }
    for (int i = 0; i < 4; ++i) {
      wmma::mma_sync(sums[i / 2][i % 2], fa[i / 2], fb[i % 2],
                     sums[i / 2][i % 2]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    wmma::store_matrix_sync(out[i], sums[i / 2][i % 2], kTile,
                            wmma::mem_col_major);
  }
  __syncwarp();
  for (int at = threadIdx.x; at < 32 * 32; at += 32) {
    const int row = at / 32, column = at % 32;
    d[at] = out[row / kTile * 2 + column / kTile]
               [column % kTile * kTile + row % kTile];
  }
}

int main() {
  std::vector<half> a(kM * kK), b(kN * kK);
  std::vector<float> c(kM * kN);
  const auto of_a = [](int i) { return i * 7 % 11 - 5; };
  const auto of_b = [](int i) { return i * 5 % 13 - 6; };
  for (int i = 0; i < kM * kK; ++i) a[i] = __int2half_rn(of_a(i));
  for (int i = 0; i < kN * kK; ++i) b[i] = __int2half_rn(of_b(i));
  for (int i = 0; i < kM * kN; ++i) c[i] = static_cast<float>(i % 17);
  half* da = ToDevice(a);
  half* db = ToDevice(b);
  float* dc = ToDevice(c);
  float* dd = ToDevice(std::vector<float>(kM * kN));
  // 4 x 2 warps in a block, 8 x 4 in the grid, of which 5 x 3 have a tile.
  Gemm<<<dim3(2, 2), dim3(128, 2)>>>(da, db, dc, dd, 2.0f, 3.0f);
  const std::vector<float> d = ToHost(dd, kM * kN);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      int sum = 0;
      for (int k = 0; k < kK; ++k) sum += of_a(i * kK + k) * of_b(j * kK + k);
      EXPECT(d[i * kN + j] == 2.0f * sum + 3.0f * c[i * kN + j]);
    }
  }

  std::vector<signed char> bytes_a(32 * kK), bytes_b(kK * 32);
  for (int i = 0; i < 32 * kK; ++i) {
    bytes_a[i] = static_cast<signed char>(i * 37 % 255 - 127);
    bytes_b[i] = static_cast<signed char>(i * 91 % 253 - 126);
  }
  signed char* ba = ToDevice(bytes_a);
  signed char* bb = ToDevice(bytes_b);
  int* bd = ToDevice(std::vector<int>(32 * 32));
  GemmBytes<<<1, 32>>>(ba, bb, bd);
  const std::vector<int> of_bytes = ToHost(bd, 32 * 32);
  for (int i = 0; i < 32; ++i) {
    for (int j = 0; j < 32; ++j) {
      int sum = 0;
      for (int k = 0; k < kK; ++k) {
        sum += bytes_a[i * kK + k] * bytes_b[k * 32 + j];
      }
      EXPECT(of_bytes[i * 32 + j] == sum);
    }
  }
  return Pass();
}
