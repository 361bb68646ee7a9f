// Matrix products by CDNA's MFMA instructions of 16 rows and 16 columns
// (CDNA3 ISA, section 7; AMD's matrix instruction calculator has the layouts).
//
// A wave of 64 lanes has two warps, and the instructions work on all of its
// lanes, whoever is active. So everything between the operands' registers and
// the results' is done with all lanes on (LLVM's "strict whole wave mode");
// lanes that were off hold zeros and have no influence on the others. The
// same code serves waves with one warp, and warps that are alone in a branch.
//
// An instruction takes lines (columns of B, rows of A) 0 to 15 from lanes
// 16c + line, where c = 0 … 3 divides K as the lanes of a quad do:
//
//   first operand    columns of B: 8 of warp 0, 8 of warp 1
//   second operand   X: rows 0–7 of warp 0, rows 8–15 of warp 1, or
//                    Y: rows 0–7 of warp 1, rows 8–15 of warp 0
//   result           row `line`, columns 4c … 4c + 3 in lane 16c + line
//
// Half of each result mixes the warps and is dropped: of Y what X has in a
// lane, and the other way round. Matrices of 8 rows need X alone, with rows
// 0–7 of both warps.
#include <algorithm>
#include <utility>
#include <vector>

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "ptxc/lower/matrix/mma.h"

namespace cerberus::ptx {

class MatrixProduct::Mfma {
 public:
  explicit Mfma(MatrixProduct& product);

  // The product over each of `blocks` equal parts of K, as C's fragment lies.
  std::vector<Sums> Products(unsigned blocks);
  // Adds the product of f64 to `sums`, one fused step after the other.
  void AddF64(Sums& sums);

 private:
  // An instruction: the words that a lane has of a line, and their type.
  struct Instruction {
    llvm::Intrinsic::ID id;
    unsigned words;
    llvm::Type* operand;
    llvm::Type* sums;
  };
  // What X and Y have of the same rows' places.
  struct Pair {
    Value* x = nullptr;
    Value* y = nullptr;  // null if the matrix has 8 rows
  };
  // Words of a line; those of a register follow each other.
  struct Rows {
    Values x, y;
  };

  Instruction Choose() const;
  llvm::FixedVectorType* Vector(llvm::Type* element, unsigned count) const {
    return llvm::FixedVectorType::get(element, count);
  }
  bool OfF32() const;
  bool OfFp8() const;

  Value* IntoWave(Value* value);
  // All at once: each return switches lanes off.
  Values OutOfWave(const Values& values);
  Value* Pull(Value* from, Value* value) {
    return p_.FromWaveLane(from, value);
  }
  Value* Other(Value* from) {  // the other warp's lane
    return b_.CreateXor(from, p_.I32(128));
  }
  Pair PullRows(Value* low, Value* high);
  unsigned WordsInRegister() const;
  Values Words(Value* bits, Type type);
  std::vector<Values> Columns(unsigned j, unsigned k);
  std::vector<Rows> RowsOf(unsigned i, unsigned k);
  Pair Metadata(unsigned i);

  // Adds the products over each part of K to sums[part][i][j].
  using Tiles = std::vector<std::vector<Pair>>;
  void Multiply(std::vector<Tiles>& sums);
  void Multiply(const Values& columns, const Rows& rows, Pair& sums);
  Value* Multiply(Values columns, Values rows, Value* sums);
  Value* Execute(const Values& columns, const Values& rows, Value* sums);
  Value* Inside(unsigned part, unsigned parts, unsigned place);
  void Spread(const Pair& tile, unsigned i, unsigned j, Sums& products);

