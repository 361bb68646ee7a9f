#include "libraries/cusparse/sparse_sums.h"

#include <algorithm>

namespace cerberus::libraries::cusparse {
namespace {

// Gathers the columns of one row, each once.
class RowColumns {
 public:
  explicit RowColumns(Index columns) : last_row_(Size(columns), -1) {}
  void Add(Index row, Index column, std::vector<Index>* to) {
    if (last_row_[Size(column)] == row) return;
    last_row_[Size(column)] = row;
    to->push_back(column);
  }

 private:
  std::vector<Index> last_row_;
};

// `each(row, add)` calls add for each column of the row, in any order.
template <typename F>
Structure Gathered(Index rows, Index columns, const F& each) {
  Structure out;
  out.offsets.assign(1, 0);
  RowColumns seen(columns);
  for (Index i = 0; i < rows; ++i) {
    each(i, [&](Index column) { seen.Add(i, column, &out.columns); });
    std::sort(out.columns.begin() + out.offsets.back(), out.columns.end());
    out.offsets.push_back(out.nnz());
  }
  return out;
}

template <typename F>
void ForRow(const Rows& m, Index row, const F& f) {
  for (Index p = m.offsets[Size(row)]; p < m.offsets[Size(row) + 1]; ++p) {
    f(m.column[Size(p)], p);
  }
}

Index LengthOf(const Rows& m, Index row) {
  return m.offsets[Size(row) + 1] - m.offsets[Size(row)];
}

}  // namespace

Structure ProductStructure(const Rows& a, const Rows& b) {
  return Gathered(a.rows, b.columns, [&](Index i, const auto& add) {
    ForRow(a, i, [&](Index k, Index) {
      ForRow(b, k, [&](Index j, Index) { add(j); });
    });
  });
}

Structure SumStructure(const Rows& a, const Rows& b) {
  return Gathered(a.rows, a.columns, [&](Index i, const auto& add) {
    ForRow(a, i, [&](Index j, Index) { add(j); });
    ForRow(b, i, [&](Index j, Index) { add(j); });
  });
}

Index CountProducts(const Rows& a, const Rows& b) {
  Index count = 0;
  for (const Index k : a.column) count += LengthOf(b, k);
  return count;
}

Index FewestElements(const Rows& a, const Rows& b) {
  Index count = 0;
  for (Index i = 0; i < a.rows; ++i) {
    Index longest = 0;
    ForRow(a, i, [&](Index k, Index) {
      longest = std::max(longest, LengthOf(b, k));
    });
    count += longest;
  }
  return count;
}

void WriteOffsets(const std::vector<Index>& offsets, const SpMat& to) {
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    to.major.Set(static_cast<Index>(i), offsets[i] + to.base);
  }
}
void WriteColumns(const std::vector<Index>& columns, const SpMat& to) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    to.minor.Set(static_cast<Index>(i), columns[i] + to.base);
  }
}

void RowPlaces::Enter(const Rows& m, Index row) {
  ForRow(m, row, [&](Index column, Index p) {
    places_[Size(column)] = m.place[Size(p)];
  });
}
void RowPlaces::Leave(const Rows& m, Index row) {
  ForRow(m, row, [&](Index column, Index) { places_[Size(column)] = -1; });
}

}  // namespace cerberus::libraries::cusparse
