#include "libraries/cusparse/sparse_sums.h"

#include <algorithm>

namespace cerberus::libraries::cusparse {
namespace {

template <typename F>
void ForRow(const Rows& m, Index row, const F& f) {
  for (Index p = m.offsets[Size(row)]; p < m.offsets[Size(row) + 1]; ++p) {
    f(m.column[Size(p)], p);
  }
}

Index LengthOf(const Rows& m, Index row) {
  return m.offsets[Size(row) + 1] - m.offsets[Size(row)];
}

// `each(row, add)` calls add for each column of the row, at most `most`
// different ones, in any order.
template <typename F>
Structure Gathered(Index rows, Index columns, Index most, const F& each) {
  Structure out;
  out.offsets.assign(1, 0);
  ColumnTable seen(most, columns);
  for (Index i = 0; i < rows; ++i) {
    each(i, [&](Index column) {
      Index& known = seen[column];
      if (known >= 0) return;
      known = 0;
      out.columns.push_back(column);
    });
    seen.Clear();
    std::sort(out.columns.begin() + out.offsets.back(), out.columns.end());
    out.offsets.push_back(out.nnz());
  }
  return out;
}

// The largest of f(row).
template <typename F>
Index Most(Index rows, const F& f) {
  Index most = 0;
  for (Index i = 0; i < rows; ++i) most = std::max<Index>(most, f(i));
  return most;
}

}  // namespace

Structure ProductStructure(const Rows& a, const Rows& b) {
  const Index most = Most(a.rows, [&](Index i) {
    Index count = 0;
    ForRow(a, i, [&](Index k, Index) { count += LengthOf(b, k); });
    return std::min(count, b.columns);
  });
  return Gathered(a.rows, b.columns, most, [&](Index i, const auto& add) {
    ForRow(a, i, [&](Index k, Index) {
      ForRow(b, k, [&](Index j, Index) { add(j); });
    });
  });
}

Structure SumStructure(const Rows& a, const Rows& b) {
  const Index most = Most(a.rows, [&](Index i) {
    return std::min(LengthOf(a, i) + LengthOf(b, i), a.columns);
  });
  return Gathered(a.rows, a.columns, most, [&](Index i, const auto& add) {
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

RowPlaces::RowPlaces(const Rows& m)
    : m_(m),
      table_(Most(m.rows, [&](Index row) { return LengthOf(m, row); }),
             m.columns) {}
void RowPlaces::Enter(Index row) {
  ForRow(m_, row,
         [&](Index column, Index p) { table_[column] = m_.place[Size(p)]; });
}

}  // namespace cerberus::libraries::cusparse
