// Eigenvalues of Hermitian matrices, and singular values.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "libraries/cublas/reflect.h"
#include "libraries/cusolver/factor.h"
#include "libraries/cusolver/scaling.h"
#include "libraries/cusolver/spectrum.h"

namespace cerberus::libraries::cusolver {
namespace {

constexpr int kMostSweeps = 60;

// A matrix of our own, by columns.
template <typename T>
class Dense {
 public:
  Dense(Index rows, Index columns)
      : rows_(rows), values_(static_cast<std::size_t>(rows * columns)) {}
  T& operator()(Index i, Index j) {
    return values_[static_cast<std::size_t>(i + j * rows_)];
  }
  T* column(Index j) { return values_.data() + j * rows_; }

 private:
  Index rows_;
  std::vector<T> values_;
};

// The columns (u, v) times J = (c, s; -conj(s), c), c real, which makes the
// Hermitian (p, x; conj(x), q) diagonal as J^H … J.
template <typename T>
struct Rotation {
  Rotation(Real<T> p, T x, Real<T> q) {
    const Real<T> size = std::abs(x);
    const Real<T> zeta = (q - p) / (2 * size);
    const Real<T> t = (zeta < 0 ? Real<T>(-1) : Real<T>(1)) /
                      (std::abs(zeta) + std::hypot(Real<T>(1), zeta));
    c = 1 / std::hypot(Real<T>(1), t);
    s = Mul(T(c * t), Div(x, T(size)));
  }
  void Turn(Index n, T* u, T* v) const {
    for (Index i = 0; i < n; ++i) {
      const T a = u[i], b = v[i];
      u[i] = Mul(T(c), a) - Mul(ConjOf(s), b);
      v[i] = Mul(s, a) + Mul(T(c), b);
    }
  }
  Real<T> c;
  T s;
};

// 0 to n - 1, the smallest key first, and behind them those that are no number.
template <typename R>
std::vector<Index> Order(const std::vector<R>& keys) {
  std::vector<Index> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](Index i, Index j) {
    const R x = keys[static_cast<std::size_t>(i)],
            y = keys[static_cast<std::size_t>(j)];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    if (x != y && !std::isnan(x)) return x < y;
    return i < j;
  });
  return order;
}

// Rotations from both sides until nothing is left beside the diagonal. False:
// something still is.
template <typename T>
bool Diagonalize(Index n, Dense<T>& h, Dense<T>& vectors) {
  const Real<T> least = std::numeric_limits<Real<T>>::min();
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    Real<T> largest = 0;
    for (Index i = 0; i < n; ++i) {
      largest = std::max(largest, std::abs(RealPart(h(i, i))));
    }
    const Real<T> allowed =
        std::max(least, largest * std::numeric_limits<Real<T>>::epsilon() / 16);
    bool changed = false;
    for (Index p = 0; p < n; ++p) {
      for (Index q = p + 1; q < n; ++q) {
        if (!(std::abs(h(p, q)) > allowed)) continue;
        changed = true;
        const Rotation<T> j(RealPart(h(p, p)), h(p, q), RealPart(h(q, q)));
        j.Turn(n, h.column(p), h.column(q));
        for (Index i = 0; i < n; ++i) {
          const T a = h(p, i), b = h(q, i);
          h(p, i) = Mul(T(j.c), a) - Mul(j.s, b);
          h(q, i) = Mul(ConjOf(j.s), a) + Mul(T(j.c), b);
        }
        h(p, q) = h(q, p) = T(0);
        j.Turn(n, vectors.column(p), vectors.column(q));
      }
    }
    if (!changed) return true;
  }
  return false;
}

template <typename T>
int JacobiHermitian(Fill fill, Index n, T* a, Index lda, Real<T>* w) {
  Dense<T> h(n, n), vectors(n, n);
  for (Index j = 0; j < n; ++j) {
    vectors(j, j) = T(1);
    h(j, j) = T(RealPart(a[j + j * lda]));
    for (Index i = j + 1; i < n; ++i) {
      h(i, j) = fill == kUpper ? ConjOf(a[j + i * lda]) : a[i + j * lda];
      h(j, i) = ConjOf(h(i, j));
    }
  }
  const Real<T> scale = DivideByLargest(n, n, h.column(0), n);
  const bool done = Diagonalize(n, h, vectors);
  std::vector<Real<T>> values(static_cast<std::size_t>(n));
  for (Index j = 0; j < n; ++j) {
    values[static_cast<std::size_t>(j)] = RealPart(h(j, j));
  }
  const std::vector<Index> order = Order(values);
  for (Index j = 0; j < n; ++j) {
    const Index from = order[static_cast<std::size_t>(j)];
    w[j] = RealPart(h(from, from)) * scale;
    std::copy_n(vectors.column(from), n, a + j * lda);
  }
  return done ? 0 : static_cast<int>(n);
}

