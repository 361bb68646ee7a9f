// Matrices: level 3, and what cuBLAS adds to it, one matrix at a time.
#ifndef CERBERUS_LIBRARIES_CUBLAS_LEVEL3_H_
#define CERBERUS_LIBRARIES_CUBLAS_LEVEL3_H_

#include "libraries/cublas/handle.h"
#include "libraries/cublas/level2.h"
#include "libraries/cublas/math.h"

namespace cerberus::libraries::cublas {

// Rows and columns of the matrix whose op() has so many.
template <typename I>
I Rows(Operation op, I rows, I columns) {
  return op == kN || op == kConj ? rows : columns;
}
template <typename I>
I Columns(Operation op, I rows, I columns) {
  return op == kN || op == kConj ? columns : rows;
}

template <typename I>
Status CheckGemm(Operation opa, Operation opb, I m, I n, I k, I lda, I ldb,
                 I ldc) {
  const bool fine = opa >= kN && opa <= kConj && opb >= kN && opb <= kConj &&
                    m >= 0 && n >= 0 && k >= 0 &&
                    IsStep(lda, Rows(opa, m, k)) &&
                    IsStep(ldb, Rows(opb, k, n)) && IsStep(ldc, m);
  return fine ? kSuccess : kInvalidValue;
}

template <typename T, typename I>
Status GemmCall(Handle h, Operation opa, Operation opb, I m, I n, I k,
                const T* alpha, const T* a, I lda, const T* b, I ldb,
                const T* beta, T* c, I ldc) {
  if (const Status bad = CheckGemm(opa, opb, m, n, k, lda, ldb, ldc)) {
    return bad;
  }
  if (!alpha || !beta) return kInvalidValue;
  if (m == 0 || n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const T* pa = call.Matrix(a, Rows(opa, m, k), Columns(opa, m, k), lda);
  const T* pb = call.Matrix(b, Rows(opb, k, n), Columns(opb, k, n), ldb);
  T* pc = call.MatrixOut(c, m, n, ldc);
  return call.Run([=] {
    Gemm<T>(opa, opb, m, n, k, av.Get(), pa, lda, pb, ldb, bv.Get(), pc, ldc);
  });
}

template <bool kHermitian, typename T, typename I>
Status SymmCall(Handle h, Side side, Fill fill, I m, I n, const T* alpha,
                const T* a, I lda, const T* b, I ldb, const T* beta, T* c,
                I ldc) {
  const I order = side == kLeft ? m : n;
  if (!IsSide(side) || !IsTriangle(fill) || m < 0 || n < 0 ||
      !IsStep(lda, order) || !IsStep(ldb, m) || !IsStep(ldc, m) || !alpha ||
      !beta) {
    return kInvalidValue;
  }
  if (m == 0 || n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const T* pa = call.Matrix(a, order, order, lda);
  const T* pb = call.Matrix(b, m, n, ldb);
  T* pc = call.MatrixOut(c, m, n, ldc);
  return call.Run([=] {
    Symm<T>(kHermitian, side, fill, m, n, av.Get(), pa, lda, pb, ldb, bv.Get(),
            pc, ldc);
  });
}

// syrk, herk, syr2k, her2k, syrkx, herkx; alpha and beta are real where the
// result is Hermitian by them.
template <bool kHermitian, bool kTwice, typename T, typename SA, typename SB,
          typename I>
Status RankK(Handle h, Fill fill, Operation op, I n, I k, const SA* alpha,
             const T* a, I lda, const T* b, I ldb, const SB* beta, T* c,
             I ldc) {
  const I rows = op == kN ? n : k;
  if (!IsTriangle(fill) || !IsOperation(op) || n < 0 || k < 0 ||
      (kIsComplex<T> && op == (kHermitian ? kT : kC)) || !IsStep(lda, rows) ||
      !IsStep(ldb, rows) || !IsStep(ldc, n) || !alpha || !beta) {
    return kInvalidValue;
  }
  if (n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const T* pa = call.Matrix(a, rows, op == kN ? k : n, lda);
  const T* pb = call.Matrix(b, rows, op == kN ? k : n, ldb);
  T* pc = call.MatrixOut(c, n, n, ldc);
  return call.Run([=] {
    Syrkx<T>(kHermitian, kTwice, fill, op, n, k, T(av.Get()), pa, lda, pb, ldb,
             T(bv.Get()), pc, ldc);
  });
}
template <bool kHermitian, typename T, typename S, typename I>
Status RankKOfOne(Handle h, Fill fill, Operation op, I n, I k, const S* alpha,
                  const T* a, I lda, const S* beta, T* c, I ldc) {
  return RankK<kHermitian, false, T, S, S, I>(h, fill, op, n, k, alpha, a, lda,
                                              a, lda, beta, c, ldc);
}

// C := alpha op(A) B, or B op(A); C may be B.
template <typename T, typename I>
Status TrmmCall(Handle h, Side side, Fill fill, Operation op, Diag diag, I m,
                I n, const T* alpha, const T* a, I lda, const T* b, I ldb, T* c,
                I ldc) {
  const I order = side == kLeft ? m : n;
  if (!IsSide(side) || !IsTriangle(fill) || !IsOperation(op) || !IsDiag(diag) ||
      m < 0 || n < 0 || !IsStep(lda, order) || !IsStep(ldb, m) ||
      !IsStep(ldc, m) || !alpha) {
    return kInvalidValue;
  }
  if (m == 0 || n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const T* pa = call.Matrix(a, order, order, lda);
  const T* pb = call.Matrix(b, m, n, ldb);
  T* pc = call.MatrixOut(c, m, n, ldc);
  return call.Run([=] {
    if (pb != pc) {
      for (Index j = 0; j < n; ++j) {
        std::copy_n(pb + j * ldb, m, pc + j * ldc);
      }
    }
    Trmm<T>(side, fill, op, diag, m, n, av.Get(), pa, lda, pc, ldc);
  });
}

template <typename T, typename I>
Status TrsmCall(Handle h, Side side, Fill fill, Operation op, Diag diag, I m,
                I n, const T* alpha, const T* a, I lda, T* b, I ldb) {
  const I order = side == kLeft ? m : n;
  if (!IsSide(side) || !IsTriangle(fill) || !IsOperation(op) || !IsDiag(diag) ||
      m < 0 || n < 0 || !IsStep(lda, order) || !IsStep(ldb, m) || !alpha) {
    return kInvalidValue;
  }
  if (m == 0 || n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const T* pa = call.Matrix(a, order, order, lda);
  T* pb = call.MatrixOut(b, m, n, ldb);
  return call.Run(
      [=] { Trsm<T>(side, fill, op, diag, m, n, av.Get(), pa, lda, pb, ldb); });
}

// C := alpha op(A) + beta op(B); C may be A or B where that is not turned. A
// matrix whose factor is zero is not read.
template <typename T, typename I>
Status Geam(Handle h, Operation opa, Operation opb, I m, I n, const T* alpha,
            const T* a, I lda, const T* beta, const T* b, I ldb, T* c, I ldc) {
  if (!IsOperation(opa) || !IsOperation(opb) || m < 0 || n < 0 ||
      !IsStep(lda, Rows(opa, m, n)) || !IsStep(ldb, Rows(opb, m, n)) ||
      !IsStep(ldc, m) || !alpha || !beta ||
      (a == c && (opa != kN || lda != ldc)) ||
      (b == c && (opb != kN || ldb != ldc))) {
    return kInvalidValue;
  }
  if (m == 0 || n == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const T* pa = call.Matrix(a, Rows(opa, m, n), Columns(opa, m, n), lda);
  const T* pb = call.Matrix(b, Rows(opb, m, n), Columns(opb, m, n), ldb);
  T* pc = call.MatrixOut(c, m, n, ldc);
  return call.Run([=] {
    const T fa = av.Get(), fb = bv.Get();
    const auto element = [](Operation op, const T* x, Index ld, Index i,
                            Index j) {
      const T e = op == kN ? x[i + j * ld] : x[j + i * ld];
      return op == kC ? ConjOf(e) : e;
    };
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < m; ++i) {
        T sum(0);
        if (fa != T(0)) sum += Mul(fa, element(opa, pa, lda, i, j));
        if (fb != T(0)) sum += Mul(fb, element(opb, pb, ldb, i, j));
        pc[i + j * ldc] = sum;
      }
    }
  });
}

// C := A diag(x), or diag(x) A.
template <typename T, typename I>
Status Dgmm(Handle h, Side side, I m, I n, const T* a, I lda, const T* x,
            I incx, T* c, I ldc) {
  if (!IsSide(side) || m < 0 || n < 0 || !IsStep(lda, m) || !IsStep(ldc, m)) {
    return kInvalidValue;
  }
  if (m == 0 || n == 0) return kSuccess;
  Call call(h);
  const T* pa = call.Matrix(a, m, n, lda);
  const I length = side == kLeft ? m : n;
  const T* px = call.Vector(x, length, incx);
  T* pc = call.MatrixOut(c, m, n, ldc);
  return call.Run([=] {
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < m; ++i) {
        const T v = px[At(side == kLeft ? i : j, length, incx)];
        pc[i + j * ldc] = Mul(pa[i + j * lda], v);
      }
    }
  });
}

// A triangle out of its packed form, and back.
template <bool kPack, typename T>
Status Packing(Handle h, Fill fill, int n, const T* from, T* to, int ld) {
  if (!IsTriangle(fill) || n < 0 || !IsStep(ld, n)) return kInvalidValue;
  if (n == 0) return kSuccess;
  Call call(h);
  const T* source =
      kPack ? call.Matrix(from, n, n, ld) : call.Vector(from, PackedSize(n), 1);
  T* target = kPack ? call.VectorOut(to, PackedSize(n), 1)
                    : call.MatrixOut(to, n, n, ld);
  return call.Run([=] {
    const InPacked packed{n};
    for (Index j = 0; j < n; ++j) {
      const Index first = fill == kUpper ? 0 : j;
      const Index end = fill == kUpper ? j + 1 : n;
      for (Index i = first; i < end; ++i) {
        if constexpr (kPack) {
          target[packed(fill, i, j)] = source[i + j * Index{ld}];
        } else {
          target[i + j * Index{ld}] = source[packed(fill, i, j)];
        }
      }
    }
  });
}
template <typename T>
Status Tpttr(Handle h, Fill fill, int n, const T* ap, T* a, int lda) {
  return Packing<false>(h, fill, n, ap, a, lda);
}
template <typename T>
Status Trttp(Handle h, Fill fill, int n, const T* a, int lda, T* ap) {
  return Packing<true>(h, fill, n, a, ap, lda);
}

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_LEVEL3_H_
