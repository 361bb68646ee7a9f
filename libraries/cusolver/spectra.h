// Eigenvalues and singular values of one matrix or many.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_SPECTRA_H_
#define CERBERUS_LIBRARIES_CUSOLVER_SPECTRA_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "libraries/common/pointers.h"
#include "libraries/cusolver/api.h"
#include "libraries/cusolver/jacobi.h"
#include "libraries/cusolver/rocsolver.h"
#include "libraries/cusolver/spectrum.h"

namespace cerberus::libraries::cusolver {

inline std::size_t Count(Index a, Index b = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

// By columns without gaps.
template <typename T>
std::vector<T> Packed(Index m, Index n, const T* a, Index lda) {
  std::vector<T> out(Count(m, n));
  for (Index j = 0; j < n; ++j) std::copy_n(a + j * lda, m, out.data() + j * m);
  return out;
}
template <typename T>
void Unpack(Index m, Index n, const T* from, Index ld_from, T* to, Index ld) {
  for (Index j = 0; j < n; ++j) {
    std::copy_n(from + j * ld_from, m, to + j * ld);
  }
}

// |A - X diag(w) Y|, X of m rows, Y of n columns, both of `count` values.
template <typename T>
double Distance(Index m, Index n, Index count, const std::vector<T>& a,
                const T* x, Index ldx, const Real<T>* w, const T* y, Index ldy,
                Operation op_y) {
  std::vector<T> scaled(Count(m, count)), rest = a;
  for (Index j = 0; j < count; ++j) {
    for (Index i = 0; i < m; ++i) {
      scaled[Count(1, i + j * m)] = Mul(x[i + j * ldx], T(w[j]));
    }
  }
  cublas::Gemm<T>(kN, op_y, m, n, count, T(-1), scaled.data(),
                  std::max<Index>(1, m), y, ldy, T(1), rest.data(),
                  std::max<Index>(1, m));
  double sum = 0;
  for (const T& e : rest) sum += static_cast<double>(std::norm(e));
  return std::sqrt(sum);
}

// Which eigenvalues are wanted: all, the il-th to the iu-th, or those in
// (vl, vu].
template <typename R>
struct Range {
  EigRange kind = kRangeAll;
  R vl = 0, vu = 0;
  Index il = 1, iu = 1;

  bool IsFine(Index n) const {
    switch (kind) {
      case kRangeAll: return true;
      case kRangeIndex: return n == 0 || (il >= 1 && il <= iu && iu <= n);
      case kRangeValue: return vl < vu;
      default: return false;
    }
  }
  // How many are found; they come first in w, and their vectors in a.
  template <typename T>
  Index Select(Index n, R* w, T* a, Index lda) const {
    if (kind == kRangeAll || n == 0) return n;
    Index first = il - 1, end = iu;
    if (kind == kRangeValue) {
      first = std::upper_bound(w, w + n, vl) - w;
      end = std::upper_bound(w, w + n, vu) - w;
    }
    std::copy(w + first, w + end, w);
    for (Index j = first; a != nullptr && j < end; ++j) {
      if (first > 0) std::copy_n(a + j * lda, n, a + (j - first) * lda);
    }
    return end - first;
  }
};

inline bool IsEigen(EigMode mode, Fill fill, Index n, Index lda) {
  return IsMode(mode) && IsTriangle(fill) && IsSquare(n, lda);
}
inline bool IsGeneralized(int itype, EigMode mode, Fill fill, Index n,
                          Index lda, Index ldb) {
  return itype >= 1 && itype <= 3 && IsEigen(mode, fill, n, lda) &&
         IsSquare(n, ldb);
}

// All of those on the GPU.
template <typename T>
bool EigenOnRocm(Handle h, int itype, EigMode mode, Fill fill, Index n, T* a,
                 Index lda, T* b, Index ldb, Real<T>* w, int* info,
                 Status* status) {
  if (h->rocsolver == nullptr) return false;
  // The numbers beside the diagonal.
  const StreamMemory beside(*h->driver, h->stream, Count(n) * sizeof(Real<T>));
  if (!beside.has()) return false;
  if (itype == 0) {
    return Rocsolve<T>(h, Roc::kSyevd, status, mode, fill, n, a, lda, w,
                       beside.get(), info);
  }
  const auto problem = static_cast<roc::Problem>(
      static_cast<int>(roc::Problem::kAx) + itype - 1);
  return Rocsolve<T>(h, Roc::kSygvd, status, problem, mode, fill, n, a, lda, b,
                     ldb, w, beside.get(), info);
}

// Some of those, without B.
template <typename T>
bool EigenRangeOnRocm(Handle h, EigMode mode, const Range<Real<T>>& range,
                      Fill fill, Index n, T* a, Index lda, Index* found,
                      Real<T>* w, int* info, Status* status) {
  if (h->rocsolver == nullptr) return false;
  int count = 0;  // of the host, known when the function returns
  const bool taken = Rocsolve<T>(
      h, Roc::kSyevdx, status, mode,
      range.kind == kRangeIndex ? roc::Which::kIndex : roc::Which::kValue, fill,
      n, a, lda, range.vl, range.vu, range.il, range.iu, Real<T>(0), &count, w,
      info);
  *found = count;
  return taken;
}

// A x = w x (itype 0), or those of Hegvd. `found`, the host's, may be null.
template <typename T, typename M = int>
Status EigenCall(Handle h, int itype, EigMode mode, Range<Real<T>> range,
                 Fill fill, Index n, T* a, Index lda, T* b, Index ldb, M* found,
                 Real<T>* w, int* info) {
  if (itype == 0 ? !IsEigen(mode, fill, n, lda)
                 : !IsGeneralized(itype, mode, fill, n, lda, ldb)) {
    return kInvalidValue;
  }
  if (!range.IsFine(n)) return kInvalidValue;
  if (Status status = kSuccess;
      range.kind == kRangeAll && EigenOnRocm<T>(h, itype, mode, fill, n, a, lda,
                                                b, ldb, w, info, &status)) {
    if (found != nullptr) *found = static_cast<M>(n);
    return status;
  }
  Status status = kSuccess;
  if (Index count = 0; range.kind != kRangeAll && itype == 0 && n > 0 &&
                       EigenRangeOnRocm<T>(h, mode, range, fill, n, a, lda,
                                           &count, w, info, &status)) {
    if (found != nullptr) *found = static_cast<M>(count);
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, n, n, lda);
  T* pb = itype != 0 ? call.MatrixOut(b, n, n, ldb) : nullptr;
  Real<T>* pw = call.VectorOut(w, n, 1);
  int* pi = call.VectorOut(info, 1, 1);
  // How many there are in an interval is known when they are.
  const bool wait = found != nullptr && range.kind == kRangeValue;
  if (found != nullptr && !wait) {
    *found = static_cast<M>(
        n == 0 || range.kind == kRangeAll ? n : range.iu - range.il + 1);
  }
  const bool vectors = mode == kWithVectors;
  return Queue(
      call,
      [=] {
        const int failed = itype == 0 ? Heevd<T>(vectors, fill, n, pa, lda, pw)
                                      : Hegvd<T>(itype, vectors, fill, n, pa,
                                                 lda, pb, ldb, pw);
        Report(pi, failed);
        // Of a B that is not positive definite there are no eigenvalues.
        const Index count =
            failed > n ? 0 : range.Select(n, pw, vectors ? pa : nullptr, lda);
        if (wait) *found = static_cast<M>(count);
      },
      wait);
}
template <typename T>
Status SyevdCall(Handle h, int itype, EigMode mode, Fill fill, Index n, T* a,
                 Index lda, T* b, Index ldb, Real<T>* w, int* info) {
  return EigenCall<T>(h, itype, mode, {}, fill, n, a, lda, b, ldb,
                      static_cast<int*>(nullptr), w, info);
}

// What rocSOLVER's functions by Jacobi's rotations tell of one matrix, and how
// often they turn at most. With no tolerance theirs is as small as can be.
template <typename T>
struct RocJacobi {
  Real<T> residual;
  int sweeps, info;
};
inline constexpr int kMostSweeps = 100;
template <typename T>
Real<T>* ResidualIn(const StreamMemory& told) {
  return &reinterpret_cast<RocJacobi<T>*>(told.get())->residual;
}
template <typename T>
int* SweepsIn(const StreamMemory& told) {
  return &reinterpret_cast<RocJacobi<T>*>(told.get())->sweeps;
}
template <typename T>
int* InfoIn(const StreamMemory& told) {
  return &reinterpret_cast<RocJacobi<T>*>(told.get())->info;
}
// Gives the program what it told, when the stream comes to it.
template <typename T>
Status PassOn(Handle h, const StreamMemory& told, int* info, int not_converged,
              const std::shared_ptr<JacobiOutcome>& outcome) {
  Call call(h);
  const auto* from = call.In(reinterpret_cast<const RocJacobi<T>*>(told.get()),
                             sizeof(RocJacobi<T>));
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Report(pi, from->info == 0 ? 0 : not_converged);
    if (outcome == nullptr) return;
    outcome->residual = static_cast<double>(from->residual);
    outcome->sweeps = from->sweeps;
  });
}
template <typename T>
bool SyevjOnRocm(Handle h, EigMode mode, Fill fill, Index n, T* a, Index lda,
                 Real<T>* w, int* info,
                 const std::shared_ptr<JacobiOutcome>& outcome,
                 Status* status) {
  if (h->rocsolver == nullptr || n == 0) return false;
  const StreamMemory told(*h->driver, h->stream, sizeof(RocJacobi<T>));
  if (!told.has() ||
      !Rocsolve<T>(h, Roc::kSyevj, status, roc::Order::kAscending, mode, fill,
                   n, a, lda, Real<T>(0), ResidualIn<T>(told), kMostSweeps,
                   SweepsIn<T>(told), w, InfoIn<T>(told))) {
    return false;
  }
  if (*status == kSuccess) {
    *status = PassOn<T>(h, told, info, static_cast<int>(n) + 1, outcome);
  }
  return true;
}

