#include "ptxc/passes/partings.h"

#include <map>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

#include "ptxc/passes/joins.h"
#include "ptxc/passes/waiting.h"
#include "ptxc/passes/waves.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Function;
using llvm::Instruction;
using llvm::Loop;
using llvm::Value;

using BlockSet = llvm::SmallPtrSet<const BasicBlock*, 16>;

// Tells LLVM's analysis while it lives which values are the same in all lanes
// of a warp.
class WarpValues {
 public:
  explicit WarpValues(Function& function) {
    std::vector<Instruction*> same;
    for (Instruction& instruction : llvm::instructions(function)) {
      if (instruction.getType()->isIntegerTy() && IsSame(instruction)) {
        same.push_back(&instruction);
      }
    }
    for (Instruction* instruction : same) {
      llvm::IRBuilder<> b(instruction->getParent(),
                          std::next(instruction->getIterator()));
      llvm::CallInst* first = b.CreateIntrinsic(
          llvm::Intrinsic::amdgcn_readfirstlane, {instruction->getType()},
          {instruction});
      instruction->replaceUsesWithIf(
          first, [&](llvm::Use& use) { return use.getUser() != first; });
      firsts_.push_back(first);
    }
  }
  ~WarpValues() {
    for (CallInst* first : firsts_) {
      first->replaceAllUsesWith(first->getArgOperand(0));
      first->eraseFromParent();
    }
  }
  WarpValues(const WarpValues&) = delete;
  WarpValues& operator=(const WarpValues&) = delete;

 private:
  static bool IsSame(Instruction& instruction) {
    if (const CallInst* join = AsJoin(instruction)) {
      // What all lanes get from each other.
      const llvm::StringRef name = join->getCalledFunction()->getName();
      const auto* mask = llvm::dyn_cast<llvm::ConstantInt>(MaskOf(*join));
      if (!mask || !mask->isMinusOne()) return false;
      return name.contains("vote.") || name.contains("redux.") ||
             name.contains("elect.") ||
             (name.contains("shfl.") && IsSameInAWarp(*join->getArgOperand(1)));
    }
    if (const auto* call = llvm::dyn_cast<CallInst>(&instruction)) {
      const Function* callee = call->getCalledFunction();
      return callee && callee->getName() == "__cerberus_wave_ballot";
    }
    return IsSameInAWarp(instruction);
  }

  std::vector<CallInst*> firsts_;
};

class Partings {
 public:
  Partings(Function& function, const llvm::DominatorTree& dominators,
           const llvm::PostDominatorTree& meetings,
           const llvm::LoopInfo& loops, llvm::UniformityInfo& uniformity)
      : dominators_(dominators),
        meetings_(meetings),
        loops_(loops) {
    for (BasicBlock* block :
         llvm::ReversePostOrderTraversal<Function*>(&function)) {
      if (uniformity.hasDivergentTerminator(*block) &&
          !IsSameInAWarp(*block->getTerminator()->getOperand(0))) {
        parting_.push_back(block);
      }
      bool behind_barrier = false;
      for (Instruction& instruction : *block) {
        behind_barrier |= IsBarrier(instruction);
        CallInst* join = AsJoin(instruction);
        if (!join) continue;
        joins_.push_back(join);
        if (behind_barrier) behind_barrier_.insert(join);
      }
      if (behind_barrier) barriers_.insert(block);
    }
    llvm::erase_if(joins_, [this](CallInst* join) { return HasAll(*join); });
  }

  std::vector<Parting> Find() {
    std::vector<Parting> found;
    if (joins_.empty()) return found;
    NumberKinds();
    for (BasicBlock* branch : parting_) {
      const Loop* around = nullptr;
      for (const Loop* loop = loops_.getLoopFor(branch); loop;
           loop = loop->getParentLoop()) {
        if (PassesBy(branch, *loop)) around = loop;
      }
      if (around || OnBothSides(branch)) found.push_back({branch, around});
    }
    return found;
  }

 private:
  // Joins of one kind may have to wait for each other: those of one function,
  // unless all their masks are known.
  void NumberKinds() {
    llvm::DenseMap<const Function*, bool> known;
    for (const CallInst* join : joins_) {
      known.insert({join->getCalledFunction(), true}).first->second &=
          llvm::isa<llvm::ConstantInt>(MaskOf(*join));
    }
    llvm::DenseMap<std::pair<const Function*, const Value*>, unsigned> numbers;
    for (CallInst* join : joins_) {
      const Function* callee = join->getCalledFunction();
      const Value* mask = known.lookup(callee) ? MaskOf(*join) : nullptr;
      kinds_[join] = static_cast<unsigned>(
          numbers.insert({{callee, mask}, numbers.size()}).first->second);
    }
    number_of_kinds_ = static_cast<unsigned>(numbers.size());
  }

