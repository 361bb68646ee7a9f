#include "ptxc/passes/lanes/lane_progress.h"

#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_regions.h"
#include "ptxc/passes/lanes/shared_variables.h"
#include "ptxc/passes/lanes/waiting.h"
#include "ptxc/passes/lanes/waves.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::Instruction;
using llvm::IRBuilder;
using llvm::Loop;

constexpr std::uint32_t kMostRoundsOfRest = 64;

// Blocks of all regions of a function, before those that overlap become one. A
// module of 13 MB took 400 s and 12 GB for them.
constexpr std::size_t kMostBlocks = std::size_t{1} << 20;

std::string Place(const llvm::DebugLoc& at) {
  if (!at) return "";
  return " (" + at->getFilename().str() + ":" + std::to_string(at.getLine()) +
         ")";
}

// One function's lanes that wait for each other.
class Yielding {
 public:
  Yielding(Function& function, Together* together, bool reconverge)
      : function_(function), together_(together), reconverge_(reconverge) {}

  // Regions where lanes may wait for others. If some are too large that is said
  // in `warnings`, and the others are made; without `warnings` nothing is, and
  // the answer false.
  bool Run(llvm::FunctionAnalysisManager& analyses, Lanes lanes,
           std::vector<std::string>* warnings) {
    LaneRegions regions(function_, together_, analyses, {lanes});
    std::vector<Region> found;
    bool all = true;
    std::size_t blocks = 0;
    for (const Parting& parting : regions.partings().partings) {
      std::optional<Region> region = regions.Find(parting);
      if (region) blocks += region->blocks.size();
      all &= region.has_value() && blocks <= kMostBlocks;
      if (blocks > kMostBlocks) break;
      if (region) found.push_back(std::move(*region));
    }
    std::vector<Region> waits;
    std::vector<const Loop*> alone, without;
    for (Loop* loop : regions.waiting()) {
      LaneRegions::Waiting waiting = regions.Find(*loop);
      if (waiting.region) waits.push_back(std::move(*waiting.region));
      if (!waiting.needed) alone.push_back(loop);
      if (waiting.needed && !waiting.region) without.push_back(loop);
    }
    found.insert(found.end(), waits.begin(), waits.end());
    all &= regions.Merge(&found);
    if ((!all || !without.empty()) && !warnings) return false;
    for (const Loop* loop : without) warnings->push_back(Describe(*loop));
    waits_for_callers_.clear();
    for (const Loop* loop : alone) {
      waits_for_callers_.push_back(Place(loop->getStartLoc()));
      if (WritesSometimes(*loop, regions.dominators())) KeepInside(*loop);
    }
    if (!all) {
      warnings->push_back(
          "lanes of a warp part in front of so many .sync instructions that "
          "those on one way do not wait for those on another");
      // Those that wait for memory still yield, each where it has to.
      for (const Region& region : waits) {
        if (llvm::none_of(found, [&](const Region& larger) {
              return larger.blocks.contains(region.blocks.front());
            })) {
          found.push_back(region);
        }
      }
      regions.Merge(&found);
    }
    if (found.empty()) return true;
    Make(regions, found);
    return true;
  }

  // Where loops of what Run was given last wait for nothing that is done in the
  // function, as other lanes of the warp may do elsewhere.
  llvm::ArrayRef<std::string> waits_for_callers() const {
    return waits_for_callers_;
  }

  // All of the function as one region; false if it is too large, or has no end.
  // `parts`: lanes may wait for each other at joins by mask.
  bool RunWhole(bool parts, bool any_loop,
                llvm::FunctionAnalysisManager& analyses) {
    LaneRegions regions(function_, together_, analyses,
                        {Lanes::kOfAWave, any_loop});
    std::vector<Region> found = {regions.Whole(parts)};
    if (!found[0].meet || !regions.Merge(&found)) return false;
    Make(regions, found);
    return true;
  }

