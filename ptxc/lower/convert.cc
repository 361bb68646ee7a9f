// cvt: every pair of types.
//
// A conversion has at most one rounding. Where LLVM has no instruction for
// the pair and the mode, the source is widened to f64 without loss (64-bit
// integers: rounded to odd, which no later rounding can mistake for a tie)
// and the device library rounds from there.
#include <fmt/format.h>

#include <cmath>

#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {
struct SmallFormat {
  Type pair;
  const char* name;
  unsigned bits;  // of one element in the pack
};

namespace {

bool IsAnyFloat(Type t) { return IsFloat(t) || t == Type::kBF16; }

// The small formats of "Data types for alternate formats".
constexpr SmallFormat kSmallFormats[] = {
    {Type::kE4M3x2, "e4m3", 8}, {Type::kE5M2x2, "e5m2", 8},
    {Type::kE2M3x2, "e2m3", 8}, {Type::kE3M2x2, "e3m2", 8},
    {Type::kE2M1x2, "e2m1", 4}, {Type::kUE8M0x2, "ue8m0", 8},
    {Type::kS2F6x2, "s2f6", 8},
};

const SmallFormat* FindSmall(Type t) {
  for (const SmallFormat& format : kSmallFormats) {
    if (format.pair == t) return &format;
  }
  return nullptr;
}

double LargestOf(Type t) {
  switch (t) {
    case Type::kF16:
    case Type::kF16x2: return 65504.0;
    case Type::kBF16:
    case Type::kBF16x2: return 0x1.fep127;
    default: return 0x1.fffffep127;
  }
}

}  // namespace

llvm::Value* FunctionLowering::Widen(Value* v, Type from) {
  return from == Type::kF16 || from == Type::kBF16
             ? b_.CreateFPExt(v, b_.getFloatTy())
             : v;
}

llvm::Value* FunctionLowering::IntToInt(Value* v, Type from, Type to) {
  const unsigned from_bits = static_cast<unsigned>(BitsOf(from));
  const unsigned to_bits = static_cast<unsigned>(BitsOf(to));
  llvm::Type* result = Int(to_bits);
  if (mods().sat() != Sat::kOn) {
    return IsSigned(from) ? b_.CreateSExtOrTrunc(v, result)
                          : b_.CreateZExtOrTrunc(v, result);
  }
  // The bounds, in a width that holds both types.
  const unsigned wide_bits = std::max(from_bits, to_bits) + 1;
  const llvm::APInt low =
      IsSigned(to) ? llvm::APInt::getSignedMinValue(to_bits).sext(wide_bits)
                   : llvm::APInt(wide_bits, 0);
  const llvm::APInt high =
      IsSigned(to) ? llvm::APInt::getSignedMaxValue(to_bits).sext(wide_bits)
                   : llvm::APInt::getMaxValue(to_bits).zext(wide_bits);
  if (!IsSigned(from)) {
    if (high.uge(llvm::APInt::getMaxValue(from_bits).zext(wide_bits))) {
      return b_.CreateZExtOrTrunc(v, result);
    }
    Value* clamped =
        Binary(llvm::Intrinsic::umin, v,
               llvm::ConstantInt::get(v->getType(), high.trunc(from_bits)));
    return b_.CreateZExtOrTrunc(clamped, result);
  }
  if (IsSigned(to) && to_bits >= from_bits) return b_.CreateSExt(v, result);
  if (IsSigned(to) || to_bits < from_bits) {
    Value* clamped = Binary(
        llvm::Intrinsic::smax,
        Binary(llvm::Intrinsic::smin, v,
               llvm::ConstantInt::get(v->getType(), high.trunc(from_bits))),
        llvm::ConstantInt::get(v->getType(), low.trunc(from_bits)));
    return b_.CreateTrunc(clamped, result);
  }
  // Signed to an unsigned type at least as wide: only the sign matters.
  Value* clamped = Binary(llvm::Intrinsic::smax, v, IntOf(v->getType(), 0));
  return b_.CreateZExt(clamped, result);
}

