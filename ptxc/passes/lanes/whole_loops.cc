#include "ptxc/passes/lanes/whole_loops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace cerberus::ptx {

llvm::PreservedAnalyses KeepLoopsWhole::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto is_atomic = [](const llvm::Instruction& i) {
    return i.isAtomic() || i.isVolatile();
  };
  bool changed = false;
  for (llvm::Loop* loop :
       analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (loop->getLoopLatch() != nullptr) continue;
    if (llvm::none_of(loop->blocks(), [&](llvm::BasicBlock* block) {
          return llvm::any_of(*block, is_atomic);
        })) {
      continue;
    }
    // LLVM splits no loop with a call that all lanes take together; this one
    // is no code.
    llvm::BasicBlock* head = loop->getHeader();
    llvm::IRBuilder<> b(head, head->getFirstInsertionPt());
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_wave_barrier, {});
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none()
                 : llvm::PreservedAnalyses::all();
}

}  // namespace cerberus::ptx
