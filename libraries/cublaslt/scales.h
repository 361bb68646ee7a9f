// Scales of matrices of 8-bit and 4-bit floats (cuBLAS, "Narrow precision data
// types usage"; the header's cublasLtMatmulMatrixScale_t). `outer` counts rows
// of op(A) and columns of op(B), `inner` what the product sums over.
//
// - one number, or one for each matrix of the batch: f32
// - kOuterVector: f32, one for each outer
// - kBlocksOf16, kBlocksOf32: one for so many inner ones, E4M3 or a power of
//   two (E8M0). They lie in tiles of 128 outer by 4 inner ones, one row of
//   tiles after the other: a tile has 32 rows of 16, the row is outer % 32, and
//   of its four columns of 4 the one that is outer / 32.
// - kBlocksOf128: f32, one for 128 inner ones, outer by outer
// - kSquaresOf128: f32, one for 128 outer and inner ones, inner by inner, in
//   columns whose length is rounded up to 4
#ifndef CERBERUS_LIBRARIES_CUBLASLT_SCALES_H_
#define CERBERUS_LIBRARIES_CUBLASLT_SCALES_H_

#include <cstddef>

#include "libraries/cublas/math.h"
#include "libraries/cublaslt/layout.h"

namespace cerberus::libraries::cublaslt {

struct Scales {
  ScaleMode mode;
  const void* values;  // null: 1
  cublas::Index outer, inner;
};
std::size_t BytesOf(const Scales& scales, cublas::Index batches);

// What each sum is multiplied with; what elements (outer, inner) are besides.
double ScaleOfAll(const Scales& scales, cublas::Index batch);
inline bool HasScalesOfElements(const Scales& scales) {
  return scales.values != nullptr && scales.mode != kScalar &&
         scales.mode != kScalarOfBatch;
}
double ScaleOf(const Scales& scales, cublas::Index batch, cublas::Index outer,
               cublas::Index inner);

// Stores columns in blocks of D's rows: each block's scale, by which the
// largest of its absolute values becomes the type's largest, goes to `out`.
void StoreInBlocks(const Layout& layout, const Memory& memory, ScaleMode mode,
                   void* out, cublas::Index batch, const double* columns);

// Whether there are such products.
Status CheckScales(const MatmulDesc& desc, DataType a, DataType b,
                   const Layout& d);

}  // namespace cerberus::libraries::cublaslt

#endif  // CERBERUS_LIBRARIES_CUBLASLT_SCALES_H_
