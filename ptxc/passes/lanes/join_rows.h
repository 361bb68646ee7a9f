// Joins that lanes come to together anyway.
//
// Behind a join the lanes of its mask are together if they stood in one place,
// and they stay so while all of them go the same way. Of a row of joins by one
// mask, as a reduction by shuffles is, only the first one has to wait:
//
//   for (…) if (a) { join; join; }      other lanes are at the first one, too,
//                                       be it in another round
//   if (a) { join; join; }              lanes of both sides meet twice, each at
//   else { join; work; join; }          its own side's join
//
// In one place they stand wherever they cannot stand in two. A lane waits at
// its n-th join of a kind and mask for the n-th one of others. So two places
// may be those of lanes that wait for each other if lanes that begin together
// come to them after as many joins: if both are next behind two such places, or
// behind one. They are not if a branch leads to one or the other by a value
// that all lanes have alike, and have throughout, as a kernel's argument.
#ifndef CERBERUS_PTXC_PASSES_LANES_JOIN_ROWS_H_
#define CERBERUS_PTXC_PASSES_LANES_JOIN_ROWS_H_

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace cerberus::ptx {

class Together;
struct Region;

class JoinRows {
 public:
  using BlockSet = llvm::SmallPtrSetImpl<const llvm::BasicBlock*>;
  struct Flow {
    const llvm::DominatorTree& dominators;
    const llvm::PostDominatorTree& post_dominators;
    const llvm::CycleInfo& cycles;
    const BlockSet& partings;  // blocks at whose ends lanes part
    const BlockSet& yields;    // where lanes may go on one by one
  };

  // `joins`: those by mask of the region, each in a block of its own, in
  // program order.
  JoinRows(const Region& region, llvm::ArrayRef<llvm::CallInst*> joins,
           const Flow& flow, Together* together);

  // Whether all that it brings together stand at the join itself.
  bool IsOnePlace(const llvm::CallInst& join) const {
    return !apart_.contains(&join);
  }
  // Whether they come to it together, from another one of the mask.
  bool Follows(const llvm::CallInst& join) const {
    return before_.contains(&join) && IsOnePlace(*before_.lookup(&join));
  }

 private:
  llvm::CallInst* NextInRow(const llvm::CallInst& join, const Flow& flow,
                            Together* together) const;
  bool IsPlain(const llvm::BasicBlock* from, const llvm::BasicBlock* to,
               const Flow& flow, Together* together) const;

  const Region& region_;
  // Of those in a row, the one before and the one behind.
  llvm::DenseMap<const llvm::CallInst*, llvm::CallInst*> before_, next_;
  // Those whose lanes may wait for lanes elsewhere.
  llvm::SmallPtrSet<const llvm::CallInst*, 8> apart_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_JOIN_ROWS_H_