  MatrixProduct& p_;
  llvm::IRBuilder<>& b_;
  Instruction mfma_;
  Value* chunk_;        // c
  Value* upper_lines_;  // whether line >= 8
  Value* second_warp_;  // whether lane >= 32
  Value* from_line_;    // where the words of a line of X lie
  Value* from_column_;  // of B
  Pair metadata_;       // of sparse rows
  Value* g_;            // of its place 4g + t in its warp
  Value* t_;
  Value* odd_t_;
};

MatrixProduct::Mfma::Mfma(MatrixProduct& product)
    : p_(product), b_(product.b_), mfma_(Choose()) {
  Value* all = p_.I32(~0u);
  Value* lane =
      p_.fn_.Intrinsic(llvm::Intrinsic::amdgcn_mbcnt_hi, {},
                       {all, p_.fn_.Intrinsic(llvm::Intrinsic::amdgcn_mbcnt_lo,
                                              {}, {all, p_.I32(0)})});
  const auto bit = [&](unsigned n) {
    return b_.CreateICmpNE(b_.CreateAnd(lane, p_.I32(1u << n)), p_.I32(0));
  };
  chunk_ = b_.CreateLShr(lane, 4);
  upper_lines_ = bit(3);
  second_warp_ = bit(5);
  g_ = b_.CreateAnd(b_.CreateLShr(lane, 2), p_.I32(7));
  t_ = b_.CreateAnd(lane, p_.I32(3));
  odd_t_ = bit(0);
  Value* line = b_.CreateAnd(lane, p_.I32(15));
  const auto from = [&](Value* of_line) {
    return b_.CreateShl(b_.CreateOr(b_.CreateShl(of_line, 2), chunk_), 2);
  };
  from_line_ = from(line);
  from_column_ = from_line_;
  if (p_.word_type_ == Type::kF64) {
    // Results have columns c and c + 4 of each 8 in a lane: these are to be
    // 2c and 2c + 1.
    Value* even = b_.CreateShl(b_.CreateAnd(line, p_.I32(3)), 1);
    Value* odd = b_.CreateAnd(b_.CreateLShr(line, 2), p_.I32(1));
    from_column_ = from(
        b_.CreateOr(b_.CreateAnd(line, p_.I32(8)), b_.CreateOr(even, odd)));
  }
}

// ---- Which instruction ------------------------------------------------------

// Moving the operands costs about 40 instructions. Where dot products of four
// or eight integers, or a few steps of f64 and tf32, take fewer, they are used.
bool MatrixProduct::HasMfma() const {
  if (!fn_.TargetHas("gfx90a-insts")) return false;
  switch (word_type_) {
    case Type::kB1: return false;
    case Type::kF64:
      // The instructions round to nearest.
      return shape_.k >= 16 && fn_.RoundingSuffix().empty();
    case Type::kTF32: return shape_.k >= 8;
    default: break;
  }
  if (!IsInteger()) return true;
  // There are no dot products of one signed and one unsigned operand.
  if (IsSigned(a_type_) != IsSigned(b_type_)) return row_tiles_ == 2;
  return container_ == 8 && b_k_tiles_ >= 2;
}

// f16 and bf16 are multiplied as f32 on gfx90a, whose instructions for them
// take subnormal numbers for zero (MIOpen documentation, "MI200 MFMA behavior
// specifics").
bool MatrixProduct::Mfma::OfF32() const {
  switch (p_.word_type_) {
    case Type::kTF32: return !p_.fn_.TargetHas("xf32-insts");
    case Type::kF16:
    case Type::kBF16: return !p_.fn_.TargetHas("gfx940-insts");
    default: return false;
  }
}

// gfx942's 8-bit formats are others than PTX's.
bool MatrixProduct::Mfma::OfFp8() const {
  const auto is_fp8 = [](Type type) {
    return type == Type::kE4M3 || type == Type::kE5M2;
  };
  return is_fp8(p_.a_type_) && is_fp8(p_.b_type_) &&
         p_.fn_.TargetHas("gfx950-insts");
}

// How many words Words() makes of a register.
unsigned MatrixProduct::Mfma::WordsInRegister() const {
  if (OfFp8() || p_.word_type_ == Type::kTF32) return 1;
  if (p_.container_ == 4 && p_.IsInteger()) return 2;
  const unsigned halves = IsSmallFloat(p_.a_type_) ? 16 / p_.container_ : 1;
  return OfF32() ? 2 * halves : halves;
}

MatrixProduct::Mfma::Instruction MatrixProduct::Mfma::Choose() const {
  using I = llvm::Intrinsic::AMDGCNIntrinsics;
  llvm::Type* f32 = b_.getFloatTy();
  llvm::Type* i32 = b_.getInt32Ty();
  llvm::Type* f64 = b_.getDoubleTy();
  llvm::Type* i64 = b_.getInt64Ty();
  const bool wide =
      p_.b_k_tiles_ * WordsInRegister() > 2 && p_.fn_.TargetHas("gfx950-insts");
  if (OfF32()) return {I::amdgcn_mfma_f32_16x16x4f32, 1, f32, Vector(f32, 4)};
  if (OfFp8()) {
    // B's columns come first.
    const bool b5 = p_.b_type_ == Type::kE5M2, a5 = p_.a_type_ == Type::kE5M2;
    return {b5 ? (a5 ? I::amdgcn_mfma_f32_16x16x32_bf8_bf8
                     : I::amdgcn_mfma_f32_16x16x32_bf8_fp8)
               : (a5 ? I::amdgcn_mfma_f32_16x16x32_fp8_bf8
                     : I::amdgcn_mfma_f32_16x16x32_fp8_fp8),
            2, i64, Vector(f32, 4)};
  }
  switch (p_.word_type_) {
    case Type::kF64:
      return {I::amdgcn_mfma_f64_16x16x4f64, 1, f64, Vector(f64, 4)};
    case Type::kTF32:
      return {I::amdgcn_mfma_f32_16x16x8_xf32, 2, Vector(f32, 2),
              Vector(f32, 4)};
    case Type::kF16:
      if (!wide) {
        return {I::amdgcn_mfma_f32_16x16x16f16, 2, Vector(b_.getHalfTy(), 4),
                Vector(f32, 4)};
      }
      return {I::amdgcn_mfma_f32_16x16x32_f16, 4, Vector(b_.getHalfTy(), 8),
              Vector(f32, 4)};
    case Type::kBF16:
      if (!wide) {
        return {I::amdgcn_mfma_f32_16x16x16bf16_1k, 2,
                Vector(b_.getInt16Ty(), 4), Vector(f32, 4)};
      }
      return {I::amdgcn_mfma_f32_16x16x32_bf16, 4, Vector(b_.getBFloatTy(), 8),
              Vector(f32, 4)};
    default:
      if (wide) {
        return {I::amdgcn_mfma_i32_16x16x64_i8, 4, Vector(i32, 4),
                Vector(i32, 4)};
      }
      if (p_.fn_.TargetHas("gfx940-insts")) {
        return {I::amdgcn_mfma_i32_16x16x32_i8, 2, i64, Vector(i32, 4)};
      }
      return {I::amdgcn_mfma_i32_16x16x16i8, 1, i32, Vector(i32, 4)};
  }
}

// ---- Operands ---------------------------------------------------------------

llvm::Value* MatrixProduct::Mfma::IntoWave(Value* value) {
  llvm::Type* type = value->getType();
  llvm::Type* bits = b_.getIntNTy(
      static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue()));
  return b_.CreateBitCast(
      p_.fn_.Intrinsic(
          llvm::Intrinsic::amdgcn_set_inactive, {bits},
          {b_.CreateBitCast(value, bits), llvm::ConstantInt::get(bits, 0)}),
      type);
}

