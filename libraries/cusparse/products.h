// Products of sparse vectors and matrices with dense ones.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_PRODUCTS_H_
#define CERBERUS_LIBRARIES_CUSPARSE_PRODUCTS_H_

#include "libraries/cusparse/handle.h"
#include "libraries/cusparse/matrix.h"

namespace cerberus::libraries::cusparse {

bool IsOperation(Operation op);
// Whether elements of a and b may be multiplied and added to such of c with
// sums of that type (NVIDIA's tables of the generic functions).
bool GoTogether(DataType a, DataType b, DataType c, DataType compute);

// z := alpha op(A) x + beta y; y and z may be the same.
Status MultiplyVector(Handle h, Operation op, const void* alpha, const SpMat& a,
                      const DnVec& x, const void* beta, const DnVec& y,
                      const DnVec& z, DataType compute);
// C := alpha op(A) op(B) + beta C.
Status MultiplyMatrix(Handle h, Operation opa, Operation opb, const void* alpha,
                      const SpMat& a, const DnMat& b, const void* beta,
                      const DnMat& c, DataType compute);

// op(B), for a dense B, by rows without gaps, as T.
template <typename T>
std::vector<T> ByRows(const DnMat& m, Operation op, Index first_column,
                      Index columns) {
  const bool turned = op != cublas::kN;
  const Index rows = turned ? m.columns : m.rows;
  std::vector<T> out(Size(rows * columns));
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      const Index column = first_column + j;
      const T v = Get<T>(m.type, m.values,
                         turned ? m.PlaceOf(column, i) : m.PlaceOf(i, column));
      out[Size(i * columns + j)] = op == cublas::kC ? cublas::ConjOf(v) : v;
    }
  }
  return out;
}

// to := alpha sum + beta from. Where beta is 0, `from` is not read.
template <typename T>
void Finish(T alpha, T sum, T beta, DataType type, const void* from,
            Index place_from, void* to, Index place_to) {
  T value = cublas::Mul(alpha, sum);
  if (beta != T(0)) {
    value += cublas::Mul(beta, Get<T>(type, from, place_from));
  }
  Put<T>(type, to, place_to, value);
}

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_PRODUCTS_H_
