// Products and sums of sparse matrices. Which elements the result has is found
// first, then they are computed in its arrays.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_SPARSE_SUMS_H_
#define CERBERUS_LIBRARIES_CUSPARSE_SPARSE_SUMS_H_

#include <vector>

#include "libraries/cusparse/matrix.h"

namespace cerberus::libraries::cusparse {

// Which elements a matrix has: columns of each row, in ascending order.
struct Structure {
  std::vector<Index> offsets, columns;
  Index nnz() const { return static_cast<Index>(columns.size()); }
};
Structure ProductStructure(const Rows& a, const Rows& b);
// Of the elements of two matrices of one size.
Structure SumStructure(const Rows& a, const Rows& b);
// Products of two elements that A B takes.
Index CountProducts(const Rows& a, const Rows& b);
// No more than the elements of A B: of each row those that the longest row of B
// which it takes has. Found fast, and without memory.
Index FewestElements(const Rows& a, const Rows& b);

// Into a CSR's arrays; the second what stands before the first column.
void WriteOffsets(const std::vector<Index>& offsets, const SpMat& to);
void WriteColumns(const std::vector<Index>& columns, const SpMat& to);

// The places of one row's columns, -1 for those that it does not have.
class RowPlaces {
 public:
  explicit RowPlaces(Index columns) : places_(Size(columns), -1) {}
  void Enter(const Rows& m, Index row);
  void Leave(const Rows& m, Index row);
  Index operator[](Index column) const { return places_[Size(column)]; }

 private:
  std::vector<Index> places_;
};

// The elements of A B that C has, by their places in C's values; `values` are
// those of A and B.
template <typename T>
void MultiplyInto(const Rows& a, const Numbers<T>& values_a, const Rows& b,
                  const Numbers<T>& values_b, const Rows& c,
                  std::vector<T>* sums) {
  RowPlaces places(c.columns);
  for (Index i = 0; i < c.rows; ++i) {
    places.Enter(c, i);
    for (auto p = Size(a.offsets[Size(i)]); p < Size(a.offsets[Size(i) + 1]);
         ++p) {
      const T v = values_a[a.place[p]];
      const std::size_t k = Size(a.column[p]);
      for (auto q = Size(b.offsets[k]); q < Size(b.offsets[k + 1]); ++q) {
        const Index to = places[b.column[q]];
        if (to < 0) continue;
        (*sums)[Size(to)] += cublas::Mul(v, values_b[b.place[q]]);
      }
    }
    places.Leave(c, i);
  }
}
// The same of alpha A, added to what is there.
template <typename T>
void AddInto(T alpha, const Rows& a, const Numbers<T>& values, bool conjugated,
             const Rows& c, std::vector<T>* sums) {
  RowPlaces places(c.columns);
  for (Index i = 0; i < c.rows; ++i) {
    places.Enter(c, i);
    for (auto p = Size(a.offsets[Size(i)]); p < Size(a.offsets[Size(i) + 1]);
         ++p) {
      const Index to = places[a.column[p]];
      if (to < 0) continue;
      const T v = values[a.place[p]];
      (*sums)[Size(to)] +=
          cublas::Mul(alpha, conjugated ? cublas::ConjOf(v) : v);
    }
    places.Leave(c, i);
  }
}

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_SPARSE_SUMS_H_
