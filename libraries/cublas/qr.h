// Many small matrices by reflections (reflect.h).
#ifndef CERBERUS_LIBRARIES_CUBLAS_QR_H_
#define CERBERUS_LIBRARIES_CUBLAS_QR_H_

#include <vector>

#include "libraries/cublas/batched.h"
#include "libraries/cublas/reflect.h"

namespace cerberus::libraries::cublas {

template <typename T>
Status GeqrfBatched(Handle h, int m, int n, T* const* a, int lda, T* const* tau,
                    int* info, int count) {
  if (info == nullptr) return kInvalidValue;
  const int wrong = m < 0             ? 1
                    : n < 0           ? 2
                    : !IsStep(lda, m) ? 4
                    : count < 0       ? 7
                                      : 0;
  *info = -wrong;
  if (wrong != 0) return kInvalidValue;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const Pointers<T> pa(call.work(), a, count, [&](T* p, Index) {
    return call.MatrixOut(p, m, n, lda);
  });
  const Pointers<T> pt(call.work(), tau, count, [&](T* p, Index) {
    return call.VectorOut(p, std::min(m, n), 1);
  });
  if (pa.failed() || pt.failed()) return kExecutionFailed;
  return call.Run([=] {
    for (Index i = 0; i < count; ++i) Geqrf<T>(m, n, pa[i], lda, pt[i]);
  });
}

// The X that comes nearest to A X = C, in the first n rows of C; m >= n, A not
// turned, as NVIDIA's has it. `infos`: 0, or the first i for which R(i, i) is
// 0.
template <typename T>
Status GelsBatched(Handle h, Operation op, int m, int n, int columns,
                   T* const* a, int lda, T* const* c, int ldc, int* info,
                   int* infos, int count) {
  if (info == nullptr) return kInvalidValue;
  const int wrong = m < 0             ? 2
                    : n < 0           ? 3
                    : columns < 0     ? 4
                    : !IsStep(lda, m) ? 6
                    : !IsStep(ldc, m) ? 8
                    : count < 0       ? 11
                                      : 0;
  *info = -wrong;
  if (wrong != 0) return kInvalidValue;
  if (op != kN || m < n) return kNotSupported;
  if (m == 0 || n == 0 || count == 0) return kSuccess;
  Call call(h);
  const Pointers<T> pa(call.work(), a, count, [&](T* p, Index) {
    return call.MatrixOut(p, m, n, lda);
  });
  const Pointers<T> pc(call.work(), c, count, [&](T* p, Index) {
    return call.MatrixOut(p, m, columns, ldc);
  });
  int* pi = call.VectorOut(infos, count, 1);
  if (pa.failed() || pc.failed()) return kExecutionFailed;
  return call.Run([=] {
    std::vector<T> tau(static_cast<std::size_t>(n));
    for (Index i = 0; i < count; ++i) {
      T* q = pa[i];
      Geqrf<T>(m, n, q, lda, tau.data());
      int singular = 0;
      for (Index k = 0; k < n; ++k) {
        Reflect<T>(ConjOf(tau[static_cast<std::size_t>(k)]), q + k + k * lda,
                   m - k, columns, pc[i] + k, ldc);
        if (q[k + k * lda] == T(0) && singular == 0) {
          singular = static_cast<int>(k + 1);
        }
      }
      if (singular == 0) {
        Trsm<T>(kLeft, kUpper, kN, kNonUnit, n, columns, T(1), q, lda, pc[i],
                ldc);
      }
      if (pi != nullptr) pi[i] = singular;
    }
  });
}

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_QR_H_
