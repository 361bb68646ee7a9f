#include "ptxc/passes/lanes/partings.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_masks.h"
#include "ptxc/passes/lanes/waiting.h"
#include "ptxc/passes/lanes/waves.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Function;
using llvm::Instruction;
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
      llvm::CallInst* first =
          b.CreateIntrinsic(llvm::Intrinsic::amdgcn_readfirstlane,
                            {instruction->getType()}, {instruction});
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
    return IsWaveCall(instruction, "ballot") || IsSameInAWarp(instruction);
  }

  std::vector<CallInst*> firsts_;
};

class Partings {
 public:
  Partings(Function& function, const llvm::DominatorTree& dominators,
           llvm::UniformityInfo& uniformity)
      : dominators_(dominators), loops_(dominators), uniformity_(uniformity) {
    for (BasicBlock* block :
         llvm::ReversePostOrderTraversal<Function*>(&function)) {
      if (uniformity_.hasDivergentTerminator(*block) &&
          !IsSameInAWarp(*block->getTerminator()->getOperand(0))) {
        parting_.push_back(block);
      }
      bool behind_barrier = false;
      for (Instruction& instruction : *block) {
        if (CallInst* join = AsJoin(instruction)) {
          joins_.push_back(join);
          if (behind_barrier) behind_barrier_.insert(join);
        } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
                   call && JoinsWithin(*call)) {
          calls_.push_back(call);
        }
        behind_barrier |= IsBarrier(instruction);
      }
      if (behind_barrier) barriers_.insert(block);
    }
    llvm::erase_if(joins_, [this](CallInst* join) { return HasAll(*join); });
    for (CallInst* join : joins_) {
      llvm::SmallPtrSet<const Value*, 4> seen;
      if (uniformity_.isDivergentUse(join->getArgOperandUse(0)) &&
          !FormsGroupsAt(*MaskOf(*join), *join->getParent(), &seen)) {
        of_other_masks_.push_back(join);
      }
    }
    for (CallInst* join : joins_) joins_in_[join->getParent()].push_back(join);
    if (!joins_.empty() || !calls_.empty()) meetings_.recalculate(function);
  }

  PartingsFound Find() {
    PartingsFound result;
    std::vector<Parting>& found = result.partings;
    result.branches = parting_;
    if (joins_.empty() && calls_.empty()) return result;
    NumberKinds();
    for (BasicBlock* branch : parting_) {
      if (AddSides(branch)) found.push_back({{branch}});
      for (llvm::CallBase* call : calls_) {
        if (IsOnOneSide(branch, *call) &&
            !llvm::is_contained(result.calls, call)) {
          result.calls.push_back(call);
        }
      }
    }
    AddPairs(&found);
    // Those that begin at one branch would overlap, and become one region.
    llvm::MapVector<BasicBlock*, llvm::SetVector<BasicBlock*>> from;
    for (CallInst* join : of_other_masks_) {
      const Parting parting = From(*join);
      from[parting.branches[0]].insert(parting.held.begin(),
                                       parting.held.end());
    }
    for (auto& [branch, held] : from) {
      found.push_back({{branch}, {held.begin(), held.end()}});
    }
    return result;
  }

 private:
  // Whether lanes that come to `at` together have masks that put them into
  // groups, since they got them from each other or know no others.
  bool FormsGroupsAt(const Value& mask, const BasicBlock& at,
                     llvm::SmallPtrSet<const Value*, 4>* seen) const {
    if (uniformity_.isUniform(&mask) || FormsGroups(mask)) return true;
    const auto* instruction = llvm::dyn_cast<Instruction>(WithoutFirst(&mask));
    if (!instruction) return false;
    // Behind a loop lanes have masks of several rounds.
    const llvm::Loop* loop = loops_.getLoopFor(instruction->getParent());
    if (loop && !loop->contains(&at)) return false;
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
      if (!loop || loop->getHeader() != phi->getParent()) return false;
      if (!seen->insert(phi).second) return true;
      return llvm::all_of(phi->incoming_values(), [&](const Value* value) {
        return FormsGroupsAt(*value, *phi->getParent(), seen);
      });
    }
    if (instruction->getOpcode() == Instruction::And) {
      const Value* part = instruction->getOperand(1);
      return llvm::isa<llvm::Constant>(part) &&
             FormsGroupsAt(*instruction->getOperand(0), at, seen);
    }
    return IsWaveCall(*instruction, "ballot") || IsVoteOrMatch(*instruction);
  }
  // Which gives a mask to those that are in it.
  static bool IsVoteOrMatch(const Instruction& instruction) {
    if (!IsJoin(instruction)) return false;
    const llvm::StringRef name =
        llvm::cast<CallInst>(instruction).getCalledFunction()->getName();
    return (name.contains("vote.") && name.contains(".ballot")) ||
           (name.contains("match.") && name.contains(".any"));
  }

  // Lanes that part at the join, of which some may come to others of its kind
  // before, or to it again.
  Parting From(CallInst& join) const {
    BasicBlock* block = join.getParent();
    BlockSet behind;
    for (const BasicBlock* next : llvm::successors(block)) {
      const BlockSet reached = Reach(next);
      behind.insert(reached.begin(), reached.end());
    }
    BasicBlock* branch = block;
    Parting parting;
    for (const CallInst* other : joins_) {
      if (other == &join || (behind.contains(other->getParent()) &&
                             kinds_.lookup(other) == kinds_.lookup(&join))) {
        auto* place = const_cast<BasicBlock*>(other->getParent());
        parting.held.push_back(place);
        // Where they go on.
        if (BasicBlock* next = place->getSingleSuccessor()) {
          parting.held.push_back(next);
        }
      }
    }
    for (const llvm::Loop* loop = loops_.getLoopFor(block);
         loop && behind.contains(loop->getHeader());
         loop = loop->getParentLoop()) {
      branch = loop->getHeader();
      parting.held.insert(parting.held.end(), loop->block_begin(),
                          loop->block_end());
    }
    // None in front of the function's first block: then it is one region.
    if (const auto* node = dominators_.getNode(branch)->getIDom()) {
      branch = node->getBlock();
    }
    parting.branches = {branch};
    return parting;
  }

  // Whether the call stays one, of a function in which lanes meet by masks.
  bool JoinsWithin(const llvm::CallBase& call) {
    return MayCall(call, [this](const Function& callee) {
      return !callee.isDeclaration() && HasJoins(callee);
    });
  }
  bool HasJoins(const Function& function) {
    const auto [known, is_new] = with_joins_.insert({&function, false});
    if (!is_new) return known->second;  // false as well within recursion
    const bool has = llvm::any_of(
        llvm::instructions(function), [this](const Instruction& instruction) {
          const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
          return IsJoin(instruction) || (call && JoinsWithin(*call));
        });
    return with_joins_[&function] = has;
  }
  bool IsOnOneSide(BasicBlock* branch, const llvm::CallBase& call) const {
    const BasicBlock* meet = MeetingOf(branch);
    const auto comes = [&](const BasicBlock* side) {
      return Reach(side, {meet, branch}).contains(call.getParent());
    };
    return llvm::any_of(llvm::successors(branch), comes) &&
           !llvm::all_of(llvm::successors(branch), comes);
  }

  void NumberKinds() {
    unsigned number = 0;
    for (const Joins& kind : KindsOf(joins_)) {
      for (const CallInst* join : kind) kinds_[join] = number;
      ++number;
    }
  }

  // The blocks that are reached without passing a barrier, where all lanes are
  // together, or one of `ends`.
  BlockSet Reach(const BasicBlock* from,
                 std::initializer_list<const BasicBlock*> ends = {}) const {
    BlockSet reached;
    std::vector<const BasicBlock*> work = {from};
    while (!work.empty()) {
      const BasicBlock* block = work.back();
      work.pop_back();
      if (llvm::is_contained(ends, block) || !reached.insert(block).second ||
          barriers_.contains(block)) {
        continue;
      }
      work.insert(work.end(), llvm::succ_begin(block), llvm::succ_end(block));
    }
    return reached;
  }

  const BasicBlock* MeetingOf(const BasicBlock* branch) const {
    const llvm::DomTreeNode* node = meetings_.getNode(branch);
    return node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
  }

  // A branch whose sides do not have as many joins of a kind.
  struct Uneven {
    BasicBlock* branch;
    unsigned kind;
    std::optional<unsigned> side;  // if all are on one
  };

  // Whether joins of a kind stand on two sides of the branch, in front of where
  // they meet. Behind where lanes of both sides come another branch has parted
  // them.
  bool AddSides(BasicBlock* branch) {
    const BasicBlock* meet = MeetingOf(branch);
    llvm::SmallVector<llvm::SmallPtrSet<const CallInst*, 8>, 2> sides;
    for (const BasicBlock* side : llvm::successors(branch)) {
      const BlockSet reached = Reach(side, {meet, branch});
      auto& joins = sides.emplace_back();
      for (const CallInst* join : joins_) {
        if (reached.contains(join->getParent()) &&
            !behind_barrier_.contains(join)) {
          joins.insert(join);
        }
      }
    }
    bool on_both = false;
    std::map<unsigned, std::optional<unsigned>> side_of_kind;
    for (unsigned here = 0; here < sides.size(); ++here) {
      for (const CallInst* join : sides[here]) {
        const auto [known, is_new] =
            side_of_kind.insert({kinds_.lookup(join), here});
        if (!is_new && known->second != here) known->second.reset();
        on_both |= llvm::any_of(sides, [&](const auto& there) {
          return !there.contains(join) &&
                 llvm::any_of(there, [&](const CallInst* other) {
                   return kinds_.lookup(other) == kinds_.lookup(join);
                 });
        });
      }
    }
    for (const auto& [kind, side] : side_of_kind) {
      if (side || !IsEven(branch, meet, kind)) {
        uneven_.push_back({branch, kind, side});
      }
    }
    return on_both;
  }

  // Whether a lane comes to as many joins of the kind on all ways from the
  // branch to where they meet, and with the same mask, so that none is left for
  // behind that.
  bool IsEven(const BasicBlock* branch, const BasicBlock* meet,
              unsigned kind) const {
    const Value* mask = nullptr;
    llvm::DenseMap<const BasicBlock*, unsigned> passed_before;
    std::optional<unsigned> in_all;
    std::vector<const BasicBlock*> work;
    const auto end = [&](unsigned passed) {
      if (!in_all) in_all = passed;
      return *in_all == passed;
    };
    const auto come = [&](const BasicBlock* block, unsigned passed) {
      if (block == meet) return end(passed);
      if (block == branch) return passed == 0;
      const auto [known, is_new] = passed_before.insert({block, passed});
      if (is_new) work.push_back(block);
      return known->second == passed;
    };
    const auto come_behind = [&](const BasicBlock* block, unsigned passed) {
      return llvm::all_of(llvm::successors(block), [&](const BasicBlock* next) {
        return come(next, passed);
      });
    };
    if (!come_behind(branch, 0)) return false;
    while (!work.empty()) {
      const BasicBlock* block = work.back();
      work.pop_back();
      unsigned passed = passed_before.lookup(block);
      for (const CallInst* join : joins_in_.lookup(block)) {
        if (behind_barrier_.contains(join) || kinds_.lookup(join) != kind) {
          continue;
        }
        ++passed;
        if (!mask) mask = MaskOf(*join);
        if (mask != MaskOf(*join)) return false;
      }
      if (!(barriers_.contains(block) ? end(passed)
                                      : come_behind(block, passed))) {
        return false;
      }
    }
    return true;
  }

  // Where those may go that have passed joins of the kind by.
  BlockSet Behind(const Uneven& uneven) const {
    BlockSet behind;
    const Instruction& parts = *uneven.branch->getTerminator();
    for (unsigned side = 0; side < parts.getNumSuccessors(); ++side) {
      if (side == uneven.side) continue;
      const BlockSet reached = Reach(parts.getSuccessor(side));
      behind.insert(reached.begin(), reached.end());
    }
    return behind;
  }

  // Lanes that have passed joins by may wait for others at a second branch. All
  // branches that are each other's second, or a third one's, are of one region.
  void AddPairs(std::vector<Parting>* found) const {
    const auto size = static_cast<unsigned>(parting_.size());
    llvm::DenseMap<const BasicBlock*, unsigned> number;
    for (unsigned i = 0; i < size; ++i) number[parting_[i]] = i;
    std::map<unsigned, std::vector<const Uneven*>> of_kind;
    for (const Uneven& uneven : uneven_) {
      of_kind[uneven.kind].push_back(&uneven);
    }
    std::map<std::pair<unsigned, std::optional<unsigned>>, BlockSet> behind;
    llvm::IntEqClasses classes(size);
    llvm::BitVector firsts(size), seconds(size);
    std::vector<std::pair<unsigned, unsigned>> again;
    std::set<std::pair<unsigned, const llvm::Loop*>> rounds;
    for (const Uneven& first : uneven_) {
      const unsigned i = number[first.branch];
      const auto [reached, is_new] = behind.insert({{i, first.side}, {}});
      if (is_new) reached->second = Behind(first);
      for (const Uneven* second : of_kind[first.kind]) {
        if (!reached->second.contains(second->branch) ||
            barriers_.contains(second->branch) ||
            (first.branch != second->branch && AreSame(first, *second))) {
          continue;
        }
        const unsigned j = number[second->branch];
        classes.join(i, j);
        firsts.set(i);
        seconds.set(j);
        const llvm::Loop* loop = loops_.getLoopFor(second->branch);
        if (loop &&
            !dominators_.properlyDominates(first.branch, second->branch) &&
            rounds.insert({i, loop}).second) {
          again.push_back({i, j});
        }
      }
    }
    classes.compress();
    std::map<unsigned, Parting> of_class;  // in order of their first branches
    for (unsigned i = 0; i < size; ++i) {
      if (!firsts[i] && !seconds[i]) continue;
      Parting& parting = of_class[classes[i]];
      parting.branches.push_back(parting_[i]);
      if (seconds[i]) parting.held.push_back(parting_[i]);
    }
    for (const auto& [i, j] : again) {
      of_class[classes[i]].again.push_back({parting_[i], parting_[j]});
    }
    for (auto& [leader, parting] : of_class) {
      found->push_back(std::move(parting));
    }
  }

  // Whether the same lanes go to the joins of both.
  static bool AreSame(const Uneven& a, const Uneven& b) {
    const auto* first =
        llvm::dyn_cast<llvm::BranchInst>(a.branch->getTerminator());
    const auto* second =
        llvm::dyn_cast<llvm::BranchInst>(b.branch->getTerminator());
    return first && second && first->getCondition() == second->getCondition() &&
           a.side && a.side == b.side;
  }

  // Whether all lanes of the mask are at the join when one is: the mask was
  // made of those that were together in front of it, and all of them come.
  bool HasAll(const CallInst& join) const {
    constexpr int kMostSteps = 8;
    return IsOfThoseHere(*MaskOf(join), join, kMostSteps);
  }
  bool IsOfThoseHere(const Value& mask, const CallInst& join, int steps) const {
    const auto* instruction = llvm::dyn_cast<Instruction>(WithoutFirst(&mask));
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
    if (IsWaveCall(*call, "ballot")) {
      chosen = call->getArgOperand(0);
    } else if (IsJoin(*call) && name.contains("vote.") &&
               name.contains(".ballot")) {
      chosen = call->getArgOperand(1);
    } else if (!IsJoin(*call) || !name.contains("match.") ||
               !name.contains(".any")) {
      return false;
    }
    return ComeTogether(*call->getParent(), *join.getParent(), chosen);
  }

  // What WarpValues put around it taken away.
  static const Value* WithoutFirst(const Value* value) {
    const auto* call = llvm::dyn_cast<CallInst>(value);
    return call && call->getIntrinsicID() ==
                       llvm::Intrinsic::amdgcn_readfirstlane
               ? call->getArgOperand(0)
               : value;
  }

  // Whether the lanes that are together at `from`, or those of them for which
  // `chosen` holds, come together to `to`: at no branch that parts them do some
  // leave all ways there.
  bool ComeTogether(const BasicBlock& from, const BasicBlock& to,
                    const Value* chosen) const {
    if (&from == &to) return true;
    if (!dominators_.dominates(&from, &to)) return false;
    // In the same round of loops around `to` alone, which all go together.
    llvm::SmallDenseMap<const BasicBlock*, const llvm::Loop*> rounds;
    for (const llvm::Loop* loop = loops_.getLoopFor(&to);
         loop && !loop->contains(&from); loop = loop->getParentLoop()) {
      llvm::SmallVector<BasicBlock*, 4> exiting;
      loop->getExitingBlocks(exiting);
      if (llvm::any_of(exiting, [this](BasicBlock* block) {
            return llvm::is_contained(parting_, block);
          })) {
        return false;
      }
      rounds[loop->getHeader()] = loop;
    }
    BlockSet ways;
    std::vector<const BasicBlock*> work;
    const auto go_back_from = [&](const BasicBlock* block) {
      const llvm::Loop* begun = rounds.lookup(block);
      for (const BasicBlock* before : llvm::predecessors(block)) {
        if (!begun || !begun->contains(before)) work.push_back(before);
      }
    };
    go_back_from(&to);
    while (!work.empty()) {
      const BasicBlock* block = work.back();
      work.pop_back();
      if (ways.insert(block).second && block != &from) go_back_from(block);
    }
    const auto comes = [&](const BasicBlock* next) {
      return next == &to || (next != &from && ways.contains(next));
    };
    return llvm::all_of(parting_, [&](const BasicBlock* branch) {
      if (!ways.contains(branch)) return true;
      if (llvm::all_of(llvm::successors(branch), comes)) return true;
      const auto* by =
          llvm::dyn_cast<llvm::BranchInst>(branch->getTerminator());
      return chosen && by && by->isConditional() &&
             WithoutFirst(by->getCondition()) == WithoutFirst(chosen) &&
             comes(by->getSuccessor(0));
    });
  }

  const llvm::DominatorTree& dominators_;
  llvm::LoopInfo loops_;
  llvm::UniformityInfo& uniformity_;
  llvm::PostDominatorTree meetings_;
  std::vector<BasicBlock*> parting_;  // at whose ends lanes part
  BlockSet barriers_;                 // blocks with one
  std::vector<CallInst*> joins_;      // which may have to wait
  llvm::DenseMap<const BasicBlock*, Joins> joins_in_;
  std::vector<CallInst*> of_other_masks_;  // than the lanes that they name
  std::vector<llvm::CallBase*> calls_;
  llvm::DenseMap<const Function*, bool> with_joins_;
  llvm::SmallPtrSet<const CallInst*, 8> behind_barrier_;  // in their blocks
  llvm::DenseMap<const CallInst*, unsigned> kinds_;
  std::vector<Uneven> uneven_;
};

}  // namespace

PartingsFound FindPartings(Function& function,
                           const llvm::DominatorTree& dominators,
                           llvm::FunctionAnalysisManager& analyses,
                           Lanes lanes) {
  std::vector<BasicBlock*> of_wave;
  if (lanes == Lanes::kOfAWave) {
    auto& uniformity =
        analyses.getResult<llvm::UniformityInfoAnalysis>(function);
    for (BasicBlock* block :
         llvm::ReversePostOrderTraversal<Function*>(&function)) {
      if (uniformity.hasDivergentTerminator(*block)) of_wave.push_back(block);
    }
  }
  llvm::PreservedAnalyses ways;
  ways.preserveSet<llvm::CFGAnalyses>();
  PartingsFound found;
  {
    const WarpValues values(function);
    analyses.invalidate(function, ways);
    found = Partings(function, dominators,
                     analyses.getResult<llvm::UniformityInfoAnalysis>(function))
                .Find();
  }
  analyses.invalidate(function, ways);
  if (lanes == Lanes::kOfAWave) found.branches = std::move(of_wave);
  return found;
}

}  // namespace cerberus::ptx
