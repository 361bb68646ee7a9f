// Matrix multiplication by a warp: mma, mma.sp and wmma.mma.
//
// Lane 4g + t computes the elements of D that it holds. The rows of A that it
// needs lie in its own quad, the columns of B in quads 2t and 2t + 1. Sums
// are made in the order of K, one fused step after the other, in f32 for all
// floating-point types but f64: more exact than the manual asks for.
#include "ptxc/lower/matrix/mma.h"

#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace cerberus::ptx {
namespace {

// How an element of at most 8 bits becomes an f16 once its code stands in the
// upper byte of 16 bits: the sign moves left, the rest right, and the product
// with `scale` makes up for the other exponent bias.
struct SmallFloat {
  unsigned sign, sign_left;
  unsigned magnitude, magnitude_right;
  double scale;
};
SmallFloat SmallFloatOf(Type type) {
  switch (type) {
    case Type::kE4M3: return {0x8000, 0, 0x7f00, 1, 0x1p8};
    case Type::kE3M2: return {0x2000, 2, 0x1f00, 0, 0x1p12};
    case Type::kE2M3: return {0x2000, 2, 0x1f00, 1, 0x1p14};
    default:
      // e2m1 in the middle of its byte: bits 2 to 5.
      return {0x2000, 2, 0x1c00, 1, 0x1p14};
  }
}

}  // namespace

MatrixProduct::MatrixProduct(FunctionLowering& fn, MatrixShape shape, Type a,
                             Type b, Type d, Type c)
    : WarpMatrix(fn),
      shape_(shape),
      a_type_(a),
      b_type_(b),
      d_type_(d),
      c_type_(c) {
  const MmaKind kind = fn.mods().mma_kind();
  const bool packed = kind == MmaKind::kMxf4 || kind == MmaKind::kMxf4nvf4;
  const Opcode opcode = fn.form().opcode();
  sparse_ = opcode != Opcode::kMma && opcode != Opcode::kWmmaMma &&
            opcode != Opcode::kWgmmaMmaAsync;
  scaled_ = fn.mods().block_scale() == BlockScale::kOn;
  saturate_ = fn.mods().sat() == Sat::kFinite;
  // Kinds that mix element types give each 8 bits.
  container_ = ContainerBits(a, packed);
  in_register_ = container_ == 64 ? 1 : 32 / container_;
  row_tiles_ = shape.m / 8;
  col_tiles_ = shape.n / 8;
  b_k_tiles_ = shape.k / (4 * in_register_);
  a_k_tiles_ = sparse_ ? b_k_tiles_ / 2 : b_k_tiles_;
  word_type_ = IsSmallFloat(a) ? Type::kF16 : a;
}

void MatrixProduct::Run() {
  ReadAB();
  Sums sums = ReadC();
  if (scaled_) {
    MultiplyScaled(sums);
  } else {
    AddProduct(sums);
  }
  WriteD(sums);
}

void MatrixProduct::AddProduct(Sums& sums) {
  if (MultiplyByMfma(sums)) return;
  DecodeAB();
  if (!MultiplyByWmma(sums)) MultiplyAll(sums);
}

// ---- Operands ---------------------------------------------------------------

void MatrixProduct::ReadAB() {
  const Type type = container_ == 64 ? Type::kF64 : Type::kB32;
  a_bits_ = ReadFragment(1, row_tiles_ * a_k_tiles_, type);
  b_bits_ = ReadFragment(2, col_tiles_ * b_k_tiles_, type);
}

void MatrixProduct::DecodeAB() {
  a_words_.resize(a_bits_.size());
  for (unsigned k = 0; k < a_k_tiles_; ++k) {
    for (unsigned i = 0; i < row_tiles_; ++i) {
      const unsigned index = IndexInA(i, k, row_tiles_, a_k_tiles_);
      const Words dense = sparse_ ? Expand(a_bits_[index], Metadata(i, k))
                                  : Words{a_bits_[index]};
      for (Value* bits : dense) {
        for (Value* word : Decode(bits, a_type_)) {
          a_words_[index].push_back(word);
        }
      }
    }
  }
  for (Value* bits : b_bits_) b_words_.push_back(Decode(bits, b_type_));
}

