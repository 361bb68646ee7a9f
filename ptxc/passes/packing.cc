#include "ptxc/passes/packing.h"

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
#include "ptxc/passes/lane_progress.h"
#include "ptxc/passes/waiting.h"
#include "ptxc/passes/waves.h"

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
  // `waiting`: blocks of loops that all lanes leave in the end.
  FlowToward(Function& function, const BlockSet& goals,
             llvm::UniformityInfo& uniformity, const BlockSet& waiting = {})
      : uniformity_(uniformity), waiting_(waiting) {
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
           (!uniformity_.hasDivergentTerminator(*block) ||
            waiting_.contains(block));
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
  // reversed graph.
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
  BlockSet waiting_;
  BlockSet kept_;
  std::vector<const BasicBlock*> order_;
  llvm::DenseMap<const BasicBlock*, int> numbers_;
  std::vector<int> meets_;
  int reaching_ = 0;  // blocks that reach the end come first
};

// ---- Who may be waited for --------------------------------------------------

// Loops that wait, and those of lanes that yield to each other.
std::vector<const llvm::Loop*> WaitingLoops(llvm::LoopInfo& loops) {
  std::vector<const llvm::Loop*> waiting;
  for (const llvm::Loop* loop : FindWaitingLoops(loops)) {
    if (!IsLoopOfRounds(*loop, kJoinsEnd)) waiting.push_back(loop);
  }
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (IsLoopOfRounds(*loop)) waiting.push_back(loop);
  }
  return waiting;
}

// The address that an instruction reads or writes, or null.
const llvm::Value* AddressOf(const Instruction& instruction) {
  if (const auto* a = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    return a->getPointerOperand();
  }
  if (const auto* x = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    return x->getPointerOperand();
  }
  return llvm::getLoadStorePointerOperand(&instruction);
}

// The memory that waiting loops read.
class Watched {
 public:
  explicit Watched(const Function& function)
      : any_global_(CallsFunctions(function)), any_shared_(any_global_) {}

  void Add(const llvm::Loop& loop) {
    for (const BasicBlock* block : loop.blocks()) {
      for (const Instruction& instruction : *block) {
        const llvm::Value* address = AddressOf(instruction);
        if (address && instruction.mayReadFromMemory()) AddRead(*address);
      }
    }
  }

  bool MayBeChangedBy(const Instruction& instruction) const {
    // Ordered loads and fences count as writes for LLVM, and so does what has
    // other effects.
    if (!instruction.mayWriteToMemory() ||
        llvm::isa<llvm::FenceInst, llvm::LoadInst>(instruction)) {
      return false;
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      return !llvm::isa<llvm::IntrinsicInst>(call) ||
             llvm::any_of(call->args(), [](const llvm::Value* argument) {
               return argument->getType()->isPointerTy();
             });
    }
    const llvm::Value* address = AddressOf(instruction);
    if (!address) return true;
    const unsigned space = address->getType()->getPointerAddressSpace();
    if (space == kLocalSpace) return false;
    const bool shared = space == kSharedSpace;
    // An ordered write to global memory may tell another kernel to go on.
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    const bool plain = store && store->isSimple();
    if (!shared && (!plain || any_global_)) return true;
    if (space != kGlobalSpace && any_shared_) return true;
    const std::optional<Base> base = FindBase(*address);
    return !base || bases_.count(*base) != 0;
  }

 private:
  static constexpr unsigned kGlobalSpace = 1;
  static constexpr unsigned kSharedSpace = 3;
  static constexpr unsigned kConstantSpace = 4;
  static constexpr unsigned kLocalSpace = 5;

  // A variable, or a parameter of the kernel and its offset in that.
  using Base = std::pair<const llvm::Value*, std::int64_t>;

  void AddRead(const llvm::Value& address) {
    const unsigned space = address.getType()->getPointerAddressSpace();
    if (space == kLocalSpace || space == kConstantSpace) return;
    if (const std::optional<Base> base = FindBase(address)) {
      bases_.insert(*base);
      return;
    }
    any_global_ |= space != kSharedSpace;
    any_shared_ |= space != kGlobalSpace;
  }

