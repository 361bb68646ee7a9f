// Sparse matrices for cusolverSp and cusolverRf.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_CUSOLVER_SPARSE_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_CUSOLVER_SPARSE_H_

#include <vector>

#include "tests/unit/libraries/cusolver.h"

namespace cerberus::libraries::tests::solver {

// By rows, with indices from `base`.
template <typename T>
struct SparseRows {
  std::vector<T> values;
  std::vector<int> starts, places;
  int nnz() const { return static_cast<int>(places.size()); }

  explicit SparseRows(const Matrix& a, int base = 0) : starts{base} {
    for (long i = 0; i < a.rows; ++i) {
      for (long j = 0; j < a.columns; ++j) {
        if (a(i, j) == Complex64(0)) continue;
        values.push_back(To<T>(a(i, j)));
        places.push_back(static_cast<int>(j) + base);
      }
      starts.push_back(nnz() + base);
    }
  }
};
// The same in device memory.
template <typename T>
struct SparseOnDevice {
  explicit SparseOnDevice(const SparseRows<T>& a)
      : values(a.values), starts(a.starts), places(a.places) {}
  Device<T> values;
  Device<int> starts, places;
};

// cusparseMatDescr_t of libcusparse, one for each base.
void* SparseDescr(int base);
Handle SparseHandle();  // cusolverSpHandle_t

// Elements of about a third of its places, and all of the diagonal.
template <typename T>
Matrix RandomSparse(Numbers& numbers, long n) {
  Matrix a(n, n);
  for (long j = 0; j < n; ++j) {
    for (long i = 0; i < n; ++i) {
      const Complex64 value = Complex64(numbers.As<T>());
      if (i == j || (i * 7 + j * 3) % 5 < 2) a(i, j) = value;
      if (i == j) a(i, j) += 4.5;
    }
  }
  return a;
}

}  // namespace cerberus::libraries::tests::solver

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_CUSOLVER_SPARSE_H_
