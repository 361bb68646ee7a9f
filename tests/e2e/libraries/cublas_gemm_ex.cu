// cublasGemmEx: halves, bfloat16 and bytes, which a kernel makes of floats, and
// what is summed in which type.
//
// RUN: %check %s %t %library -l:libcublas.so.13
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "library.h"

constexpr int kM = 33, kN = 17, kK = 20;

template <typename T>
__global__ void Convert(const float* from, T* to, int n, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = T(from[i] * scale);
}

template <typename T>
T* As(const std::vector<float>& values, float scale, std::vector<float>* host) {
  const float* from = ToDevice(values);
  T* to = Zeros<T>(values.size());
  Convert<<<Blocks(values.size()), 128>>>(from, to, int(values.size()), scale);
  const std::vector<T> back = ToHost(to, values.size());
  host->assign(back.size(), 0);
  for (std::size_t i = 0; i < back.size(); ++i) (*host)[i] = float(back[i]);
  return to;
}

// Inputs as they were rounded; the result rounded once.
template <typename T>
void Halves(cublasHandle_t handle, cudaDataType_t type, double tolerance) {
  std::vector<float> a, b, c;
  const T* da = As<T>(Numbers<float>(kM * kK, 3), 2, &a);
  const T* db = As<T>(Numbers<float>(kK * kN, 4), 2, &b);
  T* dc = As<T>(Numbers<float>(kM * kN, 5), 1, &c);
  const float alpha = 0.5f, beta = 2;
  CALL(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &alpha, da,
                    type, kK, db, type, kK, &beta, dc, type, kM,
                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
  const auto product = Product(kM, kN, kK, a.data(), true, b.data(), false);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = product[i] / 2 + 2 * c[i];
  std::vector<float> got;
  for (const T& value : ToHost(dc, kM * kN)) got.push_back(float(value));
  EXPECT(Near(got, c, tolerance));

  // The same inputs, the result in f32.
  float* wide = Zeros<float>(kM * kN);
  const float one = 1, zero = 0;
  CALL(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &one, da,
                    type, kK, db, type, kK, &zero, wide, CUDA_R_32F, kM,
                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  EXPECT(Near(ToHost(wide, kM * kN), product, 1e-5));
}

void Bytes(cublasHandle_t handle) {
  constexpr int kM = 32, kN = 16, kK = 24;
  std::vector<float> a, b;
  const auto* da = As<signed char>(Numbers<float>(kM * kK, 6), 100, &a);
  const auto* db = As<signed char>(Numbers<float>(kK * kN, 7), 100, &b);
  int* dc = Zeros<int>(kM * kN);
  const int one = 1, zero = 0;
  CALL(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &one, da,
                    CUDA_R_8I, kK, db, CUDA_R_8I, kK, &zero, dc, CUDA_R_32I, kM,
                    CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
  const std::vector<int> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
  EXPECT(ToHost(dc, kM * kN) ==
         Product(kM, kN, kK, wide_a.data(), true, wide_b.data(), false));
}

int main() {
  cublasHandle_t handle;
  CALL(cublasCreate(&handle));
  CALL(cublasSetMathMode(handle, CUBLAS_TENSOR_OP_MATH));
  Halves<__half>(handle, CUDA_R_16F, 1e-3);
  Halves<__nv_bfloat16>(handle, CUDA_R_16BF, 8e-3);
  Bytes(handle);
  CALL(cublasDestroy(handle));
  return Pass();
}
