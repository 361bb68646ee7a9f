// The functions that are told their types, with sizes of 64 bits and work of
// host and device: LU, Cholesky, QR, eigenvalues and singular values.
//
// RUN: %check %s %t %library -l:libcusolver.so.12
#include "solver.h"

constexpr std::int64_t kN = 16;
const cudaDataType kType = CUDA_R_64F;

struct Work {
  std::size_t on_device = 0, on_host = 0;
  std::vector<char> host;
  void* Device() {
    host.resize(on_host + 1);
    return Zeros<char>(on_device + 1);
  }
};

int main() {
  cusolverDnHandle_t handle;
  cusolverDnParams_t params;
  CALL(cusolverDnCreate(&handle));
  CALL(cusolverDnCreateParams(&params));
  CALL(cusolverDnSetAdvOptions(params, CUSOLVERDN_GETRF, CUSOLVER_ALG_0));
  const auto a = Symmetric(kN, 9, 1), b = Numbers<double>(kN, 10);
  int* info = Zeros<int>(1);
  Work work;

  double *lu = ToDevice(a), *x = ToDevice(b);
  auto* pivots = Zeros<std::int64_t>(kN);
  CALL(cusolverDnXgetrf_bufferSize(handle, params, kN, kN, kType, lu, kN, kType,
                                   &work.on_device, &work.on_host));
  void* device = work.Device();
  CALL(cusolverDnXgetrf(handle, params, kN, kN, kType, lu, kN, pivots, kType,
                        device, work.on_device, work.host.data(), work.on_host,
                        info));
  CALL(cusolverDnXgetrs(handle, params, CUBLAS_OP_N, kN, 1, kType, lu, kN,
                        pivots, kType, x, kN, info));
  CHECK(cudaDeviceSynchronize());
  EXPECT(ToHost(info, 1)[0] == 0);
  auto got = ToHost(x, kN);
  EXPECT(
      Near(Product(kN, 1, kN, a.data(), false, got.data(), false), b, 1e-11));

  double *factor = ToDevice(a), *y = ToDevice(b);
  CALL(cusolverDnXpotrf_bufferSize(handle, params, CUBLAS_FILL_MODE_UPPER, kN,
                                   kType, factor, kN, kType, &work.on_device,
                                   &work.on_host));
  device = work.Device();
  CALL(cusolverDnXpotrf(handle, params, CUBLAS_FILL_MODE_UPPER, kN, kType,
                        factor, kN, kType, device, work.on_device,
                        work.host.data(), work.on_host, info));
  CALL(cusolverDnXpotrs(handle, params, CUBLAS_FILL_MODE_UPPER, kN, 1, kType,
                        factor, kN, kType, y, kN, info));
  CHECK(cudaDeviceSynchronize());
  EXPECT(Near(ToHost(y, kN), got, 1e-10));

  double *v = ToDevice(a), *w = Zeros<double>(kN);
  CALL(cusolverDnXsyevd_bufferSize(
      handle, params, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, kN,
      kType, v, kN, kType, w, kType, &work.on_device, &work.on_host));
  device = work.Device();
  CALL(cusolverDnXsyevd(handle, params, CUSOLVER_EIG_MODE_VECTOR,
                        CUBLAS_FILL_MODE_LOWER, kN, kType, v, kN, kType, w,
                        kType, device, work.on_device, work.host.data(),
                        work.on_host, info));
  CHECK(cudaDeviceSynchronize());
  const auto vectors = ToHost(v, kN * kN), values = ToHost(w, kN);
  EXPECT(Near(Joined(kN, kN, kN, vectors, values, vectors.data(), false), a,
              1e-12));

  double *g = ToDevice(a), *s = Zeros<double>(kN), *u = Zeros<double>(kN * kN),
         *vt = Zeros<double>(kN * kN);
  CALL(cusolverDnXgesvd_bufferSize(handle, params, 'A', 'A', kN, kN, kType, g,
                                   kN, kType, s, kType, u, kN, kType, vt, kN,
                                   kType, &work.on_device, &work.on_host));
  device = work.Device();
  CALL(cusolverDnXgesvd(handle, params, 'A', 'A', kN, kN, kType, g, kN, kType,
                        s, kType, u, kN, kType, vt, kN, kType, device,
                        work.on_device, work.host.data(), work.on_host, info));
  CHECK(cudaDeviceSynchronize());
  // Those of a positive definite matrix are its eigenvalues.
  EXPECT(Near(ToHost(s, kN),
              std::vector<double>(values.rbegin(), values.rend()), 1e-11));
  CALL(cusolverDnDestroyParams(params));
  CALL(cusolverDnDestroy(handle));
  return Pass();
}
