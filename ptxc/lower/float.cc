// Floating-point arithmetic. Rounding, .ftz and .sat are what the
// instruction says, one by one.
//
// Subnormals: a kernel's f32 mode is IEEE, and .ftz is written out, unless
// all f32 arithmetic of a call tree is .ftz (nvcc -use_fast_math); then the
// hardware flushes (ModuleLowering::AnalyzeFlushing).
//
// Rounding: to nearest is the hardware's mode. .rz, .rm and .rp are computed
// by the device library from the nearest result and the sign of its error,
// because no order between arithmetic and mode switches survives LLVM's
// scheduler.
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"
#include "ptxc/lower/lower.h"
#include "ptxc/passes/float_ranges.h"
#include "ptxc/passes/repairs/exact_floats.h"

namespace cerberus::ptx {

bool FunctionLowering::IsFpType() const {
  const Type t = type(num_types() - 1);
  switch (KindOf(t)) {
    case TypeKind::kFloat:
    case TypeKind::kPackedFloat:
    case TypeKind::kAltFloat: return true;
    default: return false;
  }
}

std::string FunctionLowering::RoundingSuffix() const {
  switch (mods().rounding()) {
    case Rounding::kRz: return "rz";
    case Rounding::kRm: return "rm";
    case Rounding::kRp: return "rp";
    default: return "";
  }
}

llvm::Value* FunctionLowering::Elementwise(
    Value* v, llvm::function_ref<Value*(Value*)> fn) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  if (!vector) return fn(v);
  Value* result = nullptr;
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    Value* element = fn(b_.CreateExtractElement(v, i));
    if (!result) {
      result = llvm::PoisonValue::get(llvm::FixedVectorType::get(
          element->getType(), vector->getNumElements()));
    }
    result = b_.CreateInsertElement(result, element, i);
  }
  return result;
}

llvm::Value* FunctionLowering::Flush(Value* v) {
  llvm::Type* scalar = v->getType()->getScalarType();
  if (scalar->isDoubleTy()) return v;
  if (scalar->isFloatTy() && flush_f32_) {
    // The mode flushes what arithmetic reads and writes; this makes it so
    // for values that meet no arithmetic.
    return Unary(llvm::Intrinsic::canonicalize, v);
  }
  return FlushBits(v);
}

llvm::Value* FunctionLowering::FlushBits(Value* v) {
  Value* subnormal = b_.createIsFPClass(v, llvm::fcSubnormal);
  Value* zero = Binary(llvm::Intrinsic::copysign, Fp(v->getType(), 0.0), v);
  return b_.CreateSelect(subnormal, zero, v);
}

llvm::Value* FunctionLowering::FpIn(int i) { return FlushInput(In(i)); }

llvm::Value* FunctionLowering::FlushInput(Value* v) {
  if (!ftz()) return v;
  if (flush_f32_ && v->getType()->getScalarType()->isFloatTy()) {
    return WithoutSubnormal(v);
  }
  return Flush(v);
}

llvm::Value* FunctionLowering::Saturate(Value* v) {
  // NaN becomes +0: maximumnum prefers the number.
  Value* low = Binary(llvm::Intrinsic::maximumnum, v, Fp(v->getType(), 0.0));
  return Binary(llvm::Intrinsic::minimumnum, low, Fp(v->getType(), 1.0));
}

namespace {

// PTX's canonical NaN: 0x7fffffff, or 0x7fff for the halves.
llvm::Constant* CanonicalNan(llvm::Type* type) {
  const llvm::fltSemantics& format = type->getScalarType()->getFltSemantics();
  const llvm::APInt payload =
      llvm::APInt::getAllOnes(llvm::APFloat::semanticsPrecision(format) - 1);
  return llvm::ConstantFP::get(
      type, llvm::APFloat::getQNaN(format, /*Negative=*/false, &payload));
}

}  // namespace

llvm::Value* FunctionLowering::Relu(Value* v) {
  // Negative results become +0, NaN the canonical one.
  return b_.CreateSelect(
      b_.CreateFCmpUNO(v, v), CanonicalNan(v->getType()),
      Binary(llvm::Intrinsic::maximumnum, v, Fp(v->getType(), 0.0)));
}

void FunctionLowering::FpOut(Value* v) {
  // Where the hardware flushes this is to last: LLVM takes x * 1 for x. It
  // leaves nothing behind arithmetic that is still there.
  if (ftz()) v = Flush(v);
  if (mods().sat() == Sat::kOn) v = Saturate(v);
  if (mods().relu() == Relu::kOn) v = Relu(v);
  Out(v);
}

