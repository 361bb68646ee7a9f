#include "ptxc/passes/repairs/unset_registers.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace cerberus::ptx {

llvm::PreservedAnalyses ZeroUnsetRegisters::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
  bool changed = false;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::PHINode>(instruction)) continue;
    for (llvm::Use& use : instruction.operands()) {
      // Lowering writes poison where a value does not matter.
      if (!llvm::isa<llvm::UndefValue>(use) ||
          llvm::isa<llvm::PoisonValue>(use)) {
        continue;
      }
      use.set(llvm::Constant::getNullValue(use->getType()));
      changed = true;
    }
  }
  return changed ? llvm::PreservedAnalyses::none()
                 : llvm::PreservedAnalyses::all();
}

}  // namespace cerberus::ptx
