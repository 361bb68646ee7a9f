// How BLAS keeps a triangle of a matrix: in a full one, as a band of k
// diagonals, packed.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_STORAGE_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_STORAGE_H_

#include <string>
#include <vector>

#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {

template <typename T>
struct InMemory {
  std::vector<T> elements;
  long ld = 0;
  Matrix full;  // what is so kept: zeros beside the band
};

struct Storage {
  enum Kind { kFull, kBand, kPacked } kind;
  std::string letters;  // of the functions' names
  long k = 0;           // diagonals of a band beside the main one

  // One triangle of `a`; what is not read is `beside`: the rest of memory, and
  // the diagonal if that is told to be of ones. With `real_diagonal` the
  // diagonal's imaginary parts, which are not read, hold a number.
  template <typename T>
  InMemory<T> Store(const Matrix& a, int fill, int diag,
                    bool real_diagonal = false, Complex64 beside = kNan) const {
    const long n = a.rows;
    InMemory<T> out;
    out.full = a;
    out.ld = kind == kBand ? k + 3 : n + 2;
    const auto size = static_cast<std::size_t>(kind == kPacked ? n * (n + 1) / 2
                                                               : out.ld * n);
    out.elements.assign(size + 1, To<T>(beside));
    std::size_t packed = 0;
    for (long j = 0; j < n; ++j) {
      for (long i = 0; i < n; ++i) {
        if (kind == kBand && std::abs(i - j) > k) {
          out.full(i, j) = 0;
          continue;
        }
        if (fill == kUpper ? i > j : i < j) continue;
        const long row = kind == kFull ? i : fill == kUpper ? k + i - j : i - j;
        const std::size_t at = kind == kPacked
                                   ? packed++
                                   : static_cast<std::size_t>(row + j * out.ld);
        if (i == j && diag == kUnit) continue;
        Complex64 value = a(i, j);
        if (i == j && real_diagonal) value += Complex64(0, 7);
        out.elements[at] = To<T>(value);
      }
    }
    return out;
  }
};
inline const Storage kStorages[] = {{Storage::kFull, "r", 0},
                                    {Storage::kBand, "b", 2},
                                    {Storage::kPacked, "p", 0}};

}  // namespace cerberus::libraries::tests

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_STORAGE_H_
