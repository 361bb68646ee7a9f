// Factorizations of one matrix or many, and what is solved by them.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_SOLVE_H_
#define CERBERUS_LIBRARIES_CUSOLVER_SOLVE_H_

#include <algorithm>
#include <type_traits>
#include <vector>

#include "libraries/common/pointers.h"
#include "libraries/cusolver/api.h"
#include "libraries/cusolver/factor.h"
#include "libraries/cusolver/orthogonal.h"
#include "libraries/cusolver/rocsolver.h"

namespace cerberus::libraries::cusolver {

// Calls f(pivots) with row numbers of LAPACK's type; null stays null.
template <typename P, typename F>
void WithPivots(P* pivots, Index n, const F& f) {
  if constexpr (std::is_same_v<std::remove_const_t<P>, int>) {
    f(pivots);
  } else {
    if (pivots == nullptr) return f(static_cast<int*>(nullptr));
    std::vector<int> own(static_cast<std::size_t>(n));
    std::copy_n(pivots, n, own.begin());
    f(own.data());
    if constexpr (!std::is_const_v<P>) std::copy_n(own.begin(), n, pivots);
  }
}

template <typename T, typename P>
Status GetrfCall(Handle h, Index m, Index n, T* a, Index lda, P* pivots,
                 int* info) {
  if (!IsMatrix(m, n, lda)) return kInvalidValue;
  if (h->rocsolver != nullptr) {
    Status status = kSuccess;
    const auto factor = [&](int* rows) {
      return Rocsolve<T>(h, Roc::kGetrf, &status, m, n, a, lda, rows, info);
    };
    if (pivots == nullptr) {
      if (Rocsolve<T>(h, Roc::kGetrfPlain, &status, m, n, a, lda, info)) {
        return status;
      }
    } else if constexpr (sizeof(P) == sizeof(int)) {
      if (factor(pivots)) return status;
    } else {
      const Index count = std::min(m, n);
      const StreamMemory rows(*h->driver, h->stream,
                              static_cast<std::size_t>(count) * sizeof(int));
      auto* const own = reinterpret_cast<int*>(rows.get());
      if (rows.has() && factor(own)) {
        return status == kSuccess && !Widen(h, own, pivots, count)
                   ? kExecutionFailed
                   : status;
      }
    }
  }
  Call call(h);
  T* pa = call.MatrixOut(a, m, n, lda);
  P* pp = call.VectorOut(pivots, std::min(m, n), 1);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    WithPivots(pp, std::min(m, n),
               [&](int* p) { Report(pi, Getrf<T>(m, n, pa, lda, p)); });
  });
}

inline bool IsSolvable(Index n, Index columns, Index lda, Index ldb) {
  return IsSquare(n, lda) && IsMatrix(n, columns, ldb);
}
// B becomes what solve(A, pivots, B) makes of it, A being factored.
template <typename T, typename P, typename Solve>
Status PivotedSolveCall(Handle h, Index n, Index columns, const T* a, Index lda,
                        const P* pivots, T* b, Index ldb, int* info,
                        Solve solve) {
  if (!IsSolvable(n, columns, lda, ldb)) return kInvalidValue;
  Call call(h);
  const T* pa = call.Matrix(a, n, n, lda);
  const P* pp = call.Vector(pivots, n, 1);
  T* pb = call.MatrixOut(b, n, columns, ldb);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    WithPivots(pp, n, [&](const int* p) { solve(pa, p, pb); });
    Report(pi, 0);
  });
}

