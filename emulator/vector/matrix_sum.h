// Products of small matrices, the inner loops of matrix.cc: compiled once for
// each ISA of the host, as the lane loops are.
#ifndef CERBERUS_EMULATOR_VECTOR_MATRIX_SUM_H_
#define CERBERUS_EMULATOR_VECTOR_MATRIX_SUM_H_

#include <vector>

#include "emulator/decode/op.h"

namespace cerberus::emulator {

// C += A * B with A of m x k and B of k x n, row by row. Sums are made in the
// order of k, each step fused and rounded to f32 or f64; what is passed in fits
// the type.
using MatrixSum = void (*)(const double* a, const double* b, double* c, int m,
                           int n, int k);

// The same straight from registers and to them, for f32, f16 and bf16 summed
// up in f32. Rows of a matrix (columns of A) stand in consecutive lanes, four
// or sixteen together: a run.
struct Run {
  u16 word;   // its first lane's, from the operand's first register on
  u16 shift;  // 16: the upper halves
};
struct RunProduct {
  enum class Element : u8 { kF32, kF16, kBf16 };
  // All matrices of all blocks have at most so many elements.
  static constexpr int kMost = 2048;

  Element element = Element::kF32;
  bool flush = false;  // denormals are zeros
  int m = 0, n = 0, k = 0, blocks = 1;
  int length = 0;  // of a run; 0: there are none
  std::vector<Run> a, b, d;
};
// `d` may overlap the sources.
using MatrixRuns = void (*)(const RunProduct& x, const u32* a, const u32* b,
                            const u32* c, u32* d);

#define CERBERUS_EMU_MATRIX(isa)                                               \
  namespace isa {                                                              \
  void MatrixSumF32(const double* a, const double* b, double* c, int m, int n, \
                    int k);                                                    \
  void MatrixSumF64(const double* a, const double* b, double* c, int m, int n, \
                    int k);                                                    \
  void MultiplyRuns(const RunProduct& x, const u32* a, const u32* b,           \
                    const u32* c, u32* d);                                     \
  }
CERBERUS_EMU_MATRIX(base)
CERBERUS_EMU_MATRIX(v3)
CERBERUS_EMU_MATRIX(v4)
#undef CERBERUS_EMU_MATRIX

// Those for this host (semantics.cc).
MatrixSum HostMatrixSum(bool f64);
MatrixRuns HostMatrixRuns();

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_MATRIX_SUM_H_
