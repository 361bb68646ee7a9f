#include "ptxc/passes/lanes/waiting.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/waves.h"
#include "ptxc/passes/launch_block.h"

namespace cerberus::ptx {
namespace {

using llvm::Instruction;
using llvm::Loop;

constexpr unsigned kLocalSpace = 5;
constexpr unsigned kConstantSpace = 4;

bool IsIntrinsic(const Instruction& instruction, llvm::Intrinsic::ID id) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == id;
}

// Plain loads are read anew in each round only where something orders them.
bool OrdersPlainLoads(const Loop& loop) {
  bool ordered = false;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const Instruction& instruction : *block) {
      // Threads at a barrier wait for each other there, not for memory.
      if (IsBarrier(instruction)) return false;
      ordered |= OrdersMemory(instruction) ||
                 IsIntrinsic(instruction, llvm::Intrinsic::amdgcn_s_sleep);
    }
  }
  return ordered;
}

bool IsWaitingRead(const Instruction& instruction, const Loop& loop,
                   bool plain_loads) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    const unsigned space = load->getPointerAddressSpace();
    if (space == kLocalSpace || space == kConstantSpace) return false;
    if (load->hasMetadata(llvm::LLVMContext::MD_invariant_load)) return false;
    return load->isAtomic() || load->isVolatile() || plain_loads;
  }
  if (const auto* swap =
          llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    // One that fails since the value has changed meanwhile was overtaken by
    // one that did not.
    return loop.isLoopInvariant(swap->getCompareOperand());
  }
  if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    const auto* by = llvm::dyn_cast<llvm::ConstantInt>(update->getValOperand());
    const bool counts = update->getOperation() == llvm::AtomicRMWInst::Add ||
                        update->getOperation() == llvm::AtomicRMWInst::Sub;
    return !counts || (by && by->isZero());
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    const llvm::Function* callee = call->getCalledFunction();
    return !call->isInlineAsm() && !IsJoin(instruction) &&
           (!callee || !callee->isDeclaration());
  }
  return false;
}

// Follows what decides on another round back through the loop.
class Decision {
 public:
  explicit Decision(const Loop& loop)
      : loop_(loop), plain_loads_(OrdersPlainLoads(loop)) {}

  bool DependsOnOthers() {
    llvm::SmallVector<llvm::BasicBlock*, 8> exiting;
    loop_.getExitingBlocks(exiting);
    for (llvm::BasicBlock* block : exiting) AddTerminator(*block);
    while (!work_.empty()) {
      const Instruction* at = work_.pop_back_val();
      if (IsWaitingRead(*at, loop_, plain_loads_)) return true;
      // Which way was taken to a phi, or to the last store to a variable of
      // unoptimised code, decides as well.
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(at);
      const bool variable =
          load && load->getPointerAddressSpace() == kLocalSpace;
      if (IsMerge(*at) || variable) AddAllTerminators();
      if (variable) AddLocalStores();
      for (const llvm::Value* operand : at->operands()) Add(operand);
    }
    return false;
  }

 private:
  void Add(const llvm::Value* value) {
    const auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction && loop_.contains(instruction) &&
        seen_.insert(instruction).second) {
      work_.push_back(instruction);
    }
  }
  bool IsMerge(const Instruction& instruction) const {
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
    return phi && llvm::count_if(phi->blocks(), [this](auto* block) {
                    return loop_.contains(block);
                  }) > 1;
  }
  void AddTerminator(const llvm::BasicBlock& block) {
    for (const llvm::Value* operand : block.getTerminator()->operands()) {
      Add(operand);
    }
  }
  void AddAllTerminators() {
    if (all_terminators_) return;
    all_terminators_ = true;
    for (const llvm::BasicBlock* block : loop_.blocks()) {
      AddTerminator(*block);
    }
  }
  void AddLocalStores() {
    if (local_stores_) return;
    local_stores_ = true;
    for (const llvm::BasicBlock* block : loop_.blocks()) {
      for (const Instruction& instruction : *block) {
        const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (store && store->getPointerAddressSpace() == kLocalSpace) {
          Add(store->getValueOperand());
        }
      }
    }
  }

  const Loop& loop_;
  bool plain_loads_;
  bool all_terminators_ = false;
  bool local_stores_ = false;
  llvm::SmallVector<const Instruction*, 16> work_;
  llvm::SmallPtrSet<const Instruction*, 32> seen_;
};

