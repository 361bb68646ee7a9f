// Where lanes part of which some wait at a join for others.
//
// Lanes of a wave that part at a branch are together again where its sides
// meet. A join (passes/joins.h) on one side gets all lanes that it waits for
// unless others can come to one of its kind elsewhere: on the other side, or,
// having passed the join by, in the next round of a loop around both.
#ifndef CERBERUS_PTXC_PASSES_PARTINGS_H_
#define CERBERUS_PTXC_PASSES_PARTINGS_H_

#include <vector>

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

struct Parting {
  llvm::BasicBlock* branch;
  const llvm::Loop* around;  // whose rounds lanes may go apart, or null
};

// In program order.
std::vector<Parting> FindPartings(llvm::Function& function,
                                  const llvm::DominatorTree& dominators,
                                  const llvm::PostDominatorTree& meetings,
                                  const llvm::LoopInfo& loops,
                                  llvm::FunctionAnalysisManager& analyses);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_PARTINGS_H_
