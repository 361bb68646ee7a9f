// Batches: Cholesky's factors over arrays of pointers that a kernel makes,
// solutions with them, and eigenvalues by Jacobi's rotations.
//
// RUN: %check %s %t %library -l:libcusolver.so.12
#include "solver.h"

constexpr int kN = 9, kCount = 7, kSize = kN * kN;

__global__ void Point(double* base, int stride, double** pointers) {
  if (threadIdx.x < kCount) pointers[threadIdx.x] = base + threadIdx.x * stride;
}
double** Pointers(double* base, int stride) {
  double** pointers = Zeros<double*>(kCount);
  Point<<<1, 32>>>(base, stride, pointers);
  return pointers;
}

int main() {
  cusolverDnHandle_t handle;
  CALL(cusolverDnCreate(&handle));
  std::vector<double> a;
  for (int i = 0; i < kCount; ++i) {
    const auto one = Symmetric(kN, 11 + i, 1);
    a.insert(a.end(), one.begin(), one.end());
  }
  const auto b = Numbers<double>(kN * kCount, 30);
  double *da = ToDevice(a), *db = ToDevice(b);
  double** factors = Pointers(da, kSize);
  int* info = Zeros<int>(kCount);
  CALL(cusolverDnDpotrfBatched(handle, CUBLAS_FILL_MODE_LOWER, kN, factors, kN,
                               info, kCount));
  CALL(cusolverDnDpotrsBatched(handle, CUBLAS_FILL_MODE_LOWER, kN, 1, factors,
                               kN, Pointers(db, kN), kN, info, kCount));
  CHECK(cudaDeviceSynchronize());
  const auto x = ToHost(db, kN * kCount);
  for (int i = 0; i < kCount; ++i) {
    EXPECT(
        Near(Product(kN, 1, kN, &a[i * kSize], false, &x[i * kN], false),
             std::vector<double>(b.begin() + i * kN, b.begin() + (i + 1) * kN),
             1e-11));
  }
  syevjInfo_t jacobi;
  double *dj = ToDevice(a), *dw = Zeros<double>(kN * kCount);
  int room = 0;
  CALL(cusolverDnCreateSyevjInfo(&jacobi));
  CALL(cusolverDnDsyevjBatched_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR,
                                          CUBLAS_FILL_MODE_LOWER, kN, dj, kN,
                                          dw, &room, jacobi, kCount));
  CALL(cusolverDnDsyevjBatched(
      handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, kN, dj, kN, dw,
      Zeros<double>(room + 1), room, info, jacobi, kCount));
  CHECK(cudaDeviceSynchronize());
  EXPECT(ToHost(info, kCount) == std::vector<int>(kCount));
  const auto v = ToHost(dj, a.size()), w = ToHost(dw, kN * kCount);
  for (int i = 0; i < kCount; ++i) {
    const std::vector<double> vectors(&v[i * kSize], &v[i * kSize] + kSize);
    EXPECT(Near(Joined(kN, kN, kN, vectors,
                       std::vector<double>(&w[i * kN], &w[i * kN] + kN),
                       vectors.data(), false),
                std::vector<double>(&a[i * kSize], &a[i * kSize] + kSize),
                1e-12));
  }
  CALL(cusolverDnDestroySyevjInfo(jacobi));
  CALL(cusolverDnDestroy(handle));
  return Pass();
}
