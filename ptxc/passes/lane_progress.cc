#include "ptxc/passes/lane_progress.h"

#include <map>
#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

#include "ptxc/passes/waiting.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::Instruction;
using llvm::IRBuilder;
using llvm::Loop;

constexpr unsigned kLocalSpace = 5;

// Loops that yield to the same rounds. LLVM needs more than cubic time to
// structure those: 2 s for 32, minutes for 64.
constexpr std::ptrdiff_t kMostInRounds = 32;

// Lanes that have yielded go on one by one, so that what takes all lanes of a
// warp or block together must stay outside, and so must calls of functions
// with loops that wait: a lane cannot yield from in there.
class Together {
 public:
  bool operator()(const Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call || !call->isConvergent()) return false;
    if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) {
      switch (intrinsic->getIntrinsicID()) {
        case llvm::Intrinsic::amdgcn_endpgm:
        case llvm::Intrinsic::amdgcn_s_sleep:
          return false;
        default:
          return true;
      }
    }
    if (call->isInlineAsm()) return true;
    if (const Function* callee = call->getCalledFunction()) {
      return IsIn(*callee);
    }
    const llvm::Module& module = *call->getModule();
    return llvm::any_of(module, [&](const Function& callee) {
      return callee.getFunctionType() == call->getFunctionType() &&
             callee.hasAddressTaken() && IsIn(callee);
    });
  }

 private:
  bool IsIn(const Function& function) {
    if (function.isDeclaration()) return true;
    const auto [known, is_new] = functions_.insert({&function, false});
    if (!is_new) return known->second;  // false as well within recursion
    const llvm::DominatorTree dominators(const_cast<Function&>(function));
    llvm::LoopInfo loops(dominators);
    const bool result =
        !FindWaitingLoops(loops).empty() ||
        llvm::any_of(llvm::instructions(function),
                     [&](const Instruction& i) { return (*this)(i); });
    return functions_[&function] = result;
  }

  llvm::DenseMap<const Function*, bool> functions_;
};

// A write that others may wait for.
bool IsOrderedWrite(const Instruction& instruction) {
  if (llvm::isa<llvm::AtomicRMWInst>(instruction) ||
      llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) {
    return true;
  }
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store && (store->isAtomic() || store->isVolatile());
}
bool IsPlainWrite(const Instruction& instruction) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store && !IsOrderedWrite(instruction) &&
         store->getPointerAddressSpace() != kLocalSpace;
}

// All ways out of the function become one, so that lanes which take different
// ones still meet.
void UnifyExits(Function& function) {
  std::vector<BasicBlock*> exits;
  for (BasicBlock& block : function) {
    const Instruction* last = block.getTerminator();
    if (llvm::isa<llvm::ReturnInst>(last) ||
        llvm::isa<llvm::UnreachableInst>(last)) {
      exits.push_back(&block);
    }
  }
  if (exits.size() < 2) return;
  llvm::LLVMContext& context = function.getContext();
  BasicBlock* end = BasicBlock::Create(context, "end", &function);
  llvm::Type* type = function.getReturnType();
  llvm::PHINode* value = nullptr;
  if (!type->isVoidTy()) {
    value = llvm::PHINode::Create(type, 2, "result", end);
  }
  llvm::ReturnInst::Create(context, value, end);
  for (BasicBlock* block : exits) {
    Instruction* last = block->getTerminator();
    if (value) {
      const auto* back = llvm::dyn_cast<llvm::ReturnInst>(last);
      value->addIncoming(back ? back->getReturnValue()
                              : llvm::PoisonValue::get(type),
                         block);
    }
    last->eraseFromParent();
    llvm::BranchInst::Create(end, block);
  }
}