// One matrix, with what it tells of its outcome.
template <typename T>
Status SyevjCall(Handle h, int itype, EigMode mode, Fill fill, Index n, T* a,
                 Index lda, T* b, Index ldb, Real<T>* w, int* info,
                 Jacobi jacobi) {
  if (!IsAlive(jacobi) ||
      (itype == 0 ? !IsEigen(mode, fill, n, lda)
                  : !IsGeneralized(itype, mode, fill, n, lda, ldb))) {
    return kInvalidValue;
  }
  const auto outcome = std::make_shared<JacobiOutcome>();
  jacobi->outcome = outcome;
  if (Status status = kSuccess;
      itype == 0
          ? SyevjOnRocm<T>(h, mode, fill, n, a, lda, w, info, outcome, &status)
          : EigenOnRocm<T>(h, itype, mode, fill, n, a, lda, b, ldb, w, info,
                           &status)) {
    if (itype != 0) outcome->sweeps = 1;
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, n, n, lda);
  T* pb = itype != 0 ? call.MatrixOut(b, n, n, ldb) : nullptr;
  Real<T>* pw = call.VectorOut(w, n, 1);
  int* pi = call.VectorOut(info, 1, 1);
  const bool vectors = mode == kWithVectors;
  return Queue(call, [=] {
    std::vector<T> before;
    if (itype == 0 && vectors) {
      before = Packed(n, n, pa, lda);
      for (Index j = 0; j < n; ++j) {
        before[Count(1, j + j * n)] = T(RealPart(before[Count(1, j + j * n)]));
        for (Index i = j + 1; i < n; ++i) {
          T& low = before[Count(1, i + j * n)];
          T& high = before[Count(1, j + i * n)];
          if (fill == kUpper) low = ConjOf(high);
          else high = ConjOf(low);
        }
      }
    }
    const int failed =
        itype == 0 ? Heevd<T>(vectors, fill, n, pa, lda, pw)
                   : Hegvd<T>(itype, vectors, fill, n, pa, lda, pb, ldb, pw);
    // n + 1: it did not converge; of B, n + i as it is.
    Report(pi, failed == 0 || failed > n ? failed : static_cast<int>(n) + 1);
    outcome->sweeps = 1;
    if (itype == 0 && vectors) {
      outcome->residual =
          Distance<T>(n, n, n, before, pa, lda, pw, pa, lda, kC);
    }
  });
}