// 32 bits to the nearest bf16. The backend goes through f32, which would round
// first: only 24 of the bits may be left, and what is cut off stays as a set
// bit.
llvm::Value* FunctionLowering::IntToBFloat(Value* v, bool is_signed) {
  Value* size = v;
  if (is_signed) {
    size = b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, b_.getFalse());
  }
  Value* lost = b_.CreateICmpNE(b_.CreateAnd(size, I32(0xff)), I32(0));
  Value* cut = b_.CreateOr(b_.CreateAnd(size, I32(0xffffff00)),
                           b_.CreateSelect(lost, I32(0x100), I32(0)));
  Value* fits = b_.CreateICmpULT(size, I32(1u << 24));
  Value* rounded =
      b_.CreateUIToFP(b_.CreateSelect(fits, size, cut), b_.getBFloatTy());
  if (!is_signed) return rounded;
  return b_.CreateSelect(b_.CreateICmpSLT(v, I32(0)), b_.CreateFNeg(rounded),
                         rounded);
}

// Directed rounding to f16. What f16 cannot hold is dealt with as an integer:
// LLVM 22 takes integers of few significant bits to be exact in f16, however
// large.
llvm::Value* FunctionLowering::IntToHalf(Value* v, bool is_signed) {
  constexpr std::uint64_t kLargest = 65504;
  llvm::Type* type = v->getType();
  const unsigned bits = type->getIntegerBitWidth();
  Value* above = b_.getFalse();
  Value* below = b_.getFalse();
  if (bits > 16 || (bits == 16 && !is_signed)) {
    Value* most = IntOf(type, kLargest);
    above = is_signed ? b_.CreateICmpSGT(v, most) : b_.CreateICmpUGT(v, most);
    v = b_.CreateSelect(above, most, v);
  }
  if (bits > 16 && is_signed) {
    Value* least = b_.CreateNeg(IntOf(type, kLargest));
    below = b_.CreateICmpSLT(v, least);
    v = b_.CreateSelect(below, least, v);
  }
  llvm::Type* wide = b_.getDoubleTy();
  Value* rounded = FloatToFloat(
      is_signed ? b_.CreateSIToFP(v, wide) : b_.CreateUIToFP(v, wide),
      Type::kF64, Type::kF16);
  const bool up = mods().rounding() == Rounding::kRp;
  const bool down = mods().rounding() == Rounding::kRm;
  if (!up && !down) return rounded;
  return b_.CreateSelect(up ? above : below,
                         llvm::ConstantFP::getInfinity(b_.getHalfTy(), down),
                         rounded);
}

llvm::Value* FunctionLowering::IntToFloat(Value* v, Type from, Type to) {
  llvm::Type* result = LlvmType(to);
  const bool is_signed = IsSigned(from);
  const std::string mode = RoundingSuffix();
  const unsigned bits = static_cast<unsigned>(BitsOf(from));
  const auto convert = [&](llvm::Type* type) {
    return is_signed ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
  };
  if (to == Type::kF64) {
    if (bits < 64 || mode.empty()) return convert(result);
    return Dev(fmt::format("cvt_{}_f64_{}", mode, is_signed ? "s64" : "u64"),
               result, {v});
  }
  if (to == Type::kF32 && (mode.empty() || bits <= 16)) return convert(result);
  if (to == Type::kBF16 && mode.empty() && bits == 32) {
    return IntToBFloat(v, is_signed);
  }
  if (to == Type::kF16 && !mode.empty()) return IntToHalf(v, is_signed);
  Value* wide = bits < 64
                    ? convert(b_.getDoubleTy())
                    : Dev(is_signed ? "cvt_odd_f64_s64" : "cvt_odd_f64_u64",
                          b_.getDoubleTy(), {v});
  return mode.empty() ? b_.CreateFPTrunc(wide, result)
                      : FloatToFloat(wide, Type::kF64, to);
}

