// Pointers out of the integers that PTX computes addresses with: an address
// that is a sum with a parameter, a variable's address or a constant becomes a
// getelementptr. The backend then sees which accesses are neighbours and what
// is base, offset and constant.
#ifndef CERBERUS_PTXC_PASSES_ADDRESSES_H_
#define CERBERUS_PTXC_PASSES_ADDRESSES_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class FindPointers : public llvm::PassInfoMixin<FindPointers> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_ADDRESSES_H_
