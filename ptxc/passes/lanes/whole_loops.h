// A loop that is gone round from several places, as `while (!done)` around a
// lock is, stays one loop, at whose head all lanes meet. LLVM would split it
// (LoopSimplify): lanes that try the lock again would go round an inner loop,
// and those that have it wait outside for them.
#ifndef CERBERUS_PTXC_PASSES_LANES_WHOLE_LOOPS_H_
#define CERBERUS_PTXC_PASSES_LANES_WHOLE_LOOPS_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class KeepLoopsWhole : public llvm::PassInfoMixin<KeepLoopsWhole> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_WHOLE_LOOPS_H_
