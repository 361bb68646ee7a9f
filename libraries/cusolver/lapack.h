// The host's LAPACK, with Fortran's interface: that of OpenBLAS, or beside the
// host's BLAS (cublas/blas.h). What it lacks, and sizes above its integers, are
// computed in loops of our own.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_LAPACK_H_
#define CERBERUS_LIBRARIES_CUSOLVER_LAPACK_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "libraries/cublas/math.h"

namespace cerberus::libraries::cusolver {

using cublas::Complex32;
using cublas::Complex64;
using cublas::ConjOf;
using cublas::DataType;
using cublas::Diag;
using cublas::Div;
using cublas::Fill;
using cublas::Index;
using cublas::kC;
using cublas::kIsComplex;
using cublas::kLeft;
using cublas::kLower;
using cublas::kN;
using cublas::kNonUnit;
using cublas::kRight;
using cublas::kT;
using cublas::kUnit;
using cublas::kUpper;
using cublas::Mul;
using cublas::Operation;
using cublas::Real;
using cublas::RealPart;
using cublas::Side;

// Functions as LAPACK's documentation has them. A function that was not found
// is null. `or…` and `sy…` are the complex types' `un…` and `he…`, but for
// sytrf, which both have. Behind the arguments stand the lengths of those that
// are letters, as gfortran has them.
template <typename T>
struct Lapack {
  using N = const int*;
  using C = const char*;
  using V = const T*;
  using R = Real<T>*;
  using L = std::size_t;
  void (*getrf)(N, N, T*, N, int*, int*);
  void (*potrf)(C, N, T*, N, int*, L);
  void (*potri)(C, N, T*, N, int*, L);
  void (*trtri)(C, C, N, T*, N, int*, L, L);
  void (*sytrf)(C, N, T*, N, int*, T*, N, int*, L);
  void (*hetrf)(C, N, T*, N, int*, T*, N, int*, L);
  void (*geqrf)(N, N, T*, N, T*, T*, N, int*);
  void (*orgqr)(N, N, N, T*, N, V, T*, N, int*);
  void (*ormqr)(C, C, N, N, N, V, N, V, T*, N, T*, N, int*, L, L);
  void (*gebrd)(N, N, T*, N, R, R, T*, T*, T*, N, int*);
  void (*orgbr)(C, N, N, N, T*, N, V, T*, N, int*, L);
  void (*sytrd)(C, N, T*, N, R, R, T*, T*, N, int*, L);
  void (*orgtr)(C, N, T*, N, V, T*, N, int*, L);
  void (*ormtr)(C, C, C, N, N, V, N, V, T*, N, T*, N, int*, L, L, L);
  // Real: syevd, gesdd, geev.
  void (*syevd)(C, C, N, T*, N, R, T*, N, int*, N, int*, L, L);
  void (*gesdd)(C, N, N, T*, N, R, T*, N, T*, N, T*, N, int*, int*, L);
  void (*geev)(C, C, N, T*, N, R, R, T*, N, T*, N, T*, N, int*, L, L);
  // Complex: heevd, gesdd, geev.
  void (*heevd)(C, C, N, T*, N, R, T*, N, R, N, int*, N, int*, L, L);
  void (*complex_gesdd)(C, N, N, T*, N, R, T*, N, T*, N, T*, N, R, int*, int*,
                        L);
  void (*complex_geev)(C, C, N, T*, N, T*, T*, N, T*, N, T*, N, R, int*, L, L);
};

// For float, double and their complex types.
template <typename T>
const Lapack<T>& HostLapack();

// Sizes as numbers of Fortran.
struct Number {
  explicit Number(Index number) : value(static_cast<int>(number)) {}
  operator const int*() const { return &value; }  // NOLINT
  int value;
};
// Whether sizes, products of which LAPACK makes for its memory, fit its
// integers.
inline bool Fits(Index m, Index n) {
  constexpr Index kMost = 30000;
  return m <= kMost && n <= kMost;
}

template <typename T>
const char* Letter(Operation op) {
  return op == kN ? "N" : op == kT || !kIsComplex<T> ? "T" : "C";
}
inline const char* Letter(Fill fill) { return fill == kUpper ? "U" : "L"; }
inline const char* Letter(Side side) { return side == kLeft ? "L" : "R"; }
inline const char* Letter(Diag diag) { return diag == kUnit ? "U" : "N"; }

// Whether a matrix is of numbers, in which alone LAPACK finds values and comes
// to an end.
template <typename T>
bool IsFinite(Index m, Index n, const T* a, Index lda) {
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      if (!std::isfinite(cublas::AbsSum(a[i + j * lda]))) return false;
    }
  }
  return true;
}
// What is not found in another.
template <typename T>
void SetNan(Index m, Index n, T* a, Index lda) {
  for (Index j = 0; a != nullptr && j < n; ++j) {
    std::fill_n(a + j * lda, m, T(std::numeric_limits<Real<T>>::quiet_NaN()));
  }
}

// Calls a function with the memory that it asks for:
// call(work, its size, info). Returns info.
template <typename T, typename Call>
int WithWork(const Call& call) {
  int info = 0;
  T best(0);
  call(&best, Number(-1), &info);
  if (info != 0) return info;
  const auto size = static_cast<Index>(RealPart(best)) + 1;
  std::vector<T> work(static_cast<std::size_t>(size));
  call(work.data(), Number(size), &info);
  return info;
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_LAPACK_H_
