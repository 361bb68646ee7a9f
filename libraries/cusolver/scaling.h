// Matrices whose elements' squares are numbers.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_SCALING_H_
#define CERBERUS_LIBRARIES_CUSOLVER_SCALING_H_

#include <algorithm>

#include "libraries/cusolver/lapack.h"

namespace cerberus::libraries::cusolver {

// Divides A by its largest element, which it returns; by 1 if all are 0.
template <typename T>
Real<T> DivideByLargest(Index m, Index n, T* a, Index lda) {
  Real<T> largest = 0;
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      const Real<T> size = cublas::AbsSum(a[i + j * lda]);
      largest = std::max(largest, size);
    }
  }
  const Real<T> scale = largest > 0 ? largest : Real<T>(1);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      a[i + j * lda] = Div(a[i + j * lda], T(scale));
    }
  }
  return scale;
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_SCALING_H_