// What ends a wave, as a failed assertion does, does not come back. It goes on
// as if it did: else no lane could be said to meet the others before the
// function's end.
void JoinDeadEnds(Function& function) {
  llvm::DenseSet<const BasicBlock*> returns;
  std::vector<BasicBlock*> work, dead_ends;
  for (BasicBlock& block : function) {
    if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) {
      returns.insert(&block);
      work.push_back(&block);
    } else if (llvm::isa<llvm::UnreachableInst>(block.getTerminator())) {
      dead_ends.push_back(&block);
    }
  }
  while (!work.empty()) {
    BasicBlock* block = work.back();
    work.pop_back();
    for (BasicBlock* before : llvm::predecessors(block)) {
      if (returns.insert(before).second) work.push_back(before);
    }
  }
  for (BasicBlock* block : dead_ends) {
    // The one branch whose other side returns.
    llvm::SetVector<BasicBlock*> way;
    llvm::SmallPtrSet<BasicBlock*, 2> others;
    way.insert(block);
    for (std::size_t i = 0; i < way.size(); ++i) {
      for (BasicBlock* before : llvm::predecessors(way[i])) {
        if (!returns.contains(before)) {
          way.insert(before);
          continue;
        }
        for (BasicBlock* other : llvm::successors(before)) {
          if (returns.contains(other)) others.insert(other);
        }
      }
    }
    if (others.size() != 1) continue;
    BasicBlock* other = *others.begin();
    for (llvm::PHINode& phi : other->phis()) {
      phi.addIncoming(llvm::PoisonValue::get(phi.getType()), block);
    }
    block->getTerminator()->eraseFromParent();
    llvm::BranchInst::Create(other, block);
  }
}

// Blocks end behind writes that others may wait for and before what takes
// lanes together: meeting places are looked for between blocks.
void SplitBlocks(Function& function, Together& together) {
  std::vector<Instruction*> at;
  for (Instruction& instruction : llvm::instructions(function)) {
    if (&instruction == &instruction.getParent()->front()) continue;
    const Instruction* before = instruction.getPrevNode();
    if (llvm::isa<llvm::PHINode>(instruction) ||
        (llvm::isa<llvm::AllocaInst>(instruction) &&
         instruction.getParent()->isEntryBlock())) {
      continue;
    }
    if (together(instruction) || together(*before) ||
        IsOrderedWrite(*before) || IsPlainWrite(*before)) {
      at.push_back(&instruction);
    }
  }
  for (Instruction* instruction : at) {
    instruction->getParent()->splitBasicBlock(instruction, "part");
  }
}

struct Region {
  BasicBlock* first = nullptr;  // its terminator begins the region
  BasicBlock* meet = nullptr;   // where all lanes of it come together
  llvm::SetVector<BasicBlock*> blocks;
  std::size_t releases = 0;   // writes behind the loop
  bool others_write = false;  // lanes that do not wait may write
};

// One function's waiting loops, one at a time.
class Yielding {
 public:
  Yielding(Function& function, Together* together)
      : function_(function), together_(together) {}

  // Changes the next loop; false if there is none left.
  bool Step(llvm::FunctionAnalysisManager& analyses,
            std::vector<std::string>* warnings) {
    llvm::DominatorTree dominators(function_);
    llvm::PostDominatorTree post_dominators(function_);
    llvm::LoopInfo loops(dominators);
    dominators_ = &dominators;
    post_dominators_ = &post_dominators;
    loops_ = &loops;
    // In program order, outer loops before inner ones.
    std::vector<Loop*> waiting = FindWaitingLoops(loops);
    waiting_ = &waiting;
    llvm::DenseMap<const BasicBlock*, std::size_t> order;
    for (BasicBlock* block :
         llvm::ReversePostOrderTraversal<Function*>(&function_)) {
      order.insert({block, order.size()});
    }
    llvm::sort(waiting, [&](const Loop* a, const Loop* b) {
      return order[a->getHeader()] < order[b->getHeader()];
    });
    for (Loop* loop : waiting) {
      if (!handled_.insert(loop->getHeader()).second) continue;
      const Loop* parent = loop->getParentLoop();
      const auto around =
          parent ? rounds_.find(parent->getHeader()) : rounds_.end();
      if (around != rounds_.end()) {
        Demote();
        Yield(*loop, &around->second);
        Promote();
        return true;
      }
      const std::optional<Region> region = FindRegion(*loop, analyses);
      if (region) {
        Demote();
        Round* round = Rebuild(*region);
        // All waiting loops of the region yield to the same rounds, and so do
        // the loops around them: lanes may be in different iterations.
        for (const Loop* other : loops.getLoopsInPreorder()) {
          if (region->blocks.contains(other->getHeader()) &&
              llvm::any_of(waiting, [&](const Loop* waits) {
                return other->contains(waits);
              })) {
            handled_.insert(other->getHeader());
            Yield(*other, round);
          }
        }
        Promote();
        return true;
      }
      if (WritesSometimes(*loop)) KeepInside(*loop);
      if (Locks(*loop) && !IsForOneLane(*loop, *dominators_)) {
        warnings->push_back(Describe(*loop));
      }
    }
    return false;
  }

