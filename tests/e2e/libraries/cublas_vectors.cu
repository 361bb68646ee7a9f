// Levels 1 and 2, with scalars in memory of the device between calls and
// kernels: Gram and Schmidt's orthogonal vectors, a rank-one update, a
// triangular system.
//
// RUN: %check %s %t %library -l:libcublas.so.13
#include <cublas_v2.h>

#include "library.h"

constexpr int kN = 40, kColumns = 6;

__global__ void Invert(double* value) { *value = 1 / *value; }
__global__ void Negate(double* values, int n) {
  if (threadIdx.x < n) values[threadIdx.x] = -values[threadIdx.x];
}

void Orthogonalise(cublasHandle_t handle, double* columns) {
  double* scalars = Zeros<double>(kColumns + 2);
  double* const one = ToDevice(std::vector<double>{1});
  double* const zero = ToDevice(std::vector<double>{0});
  CALL(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  for (int j = 0; j < kColumns; ++j) {
    double* const v = columns + j * kN;
    if (j > 0) {
      // v -= Q (Q^T v)
      CALL(cublasDgemv(handle, CUBLAS_OP_T, kN, j, one, columns, kN, v, 1, zero,
                       scalars, 1));
      Negate<<<1, 32>>>(scalars, j);
      CALL(cublasDgemv(handle, CUBLAS_OP_N, kN, j, one, columns, kN, scalars, 1,
                       one, v, 1));
    }
    CALL(cublasDnrm2(handle, kN, v, 1, scalars));
    Invert<<<1, 1>>>(scalars);
    CALL(cublasDscal(handle, kN, scalars, v, 1));
  }
  CALL(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
}

int main() {
  cublasHandle_t handle;
  CALL(cublasCreate(&handle));
  const auto start = Numbers<double>(kN * kColumns, 8);
  double* q = ToDevice(start);
  Orthogonalise(handle, q);
  const auto columns = ToHost(q, kN * kColumns);
  std::vector<double> identity(kColumns * kColumns);
  for (int i = 0; i < kColumns; ++i) identity[i * (kColumns + 1)] = 1;
  EXPECT(Near(Product(kColumns, kColumns, kN, columns.data(), true,
                      columns.data(), false),
              identity, 1e-12));
  double dot = 0;
  CALL(cublasDdot(handle, kN, q, 1, ToDevice(start), 1, &dot));
  EXPECT(dot > 0);

  // Rows of a matrix by columns are vectors with a step.
  int largest = 0;
  CALL(cublasIdamax(handle, kColumns, q, kN, &largest));
  for (int j = 0; j < kColumns; ++j) {
    EXPECT(std::abs(columns[j * kN]) <= std::abs(columns[(largest - 1) * kN]));
  }
  // A := I + x y^T by columns, then its lower triangle solved for.
  std::vector<double> a(kN * kN);
  for (int i = 0; i < kN; ++i) a[i * (kN + 1)] = 2;
  double* da = ToDevice(a);
  const double one = 1;
  CALL(cublasDger(handle, kN, kN, &one, q, 1, q + kN, 1, da, kN));
  for (int i = 0; i < kN * kN; ++i)
    a[i] += columns[i % kN] * columns[kN + i / kN];
  EXPECT(Near(ToHost(da, kN * kN), a, 1e-14));
  double* x =
      ToDevice(std::vector<double>(columns.begin(), columns.begin() + kN));
  CALL(cublasDtrsv(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                   CUBLAS_DIAG_NON_UNIT, kN, da, kN, x, 1));
  CALL(cublasDtrmv(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                   CUBLAS_DIAG_NON_UNIT, kN, da, kN, x, 1));
  EXPECT(Near(ToHost(x, kN),
              std::vector<double>(columns.begin(), columns.begin() + kN),
              1e-12));
  const double cosine = 0.6, sine = 0.8;
  CALL(cublasDrot(handle, kN, q, 1, q + kN, 1, &cosine, &sine));
  double norm = 0, sum = 0;
  CALL(cublasDnrm2(handle, kN, q, 1, &norm));
  CALL(cublasDasum(handle, kN, q + kN, 1, &sum));
  EXPECT(std::abs(norm - 1) < 1e-12 && sum > 1);
  CALL(cublasDestroy(handle));
  return Pass();
}