constexpr std::uint64_t kWarp = 32;

// %ctaid, and parameters.
bool IsSameInABlock(const Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    std::int64_t offset = 0;
    return load->getPointerAddressSpace() == kConstantSpace &&
           llvm::isa<llvm::Argument>(llvm::GetPointerBaseWithConstantOffset(
               load->getPointerOperand(), offset, load->getDataLayout()));
  }
  return IsIntrinsic(instruction, llvm::Intrinsic::amdgcn_workgroup_id_x) ||
         IsIntrinsic(instruction, llvm::Intrinsic::amdgcn_workgroup_id_y) ||
         IsIntrinsic(instruction, llvm::Intrinsic::amdgcn_workgroup_id_z);
}

// The same multiple of 32 in all lanes of a warp. Blocks whose loops count on
// by their own size are taken for some of whole warps.
bool IsWholeWarps(const llvm::Value& value) {
  if (IsBlockDim(value)) return true;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&value)) {
    return constant->getZExtValue() % kWarp == 0;
  }
  const auto* instruction = llvm::dyn_cast<Instruction>(&value);
  if (!instruction) return false;
  const auto* by =
      instruction->getNumOperands() == 2
          ? llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1))
          : nullptr;
  const std::uint64_t n = by ? by->getZExtValue() : 1;
  switch (instruction->getOpcode()) {
    case Instruction::Shl:
      return n >= 5 && IsSameInAWarp(*instruction->getOperand(0));
    case Instruction::And:
      return n % kWarp == 0 && IsSameInAWarp(*instruction->getOperand(0));
    case Instruction::Mul: {
      const llvm::Value& a = *instruction->getOperand(0);
      const llvm::Value& b = *instruction->getOperand(1);
      return (IsWholeWarps(a) && IsSameInAWarp(b)) ||
             (IsWholeWarps(b) && IsSameInAWarp(a));
    }
    default: return false;
  }
}

// What threads of a row have in common: of %tid all but x, and block sizes.
bool IsOfRows(const llvm::Value& value) {
  if (IsBlockDim(value) || IsWaveCall(value, "thread_y") ||
      IsWaveCall(value, "thread_z")) {
    return true;
  }
  const auto* instruction = llvm::dyn_cast<Instruction>(&value);
  if (!instruction) return false;
  return (instruction->getOpcode() == Instruction::Add ||
          instruction->getOpcode() == Instruction::Mul) &&
         IsOfRows(*instruction->getOperand(0)) &&
         IsOfRows(*instruction->getOperand(1));
}

// The thread's number in its block, %tid.x + %ntid.x * (…).
bool IsThreadOfBlock(const Instruction& sum) {
  const auto is = [](const llvm::Value& x, const llvm::Value& rows) {
    const auto* product = llvm::dyn_cast<Instruction>(&rows);
    return IsWaveCall(x, "thread_x") && product &&
           product->getOpcode() == Instruction::Mul && IsOfRows(rows);
  };
  const llvm::Value& a = *sum.getOperand(0);
  const llvm::Value& b = *sum.getOperand(1);
  return is(a, b) || is(b, a);
}

}  // namespace

