// Systems of equations and eigenvalues by AMD's hipSOLVER. Prints PASS, or what
// is how far off.
#include <hip/hip_runtime.h>
#include <hipsolver/hipsolver.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "device.h"

namespace {

constexpr int kSize = 40;

std::vector<double> Download(const double* device, std::size_t count) {
  std::vector<double> host(count);
  CHECK(hipMemcpy(host.data(), device, count * sizeof(double),
                  hipMemcpyDeviceToHost));
  return host;
}
double* Work(int count) {
  return Upload(std::vector<double>(count > 0 ? count : 1));
}
int Report(const char* what, double off, int info) {
  std::printf("%s: off by %g, info %d\n", what, off, info);
  return !(off <= 1e-11) || info != 0;
}
int InfoOf(const int* device) {
  int info = -1;
  CHECK(hipMemcpy(&info, device, sizeof info, hipMemcpyDeviceToHost));
  return info;
}

// A x - b of x from the factors of A.
int Solve(hipsolverHandle_t handle) {
  std::vector<double> a(kSize * kSize), b(kSize);
  for (double& one : a) one = Next();
  for (double& one : b) one = Next();
  double *factors = Upload(a), *x = Upload(b);
  int* pivots = Upload(std::vector<int>(kSize));
  int* info = Upload(std::vector<int>(1, -1));
  int count = 0;
  CHECK(
      hipsolverDgetrf_bufferSize(handle, kSize, kSize, factors, kSize, &count));
  CHECK(hipsolverDgetrf(handle, kSize, kSize, factors, kSize, Work(count),
                        count, pivots, info));
  CHECK(hipsolverDgetrs_bufferSize(handle, HIPSOLVER_OP_N, kSize, 1, factors,
                                   kSize, pivots, x, kSize, &count));
  CHECK(hipsolverDgetrs(handle, HIPSOLVER_OP_N, kSize, 1, factors, kSize,
                        pivots, x, kSize, Work(count), count, info));
  const std::vector<double> got = Download(x, kSize);
  double off = 0;
  for (int i = 0; i < kSize; ++i) {
    double sum = -b[i];
    for (int k = 0; k < kSize; ++k) sum += a[i + k * kSize] * got[k];
    off = std::fmax(off, std::fabs(sum));
  }
  return Report("getrf, getrs", off, InfoOf(info));
}

// A v - λ v of a symmetric A.
int Eigen(hipsolverHandle_t handle) {
  std::vector<double> a(kSize * kSize);
  for (int i = 0; i < kSize; ++i) {
    for (int k = 0; k <= i; ++k) a[i + k * kSize] = a[k + i * kSize] = Next();
  }
  double *vectors = Upload(a), *values = Work(kSize);
  int* info = Upload(std::vector<int>(1, -1));
  int count = 0;
  CHECK(hipsolverDsyevd_bufferSize(handle, HIPSOLVER_EIG_MODE_VECTOR,
                                   HIPSOLVER_FILL_MODE_LOWER, kSize, vectors,
                                   kSize, values, &count));
  CHECK(hipsolverDsyevd(handle, HIPSOLVER_EIG_MODE_VECTOR,
                        HIPSOLVER_FILL_MODE_LOWER, kSize, vectors, kSize,
                        values, Work(count), count, info));
  const std::vector<double> v = Download(vectors, a.size()),
                            l = Download(values, kSize);
  double off = 0;
  for (int j = 0; j < kSize; ++j) {
    double length = 0;
    for (int i = 0; i < kSize; ++i) {
      double sum = -l[j] * v[i + j * kSize];
      for (int k = 0; k < kSize; ++k) {
        sum += a[i + k * kSize] * v[k + j * kSize];
      }
      off = std::fmax(off, std::fabs(sum));
      length += v[i + j * kSize] * v[i + j * kSize];
    }
    off = std::fmax(off, std::fabs(length - 1));
  }
  return Report("syevd", off, InfoOf(info));
}

}  // namespace

int main() {
  hipsolverHandle_t handle = nullptr;
  CHECK(hipsolverCreate(&handle));
  const int failed = Solve(handle) + Eigen(handle);
  if (failed == 0) std::puts("PASS");
  return failed;
}
