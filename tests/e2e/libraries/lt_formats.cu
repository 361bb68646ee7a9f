// Matrices as tensor cores want them: bytes by tiles, between transforms from
// rows and back; floats of 4 bits with scales by blocks, which are found for
// the result; complex halves in planes.
//
// RUN: %check %s %t %library -l:libcublasLt.so.13
#include <cuda_fp16.h>

#include "lt.h"

void Transform(cublasLtHandle_t handle, const void* from, Layout& of_from,
               void* to, Layout& of_to) {
  cublasLtMatrixTransformDesc_t transform;
  const float one = 1, zero = 0;
  CALL(cublasLtMatrixTransformDescCreate(&transform, CUDA_R_32F));
  CALL(cublasLtMatrixTransform(handle, transform, &one, from, of_from.layout,
                               &zero, nullptr, nullptr, to, of_to.layout,
                               nullptr));
  CALL(cublasLtMatrixTransformDescDestroy(transform));
}

void Tiles(cublasLtHandle_t handle) {
  constexpr int kM = 24, kN = 40, kK = 64;
  std::vector<signed char> a, b;
  std::vector<int> wide_a, wide_b;
  for (int i = 0; i < kM * kK; ++i) a.push_back(i * 7 % 251 - 125);
  for (int i = 0; i < kN * kK; ++i) b.push_back(i * 11 % 241 - 120);
  wide_a.assign(a.begin(), a.end());
  wide_b.assign(b.begin(), b.end());
  const auto round = [](int n, int to) { return (n + to - 1) / to * to; };
  Layout la(CUDA_R_8I, kM, kK, kM), lb(CUDA_R_8I, kN, kK, kN);
  Layout ta(CUDA_R_8I, kM, kK, 32 * kM);
  Layout tb(CUDA_R_8I, kN, kK, 32 * round(kN, 32));
  Layout tc(CUDA_R_32I, kM, kN, 32 * kM), lc(CUDA_R_32I, kM, kN, kM);
  ta.Set(CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL32);
  tb.Set(CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL32_2R_4R4);
  tc.Set(CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL32);
  auto* tiles_a = Zeros<signed char>(kM * kK);
  auto* tiles_b = Zeros<signed char>(round(kN, 32) * kK);
  auto* tiles_c = Zeros<int>(kM * round(kN, 32));
  auto* c = Zeros<int>(kM * kN);
  Transform(handle, ToDevice(a), la, tiles_a, ta);
  Transform(handle, ToDevice(b), lb, tiles_b, tb);
  Matmul matmul(CUBLAS_COMPUTE_32I, CUDA_R_32I);
  matmul.Set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
  Run<int>(handle, matmul, 1, tiles_a, ta, tiles_b, tb, 0, tiles_c, tc, tiles_c,
           tc, nullptr);
  Transform(handle, tiles_c, tc, c, lc);
  CHECK(cudaDeviceSynchronize());
  EXPECT(ToHost(c, kM * kN) ==
         Product(kM, kN, kK, wide_a.data(), false, wide_b.data(), true));
}

// Floats of 4 bits, two in a byte, and a scale for each 16, in tiles of 128
// by 4.
struct Narrow {
  int inner, outer;
  std::vector<unsigned char> bytes, scales;
  Narrow(int k, int n, unsigned seed)
      : inner(k),
        outer(n),
        bytes(k * n / 2),
        scales((n + 127) / 128 * ((k + 63) / 64) * 512) {
    for (auto& byte : bytes) byte = (seed = seed * 1664525u + 99) >> 24;
    for (auto& scale : scales) {
      scale = 0x30 + ((seed = seed * 1664525u + 99) >> 24) % 16;
    }
  }
  // An unsigned E4M3.
  static float Scale(unsigned char bits) {
    return std::ldexp(float(8 + bits % 8), bits / 8 - 10);
  }
  float ScaleAt(int k, int n) const {
    const int block = k / 16, tile = n / 128 * ((inner + 63) / 64) + block / 4;
    return Scale(
        scales[tile * 512 + n % 32 * 16 + n % 128 / 32 * 4 + block % 4]);
  }
  float At(int k, int n) const {
    constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const int at = n * inner + k, bits = bytes[at / 2] >> at % 2 * 4 & 15;
    return (bits < 8 ? 1 : -1) * kValues[bits % 8] * ScaleAt(k, n);
  }
};