MatrixProduct::Words MatrixProduct::Decode(Value* bits, Type type) {
  if (type == Type::kTF32) {
    // The lower 13 bits take no part.
    return {b_.CreateAnd(bits, I32(0xffffe000))};
  }
  if (!IsSmallFloat(type)) return {bits};
  Words words;
  for (unsigned at = 0; at < 32; at += 2 * container_) {
    Value* pair = b_.CreateLShr(bits, at);
    // Two codes, each to the upper byte of 16 bits; a packed e2m1 to where it
    // stands in the middle of a byte.
    const unsigned mask = (1u << container_) - 1;
    const unsigned left = container_ == 8 ? 8 : 10;
    Value* codes =
        b_.CreateOr(b_.CreateShl(b_.CreateAnd(pair, I32(mask)), left),
                    b_.CreateShl(b_.CreateAnd(pair, I32(mask << container_)),
                                 16 + left - container_));
    words.push_back(DecodeSmallFloats(codes, type));
  }
  return words;
}

llvm::Value* MatrixProduct::DecodeSmallFloats(Value* codes, Type type) {
  // e5m2 is the upper half of an f16.
  if (type == Type::kE5M2) return codes;
  const SmallFloat format = SmallFloatOf(type);
  const auto both = [&](unsigned half) { return I32(half * 0x10001u); };
  Value* sign =
      b_.CreateShl(b_.CreateAnd(codes, both(format.sign)), format.sign_left);
  Value* magnitude = b_.CreateLShr(b_.CreateAnd(codes, both(format.magnitude)),
                                   format.magnitude_right);
  Value* number =
      b_.CreateFMul(b_.CreateBitCast(b_.CreateOr(sign, magnitude), HalfPair()),
                    fn_.Fp(HalfPair(), format.scale));
  if (type == Type::kE4M3) {
    llvm::Type* bits = llvm::FixedVectorType::get(b_.getInt16Ty(), 2);
    Value* nan = b_.CreateICmpEQ(
        b_.CreateBitCast(b_.CreateAnd(codes, both(0x7f00)), bits),
        llvm::ConstantInt::get(bits, 0x7f00));
    number =
        b_.CreateSelect(nan, llvm::ConstantFP::getQNaN(HalfPair()), number);
  }
  return b_.CreateBitCast(number, b_.getInt32Ty());
}

MatrixProduct::Sums MatrixProduct::ReadSums(int operand) {
  const unsigned count = 2 * row_tiles_ * col_tiles_;
  if (c_type_ == Type::kF16) {
    Sums sums;
    for (Value* pair : ReadFragment(operand, count / 2, Type::kF16x2)) {
      for (unsigned i = 0; i < 2; ++i) {
        sums.push_back(b_.CreateFPExt(b_.CreateExtractElement(pair, i), F32()));
      }
    }
    return sums;
  }
  return ReadFragment(operand, count, c_type_);
}

void MatrixProduct::WriteD(Sums sums) {
  if (saturate_ && !IsInteger()) {
    // CUDA C++ Programming Guide, mma_sync with satf: infinities become the
    // largest number of the result's type, NaN becomes +0.
    const double largest = d_type_ == Type::kF16 ? 65504 : 0x1.fffffep127;
    for (Value*& sum : sums) {
      if (d_type_ == Type::kF16) {
        sum = b_.CreateFPExt(b_.CreateFPTrunc(sum, b_.getHalfTy()), F32());
      }
      Value* clamped = fn_.Binary(
          llvm::Intrinsic::maxnum,
          fn_.Binary(llvm::Intrinsic::minnum, sum, fn_.Fp(F32(), largest)),
          fn_.Fp(F32(), -largest));
      sum = b_.CreateSelect(b_.CreateFCmpUNO(sum, sum), fn_.Fp(F32(), 0),
                            clamped);
    }
  }
  if (d_type_ != Type::kF16) {
    WriteFragment(0, sums, d_type_);
    return;
  }
  Values pairs;
  for (std::size_t i = 0; i < sums.size(); i += 2) {
    Value* pair = llvm::PoisonValue::get(HalfPair());
    for (unsigned e = 0; e < 2; ++e) {
      pair = b_.CreateInsertElement(
          pair, b_.CreateFPTrunc(sums[i + e], b_.getHalfTy()), e);
    }
    pairs.push_back(pair);
  }
  WriteFragment(0, pairs, Type::kF16x2);
}

