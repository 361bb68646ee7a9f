// Many matrices in one call: arrays of pointers, strides, groups.
#ifndef CERBERUS_LIBRARIES_CUBLAS_BATCHED_H_
#define CERBERUS_LIBRARIES_CUBLAS_BATCHED_H_

#include <type_traits>
#include <vector>

#include "libraries/common/pointers.h"
#include "libraries/cublas/handle.h"
#include "libraries/cublas/level3.h"
#include "libraries/cublas/math.h"
#include "libraries/cublas/typed.h"

namespace cerberus::libraries::cublas {

template <typename T, typename I>
Status GemmBatched(Handle h, Operation opa, Operation opb, I m, I n, I k,
                   const T* alpha, const T* const* a, I lda, const T* const* b,
                   I ldb, const T* beta, T* const* c, I ldc, I count) {
  if (const Status bad = CheckGemm(opa, opb, m, n, k, lda, ldb, ldc)) {
    return bad;
  }
  if (count < 0 || !alpha || !beta) return kInvalidValue;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const Pointers<const T> pa(call.work(), a, count, [&](const T* p, Index) {
    return call.Matrix(p, Rows(opa, m, k), Columns(opa, m, k), lda);
  });
  const Pointers<const T> pb(call.work(), b, count, [&](const T* p, Index) {
    return call.Matrix(p, Rows(opb, k, n), Columns(opb, k, n), ldb);
  });
  const Pointers<T> pc(call.work(), c, count, [&](T* p, Index) {
    return call.MatrixOut(p, m, n, ldc);
  });
  if (pa.failed() || pb.failed() || pc.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      Gemm<T>(opa, opb, m, n, k, av.Get(), pa[i], lda, pb[i], ldb, bv.Get(),
              pc[i], ldc);
    }
  });
}

template <typename T, typename I>
Status GemmStridedBatched(Handle h, Operation opa, Operation opb, I m, I n, I k,
                          const T* alpha, const T* a, I lda, long long step_a,
                          const T* b, I ldb, long long step_b, const T* beta,
                          T* c, I ldc, long long step_c, I count) {
  if (const Status bad = CheckGemm(opa, opb, m, n, k, lda, ldb, ldc)) {
    return bad;
  }
  if (count < 0 || !alpha || !beta) return kInvalidValue;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const Strided<const T> pa(a, step_a, count, [&](const T* p) {
    return call.Matrix(p, Rows(opa, m, k), Columns(opa, m, k), lda);
  });
  const Strided<const T> pb(b, step_b, count, [&](const T* p) {
    return call.Matrix(p, Rows(opb, k, n), Columns(opb, k, n), ldb);
  });
  const Strided<T> pc(c, step_c, count,
                      [&](T* p) { return call.MatrixOut(p, m, n, ldc); });
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      Gemm<T>(opa, opb, m, n, k, av.Get(), pa[i], lda, pb[i], ldb, bv.Get(),
              pc[i], ldc);
    }
  });
}

// Groups of matrices of one shape each; the arrays that say so are the host's.
template <typename T, typename I>
Status GemmGrouped(Handle h, const Operation* opa, const Operation* opb,
                   const I* m, const I* n, const I* k, const T* alpha,
                   const T* const* a, const I* lda, const T* const* b,
                   const I* ldb, const T* beta, T* const* c, const I* ldc,
                   I groups, const I* sizes) {
  if (groups < 0) return kInvalidValue;
  for (I g = 0; g < groups; ++g) {
    if (const Status bad = CheckGemm(opa[g], opb[g], m[g], n[g], k[g], lda[g],
                                     ldb[g], ldc[g])) {
      return bad;
    }
  }
  for (I g = 0; g < groups; ++g) {
    Context of_group = *h;
    of_group.pointer_mode = kHostPointers;
    if (const Status status = GemmBatched<T, I>(
            &of_group, opa[g], opb[g], m[g], n[g], k[g], alpha + g, a, lda[g],
            b, ldb[g], beta + g, c, ldc[g], sizes[g])) {
      return status;
    }
    a += sizes[g], b += sizes[g], c += sizes[g];
  }
  return kSuccess;
}

// Vectors and matrices of types that differ, as the half precision forms have
// it: y := alpha op(A) x + beta y, computed as S.
template <typename S, typename I>
struct GemvShape {
  Operation op;
  I m, n;
  DataType a, y;
  I lda, incx, incy;
  bool IsFine() const {
    return IsOperation(op) && m >= 0 && n >= 0 && IsStep(lda, m) && incx != 0 &&
           incy != 0;
  }
  I length_x() const { return op == kN ? n : m; }
  I length_y() const { return op == kN ? m : n; }
  void Run(S alpha, const void* pa, const void* px, S beta, void* py) const {
    const auto element = [](DataType type, const void* p, Index i) {
      return As<S>(Load(type, p, i));
    };
    for (Index i = 0; i < length_y(); ++i) {
      S sum(0);
      for (Index j = 0; j < length_x(); ++j) {
        S e = element(a, pa, op == kN ? i + j * lda : j + i * lda);
        if (op == kC) e = ConjOf(e);
        sum += Mul(e, element(a, px, At(j, length_x(), incx)));
      }
      const Index at = At(i, length_y(), incy);
      S value = Mul(alpha, sum);
      if (beta != S(0)) value += Mul(beta, element(y, py, at));
      Store(y, py, at, Wide(value));
    }
  }
};