// `count` matrices that follow each other.
template <typename T>
Status SyevBatched(Handle h, EigMode mode, Fill fill, Index n, T* a, Index lda,
                   Real<T>* w, int* infos, Index count) {
  if (!IsEigen(mode, fill, n, lda) || count < 0) return kInvalidValue;
  if (count == 0) return kSuccess;
  if (h->rocsolver != nullptr) {
    const StreamMemory beside(*h->driver, h->stream,
                              Count(n, count) * sizeof(Real<T>));
    Status status = kSuccess;
    if (beside.has() &&
        Rocsolve<T>(h, Roc::kSyevBatched, &status, mode, fill, n, a, lda,
                    roc::Stride{n * lda}, w, roc::Stride{n}, beside.get(),
                    roc::Stride{n}, infos, count)) {
      return status;
    }
  }
  Call call(h);
  T* pa = call.MatrixOut(a, n, n * count, lda);
  Real<T>* pw = call.VectorOut(w, n * count, 1);
  int* pi = call.VectorOut(infos, count, 1);
  return Queue(call, [=] {
    for (Index i = 0; i < count; ++i) {
      const int failed = Heevd<T>(mode == kWithVectors, fill, n,
                                  pa + i * n * lda, lda, pw + i * n);
      Report(pi ? pi + i : nullptr, failed);
    }
  });
}
template <typename T>
Status SyevjBatched(Handle h, EigMode mode, Fill fill, Index n, T* a, Index lda,
                    Real<T>* w, int* infos, Jacobi jacobi, Index count) {
  if (!IsAlive(jacobi)) return kInvalidValue;
  jacobi->outcome = nullptr;
  return SyevBatched<T>(h, mode, fill, n, a, lda, w, infos, count);
}
template <typename T>
Status SygvBatched(Handle h, int itype, EigMode mode, Fill fill, Index n, T* a,
                   Index lda, Index step_a, T* b, Index ldb, Index step_b,
                   Real<T>* w, Index step_w, int* infos, Index count) {
  if (!IsGeneralized(itype, mode, fill, n, lda, ldb) || count < 0) {
    return kInvalidValue;
  }
  if (count == 0) return kSuccess;
  Call call(h);
  const Strided<T> pa(a, step_a, count,
                      [&](T* p) { return call.MatrixOut(p, n, n, lda); });
  const Strided<T> pb(b, step_b, count,
                      [&](T* p) { return call.MatrixOut(p, n, n, ldb); });
  const Strided<Real<T>> pw(
      w, step_w, count, [&](Real<T>* p) { return call.VectorOut(p, n, 1); });
  int* pi = call.VectorOut(infos, count, 1);
  return Queue(call, [=] {
    for (Index i = 0; i < count; ++i) {
      const int failed = Hegvd<T>(itype, mode == kWithVectors, fill, n, pa[i],
                                  lda, pb[i], ldb, pw[i]);
      Report(pi ? pi + i : nullptr, failed);
    }
  });
}