// ---- Sparse A ---------------------------------------------------------------

// The indices of the elements in this lane's register (PTX ISA, "Sparse matrix
// storage"): two of two bits for each four elements of A. A quad's lanes hold
// them for the quad's rows; the selector says which lanes do.
llvm::Value* MatrixProduct::Metadata(unsigned row_tile, unsigned k_tile) {
  Value* own = fn_.Read(fn_.op(metadata_operand_), Type::kB32);
  const unsigned selector =
      static_cast<unsigned>(fn_.op(metadata_operand_ + 1).value) & 3;
  if (container_ >= 16) {
    // A lane has 16 bits for each of two rows; of them 4 are for this lane.
    const unsigned from = selector * a_k_tiles_ + k_tile;
    return b_.CreateAnd(
        b_.CreateLShr(FromQuad(from & 3, own),
                      b_.CreateAdd(b_.CreateShl(t_, 2), I32(16 * row_tile))),
        I32(0xf));
  }
  // A lane has 32 bits for one row; of them 8 are for this lane.
  const unsigned from =
      (a_k_tiles_ == 1 ? 2 * selector : 2 * k_tile) + row_tile;
  return b_.CreateAnd(
      b_.CreateLShr(FromQuad(from & 3, own), b_.CreateShl(t_, 3)), I32(0xff));
}

// A register of nonzero elements as the two registers they were taken from.
// tf32 keeps one of two elements and writes the index as that of two 16-bit
// halves; s4 and e2m1 keep pairs, which are bytes.
MatrixProduct::Words MatrixProduct::Expand(Value* bits, Value* indices) {
  const auto index = [&](unsigned i) {
    return b_.CreateAnd(b_.CreateLShr(indices, 2 * i), I32(3));
  };
  Words words;
  if (container_ >= 16) {
    llvm::Type* i64 = b_.getInt64Ty();
    const auto place = [&](Value* half, unsigned i) {
      return b_.CreateShl(b_.CreateZExt(half, i64),
                          b_.CreateZExt(b_.CreateShl(index(i), 4), i64));
    };
    Value* dense = b_.CreateOr(place(b_.CreateAnd(bits, I32(0xffff)), 0),
                               place(b_.CreateLShr(bits, 16), 1));
    words.push_back(b_.CreateTrunc(dense, b_.getInt32Ty()));
    words.push_back(b_.CreateTrunc(b_.CreateLShr(dense, 32), b_.getInt32Ty()));
    return words;
  }
  for (unsigned half = 0; half < 2; ++half) {
    Value* dense = I32(0);
    for (unsigned i = 0; i < 2; ++i) {
      Value* byte =
          b_.CreateAnd(b_.CreateLShr(bits, 16 * half + 8 * i), I32(0xff));
      dense = b_.CreateOr(
          dense, b_.CreateShl(byte, b_.CreateShl(index(2 * half + i), 3)));
    }
    words.push_back(dense);
  }
  return words;
}

// ---- Products ---------------------------------------------------------------

void MatrixProduct::ForEachStep(const Step& step) {
  const unsigned elements = WordElements();
  const unsigned words = static_cast<unsigned>(a_words_[0].size());
  const unsigned b_words = static_cast<unsigned>(b_words_[0].size());
  Value* first_column = b_.CreateShl(t_, 3);  // lane of column 2t, row 0
  unsigned k = 0;
  for (unsigned tile = 0; tile < a_k_tiles_; ++tile) {
    for (unsigned t = 0; t < 4; ++t) {
      for (unsigned w = 0; w < words; ++w, k += elements) {
        Values a;
        Values b;
        for (unsigned i = 0; i < row_tiles_; ++i) {
          const Words& row =
              a_words_[IndexInA(i, tile, row_tiles_, a_k_tiles_)];
          a.push_back(FromQuad(t, row[w]));
        }
        // Where row k of B lies: a tile, a lane of each quad, a word.
        const unsigned word = k / elements;
        const unsigned b_tile = word / (4 * b_words);
        const unsigned b_t = word / b_words % 4;
        for (unsigned j = 0; j < 2 * col_tiles_; ++j) {
          Value* lane = b_.CreateAdd(first_column, I32(4 * (j % 2) + b_t));
          const Words& column = b_words_[IndexInB(b_tile, j / 2, b_k_tiles_)];
          b.push_back(FromLane(lane, column[word % b_words]));
        }
        step(k, a, b);
      }
    }
  }
}