llvm::Value* FunctionLowering::FloatToInt(Value* v, Type from, Type to) {
  if (ftz() && from == Type::kF32) v = Flush(v);
  v = Widen(v, from);
  llvm::Intrinsic::ID round = llvm::Intrinsic::not_intrinsic;
  switch (mods().rounding()) {
    case Rounding::kRni:
    case Rounding::kRn: round = llvm::Intrinsic::roundeven; break;
    case Rounding::kRmi:
    case Rounding::kRm: round = llvm::Intrinsic::floor; break;
    case Rounding::kRpi:
    case Rounding::kRp: round = llvm::Intrinsic::ceil; break;
    default: break;  // the conversion itself rounds toward zero
  }
  Value* rounded =
      round == llvm::Intrinsic::not_intrinsic ? v : Unary(round, v);
  const unsigned bits = static_cast<unsigned>(BitsOf(to));
  llvm::Type* result = Int(bits);
  Value* integer = Intrinsic(
      IsSigned(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
      {result, rounded->getType()}, {rounded});
  // PTX ISA, "cvt": NaN becomes 0, but the top bit alone if the source is
  // f64 or the destination has 64 bits.
  if (from != Type::kF64 && bits != 64) return integer;
  Value* top =
      llvm::ConstantInt::get(result, llvm::APInt::getSignedMinValue(bits));
  return b_.CreateSelect(b_.CreateFCmpUNO(v, v), top, integer);
}

// f32 to the nearest bf16 in a mode that flushes f32: bf16 has its subnormals.
llvm::Value* FunctionLowering::RoundToBFloat(Value* v) {
  Value* bits = b_.CreateBitCast(v, b_.getInt32Ty());
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), I32(1));
  Value* rounded = b_.CreateAdd(bits, b_.CreateAdd(odd, I32(0x7fff)));
  Value* quiet = b_.CreateOr(bits, I32(0x400000));
  Value* all = b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, rounded);
  return b_.CreateBitCast(
      b_.CreateTrunc(b_.CreateLShr(all, 16), b_.getInt16Ty()),
      b_.getBFloatTy());
}

llvm::Value* FunctionLowering::FloatToFloat(Value* v, Type from, Type to) {
  llvm::Type* result = LlvmType(to);
  if (from == to) return v;
  const int from_bits = BitsOf(from);
  const int to_bits = BitsOf(to);
  const std::string mode = RoundingSuffix();
  if (from_bits < to_bits) return b_.CreateFPExt(v, result);
  if (from_bits == to_bits) {
    // f16 and bf16: neither holds the other.
    Value* wide = b_.CreateFPExt(v, b_.getFloatTy());
    return FloatToFloat(wide, Type::kF32, to);
  }
  if (mode.empty()) {
    return from == Type::kF32 && to == Type::kBF16 && flush_f32_
               ? RoundToBFloat(v)
               : b_.CreateFPTrunc(v, result);
  }
  Value* wide = from == Type::kF64 ? v : b_.CreateFPExt(v, b_.getDoubleTy());
  const char* name = to == Type::kF32   ? "f32"
                     : to == Type::kF16 ? "f16"
                                        : "bf16";
  if (to == Type::kBF16) {
    Value* raw =
        Dev(fmt::format("cvt_{}_bf16_f64", mode), b_.getInt16Ty(), {wide});
    return b_.CreateBitCast(raw, result);
  }
  return Dev(fmt::format("cvt_{}_{}_f64", mode, name), result, {wide});
}

// cvt.rs: two or four floats, the first of them uppermost, and a word of
// random bits that they share as PTX ISA, "cvt", says.
void FunctionLowering::ConvertRandomly() {
  const Type to = type(0);
  struct Row {
    Type pack;
    const char* name;
    unsigned bits;    // from element to element
    unsigned result;  // of all
  };
  constexpr Row kRows[] = {
      {Type::kF16x2, "f16", 16, 32},  {Type::kBF16x2, "bf16", 16, 32},
      {Type::kE4M3x4, "e4m3", 8, 32}, {Type::kE5M2x4, "e5m2", 8, 32},
      {Type::kE2M3x4, "e2m3", 8, 32}, {Type::kE3M2x4, "e3m2", 8, 32},
      {Type::kE2M1x4, "e2m1", 4, 16},
  };
  const Row* row = nullptr;
  for (const Row& r : kRows) {
    if (r.pack == to) row = &r;
  }
  if (!row) {
    FailUnsupported("this pair of formats has no conversion here");
    return;
  }
  std::vector<Value*> parts;
  if (op(1).kind == OperandKind::kVector) {
    for (unsigned i = 0; i < op(1).count; ++i) {
      parts.push_back(Read(child(op(1), i), Type::kF32));
    }
  } else {
    parts = {Read(op(1), Type::kF32), Read(op(2), Type::kF32)};
  }
  Value* random = Read(op(num_operands() - 1), Type::kB32);
  const unsigned count = static_cast<unsigned>(parts.size());
  Value* packed = I32(0);
  for (unsigned i = 0; i < count; ++i) {
    const bool upper = i < count / 2;
    Value* bits = upper ? b_.CreateLShr(random, 16) : random;
    if (to == Type::kE2M1x4) {
      // A byte of each half: the upper ones for the upper two elements.
      Value* word = upper ? b_.CreateLShr(random, 8) : random;
      bits = b_.CreateOr(b_.CreateAnd(b_.CreateLShr(word, 8), I32(0xff00)),
                         b_.CreateAnd(word, I32(0xff)));
    }
    Value* v = mods().relu() == Relu::kOn ? Relu(parts[i]) : parts[i];
    Value* code = Dev(fmt::format("random_{}", row->name), b_.getInt32Ty(),
                      {v, bits, b_.getInt1(mods().sat() == Sat::kFinite)});
    packed =
        b_.CreateOr(packed, b_.CreateShl(code, (count - 1 - i) * row->bits));
  }
  Write(op(0), b_.CreateTrunc(packed, Int(row->result)),
        row->result == 16 ? Type::kB16 : Type::kB32);
}

