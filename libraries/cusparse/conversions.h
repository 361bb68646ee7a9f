// From one format to another.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_CONVERSIONS_H_
#define CERBERUS_LIBRARIES_CUSPARSE_CONVERSIONS_H_

#include "libraries/cusparse/matrix.h"
#include "libraries/cusparse/sparse_sums.h"

namespace cerberus::libraries::cusparse {

// Fills a CSR, CSC (with rows of the transposed matrix) or COO matrix with the
// elements that `rows` tells of, whose values are those of `from`.
void Fill(const Rows& rows, const SpMat& from, const SpMat& to, bool values);

// Zero wherever `from` has no element.
void FillDense(const SpMat& from, const SpMat& to);

// Which blocks of that size have an element.
Structure BlocksOf(const SpMat& from, Index block_rows, Index block_columns);
// Fills a BSR matrix, all of `from`'s blocks.
void FillBlocks(const SpMat& from, const SpMat& to);

// Elements of a dense matrix, or others, that are not zero.
Rows NotZero(const SpMat& m, bool turned);

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_CONVERSIONS_H_
