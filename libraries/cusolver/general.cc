// Eigenvalues of matrices of no particular kind.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "libraries/cublas/reflect.h"
#include "libraries/cusolver/scaling.h"
#include "libraries/cusolver/spectrum.h"

namespace cerberus::libraries::cusolver {
namespace {

constexpr int kMostSteps = 60;  // for one eigenvalue

// A = Z H Z^H, first of Hessenberg's form, then a triangle (Schur's form).
template <typename R>
class Schur {
 public:
  using C = std::complex<R>;
  template <typename T>
  Schur(Index n, const T* a, Index lda)  // of numbers up to about 1
      : n_(n),
        h_(static_cast<std::size_t>(n * n)),
        z_(static_cast<std::size_t>(n * n)) {
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) {
        h(i, j) = C(a[i + j * lda]);
        z(i, j) = C(i == j ? 1 : 0);
      }
    }
  }

  // The number of eigenvalues that were not found; those are the first ones.
  int Run() {
    Reduce();
    Index end = n_;  // of the part that is not a triangle yet
    int steps = 0;
    while (end > 0) {
      Index first = end - 1;
      while (first > 0 && !IsSmall(first)) --first;
      if (first > 0) h(first, first - 1) = C(0);
      if (first == end - 1) {
        --end;
        steps = 0;
        continue;
      }
      if (++steps > kMostSteps) return static_cast<int>(end);
      // Now and then another shift, against going in circles.
      const C shift = steps % 10 == 0 ? h(end - 1, end - 1) +
                                            C(std::abs(h(end - 1, end - 2)))
                                      : Shift(end);
      Step(first, end, shift);
    }
    return 0;
  }

  C& h(Index i, Index j) { return h_[static_cast<std::size_t>(i + j * n_)]; }
  C& z(Index i, Index j) { return z_[static_cast<std::size_t>(i + j * n_)]; }

 private:
  void Reduce() {
    std::vector<C> v(static_cast<std::size_t>(n_));
    for (Index k = 0; k + 2 < n_; ++k) {
      C* const x = &h(k + 1, k);
      const C tau = cublas::MakeReflection<C>(n_ - k - 1, x, x + 1, 1);
      const Index size = n_ - k - 1;
      v[0] = C(1);
      std::copy_n(x + 1, size - 1, v.data() + 1);
      std::fill_n(x + 1, size - 1, C(0));
      // H^H (…) H, and Z H.
      cublas::Reflect<C>(std::conj(tau), v.data(), size, size, &h(k + 1, k + 1),
                         n_);
      FromRight(tau, v, size, &h(0, k + 1));
      FromRight(tau, v, size, &z(0, k + 1));
    }
  }
  void FromRight(C tau, const std::vector<C>& v, Index size, C* columns) {
    for (Index i = 0; i < n_; ++i) {
      C sum(0);
      for (Index j = 0; j < size; ++j) {
        sum += Mul(columns[i + j * n_], v[static_cast<std::size_t>(j)]);
      }
      sum = Mul(sum, tau);
      for (Index j = 0; j < size; ++j) {
        columns[i + j * n_] -=
            Mul(sum, std::conj(v[static_cast<std::size_t>(j)]));
      }
    }
  }