// .scaled: the power of two, or its inverse, for element `i`, of those that
// operand `at` holds.
std::function<llvm::Value*(unsigned)> FunctionLowering::ScalesOf(
    int at, const char* function) {
  if (mods().scaled() == Scaled::kNone) return nullptr;
  Value* codes = b_.CreateZExt(Read(op(at), Type::kB16), b_.getInt32Ty());
  return [this, codes, function](unsigned i) -> Value* {
    Value* code = b_.CreateAnd(b_.CreateLShr(codes, 8 * i), I32(0xff));
    return Dev(function, b_.getDoubleTy(), {code});
  };
}

// With .satfinite: the largest number of `format` for what is above it.
llvm::Value* FunctionLowering::ClampFinite(Value* v, Type format) {
  if (mods().sat() != Sat::kFinite) return v;
  const double largest = LargestOf(format);
  Value* high = Fp(v->getType(), largest);
  Value* low = Fp(v->getType(), -largest);
  v = b_.CreateSelect(b_.CreateFCmpOGT(v, high), high, v);
  return b_.CreateSelect(b_.CreateFCmpOLT(v, low), low, v);
}

// Two of .f32 into .f16x2 or .bf16x2.
void FunctionLowering::ConvertToHalves(Type to) {
  const Type half = to == Type::kF16x2 ? Type::kF16 : Type::kBF16;
  const bool relu = mods().relu() == Relu::kOn;
  // a is the upper half.
  Value* result = llvm::PoisonValue::get(LlvmType(to));
  for (unsigned i = 0; i < 2; ++i) {
    Value* v = Read(op(2 - static_cast<int>(i)), Type::kF32);
    if (ftz()) v = Flush(v);
    v = FloatToFloat(ClampFinite(v, half), Type::kF32, half);
    result = b_.CreateInsertElement(result, relu ? Relu(v) : v, i);
  }
  Out(0, result, to);
}

// A pack of small floats into .f16x2 or .bf16x2.
void FunctionLowering::ConvertToHalves(Type to, const SmallFormat* small) {
  const Type half = to == Type::kF16x2 ? Type::kF16 : Type::kBF16;
  const bool relu = mods().relu() == Relu::kOn;
  Value* packed = Read(op(1), small->bits == 4 ? Type::kB8 : Type::kB16);
  const auto scale = ScalesOf(2, "scale_ue8m0");
  Value* wide = b_.CreateZExt(packed, b_.getInt32Ty());
  Value* result = llvm::PoisonValue::get(LlvmType(to));
  for (unsigned i = 0; i < 2; ++i) {
    Value* code = b_.CreateAnd(b_.CreateLShr(wide, i * small->bits),
                               I32((1u << small->bits) - 1));
    Value* v =
        Dev(fmt::format("decode_{}", small->name), b_.getFloatTy(), {code});
    if (mods().scaled() == Scaled::kN2) {
      v = b_.CreateFMul(b_.CreateFPExt(v, b_.getDoubleTy()), scale(i));
      v = FloatToFloat(ClampFinite(v, half), Type::kF64, half);
    } else {
      v = b_.CreateFPTrunc(ClampFinite(v, half), LlvmType(half));
    }
    result = b_.CreateInsertElement(result, relu ? Relu(v) : v, i);
  }
  Out(0, result, to);
}