inline bool IsStedc(EigComp comp, Index n, Index ldz) {
  if (comp == kCompNone) return n >= 0;
  return (comp == kCompIdentity || comp == kCompGiven) && IsSquare(n, ldz);
}

// Eigenvalues of the matrix with diagonal d and e beside it, and in `z` its
// vectors, or those of the matrix that was turned to it by what z holds.
template <typename T>
Status StedcCall(Handle h, EigComp comp, Index n, Real<T>* d, Real<T>* e, T* z,
                 Index ldz, int* info) {
  if (!IsStedc(comp, n, ldz)) return kInvalidValue;
  Call call(h);
  Real<T>* pd = call.VectorOut(d, n, 1);
  Real<T>* pe = call.VectorOut(e, n - 1, 1);
  T* pz = comp != kCompNone ? call.MatrixOut(z, n, n, ldz) : nullptr;
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    const Index ld = std::max<Index>(1, n);
    std::vector<T> full(Count(n, n));
    for (Index i = 0; i < n; ++i) {
      full[Count(1, i + i * n)] = T(pd[i]);
      if (i + 1 < n) full[Count(1, i + 1 + i * n)] = T(pe[i]);
    }
    Report(pi, Heevd<T>(pz != nullptr, kLower, n, full.data(), ld, pd));
    std::fill_n(pe, std::max<Index>(0, n - 1), Real<T>(0));
    if (pz == nullptr) return;
    const std::vector<T> first = Packed(n, n, pz, ldz);
    if (comp == kCompIdentity) {
      Unpack(n, n, full.data(), n, pz, ldz);
    } else {
      cublas::Gemm<T>(kN, kN, n, n, n, T(1), first.data(), ld, full.data(), ld,
                      T(0), pz, ldz);
    }
  });
}

