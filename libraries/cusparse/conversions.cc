#include "libraries/cusparse/conversions.h"

namespace cerberus::libraries::cusparse {

void Fill(const Rows& rows, const SpMat& from, const SpMat& to, bool values) {
  if (rows.nnz() > to.nnz) return;  // there is no room for it
  if (to.format == kCoo) {
    for (Index i = 0; i < rows.rows; ++i) {
      for (Index p = rows.offsets[Size(i)]; p < rows.offsets[Size(i) + 1];
           ++p) {
        to.major.Set(p, i + to.base);
      }
    }
  } else {
    WriteOffsets(rows.offsets, to);
  }
  WriteColumns(rows.column, to);
  for (Index p = 0; p < rows.nnz() && values; ++p) {
    CopyElement(to.type, from.values, rows.place[Size(p)], to.values, p);
  }
}

void FillDense(const SpMat& from, const SpMat& to) {
  const auto place_of = [&](Index i, Index j) {
    return to.order == kByColumns ? i + j * to.ld : i * to.ld + j;
  };
  ForEach(to, [&](Index, Index, Index p) {
    cublas::Store(to.type, to.values, p, 0);
  });
  ForEach(from, [&](Index i, Index j, Index p) {
    CopyElement(to.type, from.values, p, to.values, place_of(i, j));
  });
}

Structure BlocksOf(const SpMat& from, Index block_rows, Index block_columns) {
  // An element of the matrix of blocks for each of the matrix.
  const Rows rows = RowsOf(from);
  const Index blocks_down = (from.rows + block_rows - 1) / block_rows;
  const Index blocks_across =
      (from.columns + block_columns - 1) / block_columns;
  Structure out;
  out.offsets.assign(1, 0);
  std::vector<Index> last_row(Size(blocks_across), -1);
  for (Index i = 0; i < blocks_down; ++i) {
    const Index first = i * block_rows;
    const Index end = std::min(first + block_rows, from.rows);
    for (Index p = rows.offsets[Size(first)]; p < rows.offsets[Size(end)];
         ++p) {
      const Index j = rows.column[Size(p)] / block_columns;
      if (last_row[Size(j)] == i) continue;
      last_row[Size(j)] = i;
      out.columns.push_back(j);
    }
    std::sort(out.columns.begin() + out.offsets.back(), out.columns.end());
    out.offsets.push_back(out.nnz());
  }
  return out;
}

void FillBlocks(const SpMat& from, const SpMat& to) {
  const Structure blocks = BlocksOf(from, to.block_rows, to.block_columns);
  if (blocks.nnz() > to.nnz) return;  // there is no room for it
  WriteOffsets(blocks.offsets, to);
  WriteColumns(blocks.columns, to);
  const Index size = to.block_rows * to.block_columns;
  for (Index p = 0; p < blocks.nnz() * size; ++p) {
    cublas::Store(to.type, to.values, p, 0);
  }
  ForEach(from, [&](Index i, Index j, Index p) {
    const Index row = i / to.block_rows, column = j / to.block_columns;
    const auto begin = blocks.columns.begin();
    const auto block =
        std::lower_bound(begin + blocks.offsets[Size(row)],
                         begin + blocks.offsets[Size(row) + 1], column) -
        begin;
    const Index within = i % to.block_rows, across = j % to.block_columns;
    const Index inner = to.order == kByRows ? within * to.block_columns + across
                                            : within + across * to.block_rows;
    CopyElement(to.type, from.values, p, to.values, block * size + inner);
  });
}

Rows NotZero(const SpMat& m, bool turned) {
  return RowsOf(m, turned, [&](Index, Index, Index p) {
    return cublas::Load(m.type, m.values, p) != Complex64(0);
  });
}

}  // namespace cerberus::libraries::cusparse
