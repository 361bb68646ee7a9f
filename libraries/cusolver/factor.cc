#include "libraries/cusolver/factor.h"

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

namespace cerberus::libraries::cusolver {
namespace {

// The lower triangle of a Hermitian matrix, or of L in L L^H, whichever
// triangle is in memory.
template <typename T>
class LowerView {
 public:
  LowerView(Fill fill, T* a, Index lda)
      : a_(a), lda_(lda), upper_(fill == kUpper) {}
  T operator()(Index i, Index j) const {
    return upper_ ? ConjOf(a_[j + i * lda_]) : a_[i + j * lda_];
  }
  void Set(Index i, Index j, T value) const {
    (upper_ ? a_[j + i * lda_] : a_[i + j * lda_]) =
        upper_ ? ConjOf(value) : value;
  }

 private:
  T* const a_;
  const Index lda_;
  const bool upper_;
};

// The lower triangle of a symmetric or Hermitian matrix; that of an upper one
// from its end: U D U^T, which LAPACK makes from its last column on, is L D L^T
// so.
template <typename T>
class TurnedView {
 public:
  TurnedView(Fill fill, Index n, T* a, Index lda)
      : first_(fill == kUpper ? a + (n - 1) * (lda + 1) : a),
        row_(fill == kUpper ? -1 : 1),
        column_(fill == kUpper ? -lda : lda) {}
  T& operator()(Index i, Index j) const {
    return first_[i * row_ + j * column_];
  }

