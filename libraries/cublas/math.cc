#include "libraries/cublas/math.h"

#include <initializer_list>

namespace cerberus::libraries::cublas {
namespace {

// Whether sizes fit the integers of the host's BLAS.
bool Fits(std::initializer_list<Index> sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](Index size) {
    return size <= std::numeric_limits<int>::max() &&
           size >= -std::numeric_limits<int>::max();
  });
}

// As numbers of Fortran.
struct Sizes {
  explicit Sizes(Index value) : value(static_cast<int>(value)) {}
  operator const int*() const { return &value; }  // NOLINT
  int value;
};

template <typename T>
const char* Letter(Operation op) {
  return op == kN ? "N" : op == kT || !kIsComplex<T> ? "T" : "C";
}
const char* Letter(Fill fill) { return fill == kUpper ? "U" : "L"; }
const char* Letter(Side side) { return side == kLeft ? "L" : "R"; }
const char* Letter(Diag diag) { return diag == kUnit ? "U" : "N"; }

template <typename T>
void Scale(Index m, Index n, T beta, T* c, Index ldc) {
  if (beta == T(1)) return;
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      T& to = c[i + j * ldc];
      to = beta == T(0) ? T(0) : Mul(beta, to);
    }
  }
}

template <typename T>
T Element(Operation op, const T* a, Index lda, Index i, Index j) {
  switch (op) {
    case kN: return a[i + j * lda];
    case kConj: return ConjOf(a[i + j * lda]);
    case kT: return a[j + i * lda];
    case kC: return ConjOf(a[j + i * lda]);
  }
  return T(0);
}

}  // namespace

template <typename T>
void Gemm(Operation opa, Operation opb, Index m, Index n, Index k, T alpha,
          const T* a, Index lda, const T* b, Index ldb, T beta, T* c,
          Index ldc) {
  if (m <= 0 || n <= 0) return;
  const Blas<T>& blas = HostBlas<T>();
  if (blas.gemm && opa != kConj && opb != kConj && k > 0 && alpha != T(0) &&
      Fits({m, n, k, lda, ldb, ldc})) {
    blas.gemm(Letter<T>(opa), Letter<T>(opb), Sizes(m), Sizes(n), Sizes(k),
              &alpha, a, Sizes(lda), b, Sizes(ldb), &beta, c, Sizes(ldc));
    return;
  }
  Scale(m, n, beta, c, ldc);
  if (alpha == T(0)) return;
  for (Index j = 0; j < n; ++j) {
    for (Index l = 0; l < k; ++l) {
      const T v = Mul(alpha, Element(opb, b, ldb, l, j));
      for (Index i = 0; i < m; ++i) {
        c[i + j * ldc] += Mul(Element(opa, a, lda, i, l), v);
      }
    }
  }
}

template <typename T>
void Gemv(Operation op, Index m, Index n, T alpha, const T* a, Index lda,
          const T* x, Index incx, T beta, T* y, Index incy) {
  const Blas<T>& blas = HostBlas<T>();
  if (blas.gemv && m > 0 && n > 0 && alpha != T(0) &&
      Fits({m, n, lda, incx, incy})) {
    blas.gemv(Letter<T>(op), Sizes(m), Sizes(n), &alpha, a, Sizes(lda), x,
              Sizes(incx), &beta, y, Sizes(incy));
    return;
  }
  MatrixVector(op, m, n, alpha, General<T>{a, lda}, x, incx, beta, y, incy);
}

template <typename T>
void Symm(bool hermitian, Side side, Fill fill, Index m, Index n, T alpha,
          const T* a, Index lda, const T* b, Index ldb, T beta, T* c,
          Index ldc) {
  if (m <= 0 || n <= 0) return;
  const Blas<T>& blas = HostBlas<T>();
  if (const auto f = hermitian ? blas.hemm : blas.symm;
      f && Fits({m, n, lda, ldb, ldc})) {
    f(Letter(side), Letter(fill), Sizes(m), Sizes(n), &alpha, a, Sizes(lda), b,
      Sizes(ldb), &beta, c, Sizes(ldc));
    return;
  }
  Scale(m, n, beta, c, ldc);
  if (alpha == T(0)) return;
  const Symmetric<T, InFull> s{a, fill, {lda}, hermitian};
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      T sum(0);
      for (Index l = 0; l < (side == kLeft ? m : n); ++l) {
        sum += side == kLeft ? Mul(s(i, l), b[l + j * ldb])
                             : Mul(b[i + l * ldb], s(l, j));
      }
      c[i + j * ldc] += Mul(alpha, sum);
    }
  }
}

