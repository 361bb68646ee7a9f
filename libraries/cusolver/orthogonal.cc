#include "libraries/cusolver/orthogonal.h"

#include <algorithm>
#include <vector>

#include "libraries/cublas/reflect.h"

namespace cerberus::libraries::cusolver {
namespace {

// I - tau v v^H with zeros in v in front of `first`.
template <typename T>
struct Reflection {
  T tau;
  Index first;
  std::vector<T> v;  // from `first` on, `step` apart in what is reflected
  Index step = 1;    // -1: `first` and what follows count from the end
};
// Q = H(0) H(1) …
template <typename T>
using Reflections = std::vector<Reflection<T>>;

// Elements of the matrix at which a reflection works: n of them, from `at`.
template <typename T>
void ReflectOne(const Reflection<T>& h, T tau, bool conjugate, Index n, T* at,
                Index apart) {
  const auto part = [&](std::size_t i) {
    return conjugate ? ConjOf(h.v[i]) : h.v[i];
  };
  T* const from = at + (h.step > 0 ? h.first : n - 1 - h.first) * apart;
  const Index step = apart * h.step;
  T sum(0);
  for (std::size_t i = 0; i < h.v.size(); ++i) {
    sum += Mul(ConjOf(part(i)), from[static_cast<Index>(i) * step]);
  }
  sum = Mul(tau, sum);
  for (std::size_t i = 0; i < h.v.size(); ++i) {
    from[static_cast<Index>(i) * step] -= Mul(part(i), sum);
  }
}

// C := op(Q) C or C op(Q).
template <typename T>
void Apply(Side side, Operation op, const Reflections<T>& q, Index m, Index n,
           T* c, Index ldc) {
  const bool forward = (side == kLeft) == (op != kN);
  for (std::size_t step = 0; step < q.size(); ++step) {
    const Reflection<T>& h = q[forward ? step : q.size() - 1 - step];
    const T tau = op == kN ? h.tau : ConjOf(h.tau);
    if (side == kLeft) {
      for (Index j = 0; j < n; ++j) {
        ReflectOne(h, tau, /*conjugate=*/false, m, c + j * ldc, Index{1});
      }
    } else {
      // A row c (I - tau v v^H) is, as a column, (I - tau conj(v) v^T) c^T.
      for (Index i = 0; i < m; ++i) {
        ReflectOne(h, tau, /*conjugate=*/true, n, c + i, ldc);
      }
    }
  }
}

template <typename T>
void SetIdentity(Index m, Index n, T* a, Index lda) {
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) a[i + j * lda] = T(i == j ? 1 : 0);
  }
}

// Reflections below the diagonal, or the `below`th beside it.
template <typename T>
Reflections<T> InColumns(Index m, Index k, Index below, const T* a, Index lda,
                         const T* tau) {
  Reflections<T> q;
  for (Index j = 0; j < k; ++j) {
    Reflection<T>& h = q.emplace_back(Reflection<T>{tau[j], j + below, {T(1)}});
    for (Index i = j + below + 1; i < m; ++i) h.v.push_back(a[i + j * lda]);
  }
  return q;
}
// In rows, right of the diagonal, conjugated.
template <typename T>
Reflections<T> InRows(Index n, Index k, Index right, const T* a, Index lda,
                      const T* tau) {
  Reflections<T> q;
  for (Index i = 0; i < k; ++i) {
    Reflection<T>& h = q.emplace_back(Reflection<T>{tau[i], i + right, {T(1)}});
    for (Index j = i + right + 1; j < n; ++j) {
      h.v.push_back(ConjOf(a[i + j * lda]));
    }
  }
  return q;
}
// Those of Sytrd; of an upper triangle all is counted from the end.
template <typename T>
Reflections<T> OfTridiagonal(Fill fill, Index n, const T* a, Index lda,
                             const T* tau) {
  if (fill == kLower) return InColumns(n, n - 1, Index{1}, a, lda, tau);
  Reflections<T> q;
  for (Index k = 0; k < n - 1; ++k) {
    Reflection<T>& h =
        q.emplace_back(Reflection<T>{tau[n - 2 - k], k + 1, {T(1)}, -1});
    const T* const column = a + (n - 1 - k) * lda;
    for (Index i = n - 3 - k; i >= 0; --i) h.v.push_back(column[i]);
  }
  return q;
}