 private:
  T* const first_;
  const Index row_, column_;
};
// A row of that as LAPACK's pivots name it, and back.
Index RowAt(Fill fill, Index n, Index row) {
  return fill == kUpper ? n - 1 - row : row;
}

// By which pivots are compared.
template <typename T>
Real<T> Size(T value) {
  return cublas::AbsSum(value);
}

// The rows to exchange at step k: the block's last row with `with`.
struct Pivot {
  Index with;
  Index rows;  // of the block
  bool zero;   // the column is
};

template <typename T>
Pivot ChoosePivot(const TurnedView<T>& a, Index n, Index k) {
  const Real<T> alpha = (1 + std::sqrt(Real<T>(17))) / 8;
  const Real<T> diagonal = Size(a(k, k));
  Real<T> column = 0;
  Index best = k;
  for (Index i = k + 1; i < n; ++i) {
    if (Size(a(i, k)) > column) column = Size(a(i, k)), best = i;
  }
  if (!(std::max(diagonal, column) > 0)) return {k, 1, true};
  if (diagonal >= alpha * column) return {k, 1, false};
  Real<T> row = 0;
  for (Index j = k; j < n; ++j) {
    if (j != best)
      row = std::max(row, Size(j < best ? a(best, j) : a(j, best)));
  }
  // The row has the column's largest element; squares could be nothing.
  if (diagonal >= alpha * column * (column / row)) return {k, 1, false};
  if (Size(a(best, best)) >= alpha * row) return {best, 1, false};
  return {best, 2, false};
}

// Rows and columns `from` and `to`, from < to, of what is not yet factorized,
// whose first column is k.
template <typename T>
void Exchange(const TurnedView<T>& a, bool hermitian, Index n, Index k,
              Index from, Index to) {
  const auto turned = [&](T value) {
    return hermitian ? ConjOf(value) : value;
  };
  for (Index i = to + 1; i < n; ++i) std::swap(a(i, from), a(i, to));
  for (Index i = from + 1; i < to; ++i) {
    const T kept = turned(a(i, from));
    a(i, from) = turned(a(to, i));
    a(to, i) = kept;
  }
  a(to, from) = turned(a(to, from));
  std::swap(a(from, from), a(to, to));
  for (Index j = k; j < from; ++j) std::swap(a(from, j), a(to, j));
}

// The inverse of a block of two rows, (p, above; below, q). All is divided by
// what is beside the diagonal, which is the largest there.
template <typename T>
struct InverseBlock {
  InverseBlock(T first, T beside, T second, bool hermitian)
      : below(beside),
        above(hermitian ? ConjOf(beside) : beside),
        p(Div(first, below)),
        q(Div(second, above)),
        scale(Mul(p, q) - T(1)) {}
  // (x, y) times it.
  std::pair<T, T> AfterRow(T x, T y) const {
    return {Div(Mul(q, Div(x, below)) - Div(y, above), scale),
            Div(Mul(p, Div(y, above)) - Div(x, below), scale)};
  }
  // It times (u, v).
  std::pair<T, T> BeforeColumn(T u, T v) const {
    return {Div(Mul(q, Div(u, below)) - Div(v, below), scale),
            Div(Mul(p, Div(v, above)) - Div(u, above), scale)};
  }
  T below, above, p, q, scale;
};

template <typename T>
void Eliminate(const TurnedView<T>& a, bool hermitian, Index n, Index k,
               Index rows) {
  const auto turned = [&](T value) {
    return hermitian ? ConjOf(value) : value;
  };
  for (Index j = k + rows; j < n; ++j) {
    if (rows == 1) {
      const T l = Div(a(j, k), a(k, k));
      for (Index i = j; i < n; ++i) a(i, j) -= Mul(a(i, k), turned(l));
      a(j, k) = l;
    } else {
      const InverseBlock<T> inverse(a(k, k), a(k + 1, k), a(k + 1, k + 1),
                                    hermitian);
      const auto [l, m] = inverse.AfterRow(a(j, k), a(j, k + 1));
      for (Index i = j; i < n; ++i) {
        a(i, j) -= Mul(a(i, k), turned(l)) + Mul(a(i, k + 1), turned(m));
      }
      a(j, k) = l, a(j, k + 1) = m;
    }
    if (hermitian) a(j, j) = T(RealPart(a(j, j)));
  }
}

template <typename T>
int FactorSymmetric(bool hermitian, Fill fill, Index n, T* memory, Index lda,
                    int* pivots) {
  const TurnedView<T> a(fill, n, memory, lda);
  int info = 0;
  for (Index k = 0; k < n;) {
    if (hermitian) a(k, k) = T(RealPart(a(k, k)));
    Pivot pivot{k, 1, a(k, k) == T(0)};
    if (pivots != nullptr) pivot = ChoosePivot(a, n, k);
    const Index last = k + pivot.rows - 1;
    if (pivot.with != last) {
      Exchange(a, hermitian, n, k, last, pivot.with);
    }
    if (pivot.zero) {
      if (info == 0) info = static_cast<int>(RowAt(fill, n, k) + 1);
    } else {
      Eliminate(a, hermitian, n, k, pivot.rows);
    }
    for (Index i = k; pivots != nullptr && i <= last; ++i) {
      const int row = static_cast<int>(RowAt(fill, n, pivot.with) + 1);
      pivots[RowAt(fill, n, i)] = pivot.rows == 1 ? row : -row;
    }
    k = last + 1;
  }
  return info;
}

// b := (L D L^T)^-1 b for one column, of which `at` gives elements as the view
// counts them.
template <typename T, typename At>
void SolveSymmetric(const TurnedView<const T>& a, bool hermitian, Index n,
                    const std::vector<Index>& with,
                    const std::vector<int>& rows, const At& at) {
  const auto turned = [&](T value) {
    return hermitian ? ConjOf(value) : value;
  };
  const auto exchange = [&](Index last) {
    const Index other = with[static_cast<std::size_t>(last)];
    if (other != last) std::swap(at(last), at(other));
  };
  for (Index k = 0; k < n;) {
    const Index count = rows[static_cast<std::size_t>(k)];
    const Index last = k + count - 1;
    exchange(last);
    for (Index c = k; c <= last; ++c) {
      for (Index i = last + 1; i < n; ++i) at(i) -= Mul(a(i, c), at(c));
    }
    if (count == 1) {
      at(k) = Div(at(k), a(k, k));
    } else {
      const InverseBlock<T> inverse(a(k, k), a(last, k), a(last, last),
                                    hermitian);
      std::tie(at(k), at(last)) = inverse.BeforeColumn(at(k), at(last));
    }
    k = last + 1;
  }
  for (Index last = n - 1; last >= 0;) {
    const Index count = rows[static_cast<std::size_t>(last)];
    for (Index c = last - count + 1; c <= last; ++c) {
      for (Index i = last + 1; i < n; ++i) at(c) -= Mul(turned(a(i, c)), at(i));
    }
    exchange(last);
    last -= count;
  }
}

}  // namespace

template <typename T>
int Getrf(Index m, Index n, T* a, Index lda, int* pivots) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.getrf && pivots != nullptr && m > 0 && n > 0 && Fits(m, n)) {
    int info = 0;
    lapack.getrf(Number(m), Number(n), a, Number(lda), pivots, &info);
    return info;
  }
  return cublas::Getrf<T>(m, n, a, lda, pivots);
}