// The eigenvalues of a real matrix stand as complex numbers, or as real parts
// and, behind them, imaginary parts; vectors as complex ones, or as LAPACK has
// them: real and imaginary part of a pair's first.
template <typename T, typename W, typename V>
Status GeevCall(Handle h, EigMode left, EigMode right, Index n, T* a, Index lda,
                W* w, V* vl, Index ldvl, V* vr, Index ldvr, int* info) {
  using C = std::complex<Real<T>>;
  if (!IsMode(left) || !IsMode(right) || !IsSquare(n, lda) ||
      (left == kWithVectors && !IsSquare(n, ldvl)) ||
      (right == kWithVectors && !IsSquare(n, ldvr))) {
    return kInvalidValue;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, n, n, lda);
  W* pw = call.VectorOut(w, kIsComplex<W> ? n : 2 * n, 1);
  V* pl = left == kWithVectors ? call.MatrixOut(vl, n, n, ldvl) : nullptr;
  V* pr = right == kWithVectors ? call.MatrixOut(vr, n, n, ldvr) : nullptr;
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    std::vector<C> values(Count(n)), of_left(pl ? Count(n, n) : 0),
        of_right(pr ? Count(n, n) : 0);
    const Index ld = std::max<Index>(1, n);
    Report(pi, Geev<T>(n, pa, lda, values.data(), pl ? of_left.data() : nullptr,
                       ld, pr ? of_right.data() : nullptr, ld));
    for (Index i = 0; i < n; ++i) {
      const C value = values[Count(1, i)];
      if constexpr (kIsComplex<W>) pw[i] = value;
      else pw[i] = value.real(), pw[n + i] = value.imag();
    }
    const auto store = [&](const std::vector<C>& from, V* to, Index ldv) {
      for (Index j = 0; to != nullptr && j < n; ++j) {
        const bool second = values[Count(1, j)].imag() < 0;
        for (Index i = 0; i < n; ++i) {
          const C value = from[Count(1, i + j * n)];
          if constexpr (kIsComplex<V>) to[i + j * ldv] = value;
          else to[i + j * ldv] = second ? -value.imag() : value.real();
        }
      }
    };
    store(of_left, pl, ldvl);
    store(of_right, pr, ldvr);
  });
}

// 'A', 'S', 'O' or 'N' for each side: all vectors, as many as there are values,
// those in place of A, none.
template <typename T>
int SingularTo(char job_u, char job_v, Index m, Index n, T* a, Index lda,
               Real<T>* s, T* u, Index ldu, T* vh, Index ldvh) {
  const Vectors vectors = job_u == 'A' || job_v == 'A'   ? Vectors::kAll
                          : job_u == 'N' && job_v == 'N' ? Vectors::kNone
                                                         : Vectors::kSome;
  const bool all = vectors == Vectors::kAll;
  const Index least = std::min(m, n);
  const Index columns = all ? m : least, rows = all ? n : least;
  const Index ld = std::max<Index>(1, m), ld_v = std::max<Index>(1, rows);
  std::vector<T> left, right;
  if (vectors != Vectors::kNone) {
    left.resize(Count(m, columns) + 1);
    right.resize(Count(rows, n) + 1);
  }
  const int info =
      Gesvd<T>(vectors, m, n, a, lda, s, left.data(), ld, right.data(), ld_v);
  if (job_u != 'N') {
    Unpack(m, job_u == 'A' ? m : least, left.data(), ld, job_u == 'O' ? a : u,
           job_u == 'O' ? lda : ldu);
  }
  if (job_v != 'N') {
    Unpack(job_v == 'A' ? n : least, n, right.data(), ld_v,
           job_v == 'O' ? a : vh, job_v == 'O' ? lda : ldvh);
  }
  return info;
}

inline bool IsJob(char job) {
  return job == 'A' || job == 'S' || job == 'O' || job == 'N';
}
inline roc::Singular SingularOf(char job) {
  switch (job) {
    case 'A': return roc::Singular::kAll;
    case 'S': return roc::Singular::kSome;
    case 'O': return roc::Singular::kOverwrite;
    default: return roc::Singular::kNone;
  }
}
template <typename T>
bool SingularOnRocm(Handle h, char job_u, char job_v, Index m, Index n, T* a,
                    Index lda, Real<T>* s, T* u, Index ldu, T* vh, Index ldvh,
                    int* info, Status* status) {
  if (h->rocsolver == nullptr) return false;
  const StreamMemory beside(*h->driver, h->stream,
                            Count(std::min(m, n)) * sizeof(Real<T>));
  // It wants to be told of those that it does not touch, too.
  const bool has_u = job_u == 'A' || job_u == 'S',
             has_v = job_v == 'A' || job_v == 'S';
  return beside.has() &&
         Rocsolve<T>(h, Roc::kGesvd, status, SingularOf(job_u),
                     SingularOf(job_v), m, n, a, lda, s, has_u ? u : a,
                     has_u ? ldu : std::max<Index>(m, lda), has_v ? vh : a,
                     has_v ? ldvh : std::max<Index>(n, lda), beside.get(),
                     roc::WorkMode::kOutOfPlace, info);
}
template <typename T>
Status GesvdCall(Handle h, signed char u_job, signed char v_job, Index m,
                 Index n, T* a, Index lda, Real<T>* s, T* u, Index ldu, T* vh,
                 Index ldvh, int* info) {
  const char job_u = static_cast<char>(u_job), job_v = static_cast<char>(v_job);
  const Index least = std::min(m, n);
  const bool has_u = job_u == 'A' || job_u == 'S',
             has_v = job_v == 'A' || job_v == 'S';
  const Index rows_v = job_v == 'A' ? n : least;
  if (!IsJob(job_u) || !IsJob(job_v) || (job_u == 'O' && job_v == 'O') ||
      !IsMatrix(m, n, lda) || (has_u && !IsMatrix(m, m, ldu)) ||
      (has_v && !IsMatrix(rows_v, n, ldvh))) {
    return kInvalidValue;
  }
  if (Status status = kSuccess; SingularOnRocm<T>(
          h, job_u, job_v, m, n, a, lda, s, u, ldu, vh, ldvh, info, &status)) {
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, m, n, lda);
  Real<T>* ps = call.VectorOut(s, least, 1);
  T* pu = has_u ? call.MatrixOut(u, m, job_u == 'A' ? m : least, ldu) : nullptr;
  T* pv = has_v ? call.MatrixOut(vh, rows_v, n, ldvh) : nullptr;
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    Report(pi,
           SingularTo<T>(job_u, job_v, m, n, pa, lda, ps, pu, ldu, pv, ldvh));
  });
}

