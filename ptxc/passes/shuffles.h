// Shuffles whose source lanes follow from the lane's own number alone, which
// shows only once registers are values, need no addresses in LDS: exchanges
// by a mask and broadcasts become DPP, permlanex16, swizzles or readlane.
#ifndef CERBERUS_PTXC_PASSES_SHUFFLES_H_
#define CERBERUS_PTXC_PASSES_SHUFFLES_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class ChooseShuffles : public llvm::PassInfoMixin<ChooseShuffles> {
 public:
  explicit ChooseShuffles(unsigned wave_size) : wave_size_(wave_size) {}
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);

 private:
  unsigned wave_size_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_SHUFFLES_H_
