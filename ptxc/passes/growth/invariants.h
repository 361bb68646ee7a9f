// What is the same in all rounds of a loop goes in front of it (LLVM's LICM),
// within bounds.
//
// A loop that reads hundreds of variables again and again would hold them all
// in registers, and spill most: to read them is what spilling does, too. So
// such a loop gets something that might write memory, which is no instruction.
// It stays there for the backend, which looks for what it can move once more.
//
// To move a load, LICM looks back for the last write to memory, through all
// that is in front of the loop, and makes a note at each place where ways meet.
// Of many loops behind each other each goes back to the function's begin, which
// takes time as their square and more. A call that writes memory that nobody
// else can (`llvm.sideeffect`) stops it there; it goes again.
#ifndef CERBERUS_PTXC_PASSES_GROWTH_INVARIANTS_H_
#define CERBERUS_PTXC_PASSES_GROWTH_INVARIANTS_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class HoistInvariants : public llvm::PassInfoMixin<HoistInvariants> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_INVARIANTS_H_
