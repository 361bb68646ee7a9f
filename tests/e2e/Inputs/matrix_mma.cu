// C = A * B as hand-tuned kernels do it: tiles in shared memory, fragments by
// ldmatrix, products by mma.sync, in inline PTX. A and B are stored by rows,
// so B's fragments are transposed by ldmatrix.
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "check.h"

constexpr int kM = 64, kN = 64, kK = 128;
constexpr int kTileK = 32;
// Rows of the tiles are padded so that ldmatrix reads from all banks.
constexpr int kPad = 8;

__device__ void LoadMatrices(uint32_t (&r)[4], const half* p) {
  const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(at));
}

__device__ void LoadTransposed(uint32_t (&r)[2], const half* p) {
  const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"
      : "=r"(r[0]), "=r"(r[1])
      : "r"(at));
}

__device__ void MultiplyAdd(float (&d)[4], const uint32_t (&a)[4],
                            const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Four warps; warp w computes rows 16w … 16w + 15 of C.
__global__ void Multiply(const half* a, const half* b, float* c) {
  __shared__ __align__(16) half tile_a[kM][kTileK + kPad];
  __shared__ __align__(16) half tile_b[kTileK][kN + kPad];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sums[kN / 8][4] = {};
  for (int base = 0; base < kK; base += kTileK) {
    for (int i = threadIdx.x; i < kM * kTileK; i += blockDim.x) {
      tile_a[i / kTileK][i % kTileK] =
          a[i / kTileK * kK + base + i % kTileK];
    }
    for (int i = threadIdx.x; i < kTileK * kN; i += blockDim.x) {
      tile_b[i / kN][i % kN] = b[(base + i / kN) * kN + i % kN];
    }
    __syncthreads();
    for (int k = 0; k < kTileK; k += 16) {
      uint32_t fa[4];
      LoadMatrices(fa, &tile_a[16 * warp + lane % 16][k + lane / 16 * 8]);
      for (int n = 0; n < kN / 8; ++n) {
        uint32_t fb[2];
        LoadTransposed(fb, &tile_b[k + lane % 16][8 * n]);
        MultiplyAdd(sums[n], fa, fb);
      }
    }
    __syncthreads();
  }
  for (int n = 0; n < kN / 8; ++n) {
    for (int i = 0; i < 4; ++i) {
      const int row = 16 * warp + lane / 4 + i / 2 * 8;
      const int column = 8 * n + lane % 4 * 2 + i % 2;
      c[row * kN + column] = sums[n][i];
    }
  }
}

int main() {
  std::vector<half> a(kM * kK), b(kK * kN);
  std::vector<float> c(kM * kN);
  for (int i = 0; i < kM * kK; ++i) a[i] = __float2half(i * 11 % 7 - 3);
  for (int i = 0; i < kK * kN; ++i) b[i] = __float2half(i * 5 % 9 - 4);
  half *da, *db;
  float* dc;
  CHECK(cudaMalloc(&da, a.size() * sizeof(half)));
  CHECK(cudaMalloc(&db, b.size() * sizeof(half)));
  CHECK(cudaMalloc(&dc, c.size() * sizeof(float)));
  CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(half),
                   cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof(half),
                   cudaMemcpyHostToDevice));
  Multiply<<<1, 128>>>(da, db, dc);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(float),
                   cudaMemcpyDeviceToHost));
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      float want = 0;
      for (int k = 0; k < kK; ++k) {
        want += static_cast<float>((i * kK + k) * 11 % 7 - 3) *
                static_cast<float>((k * kN + j) * 5 % 9 - 4);
      }
      if (c[i * kN + j] != want) {
        std::printf("C[%d][%d] is %g, want %g\n", i, j, c[i * kN + j], want);
        return 1;
      }
    }
  }
  std::printf("matrix_mma: PASS\n");
  return 0;
}
