// Of a switch each case reads the same structure, or array, elsewhere: LLVM
// moves the load behind the switch and has each case compute its address, two
// instructions and two registers. Here a case gives its offset only, and the
// base is added behind.
//
//   case 0: p = base + 8  …  case 3: p = base + 40     load p
//   case 0: d = 8         …  case 3: d = 40            load base + d
#ifndef CERBERUS_PTXC_PASSES_PHI_OFFSETS_H_
#define CERBERUS_PTXC_PASSES_PHI_OFFSETS_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class JoinOffsets : public llvm::PassInfoMixin<JoinOffsets> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_PHI_OFFSETS_H_