template <typename T, typename P>
Status GetrsCall(Handle h, Operation op, Index n, Index columns, const T* a,
                 Index lda, const P* pivots, T* b, Index ldb, int* info) {
  if (!IsOperation(op)) return kInvalidValue;
  if (h->rocsolver != nullptr && IsSolvable(n, columns, lda, ldb)) {
    Status status = kSuccess;
    const auto solve = [&](const int* rows) {
      return RocsolveSilently<T>(h, info, Roc::kGetrs, &status, op, n, columns,
                                 a, lda, rows, b, ldb);
    };
    if constexpr (sizeof(P) == sizeof(int)) {
      if (solve(pivots)) return status;
    } else if (pivots != nullptr) {
      const StreamMemory rows(*h->driver, h->stream,
                              static_cast<std::size_t>(n) * sizeof(int));
      auto* const own = reinterpret_cast<int*>(rows.get());
      if (rows.has() && Narrow(h, pivots, own, n) && solve(own)) return status;
    }
  }
  return PivotedSolveCall(h, n, columns, a, lda, pivots, b, ldb, info,
                          [=](const T* pa, const int* p, T* pb) {
                            cublas::Getrs<T>(op, n, columns, pa, lda, p, pb,
                                             ldb);
                          });
}

template <typename T>
Status LaswpCall(Handle h, Index n, T* a, Index lda, Index first, Index last,
                 const int* pivots, Index step) {
  if (n < 0 || lda < 1 || first < 1 || last < first || last > lda ||
      step == 0 || pivots == nullptr) {
    return kInvalidValue;
  }
  Call call(h);
  // Which rows take part stands in the pivots.
  T* pa = call.MatrixOut(a, lda, n, lda);
  const int* pp =
      call.Vector(pivots, first - 1 + (last - first) * std::abs(step) + 1, 1);
  return Queue(call, [=] { Laswp<T>(n, pa, lda, first, last, pp, step); });
}

// potrf, potri, lauum: one triangle; `row` is rocSOLVER's.
template <auto kFunction, Roc kRow, typename T>
Status TriangleCall(Handle h, Fill fill, Index n, T* a, Index lda, int* info) {
  if (!IsTriangle(fill) || !IsSquare(n, lda)) return kInvalidValue;
  if constexpr (kRow != Roc::kNone) {
    Status status = kSuccess;
    if (Rocsolve<T>(h, kRow, &status, fill, n, a, lda, info)) return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, n, n, lda);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    if constexpr (std::is_void_v<decltype(kFunction(fill, n, pa, lda))>) {
      kFunction(fill, n, pa, lda);
      Report(pi, 0);
    } else {
      Report(pi, kFunction(fill, n, pa, lda));
    }
  });
}

template <typename T>
Status TrtriCall(Handle h, Fill fill, Diag diag, Index n, T* a, Index lda,
                 int* info) {
  if (!IsTriangle(fill) || !IsDiag(diag) || !IsSquare(n, lda)) {
    return kInvalidValue;
  }
  if (Status status = kSuccess;
      Rocsolve<T>(h, Roc::kTrtri, &status, fill, diag, n, a, lda, info)) {
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, n, n, lda);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] { Report(pi, Trtri<T>(fill, diag, n, pa, lda)); });
}

template <typename T>
Status PotrsCall(Handle h, Fill fill, Index n, Index columns, const T* a,
                 Index lda, T* b, Index ldb, int* info) {
  if (!IsTriangle(fill) || !IsSolvable(n, columns, lda, ldb)) {
    return kInvalidValue;
  }
  if (Status status = kSuccess; RocsolveSilently<T>(
          h, info, Roc::kPotrs, &status, fill, n, columns, a, lda, b, ldb)) {
    return status;
  }
  Call call(h);
  const T* pa = call.Matrix(a, n, n, lda);
  T* pb = call.MatrixOut(b, n, columns, ldb);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Potrs<T>(fill, n, columns, pa, lda, pb, ldb);
    Report(pi, 0);
  });
}