 private:
  void Make(const LaneRegions& regions, llvm::ArrayRef<Region> found) {
    std::vector<std::vector<Segment>> segments;
    for (const Region& region : found) {
      segments.push_back(regions.Segments(region));
    }
    Demote();
    Share(found, segments);
    for (std::size_t i = 0; i < found.size(); ++i) {
      Rebuild(found[i], segments[i]);
    }
    Promote();
  }

  void Share(llvm::ArrayRef<Region> regions,
             llvm::ArrayRef<std::vector<Segment>> segments) {
    llvm::SmallPtrSet<const BasicBlock*, 32> blocks, yields;
    for (const Region& region : regions) {
      blocks.insert(region.blocks.begin(), region.blocks.end());
    }
    for (const std::vector<Segment>& cut : segments) {
      for (const Segment& segment : cut) {
        for (const Segment::Way& way : segment.out) yields.insert(way.to);
        for (const llvm::CallInst* site : segment.sites) {
          yields.insert(BehindJoin(segment.sites, *site));
        }
      }
    }
    ShareVariables(function_, blocks, yields, &variables_);
  }

  // Whether some of its rounds write what others do not, as those do that got
  // a lock, and give it back in the loop.
  static bool WritesSometimes(const Loop& loop,
                              const llvm::DominatorTree& dominators) {
    llvm::SmallVector<BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    return llvm::any_of(loop.blocks(), [&](BasicBlock* block) {
      return llvm::any_of(latches,
                          [&](BasicBlock* latch) {
                            return !dominators.dominates(block, latch);
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

  static std::string Describe(const Loop& loop) {
    return "lanes of a warp that wait for each other in a loop may hang" +
           Place(loop.getStartLoc());
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

  // Whether a lane makes the value of nothing but its place in the wave.
  static bool IsOfPlace(const llvm::Value* value, int depth = 0) {
    constexpr int kDeepest = 16;
    if (llvm::isa<llvm::Constant>(value)) return true;
    const auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction || depth == kDeepest) return false;
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(instruction)) {
      if (call->getIntrinsicID() != llvm::Intrinsic::amdgcn_mbcnt_lo &&
          call->getIntrinsicID() != llvm::Intrinsic::amdgcn_mbcnt_hi) {
        return false;
      }
    } else if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst,
                          llvm::SelectInst>(instruction)) {
      return false;
    }
    return llvm::all_of(instruction->operand_values(),
                        [depth](const llvm::Value* operand) {
                          return llvm::isa<llvm::Function>(operand) ||
                                 IsOfPlace(operand, depth + 1);
                        });
  }

  // Such values are made in each block that uses them. As variables they would
  // come from wherever a lane has been, and where lanes that rest take part
  // (strict.wwm) all that decides on that would be made in all lanes, too: in
  // registers that cannot be spilled.
  void MakePlacesAnew() {
    std::vector<Instruction*> values;
    for (Instruction& instruction : llvm::instructions(function_)) {
      if (IsOfPlace(&instruction)) values.push_back(&instruction);
    }
    llvm::DenseMap<BasicBlock*, Instruction*> begins;
    std::map<std::pair<BasicBlock*, Instruction*>, Instruction*> made;
    const std::function<Instruction*(BasicBlock*, Instruction*)> anew =
        [&](BasicBlock* block, Instruction* value) {
          Instruction*& own = made[{block, value}];
          if (own != nullptr) return own;
          Instruction* clone = value->clone();
          for (llvm::Use& operand : clone->operands()) {
            if (auto* of = llvm::dyn_cast<Instruction>(operand)) {
              operand = anew(block, of);
            }
          }
          clone->insertBefore(begins[block]->getIterator());
          return own = clone;
        };
    for (Instruction* value : values) {
      for (llvm::Use& use : llvm::make_early_inc_range(value->uses())) {
        BasicBlock* block = llvm::cast<Instruction>(use.getUser())->getParent();
        if (block == value->getParent()) continue;
        begins.try_emplace(block, &*block->getFirstInsertionPt());
        use = anew(block, value);
      }
    }
    for (Instruction* value : llvm::reverse(values)) {
      if (value->use_empty()) value->eraseFromParent();
    }
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
    MakePlacesAnew();
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

  // Each round passes the gates of all segments, in program order, and each
  // lane goes through that of the segment where it is to go on. It leaves the
  // segment to the next gate. So LLVM sees conditions one behind the other,
  // which it structures in no time, where it needs more than cubic time for
  // ways from the round's begin into the middle of the program.
  //
  //   round → gate 0 → … → gate n → end → round, or meet
  //             ↓ ↑          ↓ ↑
  //          segment 0    segment n
  //
  // All rounds end in one block, which nothing may split: of several ways
  // back LLVM makes a loop inside a loop (LoopSimplify), or a region of its
  // own (StructurizeCFG), behind which the lanes that arrive wait for those
  // that yield.
  void Rebuild(const Region& region, const std::vector<Segment>& segments) {
    BasicBlock* first = region.first;
    BasicBlock* onward =
        first->splitBasicBlock(first->getTerminator(), "onward");
    IRBuilder<> b(&*function_.getEntryBlock().getFirstInsertionPt());
    llvm::AllocaInst* next = Variable(b.getInt32Ty());
    // Of a lane that waits at a join whose mask is not known, or whose outcome
    // several places want.
    llvm::AllocaInst* mask = Variable(b.getInt32Ty());
    llvm::AllocaInst* behind = Variable(b.getInt32Ty());
    // For how many rounds a lane has been where it need not wait.
    llvm::AllocaInst* waited = nullptr;
    if (region.waits && !region.rests.empty() && !reconverge_)
      waited = Variable(b.getInt32Ty());
    const auto number = [&](std::size_t segment) {
      return b.getInt32(static_cast<std::uint32_t>(segment));
    };
    BasicBlock* round = NewBlock("round");
    first->getTerminator()->eraseFromParent();
    b.SetInsertPoint(first);
    b.CreateStore(Opaque(b, number(0)), next);
    b.CreateStore(b.getInt32(0), mask);
    if (waited) b.CreateStore(b.getInt32(0), waited);
    b.CreateBr(round);

    std::vector<BasicBlock*> gates;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      gates.push_back(NewBlock("gate"));
    }
    gates.push_back(NewBlock("end"));
    b.SetInsertPoint(round);
    const std::vector<llvm::Value*> open =
        Opened(b, segments, next, mask, waited);
    b.CreateBr(gates[0]);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      BasicBlock* begin = i == 0 ? onward : segments[i].block;
      if (!begin) {
        begin = Meet(segments[i].sites, segments[i].onward, i, next, mask,
                     behind, gates[i + 1]);
      }
      b.SetInsertPoint(gates[i]);
      llvm::Value* enters =
          b.CreateICmpEQ(b.CreateLoad(b.getInt32Ty(), next), number(i));
      if (open[i]) enters = b.CreateAnd(enters, open[i]);
      b.CreateCondBr(enters, begin, gates[i + 1]);
    }
    for (std::size_t i = 0; i < segments.size(); ++i) {
      std::map<std::size_t, BasicBlock*> leaves;
      for (const Segment::Way& way : segments[i].out) {
        BasicBlock*& leave = leaves[way.segment];
        if (!leave) {
          leave = NewBlock("leave");
          b.SetInsertPoint(leave);
          b.CreateStore(Opaque(b, number(way.segment)), next);
          b.CreateBr(gates[i + 1]);
        }
        BasicBlock* from = way.from == first ? onward : way.from;
        from->getTerminator()->replaceSuccessorWith(way.to, leave);
      }
    }
    BasicBlock* again = NewBlock("again");
    b.SetInsertPoint(again);
    b.CreateStore(Opaque(b, b.CreateLoad(b.getInt32Ty(), next), /*stays=*/true),
                  next);
    b.CreateBr(round);
    b.SetInsertPoint(gates.back());
    b.CreateCondBr(b.CreateICmpNE(b.CreateLoad(b.getInt32Ty(), next),
                                  number(segments.size())),
                   again, region.meet);
  }

  // Lanes that all wait for each other would do so for ever. What they want is
  // not defined, unless some need not wait; else the first goes on, at the
  // block's barriers the last.
  void LetOneGo(IRBuilder<>& b, const std::vector<Segment>& segments,
                std::vector<std::size_t> joins,
                llvm::function_ref<llvm::Value*(std::size_t)> is_at,
                llvm::Value* waits, llvm::Value* goes,
                std::vector<llvm::Value*>& open) {
    const auto rank = [&](std::size_t i) {
      const Segment& segment = segments[i];
      return std::pair(segment.is_rest ? 0 : IsOfTheWave(segment) ? 2 : 1, i);
    };
    llvm::sort(joins,
               [&](std::size_t i, std::size_t j) { return rank(i) < rank(j); });
    llvm::Value* stuck = b.CreateICmpEQ(
        AnyOfWave(b, b.CreateOr(goes, b.CreateNot(waits))), b.getInt32(0));
    for (const std::size_t i : joins) {
      open[i] = b.CreateOr(open[i], b.CreateAnd(is_at(i), stuck));
      stuck = b.CreateAnd(
          stuck, b.CreateICmpEQ(AnyOfWave(b, is_at(i)), b.getInt32(0)));
    }
  }

  // Of each segment whether a lane may begin it in this round; null of those
  // where none has to wait. Where lanes come together that is when no other may
  // still come: one of the mask, where there is a mask.
  std::vector<llvm::Value*> Opened(IRBuilder<>& b,
                                   const std::vector<Segment>& segments,
                                   llvm::AllocaInst* next,
                                   llvm::AllocaInst* masks,
                                   llvm::AllocaInst* waited) {
    std::vector<llvm::Value*> open(segments.size());
    llvm::Value* begun = b.CreateLoad(b.getInt32Ty(), next);
    llvm::Value* mask = b.CreateLoad(b.getInt32Ty(), masks);
    const auto is_at = [&](std::size_t segment) {
      return b.CreateICmpEQ(begun,
                            b.getInt32(static_cast<std::uint32_t>(segment)));
    };
    // Lanes with the same mask at the same join.
    llvm::Value* same = nullptr;
    std::vector<std::size_t> joins;
    llvm::Value* waits = b.getFalse();
    llvm::Value* goes = b.getFalse();
    // Who is where nobody need wait does not do so for ever: those that it
    // waits for may be waiting for what it does next.
    llvm::Value* rounds =
        waited ? b.CreateLoad(b.getInt32Ty(), waited) : nullptr;
    llvm::Value* tired =
        waited ? b.CreateICmpUGE(rounds, b.getInt32(kMostRoundsOfRest))
               : nullptr;
    llvm::Value* rests = b.getFalse();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const Segment& segment = segments[i];
      if (!segment.is_join) continue;
      joins.push_back(i);
      llvm::Value* comes = b.getFalse();
      for (const std::size_t other : segment.behind) {
        comes = b.CreateOr(comes, is_at(other));
      }
      llvm::Value* missing = Ballot(b, comes);
      if (IsOfTheWave(segment)) {
        missing = AnyOfWave(b, comes);
      } else if (!segment.sites.empty()) {
        if (const llvm::ConstantInt* known = KnownMaskOf(segment.sites)) {
          missing = b.CreateAnd(
              missing,
              b.getInt32(static_cast<std::uint32_t>(known->getZExtValue())));
        } else {
          if (!same) same = SameJoin(b, begun, mask);
          llvm::Value* others =
              b.CreateAnd(Ballot(b, is_at(i)), b.CreateNot(same));
          missing = b.CreateAnd(b.CreateOr(missing, others), mask);
        }
      }
      llvm::Value* all = b.CreateICmpEQ(missing, b.getInt32(0));
      if (segment.is_rest && waited) {
        rests = b.CreateOr(rests, is_at(i));
        all = b.CreateOr(all, tired);
      }
      open[i] = b.CreateAnd(is_at(i), all);
      waits = b.CreateOr(waits, is_at(i));
      goes = b.CreateOr(goes, open[i]);
    }
    if (waited) {
      b.CreateStore(
          b.CreateSelect(b.CreateAnd(rests, b.CreateNot(goes)),
                         b.CreateAdd(rounds, b.getInt32(1)), b.getInt32(0)),
          waited);
    }
    if (joins.size() > 1)
      LetOneGo(b, segments, joins, is_at, waits, goes, open);
    return open;
  }

  static bool IsOfTheWave(const Segment& segment) {
    return !segment.sites.empty() && ptx::IsOfTheWave(*segment.sites.front());
  }

  llvm::Value* AnyOfWave(IRBuilder<>& b, llvm::Value* predicate) {
    return b.CreateCall(WaveFunction(*function_.getParent(), "any"),
                        {predicate});
  }

  llvm::Value* Ballot(IRBuilder<>& b, llvm::Value* predicate) {
    return b.CreateCall(WaveFunction(*function_.getParent(), "ballot"),
                        {predicate});
  }

  // The lanes at the same join with the same mask.
  llvm::Value* SameJoin(IRBuilder<>& b, llvm::Value* segment,
                        llvm::Value* mask) {
    return b.CreateCall(MatchFunction(*function_.getParent()), {segment, mask});
  }

  // Where the lanes of several sites come together: what they do is done here,
  // and each goes on behind its own.
  BasicBlock* Meet(llvm::ArrayRef<llvm::CallInst*> sites,
                   llvm::ArrayRef<std::size_t> onward, std::size_t segment,
                   llvm::AllocaInst* next, llvm::AllocaInst* mask,
                   llvm::AllocaInst* behind, BasicBlock* leave) {
    llvm::CallInst* call = llvm::cast<llvm::CallInst>(sites[0]->clone());
    std::vector<llvm::AllocaInst*> args;
    for (const llvm::Value* arg : call->args()) {
      args.push_back(Variable(arg->getType()));
    }
    llvm::Type* type = call->getType();
    llvm::AllocaInst* result = type->isVoidTy() ? nullptr : Variable(type);
    for (std::size_t i = 0; i < sites.size(); ++i) {
      llvm::CallInst* site = sites[i];
      BasicBlock* after = site->getParent()->getSingleSuccessor();
      if (result) {
        // Only the variable that carries it to other blocks takes the value.
        IRBuilder<> b(&*after->getFirstInsertionPt());
        llvm::Value* value = b.CreateLoad(type, result);
        for (llvm::User* user : llvm::make_early_inc_range(site->users())) {
          auto* store = llvm::cast<llvm::StoreInst>(user);
          b.CreateStore(value, store->getPointerOperand());
          store->eraseFromParent();
        }
      }
      IRBuilder<> b(site);
      for (std::size_t arg = 0; arg < args.size(); ++arg) {
        b.CreateStore(site->getArgOperand(static_cast<unsigned>(arg)),
                      args[arg]);
      }
      b.CreateStore(MaskOf(*site), mask);
      b.CreateStore(
          Opaque(b, b.getInt32(static_cast<std::uint32_t>(onward[i]))), behind);
    }
    BasicBlock* block = NewBlock("meet");
    IRBuilder<> b(block);
    for (std::size_t arg = 0; arg < args.size(); ++arg) {
      call->setArgOperand(
          static_cast<unsigned>(arg),
          b.CreateLoad(args[arg]->getAllocatedType(), args[arg]));
    }
    b.Insert(call);
    if (result) b.CreateStore(call, result);
    b.CreateStore(b.CreateLoad(b.getInt32Ty(), behind), next);
    b.CreateBr(leave);
    for (llvm::CallInst* site : sites) site->eraseFromParent();
    return block;
  }

  llvm::AllocaInst* Variable(llvm::Type* type) {
    BasicBlock& entry = function_.getEntryBlock();
    IRBuilder<> b(&entry, entry.getFirstInsertionPt());
    return variables_.emplace_back(b.CreateAlloca(type));
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
      phi->replaceAllUsesWith(same ? same
                                   : llvm::PoisonValue::get(phi->getType()));
      phi->eraseFromParent();
    }
  }

