// A decoded matrix instruction.
#ifndef CERBERUS_EMULATOR_VECTOR_MATRIX_OP_H_
#define CERBERUS_EMULATOR_VECTOR_MATRIX_OP_H_

#include <vector>

#include "emulator/execute/wave.h"
#include "emulator/vector/matrix_sum.h"

namespace cerberus::emulator {

enum class MatrixElement : u8 {
  kF64,
  kF32,
  kXf32,
  kF16,
  kBf16,
  kI8,
  kI4,
  kFp8,
  kBf8,
  kFp6,
  kBf6,
  kFp4,
};
enum class MatrixResult : u8 { kF64, kF32, kI32, kF16, kBf16 };
enum class MatrixFamily : u8 { kMfma, kWmma11, kWmma12 };

struct MatrixPlace {
  u16 lane;
  u16 index;  // element of the lane's registers
};

struct MatrixOp {
  MatrixFamily family = MatrixFamily::kMfma;
  int m = 0, n = 0, k = 0, blocks = 1;
  MatrixElement a = MatrixElement::kF16, b = MatrixElement::kF16;
  MatrixResult d = MatrixResult::kF32;
  bool sparse = false;
  bool scaled = false;
  bool a_signed = true, b_signed = true, clamp = false;
  bool fnuz = false;  // the 8-bit formats of gfx940
  // gfx90a's f16 and bf16 instructions take denormals for zeros and make none
  // (MIOpen documentation, "MI200 MFMA behavior specifics").
  bool flush = false;
  int cbsz = 0, abid = 0, blgp = 0, index_key = 0;
  bool result_hi = false;  // gfx11: 16-bit results in the upper halves
  Operand src_a, src_b, src_c, index, scale_a, scale_b;
  int scale_a_byte = 0, scale_b_byte = 0;
  // Where everything lies, worked out once (Prepare), block by block: A by
  // row and depth, B by depth and column, D by row and column.
  std::vector<MatrixPlace> a_places, b_places, d_places;
  // The same, if the quick way will do.
  RunProduct runs;
};

int BitsOf(MatrixElement e);
void CountMatrix(Wave& w, const MatrixOp& x);

// Prepares the quick way (matrix_sum.h), where there is one, and goes it.
void PrepareRuns(MatrixOp* x, const Op& op, int lanes);
void ExecRuns(Wave& w, const Op& op);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_MATRIX_OP_H_