template <typename T>
int LapackHermitian(bool vectors, Fill fill, Index n, T* a, Index lda,
                    Real<T>* w) {
  const Lapack<T>& lapack = HostLapack<T>();
  const char* const job = vectors ? "V" : "N";
  // 1 + 6 n + 2 n^2, and by threes and fives, as documented, and more.
  const Index rows = vectors ? n : 1;
  std::vector<int> integers(static_cast<std::size_t>(5 * n + 8));
  const Number count(static_cast<Index>(integers.size()));
  if constexpr (kIsComplex<T>) {
    std::vector<Real<T>> reals(
        static_cast<std::size_t>(2 * n * rows + 5 * n + 8));
    return WithWork<T>([&](T* work, Number size, int* info) {
      lapack.heevd(job, Letter(fill), Number(n), a, Number(lda), w, work, size,
                   reals.data(), Number(static_cast<Index>(reals.size())),
                   integers.data(), count, info, 1, 1);
    });
  } else {
    return WithWork<T>([&](T* work, Number size, int* info) {
      lapack.syevd(job, Letter(fill), Number(n), a, Number(lda), w, work, size,
                   integers.data(), count, info, 1, 1);
    });
  }
}

// Of a matrix whose largest element is 1.
template <typename R>
constexpr R Negligible() {
  return std::numeric_limits<R>::epsilon() / 16;
}

// One-sided rotations: the columns of A, m >= n, until they stand at right
// angles to each other, and those of V with them. A's largest element is 1:
// columns that are nothing but rounding stay as they are.
template <typename T>
bool Orthogonalize(Index m, Index n, Dense<T>& a, Dense<T>& v) {
  const Real<T> eps =
      std::numeric_limits<Real<T>>::epsilon() * static_cast<Real<T>>(m);
  const auto product = [&](Index p, Index q) {
    T sum(0);
    for (Index i = 0; i < m; ++i) sum += Mul(ConjOf(a(i, p)), a(i, q));
    return sum;
  };
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool changed = false;
    for (Index p = 0; p < n; ++p) {
      for (Index q = p + 1; q < n; ++q) {
        const Real<T> pp = RealPart(product(p, p)),
                      qq = RealPart(product(q, q));
        if (!(std::sqrt(std::min(pp, qq)) > Negligible<Real<T>>())) continue;
        const T x = product(p, q);
        if (!(std::abs(x) > eps * std::sqrt(pp) * std::sqrt(qq))) continue;
        changed = true;
        const Rotation<T> j(pp, x, qq);
        j.Turn(m, a.column(p), a.column(q));
        j.Turn(n, v.column(p), v.column(q));
      }
    }
    if (!changed) return true;
  }
  return false;
}

// U out of columns of length one, of which the first `rank` are given: others
// at right angles to them.
template <typename T>
void Complete(Index m, Index rank, Index columns, Dense<T>& u) {
  Dense<T> reflections(m, columns);
  std::vector<T> tau(static_cast<std::size_t>(columns));
  for (Index j = 0; j < rank; ++j) {
    std::copy_n(u.column(j), m, reflections.column(j));
  }
  cublas::Geqrf<T>(m, rank, reflections.column(0), m, tau.data());
  for (Index j = rank; j < columns; ++j) {
    u(j, j) = T(1);
    for (Index k = rank; k-- > 0;) {
      const T* const h = reflections.column(k) + k;
      cublas::Reflect<T>(tau[static_cast<std::size_t>(k)], h, m - k, 1,
                         u.column(j) + k, m);
    }
  }
}