 private:
  // ---- Where to begin and where to meet -------------------------------------

  // From `first`'s terminator to `meet`, with all of `around`, or nothing if
  // others come in between.
  std::optional<Region> Collect(BasicBlock* first, BasicBlock* meet,
                                const Loop& around) const {
    Region region;
    region.first = first;
    region.meet = meet;
    std::vector<BasicBlock*> work(llvm::succ_begin(first),
                                  llvm::succ_end(first));
    while (!work.empty()) {
      BasicBlock* block = work.back();
      work.pop_back();
      if (block == meet || !region.blocks.insert(block)) continue;
      if (block == first || !dominators_->dominates(first, block)) {
        return std::nullopt;
      }
      work.insert(work.end(), llvm::succ_begin(block), llvm::succ_end(block));
    }
    for (BasicBlock* block : around.blocks()) {
      if (!region.blocks.contains(block)) return std::nullopt;
    }
    return region;
  }

  // Fills in who writes; false if lanes would have to be together in it.
  bool Examine(Region* region, const Loop& loop) const {
    llvm::SetVector<BasicBlock*> behind;
    llvm::SmallVector<BasicBlock*, 8> work;
    loop.getExitBlocks(work);
    while (!work.empty()) {
      BasicBlock* block = work.pop_back_val();
      if (block == region->meet || loop.contains(block)) continue;
      if (!behind.insert(block)) continue;
      work.append(llvm::succ_begin(block), llvm::succ_end(block));
    }
    std::vector<const Instruction*> fences;
    for (BasicBlock* block : region->blocks) {
      for (const Instruction& instruction : *block) {
        if ((*together_)(instruction)) return false;
        if (llvm::isa<llvm::FenceInst>(instruction)) {
          fences.push_back(&instruction);
        }
      }
    }
    for (BasicBlock* block : region->blocks) {
      if (loop.contains(block)) continue;
      const bool is_behind = behind.contains(block);
      for (const Instruction& instruction : *block) {
        const bool plain = IsPlainWrite(instruction);
        if (!plain && !IsOrderedWrite(instruction)) continue;
        if (!is_behind) {
          region->others_write |=
              !dominators_->dominates(block, loop.getHeader());
        } else if (!plain || llvm::any_of(fences, [&](const Instruction* f) {
                     return dominators_->dominates(f, &instruction);
                   })) {
          ++region->releases;
        }
      }
    }
    return true;
  }

  std::ptrdiff_t WaitsIn(const Region& region) const {
    return llvm::count_if(*waiting_, [&](const Loop* loop) {
      return region.blocks.contains(loop->getHeader());
    });
  }

  // The nearest meeting place behind which nothing is written that a
  // farther one would take in. `around`: the loop, or one around it.
  std::optional<Region> NearestMeeting(BasicBlock* first, const Loop& around,
                                       const Loop& loop) const {
    std::optional<Region> best;
    const llvm::DomTreeNode* node = post_dominators_->getNode(first);
    while (node && (node = node->getIDom()) && node->getBlock()) {
      BasicBlock* meet = node->getBlock();
      if (around.contains(meet)) continue;
      // In front of the loop.
      if (dominators_->dominates(meet, around.getHeader())) continue;
      // Lanes that go round a loop again do not meet in it the first time.
      const Loop* within = loops_->getLoopFor(meet);
      if (within && !within->contains(first)) continue;
      std::optional<Region> region = Collect(first, meet, around);
      if (!region) {
        if (best) break;
        continue;
      }
      if (WaitsIn(*region) > kMostInRounds || !Examine(&*region, loop)) break;
      if (!best || region->releases > best->releases) best = region;
    }
    return best;
  }