// `name` of the device library with the instruction's rounding, element by
// element. Only called for directed rounding of f32 and f64.
llvm::Value* FunctionLowering::FpArith(const char* name,
                                       llvm::ArrayRef<Value*> args) {
  llvm::Type* type = args[0]->getType();
  llvm::Type* scalar = type->getScalarType();
  const std::string full = std::string(name) + "_" + RoundingSuffix() +
                           (scalar->isDoubleTy() ? "_f64" : "_f32");
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return Dev(full, scalar, args);
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    std::vector<Value*> elements;
    for (Value* arg : args) {
      elements.push_back(b_.CreateExtractElement(arg, i));
    }
    result = b_.CreateInsertElement(result, Dev(full, scalar, elements), i);
  }
  return result;
}

// ---- add, sub, mul, fma -----------------------------------------------------

namespace {

// add.f32.f16 and friends: the second type is that of the narrow operands.
bool IsMixed(const InstForm& form) {
  return form.num_types == 2 && form.type(0) == Type::kF32;
}

}  // namespace

// PTX ISA, "Floating Point Instructions: add": without a rounding modifier,
// products and sums may become fused ones. nvcc leaves differences to that, and
// writes .rn where it is told not to fuse. bf16 has no fused product.
llvm::Value* FunctionLowering::Fusable(Value* v) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(v);
  if (instruction && mods().rounding() == Rounding::kNone &&
      !v->getType()->getScalarType()->isBFloatTy()) {
    instruction->setHasAllowContract(true);
  }
  return v;
}

void FunctionLowering::LowerFpAdd() {
  Value* a = IsMixed(form())
                 ? b_.CreateFPExt(Read(op(1), type(1)), b_.getFloatTy())
                 : FpIn(1);
  Value* b = FpIn(2);
  FpOut(RoundingSuffix().empty() ? Fusable(b_.CreateFAdd(a, b))
                                 : FpArith("add", {a, b}));
}

void FunctionLowering::LowerFpSub() {
  Value* a = IsMixed(form())
                 ? b_.CreateFPExt(Read(op(1), type(1)), b_.getFloatTy())
                 : FpIn(1);
  Value* b = FpIn(2);
  FpOut(RoundingSuffix().empty() ? Fusable(b_.CreateFSub(a, b))
                                 : FpArith("add", {a, b_.CreateFNeg(b)}));
}

void FunctionLowering::LowerFpMul() {
  Value* a = FpIn(1);
  Value* b = FpIn(2);
  FpOut(RoundingSuffix().empty() ? Fusable(b_.CreateFMul(a, b))
                                 : FpArith("mul", {a, b}));
}

void FunctionLowering::LowerFma() {
  Value* a = nullptr;
  Value* b = nullptr;
  if (IsMixed(form())) {
    a = b_.CreateFPExt(Read(op(1), type(1)), b_.getFloatTy());
    b = b_.CreateFPExt(Read(op(2), type(1)), b_.getFloatTy());
  } else {
    a = FpIn(1);
    b = FpIn(2);
  }
  Value* c = FpIn(3);
  Value* result = nullptr;
  llvm::Type* scalar = a->getType()->getScalarType();
  if (!RoundingSuffix().empty()) {
    result = FpArith("fma", {a, b, c});
  } else if (scalar->isBFloatTy()) {
    // There is no bf16 fma to round once with: sum up in f64, rounded to
    // odd so that the rounding to bf16 is the only one that shows.
    const auto one = [&](Value* x, Value* y, Value* z) {
      llvm::Type* f64 = b_.getDoubleTy();
      return b_.CreateFPTrunc(
          Dev("fma_odd_f64", f64,
              {b_.CreateFPExt(x, f64), b_.CreateFPExt(y, f64),
               b_.CreateFPExt(z, f64)}),
          b_.getBFloatTy());
    };
    if (a->getType()->isVectorTy()) {
      result = llvm::PoisonValue::get(a->getType());
      for (unsigned i = 0; i < 2; ++i) {
        result = b_.CreateInsertElement(
            result,
            one(b_.CreateExtractElement(a, i), b_.CreateExtractElement(b, i),
                b_.CreateExtractElement(c, i)),
            i);
      }
    } else {
      result = one(a, b, c);
    }
  } else {
    result = Intrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  }
  FpOut(result);
}

