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

#include <set>
#include <string>

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

// Functions in which a call may meet a barrier; null for those that are called
// by their address.
using BarrierFunctions = std::set<const llvm::Function*>;
BarrierFunctions FindBarrierFunctions(const llvm::Module& module);

// What stands in the way of two warps of `function` in a wave; empty if
// nothing does.
std::string WhyNotPacked(llvm::Function& function,
                         llvm::FunctionAnalysisManager& analyses,
                         const BarrierFunctions& with_barriers);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_PACKING_H_
