// Least squares by QR: Q^T b by cuSOLVER, then R by cuBLAS, in one stream.
//
// RUN: %check %s %t %library -l:libcusolver.so.12 -l:libcublas.so.13
#include <cublas_v2.h>

#include "solver.h"

constexpr int kM = 40, kN = 12;

int main() {
  cusolverDnHandle_t solver;
  cublasHandle_t blas;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CALL(cusolverDnCreate(&solver));
  CALL(cublasCreate(&blas));
  CALL(cusolverDnSetStream(solver, stream));
  CALL(cublasSetStream(blas, stream));
  const auto a = Numbers<double>(kM * kN, 3), b = Numbers<double>(kM, 4);
  double *da = ToDevice(a), *db = ToDevice(b), *tau = Zeros<double>(kN);
  int *info = Zeros<int>(1), room = 0, more = 0;
  CALL(cusolverDnDgeqrf_bufferSize(solver, kM, kN, da, kM, &room));
  CALL(cusolverDnDormqr_bufferSize(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, kM, 1,
                                   kN, da, kM, tau, db, kM, &more));
  room = std::max(room, more);
  double* work = Zeros<double>(room + 1);
  CALL(cusolverDnDgeqrf(solver, kM, kN, da, kM, tau, work, room, info));
  CALL(cusolverDnDormqr(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, kM, 1, kN, da,
                        kM, tau, db, kM, work, room, info));
  const double one = 1;
  CALL(cublasDtrsm(blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                   CUBLAS_DIAG_NON_UNIT, kN, 1, &one, da, kM, db, kM));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(ToHost(info, 1)[0] == 0);
  const auto x = ToHost(db, kN);
  auto rest = Product(kM, 1, kN, a.data(), false, x.data(), false);
  for (int i = 0; i < kM; ++i) rest[i] -= b[i];
  EXPECT(Near(Product(kN, 1, kM, a.data(), true, rest.data(), false),
              std::vector<double>(kN), 1e-12));
  // Q itself.
  CALL(cusolverDnDorgqr_bufferSize(solver, kM, kN, kN, da, kM, tau, &room));
  CALL(cusolverDnDorgqr(solver, kM, kN, kN, da, kM, tau,
                        Zeros<double>(room + 1), room, info));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(Orthogonal(kM, kN, ToHost(da, kM * kN)));
  CALL(cusolverDnDestroy(solver));
  CALL(cublasDestroy(blas));
  return Pass();
}
