#include "libraries/cusparse/matrix.h"

#include <numeric>

namespace cerberus::libraries::cusparse {
namespace {

std::byte* Behind(void* array, Index count, std::size_t bytes) {
  return array == nullptr ? nullptr
                          : static_cast<std::byte*>(array) +
                                count * static_cast<Index>(bytes);
}

// An array of `count` elements for each batch.
void* MapArray(Work& work, void* array, Index count, std::size_t bytes,
               int batches, Index stride, bool written) {
  const bool apart = batches > 1 && stride > 0;
  const std::size_t pieces = apart ? static_cast<std::size_t>(batches) : 1;
  const std::size_t step = Size(stride) * bytes;
  return written ? work.InOut(array, Size(count) * bytes, pieces, step)
                 : const_cast<void*>(
                       work.In(array, Size(count) * bytes, pieces, step));
}

}  // namespace

Indices Indices::Behind(Index count) const {
  return {cusparse::Behind(array, count, bytes()), type};
}

Index SpMat::MajorCount() const {
  switch (format) {
    case kCsr: return rows + 1;
    case kCsc: return columns + 1;
    case kCoo: return nnz;
    case kBsr: return rows / block_rows + 1;
    case kSlicedEll: return (rows + slice - 1) / slice + 1;
    default: return 0;
  }
}
Index SpMat::MinorCount() const {
  switch (format) {
    case kBlockedEll:
      return (rows + block_rows - 1) / block_rows * (ell_columns / block_rows);
    case kSlicedEll: return stored;
    case kDense: return 0;
    default: return nnz;
  }
}
Index SpMat::ValueCount() const {
  switch (format) {
    case kBsr: return nnz * block_rows * block_columns;
    case kBlockedEll: return rows * ell_columns;
    case kSlicedEll: return stored;
    case kDense: {
      const Index outer = order == kByColumns ? columns : rows;
      const Index inner = order == kByColumns ? rows : columns;
      return outer == 0 ? 0 : (outer - 1) * ld + inner;
    }
    default: return nnz;
  }
}
SpMat SpMat::Batch(int batch) const {
  SpMat out = *this;
  if (batches <= 1) return out;
  out.batches = 1;
  out.major = major.Behind(batch * major_stride);
  out.minor = minor.Behind(batch * minor_stride);
  out.values = Behind(values, batch * values_stride, cublas::SizeOf(type));
  return out;
}

SpMat Mapped(Work& work, const SpMat& m, Written written) {
  SpMat out = m;
  const auto map = [&](void* array, Index count, std::size_t bytes,
                       Index stride, bool is_written) {
    return MapArray(work, array, count, bytes, m.batches, stride, is_written);
  };
  out.major.array = map(m.major.array, m.MajorCount(), m.major.bytes(),
                        m.major_stride, written.structure);
  out.minor.array = map(m.minor.array, m.MinorCount(), m.minor.bytes(),
                        m.minor_stride, written.structure);
  if (m.format == kDense) {
    const bool by_columns = m.order == kByColumns;
    const Index inner = by_columns ? m.rows : m.columns;
    const Index outer = by_columns ? m.columns : m.rows;
    const std::size_t bytes = cublas::SizeOf(m.type);
    out.values = written.values
                     ? work.InOutMatrix(m.values, bytes, inner, outer, m.ld)
                     : const_cast<void*>(
                           work.InMatrix(m.values, bytes, inner, outer, m.ld));
    return out;
  }
  out.values = map(m.values, m.ValueCount(), cublas::SizeOf(m.type),
                   m.values_stride, written.values);
  return out;
}

SpVec Mapped(Work& work, const SpVec& v, bool written) {
  SpVec out = v;
  out.indices.array = MapArray(work, v.indices.array, v.nnz, v.indices.bytes(),
                               1, 0, /*written=*/false);
  out.values =
      MapArray(work, v.values, v.nnz, cublas::SizeOf(v.type), 1, 0, written);
  return out;
}

DnVec Mapped(Work& work, const DnVec& v, bool written) {
  DnVec out = v;
  out.values =
      MapArray(work, v.values, v.size, cublas::SizeOf(v.type), 1, 0, written);
  return out;
}

std::vector<DnMat> Mapped(Work& work, const DnMat& m, int count, bool written) {
  std::vector<DnMat> out;
  for (int batch = 0; batch < count; ++batch) {
    DnMat one = m;
    one.batches = 1;
    if (m.batches > 1) {
      one.values = Behind(m.values, batch * m.stride, cublas::SizeOf(m.type));
    }
    one.values =
        Mapped(work, AsSparse(one), {/*structure=*/false, written}).values;
    out.push_back(one);
  }
  return out;
}

SpMat AsSparse(const DnMat& m) {
  SpMat out;
  out.format = kDense;
  out.type = m.type;
  out.rows = m.rows;
  out.columns = m.columns;
  out.values = m.values;
  out.order = m.order;
  out.ld = m.ld;
  return out;
}

void Rows::Sort() {
  std::vector<std::size_t> order;
  std::vector<Index> columns_before, places_before;
  for (Index i = 0; i < rows; ++i) {
    const Index first = offsets[Size(i)], end = offsets[Size(i) + 1];
    const auto begin = column.begin() + first;
    if (std::is_sorted(begin, column.begin() + end)) continue;
    order.resize(Size(end - first));
    std::iota(order.begin(), order.end(), Size(first));
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return column[a] != column[b] ? column[a] < column[b] : a < b;
    });
    columns_before.assign(begin, column.begin() + end);
    places_before.assign(place.begin() + first, place.begin() + end);
    for (std::size_t k = 0; k < order.size(); ++k) {
      column[Size(first) + k] = columns_before[order[k] - Size(first)];
      place[Size(first) + k] = places_before[order[k] - Size(first)];
    }
  }
}

}  // namespace cerberus::libraries::cusparse