// ---- Division and roots -----------------------------------------------------

// The device library's function for a quotient rounded to nearest, which looks
// again at those that are far out (devlib/rounding.h); null where the divisor
// rules that out.
static const char* ExactDivision(const llvm::Value* b) {
  const bool f32 = b->getType()->isFloatTy();
  if (const auto* divisor = llvm::dyn_cast<llvm::ConstantFP>(b)) {
    const llvm::APFloat& value = divisor->getValueAPF();
    if (value.isFiniteNonZero() && llvm::ilogb(value) >= (f32 ? -60 : -120) &&
        llvm::ilogb(value) <= (f32 ? 124 : 1020)) {
      return nullptr;
    }
  }
  return f32 ? "div_f32" : "div_f64";
}

void FunctionLowering::LowerFpDiv() {
  if (mods().precision() == Precision::kApprox && ftz()) {
    // The reciprocal of a divisor above 2^126 is flushed to 0, so that the
    // quotient is 0, or NaN for infinities: just what PTX asks for.
    Value* reciprocal = Intrinsic(llvm::Intrinsic::amdgcn_rcp,
                                  {b_.getFloatTy()}, {Flush(In(2))});
    FpOut(b_.CreateFMul(Flush(In(1)), Flush(reciprocal)));
    return;
  }
  Value* a = FpIn(1);
  Value* b = FpIn(2);
  if (!RoundingSuffix().empty()) {
    FpOut(FpArith("div", {a, b}));
    return;
  }
  if (ftz()) {
    // The expanded division works with denormals, whatever the mode.
    a = Flush(a);
    b = Flush(b);
  }
  if (IsApprox() && ftz()) {
    // a * (1/b), as the manual defines it: 0 for b beyond 2^126.
    FpOut(b_.CreateFMul(
        a, Intrinsic(llvm::Intrinsic::amdgcn_rcp, {b->getType()}, {b})));
    return;
  }
  if (ftz()) {
    // The expansion of a division scales with exponents taken from the bits,
    // which no mode flushes.
    a = Flush(a);
    b = Flush(b);
  }
  const bool exact =
      mods().precision() == Precision::kNone || type() != Type::kF32;
  const char* function = exact ? ExactDivision(b) : nullptr;
  Value* quotient = function != nullptr ? Dev(function, a->getType(), {a, b})
                                        : b_.CreateFDiv(a, b);
  if (!exact) {
    // 2 ulp are allowed; the backend may use the reciprocal from 1 on.
    llvm::MDBuilder metadata(b_.getContext());
    auto* division = llvm::cast<llvm::Instruction>(quotient);
    division->setMetadata(llvm::LLVMContext::MD_fpmath,
                          metadata.createFPMath(2.0f));
    if (IsApprox()) {
      division->setMetadata(kByInverse, llvm::MDNode::get(b_.getContext(), {}));
    }
  }
  FpOut(ftz() ? Flush(quotient) : quotient);
}

void FunctionLowering::LowerRcp() {
  Value* a = FpIn(1);
  if (!RoundingSuffix().empty()) {
    FpOut(FpArith("div", {Fp(a->getType(), 1.0), a}));
    return;
  }
  Value* one = Fp(a->getType(), 1.0);
  if (IsApprox() && type() == Type::kF64) {
    // rcp.approx.ftz.f64 keeps the upper 32 bits only.
    Out(Dev("rcp_approx_f64", b_.getDoubleTy(), {a}));
    return;
  }
  if (IsApprox() && ftz()) {
    FpOut(Intrinsic(llvm::Intrinsic::amdgcn_rcp, {a->getType()}, {a}));
    return;
  }
  if (ftz()) a = Flush(a);
  const char* function = IsApprox() ? nullptr : ExactDivision(a);
  Value* quotient = function != nullptr ? Dev(function, a->getType(), {one, a})
                                        : b_.CreateFDiv(one, a);
  if (IsApprox()) {
    llvm::MDBuilder metadata(b_.getContext());
    llvm::cast<llvm::Instruction>(quotient)->setMetadata(
        llvm::LLVMContext::MD_fpmath, metadata.createFPMath(1.0f));
  }
  FpOut(ftz() ? Flush(quotient) : quotient);
}

