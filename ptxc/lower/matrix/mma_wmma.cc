// Matrix products by RDNA's WMMA instructions: 16 rows, 16 columns and, with
// 16-bit elements, 16 steps of K (RDNA3 ISA, section 7.9; RDNA4 ISA, 7.12).
//
// PTX's fragments are spread over quads, WMMA's over 16 lanes:
//
//              operands: row (column) l of 16         result: row i, column n
//   gfx11      lanes l and l + 16, all of K           lane n + 16 (i % 2),
//                                                     register i / 2
//   gfx12      lane l the first half of the words     lane n + 16 (i / 8),
//              of K, lane l + 16 the second           register i % 8
//
// A becomes WMMA's second operand, so that a lane of the result has a row of
// D, and B the first. The places of B's columns among WMMA's rows are free:
// they are chosen so that registers 0–3 of lane r + 16 h have columns
// 4h … 4h + 3 of row r, and registers 4–7 the same of the next 8 columns.
// Moving a word to each lane takes one permutation: of the two registers that
// hold rows g and g + 8, lanes with an even t offer one and those with an odd
// t the other; in the next round it is the other way round.
#include "ptxc/lower/matrix/mma.h"

#include <algorithm>
#include <vector>

#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace cerberus::ptx {
namespace {

// Gathers the words of 16 lines (rows of A or columns of B) for WMMA.
class LineGather {
 public:
  using Value = llvm::Value;
  using FromLane = llvm::function_ref<Value*(Value* lane, Value* value)>;

  // `line`: which of the 16 a lane is to have; `first`: the t that its first
  // word comes from; `count`: how many words.
  LineGather(llvm::IRBuilder<>& b, Value* t, Value* line, Value* first,
             unsigned count)
      : b_(b), count_(count) {
    odd_ = b.CreateTrunc(t, b.getInt1Ty());
    upper_ = b.CreateICmpNE(b.CreateAnd(line, 8), b.getInt32(0));
    lane_ = b.CreateOr(b.CreateShl(b.CreateAnd(line, 7), 2), first);
    swapped_ = b.CreateXor(lane_, b.CreateLShr(b.CreateAnd(line, 8), 3));
  }

  // Of lines 0–7 `low` has a word in every lane, of 8–15 `high`; if that is
  // null the lines are 0–7 twice.
  std::vector<Value*> operator()(Value* low, Value* high,
                                 FromLane from_lane) const {
    std::vector<Value*> words;
    for (unsigned s = 0; s < count_; ++s) {
      if (!high) {
        words.push_back(from_lane(b_.CreateXor(lane_, b_.getInt32(s)), low));
        continue;
      }
      Value* offered = s % 2 == 0 ? b_.CreateSelect(odd_, high, low)
                                  : b_.CreateSelect(odd_, low, high);
      words.push_back(
          from_lane(b_.CreateXor(swapped_, b_.getInt32(s)), offered));
    }
    if (high) {
      // Lines 8–15 got neighbours in exchanged order.
      for (unsigned s = 0; s < count_; s += 2) {
        Value* even = words[s];
        Value* next = words[s + 1];
        words[s] = b_.CreateSelect(upper_, next, even);
        words[s + 1] = b_.CreateSelect(upper_, even, next);
      }
    }
    return words;
  }

 private:
  llvm::IRBuilder<>& b_;
  unsigned count_;
  Value* odd_;
  Value* upper_;
  Value* lane_;
  Value* swapped_;
};

}  // namespace

bool WarpMatrix::HasWmma() const {
  // gfx1250 has instructions of its own.
  return (fn_.TargetHas("gfx12") || fn_.TargetHas("gfx11")) &&
         !fn_.TargetHas("gfx1250-insts");
}

llvm::Value* WarpMatrix::WmmaColumn(Value* line) {
  const bool halves = fn_.TargetHas("gfx12");
  const auto bits = [&](unsigned right, unsigned mask, unsigned left) {
    return b_.CreateShl(b_.CreateAnd(b_.CreateLShr(line, right), I32(mask)),
                        left);
  };
  return halves ? b_.CreateOr(b_.CreateOr(bits(2, 1, 3), bits(3, 1, 2)),
                              bits(0, 3, 0))
                : b_.CreateOr(b_.CreateOr(bits(3, 1, 3), bits(0, 1, 2)),
                              bits(1, 3, 0));
}

// ---- wmma in lines ----------------------------------------------------------

