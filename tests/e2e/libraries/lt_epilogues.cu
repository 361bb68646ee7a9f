// A layer and its way back in bfloat16: bias and GELU with what it keeps, then
// the slope of GELU and that of the bias.
//
// RUN: %check %s %t %library -l:libcublasLt.so.13
#include <cuda_bf16.h>

#include "lt.h"

constexpr int kM = 32, kN = 24, kK = 16;
using Half = __nv_bfloat16;

std::vector<float> Floats(const std::vector<Half>& halves) {
  std::vector<float> out;
  for (const Half& value : halves) out.push_back(__bfloat162float(value));
  return out;
}
std::vector<Half> Halves(int n, unsigned seed) {
  std::vector<Half> out;
  for (const float value : Numbers<float>(n, seed)) {
    out.push_back(__float2bfloat16(value));
  }
  return out;
}
float Gelu(float x) {
  return 0.5f * x *
         (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}
float Slope(float x) {
  const float h = 1e-2f;
  return (Gelu(x + h) - Gelu(x - h)) / (2 * h);
}

int main() {
  cublasLtHandle_t handle;
  CALL(cublasLtCreate(&handle));
  const auto a = Halves(kM * kK, 4), b = Halves(kK * kN, 5),
             bias = Halves(kM, 6);
  const Half *da = ToDevice(a), *db = ToDevice(b), *dbias = ToDevice(bias);
  Half *kept = Zeros<Half>(kM * kN), *dd = Zeros<Half>(kM * kN);
  Matmul forward(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  forward.Set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  forward.Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, dbias);
  forward.Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept);
  forward.Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t(kM));
  Layout la(CUDA_R_16BF, kM, kK, kM), lb(CUDA_R_16BF, kK, kN, kK),
      ld(CUDA_R_16BF, kM, kN, kM);
  Run<float>(handle, forward, 1, da, la, db, lb, 0, dd, ld, dd, ld, nullptr);
  CHECK(cudaDeviceSynchronize());
  auto before =
      Product(kM, kN, kK, Floats(a).data(), false, Floats(b).data(), false);
  const auto biases = Floats(bias);
  for (int i = 0; i < kM * kN; ++i) before[i] += biases[i % kM];
  EXPECT(Near(Floats(ToHost(kept, kM * kN)), before, 8e-3));
  auto after = before;
  for (float& value : after) value = Gelu(value);
  EXPECT(Near(Floats(ToHost(dd, kM * kN)), after, 8e-3));

  // Its way back: (A^T B) times GELU's slope; the bias' slope is the rows' sum.
  Half *slope = Zeros<Half>(kM * kN), *bias_slope = Zeros<Half>(kM);
  Matmul back(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  back.Set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DGELU_BGRAD);
  back.Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_slope);
  back.Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept);
  back.Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t(kM));
  Run<float>(handle, back, 1, da, la, db, lb, 0, slope, ld, slope, ld, nullptr);
  CHECK(cudaDeviceSynchronize());
  auto want =
      Product(kM, kN, kK, Floats(a).data(), false, Floats(b).data(), false);
  const auto input = Floats(ToHost(kept, kM * kN));
  std::vector<float> sums(kM);
  for (int i = 0; i < kM * kN; ++i) {
    want[i] *= Slope(input[i]);
    sums[i % kM] += want[i];
  }
  EXPECT(Near(Floats(ToHost(slope, kM * kN)), want, 1e-2));
  EXPECT(Near(Floats(ToHost(bias_slope, kM)), sums, 2e-2));
  CALL(cublasLtDestroy(handle));
  return Pass();
}
