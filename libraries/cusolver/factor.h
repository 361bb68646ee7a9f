// Factors of square matrices and what is solved by them, on the host: by LAPACK
// where there is one, else in loops of our own. Both leave them as LAPACK's
// documentation says. A number that is returned is LAPACK's: 0, or the first i,
// counted from 1, at which it went wrong.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_FACTOR_H_
#define CERBERUS_LIBRARIES_CUSOLVER_FACTOR_H_

#include "libraries/cusolver/lapack.h"

namespace cerberus::libraries::cusolver {

// P A = L U. Without `pivots` no rows are exchanged.
template <typename T>
int Getrf(Index m, Index n, T* a, Index lda, int* pivots);

// Exchanges of rows: those that `pivots` from `first` to `last`, counted from
// 1, have at every |step|th place, in that order; backwards if it is negative.
template <typename T>
void Laswp(Index n, T* a, Index lda, Index first, Index last, const int* pivots,
           Index step);

// A = L L^H or U^H U, and with that a solution, and the inverse.
template <typename T>
int Potrf(Fill fill, Index n, T* a, Index lda);
template <typename T>
void Potrs(Fill fill, Index n, Index columns, const T* a, Index lda, T* b,
           Index ldb);
template <typename T>
int Potri(Fill fill, Index n, T* a, Index lda);

// The inverse of a triangle; L^H L or U U^H of one.
template <typename T>
int Trtri(Fill fill, Diag diag, Index n, T* a, Index lda);
template <typename T>
void Lauum(Fill fill, Index n, T* a, Index lda);

// A = L D L^T or U D U^T (^H if Hermitian), D of blocks of one or two rows.
// Without `pivots` no rows are exchanged, and all blocks are of one.
template <typename T>
int Sytrf(bool hermitian, Fill fill, Index n, T* a, Index lda, int* pivots);
template <typename T>
void Sytrs(bool hermitian, Fill fill, Index n, Index columns, const T* a,
           Index lda, const int* pivots, T* b, Index ldb);
// The inverse, of which one triangle is made.
template <typename T>
int Sytri(bool hermitian, Fill fill, Index n, T* a, Index lda,
          const int* pivots);

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_FACTOR_H_
