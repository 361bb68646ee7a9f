// Comparisons and selections.
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {

llvm::Value* FunctionLowering::CompareInt(Cmp cmp, Value* a, Value* b,
                                          bool is_signed) {
  switch (cmp) {
    case Cmp::kEq: return b_.CreateICmpEQ(a, b);
    case Cmp::kNe: return b_.CreateICmpNE(a, b);
    case Cmp::kLt:
      return is_signed ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
    case Cmp::kLe:
      return is_signed ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b);
    case Cmp::kGt:
      return is_signed ? b_.CreateICmpSGT(a, b) : b_.CreateICmpUGT(a, b);
    case Cmp::kGe:
      return is_signed ? b_.CreateICmpSGE(a, b) : b_.CreateICmpUGE(a, b);
    case Cmp::kLo: return b_.CreateICmpULT(a, b);
    case Cmp::kLs: return b_.CreateICmpULE(a, b);
    case Cmp::kHi: return b_.CreateICmpUGT(a, b);
    case Cmp::kHs: return b_.CreateICmpUGE(a, b);
    default:
      Fail("this comparison is not defined for integers");
      return b_.getFalse();
  }
}

llvm::Value* FunctionLowering::CompareFp(Cmp cmp, Value* a, Value* b) {
  switch (cmp) {
    case Cmp::kEq: return b_.CreateFCmpOEQ(a, b);
    case Cmp::kNe: return b_.CreateFCmpONE(a, b);
    case Cmp::kLt: return b_.CreateFCmpOLT(a, b);
    case Cmp::kLe: return b_.CreateFCmpOLE(a, b);
    case Cmp::kGt: return b_.CreateFCmpOGT(a, b);
    case Cmp::kGe: return b_.CreateFCmpOGE(a, b);
    case Cmp::kEqu: return b_.CreateFCmpUEQ(a, b);
    case Cmp::kNeu: return b_.CreateFCmpUNE(a, b);
    case Cmp::kLtu: return b_.CreateFCmpULT(a, b);
    case Cmp::kLeu: return b_.CreateFCmpULE(a, b);
    case Cmp::kGtu: return b_.CreateFCmpUGT(a, b);
    case Cmp::kGeu: return b_.CreateFCmpUGE(a, b);
    case Cmp::kNum: return b_.CreateFCmpORD(a, b);
    case Cmp::kNan: return b_.CreateFCmpUNO(a, b);
    default:
      Fail("this comparison is not defined for floating point");
      return b_.getFalse();
  }
}

llvm::Value* FunctionLowering::Compare(Type t) {
  Value* a = Read(op(1), t);
  Value* b = Read(op(2), t);
  if (!a->getType()->getScalarType()->isFloatingPointTy()) {
    return CompareInt(mods().cmp(), a, b, IsSigned(t));
  }
  a = FlushInput(a);
  b = FlushInput(b);
  // LLVM 22 compares the bits of a float that was an integer with those of
  // zero, whether the mode flushes subnormals or not.
  const Cmp cmp = mods().cmp();
  if (ftz() && flush_f32_ && a->getType()->isFloatTy() &&
      (cmp == Cmp::kEq || cmp == Cmp::kNe || cmp == Cmp::kEqu ||
       cmp == Cmp::kNeu)) {
    const auto may_be_zero = [](Value* v) {
      const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(v);
      return constant == nullptr || constant->isZero();
    };
    const bool zeros[] = {may_be_zero(a), may_be_zero(b)};
    if (zeros[1] && !llvm::isa<llvm::Constant>(a)) a = Flush(a);
    if (zeros[0] && !llvm::isa<llvm::Constant>(b)) b = Flush(b);
  }
  return CompareFp(cmp, a, b);
}

// set and setp: t = a cmp b, combined with predicate c where given; the
// second destination of setp is (!t) op c.
void FunctionLowering::SetLike(bool to_predicate) {
  const Type compared = type(num_types() - 1);
  Value* t = Compare(compared);
  Value* other = b_.CreateNot(t);
  if (mods().op() != Op::kNone && num_operands() > 3) {
    Value* c = ReadPred(op(3));
    if (t->getType()->isVectorTy()) c = b_.CreateVectorSplat(2, c);
    const auto combine = [&](Value* v) {
      switch (mods().op()) {
        case Op::kAnd: return b_.CreateAnd(v, c);
        case Op::kOr: return b_.CreateOr(v, c);
        default: return b_.CreateXor(v, c);
      }
    };
    t = combine(t);
    other = combine(other);
  }
  const Operand& d = op(0);
  if (to_predicate) {
    // Of a packed comparison p|q are the two halves' results.
    const bool packed = t->getType()->isVectorTy();
    if (d.kind != OperandKind::kPair) {
      Write(d, packed ? b_.CreateExtractElement(t, std::uint64_t{0}) : t,
            Type::kPred);
      return;
    }
    Write(child(d, 0),
          packed ? b_.CreateExtractElement(t, std::uint64_t{0}) : t,
          Type::kPred);
    Write(child(d, 1),
          packed ? b_.CreateExtractElement(t, std::uint64_t{1}) : other,
          Type::kPred);
    return;
  }
  // set: all ones or 1.0 for true, in each element where the result is packed.
  llvm::Type* result = LlvmType(type(0));
  if (t->getType()->isVectorTy() && !result->isVectorTy()) {
    // set.*.u32.f16x2: a mask per half.
    Value* mask =
        b_.CreateSExt(t, llvm::FixedVectorType::get(b_.getInt16Ty(), 2));
    Out(0, AsInt(mask), type(0));
    return;
  }
  if (result->getScalarType()->isFloatingPointTy()) {
    Out(0, b_.CreateSelect(t, Fp(result, 1.0), Fp(result, 0.0)), type(0));
    return;
  }
  Out(0, b_.CreateSExt(t, result), type(0));
}

void FunctionLowering::LowerSetp() { SetLike(true); }
void FunctionLowering::LowerSet() { SetLike(false); }

void FunctionLowering::LowerSelp() {
  Out(b_.CreateSelect(ReadPred(op(3)), In(1), In(2)));
}

void FunctionLowering::LowerSlct() {
  // c >= 0 picks a; NaN picks b.
  const Type of_c = type(1);
  Value* c = Read(op(3), of_c);
  Value* take = nullptr;
  if (of_c == Type::kF32) {
    if (ftz() && !flush_f32_) c = Flush(c);
    take = b_.CreateFCmpOGE(c, Fp(c->getType(), 0.0));
  } else {
    take = b_.CreateICmpSGE(c, I32(0));
  }
  Out(b_.CreateSelect(take, In(1), In(2)));
}

}  // namespace cerberus::ptx
