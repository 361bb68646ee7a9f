// Runs when device functions are inlined and registers are values: every use
// of shared memory then is a pointer of LDS's address space in the kernel
// itself. In a copy of the kernel these become pointers of global memory.
#include "ptxc/passes/shared_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
#include "ptxc/passes/clusters.h"
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
    const GlobalVariable* tensor =
        kernel.getParent()->getNamedGlobal(kTensorMemory);
    if (tensor && used.Has(*tensor)) {
      offsets[tensor] = 0;
      static_bytes = tensor_bytes = SizeOf(*tensor);
    }
    std::vector<const GlobalVariable*> dynamic;
    for (const GlobalVariable& variable : kernel.getParent()->globals()) {
      if (!IsSharedVariable(&variable) || !used.Has(variable) ||
          offsets.contains(&variable)) {
        continue;
      }
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
  std::uint64_t own_bytes = 0;     // stay in LDS
  std::uint64_t tensor_bytes = 0;  // in front of all others
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

// Makes LDS pointers of one kernel pointers into the block's window, or with
// `clusters` into those of its cluster's blocks.
class Rewriter {
 public:
  Rewriter(Function& kernel, const WindowLayout& layout, bool clusters)
      : kernel_(kernel),
        layout_(layout),
        clusters_(clusters),
        b_(&*kernel.getEntryBlock().getFirstNonPHIOrDbgOrAlloca()),
        pointer_(llvm::PointerType::get(kernel.getContext(), kAsGlobal)) {}

  // False if there is something that only LDS can do.
  bool Run() {
    LoadWindow();
    if (clusters_) ResolveClusters(kernel_, cluster_);
    std::vector<Instruction*> instructions;
    for (Instruction& instruction : llvm::instructions(kernel_)) {
      instructions.push_back(&instruction);
    }
    // Expressions of constants become instructions, behind the window's: what
    // stood there before may be gone with the cluster's questions.
    start_ = std::next(llvm::cast<Instruction>(first_)->getIterator());
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
  Value* Load(Value* base, unsigned offset, unsigned bits) {
    llvm::LoadInst* value = b_.CreateAlignedLoad(
        b_.getIntNTy(bits), b_.CreateConstGEP1_32(b_.getInt8Ty(), base, offset),
        llvm::Align(bits / 8));
    value->setMetadata(llvm::LLVMContext::MD_invariant_load,
                       llvm::MDNode::get(b_.getContext(), {}));
    return value;
  }
  Value* Get(llvm::Intrinsic::ID id) {
    return b_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(),
                              llvm::ArrayRef<Value*>());
  }
  // The number of a place in an array of `counts` along x and y, x fastest.
  Value* NumberOf(const std::array<Value*, 3>& place,
                  const std::array<Value*, 2>& counts) {
    Value* row = b_.CreateAdd(b_.CreateMul(place[2], counts[1]), place[1]);
    return b_.CreateAdd(b_.CreateMul(b_.CreateZExt(row, b_.getInt64Ty()),
                                     b_.CreateZExt(counts[0], b_.getInt64Ty())),
                        b_.CreateZExt(place[0], b_.getInt64Ty()));
  }

  // The block's window: the grid's memory, and in it the place of the block's
  // number.
  void LoadWindow() {
    Value* window = kernel_.getArg(kernel_.arg_size() - 2);
    Value* memory = Load(window, kWindowAddress, 64);
    Value* size = Load(window, kWindowBytes, 32);
    size_ = b_.CreateZExt(size, b_.getInt64Ty());
    Value* hidden = Get(llvm::Intrinsic::amdgcn_implicitarg_ptr);
    // hidden_block_count_x and _y.
    const std::array<Value*, 2> blocks = {Load(hidden, 0, 32),
                                          Load(hidden, 4, 32)};
    const std::array<Value*, 3> block = {
        Get(llvm::Intrinsic::amdgcn_workgroup_id_x),
        Get(llvm::Intrinsic::amdgcn_workgroup_id_y),
        Get(llvm::Intrinsic::amdgcn_workgroup_id_z)};
    if (clusters_) {
      LoadCluster(window, memory, size, blocks, block);
    } else {
      first_number_ =
          b_.CreateAdd(memory, b_.CreateMul(NumberOf(block, blocks), size_));
      own_offset_ = b_.getInt64(0);
    }
    first_ = b_.CreateIntToPtr(first_number_, pointer_, "window");
  }

  // The windows of the cluster's blocks, and the block's among them.
  void LoadCluster(Value* window, Value* memory, Value* size,
                   const std::array<Value*, 2>& blocks,
                   const std::array<Value*, 3>& block) {
    const auto required = RequiredCluster(kernel_);
    // Nobody can launch larger ones.
    if (required && *llvm::max_element(*required) <= formats::kLargestCluster) {
      cluster_.shape =
          b_.getInt32((*required)[0] | (*required)[1] << 8 |
                      (*required)[2] << 16 | formats::WindowBlock::kNamed);
    } else {
      // Hosts that knew no clusters wrote 0.
      Value* given = Load(window, kWindowCluster, 32);
      cluster_.shape =
          b_.CreateSelect(b_.CreateICmpEQ(given, b_.getInt32(0)),
                          b_.getInt32(formats::WindowBlock::kOneBlock), given);
    }
    std::array<Value*, 3> sides;
    std::array<Value*, 3> cluster;
    std::array<Value*, 3> place;
    for (unsigned i = 0; i < 3; ++i) {
      sides[i] = b_.CreateAnd(b_.CreateLShr(cluster_.shape, 8 * i), 0xff);
      cluster[i] = b_.CreateUDiv(block[i], sides[i]);
      place[i] = b_.CreateSub(block[i], b_.CreateMul(cluster[i], sides[i]));
    }
    Value* number = NumberOf(cluster, {b_.CreateUDiv(blocks[0], sides[0]),
                                       b_.CreateUDiv(blocks[1], sides[1])});
    Value* count = b_.CreateMul(b_.CreateMul(sides[0], sides[1]), sides[2]);
    cluster_.stride = size;
    cluster_.bytes = b_.CreateMul(b_.CreateZExt(count, b_.getInt64Ty()), size_);
    first_number_ = b_.CreateAdd(memory, b_.CreateMul(number, cluster_.bytes));
    cluster_.base = first_number_;
    Value* rank = NumberOf(place, {sides[0], sides[1]});
    own_offset_ = b_.CreateMul(rank, size_);
    cluster_.own =
        b_.CreateShl(b_.CreateTrunc(rank, b_.getInt32Ty()), kClusterRankShift);
    Value* below = b_.CreateMul(b_.CreateAdd(number, b_.getInt64(1)),
                                b_.getInt64(formats::kClusterBarrierBytes));
    cluster_.barrier = b_.CreateIntToPtr(b_.CreateSub(memory, below), pointer_);
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

  // A variable of this block, or the address 0.
  Value* PlaceOf(Constant& constant) {
    if (llvm::isa<llvm::UndefValue>(constant)) {
      return llvm::PoisonValue::get(pointer_);
    }
    const auto* variable = llvm::dyn_cast<GlobalVariable>(&constant);
    if (!variable) return first_;
    Value*& place = places_[variable];
    if (!place) {
      llvm::IRBuilder<> b(llvm::cast<Instruction>(first_)->getNextNode());
      place = b.CreateInBoundsGEP(
          b.getInt8Ty(), first_,
          b.CreateAdd(own_offset_, b.getInt64(layout_.offsets.at(variable))));
    }
    return place;
  }

  void Replace(Instruction& instruction, Value* value) {
    instruction.replaceAllUsesWith(value);
    instruction.eraseFromParent();
  }

  void Rewrite(Instruction& instruction) {
    if (clusters_) SeenByCluster(instruction);
    llvm::IRBuilder<> b(&instruction);
    const auto offset_in = [&](Value* address) {
      return b.CreateSub(b.CreatePtrToInt(address, b.getInt64Ty()),
                         first_number_);
    };
    if (auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(&instruction)) {
      Value* address = b.CreateZExtOrTrunc(cast->getOperand(0), b.getInt32Ty());
      Replace(instruction,
              b.CreateGEP(b.getInt8Ty(), first_, OffsetOf(b, address)));
    } else if (auto* cast = llvm::dyn_cast<llvm::PtrToIntInst>(&instruction)) {
      Value* offset =
          b.CreateTrunc(offset_in(cast->getOperand(0)), b.getInt32Ty());
      Replace(instruction,
              b.CreateZExtOrTrunc(AddressOf(b, offset), cast->getType()));
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
                  b.CreateICmpULT(b.CreateSub(offset_in(call->getArgOperand(0)),
                                              own_offset_),
                                  size_));
          break;
        case llvm::Intrinsic::amdgcn_groupstaticsize:
          Replace(instruction,
                  b.getInt32(static_cast<std::uint32_t>(layout_.static_bytes -
                                                        layout_.tensor_bytes)));
          break;
        default: Redeclare(*call);
      }
    }
  }

  // An address as programs have it, as an offset from the first window.
  Value* OffsetOf(llvm::IRBuilder<>& b, Value* address) {
    if (!clusters_) return b.CreateZExt(address, b.getInt64Ty());
    Value* rank = b.CreateLShr(address, kClusterRankShift);
    Value* inside = b.CreateAnd(address, (1u << kClusterRankShift) - 1);
    return b.CreateAdd(b.CreateMul(b.CreateZExt(rank, b.getInt64Ty()), size_),
                       b.CreateZExt(inside, b.getInt64Ty()));
  }
  // And the other way round.
  Value* AddressOf(llvm::IRBuilder<>& b, Value* offset) {
    if (!clusters_) return offset;
    Value* size = b.CreateTrunc(size_, b.getInt32Ty());
    Value* rank = b.CreateUDiv(offset, size);
    return b.CreateAdd(b.CreateShl(rank, kClusterRankShift),
                       b.CreateSub(offset, b.CreateMul(rank, size)));
  }

  // What the threads of a block see of each other's atomic accesses, those of
  // the cluster's other blocks see, too.
  static void SeenByCluster(Instruction& instruction) {
    const auto scope = llvm::getAtomicSyncScopeID(&instruction);
    if (!scope || *scope == llvm::SyncScope::System) return;
    llvm::setAtomicSyncScopeID(
        &instruction, instruction.getContext().getOrInsertSyncScopeID("agent"));
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
  const bool clusters_;
  llvm::IRBuilder<> b_;
  llvm::BasicBlock::iterator start_;  // of what needs the window
  llvm::Type* const pointer_;
  // The start of the block's window, or of its cluster's first one's, also as
  // an integer, and how far behind it the block's own starts.
  Value* first_ = nullptr;
  Value* first_number_ = nullptr;
  Value* own_offset_ = nullptr;
  Value* size_ = nullptr;  // of one window
  ClusterValues cluster_;
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

// Why a kernel's shared memory lies in a window, in one of its forms or in the
// only one.
struct Reasons {
  bool too_large = false;     // for LDS, whatever the launch
  bool may_be_large = false;  // by dynamic shared memory
  bool clusters = false;      // of several blocks, which concern it
  bool always_clusters = false;
  bool tensor = false;  // it uses tensor memory

  bool none() const { return !too_large && !may_be_large && !clusters; }
  bool only_form() const { return too_large || always_clusters; }
};

std::string WhyWindow(const Reasons& reasons, std::uint64_t bytes,
                      std::uint64_t limit) {
  if (reasons.tensor) {
    return "tensor memory lies with shared memory, in device memory";
  }
  return reasons.too_large
             ? fmt::format(
                   "{} bytes of shared memory are more than the {} "
                   "that the target has",
                   bytes, limit)
             : "blocks of a cluster reach each other's bytes of shared memory, "
               "which lie in device memory for that";
}

}  // namespace

llvm::PreservedAnalyses MoveSharedMemory::run(
    llvm::Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
  std::vector<llvm::Function*> kernels;
  bool callee_touches = false;
  bool callee_asks = false;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (IsKernel(function)) {
      kernels.push_back(&function);
    } else {
      callee_touches |= TouchesShared(function);
      callee_asks |= UsesClusters(function);
    }
  }
  const bool wanted = options_.overflow != SharedOverflow::kError;
  for (llvm::Function* kernel : kernels) {
    const WindowLayout layout(*kernel);
    const std::uint64_t in_lds = layout.static_bytes + layout.own_bytes;
    const bool calls = CallsFunctions(*kernel);
    const auto required = RequiredCluster(*kernel);
    Reasons reasons;
    reasons.too_large = in_lds > options_.limit ||
                        (options_.overflow == SharedOverflow::kAlways &&
                         !layout.offsets.empty());
    reasons.may_be_large = wanted && layout.has_dynamic;
    reasons.clusters = (!required || *required != ClusterShape{1, 1, 1}) &&
                       (UsesClusters(*kernel) || (calls && callee_asks));
    reasons.always_clusters = reasons.clusters && required;
    reasons.tensor = layout.tensor_bytes != 0;
    const std::string name = kernel->getName().str();
    if (layout.own_bytes != 0) (*kernels_)[name].own_bytes = layout.own_bytes;
    if (reasons.none()) continue;
    KernelShared found;
    found.own_bytes = layout.own_bytes;
    found.window = layout.static_bytes;
    found.tensor_bytes = layout.tensor_bytes;
    found.second_form = !reasons.only_form();
    if (reasons.clusters) found.clusters = true;
    llvm::Function* copy = nullptr;
    if (!wanted && !reasons.clusters && !reasons.tensor) {
      found.refused = "; --shared-overflow=global puts them into device memory";
    } else if (calls && (callee_touches || (reasons.clusters && callee_asks))) {
      found.refused = ", and functions that it calls use them as well";
    } else {
      copy = CopyKernel(*kernel);
      if (!Rewriter(*copy, layout, reasons.clusters).Run()) {
        copy->eraseFromParent();
        copy = nullptr;
        found.refused = ", and it uses them as only those of the hardware";
      }
    }
    if (copy && reasons.only_form()) {
      kernel->replaceAllUsesWith(llvm::PoisonValue::get(kernel->getType()));
      kernel->eraseFromParent();
      copy->setName(name);
    }
    if (!copy && !reasons.only_form()) {  // such launches will be refused
      if (reasons.clusters) {
        (*kernels_)[name].clusters = false;
      }
      continue;
    }
    if (!found.refused.empty()) {
      found.refused =
          WhyWindow(reasons, in_lds, options_.limit) + found.refused;
    }
    (*kernels_)[name] = std::move(found);
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) ResolveClustersOfOneBlock(function);
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace cerberus::ptx
