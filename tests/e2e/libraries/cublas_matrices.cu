// Level 3 of complex matrices and its extensions: a Hermitian product, a
// triangular system with many right sides, sums with transposes, diagonals.
//
// RUN: %check %s %t %library -l:libcublas.so.13
#include <cublas_v2.h>

#include "library.h"

using Complex = std::complex<float>;
constexpr int kN = 24, kM = 10;

cuComplex* Device(const std::vector<Complex>& values) {
  return reinterpret_cast<cuComplex*>(ToDevice(values));
}
std::vector<Complex> Host(const cuComplex* values, std::size_t n) {
  return ToHost(reinterpret_cast<const Complex*>(values), n);
}
std::vector<Complex> Random(int n, unsigned seed) {
  const auto parts = Numbers<float>(2 * n, seed);
  std::vector<Complex> out(n);
  for (int i = 0; i < n; ++i) out[i] = {parts[2 * i], parts[2 * i + 1]};
  return out;
}
std::vector<Complex> Turned(const std::vector<Complex>& a, int rows,
                            int columns) {
  std::vector<Complex> out(a.size());
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      out[j + i * columns] = std::conj(a[i + j * rows]);
    }
  }
  return out;
}

int main() {
  cublasHandle_t handle;
  CALL(cublasCreate(&handle));
  const auto a = Random(kN * kM, 9), b = Random(kN * kM, 10);
  cuComplex *da = Device(a), *db = Device(b);
  // H := A A^H + 4 I, its upper triangle alone.
  std::vector<Complex> h(kN * kN);
  for (int i = 0; i < kN; ++i) h[i * (kN + 1)] = 4;
  cuComplex* dh = Device(h);
  const float one = 1;
  CALL(cublasCherk(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, kN, kM, &one,
                   da, kN, &one, dh, kN));
  const auto turned = Turned(a, kN, kM);
  const auto product =
      Product(kN, kN, kM, a.data(), false, turned.data(), false);
  for (int i = 0; i < kN * kN; ++i) h[i] += product[i];
  const auto upper = Host(dh, kN * kN);
  for (int j = 0; j < kN; ++j) {
    for (int i = 0; i < kN; ++i) {
      const Complex want = i <= j ? h[i + j * kN] : Complex(0);
      EXPECT(std::abs(upper[i + j * kN] - want) < 1e-5f);
    }
  }
  // C := H B, of which the other triangle is not read.
  cuComplex* dc = Device(std::vector<Complex>(kN * kM));
  const cuComplex i_one = {1, 0}, none = {0, 0}, i_two = {0, 2};
  CALL(cublasChemm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, kN, kM,
                   &i_one, dh, kN, db, kN, &none, dc, kN));
  EXPECT(Near(Host(dc, kN * kM),
              Product(kN, kM, kN, h.data(), false, b.data(), false), 1e-5));
  // U^H X = 2i B, and back.
  cuComplex* dx = Device(b);
  CALL(cublasCtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER,
                   CUBLAS_OP_C, CUBLAS_DIAG_NON_UNIT, kN, kM, &i_two, dh, kN,
                   dx, kN));
  CALL(cublasCtrmm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER,
                   CUBLAS_OP_C, CUBLAS_DIAG_NON_UNIT, kN, kM, &i_one, dh, kN,
                   dx, kN, dc, kN));
  std::vector<Complex> twice(b);
  for (Complex& value : twice) value *= Complex(0, 2);
  EXPECT(Near(Host(dc, kN * kM), twice, 1e-4));
  // D := A^H + 2i B^H
  cuComplex* dd = Device(std::vector<Complex>(kN * kM));
  CALL(cublasCgeam(handle, CUBLAS_OP_C, CUBLAS_OP_C, kM, kN, &i_one, da, kN,
                   &i_two, db, kN, dd, kM));
  auto sum = turned;
  const auto turned_b = Turned(b, kN, kM);
  for (int i = 0; i < kN * kM; ++i) sum[i] += Complex(0, 2) * turned_b[i];
  EXPECT(Near(Host(dd, kN * kM), sum, 1e-6));
  // Columns scaled by every second element of a vector.
  const auto scales = Random(2 * kN, 11);
  CALL(cublasCdgmm(handle, CUBLAS_SIDE_RIGHT, kM, kN, dd, kM, Device(scales), 2,
                   dd, kM));
  for (int i = 0; i < kN * kM; ++i) sum[i] *= scales[i / kM * 2];
  EXPECT(Near(Host(dd, kN * kM), sum, 1e-6));
  CALL(cublasDestroy(handle));
  return Pass();
}
