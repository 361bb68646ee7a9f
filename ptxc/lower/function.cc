// One function body: its blocks, its guards, and the dispatch from a row of
// ptx_opcodes.def to the method that lowers it.
#include <fmt/format.h>

#include "ptxc/lower/lower.h"

namespace cerberus::ptx {
namespace {

using LoweringMethod = void (FunctionLowering::*)();

// By OpcodeRow::index.
constexpr LoweringMethod kMethods[] = {
#define PTX_OP(id, syntax, operands, ptx, sm, lowering, notes) \
  &FunctionLowering::lowering,
#include "ptxc/front/ptx_opcodes.def"
};

}  // namespace

FunctionLowering::FunctionLowering(ModuleLowering& module, std::uint32_t id)
    : module_(module),
      ptx_module_(module.ptx()),
      ptx_(module.ptx().functions[id]),
      id_(id),
      function_(module.FunctionOf(id)),
      b_(module.context()),
      slots_(ptx_.registers.size()),
      blocks_(ptx_.labels.size()),
      flush_f32_(module.state(id).flush_f32) {}

bool FunctionLowering::Run() {
  b_.SetCurrentDebugLocation(module_.debug_info().Begin(ptx_, *function_));
  CreateEntry();
  CreateBlocks();
  // Labels are sorted by position; several may stand before one instruction.
  std::size_t next_label = 0;
  const std::size_t count = ptx_.instructions.size();
  for (std::size_t i = 0; i <= count; ++i) {
    while (next_label < ptx_.labels.size() &&
           ptx_.labels[next_label].position == i) {
      llvm::BasicBlock* block = blocks_[next_label++];
      if (!Terminated()) b_.CreateBr(block);
      b_.SetInsertPoint(block);
    }
    if (i < count && !Terminated()) LowerInstruction(ptx_.instructions[i]);
  }
  inst_ = nullptr;
  // Falling off the end is a return.
  if (!Terminated()) EmitReturn();
  for (llvm::BasicBlock& block : *function_) {
    if (!block.getTerminator())
      new llvm::UnreachableInst(b_.getContext(), &block);
  }
  alloca_point_->eraseFromParent();
  return !failed_;
}

void FunctionLowering::CreateEntry() {
  llvm::BasicBlock* entry =
      llvm::BasicBlock::Create(b_.getContext(), "entry", function_);
  b_.SetInsertPoint(entry);
  // Allocas go in front of this one, which is dropped at the end.
  alloca_point_ = b_.CreateAlloca(b_.getInt8Ty(), kAsLocal, nullptr, "here");
  for (std::size_t i = 0; i < ptx_.params.size(); ++i) {
    llvm::Argument* argument = function_->getArg(static_cast<unsigned>(i));
    const std::uint32_t variable = ptx_.params[i];
    if (ptx_.is_entry || ptx_module_.variables[variable].is_open()) {
      // Lies in the kernarg segment, or with the caller: read in place.
      locals_.emplace_back(variable, argument);
    } else if (const std::uint32_t reg = RegisterOf(variable); reg != kNoId) {
      Operand to;
      to.kind = OperandKind::kRegister;
      to.index = reg;
      WritePassed(to, argument, ptx_module_.variables[variable].type);
    } else {
      b_.CreateStore(argument, LocalStorage(variable));
    }
  }
  if (ptx_.is_entry) ClearOwnShared();
}

// A parameter or return value declared .reg is a register of the function.
std::uint32_t FunctionLowering::RegisterOf(std::uint32_t variable) const {
  const Variable& declared = ptx_module_.variables[variable];
  if (declared.space != VarSpace::kReg) return kNoId;
  for (const RegisterDecl& decl : ptx_.register_decls) {
    if (decl.name == declared.name) return decl.first;
  }
  return kNoId;
}

void FunctionLowering::CreateBlocks() {
  for (std::size_t i = 0; i < ptx_.labels.size(); ++i) {
    blocks_[i] = llvm::BasicBlock::Create(
        b_.getContext(), std::string(ptx_.labels[i].name), function_);
  }
}

llvm::BasicBlock* FunctionLowering::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, function_);
}

llvm::BasicBlock* FunctionLowering::BlockOfLabel(std::uint32_t label) {
  return blocks_[label];
}

bool FunctionLowering::Terminated() const {
  return b_.GetInsertBlock()->getTerminator() != nullptr;
}

void FunctionLowering::LowerInstruction(const Instruction& inst) {
  inst_ = &inst;
  inst_failed_ = false;
  if (const llvm::DebugLoc at = module_.debug_info().At(inst.loc, *function_)) {
    b_.SetCurrentDebugLocation(at);
  }
  if (!inst.form) {
    Fail("unknown instruction");
    return;
  }
  llvm::BasicBlock* behind = nullptr;
  if (inst.guard != kNoId) {
    Value* guard = LoadRegister(inst.guard, Component::kWhole);
    llvm::BasicBlock* guarded = NewBlock("guarded");
    behind = NewBlock("behind");
    if (inst.guard_negated) {
      b_.CreateCondBr(guard, behind, guarded);
    } else {
      b_.CreateCondBr(guard, guarded, behind);
    }
    b_.SetInsertPoint(guarded);
  }
  (this->*kMethods[inst.form->row->index])();
  if (behind) {
    if (!Terminated()) b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
  }
}

void FunctionLowering::Fail(std::string why) {
  failed_ = true;
  if (inst_failed_) return;
  inst_failed_ = true;
  const std::string spelling =
      inst_->form ? std::string(inst_->form->spelling) : "?";
  Where where = module_.WhereOf(&ptx_, inst_->offset, inst_->loc);
  FunctionState& state = module_.state(id_);
  const std::string message = fmt::format("'{}': {}", spelling, why);
  if (state.reason.empty()) {
    state.reason =
        fmt::format("ptx:{}:{}: {}", where.ptx_line, where.ptx_column, message);
  }
  module_.Report(
      MakeDiag(DiagCode::kUnsupportedPtx, std::move(where), message));
}

void FunctionLowering::FailUnsupported(std::string_view why) {
  Fail(why.empty() ? std::string("is not supported")
                   : fmt::format("is not supported: {}", why));
}

void FunctionLowering::Unsupported() { FailUnsupported(form().row->notes); }

}  // namespace cerberus::ptx
