// What the programs of cuSPARSE share: a matrix of the host in both forms.
#include <cusparse.h>

#include "library.h"

template <typename T>
struct Csr {
  int rows, columns;
  std::vector<int> offsets{0}, indices;
  std::vector<T> values;
  std::vector<T> dense;  // by rows
  int count() const { return int(values.size()); }
};

// About one element in `every` is there.
template <typename T>
Csr<T> Random(int rows, int columns, int every, unsigned seed) {
  Csr<T> a{rows, columns};
  a.dense.resize(std::size_t(rows) * columns);
  const auto numbers = Numbers<T>(a.dense.size(), seed);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      if ((i * 7 + j * 5 + i * j) % every != 0) continue;
      a.indices.push_back(j);
      a.values.push_back(numbers[i * columns + j]);
      a.dense[i * columns + j] = a.values.back();
    }
    a.offsets.push_back(a.count());
  }
  return a;
}

template <typename T>
constexpr cudaDataType kType = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;

template <typename T>
cusparseSpMatDescr_t Describe(const Csr<T>& a) {
  cusparseSpMatDescr_t matrix;
  CALL(cusparseCreateCsr(
      &matrix, a.rows, a.columns, a.count(), ToDevice(a.offsets),
      ToDevice(a.indices), ToDevice(a.values), CUSPARSE_INDEX_32I,
      CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, kType<T>));
  return matrix;
}
