// A matrix product of a warp: its operands as words, and the three ways to
// multiply them. lower/matrix/mma.cc does it with the arithmetic that every
// target has, lower/matrix/mma_wmma.cc with RDNA's matrix instructions,
// lower/matrix/mma_mfma.cc with CDNA's. lower/matrix/wgmma.cc takes operands
// from shared memory.
#ifndef CERBERUS_PTXC_LOWER_MATRIX_MMA_H_
#define CERBERUS_PTXC_LOWER_MATRIX_MMA_H_

#include <functional>
#include <vector>

#include "ptxc/lower/matrix/matrix.h"

namespace cerberus::ptx {

inline bool IsSmallFloat(Type type) {
  switch (type) {
    case Type::kE4M3:
    case Type::kE5M2:
    case Type::kE3M2:
    case Type::kE2M3:
    case Type::kE2M1: return true;
    default: return false;
  }
}

class MatrixProduct : public WarpMatrix {
 public:
  MatrixProduct(FunctionLowering& fn, MatrixShape shape, Type a, Type b, Type d,
                Type c);
  void Run();
  // wmma.mma with fragments that lie as WMMA has them.
  void RunInLines();

  // mma.m8n8k4 with f16: four products, each by eight lanes.
  void RunQuadPairs();
  // wgmma: a warp's rows of the product.
  void RunWarpgroup();

 private:
  class InShared;

  // Tiles of C or D: element [IndexInC(row tile, column tile) + 0 or 1].
  using Sums = Values;
  // The words of one register: two f16 or bf16, one tf32 or f64, or integers
  // as they are.
  using Words = Values;

  bool IsInteger() const { return d_type_ == Type::kS32; }
  unsigned WordElements() const {
    return IsSmallFloat(a_type_) ? 2 : in_register_;
  }

  void ReadAB();
  void DecodeAB();
  Sums ReadC() { return ReadSums(3); }
  Sums ReadSums(int operand);
  void WriteD(Sums sums);
  Words Decode(Value* bits, Type type);
  Value* DecodeSmallFloats(Value* codes, Type type);
  Words Expand(Value* bits, Value* indices);
  Value* Metadata(unsigned row_tile, unsigned k_tile);
  unsigned MetadataBits() const { return container_ >= 16 ? 4 : 8; }
  Value* Join(const Values& words);

  // Calls step(k, A's words by row tile, B's words by column), in the order
  // of K.
  using Step =
      std::function<void(unsigned k, const Values& a, const Values& b)>;
  void ForEachStep(const Step& step);
  void AddProduct(Sums& sums);
  void AddByColumns(Sums& sums);
  void MultiplyAll(Sums& sums);
  void MultiplyScaled(Sums& sums);
  // Adds the product to `sums` with matrix instructions; false, and nothing
  // done, if the target has none for it.
  // Lanes of WMMA's result that this lane takes its sums from: those with its
  // columns, of row g for an even t and of row g + 8 for an odd one
  // (straight), and the other way round (crossed).
  struct WmmaLanes {
    Value* odd;       // whether t is
    Value* low_rows;  // whether this lane has rows below 8
    Value* straight;
    Value* crossed;
  };
  bool TakesWmma() const;
  void AddWmmaTiles(unsigned i, unsigned j, Value* product,
                    const WmmaLanes& from, Sums& sums);
  bool MultiplyByWmma(Sums& sums);
  Values WholeLine(const Values& words);
  Value* Wmma(const Values& columns, const Values& rows, Value* sum);
  class Mfma;
  bool HasMfma() const;
  bool MultiplyByMfma(Sums& sums);
  // The products over each of `blocks` equal parts of K.
  std::vector<Sums> ProductsByMfma(unsigned blocks);
  std::vector<Sums> ProductsInSteps(unsigned blocks);
  Value* ScaleFactor(int operand, Value* lane, unsigned block, Value* byte);
  Value* Dot(Value* a, Value* b, Value* sum);
  Values Elements(Value* word);
  Value* Fma(Value* a, Value* b, Value* c) {
    return fn_.Intrinsic(llvm::Intrinsic::fma, {c->getType()}, {a, b, c});
  }

  MatrixShape shape_;
  Type a_type_, b_type_, d_type_, c_type_;
  Type word_type_;
  bool sparse_, scaled_, saturate_;
  int metadata_operand_ = 4;  // of sparse A; its selector is the next
  unsigned container_, in_register_;
  unsigned row_tiles_, col_tiles_, a_k_tiles_, b_k_tiles_;
  Values a_bits_, b_bits_;                // by IndexInA, IndexInB
  std::vector<Words> a_words_, b_words_;  // the same, decoded
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_LOWER_MATRIX_MMA_H_
