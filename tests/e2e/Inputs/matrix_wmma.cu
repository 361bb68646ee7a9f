// C = A * B by nvcuda::wmma, a warp for each tile of C, for every element
// type that the header has. Values are small integers, so that every sum is
// exact and the comparison with the host too.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdio>
#include <vector>

#include "check.h"

using namespace nvcuda;

constexpr int kSize = 64;

// In: type of A and B in memory; Fragment: what wmma calls it; Sum: of C.
template <typename In, typename Fragment, typename Sum, typename LayoutB,
          int kM, int kN, int kK>
__global__ void Multiply(const In* a, const In* b, Sum* c) {
  const int row = blockIdx.y * kM;
  const int column = blockIdx.x * kN;
  wmma::fragment<wmma::matrix_a, kM, kN, kK, Fragment, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, kM, kN, kK, Fragment, LayoutB> fb;
  wmma::fragment<wmma::accumulator, kM, kN, kK, Sum> fc;
  wmma::fill_fragment(fc, static_cast<Sum>(0));
  constexpr bool kByRows = std::is_same<LayoutB, wmma::row_major>::value;
  for (int k = 0; k < kSize; k += kK) {
    wmma::load_matrix_sync(fa, a + row * kSize + k, kSize);
    wmma::load_matrix_sync(
        fb, kByRows ? b + k * kSize + column : b + column * kSize + k, kSize);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  // Elements of a fragment may be changed one by one.
  for (int i = 0; i < fc.num_elements; ++i) {
    fc.x[i] = fc.x[i] + fc.x[i];
  }
  wmma::store_matrix_sync(c + row * kSize + column, fc, kSize,
                          wmma::mem_row_major);
}

template <typename In, typename Fragment, typename Sum, typename LayoutB,
          int kM, int kN, int kK>
bool Run(const char* name) {
  std::vector<In> a(kSize * kSize), b(kSize * kSize);
  std::vector<int> ia(kSize * kSize), ib(kSize * kSize);
  for (int i = 0; i < kSize * kSize; ++i) {
    ia[i] = i * 7 % 5;
    ib[i] = i * 3 % 4;
    a[i] = static_cast<In>(static_cast<float>(ia[i]));
    b[i] = static_cast<In>(static_cast<float>(ib[i]));
  }
  In *da, *db;
  Sum* dc;
  CHECK(cudaMalloc(&da, a.size() * sizeof(In)));
  CHECK(cudaMalloc(&db, b.size() * sizeof(In)));
  CHECK(cudaMalloc(&dc, a.size() * sizeof(Sum)));
  CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(In),
                   cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof(In),
                   cudaMemcpyHostToDevice));
  Multiply<In, Fragment, Sum, LayoutB, kM, kN, kK>
      <<<dim3(kSize / kN, kSize / kM), 32>>>(da, db, dc);
  CHECK(cudaGetLastError());
  std::vector<Sum> c(a.size());
  CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(Sum),
                   cudaMemcpyDeviceToHost));
  constexpr bool kByRows = std::is_same<LayoutB, wmma::row_major>::value;
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      int want = 0;
      for (int k = 0; k < kSize; ++k) {
        want += ia[i * kSize + k] *
                ib[kByRows ? k * kSize + j : j * kSize + k];
      }
      const double got =
          static_cast<double>(static_cast<float>(c[i * kSize + j]));
      if (got != 2.0 * want) {
        std::printf("%s: C[%d][%d] is %g, want %d\n", name, i, j, got,
                    2 * want);
        return false;
      }
    }
  }
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  return true;
}

int main() {
  using Row = wmma::row_major;
  using Column = wmma::col_major;
  bool pass = true;
  pass &= Run<half, half, float, Column, 16, 16, 16>("half to float");
  pass &= Run<half, half, float, Row, 32, 8, 16>("half to float, 32 x 8");
  pass &= Run<half, half, half, Row, 8, 32, 16>("half to half, 8 x 32");
  pass &= Run<__nv_bfloat16, __nv_bfloat16, float, Row, 16, 16, 16>("bf16");
  pass &= Run<float, wmma::precision::tf32, float, Column, 16, 16, 8>("tf32");
  pass &= Run<double, double, double, Column, 8, 8, 4>("double");
  pass &= Run<signed char, signed char, int, Column, 16, 16, 16>("s8");
  pass &= Run<unsigned char, unsigned char, int, Row, 16, 16, 16>("u8");
  std::printf("matrix_wmma: %s\n", pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