  // What an address was computed from; nothing if that is not one thing.
  static std::optional<Base> FindBase(const llvm::Value& address) {
    if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&address)) {
      // Dynamic shared memory has one address under all its names.
      const bool dynamic = variable->getAddressSpace() == kSharedSpace &&
                           variable->isDeclaration();
      return Base{dynamic ? nullptr : variable, 0};
    }
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&address)) {
      if (load->getPointerAddressSpace() != kConstantSpace) return std::nullopt;
      std::int64_t offset = 0;
      const llvm::Value* parameter = llvm::GetPointerBaseWithConstantOffset(
          load->getPointerOperand(), offset, load->getDataLayout());
      if (!llvm::isa<llvm::Argument>(parameter)) return std::nullopt;
      return Base{parameter, offset};
    }
    const auto* operation = llvm::dyn_cast<llvm::Operator>(&address);
    if (!operation) return std::nullopt;
    switch (operation->getOpcode()) {
      case Instruction::GetElementPtr:
      case Instruction::IntToPtr:
      case Instruction::PtrToInt:
      case Instruction::AddrSpaceCast:
        return FindBase(*operation->getOperand(0));
      case Instruction::Add: {
        const std::optional<Base> first = FindBase(*operation->getOperand(0));
        const std::optional<Base> second = FindBase(*operation->getOperand(1));
        if (first && second) return std::nullopt;
        return first ? first : second;
      }
      default:
        return std::nullopt;
    }
  }

  std::set<Base> bases_;
  bool any_global_, any_shared_;  // all of it may be looked at
};

// Whether lanes that have left the loop may write what others wait for before
// the next barrier holds them.
bool WritesBehind(const llvm::Loop& loop, const Watched& watched) {
  llvm::SmallVector<BasicBlock*, 8> work;
  loop.getExitBlocks(work);
  BlockSet seen;
  while (!work.empty()) {
    const BasicBlock* block = work.pop_back_val();
    if (loop.contains(block) || !seen.insert(block).second) continue;
    bool held = false;
    for (const Instruction& instruction : *block) {
      held = IsBarrier(instruction);
      if (held) break;
      if (watched.MayBeChangedBy(instruction)) return true;
    }
    if (!held) {
      for (const BasicBlock* next : llvm::successors(block)) {
        work.push_back(const_cast<BasicBlock*>(next));
      }
    }
  }
  return false;
}

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
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  const std::vector<const llvm::Loop*> waiting = WaitingLoops(loops);
  if (barriers.empty() && waiting.empty()) return "";
  auto& uniformity = analyses.getResult<llvm::UniformityInfoAnalysis>(function);
  if (!barriers.empty() && !FlowToward(function, barriers, uniformity)
                                .PartsAround(barriers)
                                .empty()) {
    return "not all threads pass the same barriers";
  }
  Watched watched(function);
  BlockSet in_waiting;
  for (const llvm::Loop* loop : waiting) {
    watched.Add(*loop);
    in_waiting.insert(loop->block_begin(), loop->block_end());
  }
  // Who writes may be the one that is waited for.
  BlockSet writes;
  for (BasicBlock& block : function) {
    if (llvm::any_of(block, [&](const Instruction& instruction) {
          return watched.MayBeChangedBy(instruction);
        })) {
      writes.insert(&block);
    }
  }
  const auto& dominators =
      analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  // Who calls a function, and what they write behind the call, is not seen
  // here.
  if (!waiting.empty() &&
      function.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL) {
    return "lanes wait for others in a loop";
  }
  for (const llvm::Loop* loop : waiting) {
    BlockSet goals = writes;
    goals.insert(loop->getHeader());
    std::vector<FlowToward::Part> parts =
        FlowToward(function, goals, uniformity, in_waiting)
            .PartsAround({loop->getHeader()});
    // The loop's own lanes take turns in it.
    llvm::erase_if(parts, [&](const FlowToward::Part& part) {
      return loop->contains(part.branch);
    });
    llvm::SmallVector<BasicBlock*, 4> exiting;
    loop->getExitingBlocks(exiting);
    const bool divergent = llvm::any_of(exiting, [&](const BasicBlock* block) {
      return uniformity.hasDivergentTerminator(*block);
    });
    if (!divergent && parts.empty()) continue;
    if (WritesBehind(*loop, watched)) return "lanes wait for others in a loop";
    // Those on another way may not have written yet. What all have passed who
    // wait is written.
    for (const FlowToward::Part& part : parts) {
      if (llvm::any_of(part.blocks, [&](const BasicBlock* block) {
            return writes.contains(block) && !loop->contains(block) &&
                   !dominators.dominates(block, loop->getHeader());
          })) {
        return "a part of the threads waits in a loop";
      }
    }
  }
  return "";
}

}  // namespace cerberus::ptx