  Function& function_;
  Together* together_;
  bool reconverge_;
  unsigned opaque_values_ = 0;
  std::vector<std::string> waits_for_callers_;
  std::vector<llvm::AllocaInst*> variables_;
};

// Whether lanes may wait for others at joins by mask. Those that do not wait as
// they should, since functions stay calls, are told.
bool PartAtJoins(Function& function, llvm::FunctionAnalysisManager& analyses,
                 std::vector<std::string>* warnings) {
  // Joins, and calls that stay and may lead to some.
  const bool may = llvm::any_of(
      llvm::instructions(function), [](const Instruction& instruction) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (!call || call->isInlineAsm()) return false;
        const Function* callee = call->getCalledFunction();
        return IsJoin(instruction) || !callee || !callee->isDeclaration();
      });
  if (!may) return false;
  const PartingsFound found = FindPartings(
      function, analyses.getResult<llvm::DominatorTreeAnalysis>(function),
      analyses);
  for (const llvm::CallBase* call : found.calls) {
    const Function* callee = call->getCalledFunction();
    warnings->push_back(
        "lanes meet by masks in " +
        (callee ? "'" + callee->getName().str() + "'"
                : std::string("a function called through a pointer")) +
        ", which stays a call that not all lanes come to: those that are "
        "elsewhere are not waited for" +
        Place(call->getDebugLoc()));
  }
  return !found.partings.empty();
}

}  // namespace

