// Eigenvalues and singular values, on the host: by LAPACK where there is one,
// else in loops of our own: Jacobi's rotations for Hermitian matrices and
// singular values, Hessenberg's form and shifted QR for all others. A number
// that is returned is 0, or how many values were not found.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_SPECTRUM_H_
#define CERBERUS_LIBRARIES_CUSOLVER_SPECTRUM_H_

#include <complex>

#include "libraries/cusolver/lapack.h"

namespace cerberus::libraries::cusolver {

// Eigenvalues of a Hermitian matrix, the smallest first, and its eigenvectors,
// of length one, in place of it.
template <typename T>
int Heevd(bool vectors, Fill fill, Index n, T* a, Index lda, Real<T>* w);

// Those of A x = w B x (itype 1), A B x = w x (2), B A x = w x (3), B positive
// definite. x^H B x is 1, for itype 3 x^H B^-1 x. B becomes its factor. n + i:
// B's leading matrix of order i is not positive definite.
template <typename T>
int Hegvd(int itype, bool vectors, Fill fill, Index n, T* a, Index lda, T* b,
          Index ldb, Real<T>* w);

// Eigenvalues of any matrix, and left and right eigenvectors of length one,
// whose largest element is real; null: none. Complex conjugate pairs of a real
// matrix stand together, the one with the positive imaginary part first. A is
// destroyed.
template <typename T>
int Geev(Index n, T* a, Index lda, std::complex<Real<T>>* w,
         std::complex<Real<T>>* left, Index ld_left,
         std::complex<Real<T>>* right, Index ld_right);

// A = U S V^H, the largest singular value first. kAll: U is m by m and V^H n by
// n; kSome: as many columns and rows as there are values. A is destroyed.
enum class Vectors { kNone, kSome, kAll };
template <typename T>
int Gesvd(Vectors vectors, Index m, Index n, T* a, Index lda, Real<T>* s, T* u,
          Index ldu, T* vh, Index ldvh);

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_SPECTRUM_H_
