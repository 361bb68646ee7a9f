// Runs when device functions are inlined and registers are values: every use
// of shared memory then is a pointer of LDS's address space in the kernel
// itself. In a copy of the kernel these become pointers of global memory.
#include "ptxc/passes/shared_window.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "formats/kernel_forms.h"
#include "formats/launch_abi.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "ptxc/address_spaces.h"
#include "ptxc/passes/lanes/waves.h"
#include "ptxc/passes/launch_block.h"

namespace cerberus::ptx {
namespace {

using llvm::Constant;
using llvm::Function;
using llvm::GlobalVariable;
using llvm::Instruction;
using llvm::Value;

// All dynamic arrays start at a multiple of this (docs/launch-abi.md).
constexpr std::uint64_t kDynamicAlign = 16;

bool IsShared(const llvm::Type* type) {
  return type->isPointerTy() && type->getPointerAddressSpace() == kAsShared;
}

bool IsSharedVariable(const Value* value) {
  return llvm::isa<GlobalVariable>(value) && IsShared(value->getType());
}

// Counters of named barriers and the like (lower/warp.cc).
bool IsCompilersOwn(const Value* value) {
  return IsSharedVariable(value) && value->getName().starts_with("__cerberus_");
}

std::uint64_t SizeOf(const GlobalVariable& variable) {
  return variable.getDataLayout().getTypeAllocSize(variable.getValueType());
}

// A kernel and, behind it, what it calls directly, and so on.
std::vector<const Function*> CallTree(const Function& kernel) {
  std::vector<const Function*> tree = {&kernel};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    for (const Instruction& instruction : llvm::instructions(*tree[i])) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const Function* callee = call ? call->getCalledFunction() : nullptr;
      if (callee && !callee->isDeclaration() &&
          !llvm::is_contained(tree, callee)) {
        tree.push_back(callee);
      }
    }
  }
  return tree;
}

// The variables in shared memory that functions name.
class UsedVariables {
 public:
  explicit UsedVariables(llvm::ArrayRef<const Function*> functions) {
    for (const Function* function : functions) {
      for (const Instruction& instruction : llvm::instructions(*function)) {
        for (const Value* operand : instruction.operands()) Visit(operand);
      }
    }
  }
  bool Has(const GlobalVariable& variable) const {
    return seen_.contains(&variable);
  }

 private:
  void Visit(const Value* value) {
    const auto* constant = llvm::dyn_cast<Constant>(value);
    if (!constant || !seen_.insert(constant).second ||
        llvm::isa<llvm::GlobalValue>(constant)) {
      return;
    }
    for (const Value* operand : constant->operands()) Visit(operand);
  }

  llvm::DenseSet<const Constant*> seen_;
};

// Where a kernel's variables lie in its window, as they would in LDS.
struct WindowLayout {
  explicit WindowLayout(const Function& kernel) {
    const UsedVariables used(CallTree(kernel));
    std::uint64_t dynamic_align = kDynamicAlign;
    std::vector<const GlobalVariable*> dynamic;
    for (const GlobalVariable& variable : kernel.getParent()->globals()) {
      if (!IsSharedVariable(&variable) || !used.Has(variable)) continue;
      const std::uint64_t align = variable.getAlign().valueOrOne().value();
      if (IsCompilersOwn(&variable)) {
        own_bytes = llvm::alignTo(own_bytes, align) + SizeOf(variable);
      } else if (variable.isDeclaration()) {
        dynamic.push_back(&variable);
        dynamic_align = std::max(dynamic_align, align);
      } else {
        const std::uint64_t at = llvm::alignTo(static_bytes, align);
        offsets[&variable] = at;
        static_bytes = at + SizeOf(variable);
      }
    }
    has_dynamic = !dynamic.empty();
    if (!has_dynamic) return;
    static_bytes = llvm::alignTo(static_bytes, dynamic_align);
    for (const GlobalVariable* variable : dynamic) {
      offsets[variable] = static_bytes;
    }
  }

  llvm::DenseMap<const GlobalVariable*, std::uint64_t> offsets;
  std::uint64_t static_bytes = 0;
  std::uint64_t own_bytes = 0;  // stay in LDS
  bool has_dynamic = false;
};

