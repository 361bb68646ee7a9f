// What a layout and a descriptor say of the matrices of a product, and their
// elements in memory.
//
// Orders by tiles (cuBLASLt's header, cublasLtOrder_t) keep 32 columns
// together, `ld` elements from one 32 to the next:
//
// - kColumns32: rows of 32 elements.
// - kColumns4Rows8: tiles of 8 rows. First the even rows, then the odd ones; of
//   either 8 columns after the others, and of these the left 4 before the right
//   4, row by row.
// - kColumns32Rows32: tiles of 32 rows of 32 elements, in another order: row r
// is
//   the ((r % 8 / 2 * 4 + r / 8) * 2 + r % 2)th.
#ifndef CERBERUS_LIBRARIES_CUBLASLT_LAYOUT_H_
#define CERBERUS_LIBRARIES_CUBLASLT_LAYOUT_H_

#include <algorithm>
#include <cstddef>

#include "libraries/common/work.h"
#include "libraries/cublas/math.h"
#include "libraries/cublas/typed.h"
#include "libraries/cublaslt/descriptors.h"

namespace cerberus::libraries::cublaslt {

inline bool IsTurned(Operation op) {
  return op == cublas::kT || op == cublas::kC;
}
// Of op(A).
inline cublas::Index RowsOf(const Layout& layout, Operation op) {
  return static_cast<cublas::Index>(IsTurned(op) ? layout.columns
                                                 : layout.rows);
}
inline cublas::Index ColumnsOf(const Layout& layout, Operation op) {
  return static_cast<cublas::Index>(IsTurned(op) ? layout.rows
                                                 : layout.columns);
}
inline cublas::Index Batches(const Layout& layout) {
  return std::max<cublas::Index>(1, layout.batches);
}

inline bool IsTiled(const Layout& layout) { return layout.order > kRows; }
// And elements are in one place and of whole bytes.
inline bool IsInColumnsOrRows(const Layout& layout) {
  return !IsTiled(layout) && layout.plane_offset == 0 &&
         cublas::SizeOf(layout.type) != 0;
}
// Rows of a tile; 1 where columns or rows follow one another.
inline cublas::Index RowsOfTile(Order order) {
  switch (order) {
    case kColumns4Rows8: return 8;
    case kColumns32Rows32: return 32;
    default: return 1;
  }
}
// Within a tile of `order`, that has 32 columns.
inline cublas::Index PlaceInTile(Order order, cublas::Index i,
                                 cublas::Index j) {
  switch (order) {
    case kColumns4Rows8:
      return ((i % 2 * 4 + j / 8) * 8 + j % 8 / 4 * 4 + i / 2) * 4 + j % 4;
    case kColumns32Rows32:
      return ((i % 8 / 2 * 4 + i / 8) * 2 + i % 2) * 32 + j;
    default: return j;
  }
}
// Of element (i, j), in elements.
inline cublas::Index PlaceOf(const Layout& layout, cublas::Index i,
                             cublas::Index j) {
  if (layout.order == kColumns) return i + j * layout.ld;
  if (layout.order == kRows) return i * layout.ld + j;
  const cublas::Index rows = RowsOfTile(layout.order);
  return j / 32 * layout.ld + i / rows * rows * 32 +
         PlaceInTile(layout.order, i % rows, j % 32);
}

// A matrix of a batch where the host reaches it.
struct Memory {
  std::byte* all = nullptr;        // or the real parts
  std::byte* imaginary = nullptr;  // if apart
};
// Not of a matrix that is empty. `imaginary` is mapped if planes are apart.
Memory MapMatrix(Work& work, std::byte* p, const Layout& layout, bool out);
inline cublas::Complex64 LoadAt(const Layout& layout, const Memory& memory,
                                cublas::Index i, cublas::Index j) {
  const cublas::Index at = PlaceOf(layout, i, j);
  if (memory.imaginary == nullptr) {
    return cublas::Load(layout.type, memory.all, at);
  }
  const DataType part = cublas::PartType(layout.type);
  return {cublas::Load(part, memory.all, at).real(),
          cublas::Load(part, memory.imaginary, at).real()};
}
inline void StoreAt(const Layout& layout, const Memory& memory, cublas::Index i,
                    cublas::Index j, cublas::Complex64 value) {
  const cublas::Index at = PlaceOf(layout, i, j);
  if (memory.imaginary == nullptr) {
    return cublas::Store(layout.type, memory.all, at, value);
  }
  const DataType part = cublas::PartType(layout.type);
  cublas::Store(part, memory.all, at, value.real());
  cublas::Store(part, memory.imaginary, at, value.imag());
}

// kNotSupported: a type, an order or a kind of batch that is not known.
// kInvalidValue: rows, columns or tiles that overlap.
Status CheckLayout(const Layout& layout);

inline bool IsFloat8(DataType type) {
  return type == cublas::kR8E4M3 || type == cublas::kR8E5M2;
}
inline DataType AuxType(const MatmulDesc& desc, const Layout& d) {
  return desc.aux_type >= 0 ? static_cast<DataType>(desc.aux_type) : d.type;
}

inline bool Has(const MatmulDesc& desc, std::uint32_t bits) {
  return (desc.epilogue & bits) != 0;
}
inline bool HasGradient(const MatmulDesc& desc) {
  return Has(desc, kBiasGradient | kBiasGradientA | kBiasGradientB);
}
// Whether there is one alpha for each row; whether beta is read.
inline bool HasAlphaByRow(const MatmulDesc& desc) {
  return desc.pointer_mode == kDeviceVector ||
         desc.pointer_mode == kAlphaVectorBetaZero ||
         desc.pointer_mode == kAlphaVectorBetaHost;
}
inline bool HasHostBeta(const MatmulDesc& desc) {
  return desc.pointer_mode == kHost ||
         desc.pointer_mode == kAlphaVectorBetaHost;
}

}  // namespace cerberus::libraries::cublaslt

#endif  // CERBERUS_LIBRARIES_CUBLASLT_LAYOUT_H_