// Into a pack of small floats.
void FunctionLowering::ConvertToSmall(Type to, Type from,
                                      const SmallFormat* small) {
  const bool finite = mods().sat() == Sat::kFinite;
  const bool relu = mods().relu() == Relu::kOn;
  Value* parts[2];
  if (from == Type::kF32) {
    parts[1] = Read(op(1), Type::kF32);
    parts[0] = Read(op(2), Type::kF32);
  } else {
    Value* pair = Read(op(1), from);
    for (unsigned i = 0; i < 2; ++i) {
      parts[i] =
          b_.CreateFPExt(b_.CreateExtractElement(pair, i), b_.getFloatTy());
    }
  }
  const auto scale = ScalesOf(num_operands() - 1, "unscale_ue8m0");
  const auto encode = [&](Value* v, unsigned i) -> Value* {
    llvm::Type* result = b_.getInt32Ty();
    std::string name = fmt::format("encode_{}", small->name);
    if (to == Type::kUE8M0x2) {
      name += "_" + RoundingSuffix();
      if (finite) name += "_satfinite";
    } else if (to == Type::kS2F6x2) {
      v = b_.CreateFPExt(v, b_.getDoubleTy());
      if (mods().scaled() == Scaled::kN2) v = b_.CreateFMul(v, scale(i));
      return Dev(name + (mods().rounding() == Rounding::kRz ? "_rz" : "_rn"),
                 result, {v});
    } else if (mods().rounding() == Rounding::kRz) {
      // As with random bits that are all zeros.
      return Dev(fmt::format("random_{}", small->name), result,
                 {v, I32(0), b_.getTrue()});
    }
    return Dev(name, result, {v});
  };
  Value* packed = I32(0);
  for (unsigned i = 0; i < 2; ++i) {
    Value* code = encode(relu ? Relu(parts[i]) : parts[i], i);
    packed = b_.CreateOr(packed, b_.CreateShl(code, i * small->bits));
  }
  const Type raw = small->bits == 4 ? Type::kB8 : Type::kB16;
  Out(0, b_.CreateTrunc(packed, LlvmType(raw)), raw);
}

void FunctionLowering::ConvertToTf32() {
  const bool finite = mods().sat() == Sat::kFinite;
  const bool relu = mods().relu() == Relu::kOn;
  Value* v = Read(op(1), Type::kF32);
  Value* bits = b_.CreateBitCast(v, b_.getInt32Ty());
  Value* rounded = nullptr;
  switch (mods().rounding()) {
    case Rounding::kRna: rounded = b_.CreateAdd(bits, I32(0x1000)); break;
    case Rounding::kRz: rounded = bits; break;
    default:
      rounded = b_.CreateAdd(b_.CreateAdd(bits, I32(0xfff)),
                             b_.CreateAnd(b_.CreateLShr(bits, 13), I32(1)));
      break;
  }
  rounded = b_.CreateAnd(rounded, I32(0xffffe000u));
  // The largest tf32 has ten mantissa bits.
  if (finite) {
    Value* magnitude = b_.CreateAnd(rounded, I32(0x7fffffffu));
    Value* sign = b_.CreateAnd(rounded, I32(0x80000000u));
    rounded = b_.CreateSelect(b_.CreateICmpUGE(magnitude, I32(0x7f800000u)),
                              b_.CreateOr(sign, I32(0x7f7fe000u)), rounded);
  }
  Value* infinite = b_.createIsFPClass(v, llvm::fcInf);
  if (!finite) rounded = b_.CreateSelect(infinite, bits, rounded);
  rounded = b_.CreateSelect(b_.CreateFCmpUNO(v, v), I32(0x7fffffffu), rounded);
  if (relu) {
    // -0 too becomes +0.
    Value* negative =
        b_.CreateAnd(b_.CreateICmpSLT(bits, I32(0)), b_.CreateFCmpORD(v, v));
    rounded = b_.CreateSelect(negative, I32(0), rounded);
  }
  Out(0, rounded, Type::kB32);
}

