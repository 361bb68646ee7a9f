// Vectors and matrices as cuSPARSE's descriptors tell of them, and how to go
// through their elements whatever the format is.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_MATRIX_H_
#define CERBERUS_LIBRARIES_CUSPARSE_MATRIX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "libraries/common/work.h"
#include "libraries/cublas/typed.h"
#include "libraries/cusparse/abi.h"

namespace cerberus::libraries::cusparse {

inline bool IsBase(IndexBase base) {
  return base == kZeroBased || base == kOneBased;
}
inline std::size_t Size(Index n) {
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

// An array of indices, which count from the matrix' base.
struct Indices {
  void* array = nullptr;
  IndexType type = k32Bit;

  Index operator[](Index i) const {
    return type == k64Bit ? static_cast<const std::int64_t*>(array)[i]
                          : static_cast<const std::int32_t*>(array)[i];
  }
  void Set(Index i, Index value) const {
    if (type == k64Bit) static_cast<std::int64_t*>(array)[i] = value;
    else static_cast<std::int32_t*>(array)[i] = static_cast<int>(value);
  }
  std::size_t bytes() const { return type == k64Bit ? 8 : 4; }
  // The largest that they can tell.
  Index most() const {
    return type == k64Bit ? std::numeric_limits<std::int64_t>::max()
                          : std::numeric_limits<std::int32_t>::max();
  }
  Indices Behind(Index count) const;
};

struct SpVec {
  Index size = 0, nnz = 0;
  Indices indices;
  void* values = nullptr;
  IndexBase base = kZeroBased;
  DataType type = cublas::kR32F;
};

struct DnVec {
  Index size = 0;
  void* values = nullptr;
  DataType type = cublas::kR32F;
};

struct DnMat {
  Index rows = 0, columns = 0, ld = 0;
  void* values = nullptr;
  DataType type = cublas::kR32F;
  Order order = kByColumns;
  int batches = 1;
  Index stride = 0;

  Index PlaceOf(Index i, Index j) const {
    return order == kByColumns ? i + j * ld : i * ld + j;
  }
};

struct SpMat {
  Format format = kCsr;
  DataType type = cublas::kR32F;
  IndexBase base = kZeroBased;
  Index rows = 0, columns = 0;
  // Elements; of BSR blocks, of sliced ELL without what is padded.
  Index nnz = 0;
  // CSR, BSR: offsets of rows, columns. CSC: offsets of columns, rows. COO:
  // rows, columns. Sliced ELL: offsets of slices, columns. Blocked ELL:
  // nothing, columns of blocks.
  Indices major, minor;
  void* values = nullptr;
  // Of BSR and blocked ELL; the order within a block, or of a dense matrix.
  Index block_rows = 1, block_columns = 1;
  Order order = kByRows;
  Index ell_columns = 0;        // blocked ELL
  Index slice = 1, stored = 0;  // sliced ELL: rows, elements with padding
  Index ld = 0;                 // dense
  int batches = 1;
  Index major_stride = 0, minor_stride = 0, values_stride = 0;
  // By cusparseSpMatAttribute_t: fill mode, diagonal type, storage, symmetry.
  int attributes[4] = {};

  Fill fill() const { return static_cast<Fill>(attributes[0]); }
  Diag diag() const { return static_cast<Diag>(attributes[1]); }

  // Elements of the arrays, of one batch.
  Index MajorCount() const;
  Index MinorCount() const;
  Index ValueCount() const;
  SpMat Batch(int batch) const;
};

// Arrays of matrices where work may use them. What is written is told.
struct Written {
  bool structure = false, values = false;
};
SpMat Mapped(Work& work, const SpMat& matrix, Written written = {});
SpVec Mapped(Work& work, const SpVec& vector, bool written = false);
DnVec Mapped(Work& work, const DnVec& vector, bool written = false);
// One for each batch; `count` of them, of one matrix if it has but that.
std::vector<DnMat> Mapped(Work& work, const DnMat& matrix, int count,
                          bool written = false);

// A dense matrix as one that has all its elements.
SpMat AsSparse(const DnMat& matrix);

// Calls f(row, column, place) for each element that is stored, places being
// those of the values. What lies outside of the matrix is left out.
template <typename F>
void ForEach(const SpMat& m, const F& f) {
  const Index base = m.base;
  // Of blocks of 1 by 1 element too.
  const auto block = [&](Index row, Index column, Index place) {
    if (column < 0 || column * m.block_columns >= m.columns) return;
    const Index size = m.block_rows * m.block_columns;
    for (Index i = 0; i < m.block_rows; ++i) {
      for (Index j = 0; j < m.block_columns; ++j) {
        const Index inner =
            m.order == kByRows ? i * m.block_columns + j : i + j * m.block_rows;
        f(row * m.block_rows + i, column * m.block_columns + j,
          place * size + inner);
      }
    }
  };
  switch (m.format) {
    case kCsr:
    case kCsc: {
      const bool by_rows = m.format == kCsr;
      const Index majors = by_rows ? m.rows : m.columns;
      const Index minors = by_rows ? m.columns : m.rows;
      for (Index i = 0; i < majors; ++i) {
        const Index end = std::min(m.major[i + 1] - base, m.nnz);
        for (Index p = std::max<Index>(m.major[i] - base, 0); p < end; ++p) {
          const Index j = m.minor[p] - base;
          if (j < 0 || j >= minors) continue;
          by_rows ? f(i, j, p) : f(j, i, p);
        }
      }
      return;
    }
    case kCoo:
      for (Index p = 0; p < m.nnz; ++p) {
        const Index i = m.major[p] - base, j = m.minor[p] - base;
        if (i < 0 || i >= m.rows || j < 0 || j >= m.columns) continue;
        f(i, j, p);
      }
      return;
    case kBsr:
      for (Index i = 0; i < m.rows / m.block_rows; ++i) {
        const Index end = std::min(m.major[i + 1] - base, m.nnz);
        for (Index p = std::max<Index>(m.major[i] - base, 0); p < end; ++p) {
          block(i, m.minor[p] - base, p);
        }
      }
      return;
    case kBlockedEll: {
      const Index side = m.block_rows, width = m.ell_columns / side;
      for (Index i = 0; i < m.rows; ++i) {
        for (Index e = 0; e < width; ++e) {
          const Index j = m.minor[i / side * width + e] - base;
          if (j < 0 || j * side >= m.columns) continue;  // -1: no block
          for (Index k = 0; k < side && j * side + k < m.columns; ++k) {
            f(i, j * side + k, i * m.ell_columns + e * side + k);
          }
        }
      }
      return;
    }
    case kSlicedEll:
      for (Index i = 0; i < m.rows; ++i) {
        const Index s = i / m.slice;
        const Index end = std::min(m.major[s + 1] - base, m.stored);
        for (Index p = std::max<Index>(m.major[s] - base, 0) + i % m.slice;
             p < end; p += m.slice) {
          const Index j = m.minor[p] - base;
          if (j >= 0 && j < m.columns) f(i, j, p);
        }
      }
      return;
    case kDense:
      for (Index j = 0; j < m.columns; ++j) {
        for (Index i = 0; i < m.rows; ++i) {
          f(i, j, m.order == kByColumns ? i + j * m.ld : i * m.ld + j);
        }
      }
      return;
  }
}

// The elements by rows, columns in ascending order in each.
struct Rows {
  Index rows = 0, columns = 0;
  std::vector<Index> offsets;
  std::vector<Index> column;
  std::vector<Index> place;

  Index nnz() const { return static_cast<Index>(column.size()); }
  void Sort();
};
// Those of which keep(row, column, place) is true. `turned`: of the transposed
// matrix; rows and columns are its own then.
template <typename Keep>
Rows RowsOf(const SpMat& m, bool turned, const Keep& keep) {
  Rows out;
  out.rows = turned ? m.columns : m.rows;
  out.columns = turned ? m.rows : m.columns;
  out.offsets.assign(static_cast<std::size_t>(out.rows) + 1, 0);
  const auto each = [&](const auto& f) {
    ForEach(m, [&](Index i, Index j, Index p) {
      if (turned) std::swap(i, j);
      if (keep(i, j, p)) f(static_cast<std::size_t>(i), j, p);
    });
  };
  each([&](std::size_t i, Index, Index) { ++out.offsets[i + 1]; });
  for (std::size_t i = 1; i < out.offsets.size(); ++i) {
    out.offsets[i] += out.offsets[i - 1];
  }
  out.column.resize(static_cast<std::size_t>(out.offsets.back()));
  out.place.resize(out.column.size());
  std::vector<Index> next = out.offsets;
  each([&](std::size_t i, Index j, Index p) {
    const auto at = static_cast<std::size_t>(next[i]++);
    out.column[at] = j;
    out.place[at] = p;
  });
  out.Sort();
  return out;
}
inline Rows RowsOf(const SpMat& m, bool turned = false) {
  return RowsOf(m, turned, [](Index, Index, Index) { return true; });
}

// --- Numbers of a type told at run time, as T
template <typename T>
inline constexpr DataType kTypeOf =
    std::is_same_v<T, float>       ? cublas::kR32F
    : std::is_same_v<T, double>    ? cublas::kR64F
    : std::is_same_v<T, Complex32> ? cublas::kC32F
                                   : cublas::kC64F;
template <typename T>
T Get(DataType type, const void* array, Index i) {
  if (type == kTypeOf<T>) return static_cast<const T*>(array)[i];
  return cublas::As<T>(cublas::Load(type, array, i));
}
template <typename T>
void Put(DataType type, void* array, Index i, T value) {
  if (type == kTypeOf<T>) static_cast<T*>(array)[i] = value;
  else cublas::Store(type, array, i, cublas::Wide(value));
}
// As it is.
inline void CopyElement(DataType type, const void* from, Index i, void* to,
                        Index j) {
  const std::size_t bytes = cublas::SizeOf(type);
  std::memcpy(static_cast<std::byte*>(to) + Size(j) * bytes,
              static_cast<const std::byte*>(from) + Size(i) * bytes, bytes);
}
// An array that is read often: converted once if it is of another type.
template <typename T>
class Numbers {
 public:
  Numbers(DataType type, const void* array, Index count)
      : first_(static_cast<const T*>(array)) {
    if (type == kTypeOf<T> || count <= 0) return;
    converted_.resize(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) {
      converted_[static_cast<std::size_t>(i)] = Get<T>(type, array, i);
    }
    first_ = converted_.data();
  }
  const T& operator[](Index i) const { return first_[i]; }

 private:
  const T* first_;
  std::vector<T> converted_;
};
template <typename T>
Numbers<T> ValuesOf(const SpMat& m) {
  return {m.type, m.values, m.ValueCount()};
}

// Calls f as a template with the type that a computation of that type is done
// in: halves in f32, integers in f64, where their sums are exact.
template <typename F>
void InType(DataType compute, const F& f) {
  switch (compute) {
    case cublas::kR64F:
    case cublas::kR32I: return f.template operator()<double>();
    case cublas::kC32F:
    case cublas::kC16F:
    case cublas::kC16BF: return f.template operator()<Complex32>();
    case cublas::kC64F: return f.template operator()<Complex64>();
    default: return f.template operator()<float>();
  }
}

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_MATRIX_H_
