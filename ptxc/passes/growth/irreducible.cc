#include "ptxc/passes/growth/irreducible.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::Cycle;
using llvm::CycleInfo;
using llvm::Function;
using llvm::Instruction;
using llvm::IRBuilder;

// Address spaces whose pointers have 32 bits, and 64.
constexpr unsigned kSharedPointer = 3;
constexpr unsigned kGlobalPointer = 1;

// Whether the cycle and all in it are entered at one place.
bool IsReducible(const Cycle& cycle) {
  return cycle.isReducible() &&
         llvm::all_of(cycle.children(),
                      [](const Cycle* inner) { return IsReducible(*inner); });
}

// The outermost cycles that are to be cut.
void Find(const Cycle& cycle, std::vector<const Cycle*>* found) {
  if (!cycle.isReducible()) {
    found->push_back(&cycle);
    return;
  }
  for (const Cycle* inner : cycle.children()) Find(*inner, found);
}

class Cutting {
 public:
  Cutting(Function& function, const CycleInfo& cycles, const Cycle& cycle)
      : function_(function), cycles_(cycles), cycle_(cycle) {}

  void Run() {
    Order();
    FindSegments();
    FindWays();
    Demote();
    Rebuild();
    Promote();
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // A way back within a natural loop, which stays as it is.
  bool StaysBack(const BasicBlock* from, const BasicBlock* to) const {
    const Cycle* loop = cycles_.getCycle(to);
    return loop != &cycle_ && loop->getHeader() == to && IsReducible(*loop) &&
           loop->contains(from);
  }

  // Reverse post-order, so that most ways lead on to a later gate.
  void Order() {
    llvm::SmallPtrSet<const BasicBlock*, 32> seen;
    struct Frame {
      BasicBlock* block;
      llvm::succ_iterator next;
    };
    std::vector<BasicBlock*> post;
    std::vector<Frame> work;
    const auto visit = [&](BasicBlock* block) {
      if (seen.insert(block).second) {
        work.push_back({block, llvm::succ_begin(block)});
      }
    };
    for (BasicBlock* entry : llvm::reverse(cycle_.getEntries())) {
      visit(entry);
      while (!work.empty()) {
        Frame& frame = work.back();
        if (frame.next == llvm::succ_end(frame.block)) {
          post.push_back(frame.block);
          work.pop_back();
          continue;
        }
        BasicBlock* successor = *frame.next++;
        if (cycle_.contains(successor)) visit(successor);
      }
    }
    order_.assign(post.rbegin(), post.rend());
    for (std::size_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
  }

  // A segment begins where ways come from outside, from behind, or from
  // several segments.
  void FindSegments() {
    for (BasicBlock* block : order_) {
      std::size_t segment = kNone;
      bool begins = cycle_.isEntry(block);
      for (BasicBlock* from : llvm::predecessors(block)) {
        if (!cycle_.contains(from)) {
          begins = true;
        } else if (place_[from] >= place_[block]) {
          begins |= !StaysBack(from, block);
        } else {
          const std::size_t its = segment_of_[from];
          begins |= segment != kNone && segment != its;
          segment = its;
        }
      }
      if (begins) {
        segment = segments_.size();
        segments_.push_back(block);
      }
      segment_of_[block] = segment;
    }
  }

  // The ways that change: into the cycle, from one segment to the begin of
  // another or of its own, and out of the cycle.
  void FindWays() {
    const auto add = [&](BasicBlock* from, BasicBlock* to, std::size_t gate,
                         std::size_t number) {
      ways_.push_back({from, to, gate, number});
    };
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      for (BasicBlock* from : Unique(llvm::predecessors(segments_[i]))) {
        if (!cycle_.contains(from)) {
          add(from, segments_[i], 0, i);
        } else if (!StaysBack(from, segments_[i])) {
          add(from, segments_[i], segment_of_[from] + 1, i);
        }
      }
    }
    for (BasicBlock* from : order_) {
      for (BasicBlock* to : Unique(llvm::successors(from))) {
        if (cycle_.contains(to)) continue;
        exits_.insert(to);
        const auto exit = llvm::find(exits_, to) - exits_.begin();
        add(from, to, segment_of_[from] + 1,
            segments_.size() + static_cast<std::size_t>(exit));
      }
    }
  }

  template <typename Range>
  static llvm::SmallSetVector<BasicBlock*, 8> Unique(const Range& range) {
    return {range.begin(), range.end()};
  }

  // What crosses blocks goes through variables while edges change. Behind a
  // gate LLVM cannot know where a lane came from, and takes whatever any lane
  // may need later for needed there. So values that are never needed at the
  // same time share a variable, and gates carry no more than the fullest place
  // of the cycle did before.
  void Demote() {
    FindValues();
    FindLive();
    ChooseVariables();
    for (BasicBlock& block : function_) ReadVariables(block);
    for (BasicBlock& block : function_) WriteVariables(block);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      Instruction* phi = values_[i];
      if (Find(arrivals_, phi) != i) continue;
      phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));
      phi->eraseFromParent();
    }
  }

  void FindValues() {
    const auto add_phis = [&](BasicBlock& block) {
      for (llvm::PHINode& phi : block.phis()) {
        arrivals_[&phi] = values_.size();
        values_.push_back(&phi);
      }
    };
    for (BasicBlock* block : exits_) add_phis(*block);
    for (BasicBlock* block : order_) {
      add_phis(*block);
      for (Instruction& instruction : *block) AddIfCrossing(instruction);
    }
    for (BasicBlock* block : exits_) {
      for (llvm::PHINode& phi : block->phis()) AddIfCrossing(phi);
    }
  }
  void AddIfCrossing(Instruction& value) {
    const bool crosses = llvm::any_of(value.uses(), [&](const llvm::Use& use) {
      const auto* user = llvm::cast<Instruction>(use.getUser());
      const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      return value.getParent() !=
             (phi ? phi->getIncomingBlock(use) : user->getParent());
    });
    if (!crosses) return;
    number_[&value] = values_.size();
    values_.push_back(&value);
  }

  static std::optional<unsigned> Find(
      const llvm::DenseMap<const llvm::Value*, std::size_t>& in,
      const llvm::Value* value) {
    const auto at = in.find(value);
    if (at == in.end()) return std::nullopt;
    return static_cast<unsigned>(at->second);
  }
  std::optional<unsigned> NumberOf(const llvm::Value* value) const {
    return Find(number_, value);
  }

  // What `block` uses, for phis behind it too.
  template <typename Callback>
  static void ForEachUse(BasicBlock& block, const Callback& callback) {
    for (Instruction& instruction : block) {
      if (llvm::isa<llvm::PHINode>(instruction)) continue;
      for (llvm::Use& use : instruction.operands()) callback(use);
    }
    for (BasicBlock* to : Unique(llvm::successors(&block))) {
      for (llvm::PHINode& phi : to->phis()) {
        for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
          if (phi.getIncomingBlock(i) == &block) {
            callback(phi.getOperandUse(i));
          }
        }
      }
    }
  }

  // live_out_: by block, what must be in its variable at the end.
  void FindLive() {
    const auto count = static_cast<unsigned>(values_.size());
    llvm::DenseMap<const BasicBlock*, llvm::BitVector> live_in, made;
    for (BasicBlock& block : function_) {
      live_out_[&block].resize(count);
      llvm::BitVector& in = live_in[&block];
      llvm::BitVector& own = made[&block];
      in.resize(count);
      own.resize(count);
      ForEachUse(block, [&](const llvm::Use& use) {
        if (const auto number = NumberOf(use.get())) in.set(*number);
      });
      for (const Instruction& instruction : block) {
        if (const auto number = NumberOf(&instruction)) own.set(*number);
      }
      in.reset(own);
    }
    llvm::SmallSetVector<BasicBlock*, 32> work;
    for (BasicBlock& block : function_) work.insert(&block);
    while (!work.empty()) {
      BasicBlock* block = work.pop_back_val();
      llvm::BitVector& out = live_out_[block];
      for (BasicBlock* to : llvm::successors(block)) out |= live_in[to];
      llvm::BitVector in = out;
      in.reset(made[block]);
      in |= live_in[block];
      if (in == live_in[block]) continue;
      live_in[block] = std::move(in);
      for (BasicBlock* from : llvm::predecessors(block)) work.insert(from);
    }
    for (BasicBlock& block : function_) {
      for (const BasicBlock* to : llvm::successors(&block)) {
        for (const llvm::PHINode& phi : to->phis()) {
          if (const auto number = Find(arrivals_, &phi)) {
            live_out_[&block].set(*number);
          }
        }
      }
    }
  }

  // LLVM follows each integer of a wave's width through all its uses to see
  // whether one is a mask of lanes (hasCFUser), time and again from gate to
  // gate. It does not look at pointers. They are made by assembly without
  // text: a cast, which is free, would be moved in front of branches where
  // phis take it, and lanes get what was never set (StructurizeCFG, LLVM 22).
  static llvm::Type* StoredAs(llvm::Type* type) {
    llvm::LLVMContext& context = type->getContext();
    if (type->isIntegerTy(32)) {
      return llvm::PointerType::get(context, kSharedPointer);
    }
    if (type->isIntegerTy(64)) {
      return llvm::PointerType::get(context, kGlobalPointer);
    }
    return type;
  }
  static llvm::Value* Load(IRBuilder<>& b, llvm::Type* type,
                           llvm::AllocaInst* variable) {
    return b.CreateBitOrPointerCast(
        b.CreateLoad(variable->getAllocatedType(), variable), type);
  }
  static void Store(IRBuilder<>& b, llvm::Value* value,
                    llvm::AllocaInst* variable) {
    llvm::Type* type = variable->getAllocatedType();
    if (value->getType() != type) {
      llvm::CallInst* made = b.CreateCall(
          llvm::InlineAsm::get(
              llvm::FunctionType::get(type, {value->getType()}, false), "",
              "=v,0", /*hasSideEffects=*/false),
          {value});
      made->setDoesNotAccessMemory();
      made->setDoesNotThrow();
      value = made;
    }
    b.CreateStore(value, variable);
  }

  // Greedily, and a phi that of a value that it may have, where it is free.
  void ChooseVariables() {
    const auto point = function_.getEntryBlock().getFirstInsertionPt();
    std::vector<std::vector<const BasicBlock*>> live(values_.size());
    for (const BasicBlock& block : function_) {
      for (const unsigned value : live_out_[&block].set_bits()) {
        live[value].push_back(&block);
      }
    }
    llvm::DenseMap<const BasicBlock*, llvm::BitVector> taken;
    variable_of_.resize(values_.size());
    std::vector<std::size_t> chosen(values_.size(), kNone);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      llvm::Type* type = StoredAs(values_[i]->getType());
      llvm::BitVector used(static_cast<unsigned>(variables_.size()));
      for (const BasicBlock* block : live[i]) used |= taken[block];
      used.resize(static_cast<unsigned>(variables_.size()));
      const auto fits = [&](std::size_t variable) {
        return variable != kNone && !used[static_cast<unsigned>(variable)] &&
               variables_[variable]->getAllocatedType() == type;
      };
      std::size_t best = kNone;
      const auto prefer = [&](std::optional<unsigned> other) {
        if (best == kNone && other && fits(chosen[*other])) {
          best = chosen[*other];
        }
      };
      if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(values_[i])) {
        prefer(Find(arrivals_, phi));
        for (const llvm::Value* value : phi->incoming_values()) {
          prefer(NumberOf(value));
        }
      }
      for (const llvm::User* user : values_[i]->users()) {
        prefer(Find(arrivals_, user));
      }
      for (std::size_t v = 0; best == kNone && v < variables_.size(); ++v) {
        if (fits(v)) best = v;
      }
      if (best == kNone) {
        best = variables_.size();
        variables_.push_back(new llvm::AllocaInst(
            type, function_.getDataLayout().getAllocaAddrSpace(), "", point));
      }
      chosen[i] = best;
      variable_of_[i] = variables_[best];
      for (const BasicBlock* block : live[i]) {
        llvm::BitVector& here = taken[block];
        if (here.size() <= best) here.resize(static_cast<unsigned>(best) + 1);
        here.set(static_cast<unsigned>(best));
      }
    }
  }

  // Each value once, where the block begins; then its uses are that.
  void ReadVariables(BasicBlock& block) {
    llvm::DenseMap<const llvm::Value*, llvm::Value*>& here = read_[&block];
    IRBuilder<> b(&block, block.getFirstInsertionPt());
    for (llvm::PHINode& phi : block.phis()) {
      if (const auto number = Find(arrivals_, &phi)) {
        here[&phi] = Load(b, phi.getType(), variable_of_[*number]);
      }
    }
    ForEachUse(block, [&](llvm::Use& use) {
      auto* made = llvm::dyn_cast<Instruction>(use.get());
      if (!made) return;
      const auto number = NumberOf(made);
      const auto at = here.find(made);
      if (at != here.end()) {
        use.set(at->second);
      } else if (number && made->getParent() != &block) {
        use.set(here[made] = Load(b, made->getType(), variable_of_[*number]));
      }
    });
  }

  void WriteVariables(BasicBlock& block) {
    IRBuilder<> b(block.getTerminator());
    for (Instruction& instruction : block) {
      const auto number = NumberOf(&instruction);
      if (!number || !live_out_[&block][*number]) continue;
      llvm::Value* arrived = read_[&block].lookup(&instruction);
      Store(b, arrived ? arrived : &instruction, variable_of_[*number]);
    }
    for (BasicBlock* to : Unique(llvm::successors(&block))) {
      for (const llvm::PHINode& phi : to->phis()) {
        if (const auto number = Find(arrivals_, &phi)) {
          Store(b, phi.getIncomingValueForBlock(&block), variable_of_[*number]);
        }
      }
    }
  }

  BasicBlock* NewBlock(const char* name) {
    return BasicBlock::Create(function_.getContext(), name, &function_,
                              segments_.front());
  }
  llvm::ConstantInt* Number(std::size_t number) const {
    return llvm::ConstantInt::get(
        llvm::Type::getInt32Ty(function_.getContext()), number);
  }

  void Rebuild() {
    IRBuilder<> b(&*function_.getEntryBlock().getFirstInsertionPt());
    llvm::AllocaInst* next = b.CreateAlloca(StoredAs(b.getInt32Ty()));
    variables_.push_back(next);
    BasicBlock* round = NewBlock("round");
    std::vector<BasicBlock*> gates;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      gates.push_back(NewBlock("gate"));
    }
    BasicBlock* end = NewBlock("end");
    gates.push_back(end);

    std::map<std::pair<BasicBlock*, std::size_t>, BasicBlock*> leaves;
    for (const Way& way : ways_) {
      BasicBlock* gate = cycle_.contains(way.from) ? gates[way.gate] : round;
      BasicBlock*& leave = leaves[{gate, way.number}];
      if (!leave) {
        leave = NewBlock("leave");
        b.SetInsertPoint(leave);
        Store(b, Number(way.number), next);
        b.CreateBr(gate);
      }
      way.from->getTerminator()->replaceSuccessorWith(way.to, leave);
    }
    const auto goes_on_at = [&] { return Load(b, b.getInt32Ty(), next); };
    b.SetInsertPoint(round);
    b.CreateBr(gates.front());
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      b.SetInsertPoint(gates[i]);
      b.CreateCondBr(b.CreateICmpEQ(goes_on_at(), Number(i)), segments_[i],
                     gates[i + 1]);
    }
    b.SetInsertPoint(end);
    if (exits_.empty()) {
      b.CreateBr(round);
      return;
    }
    BasicBlock* behind = NewBlock("behind");
    b.CreateCondBr(b.CreateICmpULT(goes_on_at(), Number(segments_.size())),
                   round, behind);
    b.SetInsertPoint(behind);
    llvm::SwitchInst* exit = b.CreateSwitch(
        goes_on_at(), exits_.back(), static_cast<unsigned>(exits_.size()));
    for (std::size_t i = 0; i + 1 < exits_.size(); ++i) {
      exit->addCase(Number(segments_.size() + i), exits_[i]);
    }
  }

  void Promote() {
    llvm::DominatorTree dominators(function_);
    llvm::PromoteMemToReg(variables_, dominators);
  }

  Function& function_;
  const CycleInfo& cycles_;
  const Cycle& cycle_;
  std::vector<BasicBlock*> order_;
  llvm::DenseMap<const BasicBlock*, std::size_t> place_;
  std::vector<BasicBlock*> segments_;  // their first blocks
  llvm::DenseMap<const BasicBlock*, std::size_t> segment_of_;
  struct Way {
    BasicBlock* from;
    BasicBlock* to;
    std::size_t gate;    // the first one behind `from`
    std::size_t number;  // of the segment that `to` begins, or the exit
  };
  std::vector<Way> ways_;
  llvm::SmallSetVector<BasicBlock*, 8> exits_;
  std::vector<Instruction*> values_;  // phis, and what other blocks use
  // Of phis, where they get their value; of all, where other blocks read it.
  llvm::DenseMap<const llvm::Value*, std::size_t> arrivals_, number_;
  llvm::DenseMap<const BasicBlock*, llvm::BitVector> live_out_;
  std::vector<llvm::AllocaInst*> variables_, variable_of_;
  llvm::DenseMap<const BasicBlock*,
                 llvm::DenseMap<const llvm::Value*, llvm::Value*>>
      read_;
};

}  // namespace

llvm::PreservedAnalyses CutIrreducible::run(
    Function& function, llvm::FunctionAnalysisManager& analyses) {
  const CycleInfo& cycles = analyses.getResult<llvm::CycleAnalysis>(function);
  std::vector<const Cycle*> found;
  for (const Cycle* cycle : cycles.toplevel_cycles()) Find(*cycle, &found);
  for (const Cycle* cycle : found) Cutting(function, cycles, *cycle).Run();
  return found.empty() ? llvm::PreservedAnalyses::all()
                       : llvm::PreservedAnalyses::none();
}

}  // namespace cerberus::ptx
