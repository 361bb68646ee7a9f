// Whether two warps had better share a wave of 64 lanes.
//
// A wave has one program counter. Its two warps take turns where they part.
// Lanes that wait in a loop yield to those of both warps
// (passes/lanes/lane_progress.h), so sharing is always possible; but where only
// one of two warps waits for what the other one does, as with warps that have
// roles, and where each comes to barriers of its own, rounds in which they
// yield would take the place of nothing. Such kernels are faster with a wave
// for each warp.
#ifndef CERBERUS_PTXC_PASSES_LANES_PACKING_H_
#define CERBERUS_PTXC_PASSES_LANES_PACKING_H_

#include <set>
#include <string>

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

// Functions in which a call may meet a barrier; null for those that are called
// by their address.
using BarrierFunctions = std::set<const llvm::Function*>;
BarrierFunctions FindBarrierFunctions(const llvm::Module& module);

// What speaks against two warps of `function` in a wave; empty if nothing does.
// A function in which lanes wait is prepared for LaneRegions.
std::string WhyNotPacked(llvm::Function& function,
                         llvm::FunctionAnalysisManager& analyses,
                         const BarrierFunctions& with_barriers);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_PACKING_H_
