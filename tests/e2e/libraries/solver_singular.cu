// Singular values: gesvd, Jacobi's gesvdj, and of a batch by both.
//
// RUN: %check %s %t %library -l:libcusolver.so.12
#include "solver.h"

constexpr int kM = 24, kN = 10, kSmall = 8, kCount = 5;

int main() {
  cusolverDnHandle_t handle;
  CALL(cusolverDnCreate(&handle));
  const auto a = Numbers<double>(kM * kN, 7);
  double *da = ToDevice(a), *ds = Zeros<double>(kN),
         *du = Zeros<double>(kM * kM), *dv = Zeros<double>(kN * kN);
  int *info = Zeros<int>(kCount), room = 0;
  CALL(cusolverDnDgesvd_bufferSize(handle, kM, kN, &room));
  CALL(cusolverDnDgesvd(handle, 'S', 'S', kM, kN, da, kM, ds, du, kM, dv, kN,
                        Zeros<double>(room + 1), room, nullptr, info));
  CHECK(cudaDeviceSynchronize());
  const auto s = ToHost(ds, kN);
  auto u = ToHost(du, kM * kN), v = ToHost(dv, kN * kN);
  EXPECT(Orthogonal(kM, kN, u));
  EXPECT(Near(Joined(kM, kN, kN, u, s, v.data(), true), a, 1e-12));
  for (int i = 1; i < kN; ++i) EXPECT(s[i - 1] >= s[i]);

  gesvdjInfo_t jacobi;
  CALL(cusolverDnCreateGesvdjInfo(&jacobi));
  CALL(cusolverDnXgesvdjSetTolerance(jacobi, 1e-12));
  double* dj = ToDevice(a);
  CALL(cusolverDnDgesvdj_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR, 1, kM, kN,
                                    dj, kM, ds, du, kM, dv, kN, &room, jacobi));
  CALL(cusolverDnDgesvdj(handle, CUSOLVER_EIG_MODE_VECTOR, 1, kM, kN, dj, kM,
                         ds, du, kM, dv, kN, Zeros<double>(room + 1), room,
                         info, jacobi));
  CHECK(cudaDeviceSynchronize());
  EXPECT(Near(ToHost(ds, kN), s, 1e-12));
  // Here V is not transposed.
  v = ToHost(dv, kN * kN);
  EXPECT(Near(Joined(kM, kN, kN, ToHost(du, kM * kN), s, v.data(), false), a,
              1e-11));

  const auto many = Numbers<double>(kSmall * kSmall * kCount, 8);
  double *dm = ToDevice(many), *dsm = Zeros<double>(kSmall * kCount),
         *dum = Zeros<double>(many.size()), *dvm = Zeros<double>(many.size());
  CALL(cusolverDnDgesvdjBatched_bufferSize(
      handle, CUSOLVER_EIG_MODE_VECTOR, kSmall, kSmall, dm, kSmall, dsm, dum,
      kSmall, dvm, kSmall, &room, jacobi, kCount));
  CALL(cusolverDnDgesvdjBatched(handle, CUSOLVER_EIG_MODE_VECTOR, kSmall,
                                kSmall, dm, kSmall, dsm, dum, kSmall, dvm,
                                kSmall, Zeros<double>(room + 1), room, info,
                                jacobi, kCount));
  CALL(cusolverDnDestroyGesvdjInfo(jacobi));
  double *da2 = ToDevice(many), *dsa = Zeros<double>(kSmall * kCount),
         *dua = Zeros<double>(many.size()), *dva = Zeros<double>(many.size());
  constexpr int kStride = kSmall * kSmall;
  CALL(cusolverDnDgesvdaStridedBatched_bufferSize(
      handle, CUSOLVER_EIG_MODE_VECTOR, kSmall, kSmall, kSmall, da2, kSmall,
      kStride, dsa, kSmall, dua, kSmall, kStride, dva, kSmall, kStride, &room,
      kCount));
  std::vector<double> norms(kCount);
  CALL(cusolverDnDgesvdaStridedBatched(
      handle, CUSOLVER_EIG_MODE_VECTOR, kSmall, kSmall, kSmall, da2, kSmall,
      kStride, dsa, kSmall, dua, kSmall, kStride, dva, kSmall, kStride,
      Zeros<double>(room + 1), room, info, norms.data(), kCount));
  CHECK(cudaDeviceSynchronize());
  const auto sm = ToHost(dsm, kSmall * kCount), sa = ToHost(dsa, sm.size());
  const auto um = ToHost(dum, many.size()), vm = ToHost(dvm, many.size());
  EXPECT(Near(sa, sm, 1e-12));
  for (int i = 0; i < kCount; ++i) {
    const auto part = [&](const std::vector<double>& all, int size) {
      return std::vector<double>(all.begin() + i * size,
                                 all.begin() + (i + 1) * size);
    };
    EXPECT(Near(Joined(kSmall, kSmall, kSmall, part(um, kStride),
                       part(sm, kSmall), &vm[i * kStride], false),
                part(many, kStride), 1e-12));
  }
  CALL(cusolverDnDestroy(handle));
  return Pass();
}