template <typename T>
Status PotrfBatched(Handle h, Fill fill, Index n, T* const* a, Index lda,
                    int* infos, Index count) {
  if (!IsTriangle(fill) || !IsSquare(n, lda) || count < 0) return kInvalidValue;
  if (count == 0) return kSuccess;
  if (Status status = kSuccess; Rocsolve<T>(h, Roc::kPotrfBatched, &status,
                                            fill, n, a, lda, infos, count)) {
    return status;
  }
  Call call(h);
  const Pointers<T> pa(call, a, count, [&](T* p, Index) {
    return call.MatrixOut(p, n, n, lda);
  });
  int* pi = call.VectorOut(infos, count, 1);
  if (pa.failed()) return kExecutionFailed;
  return Queue(call, [=] {
    for (Index i = 0; i < count; ++i) {
      Report(pi ? pi + i : nullptr, Potrf<T>(fill, n, pa[i], lda));
    }
  });
}

template <typename T>
Status PotrsBatched(Handle h, Fill fill, Index n, Index columns, T* const* a,
                    Index lda, T* const* b, Index ldb, int* info, Index count) {
  if (!IsTriangle(fill) || !IsSolvable(n, columns, lda, ldb) || count < 0) {
    return kInvalidValue;
  }
  if (count == 0) return kSuccess;
  if (Status status = kSuccess;
      RocsolveSilently<T>(h, info, Roc::kPotrsBatched, &status, fill, n,
                          columns, a, lda, b, ldb, count)) {
    return status;
  }
  Call call(h);
  const Pointers<T> pa(call, a, count, [&](T* p, Index) {
    return const_cast<T*>(call.Matrix(p, n, n, lda));
  });
  const Pointers<T> pb(call, b, count, [&](T* p, Index) {
    return call.MatrixOut(p, n, columns, ldb);
  });
  int* pi = call.VectorOut(info, 1, 1);
  if (pa.failed() || pb.failed()) return kExecutionFailed;
  return Queue(call, [=] {
    for (Index i = 0; i < count; ++i) {
      Potrs<T>(fill, n, columns, pa[i], lda, pb[i], ldb);
    }
    Report(pi, 0);
  });
}

template <bool kHermitian, typename T, typename P>
Status SytrfCall(Handle h, Fill fill, Index n, T* a, Index lda, P* pivots,
                 int* info) {
  if (!IsTriangle(fill) || !IsSquare(n, lda)) return kInvalidValue;
  if constexpr (!kHermitian && sizeof(P) == sizeof(int)) {
    Status status = kSuccess;
    if (Rocsolve<T>(h, Roc::kSytrf, &status, fill, n, a, lda, pivots, info)) {
      return status;
    }
  }
  Call call(h);
  T* pa = call.MatrixOut(a, n, n, lda);
  P* pp = call.VectorOut(pivots, n, 1);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    WithPivots(pp, n, [&](int* p) {
      Report(pi, Sytrf<T>(kHermitian, fill, n, pa, lda, p));
    });
  });
}

template <bool kHermitian, typename T, typename P>
Status SytrsCall(Handle h, Fill fill, Index n, Index columns, const T* a,
                 Index lda, const P* pivots, T* b, Index ldb, int* info) {
  if (!IsTriangle(fill)) return kInvalidValue;
  return PivotedSolveCall(h, n, columns, a, lda, pivots, b, ldb, info,
                          [=](const T* pa, const int* p, T* pb) {
                            Sytrs<T>(kHermitian, fill, n, columns, pa, lda, p,
                                     pb, ldb);
                          });
}

template <typename T>
Status SytriCall(Handle h, Fill fill, Index n, T* a, Index lda,
                 const int* pivots, int* info) {
  if (!IsTriangle(fill) || !IsSquare(n, lda)) return kInvalidValue;
  Call call(h);
  T* pa = call.MatrixOut(a, n, n, lda);
  const int* pp = call.Vector(pivots, n, 1);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Report(pi, Sytri<T>(/*hermitian=*/false, fill, n, pa, lda, pp));
  });
}

