// Products of matrices by AMD's rocBLAS, on Tensile's kernels, against sums on
// the host. Prints PASS, or which product is how far off.
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "device.h"

namespace {

auto Gemm(float) { return rocblas_sgemm_strided_batched; }
auto Gemm(double) { return rocblas_dgemm_strided_batched; }
// rocblas_half is a type of its own, of the same bits.
auto Gemm(_Float16) {
  return
      [](rocblas_handle handle, rocblas_operation ta, rocblas_operation tb,
         int m, int n, int k, const _Float16* alpha, const _Float16* a, int lda,
         long stride_a, const _Float16* b, int ldb, long stride_b,
         const _Float16* beta, _Float16* c, int ldc, long stride_c, int batch) {
        const auto half = [](const _Float16* p) {
          return reinterpret_cast<const rocblas_half*>(p);
        };
        return rocblas_hgemm_strided_batched(
            handle, ta, tb, m, n, k, half(alpha), half(a), lda, stride_a,
            half(b), ldb, stride_b, half(beta),
            reinterpret_cast<rocblas_half*>(c), ldc, stride_c, batch);
      };
}

// What a sum of k terms may be off by; half sums may be rounded to half.
template <typename T>
double Tolerance(int k) {
  const double unit = sizeof(T) == 2 ? 1e-3 : sizeof(T) == 4 ? 1e-5 : 1e-13;
  return unit * std::sqrt(double(k));
}

template <typename T>
bool Check(rocblas_handle handle, bool ta, bool tb, int m, int n, int k,
           int batch) {
  std::vector<T> a(std::size_t(m) * k * batch), b(std::size_t(k) * n * batch),
      c(std::size_t(m) * n * batch);
  for (T& x : a) x = T(Next());
  for (T& x : b) x = T(Next());
  for (T& x : c) x = T(Next());
  const T alpha = T(1.25), beta = T(-0.5);
  std::vector<double> expected(c.size());
  for (int p = 0; p < batch; ++p) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l) {
          const auto at = std::size_t(p) * m * k + (ta ? l + i * k : i + l * m);
          const auto bt = std::size_t(p) * k * n + (tb ? j + l * n : l + j * k);
          sum += double(a[at]) * double(b[bt]);
        }
        const std::size_t to = std::size_t(p) * m * n + i + j * m;
        expected[to] = alpha * sum + beta * double(c[to]);
      }
    }
  }
  T *da = Upload(a), *db = Upload(b), *dc = Upload(c);
  const auto operation = [](bool t) {
    return t ? rocblas_operation_transpose : rocblas_operation_none;
  };
  CHECK(Gemm(T())(handle, operation(ta), operation(tb), m, n, k, &alpha, da,
                  ta ? k : m, m * k, db, tb ? n : k, k * n, &beta, dc, m, m * n,
                  batch));
  CHECK(hipMemcpy(c.data(), dc, c.size() * sizeof(T), hipMemcpyDeviceToHost));
  CHECK(hipFree(da));
  CHECK(hipFree(db));
  CHECK(hipFree(dc));
  double worst = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    worst = std::fmax(worst, std::fabs(double(c[i]) - expected[i]));
  }
  std::printf("  %zu bytes, %d%d, %d x %d x %d, %d: off by %.1e\n", sizeof(T),
              ta, tb, m, n, k, batch, worst);
  return worst < Tolerance<T>(k);
}

}  // namespace

int main() {
  rocblas_handle handle = nullptr;
  CHECK(rocblas_create_handle(&handle));
  bool good = true;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      good &= Check<float>(handle, ta, tb, 64, 48, 32, 1);
      good &= Check<float>(handle, ta, tb, 33, 17, 65, 1);
      good &= Check<double>(handle, ta, tb, 40, 24, 56, 1);
      good &= Check<_Float16>(handle, ta, tb, 48, 32, 64, 1);
    }
  }
  good &= Check<float>(handle, false, false, 128, 128, 128, 1);
  good &= Check<float>(handle, false, true, 16, 16, 16, 5);
  CHECK(rocblas_destroy_handle(handle));
  std::puts(good ? "PASS" : "FAIL");
  return !good;
}