template <typename T>
void Syrkx(bool hermitian, bool twice, Fill fill, Operation op, Index n,
           Index k, T alpha, const T* a, Index lda, const T* b, Index ldb,
           T beta, T* c, Index ldc) {
  if (n <= 0) return;
  const Blas<T>& blas = HostBlas<T>();
  const bool fits = Fits({n, k, lda, ldb, ldc}) && k > 0 && alpha != T(0);
  const Real<T> real_alpha = RealPart(alpha), real_beta = RealPart(beta);
  if (fits && twice && hermitian && blas.her2k) {
    blas.her2k(Letter(fill), Letter<T>(op), Sizes(n), Sizes(k), &alpha, a,
               Sizes(lda), b, Sizes(ldb), &real_beta, c, Sizes(ldc));
    return;
  }
  if (fits && twice && !hermitian && blas.syr2k) {
    blas.syr2k(Letter(fill), Letter<T>(op), Sizes(n), Sizes(k), &alpha, a,
               Sizes(lda), b, Sizes(ldb), &beta, c, Sizes(ldc));
    return;
  }
  if (fits && !twice && a == b && lda == ldb) {
    if (hermitian && blas.herk) {
      blas.herk(Letter(fill), Letter<T>(op), Sizes(n), Sizes(k), &real_alpha, a,
                Sizes(lda), &real_beta, c, Sizes(ldc));
      return;
    }
    if (!hermitian && blas.syrk) {
      blas.syrk(Letter(fill), Letter<T>(op), Sizes(n), Sizes(k), &alpha, a,
                Sizes(lda), &beta, c, Sizes(ldc));
      return;
    }
  }
  // Row i of op(A), and what it is multiplied with.
  const auto row = [&](const T* x, Index ld, Index i, Index l) {
    return Element(op, x, ld, i, l);
  };
  const auto column = [&](const T* x, Index ld, Index j, Index l) {
    const T e = Element(op, x, ld, j, l);
    return hermitian ? ConjOf(e) : e;
  };
  for (Index j = 0; j < n; ++j) {
    const Index first = fill == kUpper ? 0 : j,
                end = fill == kUpper ? j + 1 : n;
    for (Index i = first; i < end; ++i) {
      T sum(0);
      for (Index l = 0; l < k && alpha != T(0); ++l) {
        sum += Mul(alpha, Mul(row(a, lda, i, l), column(b, ldb, j, l)));
        if (twice) {
          sum += Mul(hermitian ? ConjOf(alpha) : alpha,
                     Mul(row(b, ldb, i, l), column(a, lda, j, l)));
        }
      }
      T& to = c[i + j * ldc];
      to = beta == T(0) ? sum : Mul(beta, to) + sum;
      if (hermitian && i == j) to = T(RealPart(to));
    }
  }
}

template <typename T>
void Trmm(Side side, Fill fill, Operation op, Diag diag, Index m, Index n,
          T alpha, const T* a, Index lda, T* b, Index ldb) {
  if (m <= 0 || n <= 0) return;
  const Blas<T>& blas = HostBlas<T>();
  if (blas.trmm && Fits({m, n, lda, ldb})) {
    blas.trmm(Letter(side), Letter(fill), Letter<T>(op), Letter(diag), Sizes(m),
              Sizes(n), &alpha, a, Sizes(lda), b, Sizes(ldb));
    return;
  }
  Scale(m, n, alpha, b, ldb);
  if (alpha == T(0)) return;
  const Triangle<T, InFull> t{a, fill, diag, {lda}};
  if (side == kLeft) {
    for (Index j = 0; j < n; ++j) TriangleTimes(op, m, t, b + j * ldb, 1);
    return;
  }
  // A row of B op(A) is op(A)^T times the row.
  const auto turned = [&](Index i, Index j) { return ElementOf(op, t, j, i); };
  for (Index i = 0; i < m; ++i) TriangleTimes(kN, n, turned, b + i, ldb);
}

