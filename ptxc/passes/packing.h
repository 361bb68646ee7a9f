// Whether two warps may share a wave of 64 lanes.
//
// A wave has one program counter. Its two warps take turns where they
// diverge, so that one of them cannot wait for the other: a barrier in the
// branch of one of them counts for both, and a loop that waits for the other
// never ends. Both are harmless where control flow is the same for the whole
// wave. A loop in which a part of the wave waits is harmless as well if the
// others could do nothing for it meanwhile: if all that they would write
// before the next barrier, which they cannot pass alone, is memory that no
// loop of the kernel looks at.
#ifndef CERBERUS_PTXC_PASSES_PACKING_H_
#define CERBERUS_PTXC_PASSES_PACKING_H_

#include <string>

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

// What stands in the way of two warps of `function` in a wave; empty if
// nothing does. `callee_barriers`: functions that it calls hold barriers.
std::string WhyNotPacked(llvm::Function& function,
                         llvm::FunctionAnalysisManager& analyses,
                         bool callee_barriers);

// Whether a barrier or a loop that waits stands in the function.
bool HoldsBarriers(const llvm::Function& function);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_PACKING_H_
