// Control flow that goes into cycles at several places.
//
// LLVM gives such a cycle one head by guards in front of its entries, then the
// next one inside it, and so on (FixIrreducible). Its work, and the code, grow
// with the third power of the blocks: 250 with branches to random others took
// minutes. What it makes of five may hang (LLVM 22). Here the cycle becomes one
// loop, as the rounds of passes/lanes/lane_progress.h are one: cut into
// segments, each entered through a gate, the gates one behind the other. A lane
// that leaves a segment for the begin of another one notes its number, and
// finds that gate open, in this round or in the next.
//
//   round → gate 0 → … → gate n → end → round, or what is behind the cycle
//             ↓ ↑          ↓ ↑
//          segment 0    segment n
#ifndef CERBERUS_PTXC_PASSES_GROWTH_IRREDUCIBLE_H_
#define CERBERUS_PTXC_PASSES_GROWTH_IRREDUCIBLE_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class CutIrreducible : public llvm::PassInfoMixin<CutIrreducible> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_IRREDUCIBLE_H_