template <typename T>
constexpr DataType TypeOf() {
  if constexpr (std::is_same_v<T, float>) return kR32F;
  else if constexpr (std::is_same_v<T, double>) return kR64F;
  else if constexpr (std::is_same_v<T, Complex32>) return kC32F;
  else return kC64F;
}

// A and x of type kA, y of type kY. Elements of a type told at run time are
// taken for their bytes.
template <DataType kA, DataType kY, typename S, typename I>
Status GemvBatched(Handle h, Operation op, I m, I n, const S* alpha,
                   const void* const* a, I lda, const void* const* x, I incx,
                   const S* beta, void* const* y, I incy, I count) {
  const GemvShape<S, I> shape{op, m, n, kA, kY, lda, incx, incy};
  if (!shape.IsFine() || count < 0 || !alpha || !beta) return kInvalidValue;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  const std::size_t size = SizeOf(kA);
  const Pointers<const void> pa(
      call.work(), a, count, [&](const void* p, Index) {
        return call.work().InMatrix(p, size, m, n, lda);
      });
  const Pointers<const void> px(
      call.work(), x, count, [&](const void* p, Index) {
        return call.work().InVector(p, size, shape.length_x(), incx);
      });
  const Pointers<void> py(call.work(), y, count, [&](void* p, Index) {
    return call.work().InOutVector(p, SizeOf(kY), shape.length_y(), incy);
  });
  if (pa.failed() || px.failed() || py.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      shape.Run(av.Get(), pa[i], px[i], bv.Get(), py[i]);
    }
  });
}

template <DataType kA, DataType kY, typename S, typename I>
Status GemvStridedBatched(Handle h, Operation op, I m, I n, const S* alpha,
                          const void* a, I lda, long long step_a, const void* x,
                          I incx, long long step_x, const S* beta, void* y,
                          I incy, long long step_y, I count) {
  const GemvShape<S, I> shape{op, m, n, kA, kY, lda, incx, incy};
  if (!shape.IsFine() || count < 0 || !alpha || !beta) return kInvalidValue;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const auto bv = call.In(beta);
  using Bytes = const std::byte;
  const auto size_a = static_cast<Index>(SizeOf(kA));
  const auto size_y = static_cast<Index>(SizeOf(kY));
  const Strided<Bytes> pa(
      static_cast<Bytes*>(a), step_a * size_a, count,
      [&](Bytes* p) { return call.work().InMatrix(p, SizeOf(kA), m, n, lda); });
  const Strided<Bytes> px(
      static_cast<Bytes*>(x), step_x * size_a, count, [&](Bytes* p) {
        return call.work().InVector(p, SizeOf(kA), shape.length_x(), incx);
      });
  const Strided<std::byte> py(
      static_cast<std::byte*>(y), step_y * size_y, count, [&](std::byte* p) {
        return call.work().InOutVector(p, SizeOf(kY), shape.length_y(), incy);
      });
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      shape.Run(av.Get(), pa[i], px[i], bv.Get(), py[i]);
    }
  });
}

template <typename T, typename I>
Status TrsmBatched(Handle h, Side side, Fill fill, Operation op, Diag diag, I m,
                   I n, const T* alpha, const T* const* a, I lda, T* const* b,
                   I ldb, I count) {
  const I order = side == kLeft ? m : n;
  if (!IsSide(side) || !IsTriangle(fill) || !IsOperation(op) || !IsDiag(diag) ||
      m < 0 || n < 0 || count < 0 || !IsStep(lda, order) || !IsStep(ldb, m) ||
      !alpha) {
    return kInvalidValue;
  }
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const auto av = call.In(alpha);
  const Pointers<const T> pa(call.work(), a, count, [&](const T* p, Index) {
    return call.Matrix(p, order, order, lda);
  });
  const Pointers<T> pb(call.work(), b, count, [&](T* p, Index) {
    return call.MatrixOut(p, m, n, ldb);
  });
  if (pa.failed() || pb.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      Trsm<T>(side, fill, op, diag, m, n, av.Get(), pa[i], lda, pb[i], ldb);
    }
  });
}

