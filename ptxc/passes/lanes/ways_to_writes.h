// From which blocks of a function lanes come to writes that others may wait
// for, with no barrier of the block between, where all lanes are together.
#ifndef CERBERUS_PTXC_PASSES_LANES_WAYS_TO_WRITES_H_
#define CERBERUS_PTXC_PASSES_LANES_WAYS_TO_WRITES_H_

#include <map>
#include <utility>
#include <vector>

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Function.h"

namespace cerberus::ptx {

// Of a function as it is when this is made. What is asked for more than once,
// by many loops, is kept.
class WaysToWrites {
 public:
  using Block = const llvm::BasicBlock*;
  using Blocks = llvm::BitVector;  // by BasicBlock::getNumber()
  using Sides = llvm::SmallVector<llvm::BasicBlock*, 2>;

  // `releases` write what others may wait for; `plain` have any other writes.
  WaysToWrites(llvm::Function& function,
               const llvm::PostDominatorTree& post_dominators,
               const llvm::SmallPtrSetImpl<Block>& barriers,
               llvm::ArrayRef<llvm::BasicBlock*> releases,
               llvm::ArrayRef<llvm::BasicBlock*> plain);

  Blocks None() const { return Blocks(successors_.size()); }
  // All from which lanes come to the block, and that.
  Blocks InFrontOf(Block block) const;
  // Whether lanes that go to `side` at the branch come to `to` before they meet
  // those again that went elsewhere.
  bool ComeFirst(Block branch, Block side, Block to) const;
  // Whether lanes come from there to a block that releases.
  bool LeadToRelease(Block from) const {
    return to_releases_.test(from->getNumber());
  }
  // What lanes that begin at `sides` pass on the way to such a block, and that.
  Blocks ToReleases(const Sides& sides) const;
  // What lanes that go to `sides` pass on the way to plain writes that they
  // come to before they meet those again that went elsewhere at the branch, and
  // these; null if there are none.
  const Blocks* ToPlain(Block branch, const Sides& sides) const;

 private:
  using Edges = std::vector<llvm::SmallVector<unsigned, 2>>;
  Blocks Follow(const Edges& edges, llvm::ArrayRef<unsigned> from,
                const Blocks& passable) const;
  Blocks Behind(const Sides& sides) const;
  const std::vector<unsigned>& BeforeMeeting(Block branch, Block side) const;

  const llvm::PostDominatorTree& post_dominators_;
  Edges successors_, predecessors_;
  Blocks passable_;  // those without a barrier
  Blocks plain_;
  Blocks to_releases_;
  // By branch and side, in rising order.
  mutable llvm::DenseMap<std::pair<Block, Block>, std::vector<unsigned>>
      before_meeting_;
  mutable std::map<std::pair<unsigned, std::vector<unsigned>>, Blocks>
      to_plain_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_WAYS_TO_WRITES_H_