template <typename T>
void ReduceToTridiagonal(Fill fill, Index n, T* a, Index lda, Real<T>* d,
                         Real<T>* e, T* tau) {
  if (n == 0) return;
  const bool upper = fill == kUpper;
  const Index row = upper ? -1 : 1, column = upper ? -lda : lda;
  T* const first = upper ? a + (n - 1) * (lda + 1) : a;
  const auto at = [&](Index i, Index j) -> T& {
    return first[i * row + j * column];
  };
  const auto place = [&](Index i, Index count) {
    return upper ? count - 1 - i : i;
  };
  std::vector<T> w(static_cast<std::size_t>(n));
  for (Index k = 0; k < n - 1; ++k) {
    const Index size = n - k - 1;
    T beta = at(k + 1, k);
    T* const rest = size > 1 ? &at(k + 2, k) : nullptr;
    const T t = cublas::MakeReflection<T>(size, &beta, rest, row);
    d[place(k, n)] = RealPart(at(k, k));
    e[place(k, n - 1)] = RealPart(beta);
    tau[place(k, n - 1)] = t;
    // S := H^H S H = S - v w^H - w v^H for the rest S of the matrix.
    const auto v = [&](Index i) { return i == 0 ? T(1) : at(k + 1 + i, k); };
    T product(0);
    for (Index i = 0; i < size; ++i) {
      T sum(0);
      for (Index j = 0; j < size; ++j) {
        T s = i >= j ? at(k + 1 + i, k + 1 + j)
                     : ConjOf(at(k + 1 + j, k + 1 + i));
        if (i == j) s = T(RealPart(s));
        sum += Mul(s, v(j));
      }
      sum = Mul(t, sum);
      w[static_cast<std::size_t>(i)] = sum;
      product += Mul(ConjOf(sum), v(i));
    }
    const T half = Mul(Mul(t, product), T(Real<T>(0.5)));
    for (Index i = 0; i < size; ++i) {
      w[static_cast<std::size_t>(i)] -= Mul(half, v(i));
    }
    for (Index j = 0; j < size; ++j) {
      for (Index i = j; i < size; ++i) {
        T& to = at(k + 1 + i, k + 1 + j);
        to -= Mul(v(i), ConjOf(w[static_cast<std::size_t>(j)])) +
              Mul(w[static_cast<std::size_t>(i)], ConjOf(v(j)));
        if (i == j) to = T(RealPart(to));
      }
    }
    at(k + 1, k) = beta;
  }
  d[place(n - 1, n)] = RealPart(at(n - 1, n - 1));
}

template <typename T>
void ReduceToBidiagonal(Index m, Index n, T* a, Index lda, Real<T>* d,
                        Real<T>* e, T* tau_q, T* tau_p) {
  for (Index k = 0; k < n; ++k) {
    T* const diagonal = a + k + k * lda;
    tau_q[k] = cublas::MakeReflection<T>(m - k, diagonal, diagonal + 1, 1);
    d[k] = RealPart(*diagonal);
    cublas::Reflect<T>(ConjOf(tau_q[k]), diagonal, m - k, n - k - 1,
                       diagonal + lda, lda);
    *diagonal = T(d[k]);
    if (k == n - 1) {
      tau_p[k] = T(0);
      break;
    }
    T* const row = diagonal + lda;
    const Index size = n - k - 1;
    for (Index j = 0; j < size; ++j) row[j * lda] = ConjOf(row[j * lda]);
    tau_p[k] = cublas::MakeReflection<T>(size, row, row + lda, lda);
    e[k] = RealPart(*row);
    Reflection<T> h{tau_p[k], 0, {T(1)}};
    for (Index j = 1; j < size; ++j) h.v.push_back(row[j * lda]);
    for (Index i = 1; i < m - k; ++i) {
      ReflectOne(h, h.tau, /*conjugate=*/true, size, row + i, lda);
    }
    for (Index j = 1; j < size; ++j) row[j * lda] = ConjOf(row[j * lda]);
  }
}

}  // namespace

