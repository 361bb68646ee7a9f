// What a layout and a descriptor say of the matrices of a product.
#ifndef CERBERUS_LIBRARIES_CUBLASLT_LAYOUT_H_
#define CERBERUS_LIBRARIES_CUBLASLT_LAYOUT_H_

#include <algorithm>

#include "libraries/cublas/math.h"
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

inline bool IsFloat8(DataType type) {
  return type == cublas::kR8E4M3 || type == cublas::kR8E5M2;
}
inline DataType BiasType(const MatmulDesc& desc, const Layout& d) {
  if (desc.bias_type >= 0) return static_cast<DataType>(desc.bias_type);
  return IsFloat8(d.type) ? cublas::kR16BF : d.type;
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