template <typename T>
void Laswp(Index n, T* a, Index lda, Index first, Index last, const int* pivots,
           Index step) {
  for (Index k = 0; k <= last - first; ++k) {
    const Index row = step > 0 ? first + k : last - k;
    const Index place = first - 1 + (row - first) * std::abs(step);
    const Index other = pivots[place];
    for (Index j = 0; other != row && j < n; ++j) {
      std::swap(a[row - 1 + j * lda], a[other - 1 + j * lda]);
    }
  }
}

template <typename T>
int Potrf(Fill fill, Index n, T* a, Index lda) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.potrf && n > 0 && Fits(n, n)) {
    int info = 0;
    lapack.potrf(Letter(fill), Number(n), a, Number(lda), &info, 1);
    // OpenBLAS takes no notice of them.
    for (Index j = 0; info == 0 && j < n; ++j) {
      if (std::isnan(RealPart(a[j + j * lda]))) info = static_cast<int>(j + 1);
    }
    return info;
  }
  const LowerView<T> l(fill, a, lda);
  for (Index j = 0; j < n; ++j) {
    Real<T> diagonal = RealPart(l(j, j));
    for (Index k = 0; k < j; ++k) diagonal -= std::norm(l(j, k));
    if (!(diagonal > 0)) {
      l.Set(j, j, T(diagonal));
      return static_cast<int>(j + 1);
    }
    diagonal = std::sqrt(diagonal);
    l.Set(j, j, T(diagonal));
    for (Index i = j + 1; i < n; ++i) {
      T sum = l(i, j);
      for (Index k = 0; k < j; ++k) sum -= Mul(l(i, k), ConjOf(l(j, k)));
      l.Set(i, j, Div(sum, T(diagonal)));
    }
  }
  return 0;
}

template <typename T>
void Potrs(Fill fill, Index n, Index columns, const T* a, Index lda, T* b,
           Index ldb) {
  const bool upper = fill == kUpper;
  cublas::Trsm<T>(kLeft, fill, upper ? kC : kN, kNonUnit, n, columns, T(1), a,
                  lda, b, ldb);
  cublas::Trsm<T>(kLeft, fill, upper ? kN : kC, kNonUnit, n, columns, T(1), a,
                  lda, b, ldb);
}

template <typename T>
int Trtri(Fill fill, Diag diag, Index n, T* a, Index lda) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.trtri && n > 0 && Fits(n, n)) {
    int info = 0;
    lapack.trtri(Letter(fill), Letter(diag), Number(n), a, Number(lda), &info,
                 1, 1);
    return info;
  }
  const TurnedView<T> l(fill, n, a, lda);
  for (Index i = 0; diag == kNonUnit && i < n; ++i) {
    if (a[i + i * lda] == T(0)) return static_cast<int>(i + 1);
  }
  // From the last column on, each by those behind it.
  for (Index j = n; j-- > 0;) {
    T inverse(1);
    if (diag == kNonUnit) l(j, j) = inverse = Div(T(1), l(j, j));
    for (Index i = n; i-- > j + 1;) {
      T sum = diag == kUnit ? l(i, j) : Mul(l(i, i), l(i, j));
      for (Index k = j + 1; k < i; ++k) sum += Mul(l(i, k), l(k, j));
      l(i, j) = Mul(T(0) - sum, inverse);
    }
  }
  return 0;
}

template <typename T>
void Lauum(Fill fill, Index n, T* a, Index lda) {
  const LowerView<T> l(fill, a, lda);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      T sum(0);
      for (Index k = i; k < n; ++k) sum += Mul(ConjOf(l(k, i)), l(k, j));
      l.Set(i, j, i == j ? T(RealPart(sum)) : sum);
    }
  }
}

