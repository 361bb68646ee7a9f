// Sums of one value of each lane and many of the wave: x + u0 + u1 + …, also
// products and the like. The backend adds what is uniform by itself, but turns
// the order round on the way: u0 + (u1 + (u2 + …)), so that all of them, and
// what they were loaded from, are alive at once. 1,000 variables loaded spilled
// 900 registers and took 6 s to compile. Here x goes to the end, and the rest
// stays in its order.
#ifndef CERBERUS_PTXC_PASSES_GROWTH_UNIFORM_SUMS_H_
#define CERBERUS_PTXC_PASSES_GROWTH_UNIFORM_SUMS_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class OrderUniformSums : public llvm::PassInfoMixin<OrderUniformSums> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_UNIFORM_SUMS_H_
