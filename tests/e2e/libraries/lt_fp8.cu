// Products of 8-bit floats, which a kernel makes, with a scale for each matrix
// and the largest magnitude of the result.
//
// RUN: %check %s %t %library -l:libcublasLt.so.13
#include <cuda_fp8.h>

#include "lt.h"

constexpr int kM = 64, kN = 32, kK = 48;
using Float8 = __nv_fp8_e4m3;

__global__ void Narrow(const float* from, Float8* to, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = Float8(from[i] * by);
}
Float8* Narrowed(const std::vector<float>& values, float by,
                 std::vector<float>* host) {
  Float8* to = Zeros<Float8>(values.size());
  Narrow<<<Blocks(values.size()), 128>>>(ToDevice(values), to,
                                         int(values.size()), by);
  for (const Float8 value : ToHost(to, values.size())) {
    host->push_back(float(value));
  }
  return to;
}

int main() {
  cublasLtHandle_t handle;
  CALL(cublasLtCreate(&handle));
  std::vector<float> a, b;
  const Float8* da = Narrowed(Numbers<float>(kM * kK, 7), 100, &a);
  const Float8* db = Narrowed(Numbers<float>(kK * kN, 8), 50, &b);
  const float* scale_a = ToDevice(std::vector<float>{0.01f});
  const float* scale_b = ToDevice(std::vector<float>{0.02f});
  Matmul matmul(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  matmul.Set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  matmul.Set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale_a);
  matmul.Set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale_b);
  matmul.Set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t(1));
  Layout la(CUDA_R_8F_E4M3, kK, kM, kK), lb(CUDA_R_8F_E4M3, kK, kN, kK),
      wide(CUDA_R_16BF, kM, kN, kM), narrow(CUDA_R_8F_E4M3, kM, kN, kM);
  auto want = Product(kM, kN, kK, a.data(), true, b.data(), false);
  for (float& value : want) value *= 0.01f * 0.02f;
  // The upper half of a float is a bfloat16.
  auto* halves = Zeros<unsigned short>(kM * kN);
  Run<float>(handle, matmul, 1, da, la, db, lb, 0, halves, wide, halves, wide,
             nullptr);
  CHECK(cudaDeviceSynchronize());
  std::vector<float> got;
  for (const unsigned short half : ToHost(halves, kM * kN)) {
    const unsigned bits = unsigned(half) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    got.push_back(value);
  }
  EXPECT(Near(got, want, 8e-3));
  // A result in 8 bits, itself scaled.
  float* largest = Zeros<float>(1);
  matmul.Set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
             ToDevice(std::vector<float>{16}));
  matmul.Set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, largest);
  Float8* dd = Zeros<Float8>(kM * kN);
  Run<float>(handle, matmul, 1, da, la, db, lb, 0, halves, wide, dd, narrow,
             nullptr);
  CHECK(cudaDeviceSynchronize());
  float most = 0;
  std::vector<float> scaled;
  for (const float value : want) {
    most = std::fmax(most, std::fabs(value));
    scaled.push_back(value * 16);
  }
  got.clear();
  for (const Float8 value : ToHost(dd, kM * kN)) got.push_back(float(value));
  EXPECT(Near(got, scaled, 0.07));
  EXPECT(std::fabs(ToHost(largest, 1)[0] - most) < 1e-3f * most);
  CALL(cublasLtDestroy(handle));
  return Pass();
}