bool WarpMatrix::InLines(Type type) const {
  if (!HasWmma() || fn_.mods().shape() != Shape::kM16n16k16) return false;
  switch (type) {
    case Type::kF16:
    case Type::kBF16:
    case Type::kS8:
    case Type::kU8:
    case Type::kF32:
    case Type::kS32: return true;
    default: return false;
  }
}

WarpMatrix::Lines WarpMatrix::LinesOf(Type type) const {
  const unsigned line = 16 * ContainerBits(type, true) / 32;
  // Of f16 a fragment has each element twice.
  const bool whole = type == Type::kF16 && !fn_.TargetHas("gfx12");
  return {whole ? line : line / 2, whole};
}

// All words of a line, of which this lane and the one 16 off have half each.
MatrixProduct::Values MatrixProduct::WholeLine(const Values& words) {
  Value* other_lane = b_.CreateXor(lane_, 16);
  Value* upper = b_.CreateICmpNE(b_.CreateAnd(lane_, 16), I32(0));
  Values first;
  Values second;
  for (Value* own : words) {
    Value* other = FromLane(other_lane, own);
    first.push_back(b_.CreateSelect(upper, other, own));
    second.push_back(b_.CreateSelect(upper, own, other));
  }
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void MatrixProduct::RunInLines() {
  const Lines lines = LinesOf(a_type_);
  Values rows = ReadFragment(1, lines.words, Type::kB32);
  Values columns = ReadFragment(2, lines.words, Type::kB32);
  if (!fn_.TargetHas("gfx12") && !lines.whole) {
    rows = WholeLine(rows);
    columns = WholeLine(columns);
  }
  Sums sums = ReadC();
  Value* c = Join(sums);
  const bool late = IsInteger() && saturate_;
  Value* product = Wmma(columns, rows,
                        late ? llvm::Constant::getNullValue(c->getType()) : c);
  if (late) product = fn_.Binary(llvm::Intrinsic::sadd_sat, c, product);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = b_.CreateExtractElement(product, i);
  }
  WriteD(sums);
}

// ---- mma --------------------------------------------------------------------

llvm::Value* MatrixProduct::Wmma(const Values& columns, const Values& rows,
                                 Value* sum) {
  const bool halves = fn_.TargetHas("gfx12");
  Value* a = Join(columns);
  Value* b = Join(rows);
  if (word_type_ == Type::kF16 || word_type_ == Type::kBF16) {
    const bool f16 = word_type_ == Type::kF16;
    llvm::Type* type = llvm::FixedVectorType::get(
        f16 ? b_.getHalfTy() : b_.getInt16Ty(), halves ? 8 : 16);
    return fn_.Intrinsic(
        f16 ? llvm::Intrinsic::amdgcn_wmma_f32_16x16x16_f16
            : llvm::Intrinsic::amdgcn_wmma_f32_16x16x16_bf16,
        {sum->getType(), type},
        {b_.CreateBitCast(a, type), b_.CreateBitCast(b, type), sum});
  }
  llvm::Intrinsic::ID id = llvm::Intrinsic::amdgcn_wmma_i32_16x16x16_iu8;
  if (container_ == 4) {
    id = halves ? llvm::Intrinsic::amdgcn_wmma_i32_16x16x32_iu4
                : llvm::Intrinsic::amdgcn_wmma_i32_16x16x16_iu4;
  }
  return fn_.Intrinsic(id, {sum->getType(), a->getType()},
                       {b_.getInt1(IsSigned(b_type_)), a,
                        b_.getInt1(IsSigned(a_type_)), b, sum, b_.getFalse()});
}

bool MatrixProduct::TakesWmma() const {
  if (!HasWmma()) return false;
  const bool floats = word_type_ == Type::kF16 || word_type_ == Type::kBF16;
  const bool integers = IsInteger() && container_ >= 4;
  // With one tile half of the rows would be for nothing.
  return (floats || integers) && !sparse_ && row_tiles_ * col_tiles_ >= 2;
}

