// Atomics and fences. Scope and order map one to one onto LLVM's, so that
// the backend emits what AMD's memory model asks for on each target.
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {
namespace {

llvm::AtomicOrdering OrderOf(Sem sem) {
  switch (sem) {
    case Sem::kAcquire: return llvm::AtomicOrdering::Acquire;
    case Sem::kRelease: return llvm::AtomicOrdering::Release;
    case Sem::kAcqRel: return llvm::AtomicOrdering::AcquireRelease;
    default: return llvm::AtomicOrdering::Monotonic;
  }
}

bool IsFloating(Type t) {
  switch (KindOf(t)) {
    case TypeKind::kFloat:
    case TypeKind::kPackedFloat:
    case TypeKind::kAltFloat: return true;
    default: return false;
  }
}

llvm::AtomicRMWInst::BinOp OperationOf(Op op, Type t) {
  using Rmw = llvm::AtomicRMWInst;
  const bool fp = IsFloating(t);
  switch (op) {
    case Op::kAnd: return Rmw::And;
    case Op::kOr: return Rmw::Or;
    case Op::kXor: return Rmw::Xor;
    case Op::kExch: return Rmw::Xchg;
    case Op::kAdd: return fp ? Rmw::FAdd : Rmw::Add;
    case Op::kMin: return fp ? Rmw::FMin : IsSigned(t) ? Rmw::Min : Rmw::UMin;
    case Op::kMax: return fp ? Rmw::FMax : IsSigned(t) ? Rmw::Max : Rmw::UMax;
    case Op::kInc:
      // PTX: old >= b ? 0 : old + 1, as uinc_wrap.
      return Rmw::UIncWrap;
    case Op::kDec: return Rmw::UDecWrap;
    default: return Rmw::BAD_BINOP;
  }
}

}  // namespace

llvm::Value* FunctionLowering::AtomicOp(Value* pointer, Value* a, Value* b,
                                        Type t) {
  return AtomicOp(pointer, a, b, t, OrderOf(mods().sem()));
}

llvm::Value* FunctionLowering::AtomicOp(Value* pointer, Value* a, Value* b,
                                        Type t, llvm::AtomicOrdering order) {
  const llvm::SyncScope::ID scope = AccessScope();
  const unsigned bytes = static_cast<unsigned>(BytesOf(t));
  const llvm::MaybeAlign align(bytes);
  if (mods().op() == Op::kCas) {
    llvm::AtomicCmpXchgInst* exchange = b_.CreateAtomicCmpXchg(
        pointer, AsInt(a), AsInt(b), align, order,
        llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
    return b_.CreateExtractValue(exchange, 0);
  }
  const llvm::AtomicRMWInst::BinOp operation = OperationOf(mods().op(), t);
  if (operation == llvm::AtomicRMWInst::BAD_BINOP) {
    Fail("this atomic operation is not supported");
    return llvm::PoisonValue::get(a->getType());
  }
  return b_.CreateAtomicRMW(operation, pointer, a, align, order, scope);
}

void FunctionLowering::AtomLike(bool reduction) {
  const Type t = type(num_types() - 1);
  const int address = reduction ? 0 : 1;
  const Space space = mods().space();
  const Pointer at = Address(op(address), space);
  const Operand& operand = op(address + 1);
  const bool cas = mods().op() == Op::kCas;
  if (t == Type::kB128) {
    // No target compares 16 bytes at once: a lock in device memory guards
    // them (devlib), which plain accesses do not see.
    Value* generic = b_.CreateAddrSpaceCast(
        at.pointer, llvm::PointerType::get(b_.getContext(), kAsGeneric));
    Value* a = Read(operand, t);
    Value* b = cas ? Read(op(address + 2), t) : a;
    const auto half = [&](Value* v, unsigned i) {
      return b_.CreateTrunc(b_.CreateLShr(v, 64 * i), b_.getInt64Ty());
    };
    Value* result =
        Dev("atomic_b128", llvm::FixedVectorType::get(b_.getInt64Ty(), 2),
            {generic, half(a, 0), half(a, 1), half(b, 0), half(b, 1),
             I32(cas ? 1 : 0)});
    if (!reduction) Write(op(0), AsInt(result), t);
    return;
  }
  const unsigned width = static_cast<unsigned>(mods().vector_width());
  if (width == 1) {
    Value* a = Read(operand, t);
    Value* b = cas ? Read(op(address + 2), t) : nullptr;
    Value* old = AtomicOp(at.pointer, a, b, t);
    if (!reduction) Write(op(0), old, t);
    return;
  }
  // A vector is that many atomics, in no order among each other.
  for (unsigned i = 0; i < width; ++i) {
    Value* pointer = b_.CreateConstGEP1_32(
        b_.getInt8Ty(), at.pointer, i * static_cast<unsigned>(BytesOf(t)));
    Value* old = AtomicOp(pointer, Read(child(operand, i), t), nullptr, t);
    if (!reduction && op(0).kind == OperandKind::kVector) {
      Write(child(op(0), i), old, t);
    }
  }
}

void FunctionLowering::LowerAtom() { AtomLike(false); }
void FunctionLowering::LowerRed() { AtomLike(true); }

void FunctionLowering::LowerMembar() {
  // membar.level is fence.sc at that scope.
  const llvm::SyncScope::ID scope =
      mods().level() == Level::kGl     ? SyncScope(Scope::kGpu)
      : mods().scope() == Scope::kNone ? SyncScope(Scope::kGpu)
                                       : SyncScope(mods().scope());
  Fence(llvm::AtomicOrdering::SequentiallyConsistent, scope);
}

void FunctionLowering::LowerFence() {
  llvm::AtomicOrdering order = llvm::AtomicOrdering::AcquireRelease;
  switch (mods().sem()) {
    case Sem::kSc: order = llvm::AtomicOrdering::SequentiallyConsistent; break;
    case Sem::kAcquire: order = llvm::AtomicOrdering::Acquire; break;
    case Sem::kRelease: order = llvm::AtomicOrdering::Release; break;
    default: break;
  }
  Fence(order, SyncScope(mods().scope()));
}

// There is one path to memory here, so what PTX calls proxies are ordered by
// an ordinary fence.
void FunctionLowering::LowerFenceProxy() {
  Fence(llvm::AtomicOrdering::AcquireRelease, mods().scope() == Scope::kNone
                                                  ? SyncScope(Scope::kGpu)
                                                  : SyncScope(mods().scope()));
}

}  // namespace cerberus::ptx
