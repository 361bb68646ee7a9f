// Functions with a letter for their type. Pointers to numbers are pointers to
// whatever it is: one body for all types, which is told it as kType.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_TYPED_EXPORTS_H_
#define CERBERUS_LIBRARIES_CUSPARSE_TYPED_EXPORTS_H_

#include "libraries/cusparse/handle.h"
#include "libraries/cusparse/matrix.h"

// `parameters` begin with the handle h; the rest is what the call returns.
#define CUSPARSE_EXPORT_ONE(letter, type, name, parameters, ...) \
  CUSPARSE_API Status cusparse##letter##name parameters {        \
    [[maybe_unused]] constexpr DataType kType = cublas::type;    \
    return Guarded(h, [&]() -> Status { return __VA_ARGS__; });  \
  }
#define CUSPARSE_EXPORT_SD(name, parameters, ...)              \
  CUSPARSE_EXPORT_ONE(S, kR32F, name, parameters, __VA_ARGS__) \
  CUSPARSE_EXPORT_ONE(D, kR64F, name, parameters, __VA_ARGS__)
#define CUSPARSE_EXPORT_SDCZ(name, parameters, ...)            \
  CUSPARSE_EXPORT_SD(name, parameters, __VA_ARGS__)            \
  CUSPARSE_EXPORT_ONE(C, kC32F, name, parameters, __VA_ARGS__) \
  CUSPARSE_EXPORT_ONE(Z, kC64F, name, parameters, __VA_ARGS__)
#define CUSPARSE_EXPORT_HSD(name, parameters, ...)             \
  CUSPARSE_EXPORT_ONE(H, kR16F, name, parameters, __VA_ARGS__) \
  CUSPARSE_EXPORT_SD(name, parameters, __VA_ARGS__)

namespace cerberus::libraries::cusparse {

// Matrices as the functions before the generic ones tell of them. `descr` may
// be null, which Check finds.
inline SpMat Compressed(Format format, DataType type, const MatDescr* descr,
                        int rows, int columns, int nnz, const void* values,
                        const int* offsets, const int* indices) {
  SpMat m;
  m.format = format;
  m.type = type;
  m.base = descr != nullptr ? descr->base : kZeroBased;
  m.rows = rows;
  m.columns = columns;
  m.nnz = nnz;
  m.major.array = const_cast<int*>(offsets);
  m.minor.array = const_cast<int*>(indices);
  m.values = const_cast<void*>(values);
  if (descr != nullptr) {
    m.attributes[0] = descr->fill;
    m.attributes[1] = descr->diag;
  }
  return m;
}
inline SpMat Csr(DataType type, const MatDescr* descr, int rows, int columns,
                 int nnz, const void* values, const int* offsets,
                 const int* indices) {
  return Compressed(kCsr, type, descr, rows, columns, nnz, values, offsets,
                    indices);
}
inline SpMat Bsr(DataType type, const MatDescr* descr, Direction direction,
                 int rows, int columns, int blocks, const void* values,
                 const int* offsets, const int* indices, int block_rows,
                 int block_columns) {
  SpMat m =
      Compressed(kBsr, type, descr, rows * block_rows, columns * block_columns,
                 blocks, values, offsets, indices);
  m.block_rows = block_rows;
  m.block_columns = block_columns;
  m.order = direction == kColumnsFirst ? kByColumns : kByRows;
  return m;
}
inline DnMat Dense(DataType type, Index rows, Index columns, const void* values,
                   Index ld) {
  return {rows, columns, ld, const_cast<void*>(values), type};
}

inline SpMat DenseAsSparse(DataType type, int m, int n, const void* a,
                           int lda) {
  return AsSparse(Dense(type, m, n, a, lda));
}

// Fills the number of elements, or blocks, that only the matrix' offsets tell.
// Where the host works in the device's memory it need not be known.
inline Status FindNnz(Handle h, SpMat* m) {
  m->nnz = std::int64_t{1} << 31;
  if (h->driver->shares_memory) return kSuccess;
  const auto* offsets = static_cast<const int*>(m->major.array);
  int first = 0, end = 0;
  if (!Read(h, offsets, &first, sizeof first) ||
      !Read(h, offsets + m->MajorCount() - 1, &end, sizeof end)) {
    return kExecutionFailed;
  }
  m->nnz = end - first;
  return kSuccess;
}

// What is wrong with a matrix of such a function.
inline Status Check(const MatDescr* descr, const SpMat& m) {
  if (descr == nullptr || m.rows < 0 || m.columns < 0 || m.nnz < 0 ||
      m.block_rows <= 0 || m.block_columns <= 0) {
    return kInvalidValue;
  }
  return descr->type == kGeneral ? kSuccess : kMatrixTypeNotSupported;
}

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_TYPED_EXPORTS_H_
