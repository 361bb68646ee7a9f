// Products and sums of sparse matrices. Which elements the result has is found
// first, then they are computed in its arrays.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_SPARSE_SUMS_H_
#define CERBERUS_LIBRARIES_CUSPARSE_SPARSE_SUMS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
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

// Columns of one row, each with a value. Room is for the longest row's, however
// many columns the matrix has: a hash table with linear probing.
class ColumnTable {
 public:
  // For at most `most` of so many columns at once.
  ColumnTable(Index most, Index columns)
      : slots_(std::bit_ceil(2 * static_cast<std::size_t>(most) + 2)) {
    // Where there is room for all of them each has its own place.
    if (slots_.size() < static_cast<std::size_t>(columns)) {
      // Fibonacci hashing: neighbours are spread over the whole table.
      factor_ = 0x9e3779b97f4a7c15;
      shift_ = 64 - std::countr_zero(slots_.size());
    }
  }
  // The value of the column, -1 if it is new.
  Index& operator[](Index column) {
    const std::size_t place = Find(column);
    Slot& slot = slots_[place];
    if (slot.column == kFree) {
      slot = {column, -1};
      taken_.push_back(place);
    }
    return slot.value;
  }
  // That of a column that is there, else -1.
  Index ValueOf(Index column) const {
    const Slot& slot = slots_[Find(column)];
    return slot.column == kFree ? -1 : slot.value;
  }
  void Clear() {
    for (const std::size_t place : taken_) slots_[place].column = kFree;
    taken_.clear();
  }

 private:
  static constexpr Index kFree = -1;
  struct Slot {
    Index column = kFree, value = -1;
  };

  std::size_t Find(Index column) const {
    std::size_t place =
        (static_cast<std::uint64_t>(column) * factor_) >> shift_;
    while (slots_[place].column != kFree && slots_[place].column != column) {
      place = (place + 1) & (slots_.size() - 1);
    }
    return place;
  }

  std::vector<Slot> slots_;
  std::vector<std::size_t> taken_;
  std::uint64_t factor_ = 1;
  int shift_ = 0;
};

// The places of one row's columns, -1 for those that it does not have.
class RowPlaces {
 public:
  explicit RowPlaces(const Rows& m);
  void Enter(Index row);
  void Leave() { table_.Clear(); }
  Index operator[](Index column) const { return table_.ValueOf(column); }

 private:
  const Rows& m_;
  ColumnTable table_;
};

// The elements of A B that C has, by their places in C's values; `values` are
// those of A and B.
template <typename T>
void MultiplyInto(const Rows& a, const Numbers<T>& values_a, const Rows& b,
                  const Numbers<T>& values_b, const Rows& c,
                  std::vector<T>* sums) {
  RowPlaces places(c);
  for (Index i = 0; i < c.rows; ++i) {
    places.Enter(i);
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
    places.Leave();
  }
}
// The same of alpha A, added to what is there.
template <typename T>
void AddInto(T alpha, const Rows& a, const Numbers<T>& values, bool conjugated,
             const Rows& c, std::vector<T>* sums) {
  RowPlaces places(c);
  for (Index i = 0; i < c.rows; ++i) {
    places.Enter(i);
    for (auto p = Size(a.offsets[Size(i)]); p < Size(a.offsets[Size(i) + 1]);
         ++p) {
      const Index to = places[a.column[p]];
      if (to < 0) continue;
      const T v = values[a.place[p]];
      (*sums)[Size(to)] +=
          cublas::Mul(alpha, conjugated ? cublas::ConjOf(v) : v);
    }
    places.Leave();
  }
}

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_SPARSE_SUMS_H_