// Adds the product of the tiles 2i and 2i + 1 of A with 2j and 2j + 1 of B.
void MatrixProduct::AddWmmaTiles(unsigned i, unsigned j, Value* product,
                                 const WmmaLanes& from, Sums& sums) {
  for (unsigned n = 2 * j; n < std::min(2 * j + 2, col_tiles_); ++n) {
    for (unsigned e = 0; e < 2; ++e) {
      const std::uint64_t at = 4 * (n % 2) + e;
      Value* even_t = b_.CreateExtractElement(product, at);
      Value* odd_t = b_.CreateExtractElement(product, at + 2);
      Value* one = FromLane(from.straight,
                            b_.CreateSelect(from.low_rows, even_t, odd_t));
      Value* other =
          FromLane(from.crossed, b_.CreateSelect(from.low_rows, odd_t, even_t));
      for (unsigned m = 2 * i; m < std::min(2 * i + 2, row_tiles_); ++m) {
        Value* d = m % 2 == 0 ? b_.CreateSelect(from.odd, other, one)
                              : b_.CreateSelect(from.odd, one, other);
        Value*& sum = sums[IndexInC(m, n, row_tiles_) + e];
        if (!IsInteger()) {
          sum = b_.CreateFAdd(sum, d);
        } else if (saturate_) {
          sum = fn_.Binary(llvm::Intrinsic::sadd_sat, sum, d);
        } else {
          sum = b_.CreateAdd(sum, d);
        }
      }
    }
  }
}

bool MatrixProduct::MultiplyByWmma(Sums& sums) {
  if (!TakesWmma()) return false;
  const bool halves = fn_.TargetHas("gfx12");
  const bool floats = !IsInteger();
  Value* line = b_.CreateAnd(lane_, 15);
  Value* half = b_.CreateLShr(lane_, 4);
  Value* first = halves ? b_.CreateShl(half, 1) : static_cast<Value*>(I32(0));
  const unsigned count = halves ? 2 : 4;
  Value* column = WmmaColumn(line);
  const LineGather rows_of(b_, t_, line, first, count);
  const LineGather columns_of(b_, t_, column, first, count);
  const auto from_lane = [&](Value* lane, Value* value) {
    return FromLane(lane, value);
  };

  const unsigned words = static_cast<unsigned>(a_words_[0].size());
  const unsigned planes = a_k_tiles_ * words;
  // Registers of the tiles 2i and 2i + 1 of A, or of B, for each plane of K.
  const auto gather_a = [&](unsigned i, unsigned plane) {
    const auto word = [&](unsigned tile) {
      return a_words_[IndexInA(tile, plane / words, row_tiles_, a_k_tiles_)]
                     [plane % words];
    };
    return rows_of(word(2 * i),
                   2 * i + 1 < row_tiles_ ? word(2 * i + 1) : nullptr,
                   from_lane);
  };
  const auto gather_b = [&](unsigned j, unsigned plane) {
    const auto word = [&](unsigned tile) {
      return b_words_[IndexInB(plane / words, tile, b_k_tiles_)][plane % words];
    };
    return columns_of(word(2 * j),
                      2 * j + 1 < col_tiles_ ? word(2 * j + 1) : nullptr,
                      from_lane);
  };
  const auto append = [](Values& to, const Values& from) {
    to.insert(to.end(), from.begin(), from.end());
  };

  llvm::Type* element = floats ? F32() : b_.getInt32Ty();
  WmmaLanes from;
  from.odd = b_.CreateTrunc(t_, b_.getInt1Ty());
  from.low_rows = b_.CreateICmpEQ(b_.CreateAnd(lane_, 8), I32(0));
  from.straight =
      b_.CreateOr(b_.CreateOr(b_.CreateShl(b_.CreateLShr(t_, 1), 4), g_),
                  b_.CreateShl(b_.CreateAnd(t_, 1), 3));
  from.crossed = b_.CreateXor(from.straight, I32(8));
  for (unsigned i = 0; 2 * i < row_tiles_; ++i) {
    for (unsigned j = 0; 2 * j < col_tiles_; ++j) {
      Value* product =
          llvm::Constant::getNullValue(llvm::FixedVectorType::get(element, 8));
      for (unsigned plane = 0; plane < planes; ++plane) {
        Values columns = gather_b(j, plane);
        Values rows = gather_a(i, plane);
        if (floats) {
          // A plane has 8 steps of K, an instruction 16.
          if (++plane < planes) {
            append(columns, gather_b(j, plane));
            append(rows, gather_a(i, plane));
          } else {
            columns.resize(2 * count, I32(0));
            rows.resize(2 * count, I32(0));
          }
        }
        if (container_ == 4 && !halves) {
          // 32 steps, and the instruction does 16.
          product = Wmma({columns[0], columns[1]}, {rows[0], rows[1]}, product);
          product = Wmma({columns[2], columns[3]}, {rows[2], rows[3]}, product);
        } else {
          product = Wmma(columns, rows, product);
        }
      }
      AddWmmaTiles(i, j, product, from, sums);
    }
  }
  return true;
}

}  // namespace cerberus::ptx
