// A rocSOLVER without a GPU, beside the rocBLAS of fake_rocblas.cc: it writes
// down how it is called, waits for the stream, and computes as the host does.
#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "libraries/common/driver.h"
#include "libraries/cusolver/factor.h"
#include "libraries/cusolver/orthogonal.h"
#include "libraries/cusolver/rocsolver.h"
#include "libraries/cusolver/spectrum.h"
#include "tests/unit/libraries/fake_rocm.h"

namespace cerberus::libraries::tests {
namespace {

using namespace cusolver;
using roc::Status;

// The other way round. What is none of rocSOLVER's becomes none of LAPACK's.
Fill Back(roc::Fill fill) {
  return fill == roc::Fill::kUpper ? kUpper : kLower;
}
Side Back(roc::Side side) { return side == roc::Side::kLeft ? kLeft : kRight; }
Diag Back(roc::Diagonal diag) {
  return diag == roc::Diagonal::kUnit ? kUnit : kNonUnit;
}
Operation Back(roc::Operation op) {
  return static_cast<Operation>(static_cast<int>(op) - 111);
}
bool Back(roc::Eigenvectors v) { return v == roc::Eigenvectors::kOriginal; }

template <typename T>
std::string Symbol(const char* real, const char* complex) {
  return std::string("rocsolver_") + "sdcz"[kLetterOf<T>] +
         (kIsComplex<T> ? complex : real);
}
template <typename T, typename F, typename... A>
Status Do(void* handle, const char* real, const char* complex, const F& compute,
          const A&... arguments) {
  const int answer = Note(handle, Symbol<T>(real, complex), arguments...);
  if (answer != 0) return static_cast<Status>(answer);
  const Driver& driver = *FindDriver();
  const auto stream = static_cast<Stream>(StreamOf(handle));
  if (IsCaptured(driver, stream)) return Status::kMemoryError;
  if (driver.synchronize(stream) != 0) return Status::kInternalError;
  compute();
  return Status::kSuccess;
}
// Real matrices are not conjugated there.
template <typename T>
bool IsTurned(roc::Operation op) {
  return kIsComplex<T> || op != roc::Operation::kConjugate;
}

template <typename T>
struct Of {
  using R = Real<T>;
  static Status getrf(void* h, int m, int n, T* a, int lda, int* p, int* i) {
    return Do<T>(
        h, "getrf", "getrf", [=] { *i = Getrf<T>(m, n, a, lda, p); }, m, n, a,
        lda, p, i);
  }
  static Status getrf_npvt(void* h, int m, int n, T* a, int lda, int* i) {
    return Do<T>(
        h, "getrf_npvt", "getrf_npvt",
        [=] { *i = Getrf<T>(m, n, a, lda, nullptr); }, m, n, a, lda, i);
  }
  static Status getrs(void* h, roc::Operation op, int n, int columns,
                      const T* a, int lda, const int* p, T* b, int ldb) {
    if (!IsTurned<T>(op)) return Status::kInvalidValue;
    return Do<T>(
        h, "getrs", "getrs",
        [=] { cublas::Getrs<T>(Back(op), n, columns, a, lda, p, b, ldb); }, op,
        n, columns, a, lda, p, b, ldb);
  }
  static Status potrf(void* h, roc::Fill fill, int n, T* a, int lda, int* i) {
    return Do<T>(
        h, "potrf", "potrf", [=] { *i = Potrf<T>(Back(fill), n, a, lda); },
        fill, n, a, lda, i);
  }
  static Status potrs(void* h, roc::Fill fill, int n, int columns, const T* a,
                      int lda, T* b, int ldb) {
    return Do<T>(
        h, "potrs", "potrs",
        [=] { Potrs<T>(Back(fill), n, columns, a, lda, b, ldb); }, fill, n,
        columns, a, lda, b, ldb);
  }
  static Status potri(void* h, roc::Fill fill, int n, T* a, int lda, int* i) {
    return Do<T>(
        h, "potri", "potri", [=] { *i = Potri<T>(Back(fill), n, a, lda); },
        fill, n, a, lda, i);
  }
  static Status trtri(void* h, roc::Fill fill, roc::Diagonal diag, int n, T* a,
                      int lda, int* i) {
    return Do<T>(
        h, "trtri", "trtri",
        [=] { *i = Trtri<T>(Back(fill), Back(diag), n, a, lda); }, fill, diag,
        n, a, lda, i);
  }
  static Status potrf_batched(void* h, roc::Fill fill, int n, T* const* a,
                              int lda, int* i, int count) {
    return Do<T>(
        h, "potrf_batched", "potrf_batched",
        [=] {
          for (int k = 0; k < count; ++k) {
            i[k] = Potrf<T>(Back(fill), n, a[k], lda);
          }
        },
        fill, n, a, lda, i, count);
  }
  static Status potrs_batched(void* h, roc::Fill fill, int n, int columns,
                              T* const* a, int lda, T* const* b, int ldb,
                              int count) {
    return Do<T>(
        h, "potrs_batched", "potrs_batched",
        [=] {
          for (int k = 0; k < count; ++k) {
            Potrs<T>(Back(fill), n, columns, a[k], lda, b[k], ldb);
          }
        },
        fill, n, columns, a, lda, b, ldb, count);
  }
  static Status sytrf(void* h, roc::Fill fill, int n, T* a, int lda, int* p,
                      int* i) {
    return Do<T>(
        h, "sytrf", "sytrf",
        [=] { *i = Sytrf<T>(false, Back(fill), n, a, lda, p); }, fill, n, a,
        lda, p, i);
  }
  static Status geqrf(void* h, int m, int n, T* a, int lda, T* tau) {
    return Do<T>(
        h, "geqrf", "geqrf", [=] { Geqrf<T>(m, n, a, lda, tau); }, m, n, a, lda,
        tau);
  }
  static Status orgqr(void* h, int m, int n, int k, T* a, int lda,
                      const T* tau) {
    return Do<T>(
        h, "orgqr", "ungqr", [=] { Orgqr<T>(m, n, k, a, lda, tau); }, m, n, k,
        a, lda, tau);
  }
  static Status ormqr(void* h, roc::Side side, roc::Operation op, int m, int n,
                      int k, const T* a, int lda, const T* tau, T* c, int ldc) {
    if (!IsTurned<T>(op)) return Status::kInvalidValue;
    return Do<T>(
        h, "ormqr", "unmqr",
        [=] { Ormqr<T>(Back(side), Back(op), m, n, k, a, lda, tau, c, ldc); },
        side, op, m, n, k, a, lda, tau, c, ldc);
  }
  static Status gebrd(void* h, int m, int n, T* a, int lda, R* d, R* e, T* q,
                      T* p) {
    return Do<T>(
        h, "gebrd", "gebrd", [=] { Gebrd<T>(m, n, a, lda, d, e, q, p); }, m, n,
        a, lda, d, e, q, p);
  }
  static Status orgbr(void* h, roc::Storage store, int m, int n, int k, T* a,
                      int lda, const T* tau) {
    const Side side = store == roc::Storage::kColumns ? kLeft : kRight;
    return Do<T>(
        h, "orgbr", "ungbr", [=] { Orgbr<T>(side, m, n, k, a, lda, tau); },
        store, m, n, k, a, lda, tau);
  }
  static Status sytrd(void* h, roc::Fill fill, int n, T* a, int lda, R* d, R* e,
                      T* tau) {
    return Do<T>(
        h, "sytrd", "hetrd",
        [=] { Sytrd<T>(Back(fill), n, a, lda, d, e, tau); }, fill, n, a, lda, d,
        e, tau);
  }
  static Status orgtr(void* h, roc::Fill fill, int n, T* a, int lda,
                      const T* tau) {
    return Do<T>(
        h, "orgtr", "ungtr", [=] { Orgtr<T>(Back(fill), n, a, lda, tau); },
        fill, n, a, lda, tau);
  }
  static Status ormtr(void* h, roc::Side side, roc::Fill fill,
                      roc::Operation op, int m, int n, const T* a, int lda,
                      const T* tau, T* c, int ldc) {
    if (!IsTurned<T>(op)) return Status::kInvalidValue;
    return Do<T>(
        h, "ormtr", "unmtr",
        [=] {
          Ormtr<T>(Back(side), Back(fill), Back(op), m, n, a, lda, tau, c, ldc);
        },
        side, fill, op, m, n, a, lda, tau, c, ldc);
  }
  static Status syevd(void* h, roc::Eigenvectors v, roc::Fill fill, int n, T* a,
                      int lda, R* w, R* e, int* i) {
    return Do<T>(
        h, "syevd", "heevd",
        [=] { *i = Heevd<T>(Back(v), Back(fill), n, a, lda, w); }, v, fill, n,
        a, lda, w, e, i);
  }
  static Status sygvd(void* h, roc::Problem type, roc::Eigenvectors v,
                      roc::Fill fill, int n, T* a, int lda, T* b, int ldb, R* w,
                      R* e, int* i) {
    const int itype = static_cast<int>(type) - 220;
    return Do<T>(
        h, "sygvd", "hegvd",
        [=] {
          *i = Hegvd<T>(itype, Back(v), Back(fill), n, a, lda, b, ldb, w);
        },
        type, v, fill, n, a, lda, b, ldb, w, e, i);
  }
  static Status syevd_strided_batched(void* h, roc::Eigenvectors v,
                                      roc::Fill fill, int n, T* a, int lda,
                                      roc::Stride step, R* w,
                                      roc::Stride step_w, R* e,
                                      roc::Stride step_e, int* i, int count) {
    return Do<T>(
        h, "syevd_strided_batched", "heevd_strided_batched",
        [=] {
          for (int k = 0; k < count; ++k) {
            i[k] = Heevd<T>(Back(v), Back(fill), n,
                            a + k * static_cast<Index>(step), lda,
                            w + k * static_cast<Index>(step_w));
          }
        },
        v, fill, n, a, lda, step, w, step_w, e, step_e, i, count);
  }
  // It tells that it has turned twice.
  static Status syevj(void* h, roc::Order order, roc::Eigenvectors v,
                      roc::Fill fill, int n, T* a, int lda, R tolerance,
                      R* residual, int most, int* sweeps, R* w, int* i) {
    return Do<T>(
        h, "syevj", "heevj",
        [=] {
          const int failed = Heevd<T>(Back(v), Back(fill), n, a, lda, w);
          *i = failed == 0 ? 0 : 1;
          *residual = std::ldexp(R(1), -60);
          *sweeps = 2;
        },
        order, v, fill, n, a, lda, tolerance, residual, most, sweeps, w, i);
  }
  static Status syevdx_inplace(void* h, roc::Eigenvectors v, roc::Which which,
                               roc::Fill fill, int n, T* a, int lda, R low,
                               R high, int first, int last, R tolerance,
                               int* found, R* w, int* i) {
    return Do<T>(
        h, "syevdx_inplace", "heevdx_inplace",
        [=] {
          *i = Heevd<T>(Back(v), Back(fill), n, a, lda, w);
          int from = first - 1, end = last;
          if (which == roc::Which::kValue) {
            from = static_cast<int>(std::upper_bound(w, w + n, low) - w);
            end = static_cast<int>(std::upper_bound(w, w + n, high) - w);
          }
          std::copy(w + from, w + end, w);
          for (int j = from; Back(v) && j < end && from > 0; ++j) {
            std::copy_n(a + j * lda, n, a + (j - from) * lda);
          }
          *found = end - from;
        },
        v, which, fill, n, a, lda, low, high, first, last, tolerance, found, w,
        i);
  }
  // V has its vectors as columns.
  static void Rotate(roc::Singular which, int m, int n, T* a, int lda,
                     R* residual, int* sweeps, R* s, T* u, int ldu, T* v,
                     int ldv, int* i) {
    const int least = std::min(m, n);
    std::vector<T> all_u(static_cast<std::size_t>(m * m)),
        all_v(static_cast<std::size_t>(n * n));
    const int failed = Gesvd<T>(Vectors::kAll, m, n, a, lda, s, all_u.data(), m,
                                all_v.data(), n);
    *i = failed == 0 ? 0 : 1;
    *residual = std::ldexp(R(1), -60);
    *sweeps = 2;
    if (which == roc::Singular::kNone) return;
    const bool all = which == roc::Singular::kAll;
    for (int j = 0; j < (all ? m : least); ++j) {
      std::copy_n(all_u.data() + j * m, m, u + j * ldu);
    }
    for (int j = 0; j < (all ? n : least); ++j) {
      for (int k = 0; k < n; ++k) {
        const T value =
            all_v[static_cast<std::size_t>(j) +
                  static_cast<std::size_t>(k) * static_cast<std::size_t>(n)];
        if constexpr (kIsComplex<T>) v[k + j * ldv] = std::conj(value);
        else v[k + j * ldv] = value;
      }
    }
  }
  static Status gesvdj_notransv(void* h, roc::Singular left,
                                roc::Singular right, int m, int n, T* a,
                                int lda, R tolerance, R* residual, int most,
                                int* sweeps, R* s, T* u, int ldu, T* v, int ldv,
                                int* i) {
    return Do<T>(
        h, "gesvdj_notransv", "gesvdj_notransv",
        [=] {
          Rotate(left, m, n, a, lda, residual, sweeps, s, u, ldu, v, ldv, i);
        },
        left, right, m, n, a, lda, tolerance, residual, most, sweeps, s, u, ldu,
        v, ldv, i);
  }
  static Status gesvdj_notransv_strided_batched(
      void* h, roc::Singular left, roc::Singular right, int m, int n, T* a,
      int lda, roc::Stride step, R tolerance, R* residual, int most,
      int* sweeps, R* s, roc::Stride step_s, T* u, int ldu, roc::Stride step_u,
      T* v, int ldv, roc::Stride step_v, int* i, int count) {
    return Do<T>(
        h, "gesvdj_notransv_strided_batched", "gesvdj_notransv_strided_batched",
        [=] {
          for (int k = 0; k < count; ++k) {
            const auto at = static_cast<Index>(k);
            Rotate(left, m, n, a + at * static_cast<Index>(step), lda,
                   residual + k, sweeps + k,
                   s + at * static_cast<Index>(step_s),
                   u + at * static_cast<Index>(step_u), ldu,
                   v + at * static_cast<Index>(step_v), ldv, i + k);
          }
        },
        left, right, m, n, a, lda, step, tolerance, residual, most, sweeps, s,
        step_s, u, ldu, step_u, v, ldv, step_v, i, count);
  }
  // As many vectors as are asked for, of a copy that has all.
  static Status gesvd(void* h, roc::Singular left, roc::Singular right, int m,
                      int n, T* a, int lda, R* s, T* u, int ldu, T* v, int ldv,
                      R* e, roc::WorkMode mode, int* i) {
    const auto compute = [=] {
      const int least = std::min(m, n);
      std::vector<T> all_u(static_cast<std::size_t>(m * m)),
          all_v(static_cast<std::size_t>(n * n));
      *i = Gesvd<T>(Vectors::kAll, m, n, a, lda, s, all_u.data(), m,
                    all_v.data(), n);
      // Where they go, and how many of them: some also in place of A.
      const auto copy = [&](roc::Singular which, int all, T* to, int ld,
                            const T* from, int ld_from, bool rows) {
        if (which == roc::Singular::kNone) return;
        const bool over = which == roc::Singular::kOverwrite;
        const int count = which == roc::Singular::kAll ? all : least;
        for (int j = 0; j < (rows ? n : count); ++j) {
          std::copy_n(from + j * ld_from, rows ? count : m,
                      over ? a + j * lda : to + j * ld);
        }
      };
      copy(left, m, u, ldu, all_u.data(), m, /*rows=*/false);
      copy(right, n, v, ldv, all_v.data(), n, /*rows=*/true);
    };
    return Do<T>(h, "gesvd", "gesvd", compute, left, right, m, n, a, lda, s, u,
                 ldu, v, ldv, e, mode, i);
  }
};

}  // namespace
}  // namespace cerberus::libraries::tests