bool CountsLanes(const llvm::Value& value) {
  const auto* instruction = llvm::dyn_cast<Instruction>(&value);
  if (!instruction) return false;
  if (IsWaveCall(value, "thread") || IsWaveCall(value, "lane")) return true;
  if (IsWaveCall(value, "thread_x")) {
    const auto asks_for = [&](const char* part) {
      const llvm::Function* function =
          instruction->getModule()->getFunction(part);
      return function &&
             llvm::any_of(function->users(), [&](const llvm::User* user) {
               return llvm::cast<Instruction>(user)->getFunction() ==
                      instruction->getFunction();
             });
    };
    return !asks_for("__cerberus_wave_thread_y") &&
           !asks_for("__cerberus_wave_thread_z");
  }
  const auto one_of = [&](bool (*is)(const llvm::Value&)) {
    const llvm::Value& a = *instruction->getOperand(0);
    const llvm::Value& b = *instruction->getOperand(1);
    return (CountsLanes(a) && is(b)) || (CountsLanes(b) && is(a));
  };
  switch (instruction->getOpcode()) {
    case Instruction::ZExt: return CountsLanes(*instruction->getOperand(0));
    case Instruction::Add:
      return one_of(IsWholeWarps) || IsThreadOfBlock(*instruction);
    case Instruction::Or: return one_of(IsWholeWarps);
    case Instruction::And: {
      const auto* mask =
          llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1));
      return mask && mask->getZExtValue() % kWarp == kWarp - 1 &&
             CountsLanes(*instruction->getOperand(0));
    }
    case Instruction::PHI: {
      // One that is counted on by whole warps in a loop.
      const auto* phi = llvm::cast<llvm::PHINode>(instruction);
      if (phi->getNumIncomingValues() != 2) return false;
      const auto counted_on = [&](unsigned way) {
        const auto* sum =
            llvm::dyn_cast<Instruction>(phi->getIncomingValue(way));
        return sum && sum->getOpcode() == Instruction::Add &&
               sum->getOperand(0) == phi && IsWholeWarps(*sum->getOperand(1));
      };
      return (counted_on(0) && CountsLanes(*phi->getIncomingValue(1))) ||
             (counted_on(1) && CountsLanes(*phi->getIncomingValue(0)));
    }
    default: return false;
  }
}

bool IsSameInAWarp(const llvm::Value& value) {
  if (llvm::isa<llvm::Constant>(value)) return true;
  const auto* instruction = llvm::dyn_cast<Instruction>(&value);
  if (!instruction) return false;
  if (IsSameInABlock(*instruction)) return true;
  const auto counts_lanes = [&] {
    return CountsLanes(*instruction->getOperand(0));
  };
  const auto* constant =
      instruction->getNumOperands() == 2
          ? llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1))
          : nullptr;
  const std::uint64_t by = constant ? constant->getZExtValue() : 0;
  switch (instruction->getOpcode()) {
    case Instruction::LShr:
      if (by >= 5 && counts_lanes()) return true;
      break;
    case Instruction::UDiv:
      if (by != 0 && by % kWarp == 0 && counts_lanes()) return true;
      break;
    case Instruction::ICmp: {
      const auto* compare = llvm::cast<llvm::ICmpInst>(instruction);
      if (constant && compare->isRelational() && counts_lanes() &&
          (by + (compare->isGT(compare->getPredicate()) ||
                 compare->isLE(compare->getPredicate()))) %
                  kWarp ==
              0) {
        return true;
      }
      break;
    }
    case Instruction::And:
      if (constant && by % kWarp == 0 && counts_lanes()) return true;
      break;
    case Instruction::Add:
    case Instruction::Mul:
    case Instruction::Or:
    case Instruction::Xor:
    case Instruction::ZExt:
    case Instruction::Trunc: break;
    default: return false;
  }
  return llvm::all_of(instruction->operands(), [](const llvm::Use& operand) {
    return IsSameInAWarp(*operand);
  });
}

bool IsBarrier(const Instruction& instruction) {
  return IsIntrinsic(instruction, llvm::Intrinsic::amdgcn_s_barrier) ||
         IsOfTheWave(instruction);
}

std::vector<Loop*> FindWaitingLoops(llvm::LoopInfo& loops) {
  std::vector<Loop*> waiting;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    if (Decision(*loop).DependsOnOthers()) waiting.push_back(loop);
  }
  return waiting;
}

std::vector<Loop*> FindReadingLoops(llvm::LoopInfo& loops) {
  std::vector<Loop*> reading;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    const bool reads = llvm::any_of(loop->blocks(), [](const auto* block) {
      return llvm::any_of(*block, [](const Instruction& instruction) {
        const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        const unsigned space = load ? load->getPointerAddressSpace() : 0;
        return instruction.mayReadFromMemory() && space != kLocalSpace &&
               space != kConstantSpace;
      });
    });
    if (reads) reading.push_back(loop);
  }
  return reading;
}

}  // namespace cerberus::ptx