// m >= n; `all`: U has m columns.
template <typename T>
int JacobiSingular(bool all, Index m, Index n, Dense<T>& a, Real<T>* s,
                   Dense<T>& u, Dense<T>& v) {
  const Real<T> scale = DivideByLargest(m, n, a.column(0), m);
  Dense<T> turned(n, n);
  for (Index j = 0; j < n; ++j) turned(j, j) = T(1);
  const bool done = Orthogonalize(m, n, a, turned);
  std::vector<Real<T>> falling(static_cast<std::size_t>(n));
  for (Index j = 0; j < n; ++j) {
    falling[static_cast<std::size_t>(j)] = -cublas::Norm<T>(m, a.column(j), 1);
  }
  const std::vector<Index> order = Order(falling);
  Index rank = 0;
  for (Index j = 0; j < n; ++j) {
    const Index from = order[static_cast<std::size_t>(j)];
    const Real<T> norm = -falling[static_cast<std::size_t>(from)];
    s[j] = norm * scale;
    std::copy_n(turned.column(from), n, v.column(j));
    if (norm <= Negligible<Real<T>>()) continue;
    rank = j + 1;
    for (Index i = 0; i < m; ++i) u(i, j) = Div(a(i, from), T(norm));
  }
  Complete(m, rank, all ? m : n, u);
  return done ? 0 : static_cast<int>(n);
}

template <typename T>
int OwnSingular(Vectors vectors, Index m, Index n, const T* a, Index lda,
                Real<T>* s, T* u, Index ldu, T* vh, Index ldvh) {
  const bool wide = m < n, all = vectors == Vectors::kAll;
  const Index rows = std::max(m, n), columns = std::min(m, n);
  // Of a wide matrix that of A^H: U and V change places.
  Dense<T> tall(rows, columns), left(rows, all ? rows : columns),
      right(columns, columns);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      (wide ? tall(j, i) : tall(i, j)) =
          wide ? ConjOf(a[i + j * lda]) : a[i + j * lda];
    }
  }
  const int info = JacobiSingular(all, rows, columns, tall, s, left, right);
  if (vectors == Vectors::kNone) return info;
  Dense<T>& of_u = wide ? right : left;
  Dense<T>& of_v = wide ? left : right;
  const Index columns_u = wide || !all ? columns : m;
  const Index columns_v = !wide || !all ? columns : n;
  for (Index j = 0; j < columns_u; ++j)
    std::copy_n(of_u.column(j), m, u + j * ldu);
  for (Index j = 0; j < columns_v; ++j) {
    for (Index i = 0; i < n; ++i) vh[j + i * ldvh] = ConjOf(of_v(i, j));
  }
  return info;
}

template <typename T>
int LapackSingular(Vectors vectors, Index m, Index n, T* a, Index lda,
                   Real<T>* s, T* u, Index ldu, T* vh, Index ldvh) {
  const Lapack<T>& lapack = HostLapack<T>();
  const char* const job = vectors == Vectors::kNone  ? "N"
                          : vectors == Vectors::kAll ? "A"
                                                     : "S";
  const Index least = std::min(m, n), most = std::max(m, n);
  std::vector<int> integers(static_cast<std::size_t>(8 * least));
  if constexpr (kIsComplex<T>) {
    std::vector<Real<T>> reals(static_cast<std::size_t>(
        least * std::max(5 * least + 7, 2 * most + 2 * least + 1)));
    return WithWork<T>([&](T* work, Number size, int* info) {
      lapack.complex_gesdd(job, Number(m), Number(n), a, Number(lda), s, u,
                           Number(ldu), vh, Number(ldvh), work, size,
                           reals.data(), integers.data(), info, 1);
    });
  } else {
    return WithWork<T>([&](T* work, Number size, int* info) {
      lapack.gesdd(job, Number(m), Number(n), a, Number(lda), s, u, Number(ldu),
                   vh, Number(ldvh), work, size, integers.data(), info, 1);
    });
  }
}

template <typename T>
void SetIdentity(Index n, T* a, Index lda) {
  for (Index j = 0; j < n; ++j) {
    std::fill_n(a + j * lda, n, T(0));
    a[j + j * lda] = T(1);
  }
}

}  // namespace

