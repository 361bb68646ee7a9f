// Long blocks are selected in pieces.
//
// What joins neighbouring loads and stores looks at all that is between the
// two, and what selects instructions follows a sum through all its summands, at
// each of them: time as the square of a block, and an unrolled loop is one of
// tens of thousands of instructions. So behind the last pass that would undo it
// a long block is cut where few values are alive. The pieces become one block
// again before registers are allocated.
#ifndef CERBERUS_PTXC_PASSES_GROWTH_LONG_BLOCKS_H_
#define CERBERUS_PTXC_PASSES_GROWTH_LONG_BLOCKS_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class CutLongBlocks : public llvm::PassInfoMixin<CutLongBlocks> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

// In all that this process compiles from now on. To be called when LLVM knows
// the target.
void SelectLongBlocksInPieces();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_LONG_BLOCKS_H_