  bool IsSmall(Index k) {
    const R beside = std::abs(h(k - 1, k - 1)) + std::abs(h(k, k));
    const R size = beside > 0 ? beside : R(1);
    const R least = std::numeric_limits<R>::min() /
                    std::numeric_limits<R>::epsilon() * static_cast<R>(n_);
    // Not a number is as good as done.
    return !(std::abs(h(k, k - 1)) >
             std::max(least, std::numeric_limits<R>::epsilon() * size));
  }
  // Wilkinson's: the eigenvalue of the last two rows that is nearer to the last
  // element.
  C Shift(Index end) {
    const C a = h(end - 2, end - 2), d = h(end - 1, end - 1);
    C b = h(end - 2, end - 1), c = h(end - 1, end - 2);
    C half = (a - d) * C(R(0.5));
    const R size = std::max({std::abs(half), std::abs(b), std::abs(c)});
    b /= size, c /= size, half /= size;  // c is not 0
    const C root = std::sqrt(Mul(half, half) + Mul(b, c));
    const C sum = half + root, difference = half - root;
    const C larger = std::abs(sum) > std::abs(difference) ? sum : difference;
    return larger == C(0) ? d : d - Div(Mul(b, c), larger) * C(size);
  }
  // H - shift = Q R, then R Q + shift, in rows and columns first to end - 1;
  // the rest is turned with them.
  void Step(Index first, Index end, C shift) {
    struct Turn {
      R c;
      C s;
    };
    std::vector<Turn> turns;
    for (Index i = first; i < end; ++i) h(i, i) -= shift;
    for (Index k = first; k + 1 < end; ++k) {
      const C x = h(k, k), y = h(k + 1, k);
      const R length = std::hypot(std::abs(x), std::abs(y));
      Turn turn{1, C(0)};
      if (length > 0) {
        const C sign = x == C(0) ? C(1) : Div(x, C(std::abs(x)));
        turn.c = std::abs(x) / length;
        turn.s = Mul(sign, std::conj(y)) / length;
      }
      turns.push_back(turn);
      for (Index j = k; j < n_; ++j) {
        const C u = h(k, j), v = h(k + 1, j);
        h(k, j) = turn.c * u + Mul(turn.s, v);
        h(k + 1, j) = turn.c * v - Mul(std::conj(turn.s), u);
      }
      h(k + 1, k) = C(0);
    }
    for (Index k = first; k + 1 < end; ++k) {
      const Turn turn = turns[static_cast<std::size_t>(k - first)];
      const auto columns = [&](C* u, C* v, Index rows) {
        for (Index i = 0; i < rows; ++i) {
          const C a = u[i], b = v[i];
          u[i] = turn.c * a + Mul(std::conj(turn.s), b);
          v[i] = turn.c * b - Mul(turn.s, a);
        }
      };
      columns(&h(0, k), &h(0, k + 1), k + 2);
      columns(&z(0, k), &z(0, k + 1), n_);
    }
    // The rows above were turned without the shift, which only stands on the
    // diagonal.
    for (Index i = first; i < end; ++i) h(i, i) += shift;
  }

  const Index n_;
  std::vector<C> h_, z_;
};

// Of length one, with the largest element real.
template <typename C>
void Normalize(Index n, C* v) {
  using R = typename C::value_type;
  const R length = cublas::Norm<C>(n, v, 1);
  Index largest = 0;
  for (Index i = 1; i < n; ++i) {
    if (std::norm(v[i]) > std::norm(v[largest])) largest = i;
  }
  const R size = std::abs(v[largest]);
  const C by = size > 0 ? std::conj(v[largest]) / (size * length) : C(1);
  for (Index i = 0; i < n; ++i) v[i] = Mul(v[i], by);
  if (size > 0) v[largest] = C(v[largest].real());
}

// Eigenvectors of the triangle, times Z. `left`: u^H H = w u^H.
template <typename R>
void MakeVectors(Schur<R>& schur, Index n, bool left, std::complex<R>* to,
                 Index ld) {
  using C = std::complex<R>;
  R size = 0;
  for (Index i = 0; i < n; ++i) size = std::max(size, std::abs(schur.h(i, i)));
  const R least = std::max(
      {size * std::numeric_limits<R>::epsilon(),
       std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon()});
  std::vector<C> x(static_cast<std::size_t>(n));
  const auto at = [&](Index i) -> C& { return x[static_cast<std::size_t>(i)]; };
  for (Index k = 0; k < n; ++k) {
    std::fill(x.begin(), x.end(), C(0));
    at(k) = C(1);
    const C w = schur.h(k, k);
    const auto solve = [&](Index i, C sum) {
      C below = w - schur.h(i, i);
      if (std::abs(below) < least) below = C(least);
      at(i) = Div(sum, left ? std::conj(below) : below);
      // Of eigenvalues that are nearly the same it grows without end.
      const R grown = std::abs(at(i));
      if (!(grown > 1 / std::numeric_limits<R>::epsilon())) return;
      for (C& element : x) element /= grown;
    };
    for (Index i = k; !left && i-- > 0;) {
      C sum(0);
      for (Index j = i + 1; j <= k; ++j) sum += Mul(schur.h(i, j), at(j));
      solve(i, sum);
    }
    for (Index i = k + 1; left && i < n; ++i) {
      C sum(0);
      for (Index j = k; j < i; ++j) sum += Mul(std::conj(schur.h(j, i)), at(j));
      solve(i, sum);
    }
    // Against overflow in what follows.
    Normalize(n, x.data());
    for (Index i = 0; i < n; ++i) {
      C sum(0);
      for (Index j = 0; j < n; ++j) sum += Mul(schur.z(i, j), at(j));
      to[i + k * ld] = sum;
    }
    Normalize(n, to + k * ld);
  }
}