template <typename T>
void Trsm(Side side, Fill fill, Operation op, Diag diag, Index m, Index n,
          T alpha, const T* a, Index lda, T* b, Index ldb) {
  if (m <= 0 || n <= 0) return;
  const Blas<T>& blas = HostBlas<T>();
  if (blas.trsm && Fits({m, n, lda, ldb})) {
    blas.trsm(Letter(side), Letter(fill), Letter<T>(op), Letter(diag), Sizes(m),
              Sizes(n), &alpha, a, Sizes(lda), b, Sizes(ldb));
    return;
  }
  Scale(m, n, alpha, b, ldb);
  if (alpha == T(0)) return;
  const Triangle<T, InFull> t{a, fill, diag, {lda}};
  if (side == kLeft) {
    for (Index j = 0; j < n; ++j) {
      TriangleSolve(op, fill, m, t, b + j * ldb, 1);
    }
    return;
  }
  const auto turned = [&](Index i, Index j) { return ElementOf(op, t, j, i); };
  const Fill other = (fill == kUpper) == (op == kN) ? kLower : kUpper;
  for (Index i = 0; i < m; ++i) {
    TriangleSolve(kN, other, n, turned, b + i, ldb);
  }
}

template <typename T>
int Getrf(Index m, Index n, T* a, Index lda, int* pivots) {
  int info = 0;
  for (Index k = 0; k < std::min(m, n); ++k) {
    Index best = k;
    if (pivots != nullptr) {
      for (Index i = k + 1; i < m; ++i) {
        if (AbsSum(a[i + k * lda]) > AbsSum(a[best + k * lda])) best = i;
      }
      pivots[k] = static_cast<int>(best + 1);
    }
    if (a[best + k * lda] == T(0)) {
      if (info == 0) info = static_cast<int>(k + 1);
      continue;
    }
    for (Index j = 0; best != k && j < n; ++j) {
      std::swap(a[k + j * lda], a[best + j * lda]);
    }
    for (Index i = k + 1; i < m; ++i) {
      a[i + k * lda] = Div(a[i + k * lda], a[k + k * lda]);
    }
    for (Index j = k + 1; j < n; ++j) {
      const T v = a[k + j * lda];
      for (Index i = k + 1; i < m; ++i) {
        a[i + j * lda] -= Mul(a[i + k * lda], v);
      }
    }
  }
  return info;
}

template <typename T>
void Getrs(Operation op, Index n, Index columns, const T* a, Index lda,
           const int* pivots, T* b, Index ldb) {
  const auto exchange = [&](Index i) {
    const Index other = pivots != nullptr ? pivots[i] - 1 : i;
    for (Index j = 0; other != i && j < columns; ++j) {
      std::swap(b[i + j * ldb], b[other + j * ldb]);
    }
  };
  if (op == kN) {
    for (Index i = 0; i < n; ++i) exchange(i);
    Trsm(kLeft, kLower, kN, kUnit, n, columns, T(1), a, lda, b, ldb);
    Trsm(kLeft, kUpper, kN, kNonUnit, n, columns, T(1), a, lda, b, ldb);
    return;
  }
  Trsm(kLeft, kUpper, op, kNonUnit, n, columns, T(1), a, lda, b, ldb);
  Trsm(kLeft, kLower, op, kUnit, n, columns, T(1), a, lda, b, ldb);
  for (Index i = n; i-- > 0;) exchange(i);
}

#define CERBERUS_FOR_TYPE(T)                                                   \
  template void Gemm<T>(Operation, Operation, Index, Index, Index, T,          \
                        const T*, Index, const T*, Index, T, T*, Index);       \
  template void Gemv<T>(Operation, Index, Index, T, const T*, Index, const T*, \
                        Index, T, T*, Index);                                  \
  template void Symm<T>(bool, Side, Fill, Index, Index, T, const T*, Index,    \
                        const T*, Index, T, T*, Index);                        \
  template void Syrkx<T>(bool, bool, Fill, Operation, Index, Index, T,         \
                         const T*, Index, const T*, Index, T, T*, Index);      \
  template void Trmm<T>(Side, Fill, Operation, Diag, Index, Index, T,          \
                        const T*, Index, T*, Index);                           \
  template void Trsm<T>(Side, Fill, Operation, Diag, Index, Index, T,          \
                        const T*, Index, T*, Index);                           \
  template int Getrf<T>(Index, Index, T*, Index, int*);                        \
  template void Getrs<T>(Operation, Index, Index, const T*, Index, const int*, \
                         T*, Index);
CERBERUS_FOR_TYPE(float)
CERBERUS_FOR_TYPE(double)
CERBERUS_FOR_TYPE(Complex32)
CERBERUS_FOR_TYPE(Complex64)
#undef CERBERUS_FOR_TYPE

}  // namespace cerberus::libraries::cublas
