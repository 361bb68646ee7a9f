// Branches, calls, and the ways a thread ends.
#include <fmt/format.h>

#include <algorithm>

#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "ptxc/lower/lower.h"
#include "support/demangle.h"

namespace cerberus::ptx {

void FunctionLowering::LowerBra() {
  const Operand& target = op(0);
  if (target.kind != OperandKind::kLabel) {
    Fail("the target is not a label");
    return;
  }
  b_.CreateBr(BlockOfLabel(target.index));
}

void FunctionLowering::LowerBrxIdx() {
  // brx.idx index, targets: an index out of range is undefined.
  Value* index = Read(op(0), Type::kU32);
  const Operand& list = op(1);
  const Prototype* targets = nullptr;
  if (list.kind == OperandKind::kPrototype) {
    targets = &ptx_.prototypes[list.index];
  }
  if (!targets || targets->targets.empty()) {
    Fail("the list of branch targets is missing");
    return;
  }
  const std::vector<std::uint32_t>& labels = targets->targets;
  llvm::SwitchInst* jump = b_.CreateSwitch(
      index, BlockOfLabel(labels.back()), static_cast<unsigned>(labels.size()));
  for (std::size_t i = 0; i + 1 < labels.size(); ++i) {
    jump->addCase(b_.getInt32(static_cast<std::uint32_t>(i)),
                  BlockOfLabel(labels[i]));
  }
}

void FunctionLowering::EmitReturn() {
  LeaveBarriers();
  LeaveCluster();
  llvm::Type* type = function_->getReturnType();
  if (type->isVoidTy()) {
    b_.CreateRetVoid();
    return;
  }
  std::vector<Value*> values;
  const FunctionState& state = module_.state(id_);
  if (state.may_exit) values.push_back(b_.getFalse());
  for (std::uint32_t id : ptx_.returns) {
    llvm::Type* part = module_.ParamType(ptx_module_.variables[id]);
    const std::uint32_t reg = RegisterOf(id);
    if (reg == kNoId) {
      values.push_back(b_.CreateLoad(part, LocalStorage(id)));
    } else if (llvm::AllocaInst* vector = VectorStorage(reg)) {
      values.push_back(b_.CreateAlignedLoad(part, vector, vector->getAlign()));
    } else {
      values.push_back(
          FromInt(AsInt(LoadRegister(reg, Component::kWhole)), part));
    }
  }
  if (values.size() == 1) {
    b_.CreateRet(values[0]);
    return;
  }
  Value* all = llvm::PoisonValue::get(type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    all = b_.CreateInsertValue(all, values[i], static_cast<unsigned>(i));
  }
  b_.CreateRet(all);
}

void FunctionLowering::LowerRet() { EmitReturn(); }

// Ends this lane, not the wave: a kernel returns, a device function returns
// with a flag that makes its callers return too.
void FunctionLowering::EmitExit() {
  LeaveBarriers();
  LeaveCluster();
  if (ptx_.is_entry) {
    b_.CreateRetVoid();
    return;
  }
  llvm::Type* type = function_->getReturnType();
  if (type->isIntegerTy(1)) {
    b_.CreateRet(b_.getTrue());
    return;
  }
  b_.CreateRet(
      b_.CreateInsertValue(llvm::PoisonValue::get(type), b_.getTrue(), 0));
}

void FunctionLowering::LowerExit() { EmitExit(); }

void FunctionLowering::LeaveIf(Value* exited) {
  llvm::BasicBlock* leave = NewBlock("leave");
  llvm::BasicBlock* stay = NewBlock("stay");
  b_.CreateCondBr(exited, leave, stay);
  b_.SetInsertPoint(leave);
  EmitExit();
  b_.SetInsertPoint(stay);
}

void FunctionLowering::LowerBrkpt() {
  // Without a debugger a breakpoint is passed over.
}

void FunctionLowering::LowerNanosleep() {
  // s_sleep counts in 64 clocks; its operand is a constant, so the wait is
  // one short step: PTX allows any time from 0 to twice the one asked for.
  Intrinsic(llvm::Intrinsic::amdgcn_s_sleep, {}, {I32(1)});
}

// ---- call -------------------------------------------------------------------

// Vector registers are passed as their bytes.
llvm::AllocaInst* FunctionLowering::VectorStorage(std::uint32_t reg) {
  if (ptx_.registers[reg].vector <= 1) return nullptr;
  return llvm::cast<llvm::AllocaInst>(Slot(reg, Component::kWhole));
}

llvm::AllocaInst* FunctionLowering::VectorStorage(const Operand& operand) {
  return operand.kind == OperandKind::kRegister &&
                 operand.part == Component::kWhole
             ? VectorStorage(operand.index)
             : nullptr;
}

void FunctionLowering::WritePassed(const Operand& to, Value* value, Type type) {
  if (llvm::AllocaInst* vector = VectorStorage(to)) {
    b_.CreateAlignedStore(value, vector, vector->getAlign());
  } else {
    Write(to, value, type);
  }
}

llvm::Value* FunctionLowering::CallArgument(const Operand& operand,
                                            std::uint32_t param,
                                            llvm::Type* type) {
  // A .param variable passes its bytes, anything else its value.
  if (operand.kind == OperandKind::kVariable) {
    const VarSpace space = ptx_module_.variables[operand.index].space;
    if (space == VarSpace::kParam && type->isPointerTy()) {
      return LocalStorage(operand.index);
    }
    if (space == VarSpace::kParam || space == VarSpace::kReg) {
      return b_.CreateLoad(type, LocalStorage(operand.index));
    }
  }
  if (llvm::AllocaInst* vector = VectorStorage(operand)) {
    return b_.CreateAlignedLoad(type, vector, vector->getAlign());
  }
  Type t = ptx_module_.variables[param].type;
  if (t == Type::kF16) t = Type::kB16;
  Value* value = AsInt(Read(operand, t));
  if (!type->isIntegerTy()) {
    Fail("an array argument must be a .param variable");
    return llvm::PoisonValue::get(type);
  }
  return b_.CreateZExtOrTrunc(value, type);
}

// A function by its name. False if it was compiled as a service, or failed.
bool FunctionLowering::DirectCallee(const Operand& callee, Callee* to) {
  const std::uint32_t id = callee.index;
  const Function& function = ptx_module_.functions[id];
  if (!module_.FunctionDefinition(id).has_body) {
    if (!CallService(id)) {
      Fail(fmt::format("'{}' is declared but defined nowhere",
                       Demangle(function.name)));
    }
    return false;
  }
  to->returns = &function.returns;
  to->params = &function.params;
  llvm::Function* lowered = module_.FunctionOf(id);
  to->target = lowered;
  to->signature = lowered->getFunctionType();
  to->may_exit = module_.state(id).may_exit;
  to->returned = module_.FunctionDefinition(id).returns.size();
  const llvm::FunctionType* declared =
      module_.SignatureOf(*to->returns, *to->params, to->may_exit);
  // Only one of declaration and definition may return something, as for
  // nvlink: numba declares C's void functions as returning a word.
  if (declared != to->signature &&
      (declared->params() != to->signature->params() ||
       (!to->returns->empty() && to->returned != 0))) {
    Fail(fmt::format("'{}' is declared otherwise than it is defined",
                     Demangle(function.name)));
    return false;
  }
  return true;
}

// A function by its address, whose signature stands behind the arguments.
bool FunctionLowering::IndirectCallee(const Operand& callee, Callee* to) {
  const Operand& list = op(3);
  const Prototype* prototype = nullptr;
  if (list.kind == OperandKind::kPrototype) {
    prototype = &ptx_.prototypes[list.index];
  }
  if (!prototype) {
    Fail("an indirect call needs a prototype");
    return false;
  }
  if (prototype->kind == Prototype::Kind::kCallTargets) {
    if (prototype->targets.empty()) {
      Fail("the list of call targets is empty");
      return false;
    }
    const Function& first = ptx_module_.functions[prototype->targets[0]];
    to->returns = &first.returns;
    to->params = &first.params;
  } else {
    to->returns = &prototype->returns;
    to->params = &prototype->params;
  }
  to->may_exit = module_.ExitsThroughPointers();
  to->signature = module_.SignatureOf(*to->returns, *to->params, to->may_exit);
  to->returned = to->returns->size();
  to->target =
      b_.CreateIntToPtr(Read(callee, Type::kU64),
                        llvm::PointerType::get(b_.getContext(), kAsGeneric));
  return true;
}

void FunctionLowering::LowerCall() {
  const Operand& results = op(0);
  const Operand& arguments = op(2);
  Callee callee;
  if (!(op(1).kind == OperandKind::kFunction
            ? DirectCallee(op(1), &callee)
            : IndirectCallee(op(1), &callee))) {
    return;
  }
  const unsigned given =
      arguments.kind == OperandKind::kList ? arguments.count : 0;
  if (given != callee.signature->getNumParams()) {
    Fail(fmt::format("{} arguments given, {} expected", given,
                     callee.signature->getNumParams()));
    return;
  }
  std::vector<Value*> args;
  args.reserve(given);
  for (unsigned i = 0; i < given; ++i) {
    args.push_back(CallArgument(child(arguments, i), (*callee.params)[i],
                                callee.signature->getParamType(i)));
  }
  llvm::CallInst* call = b_.CreateCall(callee.signature, callee.target, args);
  call->setConvergent();
  call->setDoesNotThrow();
  Value* value = call;
  const unsigned hidden = callee.may_exit ? 1 : 0;
  const bool several = callee.returned + hidden > 1;
  if (callee.may_exit)
    LeaveIf(several ? b_.CreateExtractValue(value, 0) : value);
  if (results.kind != OperandKind::kList) return;
  const std::size_t taken = std::min(callee.returned, callee.returns->size());
  for (unsigned i = 0; i < results.count && i < taken; ++i) {
    const Operand& to = child(results, i);
    Value* part = several ? b_.CreateExtractValue(value, i + hidden) : value;
    if (to.kind == OperandKind::kVariable) {
      b_.CreateStore(part, LocalStorage(to.index));
    } else {
      WritePassed(to, part, ptx_module_.variables[(*callee.returns)[i]].type);
    }
  }
}

}  // namespace cerberus::ptx