MatrixProduct::Values MatrixProduct::Mfma::OutOfWave(const Values& values) {
  Value* all = p_.Join(values);
  all = p_.fn_.Intrinsic(llvm::Intrinsic::amdgcn_strict_wwm, {all->getType()},
                         {all});
  // The backend gives registers of the whole wave out before all others, and
  // cannot spill them: no product may be started before the last is done.
  p_.fn_.Intrinsic(llvm::Intrinsic::amdgcn_sched_barrier, {}, {p_.I32(0)});
  Values results;
  for (std::size_t i = 0; i < values.size(); ++i) {
    results.push_back(b_.CreateExtractElement(all, i));
  }
  return results;
}

// Registers of rows 0–7 and of rows 8–15 (or null) as X and Y have them.
MatrixProduct::Mfma::Pair MatrixProduct::Mfma::PullRows(Value* low,
                                                        Value* high) {
  if (!high) return {Pull(from_line_, low), nullptr};
  return {Pull(from_line_, b_.CreateSelect(second_warp_, high, low)),
          Pull(Other(from_line_), b_.CreateSelect(second_warp_, low, high))};
}

// A register as words for an instruction.
MatrixProduct::Values MatrixProduct::Mfma::Words(Value* bits, Type type) {
  const auto mask = [&](Value* value, unsigned m) {
    return b_.CreateAnd(value, p_.I32(m));
  };
  switch (type) {
    case Type::kU8:
      // u - 128, which is signed; Multiply makes up for it.
      return {b_.CreateXor(bits, p_.I32(0x80808080))};
    case Type::kU4:
      return {mask(bits, 0x0f0f0f0f), mask(b_.CreateLShr(bits, 4), 0x0f0f0f0f)};
    case Type::kS4:
      // 16 times the number.
      return {mask(b_.CreateShl(bits, 4), 0xf0f0f0f0), mask(bits, 0xf0f0f0f0)};
    default: break;
  }
  if (OfFp8()) return {bits};
  Values words;
  for (Value* word : p_.Decode(bits, type)) {
    if (!OfF32() && p_.word_type_ != Type::kTF32) {
      words.push_back(word);
      continue;
    }
    for (Value* element : p_.Elements(word)) words.push_back(element);
  }
  return words;
}

