// Variables that a lane never needs at the same time become one.
//
// Behind a gate (passes/lanes/lane_progress.h) a wave may hold lanes that come
// from any segment, so that LLVM keeps a register for every variable that any
// of them may need: the sum over all places where lanes yield, where one lane
// needs no more than the fullest of them. Lanes keep their own values in their
// own part of a register, so two variables may have the same one if no lane
// needs both.
#ifndef CERBERUS_PTXC_PASSES_LANES_SHARED_VARIABLES_H_
#define CERBERUS_PTXC_PASSES_LANES_SHARED_VARIABLES_H_

#include <vector>

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace cerberus::ptx {

// `variables` are only loaded and stored, and by whole values; those that are
// replaced leave it. Control flow is still the program's. Shared are those that
// are needed at the begin of one of `yields`, and are stored within `blocks`:
// what is set before them stays the same in all, which is free.
void ShareVariables(
    llvm::Function& function,
    const llvm::SmallPtrSetImpl<const llvm::BasicBlock*>& blocks,
    const llvm::SmallPtrSetImpl<const llvm::BasicBlock*>& yields,
    std::vector<llvm::AllocaInst*>* variables);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_SHARED_VARIABLES_H_
