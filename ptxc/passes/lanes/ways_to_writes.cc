#include "ptxc/passes/lanes/ways_to_writes.h"

#include "llvm/IR/CFG.h"

namespace cerberus::ptx {
namespace {

std::vector<unsigned> Numbers(llvm::ArrayRef<llvm::BasicBlock*> blocks) {
  std::vector<unsigned> numbers;
  for (const llvm::BasicBlock* block : blocks) {
    numbers.push_back(block->getNumber());
  }
  return numbers;
}

}  // namespace

WaysToWrites::WaysToWrites(llvm::Function& function,
                           const llvm::PostDominatorTree& post_dominators,
                           const llvm::SmallPtrSetImpl<Block>& barriers,
                           llvm::ArrayRef<llvm::BasicBlock*> releases,
                           llvm::ArrayRef<llvm::BasicBlock*> plain)
    : post_dominators_(post_dominators),
      successors_(function.getMaxBlockNumber()),
      predecessors_(function.getMaxBlockNumber()),
      passable_(function.getMaxBlockNumber(), true),
      plain_(function.getMaxBlockNumber()) {
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::BasicBlock* next : llvm::successors(&block)) {
      successors_[block.getNumber()].push_back(next->getNumber());
      predecessors_[next->getNumber()].push_back(block.getNumber());
    }
  }
  for (Block barrier : barriers) passable_.reset(barrier->getNumber());
  for (unsigned number : Numbers(plain)) plain_.set(number);
  to_releases_ = Follow(predecessors_, Numbers(releases), passable_);
}

WaysToWrites::Blocks WaysToWrites::Follow(const Edges& edges,
                                          llvm::ArrayRef<unsigned> from,
                                          const Blocks& passable) const {
  Blocks reached = None();
  std::vector<unsigned> work(from.begin(), from.end());
  while (!work.empty()) {
    const unsigned at = work.back();
    work.pop_back();
    if (!passable.test(at) || reached.test(at)) continue;
    reached.set(at);
    work.insert(work.end(), edges[at].begin(), edges[at].end());
  }
  return reached;
}

WaysToWrites::Blocks WaysToWrites::InFrontOf(Block block) const {
  return Follow(predecessors_, {block->getNumber()}, passable_);
}

WaysToWrites::Blocks WaysToWrites::Behind(const Sides& sides) const {
  return Follow(successors_, Numbers(sides), passable_);
}

const std::vector<unsigned>& WaysToWrites::BeforeMeeting(Block branch,
                                                         Block side) const {
  const auto [known, is_new] = before_meeting_.try_emplace({branch, side});
  if (!is_new) return known->second;
  Blocks passable = passable_;
  const llvm::DomTreeNode* node = post_dominators_.getNode(branch);
  if (node && node->getIDom() && node->getIDom()->getBlock()) {
    passable.reset(node->getIDom()->getBlock()->getNumber());
  }
  const Blocks before = Follow(successors_, {side->getNumber()}, passable);
  known->second.assign(before.set_bits_begin(), before.set_bits_end());
  return known->second;
}

bool WaysToWrites::ComeFirst(Block branch, Block side, Block to) const {
  return llvm::binary_search(BeforeMeeting(branch, side), to->getNumber());
}

WaysToWrites::Blocks WaysToWrites::ToReleases(const Sides& sides) const {
  Blocks ways = Behind(sides);
  ways &= to_releases_;
  return ways;
}

const WaysToWrites::Blocks* WaysToWrites::ToPlain(Block branch,
                                                  const Sides& sides) const {
  const auto [known, is_new] =
      to_plain_.try_emplace({branch->getNumber(), Numbers(sides)});
  if (is_new) {
    std::vector<unsigned> writes;
    for (Block side : sides) {
      for (unsigned number : BeforeMeeting(branch, side)) {
        if (plain_.test(number)) writes.push_back(number);
      }
    }
    // Empty, not of the function's size, if there are none.
    if (!writes.empty()) {
      known->second = Follow(predecessors_, writes, Behind(sides));
    }
  }
  return known->second.empty() ? nullptr : &known->second;
}

}  // namespace cerberus::ptx