void MatrixProduct::MultiplyAll(Sums& sums) {
  const bool late = IsInteger() && saturate_;
  const Sums c = sums;
  if (late) sums.assign(sums.size(), I32(0));
  ForEachStep([&](unsigned, const Values& a, const Values& b) {
    for (unsigned i = 0; i < row_tiles_; ++i) {
      for (unsigned j = 0; j < 2 * col_tiles_; ++j) {
        Value*& sum = sums[IndexInC(i, j / 2, row_tiles_) + j % 2];
        sum = Dot(a[i], b[j], sum);
      }
    }
  });
  if (!late) return;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = fn_.Binary(llvm::Intrinsic::sadd_sat, c[i], sums[i]);
  }
}

// PTX ISA, "Block Scaling for mma.sync": every block of K has a factor for
// each row of A and one for each column of B. Powers of two of 8 bits of
// exponent overflow f32 when multiplied, so this is done in f64.
void MatrixProduct::MultiplyScaled(Sums& sums) {
  unsigned blocks = 1;
  switch (fn_.mods().scale_vec()) {
    case ScaleVec::kX4: blocks = 4; break;
    case ScaleVec::kX2: blocks = 2; break;
    case ScaleVec::kNone:
      blocks = fn_.mods().mma_kind() == MmaKind::kMxf4 ? 2 : 1;
      break;
    default: break;
  }
  const std::vector<Sums> partial =
      HasMfma() ? ProductsByMfma(blocks) : ProductsInSteps(blocks);
  const int first = sparse_ ? 6 : 4;
  const auto selector = [&](int operand, unsigned i) {
    return fn_.Read(fn_.child(fn_.op(operand), i), Type::kU32);
  };
  // Of A's factors, row g is in one lane of a pair and row g + 8 in the other.
  Value* a_lane = b_.CreateAdd(b_.CreateShl(g_, 2),
                               b_.CreateShl(selector(first + 1, 1), 1));
  Value* b_lane = b_.CreateAdd(b_.CreateShl(t_, 3), selector(first + 3, 1));
  for (unsigned block = 0; block < blocks; ++block) {
    Values a;
    Values b;
    for (unsigned i = 0; i < row_tiles_; ++i) {
      a.push_back(ScaleFactor(first, b_.CreateAdd(a_lane, I32(i)), block,
                              selector(first + 1, 0)));
    }
    for (unsigned j = 0; j < 2; ++j) {
      b.push_back(ScaleFactor(first + 2, b_.CreateAdd(b_lane, I32(4 * j)),
                              block, selector(first + 3, 0)));
    }
    for (unsigned i = 0; i < row_tiles_; ++i) {
      for (unsigned j = 0; j < 2; ++j) {
        const unsigned at = IndexInC(i, 0, row_tiles_) + j;
        Value* sum =
            Fma(b_.CreateFPExt(partial[block][at], F64()),
                b_.CreateFMul(a[i], b[j]), b_.CreateFPExt(sums[at], F64()));
        sums[at] = b_.CreateFPTrunc(sum, F32());
      }
    }
  }
}

std::vector<MatrixProduct::Sums> MatrixProduct::ProductsInSteps(
    unsigned blocks) {
  DecodeAB();
  const unsigned block_size = shape_.k / blocks;
  std::vector<Sums> products(
      blocks, Sums(2 * row_tiles_ * col_tiles_, fn_.Fp(F32(), 0)));
  ForEachStep([&](unsigned k, const Values& a, const Values& b) {
    for (unsigned i = 0; i < row_tiles_; ++i) {
      for (unsigned j = 0; j < 2; ++j) {
        Value*& sum = products[k / block_size][IndexInC(i, 0, row_tiles_) + j];
        sum = Dot(a[i], b[j], sum);
      }
    }
  });
  return products;
}

