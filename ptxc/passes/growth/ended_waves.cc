#include "ptxc/passes/growth/ended_waves.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "ptxc/passes/behind_pass.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;

// Failures that are reported in the same way share a block. Each of those who
// go there gets one of its own if it has no more instructions than this.
constexpr std::size_t kSmallBlock = 40;

// Of a block that ends in the call of such a function what comes behind that,
// or nothing.
llvm::IntrinsicInst* EndOfWave(BasicBlock& block) {
  if (!llvm::isa<llvm::UnreachableInst>(block.getTerminator())) return nullptr;
  auto* end = llvm::dyn_cast_if_present<llvm::IntrinsicInst>(
      block.getTerminator()->getPrevNode());
  if (!end || end->getIntrinsicID() != llvm::Intrinsic::amdgcn_endpgm) {
    return nullptr;
  }
  const auto* call =
      llvm::dyn_cast_if_present<llvm::CallInst>(end->getPrevNode());
  const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && callee->hasFnAttribute(kEndsWave) ? end : nullptr;
}

// `block` for `from` alone.
BasicBlock* CopyFor(BasicBlock& from, BasicBlock& block) {
  llvm::ValueToValueMapTy map;
  BasicBlock* copy = llvm::CloneBasicBlock(&block, map, "", block.getParent());
  for (llvm::PHINode& phi : block.phis()) {
    auto* its = llvm::cast<llvm::PHINode>(map[&phi]);
    map[&phi] = phi.getIncomingValueForBlock(&from);
    its->eraseFromParent();
  }
  for (llvm::Instruction& instruction : *copy) {
    llvm::RemapInstruction(
        &instruction, map,
        llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
  }
  block.removePredecessor(&from);
  from.getTerminator()->replaceSuccessorWith(&block, copy);
  return copy;
}

// Blocks that end the wave and are one side of a branch.
std::vector<BasicBlock*> FindSides(llvm::Function& function) {
  std::vector<BasicBlock*> work, found;
  for (BasicBlock& block : function) {
    if (EndOfWave(block)) work.push_back(&block);
  }
  while (!work.empty()) {
    BasicBlock* block = work.back();
    work.pop_back();
    const llvm::SmallSetVector<BasicBlock*, 4> all(llvm::pred_begin(block),
                                                   llvm::pred_end(block));
    if (all.size() > 1 && block->size() > kSmallBlock) continue;
    // A switch may lead here by several cases.
    if (llvm::any_of(all, [](const BasicBlock* from) {
          return !llvm::isa<llvm::BranchInst>(from->getTerminator());
        })) {
      continue;
    }
    for (BasicBlock* from : all) {
      BasicBlock* its = from == all.back() ? block : CopyFor(*from, *block);
      if (llvm::MergeBlockIntoPredecessor(its)) {
        work.push_back(from);
      } else {
        found.push_back(its);
      }
    }
  }
  return found;
}

void GoOn(BasicBlock& block, BasicBlock& from, BasicBlock& to) {
  llvm::IntrinsicInst* end = EndOfWave(block);
  block.getTerminator()->eraseFromParent();
  end->eraseFromParent();
  llvm::BranchInst::Create(&to, &block);
  for (llvm::PHINode& phi : to.phis()) {
    phi.addIncoming(phi.getIncomingValueForBlock(&from), &block);
  }
}

constexpr llvm::StringLiteral kBehindPass = "reg-usage-propagation";

class SpoilNothing : public llvm::MachineFunctionPass {
 public:
  static char ID;
  SpoilNothing() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    std::uint32_t* all = nullptr;
    for (llvm::MachineBasicBlock& block : function) {
      for (llvm::MachineInstr& instruction : block) {
        if (!instruction.isCall() || !CallsEnd(instruction)) continue;
        for (llvm::MachineOperand& operand : instruction.operands()) {
          if (!operand.isRegMask()) continue;
          if (all == nullptr) all = EveryRegister(function);
          operand.setRegMask(all);
        }
      }
    }
    return all != nullptr;
  }

 private:
  static std::uint32_t* EveryRegister(llvm::MachineFunction& function) {
    const unsigned words = llvm::MachineOperand::getRegMaskSize(
        function.getSubtarget().getRegisterInfo()->getNumRegs());
    std::uint32_t* mask = function.allocateRegMask();
    std::fill_n(mask, words, ~std::uint32_t{0});
    mask[0] &= ~std::uint32_t{1};  // the number of no register
    return mask;
  }

  static bool CallsEnd(const llvm::MachineInstr& call) {
    return llvm::any_of(call.operands(), [](const llvm::MachineOperand& use) {
      const auto* callee = use.isGlobal()
                               ? llvm::dyn_cast<llvm::Function>(use.getGlobal())
                               : nullptr;
      return callee && callee->hasFnAttribute(kEndsWave);
    });
  }
};

char SpoilNothing::ID = 0;
const llvm::RegisterPass<SpoilNothing> registered(
    "cerberus-spoil-nothing", "Calls that end the wave spoil no register");

}  // namespace

void KeepRegistersOfEndedWaves() {
  static const BehindPass pass(kBehindPass, SpoilNothing::ID);
}

llvm::PreservedAnalyses RejoinEndedWaves::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
  bool changed = false;
  for (BasicBlock* block : FindSides(function)) {
    BasicBlock* from = block->getUniquePredecessor();
    for (BasicBlock* to : llvm::successors(from)) {
      if (to == block || EndOfWave(*to)) continue;
      GoOn(*block, *from, *to);
      changed = true;
      break;
    }
  }
  return changed ? llvm::PreservedAnalyses::none()
                 : llvm::PreservedAnalyses::all();
}

}  // namespace cerberus::ptx