template <typename T>
Status GeqrfCall(Handle h, Index m, Index n, T* a, Index lda, T* tau,
                 int* info) {
  if (!IsMatrix(m, n, lda)) return kInvalidValue;
  if (Status status = kSuccess;
      RocsolveSilently<T>(h, info, Roc::kGeqrf, &status, m, n, a, lda, tau)) {
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, m, n, lda);
  T* pt = call.VectorOut(tau, std::min(m, n), 1);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Geqrf<T>(m, n, pa, lda, pt);
    Report(pi, 0);
  });
}

inline bool IsOrgqr(Index m, Index n, Index k, Index lda) {
  return IsMatrix(m, n, lda) && m >= n && k >= 0 && n >= k;
}
template <typename T>
Status OrgqrCall(Handle h, Index m, Index n, Index k, T* a, Index lda,
                 const T* tau, int* info) {
  if (!IsOrgqr(m, n, k, lda)) return kInvalidValue;
  if (Status status = kSuccess; RocsolveSilently<T>(
          h, info, Roc::kOrgqr, &status, m, n, k, a, lda, tau)) {
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, m, n, lda);
  const T* pt = call.Vector(tau, k, 1);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Orgqr<T>(m, n, k, pa, lda, pt);
    Report(pi, 0);
  });
}

// Q is of real matrices turned, or of complex ones turned and conjugated.
template <typename T>
bool IsTurn(Operation op) {
  return op == kN || op == kC || (op == kT && !kIsComplex<T>);
}
template <typename T>
bool IsOrmqr(Side side, Operation op, Index m, Index n, Index k, Index lda,
             Index ldc) {
  const Index rows = side == kLeft ? m : n;
  return IsSide(side) && IsTurn<T>(op) && IsMatrix(m, n, ldc) && k >= 0 &&
         k <= rows && IsMatrix(rows, k, lda);
}
template <typename T>
Status OrmqrCall(Handle h, Side side, Operation op, Index m, Index n, Index k,
                 const T* a, Index lda, const T* tau, T* c, Index ldc,
                 int* info) {
  if (!IsOrmqr<T>(side, op, m, n, k, lda, ldc)) return kInvalidValue;
  if (Status status = kSuccess;
      RocsolveSilently<T>(h, info, Roc::kOrmqr, &status, side, op, m, n, k, a,
                          lda, tau, c, ldc)) {
    return status;
  }
  Call call(h);
  const T* pa = call.Matrix(a, side == kLeft ? m : n, k, lda);
  const T* pt = call.Vector(tau, k, 1);
  T* pc = call.MatrixOut(c, m, n, ldc);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Ormqr<T>(side, op, m, n, k, pa, lda, pt, pc, ldc);
    Report(pi, 0);
  });
}

template <typename T>
Status GebrdCall(Handle h, Index m, Index n, T* a, Index lda, Real<T>* d,
                 Real<T>* e, T* tau_q, T* tau_p, int* info) {
  // NVIDIA's has no wide matrices.
  if (!IsMatrix(m, n, lda) || m < n) return kInvalidValue;
  if (Status status = kSuccess; RocsolveSilently<T>(
          h, info, Roc::kGebrd, &status, m, n, a, lda, d, e, tau_q, tau_p)) {
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, m, n, lda);
  Real<T>* pd = call.VectorOut(d, n, 1);
  Real<T>* pe = call.VectorOut(e, n - 1, 1);
  T* pq = call.VectorOut(tau_q, n, 1);
  T* pp = call.VectorOut(tau_p, n, 1);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Gebrd<T>(m, n, pa, lda, pd, pe, pq, pp);
    Report(pi, 0);
  });
}

