// Householder's reflections, as LAPACK has them: H = I - tau v v^H with v(0) =
// 1, and what is made of them: R on and above the diagonal, the reflections
// below it, and their factors in `tau`.
#ifndef CERBERUS_LIBRARIES_CUBLAS_REFLECT_H_
#define CERBERUS_LIBRARIES_CUBLAS_REFLECT_H_

#include <algorithm>
#include <cmath>
#include <limits>

#include "libraries/cublas/math.h"

namespace cerberus::libraries::cublas {

// The norm of x without overflow or underflow on the way to it.
template <typename T>
Real<T> Norm(Index n, const T* x, Index incx) {
  Real<T> scale = 0, sum = 1;
  const auto add = [&](Real<T> part) {
    const Real<T> v = std::abs(part);
    if (v == 0) return;
    if (!(v <= scale)) {  // not a number, too
      sum = 1 + sum * (scale / v) * (scale / v);
      scale = v;
    } else {
      sum += (v / scale) * (v / scale);
    }
  };
  bool infinite = false;
  for (Index i = 0; i < n; ++i) {
    const T v = x[At(i, n, incx)];
    if constexpr (kIsComplex<T>) {
      if (std::isnan(v.real()) || std::isnan(v.imag())) return NAN;
      infinite |= std::isinf(v.real()) || std::isinf(v.imag());
      if (!infinite) add(v.real()), add(v.imag());
    } else {
      if (std::isnan(v)) return v;
      infinite |= std::isinf(v);
      if (!infinite) add(v);
    }
  }
  if (infinite) return std::numeric_limits<Real<T>>::infinity();
  return scale * std::sqrt(sum);
}

// The reflection whose conjugate turns (alpha, x), x of n - 1 elements that are
// `incx` apart, forwards or backwards, into (beta, 0), beta real: x becomes the
// rest of v, alpha beta. Returns tau.
template <typename T>
T MakeReflection(Index n, T* alpha, T* x, Index incx) {
  // Nothing is small enough for 1 / (alpha - beta) to be infinite.
  const Real<T> least = std::numeric_limits<Real<T>>::min() /
                        std::numeric_limits<Real<T>>::epsilon();
  const T* const first = incx < 0 && n > 1 ? x + (n - 2) * incx : x;
  const Real<T> rest =
      n > 1 ? Norm<T>(n - 1, first, std::abs(incx)) : Real<T>(0);
  Real<T> imaginary = 0;
  if constexpr (kIsComplex<T>) imaginary = alpha->imag();
  if (rest == 0 && imaginary == 0) return T(0);
  const Real<T> length =
      std::hypot(std::hypot(RealPart(*alpha), imaginary), rest);
  if (length < least) {
    *alpha = Mul(*alpha, T(1 / least));
    for (Index i = 0; i < n - 1; ++i) {
      x[i * incx] = Mul(x[i * incx], T(1 / least));
    }
    const T tau = MakeReflection(n, alpha, x, incx);
    *alpha = Mul(*alpha, T(least));
    return tau;
  }
  const Real<T> beta = -std::copysign(length, RealPart(*alpha));
  const T tau = Div(T(beta) - *alpha, T(beta));
  const T scale = Div(T(1), *alpha - T(beta));
  for (Index i = 0; i < n - 1; ++i) x[i * incx] = Mul(x[i * incx], scale);
  *alpha = T(beta);
  return tau;
}

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
    tau[k] = MakeReflection<T>(m - k, v, v + 1, 1);
    // Q^H is applied, whose factor is conj(tau).
    Reflect<T>(ConjOf(tau[k]), v, m - k, n - k - 1, v + lda, lda);
  }
}

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_REFLECT_H_