// A = U S V^H with V itself, of which `columns` are wanted, as of U. Without
// vectors u is null.
template <typename T>
int SingularWithV(bool all, Index m, Index n, Index columns_u, Index columns_v,
                  T* a, Index lda, Real<T>* s, T* u, Index ldu, T* v,
                  Index ldv) {
  const bool vectors = u != nullptr || v != nullptr;
  const Index least = std::min(m, n), rows = all ? n : least;
  const Index ld = std::max<Index>(1, m), ld_v = std::max<Index>(1, rows);
  std::vector<T> left(vectors ? Count(m, all ? m : least) + 1 : 0);
  std::vector<T> right(vectors ? Count(rows, n) + 1 : 0);
  const int info =
      Gesvd<T>(!vectors ? Vectors::kNone
               : all    ? Vectors::kAll
                        : Vectors::kSome,
               m, n, a, lda, s, left.data(), ld, right.data(), ld_v);
  if (u != nullptr) Unpack(m, columns_u, left.data(), ld, u, ldu);
  for (Index j = 0; v != nullptr && j < columns_v; ++j) {
    for (Index i = 0; i < n; ++i) {
      v[i + j * ldv] = ConjOf(right[Count(1, j + i * ld_v)]);
    }
  }
  return info;
}

inline bool IsSingular(EigMode mode, Index m, Index n, Index lda, Index ldu,
                       Index ldv) {
  return IsMode(mode) && IsMatrix(m, n, lda) &&
         (mode == kNoVectors || (IsSquare(m, ldu) && IsSquare(n, ldv)));
}
// Vectors of rocSOLVER's where there are none go nowhere, but must be told.
template <typename T>
bool GesvdjOnRocm(Handle h, EigMode mode, bool all, Index m, Index n, T* a,
                  Index lda, Real<T>* s, T* u, Index ldu, T* v, Index ldv,
                  int* info, const std::shared_ptr<JacobiOutcome>& outcome,
                  Status* status) {
  if (h->rocsolver == nullptr || m == 0 || n == 0) return false;
  const bool vectors = mode == kWithVectors;
  const roc::Singular which = !vectors ? roc::Singular::kNone
                              : all    ? roc::Singular::kAll
                                       : roc::Singular::kSome;
  const StreamMemory told(*h->driver, h->stream, sizeof(RocJacobi<T>));
  if (!told.has() ||
      !Rocsolve<T>(h, Roc::kGesvdj, status, which, which, m, n, a, lda,
                   Real<T>(0), ResidualIn<T>(told), kMostSweeps,
                   SweepsIn<T>(told), s, vectors ? u : a,
                   vectors ? ldu : std::max<Index>(m, lda), vectors ? v : a,
                   vectors ? ldv : std::max<Index>(n, lda), InfoIn<T>(told))) {
    return false;
  }
  if (*status == kSuccess) {
    *status =
        PassOn<T>(h, told, info, static_cast<int>(std::min(m, n)) + 1, outcome);
  }
  return true;
}
// gesvdj, and gesvdp, which tells how far off singular values may be.
template <typename T>
Status GesvdjCall(Handle h, EigMode mode, int econ, Index m, Index n, T* a,
                  Index lda, Real<T>* s, T* u, Index ldu, T* v, Index ldv,
                  int* info, const std::shared_ptr<JacobiOutcome>& outcome) {
  if (!IsSingular(mode, m, n, lda, ldu, ldv)) return kInvalidValue;
  const bool vectors = mode == kWithVectors, all = econ == 0;
  const Index least = std::min(m, n);
  const Index of_u = all ? m : least, of_v = all ? n : least;
  if (Status status = kSuccess;
      GesvdjOnRocm<T>(h, mode, all, m, n, a, lda, s, u, ldu, v, ldv, info,
                      outcome, &status)) {
    return status;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, m, n, lda);
  Real<T>* ps = call.VectorOut(s, least, 1);
  T* pu = vectors ? call.MatrixOut(u, m, of_u, ldu) : nullptr;
  T* pv = vectors ? call.MatrixOut(v, n, of_v, ldv) : nullptr;
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    std::vector<T> before;
    if (vectors && outcome != nullptr) before = Packed(m, n, pa, lda);
    const int failed =
        SingularWithV<T>(all, m, n, of_u, of_v, pa, lda, ps, pu, ldu, pv, ldv);
    Report(pi, failed == 0 ? 0 : static_cast<int>(least) + 1);
    if (outcome == nullptr) return;
    outcome->sweeps = 1;
    if (vectors) {
      outcome->residual =
          Distance<T>(m, n, least, before, pu, ldu, ps, pv, ldv, kC);
    }
  });
}
template <typename T>
Status GesvdjOfOne(Handle h, EigMode mode, int econ, Index m, Index n, T* a,
                   Index lda, Real<T>* s, T* u, Index ldu, T* v, Index ldv,
                   int* info, Jacobi jacobi) {
  if (!IsAlive(jacobi)) return kInvalidValue;
  jacobi->outcome = std::make_shared<JacobiOutcome>();
  return GesvdjCall<T>(h, mode, econ, m, n, a, lda, s, u, ldu, v, ldv, info,
                       jacobi->outcome);
}