// By their names: each jumps through a slot.
#define FAKE_ONE(symbol, T, name)                                        \
  extern "C" __attribute__((visibility("hidden"))) void* slot_##symbol;  \
  void* slot_##symbol =                                                  \
      reinterpret_cast<void*>(&cerberus::libraries::tests::Of<T>::name); \
  __asm__(".globl rocsolver_" #symbol "\n.type rocsolver_" #symbol       \
          ", @function\nrocsolver_" #symbol ":\njmpq *slot_" #symbol     \
          "(%rip)\n");
#define FAKE_FOUR(real, complex)                                       \
  FAKE_ONE(s##real, float, real)                                       \
  FAKE_ONE(d##real, double, real)                                      \
  FAKE_ONE(c##complex, cerberus::libraries::cusolver::Complex32, real) \
  FAKE_ONE(z##complex, cerberus::libraries::cusolver::Complex64, real)
FAKE_FOUR(getrf, getrf)
FAKE_FOUR(getrf_npvt, getrf_npvt)
FAKE_FOUR(getrs, getrs)
FAKE_FOUR(potrf, potrf)
FAKE_FOUR(potrs, potrs)
FAKE_FOUR(potri, potri)
FAKE_FOUR(trtri, trtri)
FAKE_FOUR(potrf_batched, potrf_batched)
FAKE_FOUR(potrs_batched, potrs_batched)
FAKE_FOUR(sytrf, sytrf)
FAKE_FOUR(geqrf, geqrf)
FAKE_FOUR(orgqr, ungqr)
FAKE_FOUR(ormqr, unmqr)
FAKE_FOUR(gebrd, gebrd)
FAKE_FOUR(orgbr, ungbr)
FAKE_FOUR(sytrd, hetrd)
FAKE_FOUR(orgtr, ungtr)
FAKE_FOUR(ormtr, unmtr)
FAKE_FOUR(syevd, heevd)
FAKE_FOUR(sygvd, hegvd)
FAKE_FOUR(syevd_strided_batched, heevd_strided_batched)
FAKE_FOUR(syevj, heevj)
FAKE_FOUR(syevdx_inplace, heevdx_inplace)
FAKE_FOUR(gesvdj_notransv, gesvdj_notransv)
FAKE_FOUR(gesvdj_notransv_strided_batched, gesvdj_notransv_strided_batched)
FAKE_FOUR(gesvd, gesvd)