inline bool IsOrgbr(Side side, Index m, Index n, Index k, Index lda) {
  if (!IsSide(side) || !IsMatrix(m, n, lda) || k < 0) return false;
  return side == kLeft ? m >= n && n >= std::min(m, k)
                       : n >= m && m >= std::min(n, k);
}
template <typename T>
Status OrgbrCall(Handle h, Side side, Index m, Index n, Index k, T* a,
                 Index lda, const T* tau, int* info) {
  if (!IsOrgbr(side, m, n, k, lda)) return kInvalidValue;
  if (Status status = kSuccess; RocsolveSilently<T>(
          h, info, Roc::kOrgbr, &status,
          side == kLeft ? roc::Storage::kColumns : roc::Storage::kRows, m, n, k,
          a, lda, tau)) {
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, m, n, lda);
  const T* pt = call.Vector(tau, std::min(side == kLeft ? m : n, k), 1);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Orgbr<T>(side, m, n, k, pa, lda, pt);
    Report(pi, 0);
  });
}

template <typename T>
Status SytrdCall(Handle h, Fill fill, Index n, T* a, Index lda, Real<T>* d,
                 Real<T>* e, T* tau, int* info) {
  if (!IsTriangle(fill) || !IsSquare(n, lda)) return kInvalidValue;
  if (Status status = kSuccess; RocsolveSilently<T>(
          h, info, Roc::kSytrd, &status, fill, n, a, lda, d, e, tau)) {
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, n, n, lda);
  Real<T>* pd = call.VectorOut(d, n, 1);
  Real<T>* pe = call.VectorOut(e, n - 1, 1);
  T* pt = call.VectorOut(tau, n - 1, 1);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Sytrd<T>(fill, n, pa, lda, pd, pe, pt);
    Report(pi, 0);
  });
}

template <typename T>
Status OrgtrCall(Handle h, Fill fill, Index n, T* a, Index lda, const T* tau,
                 int* info) {
  if (!IsTriangle(fill) || !IsSquare(n, lda)) return kInvalidValue;
  if (Status status = kSuccess; RocsolveSilently<T>(
          h, info, Roc::kOrgtr, &status, fill, n, a, lda, tau)) {
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, n, n, lda);
  const T* pt = call.Vector(tau, n - 1, 1);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Orgtr<T>(fill, n, pa, lda, pt);
    Report(pi, 0);
  });
}

template <typename T>
bool IsOrmtr(Side side, Fill fill, Operation op, Index m, Index n, Index lda,
             Index ldc) {
  return IsSide(side) && IsTriangle(fill) && IsTurn<T>(op) &&
         IsMatrix(m, n, ldc) && IsSquare(side == kLeft ? m : n, lda);
}
template <typename T>
Status OrmtrCall(Handle h, Side side, Fill fill, Operation op, Index m, Index n,
                 const T* a, Index lda, const T* tau, T* c, Index ldc,
                 int* info) {
  if (!IsOrmtr<T>(side, fill, op, m, n, lda, ldc)) return kInvalidValue;
  if (Status status = kSuccess;
      RocsolveSilently<T>(h, info, Roc::kOrmtr, &status, side, fill, op, m, n,
                          a, lda, tau, c, ldc)) {
    return status;
  }
  const Index order = side == kLeft ? m : n;
  Call call(h);
  const T* pa = call.Matrix(a, order, order, lda);
  const T* pt = call.Vector(tau, order - 1, 1);
  T* pc = call.MatrixOut(c, m, n, ldc);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Ormtr<T>(side, fill, op, m, n, pa, lda, pt, pc, ldc);
    Report(pi, 0);
  });
}

// CUBLAS_DIRECT_FORWARD 0, …_BACKWARD 1; CUBLAS_STOREV_COLUMNWISE 0, …_ROWWISE
// 1.
template <typename T>
Status LarftCall(Handle h, int direct, int storev, Index n, Index k, const T* v,
                 Index ldv, const T* tau, T* t, Index ldt) {
  const bool rows = storev == 1;
  if (direct < 0 || direct > 1 || storev < 0 || storev > 1 || k > n ||
      !IsMatrix(rows ? k : n, rows ? n : k, ldv) || !IsSquare(k, ldt)) {
    return kInvalidValue;
  }
  Call call(h);
  const T* pv = call.Matrix(v, rows ? k : n, rows ? n : k, ldv);
  const T* pa = call.Vector(tau, k, 1);
  T* pt = call.MatrixOut(t, k, k, ldt);
  return Queue(
      call, [=] { Larft<T>(direct == 1, rows, n, k, pv, ldv, pa, pt, ldt); });
}

