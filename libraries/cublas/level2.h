// Matrices and vectors: level 2. Bad sizes are CUBLAS_STATUS_INVALID_VALUE.
#ifndef CERBERUS_LIBRARIES_CUBLAS_LEVEL2_H_
#define CERBERUS_LIBRARIES_CUBLAS_LEVEL2_H_

#include "libraries/cublas/handle.h"
#include "libraries/cublas/math.h"

namespace cerberus::libraries::cublas {

inline bool IsOperation(Operation op) { return op >= kN && op <= kC; }
inline bool IsTriangle(Fill fill) { return fill == kLower || fill == kUpper; }
inline bool IsSide(Side side) { return side == kLeft || side == kRight; }
inline bool IsDiag(Diag diag) { return diag == kUnit || diag == kNonUnit; }
// The step between columns of so many rows.
template <typename I>
bool IsStep(I ld, I rows) {
  return ld >= std::max<I>(1, rows);
}
inline Index PackedSize(Index n) { return n * (n + 1) / 2; }

template <typename T, typename I>
Status GemvCall(Handle h, Operation op, I m, I n, const T* alpha, const T* a,
                I lda, const T* x, I incx, const T* beta, T* y, I incy) {
  if (!IsOperation(op) || m < 0 || n < 0 || !IsStep(lda, m) || incx == 0 ||
      incy == 0 || !alpha || !beta) {
    return kInvalidValue;
  }
  if (m == 0 || n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const T* pa = call.Matrix(a, m, n, lda);
  const T* px = call.Vector(x, op == kN ? n : m, incx);
  T* py = call.VectorOut(y, op == kN ? m : n, incy);
  return call.Run([=] {
    Gemv<T>(op, m, n, av.Get(), pa, lda, px, incx, bv.Get(), py, incy);
  });
}

template <typename T, typename I>
Status Gbmv(Handle h, Operation op, I m, I n, I kl, I ku, const T* alpha,
            const T* a, I lda, const T* x, I incx, const T* beta, T* y,
            I incy) {
  if (!IsOperation(op) || m < 0 || n < 0 || kl < 0 || ku < 0 ||
      lda < Index{kl} + ku + 1 || incx == 0 || incy == 0 || !alpha || !beta) {
    return kInvalidValue;
  }
  if (m == 0 || n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const T* pa = call.Matrix(a, Index{kl} + ku + 1, n, lda);
  const T* px = call.Vector(x, op == kN ? n : m, incx);
  T* py = call.VectorOut(y, op == kN ? m : n, incy);
  return call.Run([=] {
    MatrixVector(op, m, n, av.Get(), Band<T>{pa, lda, kl, ku}, px, incx,
                 bv.Get(), py, incy);
  });
}

// What a matrix stored in part takes: rows and columns of its memory.
struct Stored {
  Index rows, columns, ld;
};

template <bool kHermitian, typename T, typename I, typename Place>
Status SymmetricTimes(Handle h, Fill fill, I n, const T* alpha, const T* a,
                      Stored stored, Place place, const T* x, I incx,
                      const T* beta, T* y, I incy) {
  if (!IsTriangle(fill) || n < 0 || incx == 0 || incy == 0 || !alpha || !beta) {
    return kInvalidValue;
  }
  if (n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const T* pa = call.Matrix(a, stored.rows, stored.columns, stored.ld);
  const T* px = call.Vector(x, n, incx);
  T* py = call.VectorOut(y, n, incy);
  return call.Run([=] {
    MatrixVector(kN, n, n, av.Get(),
                 Symmetric<T, Place>{pa, fill, place, kHermitian}, px, incx,
                 bv.Get(), py, incy);
  });
}
template <bool kHermitian, typename T, typename I>
Status Symv(Handle h, Fill fill, I n, const T* alpha, const T* a, I lda,
            const T* x, I incx, const T* beta, T* y, I incy) {
  if (!IsStep(lda, n)) return kInvalidValue;
  return SymmetricTimes<kHermitian, T, I>(h, fill, n, alpha, a, {n, n, lda},
                                          InFull{lda}, x, incx, beta, y, incy);
}
template <bool kHermitian, typename T, typename I>
Status Sbmv(Handle h, Fill fill, I n, I k, const T* alpha, const T* a, I lda,
            const T* x, I incx, const T* beta, T* y, I incy) {
  if (k < 0 || lda < Index{k} + 1) return kInvalidValue;
  return SymmetricTimes<kHermitian, T, I>(
      h, fill, n, alpha, a, {Index{k} + 1, n, lda}, InBand{lda, k}, x, incx,
      beta, y, incy);
}
template <bool kHermitian, typename T, typename I>
Status Spmv(Handle h, Fill fill, I n, const T* alpha, const T* ap, const T* x,
            I incx, const T* beta, T* y, I incy) {
  return SymmetricTimes<kHermitian, T, I>(h, fill, n, alpha, ap,
                                          {PackedSize(n), 1, PackedSize(n)},
                                          InPacked{n}, x, incx, beta, y, incy);
}

// x := op(A) x (kSolve: the solution of op(A) x = b in place of b).
template <bool kSolve, typename T, typename I, typename Place>
Status TriangleVector(Handle h, Fill fill, Operation op, Diag diag, I n,
                      const T* a, Stored stored, Place place, T* x, I incx) {
  if (!IsTriangle(fill) || !IsOperation(op) || !IsDiag(diag) || n < 0 ||
      incx == 0) {
    return kInvalidValue;
  }
  if (n == 0) return kSuccess;
  Call call(h);
  const T* pa = call.Matrix(a, stored.rows, stored.columns, stored.ld);
  T* px = call.VectorOut(x, n, incx);
  return call.Run([=] {
    const Triangle<T, Place> t{pa, fill, diag, place};
    if constexpr (kSolve) {
      TriangleSolve<T>(op, fill, n, t, px, incx);
    } else {
      TriangleTimes<T>(op, n, t, px, incx);
    }
  });
}
template <bool kSolve, typename T, typename I>
Status Trmv(Handle h, Fill fill, Operation op, Diag diag, I n, const T* a,
            I lda, T* x, I incx) {
  if (!IsStep(lda, n)) return kInvalidValue;
  return TriangleVector<kSolve, T, I>(h, fill, op, diag, n, a, {n, n, lda},
                                      InFull{lda}, x, incx);
}
template <bool kSolve, typename T, typename I>
Status Tbmv(Handle h, Fill fill, Operation op, Diag diag, I n, I k, const T* a,
            I lda, T* x, I incx) {
  if (k < 0 || lda < Index{k} + 1) return kInvalidValue;
  return TriangleVector<kSolve, T, I>(
      h, fill, op, diag, n, a, {Index{k} + 1, n, lda}, InBand{lda, k}, x, incx);
}
template <bool kSolve, typename T, typename I>
Status Tpmv(Handle h, Fill fill, Operation op, Diag diag, I n, const T* ap,
            T* x, I incx) {
  return TriangleVector<kSolve, T, I>(h, fill, op, diag, n, ap,
                                      {PackedSize(n), 1, PackedSize(n)},
                                      InPacked{n}, x, incx);
}

// A := alpha x y^T + A, or with y^H.
template <bool kConjugated, typename T, typename I>
Status Ger(Handle h, I m, I n, const T* alpha, const T* x, I incx, const T* y,
           I incy, T* a, I lda) {
  if (m < 0 || n < 0 || incx == 0 || incy == 0 || !IsStep(lda, m) || !alpha) {
    return kInvalidValue;
  }
  if (m == 0 || n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const T* px = call.Vector(x, m, incx);
  const T* py = call.Vector(y, n, incy);
  T* pa = call.MatrixOut(a, m, n, lda);
  return call.Run([=] {
    const T v = av.Get();
    if (v == T(0)) return;
    for (Index j = 0; j < n; ++j) {
      const T e = py[At(j, n, incy)];
      const T f = Mul(v, kConjugated ? ConjOf(e) : e);
      for (Index i = 0; i < m; ++i) {
        pa[i + j * lda] += Mul(px[At(i, m, incx)], f);
      }
    }
  });
}

// One triangle of A := alpha x y^T + A; with `kTwice` also y x^T by
// conj(alpha). kHermitian: y^H, and x^H.
template <bool kHermitian, bool kTwice, typename T, typename S, typename I,
          typename Place>
Status RankUpdate(Handle h, Fill fill, I n, const S* alpha, const T* x, I incx,
                  const T* y, I incy, T* a, Stored stored, Place place) {
  if (!IsTriangle(fill) || n < 0 || incx == 0 || incy == 0 || !alpha) {
    return kInvalidValue;
  }
  if (n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const T* px = call.Vector(x, n, incx);
  const T* py = call.Vector(y, n, incy);
  T* pa = call.MatrixOut(a, stored.rows, stored.columns, stored.ld);
  return call.Run([=] {
    const T v(av.Get());
    if (v == T(0)) return;
    const auto turned = [](T e) { return kHermitian ? ConjOf(e) : e; };
    for (Index j = 0; j < n; ++j) {
      const Index first = fill == kUpper ? 0 : j;
      const Index end = fill == kUpper ? j + 1 : n;
      for (Index i = first; i < end; ++i) {
        T add = Mul(v, Mul(px[At(i, n, incx)], turned(py[At(j, n, incy)])));
        if (kTwice) {
          add += Mul(turned(v),
                     Mul(py[At(i, n, incy)], turned(px[At(j, n, incx)])));
        }
        T& to = pa[place(fill, i, j)];
        to += add;
        if (kHermitian && i == j) to = T(RealPart(to));
      }
    }
  });
}
template <bool kHermitian, typename T, typename S, typename I>
Status Syr(Handle h, Fill fill, I n, const S* alpha, const T* x, I incx, T* a,
           I lda) {
  if (!IsStep(lda, n)) return kInvalidValue;
  return RankUpdate<kHermitian, false, T, S, I>(
      h, fill, n, alpha, x, incx, x, incx, a, {n, n, lda}, InFull{lda});
}
template <bool kHermitian, typename T, typename S, typename I>
Status Spr(Handle h, Fill fill, I n, const S* alpha, const T* x, I incx,
           T* ap) {
  return RankUpdate<kHermitian, false, T, S, I>(
      h, fill, n, alpha, x, incx, x, incx, ap,
      {PackedSize(n), 1, PackedSize(n)}, InPacked{n});
}
template <bool kHermitian, typename T, typename I>
Status Syr2(Handle h, Fill fill, I n, const T* alpha, const T* x, I incx,
            const T* y, I incy, T* a, I lda) {
  if (!IsStep(lda, n)) return kInvalidValue;
  return RankUpdate<kHermitian, true, T, T, I>(
      h, fill, n, alpha, x, incx, y, incy, a, {n, n, lda}, InFull{lda});
}
template <bool kHermitian, typename T, typename I>
Status Spr2(Handle h, Fill fill, I n, const T* alpha, const T* x, I incx,
            const T* y, I incy, T* ap) {
  return RankUpdate<kHermitian, true, T, T, I>(
      h, fill, n, alpha, x, incx, y, incy, ap,
      {PackedSize(n), 1, PackedSize(n)}, InPacked{n});
}

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_LEVEL2_H_
