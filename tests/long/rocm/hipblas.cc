// Products, triangles and sums by AMD's hipBLAS, against the host. Prints PASS,
// or what is how far off.
#include <hip/hip_runtime.h>
#include <hipblas/hipblas.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "device.h"

namespace {

constexpr int kRows = 33, kColumns = 17, kDepth = 29;

int Report(const char* what, double off, double unit) {
  std::printf("%s: off by %g\n", what, off);
  return !(off <= unit);
}
template <typename T>
std::vector<T> Random(std::size_t count) {
  std::vector<T> numbers(count);
  for (T& number : numbers) number = static_cast<T>(Next());
  return numbers;
}
template <typename T>
std::vector<T> Download(const T* device, std::size_t count) {
  std::vector<T> host(count);
  CHECK(
      hipMemcpy(host.data(), device, count * sizeof(T), hipMemcpyDeviceToHost));
  return host;
}

// C = 2 A Bᵀ - C, in columns.
template <typename T, typename Gemm>
int Product(hipblasHandle_t handle, const char* what, double unit, Gemm gemm) {
  const std::vector<T> a = Random<T>(kRows * kDepth),
                       b = Random<T>(kColumns * kDepth),
                       c = Random<T>(kRows * kColumns);
  T* out = Upload(c);
  const T alpha = 2, beta = -1;
  CHECK(gemm(handle, HIPBLAS_OP_N, HIPBLAS_OP_T, kRows, kColumns, kDepth,
             &alpha, Upload(a), kRows, Upload(b), kColumns, &beta, out, kRows));
  const std::vector<T> got = Download(out, c.size());
  double off = 0;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (int k = 0; k < kDepth; ++k) {
        sum += double(a[i + k * kRows]) * b[j + k * kColumns];
      }
      off = std::fmax(
          off, std::fabs(got[i + j * kRows] - (2 * sum - c[i + j * kRows])));
    }
  }
  return Report(what, off, unit);
}

// X of L X = B, for a lower triangle.
int Triangle(hipblasHandle_t handle) {
  std::vector<double> l = Random<double>(kRows * kRows);
  for (int i = 0; i < kRows; ++i) l[i + i * kRows] = 4 + i;
  const std::vector<double> b = Random<double>(kRows * kColumns);
  double* x = Upload(b);
  const double one = 1;
  CHECK(hipblasDtrsm(handle, HIPBLAS_SIDE_LEFT, HIPBLAS_FILL_MODE_LOWER,
                     HIPBLAS_OP_N, HIPBLAS_DIAG_NON_UNIT, kRows, kColumns, &one,
                     Upload(l), kRows, x, kRows));
  const std::vector<double> got = Download(x, b.size());
  double off = 0;
  for (int j = 0; j < kColumns; ++j) {
    for (int i = 0; i < kRows; ++i) {
      double sum = 0;
      for (int k = 0; k <= i; ++k) {
        sum += l[i + k * kRows] * got[k + j * kRows];
      }
      off = std::fmax(off, std::fabs(sum - b[i + j * kRows]));
    }
  }
  return Report("dtrsm", off, 1e-12);
}

int Sum(hipblasHandle_t handle) {
  const std::vector<float> x = Random<float>(5000), y = Random<float>(5000);
  float dot = 0;
  CHECK(hipblasSdot(handle, 5000, Upload(x), 1, Upload(y), 1, &dot));
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += double(x[i]) * y[i];
  return Report("sdot", std::fabs(dot - sum), 1e-3);
}

}  // namespace

int main() {
  hipblasHandle_t handle = nullptr;
  CHECK(hipblasCreate(&handle));
  const int failed = Product<float>(handle, "sgemm", 1e-5, hipblasSgemm) +
                     Product<double>(handle, "dgemm", 1e-13, hipblasDgemm) +
                     Triangle(handle) + Sum(handle);
  if (failed == 0) std::puts("PASS");
  return failed;
}
