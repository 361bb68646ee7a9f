#include "ptxc/passes/lanes/packing.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "ptxc/passes/lanes/lane_progress.h"
#include "ptxc/passes/lanes/lane_regions.h"
#include "ptxc/passes/lanes/waiting.h"
#include "ptxc/passes/lanes/waves.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::Instruction;

// Whether all threads must come to the instruction together, or to one in the
// function that it calls.
bool MeetsBarrier(const Instruction& instruction,
                  const BarrierFunctions& with_barriers) {
  if (IsBarrier(instruction)) return true;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call && !call->isInlineAsm() &&
         with_barriers.count(call->getCalledFunction()) != 0;
}

using BlockSet = llvm::SmallPtrSet<const BasicBlock*, 16>;

// Control flow between the blocks from which one of `goals` can be reached.
// The others are as good as the function's end: who goes there meets nobody
// any more.
class FlowToward {
 public:
  FlowToward(Function& function, const BlockSet& goals,
             llvm::UniformityInfo& uniformity)
      : uniformity_(uniformity) {
    std::vector<BasicBlock*> work;
    for (BasicBlock& block : function) {
      if (goals.contains(&block)) work.push_back(&block);
    }
    while (!work.empty()) {
      BasicBlock* block = work.back();
      work.pop_back();
      if (!kept_.insert(block).second) continue;
      work.insert(work.end(), llvm::pred_begin(block), llvm::pred_end(block));
    }
    NumberBlocks(function);
    FindPostDominators();
  }

  // The blocks between a divergent branch and the place where its sides meet
  // again; only a part of a wave may pass there.
  struct Part {
    const BasicBlock* branch;
    BlockSet blocks;  // all behind it if they never meet
  };

  // Those with a block of `sites` in them.
  std::vector<Part> PartsAround(const BlockSet& sites) const {
    std::vector<Part> parts;
    for (const BasicBlock* block : order_) {
      if (!uniformity_.hasDivergentTerminator(*block)) continue;
      std::vector<const BasicBlock*> work = Next(block);
      if (work.size() < 2) continue;
      const int meet = meets_[Index(Number(block))];
      Part part = {block, {}};
      bool around = meet == kNever;
      while (!work.empty()) {
        const BasicBlock* at = work.back();
        work.pop_back();
        if (Number(at) == meet || !part.blocks.insert(at).second) continue;
        around |= sites.contains(at);
        for (const BasicBlock* next : Next(at)) work.push_back(next);
      }
      if (around) parts.push_back(std::move(part));
    }
    return parts;
  }

 private:
  static constexpr int kNever = -1;  // no path to the end
  static constexpr int kEnd = 0;

  std::vector<const BasicBlock*> Next(const BasicBlock* block) const {
    std::vector<const BasicBlock*> next;
    for (const BasicBlock* to : llvm::successors(block)) {
      if (kept_.contains(to) && !llvm::is_contained(next, to)) {
        next.push_back(to);
      }
    }
    return next;
  }
  int Number(const BasicBlock* block) const { return numbers_.at(block); }

  // Some lanes may leave for good here while others go on; where all leave
  // together is an end.
  bool Ends(const BasicBlock* block) const {
    const auto kept = [this](const BasicBlock* to) {
      return kept_.contains(to);
    };
    if (llvm::none_of(llvm::successors(block), kept)) return true;
    return !llvm::all_of(llvm::successors(block), kept) &&
           !uniformity_.hasDivergentTerminator(*block);
  }

  // Blocks in the order of a search from the end against the edges; the end
  // itself is 0.
  void NumberBlocks(Function& function) {
    std::vector<const BasicBlock*> ends;
    for (const BasicBlock& block : function) {
      if (kept_.contains(&block) && Ends(&block)) ends.push_back(&block);
    }
    // Reverse post-order of the reversed graph.
    std::vector<const BasicBlock*> post;
    llvm::SmallPtrSet<const BasicBlock*, 16> seen;
    struct Frame {
      const BasicBlock* block;
      llvm::const_pred_iterator next;
    };
    for (const BasicBlock* end : ends) {
      if (!seen.insert(end).second) continue;
      std::vector<Frame> stack = {{end, llvm::pred_begin(end)}};
      while (!stack.empty()) {
        Frame& top = stack.back();
        if (top.next == llvm::pred_end(top.block)) {
          post.push_back(top.block);
          stack.pop_back();
          continue;
        }
        const BasicBlock* pred = *top.next++;
        if (kept_.contains(pred) && seen.insert(pred).second) {
          stack.push_back({pred, llvm::pred_begin(pred)});
        }
      }
    }
    order_.assign(post.rbegin(), post.rend());
    int number = kEnd;
    for (const BasicBlock* block : order_) numbers_[block] = ++number;
    for (const BasicBlock& block : function) {
      if (!kept_.contains(&block) || numbers_.count(&block)) continue;
      numbers_[&block] = ++number;
      order_.push_back(&block);
    }
    reaching_ = static_cast<int>(post.size());
  }

  // Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", on the
  // reversed graph. LLVM's PostDominatorTree cannot be told of a graph that has
  // other ends than the function: recalculate() ignores the edges that it is
  // given to leave out.
  void FindPostDominators() {
    meets_.assign(order_.size() + 1, kNever);
    meets_[kEnd] = kEnd;
    for (bool changed = true; changed;) {
      changed = false;
      for (int i = 1; i <= reaching_; ++i) {
        const BasicBlock* block = order_[static_cast<std::size_t>(i - 1)];
        int meet = Ends(block) ? kEnd : kNever;
        for (const BasicBlock* to : Next(block)) {
          const int other = Number(to);
          if (other > reaching_ || meets_[Index(other)] == kNever) continue;
          meet = meet == kNever ? other : Common(meet, other);
        }
        if (meets_[Index(i)] != meet) {
          meets_[Index(i)] = meet;
          changed = true;
        }
      }
    }
  }
  static std::size_t Index(int number) {
    return static_cast<std::size_t>(number);
  }
  int Common(int a, int b) const {
    while (a != b) {
      while (a > b) a = meets_[Index(a)];
      while (b > a) b = meets_[Index(b)];
    }
    return a;
  }

  llvm::UniformityInfo& uniformity_;
  BlockSet kept_;
  std::vector<const BasicBlock*> order_;
  llvm::DenseMap<const BasicBlock*, int> numbers_;
  std::vector<int> meets_;
  int reaching_ = 0;  // blocks that reach the end come first
};

}  // namespace

BarrierFunctions FindBarrierFunctions(const llvm::Module& module) {
  BarrierFunctions found;
  for (std::size_t before = ~std::size_t{0}; before != found.size();) {
    before = found.size();
    for (const Function& function : module) {
      if (llvm::none_of(llvm::instructions(function),
                        [&](const Instruction& instruction) {
                          return MeetsBarrier(instruction, found);
                        })) {
        continue;
      }
      found.insert(&function);
      if (function.hasAddressTaken()) found.insert(nullptr);
    }
  }
  return found;
}

std::string WhyNotPacked(Function& function,
                         llvm::FunctionAnalysisManager& analyses,
                         const BarrierFunctions& with_barriers) {
  // Lanes of both warps take turns in its loops as those of one do.
  if (function.hasFnAttribute(kNeverYields)) return "";
  BlockSet barriers;
  for (BasicBlock& block : function) {
    for (Instruction& instruction : block) {
      if (MeetsBarrier(instruction, with_barriers)) barriers.insert(&block);
    }
  }
  if (!barriers.empty() &&
      !FlowToward(function, barriers,
                  analyses.getResult<llvm::UniformityInfoAnalysis>(function))
           .PartsAround(barriers)
           .empty()) {
    return "not all threads pass the same barriers";
  }
  const auto waits = [](LaneRegions& regions) {
    std::vector<bool> needed;
    for (llvm::Loop* loop : regions.waiting()) {
      needed.push_back(regions.Find(*loop).needed);
    }
    return needed;
  };
  if (FindWaitingLoops(analyses.getResult<llvm::LoopAnalysis>(function))
          .empty()) {
    return "";
  }
  // Who calls a function, and what they write behind the call, is not seen
  // here.
  if (function.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL) {
    return "lanes wait for others in a loop";
  }
  PrepareLanes(function, analyses);
  Together together;
  LaneRegions of_waves(function, &together, analyses, {Lanes::kOfAWave});
  const std::vector<bool> in_waves = waits(of_waves);
  if (!llvm::is_contained(in_waves, true)) return "";
  LaneRegions of_warps(function, &together, analyses, {Lanes::kOfAWarp});
  const std::vector<bool> in_warps = waits(of_warps);
  for (std::size_t i = 0; i < in_waves.size(); ++i) {
    if (in_waves[i] && !in_warps[i])
      return "warps wait for each other in a loop";
  }
  return "";
}

}  // namespace cerberus::ptx
