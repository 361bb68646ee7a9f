// Vectors: what cuBLAS calls level 1. For n of 0 or less nothing is done, and
// results are 0.
#ifndef CERBERUS_LIBRARIES_CUBLAS_LEVEL1_H_
#define CERBERUS_LIBRARIES_CUBLAS_LEVEL1_H_

#include <utility>

#include "libraries/cublas/handle.h"
#include "libraries/cublas/math.h"
#include "libraries/cublas/reflect.h"

namespace cerberus::libraries::cublas {

// By 0 nothing is done, and x, which may be null then, is not read: as in BLAS.
template <typename T, typename I>
Status Axpy(Handle h, I n, const T* alpha, const T* x, I incx, T* y, I incy) {
  if (alpha == nullptr) return kInvalidValue;
  if (n <= 0) return kSuccess;
  Call call(h);
  const auto a = call.In(alpha);
  const T* px = call.Vector(x, n, incx);
  T* py = call.VectorOut(y, n, incy);
  return call.Run([=] {
    const T v = a.Get();
    if (v == T(0)) return;
    for (Index i = 0; i < n; ++i) {
      py[At(i, n, incy)] += Mul(v, px[At(i, n, incx)]);
    }
  });
}

template <typename T, typename I>
Status Copy(Handle h, I n, const T* x, I incx, T* y, I incy) {
  if (n <= 0) return kSuccess;
  Call call(h);
  const T* px = call.Vector(x, n, incx);
  T* py = call.VectorOut(y, n, incy);
  return call.Run([=] {
    for (Index i = 0; i < n; ++i) py[At(i, n, incy)] = px[At(i, n, incx)];
  });
}

template <typename T, typename I>
Status Swap(Handle h, I n, T* x, I incx, T* y, I incy) {
  if (n <= 0) return kSuccess;
  Call call(h);
  T* px = call.VectorOut(x, n, incx);
  T* py = call.VectorOut(y, n, incy);
  return call.Run([=] {
    for (Index i = 0; i < n; ++i) {
      std::swap(px[At(i, n, incx)], py[At(i, n, incy)]);
    }
  });
}

// By a number of x's type, or a real one. A step that is not positive means
// that nothing is done.
template <typename T, typename S, typename I>
Status Scal(Handle h, I n, const S* alpha, T* x, I incx) {
  if (alpha == nullptr) return kInvalidValue;
  if (n <= 0 || incx <= 0) return kSuccess;
  Call call(h);
  const auto a = call.In(alpha);
  T* px = call.VectorOut(x, n, incx);
  return call.Run([=] {
    const S v = a.Get();
    for (Index i = 0; i < n; ++i) {
      T& to = px[At(i, n, incx)];
      if constexpr (std::is_same_v<T, S>) {
        to = Mul(v, to);
      } else {
        to *= v;
      }
    }
  });
}

template <bool kConjugated, typename T, typename I>
Status Dot(Handle h, I n, const T* x, I incx, const T* y, I incy, T* result) {
  if (result == nullptr) return kInvalidValue;
  Call call(h);
  const T* px = call.Vector(x, n, incx);
  const T* py = call.Vector(y, n, incy);
  T* to = call.Out(result);
  return call.Run([=] {
    T sum(0);
    for (Index i = 0; i < n; ++i) {
      const T v = px[At(i, n, incx)];
      sum += Mul(kConjugated ? ConjOf(v) : v, py[At(i, n, incy)]);
    }
    *to = sum;
  });
}

template <typename T, typename I>
Status Nrm2(Handle h, I n, const T* x, I incx, Real<T>* result) {
  if (result == nullptr) return kInvalidValue;
  Call call(h);
  const T* px = call.Vector(x, n, incx);
  Real<T>* to = call.Out(result);
  return call.Run(
      [=] { *to = n <= 0 || incx <= 0 ? Real<T>(0) : Norm<T>(n, px, incx); });
}

template <typename T, typename I>
Status Asum(Handle h, I n, const T* x, I incx, Real<T>* result) {
  if (result == nullptr) return kInvalidValue;
  Call call(h);
  const T* px = call.Vector(x, n, incx);
  Real<T>* to = call.Out(result);
  return call.Run([=] {
    Real<T> sum = 0;
    for (Index i = 0; i < n && incx > 0; ++i) sum += AbsSum(px[i * incx]);
    *to = sum;
  });
}

// The place, counted from 1, of the first element that is largest or smallest
// by |re| + |im|.
template <bool kLargest, typename T, typename I>
Status Iamax(Handle h, I n, const T* x, I incx, I* result) {
  if (result == nullptr) return kInvalidValue;
  Call call(h);
  const T* px = call.Vector(x, n, incx);
  I* to = call.Out(result);
  return call.Run([=] {
    Index best = n > 0 && incx > 0 ? 1 : 0;
    for (Index i = 1; i < n && incx > 0; ++i) {
      const Real<T> v = AbsSum(px[i * incx]);
      const Real<T> before = AbsSum(px[(best - 1) * incx]);
      if (kLargest ? v > before : v < before) best = i + 1;
    }
    *to = static_cast<I>(best);
  });
}

// By the rotation (c, s; -conj(s), c).
template <typename T, typename S, typename I>
Status Rot(Handle h, I n, T* x, I incx, T* y, I incy, const Real<T>* c,
           const S* s) {
  if (c == nullptr || s == nullptr) return kInvalidValue;
  if (n <= 0) return kSuccess;
  Call call(h);
  const auto cosine = call.In(c);
  const auto sine = call.In(s);
  T* px = call.VectorOut(x, n, incx);
  T* py = call.VectorOut(y, n, incy);
  return call.Run([=] {
    const T cv(cosine.Get()), sv(sine.Get());
    for (Index i = 0; i < n; ++i) {
      T& a = px[At(i, n, incx)];
      T& b = py[At(i, n, incy)];
      const T turned = Mul(cv, a) + Mul(sv, b);
      b = Mul(cv, b) - Mul(ConjOf(sv), a);
      a = turned;
    }
  });
}

// The rotation that turns (a, b) to (r, 0); a becomes r, b the number that
// stands for it (real types only).
template <typename T>
void MakeRotation(T* a, T* b, Real<T>* c, T* s) {
  using R = Real<T>;
  const R na = std::abs(*a), nb = std::abs(*b);
  if constexpr (kIsComplex<T>) {
    if (na == 0) {
      *c = 0;
      *s = T(1);
      *a = *b;
      return;
    }
    const R norm = std::hypot(na, nb);
    const T direction = *a / na;
    *c = na / norm;
    *s = Mul(direction, ConjOf(*b)) / norm;
    *a = direction * norm;
  } else {
    if (na + nb == 0) {
      *c = 1;
      *s = 0;
      *a = *b = 0;
      return;
    }
    const R r = std::copysign(std::hypot(*a, *b), na > nb ? *a : *b);
    *c = *a / r;
    *s = *b / r;
    const R z = na > nb ? *s : *c != 0 ? 1 / *c : R(1);
    *a = r;
    *b = z;
  }
}
template <typename T>
Status Rotg(Handle h, T* a, T* b, Real<T>* c, T* s) {
  if (!a || !b || !c || !s) return kInvalidValue;
  Call call(h);
  T* pa = call.Out(a);
  T* pb = call.Out(b);
  Real<T>* pc = call.Out(c);
  T* ps = call.Out(s);
  return call.Run([=] { MakeRotation(pa, pb, pc, ps); });
}

// The modified rotation of a five-element parameter (BLAS, xROTM).
template <typename T>
void TurnModified(Index n, T* x, Index incx, T* y, Index incy, const T* p) {
  const T flag = p[0];
  if (flag == T(-2)) return;
  const T h11 = flag == T(0) ? T(1) : p[1];
  const T h21 = flag == T(1) ? T(-1) : p[2];
  const T h12 = flag == T(1) ? T(1) : p[3];
  const T h22 = flag == T(0) ? T(1) : p[4];
  for (Index i = 0; i < n; ++i) {
    T& a = x[At(i, n, incx)];
    T& b = y[At(i, n, incy)];
    const T turned = a * h11 + b * h12;
    b = a * h21 + b * h22;
    a = turned;
  }
}
template <typename T>
struct Five {
  T v[5];
};
template <typename T, typename I>
Status Rotm(Handle h, I n, T* x, I incx, T* y, I incy, const T* param) {
  if (param == nullptr) return kInvalidValue;
  if (n <= 0) return kSuccess;
  Call call(h);
  const auto p = call.In(reinterpret_cast<const Five<T>*>(param));
  T* px = call.VectorOut(x, n, incx);
  T* py = call.VectorOut(y, n, incy);
  return call.Run([=] {
    const Five<T> five = p.Get();
    TurnModified<T>(n, px, incx, py, incy, five.v);
  });
}

// BLAS, xROTMG.
template <typename T>
void MakeModified(T* d1, T* d2, T* x1, T y1, T* p) {
  constexpr T kGamma = 4096, kSquare = kGamma * kGamma;
  T flag, h11 = 0, h12 = 0, h21 = 0, h22 = 0;
  const T p2 = *d2 * y1;
  if (*d1 >= 0 && p2 == 0) {
    p[0] = -2;
    return;
  }
  const T p1 = *d1 * *x1, q2 = p2 * y1, q1 = p1 * *x1;
  const auto nothing = [&] {
    flag = -1;
    h11 = h12 = h21 = h22 = 0;
    *d1 = *d2 = *x1 = 0;
  };
  if (*d1 < 0) {
    nothing();
  } else if (std::abs(q1) > std::abs(q2)) {
    h21 = -y1 / *x1;
    h12 = p2 / p1;
    const T u = 1 - h12 * h21;
    flag = 0;
    if (u > 0) {
      *d1 /= u;
      *d2 /= u;
      *x1 *= u;
    } else {
      nothing();
    }
  } else if (q2 < 0) {
    nothing();
  } else {
    flag = 1;
    h11 = p1 / p2;
    h22 = *x1 / y1;
    const T u = 1 + h11 * h22;
    const T old = *d2;
    *d2 = *d1 / u;
    *d1 = old / u;
    *x1 = y1 * u;
  }
  const auto whole = [&] {
    if (flag == 0) h11 = h22 = 1;
    if (flag > 0) h21 = -1, h12 = 1;
    flag = -1;
  };
  while (*d1 != 0 && (*d1 <= 1 / kSquare || *d1 >= kSquare)) {
    whole();
    const bool small = *d1 <= 1 / kSquare;
    *d1 *= small ? kSquare : 1 / kSquare;
    *x1 *= small ? 1 / kGamma : kGamma;
    h11 *= small ? 1 / kGamma : kGamma;
    h12 *= small ? 1 / kGamma : kGamma;
  }
  while (*d2 != 0 &&
         (std::abs(*d2) <= 1 / kSquare || std::abs(*d2) >= kSquare)) {
    whole();
    const bool small = std::abs(*d2) <= 1 / kSquare;
    *d2 *= small ? kSquare : 1 / kSquare;
    h21 *= small ? 1 / kGamma : kGamma;
    h22 *= small ? 1 / kGamma : kGamma;
  }
  if (flag < 0) {
    p[1] = h11, p[2] = h21, p[3] = h12, p[4] = h22;
  } else if (flag == 0) {
    p[2] = h21, p[3] = h12;
  } else {
    p[1] = h11, p[4] = h22;
  }
  p[0] = flag;
}
template <typename T>
Status Rotmg(Handle h, T* d1, T* d2, T* x1, const T* y1, T* param) {
  if (!d1 || !d2 || !x1 || !y1 || !param) return kInvalidValue;
  Call call(h);
  const auto y = call.In(y1);
  T* pd1 = call.Out(d1);
  T* pd2 = call.Out(d2);
  T* px = call.Out(x1);
  auto* p = call.Out(reinterpret_cast<Five<T>*>(param));
  return call.Run([=] { MakeModified<T>(pd1, pd2, px, y.Get(), p->v); });
}

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_LEVEL1_H_