// A real matrix' eigenvalues are real or conjugate pairs, which rounding has
// moved a little apart: makes them so, and puts pairs together.
template <typename R>
void Pair(Index n, std::complex<R>* w, std::complex<R>* left, Index ld_left,
          std::complex<R>* right, Index ld_right) {
  using C = std::complex<R>;
  R size = 0;
  for (Index i = 0; i < n; ++i) size = std::max(size, std::abs(w[i]));
  const R allowed = size * std::numeric_limits<R>::epsilon() *
                    static_cast<R>(8 * std::max<Index>(n, 4));
  const auto exchange = [&](Index i, Index j) {
    if (i == j) return;
    std::swap(w[i], w[j]);
    if (left)
      std::swap_ranges(left + i * ld_left, left + i * ld_left + n,
                       left + j * ld_left);
    if (right)
      std::swap_ranges(right + i * ld_right, right + i * ld_right + n,
                       right + j * ld_right);
  };
  const auto make_real = [&](Index i) {
    w[i] = C(w[i].real());
    for (C* vectors : {left ? left + i * ld_left : nullptr,
                       right ? right + i * ld_right : nullptr}) {
      for (Index r = 0; vectors && r < n; ++r)
        vectors[r] = C(vectors[r].real());
      if (vectors) Normalize(n, vectors);
    }
  };
  for (Index i = 0; i < n; ++i) {
    Index partner = -1;
    for (Index j = i + 1; j < n && std::abs(w[i].imag()) > allowed; ++j) {
      if (partner < 0 || std::abs(w[j] - std::conj(w[i])) <
                             std::abs(w[partner] - std::conj(w[i]))) {
        partner = j;
      }
    }
    // One that has none nearby was moved off the line by itself.
    if (partner < 0 ||
        !(std::abs(w[partner] - std::conj(w[i])) < std::abs(w[i].imag()))) {
      make_real(i);
      continue;
    }
    exchange(i + 1, partner);
    if (w[i].imag() < 0) exchange(i, i + 1);
    w[i + 1] = std::conj(w[i]);
    for (Index r = 0; r < n; ++r) {
      if (left) left[r + (i + 1) * ld_left] = std::conj(left[r + i * ld_left]);
      if (right) {
        right[r + (i + 1) * ld_right] = std::conj(right[r + i * ld_right]);
      }
    }
    ++i;
  }
}

template <typename T>
int OwnGeneral(Index n, T* a, Index lda, std::complex<Real<T>>* w,
               std::complex<Real<T>>* left, Index ld_left,
               std::complex<Real<T>>* right, Index ld_right) {
  const Real<T> scale = DivideByLargest(n, n, a, lda);
  Schur<Real<T>> schur(n, a, lda);
  const int info = schur.Run();
  for (Index i = 0; i < n; ++i) w[i] = schur.h(i, i);
  if (left) MakeVectors(schur, n, /*left=*/true, left, ld_left);
  if (right) MakeVectors(schur, n, /*left=*/false, right, ld_right);
  if constexpr (!kIsComplex<T>) Pair(n, w, left, ld_left, right, ld_right);
  for (Index i = 0; i < n; ++i) w[i] *= scale;
  return info;
}

