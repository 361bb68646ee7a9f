// Freezes that hold nothing. Lowering freezes the operands of divisions, since
// a register that was not set everywhere must not make one of them undefined
// behaviour (unset_registers.h). LLVM drops those that it can prove to be
// defined, but looks at six instructions only and else moves each up its chain,
// one step at a time: in a row of divisions that takes time as their square.
// Going through a function once, nearly all go.
#ifndef CERBERUS_PTXC_PASSES_GROWTH_FREEZES_H_
#define CERBERUS_PTXC_PASSES_GROWTH_FREEZES_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class DropFreezes : public llvm::PassInfoMixin<DropFreezes> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_FREEZES_H_