// The kernel once more, with the window's description among its arguments.
Function* CopyKernel(Function& kernel) {
  llvm::LLVMContext& context = kernel.getContext();
  const unsigned launch_block = kernel.arg_size() - 1;
  std::vector<llvm::Type*> types(kernel.getFunctionType()->param_begin(),
                                 kernel.getFunctionType()->param_end());
  types.insert(types.begin() + launch_block, types.back());
  Function* copy = Function::Create(
      llvm::FunctionType::get(kernel.getReturnType(), types, false),
      kernel.getLinkage(), kernel.getAddressSpace(),
      kernel.getName() + formats::kWindowSuffix, kernel.getParent());
  llvm::ValueToValueMapTy map;
  for (llvm::Argument& argument : kernel.args()) {
    const unsigned at = argument.getArgNo();
    llvm::Argument* mapped = copy->getArg(at + (at == launch_block ? 1 : 0));
    mapped->setName(argument.getName());
    map[&argument] = mapped;
  }
  llvm::SmallVector<llvm::ReturnInst*, 4> returns;
  llvm::CloneFunctionInto(copy, &kernel, map,
                          llvm::CloneFunctionChangeType::LocalChangesOnly,
                          returns);
  copy->setCallingConv(kernel.getCallingConv());
  copy->setVisibility(kernel.getVisibility());
  llvm::Argument* window = copy->getArg(launch_block);
  window->setName(formats::kWindowBlockName);
  llvm::AttrBuilder attributes(context);
  attributes.addByRefAttr(
      llvm::ArrayType::get(llvm::Type::getInt8Ty(context), kWindowBlockBytes));
  attributes.addAlignmentAttr(8);
  window->addAttrs(attributes);
  return copy;
}

// Makes LDS pointers of one kernel pointers into the block's window.
class Rewriter {
 public:
  Rewriter(Function& kernel, const WindowLayout& layout)
      : kernel_(kernel),
        layout_(layout),
        b_(&*kernel.getEntryBlock().getFirstNonPHIOrDbgOrAlloca()),
        start_(b_.GetInsertPoint()),
        pointer_(llvm::PointerType::get(kernel.getContext(), kAsGlobal)) {}

  // False if there is something that only LDS can do.
  bool Run() {
    LoadWindow();
    std::vector<Instruction*> instructions;
    for (Instruction& instruction : llvm::instructions(kernel_)) {
      instructions.push_back(&instruction);
    }
    // Expressions of constants become instructions, behind the window's.
    for (Instruction* instruction : instructions) ExpandConstants(*instruction);
    instructions.insert(instructions.end(), expanded_.begin(), expanded_.end());
    MarkOwn(instructions);
    std::vector<Instruction*> concerned;
    for (Instruction* instruction : instructions) {
      if (Concerns(*instruction)) concerned.push_back(instruction);
    }
    for (Instruction* instruction : concerned) {
      if (!CanMove(*instruction)) return false;
    }
    for (Instruction* instruction : concerned) {
      if (InWindow(instruction)) instruction->mutateType(pointer_);
      for (llvm::Use& operand : instruction->operands()) {
        if (llvm::isa<Constant>(operand) && InWindow(operand)) {
          operand.set(PlaceOf(*llvm::cast<Constant>(operand)));
        }
      }
    }
    for (Instruction* instruction : concerned) Rewrite(*instruction);
    return true;
  }