template <typename T>
Status GesvdjBatched(Handle h, EigMode mode, Index m, Index n, T* a, Index lda,
                     Real<T>* s, T* u, Index ldu, T* v, Index ldv, int* infos,
                     Jacobi jacobi, Index count) {
  if (!IsAlive(jacobi) || !IsSingular(mode, m, n, lda, ldu, ldv) || count < 0) {
    return kInvalidValue;
  }
  jacobi->outcome = nullptr;
  if (count == 0) return kSuccess;
  const bool vectors = mode == kWithVectors;
  const Index least = std::min(m, n);
  if (h->rocsolver != nullptr && least > 0) {
    // A residual, a count of sweeps and an info of each.
    const std::size_t each = Count(count);
    const StreamMemory told(*h->driver, h->stream,
                            each * (sizeof(Real<T>) + 2 * sizeof(int)));
    auto* const residuals = reinterpret_cast<Real<T>*>(told.get());
    auto* const sweeps = reinterpret_cast<int*>(residuals + each);
    int* const own_infos = sweeps + each;
    const roc::Singular which =
        vectors ? roc::Singular::kAll : roc::Singular::kNone;
    Status status = kSuccess;
    if (told.has() &&
        Rocsolve<T>(h, Roc::kGesvdjBatched, &status, which, which, m, n, a, lda,
                    roc::Stride{n * lda}, Real<T>(0), residuals, kMostSweeps,
                    sweeps, s, roc::Stride{least}, vectors ? u : a,
                    vectors ? ldu : std::max<Index>(m, lda),
                    roc::Stride{vectors ? m * ldu : 0}, vectors ? v : a,
                    vectors ? ldv : std::max<Index>(n, lda),
                    roc::Stride{vectors ? n * ldv : 0}, own_infos, count)) {
      if (status != kSuccess) return status;
      Call call(h);
      const auto* from =
          call.In(static_cast<const int*>(own_infos), each * sizeof(int));
      int* pi = call.VectorOut(infos, count, 1);
      return Queue(call, [=] {
        for (Index i = 0; pi != nullptr && i < count; ++i) {
          pi[i] = from[i] == 0 ? 0 : static_cast<int>(least) + 1;
        }
      });
    }
  }
  Call call(h);
  T* pa = call.MatrixOut(a, m, n * count, lda);
  Real<T>* ps = call.VectorOut(s, least * count, 1);
  T* pu = vectors ? call.MatrixOut(u, m, m * count, ldu) : nullptr;
  T* pv = vectors ? call.MatrixOut(v, n, n * count, ldv) : nullptr;
  int* pi = call.VectorOut(infos, count, 1);
  return Queue(call, [=] {
    for (Index i = 0; i < count; ++i) {
      const int failed = SingularWithV<T>(
          /*all=*/true, m, n, m, n, pa + i * n * lda, lda, ps + i * least,
          pu ? pu + i * m * ldu : nullptr, ldu, pv ? pv + i * n * ldv : nullptr,
          ldv);
      Report(pi ? pi + i : nullptr,
             failed == 0 ? 0 : static_cast<int>(least) + 1);
    }
  });
}