// The words of column tile j that meet register k of A: one register, or two
// if A is sparse.
std::vector<MatrixProduct::Values> MatrixProduct::Mfma::Columns(unsigned j,
                                                                unsigned k) {
  const auto bits = [&](unsigned at) {
    return IntoWave(p_.b_bits_[IndexInB(at, j, p_.b_k_tiles_)]);
  };
  if (!p_.sparse_) return {Words(Pull(from_column_, bits(k)), p_.b_type_)};
  // A's chunk c expands into the words 2c and 2c + 1 of eight, and those of B
  // lie in two registers of four lanes. Each lane offers one of its registers,
  // then the other.
  Value* first_half = b_.CreateICmpULT(chunk_, p_.I32(2));
  Value* from = b_.CreateOr(b_.CreateAnd(from_column_, p_.I32(~15u)),
                            b_.CreateShl(b_.CreateAnd(chunk_, p_.I32(1)), 3));
  Value* next = b_.CreateOr(from, p_.I32(4));
  Value* low = bits(2 * k);
  Value* high = bits(2 * k + 1);
  Value* one = Pull(b_.CreateSelect(first_half, from, next),
                    b_.CreateSelect(odd_t_, high, low));
  Value* other = Pull(b_.CreateSelect(first_half, next, from),
                      b_.CreateSelect(odd_t_, low, high));
  return {Words(b_.CreateSelect(first_half, one, other), p_.b_type_),
          Words(b_.CreateSelect(first_half, other, one), p_.b_type_)};
}

// The indices of a pair of row tiles, for all of K.
MatrixProduct::Mfma::Pair MatrixProduct::Mfma::Metadata(unsigned i) {
  Value* rows[2];
  for (unsigned row = 0; row < 2; ++row) {
    rows[row] = p_.I32(0);
    for (unsigned k = 0; k < p_.a_k_tiles_; ++k) {
      rows[row] = b_.CreateOr(
          rows[row],
          b_.CreateShl(p_.Metadata(2 * i + row, k), p_.MetadataBits() * k));
    }
  }
  return PullRows(IntoWave(rows[0]), IntoWave(rows[1]));
}

// The words of register k of a pair of row tiles.
std::vector<MatrixProduct::Mfma::Rows> MatrixProduct::Mfma::RowsOf(unsigned i,
                                                                   unsigned k) {
  const auto bits = [&](unsigned tile) {
    return IntoWave(
        p_.a_bits_[IndexInA(tile, k, p_.row_tiles_, p_.a_k_tiles_)]);
  };
  const Pair moved =
      PullRows(bits(2 * i), p_.row_tiles_ == 1 ? nullptr : bits(2 * i + 1));
  const auto words = [&](Value* of_rows) {
    return of_rows ? Words(of_rows, p_.a_type_) : Values();
  };
  if (!p_.sparse_) return {{words(moved.x), words(moved.y)}};
  const auto expand = [&](Value* of_rows, Value* indices) {
    return p_.Expand(of_rows, b_.CreateLShr(indices, p_.MetadataBits() * k));
  };
  const MatrixProduct::Words x = expand(moved.x, metadata_.x);
  const MatrixProduct::Words y = expand(moved.y, metadata_.y);
  return {{words(x[0]), words(y[0])}, {words(x[1]), words(y[1])}};
}