// `pivots`, n for each matrix, may be null: no rows are exchanged then. `info`
// has a number for each, 0 or the first i for which U(i, i) is zero.
template <typename T>
Status GetrfBatched(Handle h, int n, T* const* a, int lda, int* pivots,
                    int* info, int count) {
  if (n < 0 || count < 0 || !IsStep(lda, n)) return kInvalidValue;
  if (count == 0) return kSuccess;
  Call call(h);
  const Pointers<T> pa(call.work(), a, count, [&](T* p, Index) {
    return call.MatrixOut(p, n, n, lda);
  });
  int* pp = call.VectorOut(pivots, Index{n} * count, 1);
  int* pi = call.VectorOut(info, count, 1);
  if (pa.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      pi[i] = Getrf<T>(n, n, pa[i], lda, pp != nullptr ? pp + i * n : nullptr);
    }
  });
}

// The inverse of a factorized matrix; where U has a zero on its diagonal, what
// dividing by it makes: infinite, or not a number. cupy's `cond` counts on
// that.
template <typename T>
int Invert(Index n, const T* lu, Index lda, const int* pivots, T* c,
           Index ldc) {
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) c[i + j * ldc] = T(i == j ? 1 : 0);
  }
  Getrs<T>(kN, n, n, lu, lda, pivots, c, ldc);
  for (Index i = 0; i < n; ++i) {
    if (lu[i + i * lda] == T(0)) return static_cast<int>(i + 1);
  }
  return 0;
}
template <typename T>
Status GetriBatched(Handle h, int n, const T* const* a, int lda,
                    const int* pivots, T* const* c, int ldc, int* info,
                    int count) {
  if (n < 0 || count < 0 || !IsStep(lda, n) || !IsStep(ldc, n)) {
    return kInvalidValue;
  }
  if (count == 0) return kSuccess;
  Call call(h);
  const Pointers<const T> pa(call.work(), a, count, [&](const T* p, Index) {
    return call.Matrix(p, n, n, lda);
  });
  const int* pp = call.Vector(pivots, Index{n} * count, 1);
  const Pointers<T> pc(call.work(), c, count, [&](T* p, Index) {
    return call.MatrixOut(p, n, n, ldc);
  });
  int* pi = call.VectorOut(info, count, 1);
  if (pa.failed() || pc.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      pi[i] = Invert<T>(n, pa[i], lda, pp != nullptr ? pp + i * n : nullptr,
                        pc[i], ldc);
    }
  });
}

// `info` is the host's: which argument is wrong, counted from 1 and negative.
template <typename T>
Status GetrsBatched(Handle h, Operation op, int n, int columns,
                    const T* const* a, int lda, const int* pivots, T* const* b,
                    int ldb, int* info, int count) {
  const int wrong = !IsOperation(op)  ? 1
                    : n < 0           ? 2
                    : columns < 0     ? 3
                    : !IsStep(lda, n) ? 5
                    : !IsStep(ldb, n) ? 8
                    : count < 0       ? 10
                                      : 0;
  if (info == nullptr) return kInvalidValue;
  *info = -wrong;
  if (wrong != 0) return kInvalidValue;
  if (count == 0 || n == 0 || columns == 0) return kSuccess;
  Call call(h);
  const Pointers<const T> pa(call.work(), a, count, [&](const T* p, Index) {
    return call.Matrix(p, n, n, lda);
  });
  const int* pp = call.Vector(pivots, Index{n} * count, 1);
  const Pointers<T> pb(call.work(), b, count, [&](T* p, Index) {
    return call.MatrixOut(p, n, columns, ldb);
  });
  if (pa.failed() || pb.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      Getrs<T>(op, n, columns, pa[i], lda, pp != nullptr ? pp + i * n : nullptr,
               pb[i], ldb);
    }
  });
}

// Inverses of matrices of up to 32 rows, out of place.
template <typename T>
Status MatinvBatched(Handle h, int n, const T* const* a, int lda,
                     T* const* inverse, int ld_inverse, int* info, int count) {
  if (n < 0 || n > 32 || count < 0 || !IsStep(lda, n) ||
      !IsStep(ld_inverse, n)) {
    return kInvalidValue;
  }
  if (count == 0) return kSuccess;
  Call call(h);
  const Pointers<const T> pa(call.work(), a, count, [&](const T* p, Index) {
    return call.Matrix(p, n, n, lda);
  });
  const Pointers<T> pc(call.work(), inverse, count, [&](T* p, Index) {
    return call.MatrixOut(p, n, n, ld_inverse);
  });
  int* pi = call.VectorOut(info, count, 1);
  if (pa.failed() || pc.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) {
      std::vector<T> lu(static_cast<std::size_t>(n) *
                        static_cast<std::size_t>(n));
      std::vector<int> pivots(static_cast<std::size_t>(n));
      for (Index j = 0; j < n; ++j) {
        std::copy_n(pa[i] + j * lda, n, lu.data() + j * n);
      }
      Getrf<T>(n, n, lu.data(), n, pivots.data());
      pi[i] = Invert<T>(n, lu.data(), n, pivots.data(), pc[i], ld_inverse);
    }
  });
}

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_BATCHED_H_