template <typename T>
int LapackGeneral(Index n, T* a, Index lda, std::complex<Real<T>>* w,
                  std::complex<Real<T>>* left, Index ld_left,
                  std::complex<Real<T>>* right, Index ld_right) {
  using C = std::complex<Real<T>>;
  const Lapack<T>& lapack = HostLapack<T>();
  const char* const job_left = left ? "V" : "N";
  const char* const job_right = right ? "V" : "N";
  if constexpr (kIsComplex<T>) {
    std::vector<Real<T>> reals(static_cast<std::size_t>(2 * n));
    return WithWork<T>([&](T* work, Number size, int* info) {
      lapack.complex_geev(job_left, job_right, Number(n), a, Number(lda), w,
                          left, Number(left ? ld_left : 1), right,
                          Number(right ? ld_right : 1), work, size,
                          reals.data(), info, 1, 1);
    });
  } else {
    const auto all = static_cast<std::size_t>(n * n);
    std::vector<T> re(static_cast<std::size_t>(n)), im(re.size());
    std::vector<T> vl(left ? all : 1), vr(right ? all : 1);
    const int done = WithWork<T>([&](T* work, Number size, int* info) {
      lapack.geev(job_left, job_right, Number(n), a, Number(lda), re.data(),
                  im.data(), vl.data(), Number(left ? n : 1), vr.data(),
                  Number(right ? n : 1), work, size, info, 1, 1);
    });
    // A pair's vectors stand as real and imaginary part.
    const auto widen = [&](const std::vector<T>& from, C* to, Index ld) {
      for (Index j = 0; to != nullptr && j < n; ++j) {
        const bool pair = im[static_cast<std::size_t>(j)] != 0 && j + 1 < n;
        for (Index i = 0; i < n; ++i) {
          const auto place = static_cast<std::size_t>(i + j * n);
          const T part =
              pair ? from[place + static_cast<std::size_t>(n)] : T(0);
          to[i + j * ld] = C(from[place], part);
          if (pair) to[i + (j + 1) * ld] = C(from[place], -part);
        }
        if (pair) ++j;
      }
    };
    widen(vl, left, ld_left);
    widen(vr, right, ld_right);
    for (Index i = 0; i < n; ++i) {
      w[i] =
          C(re[static_cast<std::size_t>(i)], im[static_cast<std::size_t>(i)]);
    }
    return done;
  }
}

}  // namespace

template <typename T>
int Geev(Index n, T* a, Index lda, std::complex<Real<T>>* w,
         std::complex<Real<T>>* left, Index ld_left,
         std::complex<Real<T>>* right, Index ld_right) {
  if (n == 0) return 0;
  if (!IsFinite<T>(n, n, a, lda)) {
    SetNan(n, 1, w, n);
    SetNan(n, n, left, ld_left);
    SetNan(n, n, right, ld_right);
    return static_cast<int>(n);
  }
  const Lapack<T>& lapack = HostLapack<T>();
  const bool has =
      kIsComplex<T> ? lapack.complex_geev != nullptr : lapack.geev != nullptr;
  if (has && Fits(n, n)) {
    return LapackGeneral<T>(n, a, lda, w, left, ld_left, right, ld_right);
  }
  return OwnGeneral<T>(n, a, lda, w, left, ld_left, right, ld_right);
}

#define CERBERUS_FOR_TYPE(T)                                                  \
  template int Geev<T>(Index, T*, Index, std::complex<Real<T>>*,              \
                       std::complex<Real<T>>*, Index, std::complex<Real<T>>*, \
                       Index);
CERBERUS_FOR_TYPE(float)
CERBERUS_FOR_TYPE(double)
CERBERUS_FOR_TYPE(Complex32)
CERBERUS_FOR_TYPE(Complex64)
#undef CERBERUS_FOR_TYPE

}  // namespace cerberus::libraries::cusolver
