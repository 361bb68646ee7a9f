// Small systems by the dozen: LU, inverses, solutions and least squares, over
// arrays of pointers.
//
// RUN: %check %s %t %library -l:libcublas.so.13
#include <cublas_v2.h>

#include "library.h"

constexpr int kN = 8, kCount = 10, kSize = kN * kN;

std::vector<float> Identity() {
  std::vector<float> identity(kSize);
  for (int i = 0; i < kN; ++i) identity[i * (kN + 1)] = 1;
  return identity;
}
float** Pointers(float* base, int stride) {
  std::vector<float*> all;
  for (int i = 0; i < kCount; ++i) all.push_back(base + i * stride);
  return ToDevice(all);
}

int main() {
  cublasHandle_t handle;
  CALL(cublasCreate(&handle));
  auto a = Numbers<float>(kSize * kCount, 12);
  for (int i = 0; i < kCount; ++i) {
    for (int j = 0; j < kN; ++j) a[i * kSize + j * (kN + 1)] += 3;
  }
  float *lu = ToDevice(a), *inverse = Zeros<float>(kSize * kCount);
  float **lus = Pointers(lu, kSize), **inverses = Pointers(inverse, kSize);
  int *pivots = Zeros<int>(kN * kCount), *info = Zeros<int>(kCount);
  CALL(cublasSgetrfBatched(handle, kN, lus, kN, pivots, info, kCount));
  EXPECT(ToHost(info, kCount) == std::vector<int>(kCount));
  CALL(cublasSgetriBatched(handle, kN, lus, kN, pivots, inverses, kN, info,
                           kCount));
  const auto inverted = ToHost(inverse, kSize * kCount);
  for (int i = 0; i < kCount; ++i) {
    EXPECT(Near(
        Product(kN, kN, kN, &a[i * kSize], false, &inverted[i * kSize], false),
        Identity(), 1e-5));
  }
  // A x = b for two right sides each; the info of this one is the host's.
  const auto b = Numbers<float>(kN * 2 * kCount, 13);
  float* x = ToDevice(b);
  int host_info = 1;
  CALL(cublasSgetrsBatched(handle, CUBLAS_OP_N, kN, 2, lus, kN, pivots,
                           Pointers(x, kN * 2), kN, &host_info, kCount));
  EXPECT(host_info == 0);
  const auto solved = ToHost(x, b.size());
  for (int i = 0; i < kCount; ++i) {
    EXPECT(Near(
        Product(kN, 2, kN, &a[i * kSize], false, &solved[i * kN * 2], false),
        std::vector<float>(&b[i * kN * 2], &b[(i + 1) * kN * 2 - 1] + 1),
        1e-5));
  }
  // Without LU between; a singular one is told.
  for (int i = 0; i < kSize; ++i) a[3 * kSize + i] = 0;
  float* again = ToDevice(a);
  CALL(cublasSmatinvBatched(handle, kN, Pointers(again, kSize), kN, inverses,
                            kN, info, kCount));
  const auto told = ToHost(info, kCount);
  for (int i = 0; i < kCount; ++i) EXPECT((told[i] != 0) == (i == 3));
  // Least squares of a tall matrix: A^T (b - A x) = 0.
  constexpr int kRows = 2 * kN;
  const auto tall = Numbers<float>(kRows * kN * kCount, 14);
  const auto right = Numbers<float>(kRows * kCount, 15);
  float *dt = ToDevice(tall), *dr = ToDevice(right);
  CALL(cublasSgelsBatched(handle, CUBLAS_OP_N, kRows, kN, 1,
                          Pointers(dt, kRows * kN), kRows, Pointers(dr, kRows),
                          kRows, &host_info, nullptr, kCount));
  EXPECT(host_info == 0);
  const auto best = ToHost(dr, kRows * kCount);
  for (int i = 0; i < kCount; ++i) {
    auto rest = Product(kRows, 1, kN, &tall[i * kRows * kN], false,
                        &best[i * kRows], false);
    for (int j = 0; j < kRows; ++j) rest[j] -= right[i * kRows + j];
    EXPECT(Near(
        Product(kN, 1, kRows, &tall[i * kRows * kN], true, rest.data(), false),
        std::vector<float>(kN), 2e-5));
  }
  CALL(cublasDestroy(handle));
  return Pass();
}
