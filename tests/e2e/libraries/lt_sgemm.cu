// cublasLtMatmul in f32: transposes, C that is not D, every algorithm that the
// heuristics find, and none.
//
// RUN: %check %s %t %library -l:libcublasLt.so.13
#include "lt.h"

constexpr int kM = 30, kN = 20, kK = 50;

int main() {
  cublasLtHandle_t handle;
  CALL(cublasLtCreate(&handle));
  const auto a = Numbers<float>(kM * kK, 1), b = Numbers<float>(kK * kN, 2),
             c = Numbers<float>(kM * kN, 3);
  float *da = ToDevice(a), *db = ToDevice(b), *dc = ToDevice(c),
        *dd = Zeros<float>(kM * kN);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  for (int form = 0; form < 4; ++form) {
    const bool turn_a = form & 1, turn_b = form & 2;
    Matmul matmul(CUBLAS_COMPUTE_32F, CUDA_R_32F);
    matmul.Set(CUBLASLT_MATMUL_DESC_TRANSA, turn_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    matmul.Set(CUBLASLT_MATMUL_DESC_TRANSB, turn_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    Layout la(CUDA_R_32F, turn_a ? kK : kM, turn_a ? kM : kK, turn_a ? kK : kM);
    Layout lb(CUDA_R_32F, turn_b ? kN : kK, turn_b ? kK : kN, turn_b ? kN : kK);
    Layout lc(CUDA_R_32F, kM, kN, kM);
    Run<float>(handle, matmul, 2, da, la, db, lb, -1, dc, lc, dd, lc, stream);
    CHECK(cudaStreamSynchronize(stream));
    auto want = Product(kM, kN, kK, a.data(), turn_a, b.data(), turn_b);
    for (int i = 0; i < kM * kN; ++i) want[i] = 2 * want[i] - c[i];
    EXPECT(Near(ToHost(dd, kM * kN), want, 1e-5));
    // Without an algorithm, in place.
    const float one = 1, zero = 0;
    CHECK(cudaMemset(dd, 0xff, kM * kN * sizeof(float)));  // NaN
    CALL(cublasLtMatmul(handle, matmul.matmul, &one, da, la.layout, db,
                        lb.layout, &zero, dd, lc.layout, dd, lc.layout, nullptr,
                        nullptr, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    EXPECT(Near(ToHost(dd, kM * kN),
                Product(kM, kN, kK, a.data(), turn_a, b.data(), turn_b), 1e-5));
  }
  CALL(cublasLtDestroy(handle));
  return Pass();
}
