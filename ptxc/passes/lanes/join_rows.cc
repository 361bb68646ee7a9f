#include "ptxc/passes/lanes/join_rows.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include "ptxc/address_spaces.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_regions.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Instruction;
using llvm::Value;

// Ways through blocks, and pairs of places, that are looked at for one kind.
constexpr std::size_t kMostSteps = 1 << 22;
constexpr std::size_t kMostPairs = 1 << 16;

// Which joins of one kind lanes may be at that wait for each other.
class Turns {
 public:
  using Next = llvm::DenseMap<const CallInst*, CallInst*>;

  Turns(const Region& region, llvm::ArrayRef<CallInst*> kind, const Next& next,
        const JoinRows::BlockSet& partings)
      : region_(region), kind_(kind), next_(next), partings_(partings) {
    for (std::size_t i = 0; i < kind.size(); ++i) {
      place_at_[kind[i]->getParent()] = i;
    }
    for (const CallInst* join : kind) {
      if (const auto next = NextInRow(join)) in_row_.insert(*next);
    }
    const Value* mask = MaskOf(*kind.front());
    one_mask_ = IsInvariant(mask, 0) && llvm::all_of(kind, [&](CallInst* join) {
                  return MaskOf(*join) == mask;
                });
  }

  // Those at which lanes may wait for others elsewhere.
  std::vector<CallInst*> FindApart() {
    if (kind_.size() == 1) return {};
    Come(Behind(nullptr));
    while (!work_.empty() && !too_many_) {
      const auto [i, j] = work_.back();
      work_.pop_back();
      if (i == j) {
        Come(Behind(kind_[i]));
      } else {
        ComeApart(Behind(kind_[i]).places, Behind(kind_[j]).places);
      }
    }
    std::vector<CallInst*> result;
    for (std::size_t i = 0; i < kind_.size(); ++i) {
      if (too_many_ || apart_.contains(i)) result.push_back(kind_[i]);
    }
    return result;
  }

 private:
  using Places = llvm::SmallSetVector<std::size_t, 4>;
  // At a branch by a value that all lanes have alike they go one way.
  struct Choice {
    const Instruction* branch = nullptr;
    unsigned way = 0;
    bool Leaves(const Instruction& terminator, unsigned successor) const {
      return branch && successor != way &&
             (&terminator == branch ||
              (llvm::isa<llvm::BranchInst>(terminator) &&
               llvm::isa<llvm::BranchInst>(branch) &&
               terminator.getOperand(0) == branch->getOperand(0)));
    }
  };
  // Where lanes may come next.
  struct Onward {
    Places places;
    // Those to which they may come by each choice at each such branch.
    std::vector<std::vector<Places>> by_choice;
  };

  // All lanes stood in one place before.
  void Come(const Onward& onward) {
    const auto may_be_apart = [&](std::size_t i, std::size_t j) {
      return llvm::all_of(onward.by_choice, [&](const auto& choices) {
        return llvm::any_of(choices, [&](const Places& places) {
          return places.contains(i) && places.contains(j);
        });
      });
    };
    for (const std::size_t i : onward.places) {
      for (const std::size_t j : onward.places) {
        if (i == j || may_be_apart(i, j)) AddPair(i, j);
      }
    }
  }

  void ComeApart(const Places& some, const Places& others) {
    for (const std::size_t i : some) {
      for (const std::size_t j : others) AddPair(i, j);
    }
  }

  void AddPair(std::size_t i, std::size_t j) {
    if (i > j) std::swap(i, j);
    if (!pairs_.insert({i, j}).second) return;
    work_.push_back({i, j});
    too_many_ |= pairs_.size() > kMostPairs;
    if (i == j) return;
    apart_.insert(i);
    apart_.insert(j);
  }

  // The next of the kind in its row.
  std::optional<std::size_t> NextInRow(const CallInst* join) const {
    while (join && (join = next_.lookup(join))) {
      const auto place = place_at_.find(join->getParent());
      if (place != place_at_.end() && kind_[place->second] == join) {
        return place->second;
      }
    }
    return std::nullopt;
  }

  // Behind a join, or of lanes that come into the region.
  const Onward& Behind(const CallInst* join) {
    const auto [known, is_new] = behind_.try_emplace(join);
    Onward& onward = known->second;
    if (!is_new) return onward;
    if (const auto next = NextInRow(join)) {
      onward.places.insert(*next);
      return onward;
    }
    const BasicBlock* from = join ? join->getParent() : region_.first;
    llvm::SmallSetVector<const Instruction*, 4> branches;
    onward.places = Reached(from, {}, &branches);
    if (onward.places.size() < 2) return onward;
    for (const Instruction* branch : branches) {
      auto& choices = onward.by_choice.emplace_back();
      for (unsigned way = 0; way < branch->getNumSuccessors(); ++way) {
        choices.push_back(Reached(from, {branch, way}, nullptr));
      }
    }
    return onward;
  }

