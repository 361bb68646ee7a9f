#include "ptxc/passes/growth/freezes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

namespace cerberus::ptx {

llvm::PreservedAnalyses DropFreezes::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
  // Instructions that have one value, whoever asks. What comes round a loop is
  // not known when its phi is looked at, and counts as not defined.
  llvm::DenseSet<const llvm::Value*> defined;
  const auto is_defined = [&](const llvm::Value* value) {
    return llvm::isa<llvm::Instruction>(value)
               ? defined.contains(value)
               : llvm::isGuaranteedNotToBeUndefOrPoison(value);
  };
  bool changed = false;
  for (llvm::BasicBlock* block :
       llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
      const bool from_defined =
          llvm::all_of(instruction.operands(),
                       [&](const llvm::Use& use) { return is_defined(use); });
      if (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(&instruction)) {
        if (from_defined) {
          freeze->replaceAllUsesWith(freeze->getOperand(0));
          freeze->eraseFromParent();
          changed = true;
          continue;
        }
        defined.insert(freeze);
        continue;
      }
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (instruction.hasMetadata(llvm::LLVMContext::MD_noundef) ||
          (call && call->hasRetAttr(llvm::Attribute::NoUndef)) ||
          (from_defined && !call &&
           !llvm::canCreateUndefOrPoison(
               llvm::cast<llvm::Operator>(&instruction)))) {
        defined.insert(&instruction);
      }
    }
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace cerberus::ptx
