// Systems with sparse matrices, on the host: LU by columns, each of which is
// solved with those in front of it where it has elements (Gilbert and Peierls),
// and orders in which little is filled in.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_SPARSE_H_
#define CERBERUS_LIBRARIES_CUSOLVER_SPARSE_H_

#include <utility>
#include <vector>

#include "libraries/cusolver/lapack.h"

namespace cerberus::libraries::cusolver {

// A matrix by rows, with indices that are counted from `base`.
struct Pattern {
  int rows = 0, columns = 0, base = 0;
  const int* starts = nullptr;  // of rows, and the end of the last
  const int* places = nullptr;
  const int* ends = nullptr;  // of rows, where they do not end at the next

  int Begin(int row) const { return starts[row] - base; }
  int End(int row) const {
    return (ends != nullptr ? ends[row] : starts[row + 1]) - base;
  }
  int Column(int element) const { return places[element] - base; }
  // Whether all indices are within the matrix.
  bool IsFine() const;
};
using Permutation = std::vector<int>;

Permutation Unpermuted(int n);
// Of the pattern of A + A^T: by breadth from an end of each part, backwards
// (Cuthill and McKee), and by the fewest neighbours at each step.
Permutation ByBreadth(const Pattern& a);
Permutation ByDegree(const Pattern& a);
// As cuSOLVER's `reorder` says: 0 none, 1 by breadth, 2 and 3 by degree.
Permutation Reordered(const Pattern& a, int reorder);

template <typename T>
class SparseLu {
 public:
  using Column = std::vector<std::pair<int, T>>;  // row and value

  // A - mu, its columns taken in the order q. With `pivoting` each column's
  // pivot is its largest element, or that on the diagonal if it is not smaller
  // than `threshold` of that; without, that on the diagonal, which must be
  // positive if it is `definite`. Stops at a pivot that is not above `least`.
  struct Options {
    bool pivoting = true, definite = false;
    Real<T> threshold = 1, least = 0;
    T mu = T(0);
  };
  void Factor(const Pattern& a, const T* values, const Permutation& q,
              const Options& options);

  // The column, counted in the order q, at which it stopped; -1: none.
  int zero_pivot() const { return zero_pivot_; }
  // x with A x = b.
  void Solve(const T* b, T* x) const;

  // Row and column of A at each step; columns of L below its ones, by rows of
  // A; columns of U above its diagonal, by steps.
  const Permutation& rows() const { return rows_; }
  const Permutation& columns() const { return columns_; }
  const std::vector<Column>& lower() const { return lower_; }
  const std::vector<Column>& upper() const { return upper_; }
  const std::vector<T>& diagonal() const { return diagonal_; }

 private:
  // Rows that column k comes to have elements in, those that have been pivots
  // in the order in which they are eliminated, all into reached_.
  void Reach(const Column& column);
  int ChoosePivot(int diagonal, const Options& options) const;

  int zero_pivot_ = -1;
  Permutation rows_, columns_, step_of_row_;
  std::vector<Column> lower_, upper_;
  std::vector<T> diagonal_;
  // While it is made.
  std::vector<T> work_;
  std::vector<char> marked_;
  std::vector<int> reached_;
};

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_SPARSE_H_
