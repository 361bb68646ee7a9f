// Video instructions: arithmetic on bytes, halves and words of registers.
//
// The scalar ones compute on sign- or zero-extended parts in a width that
// holds every intermediate result; then come saturation, and a second
// operation or the merge into c. The SIMD ones do the same lane by lane.
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {
namespace {

// The part of a register that .b2 or .h1 names.
struct PartBits {
  unsigned shift;
  unsigned bits;
};
PartBits BitsOfPart(Component part) {
  switch (part) {
    case Component::kB0:
    case Component::kB1:
    case Component::kB2:
    case Component::kB3:
      return {8 * (static_cast<unsigned>(part) -
                   static_cast<unsigned>(Component::kB0)),
              8};
    case Component::kH0: return {0, 16};
    case Component::kH1: return {16, 16};
    default: return {0, 32};
  }
}

}  // namespace

llvm::Value* FunctionLowering::ReadWord(const Operand& operand) {
  Operand whole = operand;
  // A selector's digits would be an addend.
  if (operand.part == Component::kSelector) whole.value = 0;
  whole.part = Component::kWhole;
  whole.negated = false;
  return Read(whole, Type::kB32);
}

void FunctionLowering::WriteWord(Value* value) {
  Operand whole = op(0);
  whole.part = Component::kWhole;
  Write(whole, b_.CreateTrunc(value, b_.getInt32Ty()), Type::kB32);
}

llvm::Value* FunctionLowering::Extend(Value* v, Type t, unsigned bits) {
  return IsSigned(t) ? b_.CreateSExt(v, Int(bits))
                     : b_.CreateZExt(v, Int(bits));
}

// An operand's selected part, extended by its type.
llvm::Value* FunctionLowering::VideoPart(const Operand& operand, Type t,
                                         unsigned width) {
  const PartBits part = BitsOfPart(operand.part);
  Value* v = b_.CreateLShr(ReadWord(operand), part.shift);
  return Extend(b_.CreateTrunc(v, Int(part.bits)), t, width);
}

// Within the range of `bits` bits, signed or not.
llvm::Value* FunctionLowering::ClampTo(Value* v, unsigned bits,
                                       bool is_signed) {
  const unsigned width = v->getType()->getIntegerBitWidth();
  const llvm::APInt low = is_signed
                              ? llvm::APInt::getSignedMinValue(bits).sext(width)
                              : llvm::APInt(width, 0);
  const llvm::APInt high =
      is_signed ? llvm::APInt::getSignedMaxValue(bits).sext(width)
                : llvm::APInt::getMaxValue(bits).zext(width);
  v = Binary(llvm::Intrinsic::smax, v,
             llvm::ConstantInt::get(v->getType(), low));
  return Binary(llvm::Intrinsic::smin, v,
                llvm::ConstantInt::get(v->getType(), high));
}

// What add, sub, avrg, absdiff, min, max and set make of two numbers.
llvm::Value* FunctionLowering::VideoArith(Value* a, Value* b) {
  switch (form().opcode()) {
    case Opcode::kVadd:
    case Opcode::kVadd2:
    case Opcode::kVadd4: return b_.CreateAdd(a, b);
    case Opcode::kVsub:
    case Opcode::kVsub2:
    case Opcode::kVsub4: return b_.CreateSub(a, b);
    case Opcode::kVavrg2:
    case Opcode::kVavrg4: {
      // Halves are rounded away from zero: up if the sum is not negative.
      Value* sum = b_.CreateAdd(a, b);
      Value* up = b_.CreateZExt(b_.CreateICmpSGE(sum, IntOf(sum->getType(), 0)),
                                sum->getType());
      return b_.CreateAShr(b_.CreateAdd(sum, up), 1);
    }
    case Opcode::kVabsdiff:
    case Opcode::kVabsdiff2:
    case Opcode::kVabsdiff4:
      return Intrinsic(llvm::Intrinsic::abs, {a->getType()},
                       {b_.CreateSub(a, b), b_.getFalse()});
    case Opcode::kVmin:
    case Opcode::kVmin2:
    case Opcode::kVmin4: return Binary(llvm::Intrinsic::smin, a, b);
    case Opcode::kVmax:
    case Opcode::kVmax2:
    case Opcode::kVmax4: return Binary(llvm::Intrinsic::smax, a, b);
    default:
      return b_.CreateZExt(CompareInt(mods().cmp(), a, b, true), a->getType());
  }
}

// The second operation, or the merge of the result into c.
void FunctionLowering::FinishVideo(Value* v, Type result) {
  const unsigned width = v->getType()->getIntegerBitWidth();
  if (num_operands() < 4) {
    WriteWord(v);
    return;
  }
  Value* c = ReadWord(op(3));
  Value* wide = Extend(c, result, width);
  switch (mods().op()) {
    case Op::kAdd: WriteWord(b_.CreateAdd(v, wide)); return;
    case Op::kMin: WriteWord(Binary(llvm::Intrinsic::smin, v, wide)); return;
    case Op::kMax: WriteWord(Binary(llvm::Intrinsic::smax, v, wide)); return;
    default: break;
  }
  const PartBits part = BitsOfPart(op(0).part);
  const std::uint32_t mask = static_cast<std::uint32_t>(
      ((std::uint64_t{1} << part.bits) - 1) << part.shift);
  Value* placed = b_.CreateShl(b_.CreateTrunc(v, b_.getInt32Ty()), part.shift);
  WriteWord(b_.CreateOr(b_.CreateAnd(placed, I32(mask)),
                        b_.CreateAnd(c, I32(~mask))));
}

void FunctionLowering::LowerVideo() {
  const bool sets = form().opcode() == Opcode::kVset;
  const Type result = sets ? Type::kU32 : type(0);
  Value* a = VideoPart(op(1), type(sets ? 0 : 1), 64);
  Value* b = VideoPart(op(2), type(sets ? 1 : 2), 64);
  Value* v = VideoArith(a, b);
  if (mods().sat() == Sat::kOn) {
    v = ClampTo(v, BitsOfPart(op(0).part).bits, IsSigned(result));
  }
  FinishVideo(v, result);
}

void FunctionLowering::LowerVideoShift() {
  // Up to 32 places to the left of a 32-bit number.
  Value* a = VideoPart(op(1), type(1), 128);
  Value* b = VideoPart(op(2), type(2), 128);
  b = mods().shift_mode() == ShiftMode::kWrap
          ? b_.CreateAnd(b, IntOf(Int(128), 31))
          : Binary(llvm::Intrinsic::umin, b, IntOf(Int(128), 32));
  Value* v = form().opcode() == Opcode::kVshl ? b_.CreateShl(a, b)
                                              : b_.CreateAShr(a, b);
  if (mods().sat() == Sat::kOn) {
    v = ClampTo(v, BitsOfPart(op(0).part).bits, IsSigned(type(0)));
  }
  FinishVideo(v, type(0));
}

void FunctionLowering::LowerVmad() {
  const auto scaled = [&](Scale how) {
    const auto value = static_cast<std::uint8_t>(how);
    return mods().first(ModGroup::kScale) == value ||
           mods().second(ModGroup::kScale) == value;
  };
  const bool plus_one = scaled(Scale::kPo);
  const bool negate_product = op(1).negated != op(2).negated;
  const bool negate_c = op(3).negated;
  const bool is_signed =
      IsSigned(type(1)) || IsSigned(type(2)) || negate_product || negate_c;
  Value* v = b_.CreateMul(VideoPart(op(1), type(1), 128),
                          VideoPart(op(2), type(2), 128));
  Value* c = ReadWord(op(3));
  if (negate_product) {
    v = b_.CreateNeg(v);
  } else if (negate_c && !plus_one) {
    c = b_.CreateNot(c);
    v = b_.CreateAdd(v, IntOf(Int(128), 1));
  }
  if (plus_one) v = b_.CreateAdd(v, IntOf(Int(128), 1));
  v = b_.CreateAdd(
      v, is_signed ? b_.CreateSExt(c, Int(128)) : b_.CreateZExt(c, Int(128)));
  const unsigned shift = scaled(Scale::kShr7)    ? 7
                         : scaled(Scale::kShr15) ? 15
                                                 : 0;
  v = b_.CreateAShr(v, shift);
  if (mods().sat() == Sat::kOn) v = ClampTo(v, 32, is_signed);
  WriteWord(v);
}

// ---- SIMD -------------------------------------------------------------------

void FunctionLowering::VideoSimd(unsigned lanes) {
  const unsigned bits = 32 / lanes;
  const bool sets =
      form().opcode() == Opcode::kVset2 || form().opcode() == Opcode::kVset4;
  const Type result = sets ? Type::kU32 : type(0);
  Value* sources[2] = {ReadWord(op(1)), ReadWord(op(2))};
  // Lane i of a and b may come from any lane of both: digits 0 … lanes - 1
  // are a's lanes, the following b's.
  const auto lane_of = [&](int operand, Type t, unsigned i) {
    const Operand& o = op(operand);
    unsigned from = i + (operand == 2 ? lanes : 0);
    if (o.part == Component::kSelector) {
      const std::uint64_t digits =
          static_cast<std::uint64_t>(o.value < 0 ? -o.value : o.value);
      from = static_cast<unsigned>(digits >> (3 * i) & 7);
    }
    Value* word = sources[from / lanes % 2];
    Value* v = b_.CreateLShr(word, bits * (from % lanes));
    return Extend(b_.CreateTrunc(v, Int(bits)), t, 32);
  };
  // Which lanes the result replaces.
  unsigned mask = (1u << lanes) - 1;
  const Component part = op(0).part;
  if (part == Component::kSelector) {
    mask = 0;
    std::uint64_t digits = static_cast<std::uint64_t>(
        op(0).value < 0 ? -op(0).value : op(0).value);
    for (; digits > 1; digits /= 8) mask |= 1u << (digits % 8);
  } else if (part != Component::kWhole) {
    mask = 1u << (BitsOfPart(part).shift / bits);
  }
  const bool accumulates = mods().op() == Op::kAdd;
  Value* c = ReadWord(op(3));
  if (accumulates && IsSumOfDifferences()) {
    WriteWord(Intrinsic(lanes == 4 ? llvm::Intrinsic::amdgcn_sad_u8
                                   : llvm::Intrinsic::amdgcn_sad_u16,
                        {}, {sources[0], sources[1], c}));
    return;
  }
  Value* d = accumulates ? c : I32(0);
  for (unsigned i = 0; i < lanes; ++i) {
    const std::uint32_t lane_mask = ((1u << bits) - 1) << (bits * i);
    if ((mask >> i & 1) == 0) {
      if (!accumulates) d = b_.CreateOr(d, b_.CreateAnd(c, I32(lane_mask)));
      continue;
    }
    Value* t = VideoArith(lane_of(1, type(sets ? 0 : 1), i),
                          lane_of(2, type(sets ? 1 : 2), i));
    if (mods().sat() == Sat::kOn) t = ClampTo(t, bits, IsSigned(result));
    d = accumulates ? b_.CreateAdd(d, t)
                    : b_.CreateOr(d, b_.CreateAnd(b_.CreateShl(t, bits * i),
                                                  I32(lane_mask)));
  }
  WriteWord(d);
}

// Of all unsigned lanes, each with its own: V_SAD_U8 and V_SAD_U16.
bool FunctionLowering::IsSumOfDifferences() const {
  const auto is_plain = [&](int operand) {
    return op(operand).part == Component::kWhole;
  };
  return (form().opcode() == Opcode::kVabsdiff4 ||
          form().opcode() == Opcode::kVabsdiff2) &&
         !IsSigned(type(1)) && !IsSigned(type(2)) && mods().sat() != Sat::kOn &&
         is_plain(0) && is_plain(1) && is_plain(2);
}

void FunctionLowering::LowerVideo2() { VideoSimd(2); }
void FunctionLowering::LowerVideo4() { VideoSimd(4); }

}  // namespace cerberus::ptx