llvm::PreservedAnalyses LaneProgress::run(
    Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (function.hasFnAttribute(kNeverYields) || IsJoinFunction(function)) {
    return llvm::PreservedAnalyses::all();
  }
  std::vector<std::string>& warnings = (*warnings_)[function.getName().str()];
  const bool parts = PartAtJoins(function, analyses, &warnings);
  const bool whole = options_.serial || function.hasFnAttribute(kWhole);
  if (!whole && !parts &&
      FindWaitingLoops(analyses.getResult<llvm::LoopAnalysis>(function))
          .empty()) {
    return llvm::PreservedAnalyses::all();
  }
  // Barriers are joins of both warps where two share a wave.
  const bool packed = function.hasFnAttribute(kTwoWarps);
  const Lanes lanes = packed ? Lanes::kOfAWave : Lanes::kOfAWarp;
  if (packed) JoinBarriers(function);
  PrepareLanes(function, analyses);
  Together together;
  Yielding yielding(function, &together,
                    options_.reconverge && !options_.serial);
  if (whole || !yielding.Run(analyses, lanes, nullptr)) {
    JoinBarriers(function);
    SeparateEnds(function);
    PrepareLanes(function, analyses);
    if (!yielding.RunWhole(parts || options_.serial, options_.serial,
                           analyses)) {
      function.removeFnAttr(kWhole);
      yielding.Run(analyses, lanes, &warnings);
    }
  }
  // Older PTX does not count on it.
  if (function.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL &&
      !options_.reconverge) {
    for (const std::string& place : yielding.waits_for_callers()) {
      warnings.push_back(
          "lanes wait in '" + function.getName().str() +
          "', which stays a call: for what others of their warp do outside of "
          "it they wait for ever" +
          place);
    }
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace cerberus::ptx