llvm::Value* MatrixProduct::ScaleFactor(int operand, Value* lane,
                                        unsigned block, Value* byte) {
  Value* data = FromLane(lane, fn_.Read(fn_.op(operand), Type::kB32));
  Value* code = b_.CreateAnd(
      b_.CreateLShr(data, b_.CreateShl(b_.CreateAdd(byte, I32(block)), 3)),
      I32(0xff));
  if (fn_.type(fn_.num_types() - 1) == Type::kUE4M3) {
    Value* half = DecodeSmallFloats(
        b_.CreateShl(b_.CreateAnd(code, I32(0x7f)), 8), Type::kE4M3);
    return b_.CreateFPExt(
        b_.CreateExtractElement(b_.CreateBitCast(half, HalfPair()),
                                std::uint64_t{0}),
        F64());
  }
  // ue8m0: 2^(code - 127); 0xff is NaN.
  llvm::Type* i64 = b_.getInt64Ty();
  Value* power = b_.CreateBitCast(
      b_.CreateShl(b_.CreateZExt(b_.CreateAdd(code, I32(1023 - 127)), i64), 52),
      F64());
  return b_.CreateSelect(b_.CreateICmpEQ(code, I32(0xff)),
                         llvm::ConstantFP::getQNaN(F64()), power);
}

llvm::Value* MatrixProduct::Join(const Values& words) {
  if (words.size() == 1) return words[0];
  llvm::Value* vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(
      words[0]->getType(), static_cast<unsigned>(words.size())));
  for (std::size_t i = 0; i < words.size(); ++i) {
    vector = b_.CreateInsertElement(vector, words[i], i);
  }
  return vector;
}

MatrixProduct::Values MatrixProduct::Elements(Value* word) {
  switch (word_type_) {
    case Type::kF16: {
      Value* pair = b_.CreateBitCast(word, HalfPair());
      return {b_.CreateFPExt(b_.CreateExtractElement(pair, std::uint64_t{0}),
                             F32()),
              b_.CreateFPExt(b_.CreateExtractElement(pair, std::uint64_t{1}),
                             F32())};
    }
    case Type::kBF16:
      return {b_.CreateBitCast(b_.CreateShl(word, 16), F32()),
              b_.CreateBitCast(b_.CreateAnd(word, I32(0xffff0000)), F32())};
    case Type::kTF32: return {b_.CreateBitCast(word, F32())};
    default: return {word};
  }
}

llvm::Value* MatrixProduct::Dot(Value* a, Value* b, Value* sum) {
  switch (word_type_) {
    case Type::kB1: {
      Value* bits =
          fn_.mods().op() == Op::kXor ? b_.CreateXor(a, b) : b_.CreateAnd(a, b);
      return b_.CreateAdd(sum, fn_.Unary(llvm::Intrinsic::ctpop, bits));
    }
    case Type::kS8:
    case Type::kU8:
    case Type::kS4:
    case Type::kU4:
      return fn_.PackedDot(container_, {a, IsSigned(a_type_)},
                           {b, IsSigned(b_type_)}, sum);
    case Type::kF64:
      if (!fn_.RoundingSuffix().empty()) {
        return fn_.FpArith("fma", {a, b, sum});
      }
      return Fma(a, b, sum);
    default: break;
  }
  const Values a_elements = Elements(a);
  const Values b_elements = Elements(b);
  for (std::size_t i = 0; i < a_elements.size(); ++i) {
    sum = Fma(a_elements[i], b_elements[i], sum);
  }
  return sum;
}

// ---- mma.m8n8k4 with f16 ----------------------------------------------------

// PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16": lanes 4q … 4q+3 and
// 4q+16 … 4q+19 make one product. Rows of A (columns of B) 0–3 lie in the
// lower four lanes, 4–7 in the upper ones: one to a lane with its four
// elements along K, or, if the other layout is asked for, one place of K to a
// lane with its four rows.
void MatrixProduct::RunQuadPairs() {
  const Values a = ReadFragment(1, 2, Type::kB32);
  const Values b = ReadFragment(2, 2, Type::kB32);
  const bool a_along_k = fn_.mods().layout() == Layout::kRow;
  const bool b_along_k = fn_.mods().layout2() == Layout::kCol;
  Value* first = b_.CreateAnd(lane_, 12);
  Value* upper = b_.CreateLShr(lane_, 4);
  // Row `line` of A, or column `line` of B, at place k.
  const auto element = [&](const Values& registers, bool along_k, Value* line,
                           unsigned k) -> Value* {
    Value* group = b_.CreateAdd(first, b_.CreateShl(b_.CreateLShr(line, 2), 4));
    Value* bits = nullptr;
    if (along_k) {
      Value* lane = b_.CreateAdd(group, b_.CreateAnd(line, 3));
      bits = b_.CreateLShr(FromLane(lane, registers[k / 2]), 16 * (k % 2));
    } else {
      Value* lane = b_.CreateAdd(group, I32(k));
      Value* high = b_.CreateICmpNE(b_.CreateAnd(line, 2), I32(0));
      bits = b_.CreateLShr(b_.CreateSelect(high, FromLane(lane, registers[1]),
                                           FromLane(lane, registers[0])),
                           b_.CreateShl(b_.CreateAnd(line, 1), 4));
    }
    return b_.CreateFPExt(
        b_.CreateBitCast(b_.CreateTrunc(bits, b_.getInt16Ty()), b_.getHalfTy()),
        F32());
  };
  // Element i of C or D: f16 ones lie along a row, f32 ones in 2×2 squares.
  const auto place = [&](Type type, unsigned i) -> std::pair<Value*, Value*> {
    Value* half = b_.CreateShl(upper, 2);
    if (type == Type::kF16) {
      return {b_.CreateAdd(half, t_), I32(i)};
    }
    return {
        b_.CreateAdd(half, b_.CreateAdd(b_.CreateAnd(lane_, 1), I32(i & 2))),
        b_.CreateAdd(b_.CreateAnd(lane_, 2), I32((i & 4) + (i & 1)))};
  };
  Sums sums;
  for (unsigned i = 0; i < 8; ++i) {
    const auto [row, column] = place(d_type_, i);
    Value* sum = fn_.Fp(F32(), 0);
    for (unsigned k = 0; k < 4; ++k) {
      sum = Fma(element(a, a_along_k, row, k), element(b, b_along_k, column, k),
                sum);
    }
    sums.push_back(sum);
  }
  // C may be of the other type and then lies in other lanes.
  row_tiles_ = 4;
  col_tiles_ = 1;
  const Sums c = ReadC();
  for (unsigned i = 0; i < 8; ++i) {
    Value* addend = c[i];
    if (c_type_ != d_type_) {
      const auto [row, column] = place(d_type_, i);
      Value* group =
          b_.CreateAdd(first, b_.CreateShl(b_.CreateLShr(row, 2), 4));
      addend = fn_.Fp(F32(), 0);
      for (unsigned j = 0; j < 8; ++j) {
        // Element j of the lane that holds it, if it is the one.
        Value* lane = nullptr;
        Value* index = nullptr;
        if (c_type_ == Type::kF16) {
          lane = b_.CreateAdd(group, b_.CreateAnd(row, 3));
          index = column;
        } else {
          lane = b_.CreateAdd(group, b_.CreateOr(b_.CreateAnd(row, 1),
                                                 b_.CreateAnd(column, 2)));
          index = b_.CreateOr(
              b_.CreateOr(b_.CreateAnd(row, 2), b_.CreateAnd(column, 4)),
              b_.CreateAnd(column, 1));
        }
        addend = b_.CreateSelect(b_.CreateICmpEQ(index, I32(j)),
                                 FromLane(lane, c[j]), addend);
      }
    }
    sums[i] = b_.CreateFAdd(sums[i], addend);
  }
  WriteD(sums);
}

// ---- Lowerings --------------------------------------------------------------

void FunctionLowering::LowerMma() {
  MatrixProduct product(*this, ShapeOf(mods().shape()), type(1), type(2),
                        type(0), type(3));
  if (mods().shape() == Shape::kM8n8k4 && type(1) == Type::kF16) {
    product.RunQuadPairs();
  } else {
    product.Run();
  }
}

void FunctionLowering::LowerWmmaMma() {
  // With f16 only the types of D and C are written.
  const bool half = num_types() == 2;
  MatrixProduct product(
      *this, ShapeOf(mods().shape()), half ? Type::kF16 : type(1),
      half ? Type::kF16 : type(2), type(0), type(half ? 1 : 3));
  if (product.InLines(half ? Type::kF16 : type(1))) {
    product.RunInLines();
  } else {
    product.Run();
  }
}

}  // namespace cerberus::ptx
