// Quantised products: bytes to whole numbers, exactly, and to bytes with a
// scale, rounded and clamped, behind a kernel that quantises.
//
// RUN: %check %s %t %library -l:libcublasLt.so.13
#include "lt.h"

constexpr int kM = 16, kN = 24, kK = 32;

__global__ void Quantise(const float* from, signed char* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = static_cast<signed char>(__float2int_rn(from[i] * 127));
}
signed char* Bytes(int n, unsigned seed, std::vector<int>* host) {
  signed char* to = Zeros<signed char>(n);
  Quantise<<<Blocks(n), 128>>>(ToDevice(Numbers<float>(n, seed)), to, n);
  const auto bytes = ToHost(to, n);
  host->assign(bytes.begin(), bytes.end());
  return to;
}

int main() {
  cublasLtHandle_t handle;
  CALL(cublasLtCreate(&handle));
  std::vector<int> a, b;
  const signed char *da = Bytes(kM * kK, 9, &a), *db = Bytes(kK * kN, 10, &b);
  const auto want = Product(kM, kN, kK, a.data(), true, b.data(), false);
  Layout la(CUDA_R_8I, kK, kM, kK), lb(CUDA_R_8I, kK, kN, kK),
      whole(CUDA_R_32I, kM, kN, kM), byte(CUDA_R_8I, kM, kN, kM);
  Matmul exact(CUBLAS_COMPUTE_32I, CUDA_R_32I);
  exact.Set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  int* sums = Zeros<int>(kM * kN);
  Run<int>(handle, exact, 1, da, la, db, lb, 0, sums, whole, sums, whole,
           nullptr);
  CHECK(cudaDeviceSynchronize());
  EXPECT(ToHost(sums, kM * kN) == want);
  Matmul scaled(CUBLAS_COMPUTE_32I, CUDA_R_32F);
  scaled.Set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  signed char* bytes = Zeros<signed char>(kM * kN);
  Run<float>(handle, scaled, 1.f / 256, da, la, db, lb, 0, bytes, byte, bytes,
             byte, nullptr);
  CHECK(cudaDeviceSynchronize());
  const auto got = ToHost(bytes, kM * kN);
  bool clamped = false;
  for (int i = 0; i < kM * kN; ++i) {
    const float value = std::nearbyintf(want[i] / 256.f);
    clamped |= value < -128 || value > 127;
    EXPECT(got[i] == std::fmin(std::fmax(value, -128), 127));
  }
  EXPECT(clamped);
  CALL(cublasLtDestroy(handle));
  return Pass();
}
