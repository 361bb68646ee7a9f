// LLVM's search for masks of lanes.
//
// Each integer of a wave's width that one block makes and another one uses is
// followed through all that is made of it, from there on to the end of the
// function, to see whether it is a mask of lanes (hasCFUser): time as the
// square of a function with many blocks. The search follows no other types. So
// now and then such a value becomes a float and an integer again, by assembly
// without text (a cast, which is free, might be moved).
#ifndef CERBERUS_PTXC_PASSES_GROWTH_MASK_SEARCH_H_
#define CERBERUS_PTXC_PASSES_GROWTH_MASK_SEARCH_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

// For lanes' own values in waves of 32 or 64 lanes.
class BoundMaskSearch : public llvm::PassInfoMixin<BoundMaskSearch> {
 public:
  explicit BoundMaskSearch(unsigned wave_size) : wave_size_(wave_size) {}
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }

 private:
  unsigned wave_size_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_MASK_SEARCH_H_