template <typename T>
int Heevd(bool vectors, Fill fill, Index n, T* a, Index lda, Real<T>* w) {
  if (n == 0) return 0;
  for (Index j = 0; j < n; ++j) {
    const Index first = fill == kUpper ? 0 : j;
    const Index rows = fill == kUpper ? j + 1 : n - j;
    if (IsFinite<T>(rows, 1, a + first + j * lda, lda)) continue;
    SetNan<Real<T>>(n, 1, w, n);
    if (vectors) SetNan<T>(n, n, a, lda);
    return static_cast<int>(n);
  }
  const Lapack<T>& lapack = HostLapack<T>();
  const bool has =
      kIsComplex<T> ? lapack.heevd != nullptr : lapack.syevd != nullptr;
  if (has && Fits(n, n)) return LapackHermitian<T>(vectors, fill, n, a, lda, w);
  return JacobiHermitian<T>(fill, n, a, lda, w);
}

template <typename T>
int Hegvd(int itype, bool vectors, Fill fill, Index n, T* a, Index lda, T* b,
          Index ldb, Real<T>* w) {
  if (n == 0) return 0;
  if (const int info = Potrf<T>(fill, n, b, ldb)) {
    return static_cast<int>(n) + info;
  }
  for (Index j = 0; j < n; ++j) {
    a[j + j * lda] = T(RealPart(a[j + j * lda]));
    for (Index i = j + 1; i < n; ++i) {
      if (fill == kUpper) a[i + j * lda] = ConjOf(a[j + i * lda]);
      else a[j + i * lda] = ConjOf(a[i + j * lda]);
    }
  }
  // With B = L L^H: L^-1 A L^-H, or L^H A L; L is U^H if U is there.
  const Operation l = fill == kUpper ? kC : kN, lh = fill == kUpper ? kN : kC;
  if (itype == 1) {
    cublas::Trsm<T>(kLeft, fill, l, kNonUnit, n, n, T(1), b, ldb, a, lda);
    cublas::Trsm<T>(kRight, fill, lh, kNonUnit, n, n, T(1), b, ldb, a, lda);
  } else {
    cublas::Trmm<T>(kLeft, fill, lh, kNonUnit, n, n, T(1), b, ldb, a, lda);
    cublas::Trmm<T>(kRight, fill, l, kNonUnit, n, n, T(1), b, ldb, a, lda);
  }
  const int info = Heevd<T>(vectors, fill, n, a, lda, w);
  if (!vectors) return info;
  if (itype == 3) {
    cublas::Trmm<T>(kLeft, fill, l, kNonUnit, n, n, T(1), b, ldb, a, lda);
  } else {
    cublas::Trsm<T>(kLeft, fill, lh, kNonUnit, n, n, T(1), b, ldb, a, lda);
  }
  return info;
}

template <typename T>
int Gesvd(Vectors vectors, Index m, Index n, T* a, Index lda, Real<T>* s, T* u,
          Index ldu, T* vh, Index ldvh) {
  const Index least = std::min(m, n);
  const bool all = vectors == Vectors::kAll;
  if (least == 0) {
    if (!all) return 0;
    SetIdentity(m, u, ldu);
    SetIdentity(n, vh, ldvh);
    return 0;
  }
  if (!IsFinite<T>(m, n, a, lda)) {
    SetNan<Real<T>>(least, 1, s, least);
    if (vectors != Vectors::kNone) {
      SetNan<T>(m, all ? m : least, u, ldu);
      SetNan<T>(all ? n : least, n, vh, ldvh);
    }
    return static_cast<int>(least);
  }
  const Lapack<T>& lapack = HostLapack<T>();
  const bool has =
      kIsComplex<T> ? lapack.complex_gesdd != nullptr : lapack.gesdd != nullptr;
  return has && Fits(m, n)
             ? LapackSingular<T>(vectors, m, n, a, lda, s, u, ldu, vh, ldvh)
             : OwnSingular<T>(vectors, m, n, a, lda, s, u, ldu, vh, ldvh);
}

#define CERBERUS_FOR_TYPE(T)                                                   \
  template int Heevd<T>(bool, Fill, Index, T*, Index, Real<T>*);               \
  template int Hegvd<T>(int, bool, Fill, Index, T*, Index, T*, Index,          \
                        Real<T>*);                                             \
  template int Gesvd<T>(Vectors, Index, Index, T*, Index, Real<T>*, T*, Index, \
                        T*, Index);
CERBERUS_FOR_TYPE(float)
CERBERUS_FOR_TYPE(double)
CERBERUS_FOR_TYPE(Complex32)
CERBERUS_FOR_TYPE(Complex64)
#undef CERBERUS_FOR_TYPE

}  // namespace cerberus::libraries::cusolver