void FunctionLowering::LowerSqrt() {
  Value* a = FpIn(1);
  if (!RoundingSuffix().empty()) {
    FpOut(FpArith("sqrt", {a}));
    return;
  }
  if (IsApprox() && ftz()) {
    FpOut(Intrinsic(llvm::Intrinsic::amdgcn_sqrt, {a->getType()}, {a}));
    return;
  }
  if (ftz()) a = Flush(a);
  Value* root = Unary(llvm::Intrinsic::sqrt, a);
  if (IsApprox()) {
    llvm::MDBuilder metadata(b_.getContext());
    llvm::cast<llvm::Instruction>(root)->setMetadata(
        llvm::LLVMContext::MD_fpmath, metadata.createFPMath(2.0f));
  }
  FpOut(root);
}

void FunctionLowering::LowerRsqrt() {
  Value* a = FpIn(1);
  if (type() == Type::kF64) {
    if (ftz()) {
      Value* subnormal = b_.createIsFPClass(a, llvm::fcSubnormal);
      a = b_.CreateSelect(
          subnormal,
          Binary(llvm::Intrinsic::copysign, Fp(a->getType(), 0.0), a), a);
    }
    // The form with .ftz takes subnormals for zero and keeps the upper 32
    // bits only.
    if (ftz()) a = FlushBits(a);
    Value* root =
        b_.CreateFDiv(Fp(a->getType(), 1.0), Unary(llvm::Intrinsic::sqrt, a));
    Out(ftz() ? Dev("upper_half_f64", b_.getDoubleTy(), {root}) : root);
    return;
  }
  if (ftz()) {
    FpOut(Intrinsic(llvm::Intrinsic::amdgcn_rsq, {a->getType()}, {a}));
    return;
  }
  // v_rsq_f32 takes subnormals for zero: scale by an even power of two.
  llvm::Type* f32 = b_.getFloatTy();
  Value* small = b_.CreateFCmpOLT(a, Fp(f32, 0x1p-126));
  if (auto* compare = llvm::dyn_cast<llvm::Instruction>(small)) {
    compare->setMetadata(kScalesSmall, llvm::MDNode::get(b_.getContext(), {}));
  }
  Value* root =
      Intrinsic(llvm::Intrinsic::amdgcn_rsq, {f32},
                {b_.CreateSelect(small, b_.CreateFMul(a, Fp(f32, 0x1p24)), a)});
  FpOut(b_.CreateSelect(small, b_.CreateFMul(root, Fp(f32, 0x1p12)), root));
}

// ---- Transcendental approximations ------------------------------------------

// V_SIN_F32 and V_COS_F32 take turns (AMD's manuals), up to 256 of them; PTX
// knows no bound.
llvm::Value* FunctionLowering::OfTurns(llvm::Intrinsic::ID id, Value* turns) {
  Value* part =
      Intrinsic(llvm::Intrinsic::amdgcn_fract, {turns->getType()}, {turns});
  return Intrinsic(id, {turns->getType()}, {part});
}

void FunctionLowering::LowerSin() {
  Value* a = FpIn(1);
  FpOut(mods().turns() == Turns::kOn ? OfTurns(llvm::Intrinsic::amdgcn_sin, a)
                                     : Unary(llvm::Intrinsic::sin, a));
}

void FunctionLowering::LowerCos() {
  Value* a = FpIn(1);
  FpOut(mods().turns() == Turns::kOn ? OfTurns(llvm::Intrinsic::amdgcn_cos, a)
                                     : Unary(llvm::Intrinsic::cos, a));
}

void FunctionLowering::LowerLg2() {
  Value* a = FpIn(1);
  FpOut(ftz() ? Intrinsic(llvm::Intrinsic::amdgcn_log, {a->getType()}, {a})
              : Unary(llvm::Intrinsic::log2, a));
}

void FunctionLowering::LowerEx2() {
  Value* a = FpIn(1);
  llvm::Type* type = a->getType();
  if (type->isFloatTy()) {
    FpOut(ftz() ? Intrinsic(llvm::Intrinsic::amdgcn_exp2, {type}, {a})
                : Unary(llvm::Intrinsic::exp2, a));
    return;
  }
  // The half formats have too few bits for f32's last place to matter.
  FpOut(Elementwise(a, [&](Value* v) {
    return b_.CreateFPTrunc(
        Unary(llvm::Intrinsic::exp2, b_.CreateFPExt(v, b_.getFloatTy())),
        type->getScalarType());
  }));
}