 private:
  // The block's window: the grid's memory, and in it the place of the block's
  // number.
  void LoadWindow() {
    const unsigned argument = kernel_.arg_size() - 2;
    const auto load = [&](Value* base, unsigned offset, unsigned bits) {
      llvm::LoadInst* value = b_.CreateAlignedLoad(
          b_.getIntNTy(bits),
          b_.CreateConstGEP1_32(b_.getInt8Ty(), base, offset),
          llvm::Align(bits / 8));
      value->setMetadata(llvm::LLVMContext::MD_invariant_load,
                         llvm::MDNode::get(b_.getContext(), {}));
      return value;
    };
    const auto intrinsic = [&](llvm::Intrinsic::ID id) -> Value* {
      return b_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(),
                                llvm::ArrayRef<Value*>());
    };
    Value* window = kernel_.getArg(argument);
    Value* memory = load(window, kWindowAddress, 64);
    size_ = b_.CreateZExt(load(window, kWindowBytes, 32), b_.getInt64Ty());
    // hidden_block_count_x and _y.
    Value* hidden = intrinsic(llvm::Intrinsic::amdgcn_implicitarg_ptr);
    Value* row = b_.CreateAdd(
        b_.CreateMul(intrinsic(llvm::Intrinsic::amdgcn_workgroup_id_z),
                     load(hidden, 4, 32)),
        intrinsic(llvm::Intrinsic::amdgcn_workgroup_id_y));
    Value* block = b_.CreateAdd(
        b_.CreateMul(b_.CreateZExt(row, b_.getInt64Ty()),
                     b_.CreateZExt(load(hidden, 0, 32), b_.getInt64Ty())),
        b_.CreateZExt(intrinsic(llvm::Intrinsic::amdgcn_workgroup_id_x),
                      b_.getInt64Ty()));
    base_number_ = b_.CreateAdd(memory, b_.CreateMul(block, size_));
    base_ = b_.CreateIntToPtr(base_number_, pointer_, "window");
  }

  // ---- What lies in the window ----

  bool IsOwn(const Value* value) const {
    return IsCompilersOwn(value) || own_.contains(value);
  }
  bool InWindow(const Value* value) const {
    return IsShared(value->getType()) && !IsOwn(value);
  }

  void MarkOwn(const std::vector<Instruction*>& instructions) {
    for (bool changed = true; changed;) {
      changed = false;
      for (Instruction* instruction : instructions) {
        if (!IsShared(instruction->getType())) continue;
        if (llvm::any_of(instruction->operands(), [&](const Value* operand) {
              return IsOwn(operand);
            })) {
          changed |= own_.insert(instruction).second;
        }
      }
    }
  }

  static bool MentionsShared(const Constant* constant) {
    return IsShared(constant->getType()) ||
           (llvm::isa<llvm::ConstantExpr>(constant) &&
            llvm::any_of(constant->operands(), [](const Value* operand) {
              return MentionsShared(llvm::cast<Constant>(operand));
            }));
  }

  void ExpandConstants(Instruction& instruction) {
    for (llvm::Use& operand : instruction.operands()) {
      auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(operand);
      if (!expression || !MentionsShared(expression)) continue;
      Instruction* made = known_.lookup(expression);
      if (!made) {
        made = expression->getAsInstruction();
        ExpandConstants(*made);  // what it needs stands before it
        made->insertBefore(start_);
        expanded_.push_back(made);
        known_[expression] = made;
      }
      operand.set(made);
    }
  }

  static llvm::Intrinsic::ID IntrinsicOf(const Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    return call ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic;
  }

  bool Concerns(const Instruction& instruction) const {
    const llvm::Intrinsic::ID id = IntrinsicOf(instruction);
    return id == llvm::Intrinsic::amdgcn_is_shared ||
           id == llvm::Intrinsic::amdgcn_groupstaticsize ||
           InWindow(&instruction) ||
           llvm::any_of(instruction.operands(), [&](const Value* operand) {
             return InWindow(operand);
           });
  }

  // ---- Instructions ----

  bool CanMove(const Instruction& instruction) const {
    // A pointer in memory would change its size.
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      return !InWindow(store->getValueOperand());
    }
    if (llvm::isa<llvm::LoadInst>(instruction)) return !InWindow(&instruction);
    if (!llvm::isa<llvm::CallBase>(instruction)) return true;
    const llvm::Intrinsic::ID id = IntrinsicOf(instruction);
    if (id == llvm::Intrinsic::not_intrinsic) return false;
    return id == llvm::Intrinsic::amdgcn_is_shared ||
           id == llvm::Intrinsic::amdgcn_groupstaticsize ||
           llvm::Intrinsic::isOverloaded(id);
  }

  // A variable, or the address 0.
  Value* PlaceOf(Constant& constant) {
    if (llvm::isa<llvm::UndefValue>(constant)) {
      return llvm::PoisonValue::get(pointer_);
    }
    const auto* variable = llvm::dyn_cast<GlobalVariable>(&constant);
    if (!variable) return base_;
    Value*& place = places_[variable];
    if (!place) {
      llvm::IRBuilder<> b(llvm::cast<Instruction>(base_)->getNextNode());
      place = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base_,
                                           layout_.offsets.at(variable));
    }
    return place;
  }

  void Replace(Instruction& instruction, Value* value) {
    instruction.replaceAllUsesWith(value);
    instruction.eraseFromParent();
  }

  void Rewrite(Instruction& instruction) {
    llvm::IRBuilder<> b(&instruction);
    const auto offset_in = [&](Value* address) {
      return b.CreateSub(b.CreatePtrToInt(address, b.getInt64Ty()),
                         base_number_);
    };
    if (auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(&instruction)) {
      Value* offset = b.CreateZExtOrTrunc(cast->getOperand(0), b.getInt32Ty());
      Replace(instruction, b.CreateGEP(b.getInt8Ty(), base_,
                                       b.CreateZExt(offset, b.getInt64Ty())));
    } else if (auto* cast = llvm::dyn_cast<llvm::PtrToIntInst>(&instruction)) {
      Value* offset =
          b.CreateTrunc(offset_in(cast->getOperand(0)), b.getInt32Ty());
      Replace(instruction, b.CreateZExtOrTrunc(offset, cast->getType()));
    } else if (auto* gep =
                   llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
      // LDS addresses wrap at 32 bits.
      for (llvm::Use& index : gep->indices()) {
        if (index->getType()->getIntegerBitWidth() <= 32) continue;
        index.set(b.CreateSExt(b.CreateTrunc(index, b.getInt32Ty()),
                               index->getType()));
      }
    } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
      switch (call->getIntrinsicID()) {
        case llvm::Intrinsic::amdgcn_is_shared:
          Replace(instruction,
                  b.CreateICmpULT(offset_in(call->getArgOperand(0)), size_));
          break;
        case llvm::Intrinsic::amdgcn_groupstaticsize:
          Replace(instruction,
                  b.getInt32(static_cast<std::uint32_t>(layout_.static_bytes)));
          break;
        default: Redeclare(*call);
      }
    }
  }

  // The same intrinsic for the arguments' types.
  void Redeclare(llvm::IntrinsicInst& call) {
    std::vector<llvm::Type*> types;
    for (const Value* argument : call.args()) {
      types.push_back(argument->getType());
    }
    llvm::SmallVector<llvm::Type*, 4> overloads;
    if (!llvm::Intrinsic::getIntrinsicSignature(
            call.getIntrinsicID(),
            llvm::FunctionType::get(call.getType(), types, false), overloads)) {
      return;  // the verifier says what is wrong
    }
    call.setCalledFunction(llvm::Intrinsic::getOrInsertDeclaration(
        kernel_.getParent(), call.getIntrinsicID(), overloads));
  }

  Function& kernel_;
  const WindowLayout& layout_;
  llvm::IRBuilder<> b_;
  const llvm::BasicBlock::iterator start_;
  llvm::Type* const pointer_;
  Value* base_ = nullptr;         // of the block's window
  Value* base_number_ = nullptr;  // the same as an integer
  Value* size_ = nullptr;
  llvm::DenseSet<const Value*> own_;
  llvm::DenseMap<const Constant*, Instruction*> known_;
  std::vector<Instruction*> expanded_;
  llvm::DenseMap<const GlobalVariable*, Value*> places_;
};

