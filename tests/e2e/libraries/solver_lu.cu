// Linear systems by LU and by Cholesky's factor, whose matrix a kernel fills;
// a singular one is told by its column.
//
// RUN: %check %s %t %library -l:libcusolver.so.12
#include "solver.h"

constexpr int kN = 30, kRight = 4;

__device__ __host__ double Element(int i, int j) {
  return i == j ? 5.0 : 1.0 / (1 + i + 2 * j);
}
__global__ void Fill(double* a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kN * kN) a[i] = Element(i % kN, i / kN);
}

int main() {
  cusolverDnHandle_t handle;
  CALL(cusolverDnCreate(&handle));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CALL(cusolverDnSetStream(handle, stream));
  std::vector<double> a(kN * kN);
  for (int i = 0; i < kN * kN; ++i) a[i] = Element(i % kN, i / kN);
  const auto b = Numbers<double>(kN * kRight, 1);
  double *da = Zeros<double>(kN * kN), *db = ToDevice(b);
  int *pivots = Zeros<int>(kN), *info = Zeros<int>(1), room = 0;
  Fill<<<Blocks(kN * kN), 128, 0, stream>>>(da);
  CALL(cusolverDnDgetrf_bufferSize(handle, kN, kN, da, kN, &room));
  double* work = Zeros<double>(room + 1);
  CALL(cusolverDnDgetrf(handle, kN, kN, da, kN, work, pivots, info));
  CALL(cusolverDnDgetrs(handle, CUBLAS_OP_N, kN, kRight, da, kN, pivots, db, kN,
                        info));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(ToHost(info, 1)[0] == 0);
  const auto x = ToHost(db, kN * kRight);
  EXPECT(Near(Product(kN, kRight, kN, a.data(), false, x.data(), false), b,
              1e-12));
  // A column of zeros.
  CHECK(cudaMemsetAsync(da, 0, kN * kN * sizeof(double), stream));
  CALL(cusolverDnDgetrf(handle, kN, kN, da, kN, work, nullptr, info));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(ToHost(info, 1)[0] == 1);

  const auto s = Symmetric(kN, 2, 1);
  double *ds = ToDevice(s), *dy = ToDevice(b);
  CALL(cusolverDnDpotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, kN, ds, kN,
                                   &room));
  CALL(cusolverDnDpotrf(handle, CUBLAS_FILL_MODE_LOWER, kN, ds, kN,
                        Zeros<double>(room + 1), room, info));
  CALL(cusolverDnDpotrs(handle, CUBLAS_FILL_MODE_LOWER, kN, kRight, ds, kN, dy,
                        kN, info));
  CHECK(cudaStreamSynchronize(stream));
  const auto y = ToHost(dy, kN * kRight);
  EXPECT(Near(Product(kN, kRight, kN, s.data(), false, y.data(), false), b,
              1e-11));
  CALL(cusolverDnDestroy(handle));
  return Pass();
}