void FunctionLowering::LowerTanh() {
  Value* a = In(1);
  llvm::Type* scalar = a->getType()->getScalarType();
  Out(Elementwise(a, [&](Value* v) {
    Value* wide = scalar->isFloatTy() ? v : b_.CreateFPExt(v, b_.getFloatTy());
    Value* result = Dev("tanh_f32", b_.getFloatTy(), {wide});
    return scalar->isFloatTy() ? result : b_.CreateFPTrunc(result, scalar);
  }));
}

// ---- Signs, minima, classes -------------------------------------------------

void FunctionLowering::LowerFpAbs() {
  Value* a = In(1);
  Out(Unary(llvm::Intrinsic::fabs, ftz() ? Flush(a) : a));
}

void FunctionLowering::LowerFpNeg() {
  Value* a = In(1);
  Out(b_.CreateFNeg(ftz() ? Flush(a) : a));
}

void FunctionLowering::LowerCopysign() {
  // The sign of a, the value of b.
  Out(Binary(llvm::Intrinsic::copysign, In(2), In(1)));
}

llvm::Value* FunctionLowering::MinMax(Value* a, Value* b, bool is_max) {
  // -0 is less than +0. One NaN is ignored, signaling or not.
  if (mods().propagate_nan() != Nan::kOn) {
    return Binary(
        is_max ? llvm::Intrinsic::maximumnum : llvm::Intrinsic::minimumnum, a,
        b);
  }
  Value* nan = CanonicalNan(a->getType());
  if (TargetHas("ieee-minimum-maximum-insts")) {
    Value* either = Binary(
        is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
    return b_.CreateSelect(b_.CreateFCmpUNO(either, either), nan, either);
  }
  Value* number = Binary(
      is_max ? llvm::Intrinsic::maximumnum : llvm::Intrinsic::minimumnum, a, b);
  return b_.CreateSelect(b_.CreateFCmpUNO(a, b), nan, number);
}

void FunctionLowering::LowerFpMinMax() {
  const bool is_max = form().opcode() == Opcode::kMax;
  const bool xorsign = mods().xorsign() == XorSign::kOn;
  const bool abs = xorsign || mods().abs() == Abs::kOn;
  Value* sign = nullptr;
  Value* result = nullptr;
  llvm::Type* bits = nullptr;
  for (int i = 1; i < num_operands(); ++i) {
    Value* v = In(i);
    if (ftz()) v = Flush(v);
    if (xorsign) {
      bits =
          v->getType()->isVectorTy()
              ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(
                    Int(static_cast<unsigned>(
                        v->getType()->getScalarSizeInBits())),
                    2))
              : Int(static_cast<unsigned>(v->getType()->getScalarSizeInBits()));
      Value* raw = b_.CreateBitCast(v, bits);
      sign = sign ? b_.CreateXor(sign, raw) : raw;
    }
    if (abs) v = Unary(llvm::Intrinsic::fabs, v);
    // LLVM turns two minima into one v_min3, which in IEEE mode makes a NaN
    // of a signaling NaN where PTX ignores it.
    if (num_operands() > 3) v = Unary(llvm::Intrinsic::canonicalize, v);
    result = result ? MinMax(result, v, is_max) : v;
  }
  if (xorsign) {
    Value* number = Binary(llvm::Intrinsic::copysign, result,
                           b_.CreateBitCast(sign, result->getType()));
    // .xorsign leaves the canonical NaN alone.
    result =
        mods().propagate_nan() == Nan::kOn
            ? b_.CreateSelect(b_.CreateFCmpUNO(result, result), result, number)
            : number;
  }
  Out(result);
}

void FunctionLowering::LowerTestp() {
  Value* a = Read(op(1), type());
  unsigned mask = 0;
  switch (mods().test()) {
    case Test::kFinite: mask = llvm::fcFinite; break;
    case Test::kInfinite: mask = llvm::fcInf; break;
    case Test::kNumber: mask = llvm::fcFinite | llvm::fcInf; break;
    case Test::kNotANumber: mask = llvm::fcNan; break;
    // PTX ISA, "testp": zeros are considered normal numbers.
    case Test::kNormal: mask = llvm::fcNormal | llvm::fcZero; break;
    default: mask = llvm::fcSubnormal; break;
  }
  Write(op(0), b_.createIsFPClass(a, mask), Type::kPred);
}

}  // namespace cerberus::ptx
