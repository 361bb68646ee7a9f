// Orthogonal (unitary) factors, on the host: by LAPACK where there is one, else
// in loops of our own. Both keep them as reflections, as LAPACK's documentation
// says.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_ORTHOGONAL_H_
#define CERBERUS_LIBRARIES_CUSOLVER_ORTHOGONAL_H_

#include "libraries/cusolver/lapack.h"

namespace cerberus::libraries::cusolver {

// A = Q R.
template <typename T>
void Geqrf(Index m, Index n, T* a, Index lda, T* tau);
// The first n columns of Q, of k reflections; op(Q) C or C op(Q).
template <typename T>
void Orgqr(Index m, Index n, Index k, T* a, Index lda, const T* tau);
template <typename T>
void Ormqr(Side side, Operation op, Index m, Index n, Index k, const T* a,
           Index lda, const T* tau, T* c, Index ldc);

// A = Q B P^H, B with two diagonals, m >= n.
template <typename T>
void Gebrd(Index m, Index n, T* a, Index lda, Real<T>* d, Real<T>* e, T* tau_q,
           T* tau_p);
// Q (left) or P^H (right) of that: m rows, n columns, k columns (rows) of what
// was factorized.
template <typename T>
void Orgbr(Side side, Index m, Index n, Index k, T* a, Index lda, const T* tau);

// A = Q B Q^H, B with three diagonals.
template <typename T>
void Sytrd(Fill fill, Index n, T* a, Index lda, Real<T>* d, Real<T>* e, T* tau);
template <typename T>
void Orgtr(Fill fill, Index n, T* a, Index lda, const T* tau);
template <typename T>
void Ormtr(Side side, Fill fill, Operation op, Index m, Index n, const T* a,
           Index lda, const T* tau, T* c, Index ldc);

// The triangle t of k reflections of n elements: their product is
// I - V T V^H. `backward`: the last comes first, and T is a lower triangle.
// `rows`: they are the rows of `v`.
template <typename T>
void Larft(bool backward, bool rows, Index n, Index k, const T* v, Index ldv,
           const T* tau, T* t, Index ldt);

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_ORTHOGONAL_H_