template <typename T>
void Geqrf(Index m, Index n, T* a, Index lda, T* tau) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.geqrf && m > 0 && n > 0 && Fits(m, n)) {
    WithWork<T>([&](T* work, Number size, int* info) {
      lapack.geqrf(Number(m), Number(n), a, Number(lda), tau, work, size, info);
    });
    return;
  }
  cublas::Geqrf<T>(m, n, a, lda, tau);
}

template <typename T>
void Orgqr(Index m, Index n, Index k, T* a, Index lda, const T* tau) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.orgqr && n > 0 && Fits(m, n)) {
    WithWork<T>([&](T* work, Number size, int* info) {
      lapack.orgqr(Number(m), Number(n), Number(k), a, Number(lda), tau, work,
                   size, info);
    });
    return;
  }
  const Reflections<T> q = InColumns(m, k, Index{0}, a, lda, tau);
  SetIdentity(m, n, a, lda);
  Apply(kLeft, kN, q, m, n, a, lda);
}

template <typename T>
void Ormqr(Side side, Operation op, Index m, Index n, Index k, const T* a,
           Index lda, const T* tau, T* c, Index ldc) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.ormqr && m > 0 && n > 0 && Fits(m, n)) {
    WithWork<T>([&](T* work, Number size, int* info) {
      lapack.ormqr(Letter(side), Letter<T>(op), Number(m), Number(n), Number(k),
                   a, Number(lda), tau, c, Number(ldc), work, size, info, 1, 1);
    });
    return;
  }
  Apply(side, op, InColumns(side == kLeft ? m : n, k, Index{0}, a, lda, tau), m,
        n, c, ldc);
}

template <typename T>
void Gebrd(Index m, Index n, T* a, Index lda, Real<T>* d, Real<T>* e, T* tau_q,
           T* tau_p) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.gebrd && n > 0 && Fits(m, n)) {
    WithWork<T>([&](T* work, Number size, int* info) {
      lapack.gebrd(Number(m), Number(n), a, Number(lda), d, e, tau_q, tau_p,
                   work, size, info);
    });
    return;
  }
  ReduceToBidiagonal<T>(m, n, a, lda, d, e, tau_q, tau_p);
}

template <typename T>
void Orgbr(Side side, Index m, Index n, Index k, T* a, Index lda,
           const T* tau) {
  if (m == 0 || n == 0) return;
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.orgbr && Fits(m, n)) {
    WithWork<T>([&](T* work, Number size, int* info) {
      lapack.orgbr(side == kLeft ? "Q" : "P", Number(m), Number(n), Number(k),
                   a, Number(lda), tau, work, size, info, 1);
    });
    return;
  }
  if (side == kLeft) {
    // Of a matrix with fewer rows than columns B's second diagonal is the
    // lower one, and the first reflection begins below it.
    const Index below = m >= k ? 0 : 1;
    const auto q = InColumns(m, below == 0 ? k : m - 1, below, a, lda, tau);
    SetIdentity(m, n, a, lda);
    Apply(kLeft, kN, q, m, n, a, lda);
  } else {
    const Index right = k < n ? 0 : 1;
    const auto p = InRows(n, right == 0 ? k : n - 1, right, a, lda, tau);
    SetIdentity(m, n, a, lda);
    Apply(kRight, kC, p, m, n, a, lda);
  }
}

template <typename T>
void Sytrd(Fill fill, Index n, T* a, Index lda, Real<T>* d, Real<T>* e,
           T* tau) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.sytrd && n > 0 && Fits(n, n)) {
    WithWork<T>([&](T* work, Number size, int* info) {
      lapack.sytrd(Letter(fill), Number(n), a, Number(lda), d, e, tau, work,
                   size, info, 1);
    });
    return;
  }
  ReduceToTridiagonal<T>(fill, n, a, lda, d, e, tau);
}

