// Systems of equations by AMD's rocSOLVER, whose products are rocBLAS': factors
// with pivots, solutions by them, Cholesky factors. Prints PASS, or how far off
// what it found is.
#include <hip/hip_runtime.h>
#include <rocsolver/rocsolver.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "device.h"

namespace {

template <typename T>
std::vector<T> Download(const T* device, std::size_t count) {
  std::vector<T> host(count);
  CHECK(
      hipMemcpy(host.data(), device, count * sizeof(T), hipMemcpyDeviceToHost));
  return host;
}

auto Factor(float) { return rocsolver_sgetrf; }
auto Factor(double) { return rocsolver_dgetrf; }
auto Solve(float) { return rocsolver_sgetrs; }
auto Solve(double) { return rocsolver_dgetrs; }
auto Cholesky(float) { return rocsolver_spotrf; }
auto Cholesky(double) { return rocsolver_dpotrf; }

bool Near(const char* what, int n, double off, double most) {
  std::printf("  %s of %d: off by %.1e\n", what, n, off);
  return off < most;
}
template <typename T>
double Most(int n) {
  return (sizeof(T) == 4 ? 3e-6 : 1e-14) * n;
}

// Rows as the pivots exchange them against L times U; A x against b.
template <typename T>
bool CheckFactors(rocblas_handle handle, int n) {
  std::vector<T> a(std::size_t(n) * n), b(n);
  for (T& x : a) x = T(Next());
  for (T& x : b) x = T(Next());
  T *da = Upload(a), *db = Upload(b);
  rocblas_int *pivots = nullptr, *info = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&pivots), n * sizeof(int)));
  CHECK(hipMalloc(reinterpret_cast<void**>(&info), sizeof(int)));
  CHECK(Factor(T())(handle, n, n, da, n, pivots, info));
  CHECK(Solve(T())(handle, rocblas_operation_none, n, 1, da, n, pivots, db, n));
  const std::vector<T> lu = Download(da, a.size()), x = Download(db, n);
  const std::vector<int> p = Download(pivots, n);
  if (Download(info, 1)[0] != 0) return Near("singular factors", n, 1, 0);
  std::vector<T> rows = a;
  for (int i = 0; i < n; ++i) {
    if (p[i] < i + 1 || p[i] > n) return Near("pivot", i, p[i], 0);
    for (int j = 0; j < n; ++j)
      std::swap(rows[i + j * n], rows[p[i] - 1 + j * n]);
  }
  double factors = 0, solution = 0;
  for (int i = 0; i < n; ++i) {
    double product = 0;
    for (int j = 0; j < n; ++j) {
      double sum = i <= j ? double(lu[i + j * n]) : 0;
      for (int k = 0; k < std::min(i, j + 1); ++k) {
        sum += double(lu[i + k * n]) * double(lu[k + j * n]);
      }
      factors = std::max(factors, std::fabs(sum - double(rows[i + j * n])));
      product += double(a[i + j * n]) * double(x[j]);
    }
    solution = std::max(solution, std::fabs(product - double(b[i])));
  }
  for (void* p : {static_cast<void*>(da), static_cast<void*>(db),
                  static_cast<void*>(pivots), static_cast<void*>(info)}) {
    CHECK(hipFree(p));
  }
  return Near("factors", n, factors, Most<T>(n)) &
         Near("solution", n, solution, 30 * Most<T>(n));
}

template <typename T>
bool CheckCholesky(rocblas_handle handle, int n) {
  std::vector<T> a(std::size_t(n) * n);
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      a[i + j * n] = a[j + i * n] = T(Next() + (i == j ? n : 0));
    }
  }
  T* da = Upload(a);
  rocblas_int* info = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&info), sizeof(int)));
  CHECK(Cholesky(T())(handle, rocblas_fill_lower, n, da, n, info));
  const std::vector<T> l = Download(da, a.size());
  if (Download(info, 1)[0] != 0) return Near("indefinite", n, 1, 0);
  double off = 0;
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      double sum = 0;
      for (int k = 0; k <= j; ++k) {
        sum += double(l[i + k * n]) * double(l[j + k * n]);
      }
      off = std::max(off, std::fabs(sum - double(a[i + j * n])) / n);
    }
  }
  CHECK(hipFree(da));
  CHECK(hipFree(info));
  return Near("Cholesky factor", n, off, Most<T>(n));
}

template <typename T>
bool CheckAll(rocblas_handle handle) {
  bool good = true;
  for (const int n : {1, 5, 32, 100, 200}) {
    good &= CheckFactors<T>(handle, n);
    good &= CheckCholesky<T>(handle, n);
  }
  return good;
}

}  // namespace

int main() {
  rocblas_handle handle = nullptr;
  CHECK(rocblas_create_handle(&handle));
  const bool good = CheckAll<float>(handle) & CheckAll<double>(handle);
  CHECK(rocblas_destroy_handle(handle));
  std::puts(good ? "PASS" : "FAIL");
  return !good;
}