// ---- Products ---------------------------------------------------------------

llvm::Value* MatrixProduct::Mfma::Execute(const Values& columns,
                                          const Values& rows, Value* sums) {
  // The backend keeps what a whole wave writes apart from what lanes hold, but
  // only in vector registers proper: constants would go through others.
  const auto operand = [&](const Values& words) {
    Value* joined = p_.Join(words);
    llvm::FunctionType* type =
        llvm::FunctionType::get(joined->getType(), {joined->getType()}, false);
    return b_.CreateBitCast(
        b_.CreateCall(
            llvm::InlineAsm::get(type, "", "=v,0", /*hasSideEffects=*/false),
            {joined}),
        mfma_.operand);
  };
  return p_.fn_.Intrinsic(
      mfma_.id, {},
      {operand(columns), operand(rows), sums, p_.I32(0), p_.I32(0), p_.I32(0)});
}

llvm::Value* MatrixProduct::Mfma::Multiply(Values columns, Values rows,
                                           Value* sums) {
  Values half(columns.size(), p_.I32(0x40404040));
  const auto take = [&](Values& words) {
    // What the last step lacks is zero.
    Values taken(mfma_.words,
                 llvm::Constant::getNullValue(words[0]->getType()));
    const std::size_t count = std::min<std::size_t>(mfma_.words, words.size());
    std::copy_n(words.begin(), count, taken.begin());
    words.erase(words.begin(),
                words.begin() + static_cast<std::ptrdiff_t>(count));
    return taken;
  };
  while (!columns.empty()) {
    const Values b = take(columns);
    const Values a = take(rows);
    const Values of_half = take(half);
    sums = Execute(b, a, sums);
    // (a + 128) * b = a * b + 64 * b + 64 * b
    for (unsigned n = 0; n < 2; ++n) {
      if (p_.a_type_ == Type::kU8) sums = Execute(b, of_half, sums);
      if (p_.b_type_ == Type::kU8) sums = Execute(of_half, a, sums);
    }
  }
  return sums;
}

void MatrixProduct::Mfma::Multiply(const Values& columns, const Rows& rows,
                                   Pair& sums) {
  sums.x = Multiply(columns, rows.x, sums.x);
  if (sums.y) sums.y = Multiply(columns, rows.y, sums.y);
}

// Whether the words of register `place` of B's layout along K lie in a part
// of K: for all lanes or for some chunks; null if for none.
llvm::Value* MatrixProduct::Mfma::Inside(unsigned part, unsigned parts,
                                         unsigned place) {
  const unsigned size = p_.shape_.k / parts;
  unsigned chunks = 0;
  for (unsigned c = 0; c < 4; ++c) {
    const unsigned word =
        p_.sparse_ ? 8 * (place / 2) + 2 * c + place % 2 : 4 * place + c;
    if (word * p_.in_register_ / size == part) chunks |= 1u << c;
  }
  if (chunks == 0) return nullptr;
  if (chunks == 15) return b_.getTrue();
  return b_.CreateTrunc(b_.CreateLShr(p_.I32(chunks), chunk_), b_.getInt1Ty());
}

