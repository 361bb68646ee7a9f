// Integer arithmetic and bit operations.
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {
namespace {

// The type of a product of .wide.
Type WideOf(Type t) {
  switch (t) {
    case Type::kU16: return Type::kU32;
    case Type::kS16: return Type::kS32;
    case Type::kU32: return Type::kU64;
    default: return Type::kS64;
  }
}

}  // namespace

std::pair<llvm::Value*, llvm::Value*> FunctionLowering::AddCarry(Value* a,
                                                                 Value* b,
                                                                 Value* carry) {
  Value* first = Binary(llvm::Intrinsic::uadd_with_overflow, a, b);
  Value* sum = b_.CreateExtractValue(first, 0);
  Value* out = b_.CreateExtractValue(first, 1);
  if (carry) {
    Value* second = Binary(llvm::Intrinsic::uadd_with_overflow, sum,
                           b_.CreateZExt(carry, a->getType()));
    sum = b_.CreateExtractValue(second, 0);
    out = b_.CreateOr(out, b_.CreateExtractValue(second, 1));
  }
  return {sum, out};
}

std::pair<llvm::Value*, llvm::Value*> FunctionLowering::SubBorrow(
    Value* a, Value* b, Value* borrow) {
  Value* first = Binary(llvm::Intrinsic::usub_with_overflow, a, b);
  Value* difference = b_.CreateExtractValue(first, 0);
  Value* out = b_.CreateExtractValue(first, 1);
  if (borrow) {
    Value* second = Binary(llvm::Intrinsic::usub_with_overflow, difference,
                           b_.CreateZExt(borrow, a->getType()));
    difference = b_.CreateExtractValue(second, 0);
    out = b_.CreateOr(out, b_.CreateExtractValue(second, 1));
  }
  return {difference, out};
}

// ---- add, sub and their carries ---------------------------------------------
//
// The flag is the carry of a + ~b + 1 behind a subtraction, so 1 where nothing
// was borrowed, and subc is a + ~b + flag. PTX ISA calls it a borrow, which is
// the same where subtractions follow each other; but nvcc's division of
// 128-bit integers has addc behind sub.cc, and ptxas folds such pairs so.

void FunctionLowering::LowerAdd() {
  if (IsFpType()) {
    LowerFpAdd();
    return;
  }
  Value* a = In(1);
  Value* b = In(2);
  if (mods().carry() == Carry::kCc) {
    auto [sum, carry] = AddCarry(a, b, nullptr);
    b_.CreateStore(carry, CarryFlag());
    Out(sum);
    return;
  }
  if (mods().sat() == Sat::kOn) {
    Out(Binary(IsSigned(type()) ? llvm::Intrinsic::sadd_sat
                                : llvm::Intrinsic::uadd_sat,
               a, b));
    return;
  }
  Out(b_.CreateAdd(a, b));
}

void FunctionLowering::LowerSub() {
  if (IsFpType()) {
    LowerFpSub();
    return;
  }
  Value* a = In(1);
  Value* b = In(2);
  if (mods().carry() == Carry::kCc) {
    auto [difference, borrow] = SubBorrow(a, b, nullptr);
    b_.CreateStore(b_.CreateNot(borrow), CarryFlag());
    Out(difference);
    return;
  }
  if (mods().sat() == Sat::kOn) {
    Out(Binary(IsSigned(type()) ? llvm::Intrinsic::ssub_sat
                                : llvm::Intrinsic::usub_sat,
               a, b));
    return;
  }
  Out(b_.CreateSub(a, b));
}

void FunctionLowering::LowerAddc() {
  Value* carry_in = b_.CreateLoad(b_.getInt1Ty(), CarryFlag());
  auto [sum, carry] = AddCarry(In(1), In(2), carry_in);
  if (mods().carry() == Carry::kCc) b_.CreateStore(carry, CarryFlag());
  Out(sum);
}

void FunctionLowering::LowerSubc() {
  Value* carry_in = b_.CreateLoad(b_.getInt1Ty(), CarryFlag());
  auto [difference, borrow] = SubBorrow(In(1), In(2), b_.CreateNot(carry_in));
  if (mods().carry() == Carry::kCc) {
    b_.CreateStore(b_.CreateNot(borrow), CarryFlag());
  }
  Out(difference);
}

// ---- Products ---------------------------------------------------------------

llvm::Value* FunctionLowering::MulHigh(Value* a, Value* b, bool is_signed) {
  const unsigned bits = a->getType()->getIntegerBitWidth();
  llvm::Type* wide = Int(bits * 2);
  Value* product =
      is_signed ? b_.CreateMul(b_.CreateSExt(a, wide), b_.CreateSExt(b, wide))
                : b_.CreateMul(b_.CreateZExt(a, wide), b_.CreateZExt(b, wide));
  return b_.CreateTrunc(b_.CreateLShr(product, bits), a->getType());
}

llvm::Value* FunctionLowering::Product(Value* a, Value* b, Type t,
                                       MulMode mode) {
  if (mode == MulMode::kHi) return MulHigh(a, b, IsSigned(t));
  if (mode != MulMode::kWide) return b_.CreateMul(a, b);
  llvm::Type* wide = Int(a->getType()->getIntegerBitWidth() * 2);
  return IsSigned(t)
             ? b_.CreateNSWMul(b_.CreateSExt(a, wide), b_.CreateSExt(b, wide))
             : b_.CreateNUWMul(b_.CreateZExt(a, wide), b_.CreateZExt(b, wide));
}

void FunctionLowering::LowerMul() {
  if (IsFpType()) {
    LowerFpMul();
    return;
  }
  const MulMode mode = mods().mul_mode();
  Value* product = Product(In(1), In(2), type(), mode);
  Out(0, product, mode == MulMode::kWide ? WideOf(type()) : type());
}

void FunctionLowering::LowerMad() {
  if (IsFpType()) {
    LowerFma();
    return;
  }
  const MulMode mode = mods().mul_mode();
  const Type result = mode == MulMode::kWide ? WideOf(type()) : type();
  Value* product = Product(In(1), In(2), type(), mode);
  Value* addend = In(3, result);
  if (mods().carry() == Carry::kCc) {
    auto [sum, carry] = AddCarry(product, addend, nullptr);
    b_.CreateStore(carry, CarryFlag());
    Out(0, sum, result);
    return;
  }
  Out(0,
      mods().sat() == Sat::kOn
          ? Binary(llvm::Intrinsic::sadd_sat, product, addend)
          : b_.CreateAdd(product, addend),
      result);
}

void FunctionLowering::LowerMadc() {
  Value* product = Product(In(1), In(2), type(), mods().mul_mode());
  Value* carry_in = b_.CreateLoad(b_.getInt1Ty(), CarryFlag());
  auto [sum, carry] = AddCarry(product, In(3), carry_in);
  if (mods().carry() == Carry::kCc) b_.CreateStore(carry, CarryFlag());
  Out(sum);
}

// mul24 and mad24: 24-bit operands, bits 0–31 (.lo) or 16–47 (.hi) of the
// 48-bit product.
void FunctionLowering::LowerMul24() {
  const bool is_signed = IsSigned(type());
  const auto operand = [&](int i) {
    Value* v = b_.CreateShl(In(i), 8);
    v = is_signed ? b_.CreateAShr(v, 8) : b_.CreateLShr(v, 8);
    return is_signed ? b_.CreateSExt(v, b_.getInt64Ty())
                     : b_.CreateZExt(v, b_.getInt64Ty());
  };
  Value* product = b_.CreateMul(operand(1), operand(2));
  if (mods().mul_mode() == MulMode::kHi) product = b_.CreateLShr(product, 16);
  Value* half = b_.CreateTrunc(product, b_.getInt32Ty());
  if (form().opcode() == Opcode::kMad24) {
    Value* c = In(3);
    half = mods().sat() == Sat::kOn ? Binary(llvm::Intrinsic::sadd_sat, half, c)
                                    : b_.CreateAdd(half, c);
  }
  Out(half);
}

void FunctionLowering::LowerSad() {
  const bool is_signed = IsSigned(type());
  Value* a = In(1);
  Value* b = In(2);
  Value* high =
      Binary(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
  Value* low =
      Binary(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
  Out(b_.CreateAdd(In(3), b_.CreateSub(high, low)));
}

// ---- Division ---------------------------------------------------------------

// Division by zero gives an unspecified value in PTX but undefined behaviour
// in LLVM, where it would spread; it yields all ones here (the dividend as
// remainder), and INT_MIN / -1 wraps.
llvm::Value* FunctionLowering::DivRem(Value* a, Value* b, bool is_signed,
                                      bool want_remainder) {
  llvm::Type* type = a->getType();
  llvm::Type* work = type->getIntegerBitWidth() < 32 ? b_.getInt32Ty() : type;
  const auto widen = [&](Value* v) {
    return is_signed ? b_.CreateSExt(v, work) : b_.CreateZExt(v, work);
  };
  Value* wa = b_.CreateFreeze(widen(a));
  Value* wb = b_.CreateFreeze(widen(b));
  const llvm::ConstantInt* constant = llvm::dyn_cast<llvm::ConstantInt>(b);
  Value* result = nullptr;
  if (constant && !constant->isZero() && !constant->isMinusOne()) {
    result =
        is_signed
            ? (want_remainder ? b_.CreateSRem(wa, wb) : b_.CreateSDiv(wa, wb))
            : (want_remainder ? b_.CreateURem(wa, wb) : b_.CreateUDiv(wa, wb));
  } else {
    Value* zero = IntOf(work, 0);
    Value* by_zero = b_.CreateICmpEQ(wb, zero);
    Value* ua = wa;
    Value* ub = wb;
    if (is_signed) {
      ua =
          b_.CreateIntrinsic(llvm::Intrinsic::abs, {work}, {wa, b_.getFalse()});
      ub =
          b_.CreateIntrinsic(llvm::Intrinsic::abs, {work}, {wb, b_.getFalse()});
    }
    ub = b_.CreateSelect(by_zero, IntOf(work, 1), ub);
    Value* magnitude =
        want_remainder ? b_.CreateURem(ua, ub) : b_.CreateUDiv(ua, ub);
    if (is_signed) {
      Value* sign = want_remainder ? wa : b_.CreateXor(wa, wb);
      magnitude = b_.CreateSelect(b_.CreateICmpSLT(sign, zero),
                                  b_.CreateNeg(magnitude), magnitude);
    }
    result = b_.CreateSelect(
        by_zero, want_remainder ? wa : llvm::Constant::getAllOnesValue(work),
        magnitude);
  }
  return b_.CreateTrunc(result, type);
}

void FunctionLowering::LowerDiv() {
  if (IsFpType()) {
    LowerFpDiv();
    return;
  }
  Out(DivRem(In(1), In(2), IsSigned(type()), false));
}

void FunctionLowering::LowerRem() {
  Out(DivRem(In(1), In(2), IsSigned(type()), true));
}

// ---- abs, neg, min, max -----------------------------------------------------

void FunctionLowering::LowerAbs() {
  if (IsFpType()) {
    LowerFpAbs();
    return;
  }
  Value* a = In(1);
  Out(b_.CreateIntrinsic(llvm::Intrinsic::abs, {a->getType()},
                         {a, b_.getFalse()}));
}

void FunctionLowering::LowerNeg() {
  if (IsFpType()) {
    LowerFpNeg();
    return;
  }
  Out(b_.CreateNeg(In(1)));
}

void FunctionLowering::LowerMin() {
  if (IsFpType()) {
    LowerFpMinMax();
    return;
  }
  Value* result =
      Binary(IsSigned(type()) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin,
             In(1), In(2));
  if (mods().relu() == Relu::kOn) {
    result = Binary(llvm::Intrinsic::smax, result, IntOf(result->getType(), 0));
  }
  Out(result);
}

void FunctionLowering::LowerMax() {
  if (IsFpType()) {
    LowerFpMinMax();
    return;
  }
  Value* result =
      Binary(IsSigned(type()) ? llvm::Intrinsic::smax : llvm::Intrinsic::umax,
             In(1), In(2));
  if (mods().relu() == Relu::kOn) {
    result = Binary(llvm::Intrinsic::smax, result, IntOf(result->getType(), 0));
  }
  Out(result);
}

// Products without carries, as polynomials over one bit have them, and a sum
// without carries, which is xor.
void FunctionLowering::LowerClmad() {
  Value* product =
      Dev(mods().mul_mode() == MulMode::kHi ? "clmul_hi" : "clmul_lo",
          b_.getInt64Ty(), {In(1), In(2)});
  Out(b_.CreateXor(product, In(3)));
}

// ---- Logic ------------------------------------------------------------------

void FunctionLowering::LowerAnd() { Out(b_.CreateAnd(In(1), In(2))); }
void FunctionLowering::LowerOr() { Out(b_.CreateOr(In(1), In(2))); }
void FunctionLowering::LowerXor() { Out(b_.CreateXor(In(1), In(2))); }
void FunctionLowering::LowerNot() { Out(b_.CreateNot(In(1))); }

void FunctionLowering::LowerCnot() {
  Value* a = In(1);
  Out(b_.CreateZExt(b_.CreateICmpEQ(a, IntOf(a->getType(), 0)), a->getType()));
}

// Any function of three bits as a sum of its minterms; instcombine and the
// backend find v_bfi, v_or3 and friends in the short forms below.
void FunctionLowering::LowerLop3() {
  const bool with_predicate = mods().op() != Op::kNone;
  Value* a = Read(op(1), Type::kB32);
  Value* b = Read(op(2), Type::kB32);
  Value* c = Read(op(3), Type::kB32);
  const unsigned table = static_cast<unsigned>(op(4).value) & 0xff;
  // As a multiplexer tree over a, then b, then c.
  const auto of_c = [&](unsigned two) -> Value* {
    switch (two & 3) {
      case 0: return I32(0);
      case 1: return b_.CreateNot(c);
      case 2: return c;
      default: return I32(0xffffffffu);
    }
  };
  const auto pick = [&](Value* on, Value* off, Value* by) -> Value* {
    if (on == off) return on;
    return b_.CreateOr(b_.CreateAnd(by, on),
                       b_.CreateAnd(b_.CreateNot(by), off));
  };
  const auto of_bc = [&](unsigned four) {
    return pick(of_c(four >> 2), of_c(four), b);
  };
  Value* result = (table >> 4) == (table & 15)
                      ? of_bc(table)
                      : pick(of_bc(table >> 4), of_bc(table), a);
  if (!with_predicate) {
    Write(op(0), result, Type::kB32);
    return;
  }
  // lop3.op.b32 d|p, a, b, c, table, q: p = (d != 0) op q.
  const Operand& pair = op(0);
  Write(child(pair, 0), result, Type::kB32);
  Value* nonzero = b_.CreateICmpNE(result, I32(0));
  Value* q = ReadPred(op(5));
  Write(child(pair, 1),
        mods().op() == Op::kAnd ? b_.CreateAnd(nonzero, q)
                                : b_.CreateOr(nonzero, q),
        Type::kPred);
}

// ---- Shifts -----------------------------------------------------------------

void FunctionLowering::LowerShl() {
  Value* a = In(1);
  const unsigned bits = a->getType()->getIntegerBitWidth();
  Value* amount = Read(op(2), Type::kU32);
  Value* in_range = b_.CreateICmpULT(amount, I32(bits));
  Value* masked =
      b_.CreateZExtOrTrunc(b_.CreateAnd(amount, I32(bits - 1)), a->getType());
  Out(b_.CreateSelect(in_range, b_.CreateShl(a, masked),
                      IntOf(a->getType(), 0)));
}

void FunctionLowering::LowerShr() {
  Value* a = In(1);
  const unsigned bits = a->getType()->getIntegerBitWidth();
  Value* amount = Read(op(2), Type::kU32);
  if (IsSigned(type())) {
    // Beyond the width the sign remains.
    Value* clamped = Binary(llvm::Intrinsic::umin, amount, I32(bits - 1));
    Out(b_.CreateAShr(a, b_.CreateZExtOrTrunc(clamped, a->getType())));
    return;
  }
  Value* in_range = b_.CreateICmpULT(amount, I32(bits));
  Value* masked =
      b_.CreateZExtOrTrunc(b_.CreateAnd(amount, I32(bits - 1)), a->getType());
  Out(b_.CreateSelect(in_range, b_.CreateLShr(a, masked),
                      IntOf(a->getType(), 0)));
}

void FunctionLowering::LowerShf() {
  // {b:a} shifted, its high word (.l) or low word (.r) returned.
  Value* low = In(1);
  Value* high = In(2);
  Value* amount = Read(op(3), Type::kU32);
  const bool left = mods().shift_dir() == ShiftDir::kLeft;
  if (mods().shift_mode() == ShiftMode::kWrap) {
    Out(Intrinsic(left ? llvm::Intrinsic::fshl : llvm::Intrinsic::fshr,
                  {low->getType()}, {high, low, amount}));
    return;
  }
  // .clamp: 32 and more move a whole word.
  Value* funnel =
      Intrinsic(left ? llvm::Intrinsic::fshl : llvm::Intrinsic::fshr,
                {low->getType()}, {high, low, amount});
  Out(b_.CreateSelect(b_.CreateICmpUGE(amount, I32(32)), left ? low : high,
                      funnel));
}

// ---- Bit counting and fields ------------------------------------------------

void FunctionLowering::LowerPopc() {
  Value* count = Unary(llvm::Intrinsic::ctpop, In(1));
  Out(0, b_.CreateZExtOrTrunc(count, b_.getInt32Ty()), Type::kU32);
}

void FunctionLowering::LowerClz() {
  Value* a = In(1);
  Value* count = b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {a->getType()},
                                    {a, b_.getFalse()});
  Out(0, b_.CreateZExtOrTrunc(count, b_.getInt32Ty()), Type::kU32);
}

void FunctionLowering::LowerBfind() {
  Value* a = In(1);
  const unsigned bits = a->getType()->getIntegerBitWidth();
  if (IsSigned(type())) {
    // The most significant bit that differs from the sign.
    a = b_.CreateXor(a, b_.CreateAShr(a, bits - 1));
  }
  Value* zeros = b_.CreateZExtOrTrunc(
      b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {a->getType()},
                         {a, b_.getFalse()}),
      b_.getInt32Ty());
  Value* result = mods().shiftamt() == ShiftAmt::kOn
                      ? zeros
                      : b_.CreateSub(I32(bits - 1), zeros);
  Value* none = b_.CreateICmpEQ(a, IntOf(a->getType(), 0));
  Out(0, b_.CreateSelect(none, I32(0xffffffffu), result), Type::kU32);
}

void FunctionLowering::LowerBrev() {
  Out(Unary(llvm::Intrinsic::bitreverse, In(1)));
}

void FunctionLowering::LowerBfe() {
  // Position and length are the low 8 bits of b and c.
  Value* a = In(1);
  const unsigned bits = a->getType()->getIntegerBitWidth();
  llvm::Type* type64 = a->getType();
  Value* pos = b_.CreateAnd(Read(op(2), Type::kU32), I32(255));
  Value* len = b_.CreateAnd(Read(op(3), Type::kU32), I32(255));
  Value* zero = IntOf(type64, 0);
  const bool is_signed = IsSigned(type());
  // Field bits above the register read as 0 (unsigned) or the sign.
  Value* low_pos = Binary(llvm::Intrinsic::umin, pos, I32(bits - 1));
  Value* amount = b_.CreateZExtOrTrunc(low_pos, type64);
  Value* shifted =
      is_signed ? b_.CreateAShr(a, amount) : b_.CreateLShr(a, amount);
  if (!is_signed) {
    shifted = b_.CreateSelect(b_.CreateICmpULT(pos, I32(bits)), shifted, zero);
  } else {
    shifted = b_.CreateSelect(b_.CreateICmpULT(pos, I32(bits)), shifted,
                              b_.CreateAShr(a, bits - 1));
  }
  Value* kept = Binary(llvm::Intrinsic::umin, len, I32(bits));
  Value* drop = b_.CreateZExtOrTrunc(
      b_.CreateAnd(b_.CreateSub(I32(bits), kept), I32(bits - 1)), type64);
  Value* up = b_.CreateShl(shifted, drop);
  Value* field = is_signed ? b_.CreateAShr(up, drop) : b_.CreateLShr(up, drop);
  Out(b_.CreateSelect(b_.CreateICmpEQ(len, I32(0)), zero, field));
}

void FunctionLowering::LowerBfi() {
  // bfi d, a, b, c, len: bits of a into b at c.
  Value* a = In(1);
  Value* b = In(2);
  const unsigned bits = a->getType()->getIntegerBitWidth();
  llvm::Type* t = a->getType();
  Value* pos = b_.CreateAnd(Read(op(3), Type::kU32), I32(255));
  Value* len = b_.CreateAnd(Read(op(4), Type::kU32), I32(255));
  Value* ones = llvm::Constant::getAllOnesValue(t);
  Value* zero = IntOf(t, 0);
  // (1 << len) - 1, all ones from `bits` on.
  Value* low = b_.CreateNot(b_.CreateShl(
      ones, b_.CreateZExtOrTrunc(b_.CreateAnd(len, I32(bits - 1)), t)));
  low = b_.CreateSelect(b_.CreateICmpUGE(len, I32(bits)), ones, low);
  Value* at = b_.CreateZExtOrTrunc(b_.CreateAnd(pos, I32(bits - 1)), t);
  Value* inside = b_.CreateICmpULT(pos, I32(bits));
  Value* mask = b_.CreateSelect(inside, b_.CreateShl(low, at), zero);
  Out(b_.CreateOr(b_.CreateAnd(mask, b_.CreateShl(a, at)),
                  b_.CreateAnd(b_.CreateNot(mask), b)));
}

void FunctionLowering::LowerFns() {
  Out(0,
      Dev("fns", b_.getInt32Ty(),
          {Read(op(1), Type::kB32), Read(op(2), Type::kB32),
           Read(op(3), Type::kS32)}),
      Type::kB32);
}

// szext: the low b bits of a, sign- or zero-extended.
void FunctionLowering::LowerSzext() {
  Value* a = In(1);
  Value* b = Read(op(2), Type::kU32);
  Value* n = mods().shift_mode() == ShiftMode::kWrap
                 ? b_.CreateAnd(b, I32(31))
                 : Binary(llvm::Intrinsic::umin, b, I32(32));
  // Nothing to extend from 32 bits on; 0 bits give 0.
  Value* drop = b_.CreateAnd(b_.CreateSub(I32(32), n), I32(31));
  Value* up = b_.CreateShl(a, drop);
  Value* field =
      IsSigned(type()) ? b_.CreateAShr(up, drop) : b_.CreateLShr(up, drop);
  Value* whole = b_.CreateICmpEQ(n, I32(32));
  Value* none = b_.CreateICmpEQ(n, I32(0));
  Out(b_.CreateSelect(none, I32(0), b_.CreateSelect(whole, a, field)));
}

// bmsk: b ones from bit a on.
void FunctionLowering::LowerBmsk() {
  Value* a = Read(op(1), Type::kU32);
  Value* b = Read(op(2), Type::kU32);
  if (mods().shift_mode() == ShiftMode::kWrap) {
    a = b_.CreateAnd(a, I32(31));
    b = b_.CreateAnd(b, I32(31));
  }
  Value* wide = b_.getInt64(1);
  Value* n =
      b_.CreateZExt(Binary(llvm::Intrinsic::umin, b, I32(32)), b_.getInt64Ty());
  Value* at =
      b_.CreateZExt(Binary(llvm::Intrinsic::umin, a, I32(32)), b_.getInt64Ty());
  Value* ones = b_.CreateSub(b_.CreateShl(wide, n), b_.getInt64(1));
  Out(0, b_.CreateTrunc(b_.CreateShl(ones, at), b_.getInt32Ty()), Type::kB32);
}

// prmt: bytes of {b:a} picked by the nibbles of c; bit 3 of a nibble asks
// for eight copies of the byte's sign.
void FunctionLowering::LowerPrmt() {
  Value* a = Read(op(1), Type::kB32);
  Value* b = Read(op(2), Type::kB32);
  Value* c = Read(op(3), Type::kB32);
  if (mods().prmt_mode() != PrmtMode::kNone) {
    unsigned mode = 0;
    switch (mods().prmt_mode()) {
      case PrmtMode::kF4e: mode = 0; break;
      case PrmtMode::kB4e: mode = 1; break;
      case PrmtMode::kRc8: mode = 2; break;
      case PrmtMode::kEcl: mode = 3; break;
      case PrmtMode::kEcr: mode = 4; break;
      default: mode = 5; break;
    }
    // The selector that the mode stands for, by c & 3 (PTX ISA, "prmt").
    static constexpr unsigned kSelectors[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
        {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
        {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
        {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
        {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
        {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
    };
    Value* which = b_.CreateAnd(c, I32(3));
    Value* selector = I32(kSelectors[mode][3]);
    for (unsigned i = 3; i-- > 0;) {
      selector = b_.CreateSelect(b_.CreateICmpEQ(which, I32(i)),
                                 I32(kSelectors[mode][i]), selector);
    }
    c = selector;
  }
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(c)) {
    const std::uint64_t nibbles = constant->getZExtValue();
    if ((nibbles & 0x8888) == 0) {
      // v_perm_b32 numbers the bytes of {S0, S1} with S1 lowest.
      unsigned selector = 0;
      for (unsigned i = 0; i < 4; ++i) {
        selector |= static_cast<unsigned>((nibbles >> (4 * i)) & 7) << (8 * i);
      }
      Out(0, Intrinsic(llvm::Intrinsic::amdgcn_perm, {}, {b, a, I32(selector)}),
          Type::kB32);
      return;
    }
  }
  // Spread the nibbles to bytes: selectors 0–7 for v_perm_b32, and the sign
  // form as a second permutation smeared by multiplication.
  Value* s = b_.CreateAnd(c, I32(0xffff));
  s = b_.CreateOr(b_.CreateAnd(s, I32(0xff)),
                  b_.CreateShl(b_.CreateAnd(s, I32(0xff00)), 8));
  s = b_.CreateOr(b_.CreateAnd(s, I32(0x000f000f)),
                  b_.CreateShl(b_.CreateAnd(s, I32(0x00f000f0)), 4));
  Value* bytes = Intrinsic(llvm::Intrinsic::amdgcn_perm, {},
                           {b, a, b_.CreateAnd(s, I32(0x07070707))});
  const auto smear = [&](Value* bit_of_each_byte) {
    // 0x01 in a byte becomes 0xff; no carry leaves a byte.
    return b_.CreateMul(bit_of_each_byte, I32(255));
  };
  Value* signs = smear(b_.CreateAnd(b_.CreateLShr(bytes, 7), I32(0x01010101)));
  Value* wants = smear(b_.CreateAnd(b_.CreateLShr(s, 3), I32(0x01010101)));
  Out(0,
      b_.CreateOr(b_.CreateAnd(wants, signs),
                  b_.CreateAnd(b_.CreateNot(wants), bytes)),
      Type::kB32);
}

}  // namespace cerberus::ptx
