// Products of small matrices, the inner loops of matrix.cc: compiled for two
// ISAs, as the lane loops are.
#ifndef CERBERUS_EMULATOR_VECTOR_MATRIX_SUM_H_
#define CERBERUS_EMULATOR_VECTOR_MATRIX_SUM_H_

namespace cerberus::emulator {

// C += A * B with A of m x k and B of k x n, row by row. Sums are made in the
// order of k, each step fused and rounded to f32 or f64; what is passed in fits
// the type.
using MatrixSum = void (*)(const double* a, const double* b, double* c, int m,
                           int n, int k);
namespace base {
void MatrixSumF32(const double* a, const double* b, double* c, int m, int n,
                  int k);
void MatrixSumF64(const double* a, const double* b, double* c, int m, int n,
                  int k);
}  // namespace base
namespace v3 {
void MatrixSumF32(const double* a, const double* b, double* c, int m, int n,
                  int k);
void MatrixSumF64(const double* a, const double* b, double* c, int m, int n,
                  int k);
}  // namespace v3

// The one for this host (semantics.cc).
MatrixSum HostMatrixSum(bool f64);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_MATRIX_SUM_H_