// Conversions that take or give packs; false if this is none.
bool FunctionLowering::ConvertPacked() {
  const Type to = type(0);
  const Type from = type(1);
  if (mods().rounding() == Rounding::kRs) {
    ConvertRandomly();
    return true;
  }
  if (to == Type::kF16x2 || to == Type::kBF16x2) {
    if (from == Type::kF32) {
      ConvertToHalves(to);
      return true;
    }
    const SmallFormat* small = FindSmall(from);
    if (small != nullptr) ConvertToHalves(to, small);
    return small != nullptr;
  }
  if (const SmallFormat* small = FindSmall(to)) {
    ConvertToSmall(to, from, small);
    return true;
  }
  if (to == Type::kTF32) {
    ConvertToTf32();
    return true;
  }
  return false;
}

void FunctionLowering::LowerCvt() {
  const Type to = type(0);
  const Type from = type(1);
  const bool from_float = IsAnyFloat(from);
  const bool to_float = IsAnyFloat(to);
  const bool plain =
      (from_float || IsInteger(from)) && (to_float || IsInteger(to));
  if (!plain) {
    if (!ConvertPacked()) {
      FailUnsupported("this pair of formats has no conversion here");
    }
    return;
  }
  Value* v = Read(op(1), from);
  if (!from_float && !to_float) {
    Out(0, IntToInt(v, from, to), to);
    return;
  }
  if (!to_float) {
    Out(0, FloatToInt(v, from, to), to);
    return;
  }
  Value* result = nullptr;
  if (!from_float) {
    result = IntToFloat(v, from, to);
  } else {
    if (ftz() && from == Type::kF32) v = Flush(v);
    switch (mods().rounding()) {
      // Rounding to an integral value, in the format itself.
      case Rounding::kRni: v = Unary(llvm::Intrinsic::roundeven, v); break;
      case Rounding::kRzi: v = Unary(llvm::Intrinsic::trunc, v); break;
      case Rounding::kRmi: v = Unary(llvm::Intrinsic::floor, v); break;
      case Rounding::kRpi: v = Unary(llvm::Intrinsic::ceil, v); break;
      default: break;
    }
    if (mods().sat() == Sat::kFinite) {
      const double largest = LargestOf(to);
      Value* high = Fp(v->getType(), largest);
      Value* low = Fp(v->getType(), -largest);
      v = b_.CreateSelect(b_.CreateFCmpOGT(v, high), high, v);
      v = b_.CreateSelect(b_.CreateFCmpOLT(v, low), low, v);
    }
    result = FloatToFloat(v, from, to);
    if (ftz() && to == Type::kF32) result = Flush(result);
  }
  if (mods().sat() == Sat::kOn) result = Saturate(result);
  if (mods().relu() == Relu::kOn) result = Relu(result);
  Out(0, result, to);
}

// cvt.pack.sat.ctype.atype{.b32}: two integers saturated into the low half
// (or quarter) of a word, c shifted up behind them.
void FunctionLowering::LowerCvtPack() {
  const Type to = type(0);
  const Type from = type(1);
  const unsigned bits = static_cast<unsigned>(BitsOf(to));
  const auto clamp = [&](int i) {
    Value* v = Read(op(i), from);
    const bool to_signed = IsSigned(to) || to == Type::kS2 || to == Type::kS4;
    const std::int64_t high = to_signed ? (std::int64_t{1} << (bits - 1)) - 1
                                        : (std::int64_t{1} << bits) - 1;
    const std::int64_t low = to_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
    if (IsSigned(from)) {
      v = Binary(llvm::Intrinsic::smin, v,
                 I32(static_cast<std::uint32_t>(high)));
      v = Binary(llvm::Intrinsic::smax, v,
                 I32(static_cast<std::uint32_t>(low)));
    } else {
      v = Binary(llvm::Intrinsic::umin, v,
                 I32(static_cast<std::uint32_t>(high)));
    }
    return b_.CreateAnd(
        v, I32(static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1)));
  };
  // a is the upper of the two.
  Value* result = b_.CreateOr(b_.CreateShl(clamp(1), bits), clamp(2));
  if (num_operands() > 3) {
    Value* c = Read(op(3), Type::kB32);
    result = b_.CreateOr(result, b_.CreateShl(c, 2 * bits));
  }
  Write(op(0), result, Type::kB32);
}

}  // namespace cerberus::ptx
