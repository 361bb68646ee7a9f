// Linear algebra on the host, for sizes of 64 bits, over the host's BLAS where
// there is one. Matrices are stored by columns.
#ifndef CERBERUS_LIBRARIES_CUBLAS_MATH_H_
#define CERBERUS_LIBRARIES_CUBLAS_MATH_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "libraries/cublas/abi.h"
#include "libraries/cublas/blas.h"

namespace cerberus::libraries::cublas {

using Index = std::int64_t;

template <typename T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

template <typename T>
T ConjOf(T value) {
  if constexpr (kIsComplex<T>) return std::conj(value);
  else return value;
}
// The product as the GPU has it: without C's rules for infinite complex
// numbers.
template <typename T>
T Mul(T a, T b) {
  if constexpr (kIsComplex<T>) {
    return T(a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}
template <typename T>
T Div(T a, T b) {
  if constexpr (kIsComplex<T>) {
    // Smith's method: no overflow where the result has none.
    const auto re = b.real(), im = b.imag();
    if (std::abs(re) >= std::abs(im)) {
      const auto r = im / re, d = re + im * r;
      return T((a.real() + a.imag() * r) / d, (a.imag() - a.real() * r) / d);
    }
    const auto r = re / im, d = re * r + im;
    return T((a.real() * r + a.imag()) / d, (a.imag() * r - a.real()) / d);
  } else {
    return a / b;
  }
}
template <typename T>
Real<T> RealPart(T value) {
  if constexpr (kIsComplex<T>) return value.real();
  else return value;
}
// |re| + |im|, by which amax, amin and asum go.
template <typename T>
Real<T> AbsSum(T value) {
  if constexpr (kIsComplex<T>) {
    return std::abs(value.real()) + std::abs(value.imag());
  } else {
    return std::abs(value);
  }
}

// By tanh, as epilogues have it.
inline double Gelu(double x) {
  constexpr double kRoot = 0.7978845608028654;  // sqrt(2 / pi)
  return 0.5 * x * (1 + std::tanh(kRoot * (x + 0.044715 * x * x * x)));
}

// The place of element i of a vector: a negative step goes through it from its
// end.
inline Index At(Index i, Index n, Index step) {
  return step >= 0 ? i * step : (n - 1 - i) * -step;
}

// Element (i, j) of op(A); `op` is no kConj.
template <typename A>
auto ElementOf(Operation op, const A& a, Index i, Index j) {
  const auto e = op == kN ? a(i, j) : a(j, i);
  return op == kC ? ConjOf(e) : e;
}

// y := alpha op(A) x + beta y for A of m rows and n columns, of which `a` gives
// elements. Where beta is 0, y is not read.
template <typename T, typename A>
void MatrixVector(Operation op, Index m, Index n, T alpha, const A& a,
                  const T* x, Index incx, T beta, T* y, Index incy) {
  const Index rows = op == kN ? m : n, columns = op == kN ? n : m;
  std::vector<T> sum(static_cast<std::size_t>(rows), T(0));
  if (alpha != T(0)) {
    for (Index j = 0; j < columns; ++j) {
      const T v = x[At(j, columns, incx)];
      for (Index i = 0; i < rows; ++i) {
        sum[static_cast<std::size_t>(i)] += Mul(ElementOf(op, a, i, j), v);
      }
    }
  }
  for (Index i = 0; i < rows; ++i) {
    T& to = y[At(i, rows, incy)];
    const T add = Mul(alpha, sum[static_cast<std::size_t>(i)]);
    to = beta == T(0) ? add : Mul(beta, to) + add;
  }
}

// Elements of matrices that are stored in part: (i, j) of the whole.
template <typename T>
struct General {
  const T* a;
  Index ld;
  T operator()(Index i, Index j) const { return a[i + j * ld]; }
};
template <typename T>
struct Band {
  const T* a;
  Index ld, lower, upper;
  T operator()(Index i, Index j) const {
    if (i - j > lower || j - i > upper) return T(0);
    return a[upper + i - j + j * ld];
  }
};
// Where element (i, j) of a triangle is: in a full matrix, in one of k
// diagonals, packed.
struct InFull {
  Index ld;
  Index operator()(Fill, Index i, Index j) const { return i + j * ld; }
};
struct InBand {
  Index ld, k;
  Index operator()(Fill fill, Index i, Index j) const {
    if (std::abs(i - j) > k) return -1;
    return (fill == kUpper ? k + i - j : i - j) + j * ld;
  }
};
struct InPacked {
  Index n;
  Index operator()(Fill fill, Index i, Index j) const {
    return fill == kUpper ? i + j * (j + 1) / 2 : i + (2 * n - j - 1) * j / 2;
  }
};
template <typename T, typename Place>
struct Symmetric {
  const T* a;
  Fill fill;
  Place place;
  bool hermitian;
  T operator()(Index i, Index j) const {
    const bool stored = fill == kUpper ? i <= j : i >= j;
    const Index at = stored ? place(fill, i, j) : place(fill, j, i);
    if (at < 0) return T(0);
    const T e = a[at];
    if (!hermitian) return e;
    // The diagonal's imaginary part is taken for zero.
    if (i == j) return T(RealPart(e));
    return stored ? e : ConjOf(e);
  }
};
template <typename T, typename Place>
struct Triangle {
  const T* a;
  Fill fill;
  Diag diag;
  Place place;
  T operator()(Index i, Index j) const {
    if (i == j && diag == kUnit) return T(1);
    if (fill == kUpper ? i > j : i < j) return T(0);
    const Index at = place(fill, i, j);
    return at < 0 ? T(0) : a[at];
  }
};

// x := op(A) x, or the solution of op(A) x = b in place of b.
template <typename T, typename A>
void TriangleTimes(Operation op, Index n, const A& a, T* x, Index incx) {
  std::vector<T> in(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    in[static_cast<std::size_t>(i)] = x[At(i, n, incx)];
  }
  MatrixVector(op, n, n, T(1), a, in.data(), 1, T(0), x, incx);
}
template <typename T, typename A>
void TriangleSolve(Operation op, Fill fill, Index n, const A& a, T* x,
                   Index incx) {
  const bool forward = (fill == kLower) == (op == kN);
  for (Index step = 0; step < n; ++step) {
    const Index i = forward ? step : n - 1 - step;
    T sum = x[At(i, n, incx)];
    for (Index s = 0; s < step; ++s) {
      const Index j = forward ? s : n - 1 - s;
      sum -= Mul(ElementOf(op, a, i, j), x[At(j, n, incx)]);
    }
    x[At(i, n, incx)] = Div(sum, ElementOf(op, a, i, i));
  }
}

// C := alpha op(A) op(B) + beta C, m by n, over k. Where beta is 0, C is not
// read; where alpha or k is, A and B are not.
template <typename T>
void Gemm(Operation opa, Operation opb, Index m, Index n, Index k, T alpha,
          const T* a, Index lda, const T* b, Index ldb, T beta, T* c,
          Index ldc);
template <typename T>
void Gemv(Operation op, Index m, Index n, T alpha, const T* a, Index lda,
          const T* x, Index incx, T beta, T* y, Index incy);
// C := alpha A B + beta C with A symmetric (Hermitian) on that side.
template <typename T>
void Symm(bool hermitian, Side side, Fill fill, Index m, Index n, T alpha,
          const T* a, Index lda, const T* b, Index ldb, T beta, T* c,
          Index ldc);
// One triangle of C := alpha op(A) op(B)^T + beta C (^H if Hermitian), n by n.
// With `twice` also conj(alpha) op(B) op(A)^T.
template <typename T>
void Syrkx(bool hermitian, bool twice, Fill fill, Operation op, Index n,
           Index k, T alpha, const T* a, Index lda, const T* b, Index ldb,
           T beta, T* c, Index ldc);
// B := alpha op(A) B, or B op(A), A triangular; and the solution X of
// op(A) X = alpha B, or X op(A) = alpha B, in place of B.
template <typename T>
void Trmm(Side side, Fill fill, Operation op, Diag diag, Index m, Index n,
          T alpha, const T* a, Index lda, T* b, Index ldb);
template <typename T>
void Trsm(Side side, Fill fill, Operation op, Diag diag, Index m, Index n,
          T alpha, const T* a, Index lda, T* b, Index ldb);

// LU with partial pivoting of a matrix of m rows and n columns, rows counted
// from 1 in `pivots` (null: none are exchanged). Returns 0, or the first i for
// which U(i, i) is zero.
template <typename T>
int Getrf(Index m, Index n, T* a, Index lda, int* pivots);
// B := op(A)^-1 B by that, for `columns` of B.
template <typename T>
void Getrs(Operation op, Index n, Index columns, const T* a, Index lda,
           const int* pivots, T* b, Index ldb);

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_MATH_H_
