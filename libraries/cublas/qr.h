// Least squares by Householder's reflections, as LAPACK's geqrf has them: below
// the diagonal the reflections, on and above it R, and their factors in `tau`.
#ifndef CERBERUS_LIBRARIES_CUBLAS_QR_H_
#define CERBERUS_LIBRARIES_CUBLAS_QR_H_

#include <vector>

#include "libraries/cublas/batched.h"
#include "libraries/cublas/level1.h"

namespace cerberus::libraries::cublas {

// C := (I - tau v v^H) C with v(0) = 1 and the rest in `v`.
template <typename T>
void Reflect(T tau, const T* v, Index rows, Index columns, T* c, Index ldc) {
  for (Index j = 0; j < columns; ++j) {
    T sum = c[j * ldc];
    for (Index i = 1; i < rows; ++i) {
      sum += Mul(ConjOf(v[i]), c[i + j * ldc]);
    }
    sum = Mul(tau, sum);
    c[j * ldc] -= sum;
    for (Index i = 1; i < rows; ++i) c[i + j * ldc] -= Mul(v[i], sum);
  }
}

template <typename T>
void Geqrf(Index m, Index n, T* a, Index lda, T* tau) {
  for (Index k = 0; k < std::min(m, n); ++k) {
    T* v = a + k + k * lda;
    const T alpha = *v;
    const Real<T> rest = Norm<T>(m - k - 1, v + 1, 1);
    Real<T> imaginary = 0;
    if constexpr (kIsComplex<T>) imaginary = alpha.imag();
    if (rest == 0 && imaginary == 0) {
      tau[k] = T(0);
      continue;
    }
    const Real<T> length =
        std::hypot(std::hypot(RealPart(alpha), imaginary), rest);
    const Real<T> beta = -std::copysign(length, RealPart(alpha));
    tau[k] = Div(T(beta) - alpha, T(beta));
    const T scale = Div(T(1), alpha - T(beta));
    for (Index i = 1; i < m - k; ++i) v[i] = Mul(v[i], scale);
    // Q^H is applied, whose factor is conj(tau).
    Reflect<T>(ConjOf(tau[k]), v, m - k, n - k - 1, v + lda, lda);
    *v = T(beta);
  }
}

template <typename T>
Status GeqrfBatched(Handle h, int m, int n, T* const* a, int lda, T* const* tau,
                    int* info, int count) {
  if (info == nullptr) return kInvalidValue;
  const int wrong = m < 0             ? 1
                    : n < 0           ? 2
                    : !IsStep(lda, m) ? 4
                    : count < 0       ? 7
                                      : 0;
  *info = -wrong;
  if (wrong != 0) return kInvalidValue;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const Pointers<T> pa(h, call, a, count, [&](T* p, Index) {
    return call.MatrixOut(p, m, n, lda);
  });
  const Pointers<T> pt(h, call, tau, count, [&](T* p, Index) {
    return call.VectorOut(p, std::min(m, n), 1);
  });
  if (pa.failed() || pt.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) Geqrf<T>(m, n, pa[i], lda, pt[i]);
  });
}

// The X that comes nearest to A X = C, in the first n rows of C; m >= n, A not
// turned, as NVIDIA's has it. `infos`: 0, or the first i for which R(i, i) is
// 0.
template <typename T>
Status GelsBatched(Handle h, Operation op, int m, int n, int columns,
                   T* const* a, int lda, T* const* c, int ldc, int* info,
                   int* infos, int count) {
  if (info == nullptr) return kInvalidValue;
  const int wrong = m < 0             ? 2
                    : n < 0           ? 3
                    : columns < 0     ? 4
                    : !IsStep(lda, m) ? 6
                    : !IsStep(ldc, m) ? 8
                    : count < 0       ? 11
                                      : 0;
  *info = -wrong;
  if (wrong != 0) return kInvalidValue;
  if (op != kN || m < n) return kNotSupported;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const Pointers<T> pa(h, call, a, count, [&](T* p, Index) {
    return call.MatrixOut(p, m, n, lda);
  });
  const Pointers<T> pc(h, call, c, count, [&](T* p, Index) {
    return call.MatrixOut(p, m, columns, ldc);
  });
  int* pi = call.VectorOut(infos, count, 1);
  if (pa.failed() || pc.failed()) return kExecutionFailed;
  return call.Run([=] {
    std::vector<T> tau(static_cast<std::size_t>(n));
    for (Index i = 0; i < count; ++i) {
      T* q = pa[i];
      Geqrf<T>(m, n, q, lda, tau.data());
      int singular = 0;
      for (Index k = 0; k < n; ++k) {
        Reflect<T>(ConjOf(tau[static_cast<std::size_t>(k)]), q + k + k * lda,
                   m - k, columns, pc[i] + k, ldc);
        if (q[k + k * lda] == T(0) && singular == 0) {
          singular = static_cast<int>(k + 1);
        }
      }
      if (singular == 0) {
        Trsm<T>(kLeft, kUpper, kN, kNonUnit, n, columns, T(1), q, lda, pc[i],
                ldc);
      }
      if (pi != nullptr) pi[i] = singular;
    }
  });
}

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_QR_H_
