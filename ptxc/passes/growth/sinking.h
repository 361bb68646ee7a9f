// Sums that stay where they are made.
//
// LLVM moves each value down to where it is used (InstCombine, Sinking). The
// sum of what a row of loops or branches found is used at the end: there each
// addition would go, and with it all that is added up would be in registers
// together, and spilled. So where many values are needed only far behind, but
// what they are made of is needed no longer, they pass through a call of
// assembly without text, of which LLVM knows that it must not move.
#ifndef CERBERUS_PTXC_PASSES_GROWTH_SINKING_H_
#define CERBERUS_PTXC_PASSES_GROWTH_SINKING_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class HoldSums : public llvm::PassInfoMixin<HoldSums> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_SINKING_H_