bool IsKernel(const Function& function) {
  return function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL;
}

// Whether a function does more with shared memory than hand generic pointers
// on.
bool TouchesShared(const Function& function) {
  const UsedVariables used(&function);
  for (const GlobalVariable& variable : function.getParent()->globals()) {
    if (IsSharedVariable(&variable) && !IsCompilersOwn(&variable) &&
        used.Has(variable)) {
      return true;
    }
  }
  for (const Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (call && call->getIntrinsicID() == llvm::Intrinsic::amdgcn_is_shared) {
      return true;
    }
    if (llvm::isa<llvm::IntToPtrInst, llvm::AddrSpaceCastInst>(instruction) &&
        IsShared(instruction.getType())) {
      return true;
    }
  }
  return false;
}

}  // namespace

llvm::PreservedAnalyses MoveSharedMemory::run(
    llvm::Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
  std::vector<llvm::Function*> kernels;
  bool callee_touches = false;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (IsKernel(function)) {
      kernels.push_back(&function);
    } else {
      callee_touches |= TouchesShared(function);
    }
  }
  bool changed = false;
  for (llvm::Function* kernel : kernels) {
    const WindowLayout layout(*kernel);
    const std::uint64_t in_lds = layout.static_bytes + layout.own_bytes;
    const bool wanted = options_.overflow != SharedOverflow::kError;
    const bool too_large = in_lds > options_.limit ||
                           (options_.overflow == SharedOverflow::kAlways &&
                            !layout.offsets.empty());
    const std::string name = kernel->getName().str();
    if (layout.own_bytes != 0) (*kernels_)[name].own_bytes = layout.own_bytes;
    if (!too_large && !(wanted && layout.has_dynamic)) continue;
    KernelShared found;
    found.own_bytes = layout.own_bytes;
    found.window = layout.static_bytes;
    found.second_form = !too_large;
    llvm::Function* copy = nullptr;
    if (!wanted) {
      found.refused = "; --shared-overflow=global puts them into device memory";
    } else if (callee_touches && CallsFunctions(*kernel)) {
      found.refused = ", and functions that it calls use them as well";
    } else {
      changed = true;
      copy = CopyKernel(*kernel);
      if (!Rewriter(*copy, layout).Run()) {
        copy->eraseFromParent();
        copy = nullptr;
        found.refused = ", and it uses them as only those of the hardware";
      }
    }
    if (copy && too_large) {
      kernel->replaceAllUsesWith(llvm::PoisonValue::get(kernel->getType()));
      kernel->eraseFromParent();
      copy->setName(name);
    }
    if (!copy && !too_large) continue;  // its launches will be refused
    if (!found.refused.empty()) {
      found.refused =
          (llvm::Twine(in_lds) + " bytes of shared memory are more than the " +
           llvm::Twine(options_.limit) + " that the target has" + found.refused)
              .str();
    }
    (*kernels_)[name] = std::move(found);
  }
  return changed ? llvm::PreservedAnalyses::none()
                 : llvm::PreservedAnalyses::all();
}

}  // namespace cerberus::ptx