inline bool IsTruncated(EigMode mode, Index rank, Index m, Index n, Index lda,
                        Index ldu, Index ldv) {
  return IsMode(mode) && IsMatrix(m, n, lda) && rank >= 0 &&
         rank <= std::min(m, n) &&
         (mode == kNoVectors ||
          (IsMatrix(m, rank, ldu) && IsMatrix(n, rank, ldv)));
}
// The `rank` largest of each matrix. `distances`, the host's: |A - U S V^H|.
template <typename T>
Status GesvdaBatched(Handle h, EigMode mode, Index rank, Index m, Index n,
                     const T* a, Index lda, long long step_a, Real<T>* s,
                     long long step_s, T* u, Index ldu, long long step_u, T* v,
                     Index ldv, long long step_v, int* infos, double* distances,
                     Index count) {
  if (!IsTruncated(mode, rank, m, n, lda, ldu, ldv) || m < n || count < 0) {
    return kInvalidValue;
  }
  if (count == 0) return kSuccess;
  const bool vectors = mode == kWithVectors;
  Call call(h);
  const Strided<const T> pa(
      a, step_a, count, [&](const T* p) { return call.Matrix(p, m, n, lda); });
  const Strided<Real<T>> ps(
      s, step_s, count, [&](Real<T>* p) { return call.VectorOut(p, rank, 1); });
  const auto map = [&](Index rows, Index ld) {
    return [&call, vectors, rank, rows, ld](T* p) -> T* {
      return vectors ? call.MatrixOut(p, rows, rank, ld) : nullptr;
    };
  };
  const Strided<T> pu(vectors ? u : nullptr, vectors ? step_u : 0, count,
                      map(m, ldu));
  const Strided<T> pv(vectors ? v : nullptr, vectors ? step_v : 0, count,
                      map(n, ldv));
  int* pi = call.VectorOut(infos, count, 1);
  return Queue(
      call,
      [=] {
        for (Index i = 0; i < count; ++i) {
          const std::vector<T> before = Packed(m, n, pa[i], lda);
          std::vector<T> own = before;
          std::vector<Real<T>> values(Count(n) + 1);
          const int failed = SingularWithV<T>(
              /*all=*/false, m, n, rank, rank, own.data(),
              std::max<Index>(1, m), values.data(), pu[i], ldu, pv[i], ldv);
          std::copy_n(values.begin(), rank, ps[i]);
          Report(pi ? pi + i : nullptr, failed);
          if (distances != nullptr && vectors) {
            distances[i] = Distance<T>(m, n, rank, before, pu[i], ldu, ps[i],
                                       pv[i], ldv, kC);
          }
        }
      },
      distances != nullptr && vectors);
}

// The k largest; NVIDIA's finds them by a random sample of A.
template <typename T>
Status GesvdrCall(Handle h, signed char u_job, signed char v_job, Index m,
                  Index n, Index k, Index p, Index iterations, T* a, Index lda,
                  Real<T>* s, T* u, Index ldu, T* v, Index ldv, int* info) {
  const bool has_u = u_job == 'S', has_v = v_job == 'S';
  if ((!has_u && u_job != 'N') || (!has_v && v_job != 'N') ||
      !IsMatrix(m, n, lda) || k < 0 || k > std::min(m, n) || p < 0 ||
      iterations < 0 || (has_u && !IsMatrix(m, k, ldu)) ||
      (has_v && !IsMatrix(n, k, ldv))) {
    return kInvalidValue;
  }
  Call call(h);
  T* pa = call.MatrixOut(a, m, n, lda);
  Real<T>* ps = call.VectorOut(s, k, 1);
  T* pu = has_u ? call.MatrixOut(u, m, k, ldu) : nullptr;
  T* pv = has_v ? call.MatrixOut(v, n, k, ldv) : nullptr;
  int* pi = call.VectorOut(info, 1, 1);
  return Queue(call, [=] {
    std::vector<Real<T>> values(Count(std::min(m, n)) + 1);
    Report(pi, SingularWithV<T>(/*all=*/false, m, n, k, k, pa, lda,
                                values.data(), pu, ldu, pv, ldv));
    std::copy_n(values.begin(), k, ps);
  });
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_SPECTRA_H_
