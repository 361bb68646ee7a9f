// What a function must look like before places are looked for where lanes
// wait.
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_progress.h"
#include "ptxc/passes/lanes/lane_regions.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::Instruction;

// All ways out of the function become one, so that lanes which take different
// ones still meet.
void UnifyExits(Function& function) {
  std::vector<BasicBlock*> exits;
  for (BasicBlock& block : function) {
    const Instruction* last = block.getTerminator();
    if (llvm::isa<llvm::ReturnInst>(last) ||
        llvm::isa<llvm::UnreachableInst>(last)) {
      exits.push_back(&block);
    }
  }
  if (exits.size() < 2) return;
  llvm::LLVMContext& context = function.getContext();
  BasicBlock* end = BasicBlock::Create(context, "end", &function);
  llvm::Type* type = function.getReturnType();
  llvm::PHINode* value = nullptr;
  if (!type->isVoidTy()) {
    value = llvm::PHINode::Create(type, 2, "result", end);
  }
  llvm::ReturnInst::Create(context, value, end);
  for (BasicBlock* block : exits) {
    Instruction* last = block->getTerminator();
    if (value) {
      const auto* back = llvm::dyn_cast<llvm::ReturnInst>(last);
      value->addIncoming(
          back ? back->getReturnValue() : llvm::PoisonValue::get(type), block);
    }
    last->eraseFromParent();
    llvm::BranchInst::Create(end, block);
  }
}

// What ends a wave, as a failed assertion does, does not come back. It goes on
// as if it did: else no lane could be said to meet the others before the
// function's end.
void JoinDeadEnds(Function& function) {
  llvm::DenseSet<const BasicBlock*> returns;
  std::vector<BasicBlock*> work, dead_ends;
  for (BasicBlock& block : function) {
    if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) {
      returns.insert(&block);
      work.push_back(&block);
    } else if (llvm::isa<llvm::UnreachableInst>(block.getTerminator())) {
      dead_ends.push_back(&block);
    }
  }
  while (!work.empty()) {
    BasicBlock* block = work.back();
    work.pop_back();
    for (BasicBlock* before : llvm::predecessors(block)) {
      if (returns.insert(before).second) work.push_back(before);
    }
  }
  for (BasicBlock* block : dead_ends) {
    // The one branch whose other side returns.
    llvm::SetVector<BasicBlock*> way;
    llvm::SmallPtrSet<BasicBlock*, 2> others;
    way.insert(block);
    for (std::size_t i = 0; i < way.size(); ++i) {
      for (BasicBlock* before : llvm::predecessors(way[i])) {
        if (!returns.contains(before)) {
          way.insert(before);
          continue;
        }
        for (BasicBlock* other : llvm::successors(before)) {
          if (returns.contains(other)) others.insert(other);
        }
      }
    }
    if (others.size() != 1) continue;
    BasicBlock* other = *others.begin();
    for (llvm::PHINode& phi : other->phis()) {
      phi.addIncoming(llvm::PoisonValue::get(phi.getType()), block);
    }
    block->getTerminator()->eraseFromParent();
    llvm::BranchInst::Create(other, block);
  }
}

// Blocks end behind writes that others may wait for and before what takes
// lanes together: meeting places are looked for between blocks.
void SplitBlocks(Function& function, Together& together) {
  std::vector<Instruction*> at;
  for (Instruction& instruction : llvm::instructions(function)) {
    const Instruction* before = instruction.getPrevNode();
    if (!before) {
      // A loop's begin is no place to come together at.
      if (together(instruction) && !instruction.getParent()->isEntryBlock() &&
          !instruction.getParent()->getSinglePredecessor()) {
        at.push_back(&instruction);
      }
      continue;
    }
    if (llvm::isa<llvm::PHINode>(instruction) ||
        (llvm::isa<llvm::AllocaInst>(instruction) &&
         instruction.getParent()->isEntryBlock())) {
      continue;
    }
    if (together(instruction) || together(*before) || IsOrderedWrite(*before) ||
        IsPlainWrite(*before)) {
      at.push_back(&instruction);
    }
  }
  for (Instruction* instruction : at) {
    instruction->getParent()->splitBasicBlock(instruction, "part");
  }
}

}  // namespace

void SeparateEnds(Function& function) {
  BasicBlock& entry = function.getEntryBlock();
  entry.splitBasicBlock(entry.getFirstNonPHIOrDbgOrAlloca(), "begin");
  for (BasicBlock& block : llvm::make_early_inc_range(function)) {
    if (!llvm::succ_empty(&block)) continue;
    block.splitBasicBlock(block.getTerminator(), "over");
  }
}

void PrepareLanes(Function& function, llvm::FunctionAnalysisManager& analyses) {
  JoinDeadEnds(function);
  UnifyExits(function);
  Together together;
  SplitBlocks(function, together);
  analyses.invalidate(function, llvm::PreservedAnalyses::none());
}

}  // namespace cerberus::ptx
