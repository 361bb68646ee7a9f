// The host's BLAS: OpenBLAS, or another with Fortran's interface, opened at the
// first call that is worth it. What it lacks, and sizes above its integers, are
// computed in loops of our own (math.h).
#ifndef CERBERUS_LIBRARIES_CUBLAS_BLAS_H_
#define CERBERUS_LIBRARIES_CUBLAS_BLAS_H_

#include <complex>

namespace cerberus::libraries::cublas {

template <typename T>
struct RealOf {
  using Type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <typename T>
using Real = typename RealOf<T>::Type;

template <typename T>
struct Blas {
  using N = const int*;
  using C = const char*;
  using V = const T*;
  void (*gemm)(C, C, N, N, N, V, V, N, V, N, V, T*, N);
  void (*gemv)(C, N, N, V, V, N, V, N, V, T*, N);
  void (*symm)(C, C, N, N, V, V, N, V, N, V, T*, N);
  void (*hemm)(C, C, N, N, V, V, N, V, N, V, T*, N);
  void (*syrk)(C, C, N, N, V, V, N, V, T*, N);
  void (*herk)(C, C, N, N, const Real<T>*, V, N, const Real<T>*, T*, N);
  void (*syr2k)(C, C, N, N, V, V, N, V, N, V, T*, N);
  void (*her2k)(C, C, N, N, V, V, N, V, N, const Real<T>*, T*, N);
  void (*trmm)(C, C, C, C, N, N, V, V, N, T*, N);
  void (*trsm)(C, C, C, C, N, N, V, V, N, T*, N);
};

// For float, double and their complex types. A function that was not found is
// null; for real types hemm, herk and her2k are symm, syrk and syr2k.
template <typename T>
const Blas<T>& HostBlas();

// A function of the LAPACK that belongs to that BLAS; null if there is none.
void* FindInLapack(const char* symbol);

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_BLAS_H_