void FourBits(cublasLtHandle_t handle) {
  constexpr int kM = 32, kN = 160, kK = 96;
  Narrow a(kK, kM, 1), b(kK, kN, 2), d(kM, kN, 3);
  Layout la(CUDA_R_4F_E2M1, kK, kM, kK), lb(CUDA_R_4F_E2M1, kK, kN, kK);
  Layout lc(CUDA_R_16BF, kM, kN, kM), ld(CUDA_R_4F_E2M1, kM, kN, kM);
  Matmul matmul(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  constexpr auto kBlocks = CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
  unsigned char *scales = ToDevice(d.scales), *bytes = ToDevice(d.bytes);
  matmul.Set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  matmul.Set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, kBlocks);
  matmul.Set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, kBlocks);
  matmul.Set(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, kBlocks);
  matmul.Set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, ToDevice(a.scales));
  matmul.Set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, ToDevice(b.scales));
  matmul.Set(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, scales);
  Run<float>(handle, matmul, 0.125f, ToDevice(a.bytes), la, ToDevice(b.bytes),
             lb, 0, Zeros<short>(kM * kN), lc, bytes, ld, nullptr);
  CHECK(cudaDeviceSynchronize());
  d.scales = ToHost(scales, d.scales.size());
  d.bytes = ToHost(bytes, d.bytes.size());
  for (int j = 0; j < kN; ++j) {
    for (int i = 0; i < kM; ++i) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) sum += a.At(k, i) * b.At(k, j);
      // Half a step at the largest, which is 2 there.
      EXPECT(std::fabs(d.At(i, j) - sum / 8) <= 1.1f * d.ScaleAt(i, j));
    }
  }
}

void Planes(cublasLtHandle_t handle) {
  constexpr int kM = 8, kN = 16, kK = 24;
  const auto planes = [](int count, unsigned seed,
                         std::vector<std::complex<float>>* wide) {
    std::vector<__half> out(2 * count);
    for (int i = 0; i < 2 * count; ++i) {
      out[i] = __float2half(float((i * 5 + seed) % 9) - 4);
    }
    for (int i = 0; i < count; ++i) {
      wide->emplace_back(__half2float(out[i]), __half2float(out[count + i]));
    }
    return ToDevice(out);
  };
  std::vector<std::complex<float>> a, b;
  __half *da = planes(kM * kK, 1, &a), *db = planes(kK * kN, 2, &b);
  __half* dc = Zeros<__half>(2 * kM * kN);
  Layout la(CUDA_C_16F, kM, kK, kM), lb(CUDA_C_16F, kK, kN, kK);
  Layout lc(CUDA_C_16F, kM, kN, kM);
  la.Set(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, std::int64_t(kM * kK * 2));
  lb.Set(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, std::int64_t(kK * kN * 2));
  lc.Set(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, std::int64_t(kM * kN * 2));
  Matmul matmul(CUBLAS_COMPUTE_32F, CUDA_C_32F);
  Run<std::complex<float>>(handle, matmul, 1, da, la, db, lb, 0, dc, lc, dc, lc,
                           nullptr);
  CHECK(cudaDeviceSynchronize());
  const auto want = Product(kM, kN, kK, a.data(), false, b.data(), false);
  const auto got = ToHost(dc, 2 * kM * kN);
  for (int i = 0; i < kM * kN; ++i) {
    EXPECT(__half2float(got[i]) == want[i].real() &&
           __half2float(got[kM * kN + i]) == want[i].imag());
  }
}

int main() {
  cublasLtHandle_t handle;
  CALL(cublasLtCreate(&handle));
  Tiles(handle);
  FourBits(handle);
  Planes(handle);
  CALL(cublasLtDestroy(handle));
  return Pass();
}