void MatrixProduct::Mfma::Multiply(std::vector<Tiles>& sums) {
  const unsigned pairs = (p_.row_tiles_ + 1) / 2;
  const unsigned parts = static_cast<unsigned>(sums.size());
  if (p_.sparse_) metadata_ = Metadata(0);
  // Words wait here until they fill an instruction.
  std::vector<Values> columns(p_.col_tiles_);
  std::vector<Rows> rows(pairs);
  const auto append = [](Values& to, const Values& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  const auto multiply = [&](unsigned part, const std::vector<Rows>& of_part) {
    for (unsigned i = 0; i < pairs; ++i) {
      for (unsigned j = 0; j < p_.col_tiles_; ++j) {
        Multiply(columns[j], of_part[i], sums[part][i][j]);
      }
    }
  };
  for (unsigned k = 0; k < p_.a_k_tiles_; ++k) {
    std::vector<std::vector<Values>> next_columns;
    for (unsigned j = 0; j < p_.col_tiles_; ++j) {
      next_columns.push_back(Columns(j, k));
    }
    std::vector<std::vector<Rows>> next_rows;
    for (unsigned i = 0; i < pairs; ++i) next_rows.push_back(RowsOf(i, k));
    for (unsigned r = 0; r < next_columns[0].size(); ++r) {
      for (unsigned j = 0; j < p_.col_tiles_; ++j) {
        append(columns[j], next_columns[j][r]);
      }
      for (unsigned i = 0; i < pairs; ++i) {
        append(rows[i].x, next_rows[i][r].x);
        append(rows[i].y, next_rows[i][r].y);
      }
      const unsigned place =
          k * static_cast<unsigned>(next_columns[0].size()) + r;
      if (parts == 1 && columns[0].size() < mfma_.words &&
          place + 1 < p_.b_k_tiles_) {
        continue;
      }
      for (unsigned part = 0; part < parts; ++part) {
        Value* inside = parts == 1 ? b_.getTrue() : Inside(part, parts, place);
        if (!inside) continue;
        // What lies in another part is zero; scaled matrices have no
        // infinities that could meet it.
        std::vector<Rows> of_part = rows;
        for (Rows& lines : of_part) {
          for (Values* words : {&lines.x, &lines.y}) {
            for (Value*& word : *words) {
              word = b_.CreateSelect(
                  inside, word, llvm::Constant::getNullValue(word->getType()));
            }
          }
        }
        multiply(part, of_part);
      }
      columns.assign(p_.col_tiles_, {});
      rows.assign(pairs, {});
    }
  }
}

// Moves a tile of sums to where C's fragment has them.
void MatrixProduct::Mfma::Spread(const Pair& tile, unsigned i, unsigned j,
                                 Sums& products) {
  const unsigned scale =
      (p_.a_type_ == Type::kS4 ? 4 : 0) + (p_.b_type_ == Type::kS4 ? 4 : 0);
  // X has this lane's warp if both are the first or both the second half.
  Value* of_x = b_.CreateICmpEQ(upper_lines_, second_warp_);
  Value* sums[4];
  for (unsigned e = 0; e < 4; ++e) {
    sums[e] = b_.CreateExtractElement(tile.x, e);
    if (tile.y) {
      sums[e] =
          b_.CreateSelect(of_x, sums[e], b_.CreateExtractElement(tile.y, e));
    }
    if (scale != 0) sums[e] = b_.CreateAShr(sums[e], scale);
  }
  // Lane 4g + t wants row g, columns 2t and 2t + 1: they are sums 2 (t % 2)
  // and the next of the lane of row g and c = t / 2 of its warp's two.
  Value* warp = b_.CreateShl(b_.CreateZExt(second_warp_, b_.getInt32Ty()), 5);
  Value* lane =
      b_.CreateOr(b_.CreateOr(warp, b_.CreateShl(b_.CreateLShr(t_, 1), 4)), g_);
  Values moved;  // columns 2t and 2t + 1 of row g, then of row g + 8
  if (!tile.y) {
    Value* from = b_.CreateShl(b_.CreateOr(lane, b_.CreateLShr(warp, 2)), 2);
    for (unsigned e = 0; e < 2; ++e) {
      moved.push_back(b_.CreateSelect(odd_t_, Pull(from, sums[2 + e]),
                                      Pull(from, sums[e])));
    }
  } else {
    // Rows g offer one sum and rows g + 8 the other, and in exchange.
    Value* straight = b_.CreateShl(
        b_.CreateOr(lane, b_.CreateShl(b_.CreateAnd(t_, p_.I32(1)), 3)), 2);
    Value* crossed = b_.CreateXor(straight, p_.I32(32));
    moved.resize(4);
    for (unsigned e = 0; e < 2; ++e) {
      Value* one =
          Pull(straight, b_.CreateSelect(upper_lines_, sums[2 + e], sums[e]));
      Value* other =
          Pull(crossed, b_.CreateSelect(upper_lines_, sums[e], sums[2 + e]));
      moved[e] = b_.CreateSelect(odd_t_, other, one);
      moved[2 + e] = b_.CreateSelect(odd_t_, one, other);
    }
  }
  const Values results = OutOfWave(moved);
  for (unsigned r = 0; r < results.size(); ++r) {
    products[IndexInC(2 * i + r / 2, j, p_.row_tiles_) + r % 2] = results[r];
  }
}

std::vector<MatrixProduct::Sums> MatrixProduct::Mfma::Products(
    unsigned blocks) {
  Value* zero = llvm::Constant::getNullValue(mfma_.sums);
  if (p_.a_type_ == Type::kU8 && p_.b_type_ == Type::kU8) {
    zero = b_.CreateVectorSplat(4, p_.I32(128 * 128 * p_.shape_.k));
  }
  const unsigned pairs = (p_.row_tiles_ + 1) / 2;
  const Pair none = {zero, p_.row_tiles_ == 1 ? nullptr : zero};
  std::vector<Tiles> sums(blocks,
                          Tiles(pairs, std::vector<Pair>(p_.col_tiles_, none)));
  Multiply(sums);
  std::vector<Sums> products(blocks,
                             Sums(2 * p_.row_tiles_ * p_.col_tiles_, nullptr));
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned i = 0; i < pairs; ++i) {
      for (unsigned j = 0; j < p_.col_tiles_; ++j) {
        Spread(sums[block][i][j], i, j, products[block]);
      }
    }
  }
  return products;
}