  // With masks that may be others each time lanes may have passed by any row.
  Places Reached(const BasicBlock* from, const Choice& choice,
                 llvm::SmallSetVector<const Instruction*, 4>* branches) {
    Places places;
    llvm::SmallPtrSet<const BasicBlock*, 16> seen;
    std::vector<const BasicBlock*> work;
    const auto leave = [&](const BasicBlock* block) {
      const Instruction& last = *block->getTerminator();
      if (branches && IsAlike(block)) branches->insert(&last);
      for (unsigned i = 0; i < last.getNumSuccessors(); ++i) {
        if (!choice.Leaves(last, i)) work.push_back(last.getSuccessor(i));
      }
    };
    leave(from);
    while (!work.empty() && !too_many_) {
      const BasicBlock* block = work.back();
      work.pop_back();
      if (!region_.blocks.contains(const_cast<BasicBlock*>(block)) ||
          !seen.insert(block).second) {
        continue;
      }
      too_many_ |= ++steps_ > kMostSteps;
      const auto place = place_at_.find(block);
      if (place != place_at_.end() && !in_row_.contains(place->second)) {
        places.insert(place->second);
      }
      if (place == place_at_.end() || !one_mask_) leave(block);
    }
    return places;
  }

  // Whether all lanes in the region go one way there, each time.
  bool IsAlike(const BasicBlock* block) {
    const Instruction* last = block->getTerminator();
    return last->getNumSuccessors() > 1 && !partings_.contains(block) &&
           IsInvariant(last->getOperand(0), 0);
  }

  // Whether a lane has the same value there throughout the region.
  bool IsInvariant(const Value* value, int depth) {
    constexpr int kDeepest = 16;
    const auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction) return true;
    BasicBlock* block = const_cast<BasicBlock*>(instruction->getParent());
    if (!region_.blocks.contains(block)) return true;
    if (llvm::isa<llvm::PHINode>(instruction) || depth == kDeepest) {
      return false;
    }
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      if (load->isVolatile() || load->isAtomic() ||
          !(load->hasMetadata(llvm::LLVMContext::MD_invariant_load) ||
            load->getPointerAddressSpace() == kAsConstant)) {
        return false;
      }
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(instruction)) {
      if (call->isConvergent() || !call->doesNotAccessMemory()) return false;
    } else if (instruction->mayReadOrWriteMemory()) {
      return false;
    }
    return llvm::all_of(instruction->operands(), [&](const llvm::Use& operand) {
      return IsInvariant(operand, depth + 1);
    });
  }

  const Region& region_;
  llvm::ArrayRef<CallInst*> kind_;
  const Next& next_;
  const JoinRows::BlockSet& partings_;
  bool one_mask_ = false;  // which each lane has for all of the kind
  llvm::DenseMap<const BasicBlock*, std::size_t> place_at_;
  llvm::DenseSet<std::size_t> in_row_;  // behind another of the kind
  std::map<const CallInst*, Onward> behind_;
  llvm::DenseSet<std::pair<std::size_t, std::size_t>> pairs_;
  std::vector<std::pair<std::size_t, std::size_t>> work_;
  llvm::DenseSet<std::size_t> apart_;
  std::size_t steps_ = 0;
  bool too_many_ = false;
};

}  // namespace

JoinRows::JoinRows(const Region& region, llvm::ArrayRef<CallInst*> joins,
                   const Flow& flow, Together* together)
    : region_(region) {
  for (CallInst* join : joins) {
    CallInst* next = NextInRow(*join, flow, together);
    if (!next) continue;
    next_[join] = next;
    before_[next] = join;
  }
  for (const Joins& kind : KindsOf(joins)) {
    const std::vector<CallInst*> apart =
        Turns(region, kind, next_, flow.partings).FindApart();
    apart_.insert(apart.begin(), apart.end());
  }
}

// The join by the same mask to which all lanes come that were together at this
// one, with nothing between that takes lanes together.
CallInst* JoinRows::NextInRow(const CallInst& join, const Flow& flow,
                              Together* together) const {
  const BasicBlock* from = join.getParent();
  for (;;) {
    const llvm::DomTreeNode* node = flow.post_dominators.getNode(from);
    node = node ? node->getIDom() : nullptr;
    BasicBlock* to = node ? node->getBlock() : nullptr;
    // Once for each time that they were there.
    if (!to || !region_.blocks.contains(to) ||
        !flow.dominators.dominates(from, to) ||
        flow.cycles.getCycle(from) != flow.cycles.getCycle(to) ||
        flow.yields.contains(to) || !IsPlain(from, to, flow, together)) {
      return nullptr;
    }
    for (Instruction& instruction : *to) {
      if (!(*together)(instruction)) continue;
      CallInst* next = AsJoin(instruction);
      return next && !IsOfTheWave(*next) && MaskOf(*next) == MaskOf(join)
                 ? next
                 : nullptr;
    }
    from = to;
  }
}

// Whether lanes go on together from one block to the other, whatever is
// between.
bool JoinRows::IsPlain(const BasicBlock* from, const BasicBlock* to,
                       const Flow& flow, Together* together) const {
  llvm::SmallPtrSet<const BasicBlock*, 8> seen = {to};
  std::vector<const BasicBlock*> work(llvm::succ_begin(from),
                                      llvm::succ_end(from));
  while (!work.empty()) {
    const BasicBlock* block = work.back();
    work.pop_back();
    if (!seen.insert(block).second) continue;
    if (block == from || flow.yields.contains(block) ||
        !region_.blocks.contains(const_cast<BasicBlock*>(block)) ||
        llvm::any_of(*block, [together](const Instruction& instruction) {
          return (*together)(instruction);
        })) {
      return false;
    }
    work.insert(work.end(), llvm::succ_begin(block), llvm::succ_end(block));
  }
  return true;
}

}  // namespace cerberus::ptx
