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

#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Use.h"

namespace cerberus::ptx {

// The block that a value must have reached for this use of it.
llvm::BasicBlock* WhereUsed(const llvm::Use& use);

class HoldSums : public llvm::PassInfoMixin<HoldSums> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

// For each load LLVM asks of every write behind it in its block whether that
// may change what was loaded, also where there is nowhere to move the load to:
// a third of what a block of 30,000 loads, products and stores took. Functions
// with such blocks are left as they are.
class SinkWithinBounds : public llvm::PassInfoMixin<SinkWithinBounds> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_SINKING_H_
