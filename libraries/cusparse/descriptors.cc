// The functions that make, read and change descriptors of vectors and matrices.
#include <cstring>
#include <new>

#include "libraries/cusparse/handle.h"
#include "libraries/cusparse/matrix.h"

namespace cerberus::libraries::cusparse {
namespace {

bool IsIndexType(IndexType type) { return type == k32Bit || type == k64Bit; }

// What there must be of every array.
Status Check(std::initializer_list<IndexType> indices, IndexBase base,
             DataType type) {
  for (const IndexType index : indices) {
    if (!IsIndexType(index)) return kNotSupported;
  }
  if (!IsBase(base)) return kInvalidValue;
  return cublas::SizeOf(type) != 0 ? kSuccess : kInvalidValue;
}

template <typename T>
Status New(T** descriptor, const T& value) {
  auto* made = new (std::nothrow) T(value);
  if (made == nullptr) return kAllocFailed;
  *descriptor = made;
  return kSuccess;
}
// Fills what is asked for.
template <typename T, typename V>
void Tell(T* to, const V& value) {
  if (to != nullptr) *to = static_cast<T>(value);
}

SpMat Compressed(Format format, Index rows, Index columns, Index nnz,
                 const void* offsets, const void* indices, const void* values,
                 IndexType offsets_type, IndexType index_type, IndexBase base,
                 DataType type) {
  SpMat m;
  m.format = format;
  m.rows = rows;
  m.columns = columns;
  m.nnz = nnz;
  m.major = {const_cast<void*>(offsets), offsets_type};
  m.minor = {const_cast<void*>(indices), index_type};
  m.values = const_cast<void*>(values);
  m.base = base;
  m.type = type;
  return m;
}

Status NewMatrix(SpMat** descriptor, const SpMat& m) {
  if (descriptor == nullptr || m.rows < 0 || m.columns < 0 || m.nnz < 0) {
    return kInvalidValue;
  }
  if (const Status bad = Check({m.major.type, m.minor.type}, m.base, m.type)) {
    return bad;
  }
  return New(descriptor, m);
}

Status NewBsr(SpMat** descriptor, Index rows, Index columns, Index blocks,
              Index block_rows, Index block_columns, const void* offsets,
              const void* indices, const void* values, IndexType offsets_type,
              IndexType index_type, IndexBase base, DataType type,
              Order order) {
  if (block_rows <= 0 || block_columns <= 0 ||
      (order != kByColumns && order != kByRows)) {
    return kInvalidValue;
  }
  SpMat m = Compressed(kBsr, rows * block_rows, columns * block_columns, blocks,
                       offsets, indices, values, offsets_type, index_type, base,
                       type);
  m.block_rows = block_rows;
  m.block_columns = block_columns;
  m.order = order;
  return NewMatrix(descriptor, m);
}

Status NewSlicedEll(SpMat** descriptor, Index rows, Index columns, Index nnz,
                    Index stored, Index slice, const void* offsets,
                    const void* indices, const void* values,
                    IndexType offsets_type, IndexType index_type,
                    IndexBase base, DataType type) {
  if (slice <= 0 || stored < nnz) return kInvalidValue;
  SpMat m = Compressed(kSlicedEll, rows, columns, nnz, offsets, indices, values,
                       offsets_type, index_type, base, type);
  m.slice = slice;
  m.stored = stored;
  return NewMatrix(descriptor, m);
}

Status NewBlockedEll(SpMat** descriptor, Index rows, Index columns, Index side,
                     Index ell_columns, const void* indices, const void* values,
                     IndexType index_type, IndexBase base, DataType type) {
  if (side <= 0 || ell_columns < 0 || ell_columns % side != 0) {
    return kInvalidValue;
  }
  SpMat m = Compressed(kBlockedEll, rows, columns, rows * ell_columns, nullptr,
                       indices, values, index_type, index_type, base, type);
  m.block_rows = m.block_columns = side;
  m.ell_columns = ell_columns;
  return NewMatrix(descriptor, m);
}

Status NewDnMat(DnMat** descriptor, const DnMat& m) {
  if (descriptor == nullptr || m.rows < 0 || m.columns < 0 ||
      (m.order != kByColumns && m.order != kByRows) ||
      m.ld < (m.order == kByColumns ? m.rows : m.columns) ||
      cublas::SizeOf(m.type) == 0) {
    return kInvalidValue;
  }
  return New(descriptor, m);
}

Status GetCompressed(Format format, const SpMat* m, Index* rows, Index* columns,
                     Index* nnz, void** offsets, void** indices, void** values,
                     IndexType* offsets_type, IndexType* index_type,
                     IndexBase* base, DataType* type) {
  if (m == nullptr || m->format != format) return kInvalidValue;
  Tell(rows, m->rows);
  Tell(columns, m->columns);
  Tell(nnz, m->nnz);
  Tell(offsets, m->major.array);
  Tell(indices, m->minor.array);
  Tell(values, m->values);
  Tell(offsets_type, m->major.type);
  Tell(index_type, m->minor.type);
  Tell(base, m->base);
  Tell(type, m->type);
  return kSuccess;
}
Status GetBlockedEll(const SpMat* m, Index* rows, Index* columns, Index* side,
                     Index* ell_columns, void** indices, void** values,
                     IndexType* index_type, IndexBase* base, DataType* type) {
  Tell(side, m != nullptr ? m->block_rows : 0);
  Tell(ell_columns, m != nullptr ? m->ell_columns : 0);
  return GetCompressed(kBlockedEll, m, rows, columns, nullptr, nullptr, indices,
                       values, nullptr, index_type, base, type);
}
Status GetDnMat(const DnMat* m, Index* rows, Index* columns, Index* ld,
                void** values, DataType* type, Order* order) {
  if (m == nullptr) return kInvalidValue;
  Tell(rows, m->rows);
  Tell(columns, m->columns);
  Tell(ld, m->ld);
  Tell(values, m->values);
  Tell(type, m->type);
  Tell(order, m->order);
  return kSuccess;
}
Status GetDnVec(const DnVec* v, Index* size, void** values, DataType* type) {
  if (v == nullptr) return kInvalidValue;
  Tell(size, v->size);
  Tell(values, v->values);
  Tell(type, v->type);
  return kSuccess;
}
Status GetSpVec(const SpVec* v, Index* size, Index* nnz, void** indices,
                void** values, IndexType* index_type, IndexBase* base,
                DataType* type) {
  if (v == nullptr) return kInvalidValue;
  Tell(size, v->size);
  Tell(nnz, v->nnz);
  Tell(indices, v->indices.array);
  Tell(values, v->values);
  Tell(index_type, v->indices.type);
  Tell(base, v->base);
  Tell(type, v->type);
  return kSuccess;
}
template <typename T>
Status GetValues(const T* descriptor, void** values) {
  if (descriptor == nullptr || values == nullptr) return kInvalidValue;
  *values = descriptor->values;
  return kSuccess;
}
template <typename T>
Status SetValues(T* descriptor, void* values) {
  if (descriptor == nullptr) return kInvalidValue;
  descriptor->values = values;
  return kSuccess;
}
Status SetPointers(Format format, SpMat* m, void* major, void* minor,
                   void* values) {
  if (m == nullptr || m->format != format) return kInvalidValue;
  m->major.array = major;
  m->minor.array = minor;
  m->values = values;
  return kSuccess;
}

}  // namespace

// --- vectors
CUSPARSE_API Status cusparseCreateSpVec(SpVec** descriptor, Index size,
                                        Index nnz, void* indices, void* values,
                                        IndexType index_type, IndexBase base,
                                        DataType type) {
  if (descriptor == nullptr || size < 0 || nnz < 0 || nnz > size) {
    return kInvalidValue;
  }
  if (const Status bad = Check({index_type}, base, type)) return bad;
  return New(descriptor,
             SpVec{size, nnz, {indices, index_type}, values, base, type});
}
CUSPARSE_API Status cusparseCreateConstSpVec(SpVec** descriptor, Index size,
                                             Index nnz, const void* indices,
                                             const void* values,
                                             IndexType index_type,
                                             IndexBase base, DataType type) {
  return cusparseCreateSpVec(descriptor, size, nnz, const_cast<void*>(indices),
                             const_cast<void*>(values), index_type, base, type);
}
CUSPARSE_API Status cusparseDestroySpVec(const SpVec* v) { return Destroy(v); }
CUSPARSE_API Status cusparseSpVecGet(const SpVec* v, Index* size, Index* nnz,
                                     void** indices, void** values,
                                     IndexType* index_type, IndexBase* base,
                                     DataType* type) {
  return GetSpVec(v, size, nnz, indices, values, index_type, base, type);
}
CUSPARSE_API Status cusparseConstSpVecGet(const SpVec* v, Index* size,
                                          Index* nnz, void** indices,
                                          void** values, IndexType* index_type,
                                          IndexBase* base, DataType* type) {
  return GetSpVec(v, size, nnz, indices, values, index_type, base, type);
}
CUSPARSE_API Status cusparseSpVecGetIndexBase(const SpVec* v, IndexBase* base) {
  if (v == nullptr || base == nullptr) return kInvalidValue;
  *base = v->base;
  return kSuccess;
}
CUSPARSE_API Status cusparseSpVecGetValues(const SpVec* v, void** values) {
  return GetValues(v, values);
}
CUSPARSE_API Status cusparseConstSpVecGetValues(const SpVec* v, void** values) {
  return GetValues(v, values);
}
CUSPARSE_API Status cusparseSpVecSetValues(SpVec* v, void* values) {
  return SetValues(v, values);
}

CUSPARSE_API Status cusparseCreateDnVec(DnVec** descriptor, Index size,
                                        void* values, DataType type) {
  if (descriptor == nullptr || size < 0 || cublas::SizeOf(type) == 0) {
    return kInvalidValue;
  }
  return New(descriptor, DnVec{size, values, type});
}
CUSPARSE_API Status cusparseCreateConstDnVec(DnVec** descriptor, Index size,
                                             const void* values,
                                             DataType type) {
  return cusparseCreateDnVec(descriptor, size, const_cast<void*>(values), type);
}
CUSPARSE_API Status cusparseDestroyDnVec(const DnVec* v) { return Destroy(v); }
CUSPARSE_API Status cusparseDnVecGet(const DnVec* v, Index* size, void** values,
                                     DataType* type) {
  return GetDnVec(v, size, values, type);
}
CUSPARSE_API Status cusparseConstDnVecGet(const DnVec* v, Index* size,
                                          void** values, DataType* type) {
  return GetDnVec(v, size, values, type);
}
CUSPARSE_API Status cusparseDnVecGetValues(const DnVec* v, void** values) {
  return GetValues(v, values);
}
CUSPARSE_API Status cusparseConstDnVecGetValues(const DnVec* v, void** values) {
  return GetValues(v, values);
}
CUSPARSE_API Status cusparseDnVecSetValues(DnVec* v, void* values) {
  return SetValues(v, values);
}

// --- dense matrices
CUSPARSE_API Status cusparseCreateDnMat(DnMat** descriptor, Index rows,
                                        Index columns, Index ld, void* values,
                                        DataType type, Order order) {
  return NewDnMat(descriptor, {rows, columns, ld, values, type, order});
}
CUSPARSE_API Status cusparseCreateConstDnMat(DnMat** descriptor, Index rows,
                                             Index columns, Index ld,
                                             const void* values, DataType type,
                                             Order order) {
  return NewDnMat(descriptor,
                  {rows, columns, ld, const_cast<void*>(values), type, order});
}
CUSPARSE_API Status cusparseDestroyDnMat(const DnMat* m) { return Destroy(m); }
CUSPARSE_API Status cusparseDnMatGet(const DnMat* m, Index* rows,
                                     Index* columns, Index* ld, void** values,
                                     DataType* type, Order* order) {
  return GetDnMat(m, rows, columns, ld, values, type, order);
}
CUSPARSE_API Status cusparseConstDnMatGet(const DnMat* m, Index* rows,
                                          Index* columns, Index* ld,
                                          void** values, DataType* type,
                                          Order* order) {
  return GetDnMat(m, rows, columns, ld, values, type, order);
}
CUSPARSE_API Status cusparseDnMatGetValues(const DnMat* m, void** values) {
  return GetValues(m, values);
}
CUSPARSE_API Status cusparseConstDnMatGetValues(const DnMat* m, void** values) {
  return GetValues(m, values);
}
CUSPARSE_API Status cusparseDnMatSetValues(DnMat* m, void* values) {
  return SetValues(m, values);
}
CUSPARSE_API Status cusparseDnMatSetStridedBatch(DnMat* m, int batches,
                                                 Index stride) {
  if (m == nullptr || batches <= 0 || stride < 0) return kInvalidValue;
  m->batches = batches;
  m->stride = stride;
  return kSuccess;
}
CUSPARSE_API Status cusparseDnMatGetStridedBatch(const DnMat* m, int* batches,
                                                 Index* stride) {
  if (m == nullptr) return kInvalidValue;
  Tell(batches, m->batches);
  Tell(stride, m->stride);
  return kSuccess;
}

// --- sparse matrices
CUSPARSE_API Status cusparseCreateCsr(SpMat** descriptor, Index rows,
                                      Index columns, Index nnz, void* offsets,
                                      void* indices, void* values,
                                      IndexType offsets_type,
                                      IndexType index_type, IndexBase base,
                                      DataType type) {
  return NewMatrix(
      descriptor, Compressed(kCsr, rows, columns, nnz, offsets, indices, values,
                             offsets_type, index_type, base, type));
}
CUSPARSE_API Status
cusparseCreateConstCsr(SpMat** descriptor, Index rows, Index columns, Index nnz,
                       const void* offsets, const void* indices,
                       const void* values, IndexType offsets_type,
                       IndexType index_type, IndexBase base, DataType type) {
  return NewMatrix(
      descriptor, Compressed(kCsr, rows, columns, nnz, offsets, indices, values,
                             offsets_type, index_type, base, type));
}
CUSPARSE_API Status cusparseCreateCsc(SpMat** descriptor, Index rows,
                                      Index columns, Index nnz, void* offsets,
                                      void* indices, void* values,
                                      IndexType offsets_type,
                                      IndexType index_type, IndexBase base,
                                      DataType type) {
  return NewMatrix(
      descriptor, Compressed(kCsc, rows, columns, nnz, offsets, indices, values,
                             offsets_type, index_type, base, type));
}
CUSPARSE_API Status
cusparseCreateConstCsc(SpMat** descriptor, Index rows, Index columns, Index nnz,
                       const void* offsets, const void* indices,
                       const void* values, IndexType offsets_type,
                       IndexType index_type, IndexBase base, DataType type) {
  return NewMatrix(
      descriptor, Compressed(kCsc, rows, columns, nnz, offsets, indices, values,
                             offsets_type, index_type, base, type));
}
CUSPARSE_API Status cusparseCreateCoo(SpMat** descriptor, Index rows,
                                      Index columns, Index nnz,
                                      void* row_indices, void* column_indices,
                                      void* values, IndexType index_type,
                                      IndexBase base, DataType type) {
  return NewMatrix(descriptor, Compressed(kCoo, rows, columns, nnz, row_indices,
                                          column_indices, values, index_type,
                                          index_type, base, type));
}
CUSPARSE_API Status cusparseCreateConstCoo(
    SpMat** descriptor, Index rows, Index columns, Index nnz,
    const void* row_indices, const void* column_indices, const void* values,
    IndexType index_type, IndexBase base, DataType type) {
  return NewMatrix(descriptor, Compressed(kCoo, rows, columns, nnz, row_indices,
                                          column_indices, values, index_type,
                                          index_type, base, type));
}
CUSPARSE_API Status cusparseCreateBsr(SpMat** descriptor, Index rows,
                                      Index columns, Index blocks,
                                      Index block_rows, Index block_columns,
                                      void* offsets, void* indices,
                                      void* values, IndexType offsets_type,
                                      IndexType index_type, IndexBase base,
                                      DataType type, Order order) {
  return NewBsr(descriptor, rows, columns, blocks, block_rows, block_columns,
                offsets, indices, values, offsets_type, index_type, base, type,
                order);
}
CUSPARSE_API Status cusparseCreateConstBsr(
    SpMat** descriptor, Index rows, Index columns, Index blocks,
    Index block_rows, Index block_columns, const void* offsets,
    const void* indices, const void* values, IndexType offsets_type,
    IndexType index_type, IndexBase base, DataType type, Order order) {
  return NewBsr(descriptor, rows, columns, blocks, block_rows, block_columns,
                offsets, indices, values, offsets_type, index_type, base, type,
                order);
}
CUSPARSE_API Status
cusparseCreateSlicedEll(SpMat** descriptor, Index rows, Index columns,
                        Index nnz, Index stored, Index slice, void* offsets,
                        void* indices, void* values, IndexType offsets_type,
                        IndexType index_type, IndexBase base, DataType type) {
  return NewSlicedEll(descriptor, rows, columns, nnz, stored, slice, offsets,
                      indices, values, offsets_type, index_type, base, type);
}
CUSPARSE_API Status cusparseCreateConstSlicedEll(
    SpMat** descriptor, Index rows, Index columns, Index nnz, Index stored,
    Index slice, const void* offsets, const void* indices, const void* values,
    IndexType offsets_type, IndexType index_type, IndexBase base,
    DataType type) {
  return NewSlicedEll(descriptor, rows, columns, nnz, stored, slice, offsets,
                      indices, values, offsets_type, index_type, base, type);
}
CUSPARSE_API Status cusparseCreateBlockedEll(SpMat** descriptor, Index rows,
                                             Index columns, Index side,
                                             Index ell_columns, void* indices,
                                             void* values, IndexType index_type,
                                             IndexBase base, DataType type) {
  return NewBlockedEll(descriptor, rows, columns, side, ell_columns, indices,
                       values, index_type, base, type);
}
CUSPARSE_API Status cusparseCreateConstBlockedEll(
    SpMat** descriptor, Index rows, Index columns, Index side,
    Index ell_columns, const void* indices, const void* values,
    IndexType index_type, IndexBase base, DataType type) {
  return NewBlockedEll(descriptor, rows, columns, side, ell_columns, indices,
                       values, index_type, base, type);
}
CUSPARSE_API Status cusparseDestroySpMat(const SpMat* m) { return Destroy(m); }

#define CUSPARSE_GET(name, format)                                             \
  CUSPARSE_API Status name(                                                    \
      const SpMat* m, Index* rows, Index* columns, Index* nnz, void** offsets, \
      void** indices, void** values, IndexType* offsets_type,                  \
      IndexType* index_type, IndexBase* base, DataType* type) {                \
    return GetCompressed(format, m, rows, columns, nnz, offsets, indices,      \
                         values, offsets_type, index_type, base, type);        \
  }
CUSPARSE_GET(cusparseCsrGet, kCsr)
CUSPARSE_GET(cusparseConstCsrGet, kCsr)
CUSPARSE_GET(cusparseCscGet, kCsc)
CUSPARSE_GET(cusparseConstCscGet, kCsc)
#undef CUSPARSE_GET
CUSPARSE_API Status cusparseCooGet(const SpMat* m, Index* rows, Index* columns,
                                   Index* nnz, void** row_indices,
                                   void** column_indices, void** values,
                                   IndexType* index_type, IndexBase* base,
                                   DataType* type) {
  return GetCompressed(kCoo, m, rows, columns, nnz, row_indices, column_indices,
                       values, nullptr, index_type, base, type);
}
CUSPARSE_API Status cusparseConstCooGet(const SpMat* m, Index* rows,
                                        Index* columns, Index* nnz,
                                        void** row_indices,
                                        void** column_indices, void** values,
                                        IndexType* index_type, IndexBase* base,
                                        DataType* type) {
  return cusparseCooGet(m, rows, columns, nnz, row_indices, column_indices,
                        values, index_type, base, type);
}
CUSPARSE_API Status cusparseBlockedEllGet(const SpMat* m, Index* rows,
                                          Index* columns, Index* side,
                                          Index* ell_columns, void** indices,
                                          void** values, IndexType* index_type,
                                          IndexBase* base, DataType* type) {
  return GetBlockedEll(m, rows, columns, side, ell_columns, indices, values,
                       index_type, base, type);
}
CUSPARSE_API Status cusparseConstBlockedEllGet(
    const SpMat* m, Index* rows, Index* columns, Index* side,
    Index* ell_columns, void** indices, void** values, IndexType* index_type,
    IndexBase* base, DataType* type) {
  return GetBlockedEll(m, rows, columns, side, ell_columns, indices, values,
                       index_type, base, type);
}

CUSPARSE_API Status cusparseCsrSetPointers(SpMat* m, void* offsets,
                                           void* indices, void* values) {
  return SetPointers(kCsr, m, offsets, indices, values);
}
CUSPARSE_API Status cusparseCscSetPointers(SpMat* m, void* offsets,
                                           void* indices, void* values) {
  return SetPointers(kCsc, m, offsets, indices, values);
}
CUSPARSE_API Status cusparseCooSetPointers(SpMat* m, void* row_indices,
                                           void* column_indices, void* values) {
  return SetPointers(kCoo, m, row_indices, column_indices, values);
}
CUSPARSE_API Status cusparseSpMatGetFormat(const SpMat* m, Format* format) {
  if (m == nullptr || format == nullptr) return kInvalidValue;
  *format = m->format;
  return kSuccess;
}
CUSPARSE_API Status cusparseSpMatGetIndexBase(const SpMat* m, IndexBase* base) {
  if (m == nullptr || base == nullptr) return kInvalidValue;
  *base = m->base;
  return kSuccess;
}
CUSPARSE_API Status cusparseSpMatGetValues(const SpMat* m, void** values) {
  return GetValues(m, values);
}
CUSPARSE_API Status cusparseConstSpMatGetValues(const SpMat* m, void** values) {
  return GetValues(m, values);
}
CUSPARSE_API Status cusparseSpMatSetValues(SpMat* m, void* values) {
  return SetValues(m, values);
}
CUSPARSE_API Status cusparseSpMatGetSize(const SpMat* m, Index* rows,
                                         Index* columns, Index* nnz) {
  if (m == nullptr) return kInvalidValue;
  Tell(rows, m->rows);
  Tell(columns, m->columns);
  Tell(nnz, m->nnz);
  return kSuccess;
}

// --- batches
CUSPARSE_API Status cusparseSpMatGetStridedBatch(const SpMat* m, int* batches) {
  if (m == nullptr || batches == nullptr) return kInvalidValue;
  *batches = m->batches;
  return kSuccess;
}
// Of CUDA 11: without strides, the matrix is the same in each.
CUSPARSE_API Status cusparseSpMatSetStridedBatch(SpMat* m, int batches) {
  if (m == nullptr || batches <= 0) return kInvalidValue;
  m->batches = batches;
  return kSuccess;
}
CUSPARSE_API Status cusparseCsrSetStridedBatch(SpMat* m, int batches,
                                               Index offsets_stride,
                                               Index stride) {
  if (m == nullptr || m->format != kCsr || batches <= 0 || offsets_stride < 0 ||
      stride < 0) {
    return kInvalidValue;
  }
  m->batches = batches;
  m->major_stride = offsets_stride;
  m->minor_stride = m->values_stride = stride;
  return kSuccess;
}
CUSPARSE_API Status cusparseCooSetStridedBatch(SpMat* m, int batches,
                                               Index stride) {
  if (m == nullptr || m->format != kCoo || batches <= 0 || stride < 0) {
    return kInvalidValue;
  }
  m->batches = batches;
  m->major_stride = m->minor_stride = m->values_stride = stride;
  return kSuccess;
}
CUSPARSE_API Status cusparseBsrSetStridedBatch(SpMat* m, int batches,
                                               Index offsets_stride,
                                               Index columns_stride,
                                               Index values_stride) {
  if (m == nullptr || m->format != kBsr || batches <= 0 || offsets_stride < 0 ||
      columns_stride < 0 || values_stride < 0) {
    return kInvalidValue;
  }
  m->batches = batches;
  m->major_stride = offsets_stride;
  m->minor_stride = columns_stride;
  m->values_stride = values_stride;
  return kSuccess;
}

// --- attributes: numbers of four bytes
CUSPARSE_API Status cusparseSpMatGetAttribute(const SpMat* m, int attribute,
                                              void* data, std::size_t size) {
  if (m == nullptr || data == nullptr || attribute < 0 || attribute > 3 ||
      size != sizeof(int)) {
    return kInvalidValue;
  }
  std::memcpy(data, &m->attributes[attribute], size);
  return kSuccess;
}
CUSPARSE_API Status cusparseSpMatSetAttribute(SpMat* m, int attribute,
                                              const void* data,
                                              std::size_t size) {
  if (m == nullptr || data == nullptr || attribute < 0 || attribute > 3 ||
      size != sizeof(int)) {
    return kInvalidValue;
  }
  int told = 0;
  std::memcpy(&told, data, size);
  if (told < 0 || told > (attribute < 2 ? 1 : 2)) return kInvalidValue;
  m->attributes[attribute] = told;
  return kSuccess;
}

}  // namespace cerberus::libraries::cusparse