  // The joins that are reached from the begin of a block without passing a
  // barrier, where all lanes are together, or `end`.
  using Joins = llvm::SmallPtrSet<const CallInst*, 8>;
  Joins Reach(BasicBlock* from, const BasicBlock* end) const {
    BlockSet reached;
    std::vector<BasicBlock*> work = {from};
    while (!work.empty()) {
      BasicBlock* block = work.back();
      work.pop_back();
      if (block == end || !reached.insert(block).second ||
          barriers_.contains(block)) {
        continue;
      }
      work.insert(work.end(), llvm::succ_begin(block), llvm::succ_end(block));
    }
    Joins joins;
    for (const CallInst* join : joins_) {
      if (reached.contains(join->getParent()) &&
          !behind_barrier_.contains(join)) {
        joins.insert(join);
      }
    }
    return joins;
  }

  const BasicBlock* MeetingOf(const BasicBlock* branch) const {
    const llvm::DomTreeNode* node = meetings_.getNode(branch);
    return node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
  }

  // Whether two joins of a kind stand on two sides of the branch, in front of
  // where they meet. Behind where lanes of both sides come another branch has
  // parted them.
  bool OnBothSides(BasicBlock* branch) const {
    const BasicBlock* meet = MeetingOf(branch);
    llvm::SmallVector<Joins, 2> sides;
    for (BasicBlock* side : llvm::successors(branch)) {
      sides.push_back(Reach(side, meet));
    }
    for (const Joins& here : sides) {
      for (const Joins& there : sides) {
        if (&here == &there) continue;
        llvm::SmallDenseSet<unsigned> kinds;
        for (const CallInst* join : there) kinds.insert(kinds_.lookup(join));
        if (llvm::any_of(here, [&](const CallInst* join) {
              return !there.contains(join) &&
                     kinds.contains(kinds_.lookup(join));
            })) {
          return true;
        }
      }
    }
    return false;
  }

  // Of a loop's round and a kind of joins: the blocks from which one can be
  // reached, and those from which the next round can without.
  struct Round {
    BlockSet to_join, past;
  };
  const Round& RoundOf(const Loop& loop, unsigned kind) {
    const auto [known, is_new] = rounds_.insert({{&loop, kind}, Round()});
    Round& round = known->second;
    if (!is_new) return round;
    BlockSet joins;
    llvm::SmallVector<const BasicBlock*, 8> goals;
    for (const CallInst* join : joins_) {
      if (kinds_.lookup(join) != kind || !loop.contains(join)) continue;
      joins.insert(join->getParent());
      if (!behind_barrier_.contains(join)) goals.push_back(join->getParent());
    }
    round.to_join = Before(goals, loop, {});
    if (!round.to_join.contains(loop.getHeader())) return round;
    llvm::SmallVector<BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    goals.clear();
    for (const BasicBlock* latch : latches) {
      if (!joins.contains(latch) && !barriers_.contains(latch)) {
        goals.push_back(latch);
      }
    }
    round.past = Before(goals, loop, joins);
    return round;
  }

