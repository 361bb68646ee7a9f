// Matrices spread over the registers of a warp.
//
// All fragments but those of mma.m8n8k4.f16 follow one picture (PTX ISA,
// "Matrix Fragments for mma.m16n8k16" and its neighbours). With lane = 4g + t
// and E elements in a register (E = 1 for f64, whose register has 64 bits):
//
//   A      tiles of 8 rows and 4E columns: a register holds row g, columns
//          E*t … E*t + E-1
//   B      tiles of 4E rows and 8 columns: column g, rows E*t … E*t + E-1
//   C, D   tiles of 8 rows and 8 columns: row g, columns 2t and 2t + 1, in
//          two registers, or in one of two f16
//
// The manual leaves wmma's fragments open. They follow the same picture, so
// that a wmma is several mma, but where the target's matrix instructions (WMMA)
// take the shape as it is: there they lie as the instructions want them
// (InLines), and nothing has to move. With lane = 16h + l:
//
//   A      row l; its first half of K if h = 0, the second if h = 1, or all of
//   K
//          (gfx11, if the fragment has as many registers)
//   B      the same of column WmmaColumn(l)
//   C, D   row l, columns 4h … 4h + 3, then 8 + 4h … 8 + 4h + 3
#ifndef CERBERUS_PTXC_LOWER_MATRIX_MATRIX_H_
#define CERBERUS_PTXC_LOWER_MATRIX_MATRIX_H_

#include <vector>

#include "ptxc/lower/lower.h"

namespace cerberus::ptx {

struct MatrixShape {
  unsigned m = 0, n = 0, k = 0;
};
MatrixShape ShapeOf(Shape shape);

// How an element lies in a register; f8f6f4 kinds give each 8 bits.
unsigned ContainerBits(Type type, bool packed_e2m1);

// Registers of a fragment in the order of the operand's vector.
//
// A: pairs of row tiles first, then along K, then the further pairs.
inline unsigned IndexInA(unsigned row_tile, unsigned k_tile, unsigned row_tiles,
                         unsigned k_tiles) {
  const unsigned pair = row_tile / 2 * 2;
  const unsigned in_pair = row_tiles - pair < 2 ? 1 : 2;
  return pair * k_tiles + k_tile * in_pair + row_tile % 2;
}
inline unsigned IndexInB(unsigned k_tile, unsigned col_tile, unsigned k_tiles) {
  return col_tile * k_tiles + k_tile;
}
// The first of a tile's two elements.
inline unsigned IndexInC(unsigned row_tile, unsigned col_tile,
                         unsigned row_tiles) {
  return 2 * (row_tile + row_tiles * col_tile);
}

// What the lowerings of matrix instructions share: lanes' places, exchange
// between lanes, fragments of an operand.
class WarpMatrix {
 public:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;

  explicit WarpMatrix(FunctionLowering& fn) : fn_(fn), b_(fn.b_) {
    lane_ = fn.LaneId();
    t_ = b_.CreateAnd(lane_, 3);
    g_ = b_.CreateLShr(lane_, 2);
  }

  // Whether fragments of wmma with elements of this type, of A and B or of C
  // and D, lie as WMMA has them.
  bool InLines(Type type) const;

 protected:
  llvm::Constant* I32(std::uint64_t v) { return b_.getInt32(v); }
  llvm::Type* F32() { return b_.getFloatTy(); }
  llvm::Type* F64() { return b_.getDoubleTy(); }
  llvm::Type* HalfPair() {
    return llvm::FixedVectorType::get(b_.getHalfTy(), 2);
  }
  // {a, b, …} as values of `type`; at least `count`, or the instruction
  // fails.
  Values ReadFragment(int operand, unsigned count, Type type);
  void WriteFragment(int operand, const Values& values, Type type);

  // The value that another lane holds, 32 or 64 bits of any type.
  Value* FromLane(Value* lane, Value* value);
  // That of a lane of the wave, by 4 times its number.
  Value* FromWaveLane(Value* four_lanes, Value* value);
  // That of lane 4g + t.
  Value* FromQuad(unsigned t, Value* value);

  bool HasWmma() const;
  // Of a fragment of A or B in lines: how many words a lane has, and whether
  // they are all of its line.
  struct Lines {
    unsigned words;
    bool whole;
  };
  Lines LinesOf(Type type) const;
  // WMMA's row `line` has this column of B.
  Value* WmmaColumn(Value* line);

  FunctionLowering& fn_;
  llvm::IRBuilder<>& b_;
  Value* lane_;
  Value* g_;
  Value* t_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_LOWER_MATRIX_MATRIX_H_