template <typename T>
void Orgtr(Fill fill, Index n, T* a, Index lda, const T* tau) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.orgtr && n > 0 && Fits(n, n)) {
    WithWork<T>([&](T* work, Number size, int* info) {
      lapack.orgtr(Letter(fill), Number(n), a, Number(lda), tau, work, size,
                   info, 1);
    });
    return;
  }
  const Reflections<T> q = OfTridiagonal(fill, n, a, lda, tau);
  SetIdentity(n, n, a, lda);
  Apply(kLeft, kN, q, n, n, a, lda);
}

template <typename T>
void Ormtr(Side side, Fill fill, Operation op, Index m, Index n, const T* a,
           Index lda, const T* tau, T* c, Index ldc) {
  const Lapack<T>& lapack = HostLapack<T>();
  if (lapack.ormtr && m > 0 && n > 0 && Fits(m, n)) {
    WithWork<T>([&](T* work, Number size, int* info) {
      lapack.ormtr(Letter(side), Letter(fill), Letter<T>(op), Number(m),
                   Number(n), a, Number(lda), tau, c, Number(ldc), work, size,
                   info, 1, 1, 1);
    });
    return;
  }
  Apply(side, op, OfTridiagonal(fill, side == kLeft ? m : n, a, lda, tau), m, n,
        c, ldc);
}

template <typename T>
void Larft(bool backward, bool rows, Index n, Index k, const T* v, Index ldv,
           const T* tau, T* t, Index ldt) {
  // Element j of reflection i: ones and zeros are not in memory.
  const auto element = [&](Index i, Index j) {
    const Index one = backward ? n - k + i : i;
    if (j == one) return T(1);
    if (backward ? j > one : j < one) return T(0);
    // Rows hold the reflections' conjugates.
    return rows ? ConjOf(v[i + j * ldv]) : v[j + i * ldv];
  };
  for (Index step = 0; step < k; ++step) {
    const Index i = backward ? k - 1 - step : step;
    // T(:, i) := -tau(i) T V^H v(i) over those that are done.
    std::vector<T> product(static_cast<std::size_t>(step));
    const auto done = [&](Index s) { return backward ? k - step + s : s; };
    for (Index s = 0; s < step; ++s) {
      T sum(0);
      for (Index j = 0; j < n; ++j) {
        sum += Mul(ConjOf(element(done(s), j)), element(i, j));
      }
      product[static_cast<std::size_t>(s)] = Mul(T(0) - tau[i], sum);
    }
    for (Index s = 0; s < step; ++s) {
      T sum(0);
      for (Index u = backward ? 0 : s; u < (backward ? s + 1 : step); ++u) {
        sum += Mul(t[done(s) + done(u) * ldt],
                   product[static_cast<std::size_t>(u)]);
      }
      t[done(s) + i * ldt] = sum;
    }
    t[i + i * ldt] = tau[i];
  }
}

#define CERBERUS_FOR_TYPE(T)                                                   \
  template void Geqrf<T>(Index, Index, T*, Index, T*);                         \
  template void Orgqr<T>(Index, Index, Index, T*, Index, const T*);            \
  template void Ormqr<T>(Side, Operation, Index, Index, Index, const T*,       \
                         Index, const T*, T*, Index);                          \
  template void Gebrd<T>(Index, Index, T*, Index, Real<T>*, Real<T>*, T*, T*); \
  template void Orgbr<T>(Side, Index, Index, Index, T*, Index, const T*);      \
  template void Sytrd<T>(Fill, Index, T*, Index, Real<T>*, Real<T>*, T*);      \
  template void Orgtr<T>(Fill, Index, T*, Index, const T*);                    \
  template void Ormtr<T>(Side, Fill, Operation, Index, Index, const T*, Index, \
                         const T*, T*, Index);                                 \
  template void Larft<T>(bool, bool, Index, Index, const T*, Index, const T*,  \
                         T*, Index);
CERBERUS_FOR_TYPE(float)
CERBERUS_FOR_TYPE(double)
CERBERUS_FOR_TYPE(Complex32)
CERBERUS_FOR_TYPE(Complex64)
#undef CERBERUS_FOR_TYPE

}  // namespace cerberus::libraries::cusolver