template <typename T>
int Potri(Fill fill, Index n, T* a, Index lda) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.potri && n > 0 && Fits(n, n)) {
    int info = 0;
    lapack.potri(Letter(fill), Number(n), a, Number(lda), &info, 1);
    return info;
  }
  if (const int info = Trtri<T>(fill, kNonUnit, n, a, lda)) return info;
  Lauum<T>(fill, n, a, lda);
  return 0;
}

template <typename T>
int Sytrf(bool hermitian, Fill fill, Index n, T* a, Index lda, int* pivots) {
  hermitian &= kIsComplex<T>;
  const Lapack<T>& lapack = HostLapack<T>();
  const auto function = hermitian ? lapack.hetrf : lapack.sytrf;
  if (function && pivots != nullptr && n > 0 && Fits(n, n)) {
    return WithWork<T>([&](T* work, Number size, int* info) {
      function(Letter(fill), Number(n), a, Number(lda), pivots, work, size,
               info, 1);
    });
  }
  return FactorSymmetric<T>(hermitian, fill, n, a, lda, pivots);
}

template <typename T>
void Sytrs(bool hermitian, Fill fill, Index n, Index columns, const T* a,
           Index lda, const int* pivots, T* b, Index ldb) {
  const TurnedView<const T> view(fill, n, a, lda);
  std::vector<Index> with;
  std::vector<int> rows;
  for (Index i = 0; i < n; ++i) {
    const Index pivot =
        pivots != nullptr ? pivots[RowAt(fill, n, i)] : RowAt(fill, n, i) + 1;
    with.push_back(RowAt(fill, n, std::abs(pivot) - 1));
    rows.push_back(pivot > 0 ? 1 : 2);
  }
  for (Index j = 0; j < columns; ++j) {
    SolveSymmetric<T>(
        view, hermitian && kIsComplex<T>, n, with, rows,
        [&](Index i) -> T& { return b[RowAt(fill, n, i) + j * ldb]; });
  }
}

template <typename T>
int Sytri(bool hermitian, Fill fill, Index n, T* a, Index lda,
          const int* pivots) {
  for (Index i = 0; i < n; ++i) {
    if ((pivots == nullptr || pivots[i] > 0) && a[i + i * lda] == T(0)) {
      return static_cast<int>(i + 1);
    }
  }
  std::vector<T> inverse(static_cast<std::size_t>(n * n));
  for (Index i = 0; i < n; ++i) {
    inverse[static_cast<std::size_t>(i * (n + 1))] = T(1);
  }
  Sytrs<T>(hermitian, fill, n, n, a, lda, pivots, inverse.data(), n);
  for (Index j = 0; j < n; ++j) {
    const Index first = fill == kUpper ? 0 : j,
                end = fill == kUpper ? j + 1 : n;
    for (Index i = first; i < end; ++i) {
      a[i + j * lda] = inverse[static_cast<std::size_t>(i + j * n)];
    }
  }
  return 0;
}

#define CERBERUS_FOR_TYPE(T)                                                 \
  template int Getrf<T>(Index, Index, T*, Index, int*);                      \
  template void Laswp<T>(Index, T*, Index, Index, Index, const int*, Index); \
  template int Potrf<T>(Fill, Index, T*, Index);                             \
  template void Potrs<T>(Fill, Index, Index, const T*, Index, T*, Index);    \
  template int Potri<T>(Fill, Index, T*, Index);                             \
  template int Trtri<T>(Fill, Diag, Index, T*, Index);                       \
  template void Lauum<T>(Fill, Index, T*, Index);                            \
  template int Sytrf<T>(bool, Fill, Index, T*, Index, int*);                 \
  template void Sytrs<T>(bool, Fill, Index, Index, const T*, Index,          \
                         const int*, T*, Index);                             \
  template int Sytri<T>(bool, Fill, Index, T*, Index, const int*);
CERBERUS_FOR_TYPE(float)
CERBERUS_FOR_TYPE(double)
CERBERUS_FOR_TYPE(Complex32)
CERBERUS_FOR_TYPE(Complex64)
#undef CERBERUS_FOR_TYPE

}  // namespace cerberus::libraries::cusolver