  // Lanes may be in different iterations of the loops around: the outermost
  // one that can be taken in whole is.
  std::optional<Region> FindRegion(Loop& loop,
                                   llvm::FunctionAnalysisManager& analyses) {
    llvm::SmallVector<Loop*, 4> around;
    for (Loop* at = &loop; at && !rounds_.contains(at->getHeader());
         at = at->getParentLoop()) {
      around.push_back(at);
    }
    for (Loop* at : llvm::reverse(around)) {
      if (!llvm::InsertPreheaderForLoop(at, dominators_, loops_, nullptr,
                                        /*PreserveLCSSA=*/false)) {
        continue;
      }
      post_dominators_->recalculate(function_);
      std::optional<Region> region = FindRegion(*at, loop, analyses);
      if (region) return region;
    }
    return std::nullopt;
  }

  std::optional<Region> FindRegion(const Loop& around, const Loop& loop,
                                   llvm::FunctionAnalysisManager& analyses) {
    llvm::UniformityInfo& uniformity =
        analyses.getResult<llvm::UniformityInfoAnalysis>(function_);
    llvm::SmallVector<BasicBlock*, 8> exiting;
    loop.getExitingBlocks(exiting);
    BasicBlock* preheader = around.getLoopPreheader();
    std::optional<Region> best;
    // Lanes that leave the loop together do not wait for each other in it.
    if (llvm::any_of(exiting, [&](BasicBlock* block) {
          return uniformity.hasDivergentTerminator(*block);
        })) {
      best = NearestMeeting(preheader, around, loop);
    }
    // Lanes on the other sides of branches in front of the loop may be the
    // ones that are waited for.
    for (const llvm::DomTreeNode* node = dominators_->getNode(preheader);
         node; node = node->getIDom()) {
      BasicBlock* block = node->getBlock();
      if (loops_->getLoopFor(block) != around.getParentLoop() ||
          llvm::succ_size(block) < 2) {
        continue;
      }
      std::optional<Region> wider = NearestMeeting(block, around, loop);
      if (!wider) continue;
      wider->others_write &= uniformity.hasDivergentTerminator(*block);
      const std::size_t least = best ? best->releases : 0;
      if (wider->releases > least ||
          (wider->others_write && wider->releases == least)) {
        best = wider;
      }
    }
    if (best && best->releases == 0 && !best->others_write) return std::nullopt;
    return best;
  }

  // Whether some of its rounds write what others do not, as those do that got
  // a lock, and give it back in the loop.
  bool WritesSometimes(const Loop& loop) const {
    llvm::SmallVector<BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    return llvm::any_of(loop.blocks(), [&](BasicBlock* block) {
      return llvm::any_of(latches,
                          [&](BasicBlock* latch) {
                            return !dominators_->dominates(block, latch);
                          }) &&
             llvm::any_of(*block, [](const Instruction& instruction) {
               return IsOrderedWrite(instruction) || IsPlainWrite(instruction);
             });
    });
  }

