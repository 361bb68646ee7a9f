// Registers that are read before anything has set them. PTX leaves their value
// open, but it is one value: `sub.u32 %r, %r, %r` is zero, and a branch on an
// unset predicate goes one of its two ways. LLVM's undef is another value at
// each use, and a branch on it is undefined behaviour, which takes the code
// around it along.
#ifndef CERBERUS_PTXC_PASSES_REPAIRS_UNSET_REGISTERS_H_
#define CERBERUS_PTXC_PASSES_REPAIRS_UNSET_REGISTERS_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

// Makes them zero. Values that are unset on one way to a block only stay as
// they are: a register of its own for each of them would be needed.
class ZeroUnsetRegisters : public llvm::PassInfoMixin<ZeroUnsetRegisters> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_REPAIRS_UNSET_REGISTERS_H_
