// Products of sparse matrices by AMD's hipSPARSE, and so by rocSPARSE, against
// the host. Prints PASS, or what is how far off.
#include <hip/hip_runtime.h>
#include <hipsparse/hipsparse.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "device.h"

namespace {

constexpr int kRows = 150, kColumns = 90, kWidth = 5;

struct Sparse {
  std::vector<int> begins = {0}, columns;
  std::vector<float> values;
};
// Rows of very different lengths, some empty.
Sparse Random() {
  Sparse made;
  for (int i = 0; i < kRows; ++i) {
    const int step = i % 7 == 0 ? kColumns : 1 + i % 11;
    for (int k = i % 3; k < kColumns && i % 13 != 5; k += step) {
      made.columns.push_back(k);
      made.values.push_back(static_cast<float>(Next()));
    }
    made.begins.push_back(static_cast<int>(made.columns.size()));
  }
  return made;
}

int Report(const char* what, double off) {
  std::printf("%s: off by %g\n", what, off);
  return !(off <= 1e-5);
}
// How far `got`, in columns, is from the product with `x`, in columns.
double Off(const Sparse& a, const std::vector<float>& x, const float* device,
           int width) {
  std::vector<float> got(std::size_t{kRows} * width);
  CHECK(hipMemcpy(got.data(), device, got.size() * sizeof(float),
                  hipMemcpyDeviceToHost));
  double off = 0;
  for (int j = 0; j < width; ++j) {
    for (int i = 0; i < kRows; ++i) {
      double sum = 0;
      for (int at = a.begins[i]; at < a.begins[i + 1]; ++at) {
        sum += double(a.values[at]) * x[a.columns[at] + j * kColumns];
      }
      off = std::fmax(off, std::fabs(got[i + j * kRows] - sum));
    }
  }
  return off;
}

}  // namespace

int main() {
  hipsparseHandle_t handle = nullptr;
  CHECK(hipsparseCreate(&handle));
  const Sparse a = Random();
  std::vector<float> x(kColumns * kWidth);
  for (float& one : x) one = static_cast<float>(Next());
  float* const in = Upload(x);
  float* const out = Upload(std::vector<float>(kRows * kWidth, NAN));
  hipsparseSpMatDescr_t matrix = nullptr;
  CHECK(hipsparseCreateCsr(&matrix, kRows, kColumns,
                           static_cast<int>(a.values.size()), Upload(a.begins),
                           Upload(a.columns), Upload(a.values),
                           HIPSPARSE_INDEX_32I, HIPSPARSE_INDEX_32I,
                           HIPSPARSE_INDEX_BASE_ZERO, HIP_R_32F));
  const float one = 1, zero = 0;
  int failed = 0;
  std::size_t bytes = 0;
  const auto buffer = [&] {
    return Upload(std::vector<char>(bytes > 0 ? bytes : 1));
  };

  hipsparseDnVecDescr_t from = nullptr, to = nullptr;
  CHECK(hipsparseCreateDnVec(&from, kColumns, in, HIP_R_32F));
  CHECK(hipsparseCreateDnVec(&to, kRows, out, HIP_R_32F));
  CHECK(hipsparseSpMV_bufferSize(handle, HIPSPARSE_OPERATION_NON_TRANSPOSE,
                                 &one, matrix, from, &zero, to, HIP_R_32F,
                                 HIPSPARSE_SPMV_ALG_DEFAULT, &bytes));
  CHECK(hipsparseSpMV(handle, HIPSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix,
                      from, &zero, to, HIP_R_32F, HIPSPARSE_SPMV_ALG_DEFAULT,
                      buffer()));
  failed += Report("SpMV", Off(a, x, out, 1));

  hipsparseDnMatDescr_t many = nullptr, results = nullptr;
  CHECK(hipsparseCreateDnMat(&many, kColumns, kWidth, kColumns, in, HIP_R_32F,
                             HIPSPARSE_ORDER_COL));
  CHECK(hipsparseCreateDnMat(&results, kRows, kWidth, kRows, out, HIP_R_32F,
                             HIPSPARSE_ORDER_COL));
  const auto plain = HIPSPARSE_OPERATION_NON_TRANSPOSE;
  CHECK(hipsparseSpMM_bufferSize(handle, plain, plain, &one, matrix, many,
                                 &zero, results, HIP_R_32F,
                                 HIPSPARSE_SPMM_ALG_DEFAULT, &bytes));
  CHECK(hipsparseSpMM(handle, plain, plain, &one, matrix, many, &zero, results,
                      HIP_R_32F, HIPSPARSE_SPMM_ALG_DEFAULT, buffer()));
  failed += Report("SpMM", Off(a, x, out, kWidth));
  if (failed == 0) std::puts("PASS");
  return failed;
}