  // Whether some lanes go from the branch to a join, and others past all of its
  // kind into the loop's next round.
  bool PassesBy(BasicBlock* branch, const Loop& loop) {
    for (unsigned kind = 0; kind < number_of_kinds_; ++kind) {
      const Round& round = RoundOf(loop, kind);
      if (!round.to_join.contains(loop.getHeader())) continue;
      for (const BasicBlock* by : llvm::successors(branch)) {
        if (by != loop.getHeader() && !round.past.contains(by)) continue;
        for (const BasicBlock* to : llvm::successors(branch)) {
          if (to != by && to != loop.getHeader() &&
              round.to_join.contains(to)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  // The blocks of the loop from whose begins one of `goals` can be reached in
  // the same round, without passing barriers or `not_through`.
  BlockSet Before(llvm::ArrayRef<const BasicBlock*> goals, const Loop& loop,
                  const BlockSet& not_through) const {
    BlockSet found;
    std::vector<const BasicBlock*> work(goals.begin(), goals.end());
    while (!work.empty()) {
      const BasicBlock* block = work.back();
      work.pop_back();
      if (!found.insert(block).second || block == loop.getHeader()) continue;
      for (const BasicBlock* before : llvm::predecessors(block)) {
        if (loop.contains(before) && !barriers_.contains(before) &&
            !not_through.contains(before)) {
          work.push_back(before);
        }
      }
    }
    return found;
  }

  // Whether all lanes of the mask are at the join when one is: the mask was
  // made of those that were together in front of it, and all of them come.
  bool HasAll(const CallInst& join) const {
    constexpr int kMostSteps = 8;
    return IsOfThoseHere(*MaskOf(join), join, kMostSteps);
  }
  bool IsOfThoseHere(const Value& mask, const CallInst& join, int steps) const {
    const auto* instruction = llvm::dyn_cast<Instruction>(&mask);
    if (!instruction || steps == 0) return false;
    if (instruction->getOpcode() == Instruction::And) {
      return llvm::any_of(instruction->operands(), [&](const Value* part) {
        return IsOfThoseHere(*part, join, steps - 1);
      });
    }
    const auto* call = llvm::dyn_cast<CallInst>(instruction);
    if (!call || !call->getCalledFunction()) return false;
    const llvm::StringRef name = call->getCalledFunction()->getName();
    const Value* chosen = nullptr;  // who is in the mask
    if (name == "__cerberus_wave_ballot") {
      chosen = call->getArgOperand(0);
    } else if (IsJoin(*call) && name.contains("vote.sync.ballot")) {
      chosen = call->getArgOperand(1);
    } else if (!IsJoin(*call) || !name.contains("match.any")) {
      return false;
    }
    return ComeTogether(*call->getParent(), *join.getParent(), chosen);
  }

  // Whether the lanes that are together at `from`, or those of them for which
  // `chosen` holds, come together to `to`: at no branch that parts them do some
  // leave all ways there.
  bool ComeTogether(const BasicBlock& from, const BasicBlock& to,
                    const Value* chosen) const {
    if (&from == &to) return true;
    if (!dominators_.dominates(&from, &to)) return false;
    BlockSet ways;
    std::vector<const BasicBlock*> work(llvm::pred_begin(&to),
                                        llvm::pred_end(&to));
    while (!work.empty()) {
      const BasicBlock* block = work.back();
      work.pop_back();
      if (!ways.insert(block).second || block == &from) continue;
      work.insert(work.end(), llvm::pred_begin(block), llvm::pred_end(block));
    }
    const auto comes = [&](const BasicBlock* next) {
      return next == &to || (next != &from && ways.contains(next));
    };
    return llvm::all_of(parting_, [&](const BasicBlock* branch) {
      if (!ways.contains(branch)) return true;
      if (llvm::all_of(llvm::successors(branch), comes)) return true;
      const auto* by =
          llvm::dyn_cast<llvm::BranchInst>(branch->getTerminator());
      return chosen && by && by->getCondition() == chosen &&
             comes(by->getSuccessor(0));
    });
  }

  const llvm::DominatorTree& dominators_;
  const llvm::PostDominatorTree& meetings_;
  const llvm::LoopInfo& loops_;
  std::vector<BasicBlock*> parting_;  // at whose ends lanes part
  BlockSet barriers_;  // blocks with one
  std::vector<CallInst*> joins_;  // which may have to wait
  llvm::SmallPtrSet<const CallInst*, 8> behind_barrier_;  // in their blocks
  llvm::DenseMap<const CallInst*, unsigned> kinds_;
  unsigned number_of_kinds_ = 0;
  std::map<std::pair<const Loop*, unsigned>, Round> rounds_;
};

}  // namespace

std::vector<Parting> FindPartings(Function& function,
                                  const llvm::DominatorTree& dominators,
                                  const llvm::PostDominatorTree& meetings,
                                  const llvm::LoopInfo& loops,
                                  llvm::FunctionAnalysisManager& analyses) {
  llvm::PreservedAnalyses ways;
  ways.preserveSet<llvm::CFGAnalyses>();
  std::vector<Parting> found;
  {
    const WarpValues values(function);
    analyses.invalidate(function, ways);
    found = Partings(function, dominators, meetings, loops,
                     analyses.getResult<llvm::UniformityInfoAnalysis>(function))
                .Find();
  }
  analyses.invalidate(function, ways);
  return found;
}

}  // namespace cerberus::ptx