// Lane 16c + line of a result has columns 2c and 2c + 1 of its row in two of
// four registers: those of warp 0, then those of warp 1.
void MatrixProduct::Mfma::AddF64(Sums& sums) {
  Value* x = llvm::PoisonValue::get(mfma_.sums);
  Value* y = x;
  for (unsigned e = 0; e < 2; ++e) {
    const Pair c = PullRows(IntoWave(sums[e]), IntoWave(sums[2 + e]));
    for (unsigned at : {e, 2 + e}) {
      x = b_.CreateInsertElement(x, c.x, at);
      y = b_.CreateInsertElement(y, c.y, at);
    }
  }
  std::vector<Tiles> tiles = {{{Pair{x, y}}}};
  Multiply(tiles);
  x = tiles[0][0][0].x;
  y = tiles[0][0][0].y;
  // Lane 4g + t of warp w has its row g in X's or Y's lane 16t + g, and its
  // row g + 8 in the other's lane 16t + 8 + g.
  Value* warp = b_.CreateShl(b_.CreateZExt(second_warp_, b_.getInt32Ty()), 5);
  Value* from_x =
      b_.CreateOr(b_.CreateOr(b_.CreateShl(t_, 6), b_.CreateShl(g_, 2)), warp);
  Value* from_y = b_.CreateXor(from_x, p_.I32(32));
  Values moved(4);
  for (unsigned e = 0; e < 2; ++e) {
    const auto element = [&](Value* vector, unsigned at) {
      return b_.CreateExtractElement(vector, std::uint64_t{at});
    };
    Value* of_x = Pull(from_x, b_.CreateSelect(upper_lines_, element(x, 2 + e),
                                               element(x, e)));
    Value* of_y = Pull(from_y, b_.CreateSelect(upper_lines_, element(y, e),
                                               element(y, 2 + e)));
    moved[e] = b_.CreateSelect(second_warp_, of_y, of_x);
    moved[2 + e] = b_.CreateSelect(second_warp_, of_x, of_y);
  }
  sums = OutOfWave(moved);
}

std::vector<MatrixProduct::Sums> MatrixProduct::ProductsByMfma(
    unsigned blocks) {
  return Mfma(*this).Products(blocks);
}

bool MatrixProduct::MultiplyByMfma(Sums& sums) {
  if (!HasMfma()) return false;
  if (word_type_ == Type::kF64) {
    Mfma(*this).AddF64(sums);
    return true;
  }
  const Sums products = ProductsByMfma(1)[0];
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = !IsInteger() ? b_.CreateFAdd(sums[i], products[i])
              : saturate_
                  ? fn_.Binary(llvm::Intrinsic::sadd_sat, sums[i], products[i])
                  : b_.CreateAdd(sums[i], products[i]);
  }
  return true;
}

}  // namespace cerberus::ptx
