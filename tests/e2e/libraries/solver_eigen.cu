// Symmetric eigenvalues: syevd, a range of them by syevdx, Jacobi's syevj with
// its parameters, and of a pair of matrices.
//
// RUN: %check %s %t %library -l:libcusolver.so.12
#include "solver.h"

constexpr int kN = 20;
const auto kVectors = CUSOLVER_EIG_MODE_VECTOR;
const auto kLower = CUBLAS_FILL_MODE_LOWER;

int main() {
  cusolverDnHandle_t handle;
  CALL(cusolverDnCreate(&handle));
  const auto a = Symmetric(kN, 5, 0);
  double *da = ToDevice(a), *dw = Zeros<double>(kN);
  int *info = Zeros<int>(1), room = 0;
  CALL(cusolverDnDsyevd_bufferSize(handle, kVectors, kLower, kN, da, kN, dw,
                                   &room));
  CALL(cusolverDnDsyevd(handle, kVectors, kLower, kN, da, kN, dw,
                        Zeros<double>(room + 1), room, info));
  CHECK(cudaDeviceSynchronize());
  EXPECT(ToHost(info, 1)[0] == 0);
  const auto w = ToHost(dw, kN), v = ToHost(da, kN * kN);
  for (int i = 1; i < kN; ++i) EXPECT(w[i - 1] <= w[i]);
  EXPECT(Orthogonal(kN, kN, v));
  EXPECT(Near(Joined(kN, kN, kN, v, w, v.data(), false), a, 1e-12));
  // The three largest.
  double *dx = ToDevice(a), *dwx = Zeros<double>(kN);
  int found = 0;
  CALL(cusolverDnDsyevdx_bufferSize(handle, kVectors, CUSOLVER_EIG_RANGE_I,
                                    kLower, kN, dx, kN, 0, 0, kN - 2, kN,
                                    &found, dwx, &room));
  CALL(cusolverDnDsyevdx(handle, kVectors, CUSOLVER_EIG_RANGE_I, kLower, kN, dx,
                         kN, 0, 0, kN - 2, kN, &found, dwx,
                         Zeros<double>(room + 1), room, info));
  CHECK(cudaDeviceSynchronize());
  EXPECT(found == 3);
  EXPECT(
      Near(ToHost(dwx, 3), std::vector<double>(w.end() - 3, w.end()), 1e-12));
  // Jacobi's rotations.
  syevjInfo_t jacobi;
  double *dj = ToDevice(a), *dwj = Zeros<double>(kN), rest = 1;
  CALL(cusolverDnCreateSyevjInfo(&jacobi));
  CALL(cusolverDnXsyevjSetTolerance(jacobi, 1e-12));
  CALL(cusolverDnXsyevjSetMaxSweeps(jacobi, 20));
  CALL(cusolverDnDsyevj_bufferSize(handle, kVectors, kLower, kN, dj, kN, dwj,
                                   &room, jacobi));
  CALL(cusolverDnDsyevj(handle, kVectors, kLower, kN, dj, kN, dwj,
                        Zeros<double>(room + 1), room, info, jacobi));
  CHECK(cudaDeviceSynchronize());
  EXPECT(Near(ToHost(dwj, kN), w, 1e-10));
  CALL(cusolverDnXsyevjGetResidual(handle, jacobi, &rest));
  EXPECT(rest < 1e-8);
  CALL(cusolverDnDestroySyevjInfo(jacobi));
  // A x = w B x.
  const auto b = Symmetric(kN, 6, 2);
  double *dp = ToDevice(a), *db = ToDevice(b), *dwp = Zeros<double>(kN);
  CALL(cusolverDnDsygvd_bufferSize(handle, CUSOLVER_EIG_TYPE_1, kVectors,
                                   kLower, kN, dp, kN, db, kN, dwp, &room));
  CALL(cusolverDnDsygvd(handle, CUSOLVER_EIG_TYPE_1, kVectors, kLower, kN, dp,
                        kN, db, kN, dwp, Zeros<double>(room + 1), room, info));
  CHECK(cudaDeviceSynchronize());
  const auto wp = ToHost(dwp, kN), x = ToHost(dp, kN * kN);
  const auto ax = Product(kN, kN, kN, a.data(), false, x.data(), false);
  auto bx = Product(kN, kN, kN, b.data(), false, x.data(), false);
  for (int i = 0; i < kN * kN; ++i) bx[i] *= wp[i / kN];
  EXPECT(Near(ax, bx, 1e-11));
  CALL(cusolverDnDestroy(handle));
  return Pass();
}