// Solutions that NVIDIA refines from a factorization of less precision; here it
// is of full precision at once, so that there is nothing to refine:
// `iterations`, the host's, becomes 0. A and B stay as they are.
template <typename T>
Status GesvCall(Handle h, Index n, Index columns, const T* a, Index lda,
                int* pivots, const T* b, Index ldb, T* x, Index ldx,
                int* iterations, int* info) {
  if (!IsSquare(n, lda) || !IsMatrix(n, columns, ldb) ||
      !IsMatrix(n, columns, ldx)) {
    return kInvalidValue;
  }
  Report(iterations, 0);
  Call call(h);
  const T* pa = call.Matrix(a, n, n, lda);
  int* pp = call.VectorOut(pivots, n, 1);
  const T* pb = call.Matrix(b, n, columns, ldb);
  T* px = call.MatrixOut(x, n, columns, ldx);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    std::vector<T> lu(static_cast<std::size_t>(n * n));
    std::vector<int> exchanges(static_cast<std::size_t>(n));
    for (Index j = 0; j < n; ++j) {
      std::copy_n(pa + j * lda, n, lu.data() + j * n);
    }
    const int singular = Getrf<T>(n, n, lu.data(), n, exchanges.data());
    if (pp != nullptr) std::copy_n(exchanges.data(), n, pp);
    Report(pi, singular);
    if (singular != 0) return;
    for (Index j = 0; j < columns && px != pb; ++j) {
      std::copy_n(pb + j * ldb, n, px + j * ldx);
    }
    cublas::Getrs<T>(kN, n, columns, lu.data(), n, exchanges.data(), px, ldx);
  });
}

template <typename T>
Status GelsCall(Handle h, Index m, Index n, Index columns, const T* a,
                Index lda, const T* b, Index ldb, T* x, Index ldx,
                int* iterations, int* info) {
  // NVIDIA's has no wide matrices.
  if (!IsMatrix(m, n, lda) || m < n || !IsMatrix(m, columns, ldb) ||
      !IsMatrix(n, columns, ldx)) {
    return kInvalidValue;
  }
  Report(iterations, 0);
  Call call(h);
  const T* pa = call.Matrix(a, m, n, lda);
  const T* pb = call.Matrix(b, m, columns, ldb);
  T* px = call.MatrixOut(x, n, columns, ldx);
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    std::vector<T> qr(static_cast<std::size_t>(m * n));
    std::vector<T> tau(static_cast<std::size_t>(n));
    std::vector<T> c(static_cast<std::size_t>(m * columns));
    for (Index j = 0; j < n; ++j) {
      std::copy_n(pa + j * lda, m, qr.data() + j * m);
    }
    for (Index j = 0; j < columns; ++j) {
      std::copy_n(pb + j * ldb, m, c.data() + j * m);
    }
    const Index ld = std::max<Index>(1, m);
    Geqrf<T>(m, n, qr.data(), ld, tau.data());
    for (Index i = 0; i < n; ++i) {
      if (qr[static_cast<std::size_t>(i + i * m)] == T(0)) {
        return Report(pi, static_cast<int>(i + 1));
      }
    }
    Report(pi, 0);
    Ormqr<T>(kLeft, kC, m, columns, n, qr.data(), ld, tau.data(), c.data(), ld);
    cublas::Trsm<T>(kLeft, kUpper, kN, kNonUnit, n, columns, T(1), qr.data(),
                    ld, c.data(), ld);
    for (Index j = 0; j < columns; ++j) {
      std::copy_n(c.data() + j * m, n, px + j * ldx);
    }
  });
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_SOLVE_H_