  // What only a lane's last round does would be moved behind the loop, where
  // it waits for lanes that wait for it. So LLVM must not see which is last.
  void KeepInside(const Loop& loop) {
    llvm::SmallVector<BasicBlock*, 4> exiting;
    loop.getExitingBlocks(exiting);
    for (BasicBlock* block : exiting) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      if (!branch || !branch->isConditional()) continue;
      IRBuilder<> b(branch);
      branch->setCondition(b.CreateICmpNE(
          Opaque(b, b.CreateZExt(branch->getCondition(), b.getInt32Ty())),
          b.getInt32(0)));
    }
  }

  // Whether the loop takes something, by a write whose outcome it looks at,
  // and does not give it back. Who swaps what it has just read takes nothing:
  // where it fails, another one has been through.
  static bool Locks(const Loop& loop) {
    bool takes = false;
    for (const BasicBlock* block : loop.blocks()) {
      for (const Instruction& instruction : *block) {
        if (!IsOrderedWrite(instruction)) continue;
        if (instruction.use_empty()) return false;
        const auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(
            &instruction);
        takes |= !swap || loop.isLoopInvariant(swap->getCompareOperand());
      }
    }
    return takes;
  }

  std::string Describe(const Loop& loop) const {
    std::string text =
        "lanes of a warp that wait for each other in a loop may hang";
    if (const llvm::DebugLoc at = loop.getStartLoc()) {
      text += " (" + at->getFilename().str() + ":" +
              std::to_string(at.getLine()) + ")";
    }
    return text;
  }

  // ---- The loop of rounds ---------------------------------------------------

  // The value, but so that LLVM neither knows it nor thinks it the same in
  // all lanes, nor the same as any other; `stays`: nor takes it away from
  // where it is.
  llvm::Value* Opaque(IRBuilder<>& b, llvm::Value* value, bool stays = false) {
    llvm::Type* type = b.getInt32Ty();
    llvm::InlineAsm* same = llvm::InlineAsm::get(
        llvm::FunctionType::get(type, {type, type}, false), "", "=v,0,n",
        /*hasSideEffects=*/stays);
    llvm::CallInst* call =
        b.CreateCall(same, {value, b.getInt32(++opaque_values_)});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    return call;
  }

  // Values that cross blocks go through variables while edges change.
  void Demote() {
    std::vector<llvm::PHINode*> phis;
    std::vector<Instruction*> values;
    for (Instruction& instruction : llvm::instructions(function_)) {
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
        phis.push_back(phi);
      }
    }
    const auto point = function_.getEntryBlock().getFirstInsertionPt();
    for (llvm::PHINode* phi : phis) {
      variables_.push_back(llvm::DemotePHIToStack(phi, point));
    }
    for (Instruction& instruction : llvm::instructions(function_)) {
      if (llvm::isa<llvm::AllocaInst>(instruction)) continue;
      if (llvm::any_of(instruction.users(), [&](const llvm::User* user) {
            return llvm::cast<Instruction>(user)->getParent() !=
                   instruction.getParent();
          })) {
        values.push_back(&instruction);
      }
    }
    for (Instruction* value : values) {
      variables_.push_back(llvm::DemoteRegToStack(
          *value, false, function_.getEntryBlock().getFirstInsertionPt()));
    }
  }

  // The block where each round begins, and where its lanes go on: in front
  // of the region at first, then at the loop in which they waited.
  //
  // All rounds end in one block, which nothing may split: of several ways
  // back LLVM makes a loop inside a loop (LoopSimplify), or a region of its
  // own (StructurizeCFG), behind which the lanes that arrive wait for those
  // that yield.
  struct Round {
    BasicBlock* block = nullptr;
    BasicBlock* again = nullptr;
    llvm::AllocaInst* resumed = nullptr;
    llvm::SwitchInst* onward = nullptr;
  };

  Round* Rebuild(const Region& region) {
    BasicBlock* first = region.first;
    BasicBlock* onward =
        first->splitBasicBlock(first->getTerminator(), "onward");
    Round round;
    round.block = NewBlock("round");
    IRBuilder<> b(&*function_.getEntryBlock().getFirstInsertionPt());
    round.resumed = b.CreateAlloca(b.getInt32Ty());
    first->getTerminator()->eraseFromParent();
    b.SetInsertPoint(first);
    b.CreateStore(Opaque(b, b.getInt32(0)), round.resumed);
    b.CreateBr(round.block);
    round.again = NewBlock("again");
    b.SetInsertPoint(round.again);
    b.CreateStore(Opaque(b, b.CreateLoad(b.getInt32Ty(), round.resumed),
                         /*stays=*/true),
                  round.resumed);
    b.CreateBr(round.block);
    b.SetInsertPoint(round.block);
    round.onward = b.CreateSwitch(
        b.CreateLoad(b.getInt32Ty(), round.resumed), onward);
    // Who arrives leaves, but might go back for all that LLVM knows: this
    // makes the way here a part of the loop.
    BasicBlock* arrive = NewBlock("arrive");
    b.SetInsertPoint(arrive);
    b.CreateCondBr(
         b.CreateICmpNE(Opaque(b, b.getInt32(0)), b.getInt32(0)), round.again,
         region.meet)
        ->setMetadata(kRoundEnd,
                      llvm::MDNode::get(function_.getContext(), {}));
    onward->getTerminator()->replaceSuccessorWith(region.meet, arrive);
    for (BasicBlock* block : region.blocks) {
      block->getTerminator()->replaceSuccessorWith(region.meet, arrive);
    }
    handled_.insert(round.block);
    return &(rounds_[round.block] = round);
  }

  // Another try of the loop is another round.
  void Yield(const Loop& loop, Round* round) {
    BasicBlock* header = loop.getHeader();
    const unsigned number = round->onward->getNumCases() + 1;
    BasicBlock* yield = NewBlock("yield");
    IRBuilder<> b(yield);
    b.CreateStore(Opaque(b, b.getInt32(number)), round->resumed);
    b.CreateBr(round->again);
    llvm::SmallVector<BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    for (BasicBlock* latch : latches) {
      latch->getTerminator()->replaceSuccessorWith(header, yield);
    }
    round->onward->addCase(b.getInt32(number), header);
  }

  BasicBlock* NewBlock(const char* name) {
    return BasicBlock::Create(function_.getContext(), name, &function_);
  }

  // Variables become values again.
  void Promote() {
    llvm::DominatorTree dominators(function_);
    llvm::erase(variables_, nullptr);
    llvm::PromoteMemToReg(variables_, dominators);
    variables_.clear();
    DropPhis();
  }

  // Without those that only each other use, and those of one value: the next
  // step would make variables of them, and those twice as many again.
  void DropPhis() {
    llvm::SmallPtrSet<llvm::PHINode*, 32> used;
    std::vector<llvm::PHINode*> work;
    const auto visit = [&](llvm::Value* value) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(value);
      if (phi && used.insert(phi).second) work.push_back(phi);
    };
    for (Instruction& instruction : llvm::instructions(function_)) {
      if (llvm::isa<llvm::PHINode>(instruction)) continue;
      for (llvm::Value* operand : instruction.operands()) visit(operand);
    }
    while (!work.empty()) {
      llvm::PHINode* phi = work.back();
      work.pop_back();
      for (llvm::Value* value : phi->incoming_values()) visit(value);
    }
    for (Instruction& instruction :
         llvm::make_early_inc_range(llvm::instructions(function_))) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
      if (!phi) continue;
      llvm::Value* same = phi->hasConstantValue();
      if (used.contains(phi) && !same) continue;
      phi->replaceAllUsesWith(
          same ? same : llvm::PoisonValue::get(phi->getType()));
      phi->eraseFromParent();
    }
  }

 public:
  void Finish() {
    for (auto& [block, round] : rounds_) variables_.push_back(round.resumed);
    Promote();
  }

 private:

  Function& function_;
  Together* together_;
  llvm::DominatorTree* dominators_ = nullptr;
  llvm::PostDominatorTree* post_dominators_ = nullptr;
  llvm::LoopInfo* loops_ = nullptr;
  const std::vector<Loop*>* waiting_ = nullptr;
  unsigned opaque_values_ = 0;
  llvm::DenseSet<const BasicBlock*> handled_;
  std::map<const BasicBlock*, Round> rounds_;  // by their first block
  std::vector<llvm::AllocaInst*> variables_;
};

}  // namespace

llvm::PreservedAnalyses LaneProgress::run(
    Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (function.hasFnAttribute(kNeverYields)) {
    return llvm::PreservedAnalyses::all();
  }
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  if (FindWaitingLoops(loops).empty()) return llvm::PreservedAnalyses::all();
  JoinDeadEnds(function);
  UnifyExits(function);
  Together together;
  SplitBlocks(function, together);
  analyses.invalidate(function, llvm::PreservedAnalyses::none());
  Yielding yielding(function, &together);
  std::vector<std::string>* warnings = &(*warnings_)[function.getName().str()];
  while (yielding.Step(analyses, warnings)) {
    analyses.invalidate(function, llvm::PreservedAnalyses::none());
  }
  yielding.Finish();
  return llvm::PreservedAnalyses::none();
}

}  // namespace cerberus::ptx
