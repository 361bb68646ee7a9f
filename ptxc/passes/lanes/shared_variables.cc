#include "ptxc/passes/lanes/shared_variables.h"

#include <optional>

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IRBuilder.h"

namespace cerberus::ptx {
namespace {

using llvm::AllocaInst;
using llvm::BasicBlock;
using llvm::BitVector;
using llvm::Function;
using llvm::Instruction;

using BlockSet = llvm::SmallPtrSetImpl<const BasicBlock*>;

// The table of who is needed beside whom has a bit for each two.
constexpr std::size_t kMost = 16384;

class Sharing {
 public:
  explicit Sharing(Function& function) : function_(function) {}

  void Run(const BlockSet& blocks, const BlockSet& yields,
           std::vector<AllocaInst*>* variables) {
    NumberThose(blocks, *variables);
    FindLive();
    BitVector carried(Count());
    for (const BasicBlock* block : yields) carried |= live_in_[block];
    KeepOnly(carried);
    if (Count() < 2 || Count() > kMost) return;
    FindLive();
    for (BasicBlock& block : function_) KeepToEnds(block);
    FindConflicts();
    Choose();
    llvm::erase_if(*variables,
                   [&](AllocaInst* variable) { return gone_.count(variable); });
    for (AllocaInst* variable : gone_) variable->eraseFromParent();
  }

 private:
  static constexpr unsigned kNone = ~0u;

  // In the order in which they are first stored, in which choosing greedily
  // does best.
  void NumberThose(const BlockSet& blocks,
                   const std::vector<AllocaInst*>& variables) {
    const llvm::SmallPtrSet<const llvm::Value*, 32> known(variables.begin(),
                                                          variables.end());
    const auto is_stored_in_them = [&](const llvm::User* user) {
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      return store && blocks.contains(store->getParent());
    };
    llvm::ReversePostOrderTraversal<Function*> order(&function_);
    for (BasicBlock* block : order) {
      for (Instruction& instruction : *block) {
        auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (!store || !known.contains(store->getPointerOperand())) continue;
        auto* variable = llvm::cast<AllocaInst>(store->getPointerOperand());
        if (!Find(variable) &&
            llvm::any_of(variable->users(), is_stored_in_them)) {
          Number(variable);
        }
      }
    }
  }

  void Number(AllocaInst* variable) {
    number_[variable] = Count();
    variables_.push_back(variable);
  }
  unsigned Count() const { return static_cast<unsigned>(variables_.size()); }
  void KeepOnly(const BitVector& which) {
    const std::vector<AllocaInst*> all = std::move(variables_);
    variables_.clear();
    number_.clear();
    for (const unsigned i : which.set_bits()) Number(all[i]);
  }

  std::optional<unsigned> Loaded(const llvm::Value* value) const {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
    return load ? Find(load->getPointerOperand()) : std::nullopt;
  }
  std::optional<unsigned> Stored(const Instruction& instruction) const {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    return store ? Find(store->getPointerOperand()) : std::nullopt;
  }
  std::optional<unsigned> Find(const llvm::Value* pointer) const {
    const auto at = number_.find(pointer);
    if (at == number_.end()) return std::nullopt;
    return at->second;
  }

  // live_in_: by block, which may be loaded before they are stored.
  void FindLive() {
    live_in_.clear();
    llvm::DenseMap<const BasicBlock*, BitVector> stored;
    llvm::SmallSetVector<const BasicBlock*, 32> work;
    for (const BasicBlock* block : llvm::post_order(&function_)) {
      BitVector& in = live_in_[block];
      BitVector& own = stored[block];
      in.resize(Count());
      own.resize(Count());
      for (const Instruction& instruction : *block) {
        if (const auto i = Loaded(&instruction); i && !own[*i]) in.set(*i);
        if (const auto i = Stored(instruction)) own.set(*i);
      }
      work.insert(block);
    }
    while (!work.empty()) {
      const BasicBlock* block = work.pop_back_val();
      BitVector in = LiveOut(block);
      in.reset(stored[block]);
      in |= live_in_[block];
      if (in == live_in_[block]) continue;
      live_in_[block] = std::move(in);
      for (const BasicBlock* from : llvm::predecessors(block)) {
        if (live_in_.count(from)) work.insert(from);
      }
    }
  }
  BitVector LiveOut(const BasicBlock* block) const {
    BitVector out(Count());
    for (const BasicBlock* to : llvm::successors(block)) {
      out |= live_in_.find(to)->second;
    }
    return out;
  }

  // Loads variables where the block begins and stores them where it ends. What
  // is made from others within the block is then in nobody's way.
  void KeepToEnds(BasicBlock& block) {
    llvm::MapVector<unsigned, llvm::Value*> values;
    std::vector<Instruction*> loads;
    BitVector changed(Count());
    for (Instruction& instruction : llvm::make_early_inc_range(block)) {
      if (const auto i = Loaded(&instruction)) {
        llvm::Value*& value = values[*i];
        if (value) {
          instruction.replaceAllUsesWith(value);
          instruction.eraseFromParent();
        } else {
          value = &instruction;
          loads.push_back(&instruction);
        }
      } else if (const auto stored = Stored(instruction)) {
        values[*stored] = instruction.getOperand(0);
        changed.set(*stored);
        instruction.eraseFromParent();
      }
    }
    auto begin = block.getFirstInsertionPt();
    while (llvm::isa<AllocaInst>(*begin)) ++begin;
    for (Instruction* load : loads) {
      if (load != &*begin) load->moveBefore(begin);
    }
    if (!live_in_.count(&block)) return;  // nothing leads here
    changed &= LiveOut(&block);
    llvm::IRBuilder<> b(block.getTerminator());
    for (const auto& [i, value] : values) {
      if (changed[i]) b.CreateStore(value, variables_[i]);
    }
  }

  // Two are in each other's way where one is stored and the other is needed
  // behind it, unless both hold the same then.
  void FindConflicts() {
    conflicts_.assign(Count(), BitVector(Count()));
    wishes_.resize(Count());
    for (const BasicBlock* block : llvm::post_order(&function_)) {
      llvm::DenseMap<const llvm::Value*, BitVector> holding;
      llvm::MapVector<unsigned, const llvm::Value*> stored;
      const auto holds = [&](const llvm::Value* value, unsigned i) {
        holding.try_emplace(value, Count()).first->second.set(i);
      };
      for (const Instruction& instruction : *block) {
        if (const auto i = Loaded(&instruction)) holds(&instruction, *i);
        if (const auto i = Stored(instruction)) {
          stored[*i] = instruction.getOperand(0);
        }
      }
      for (const auto& [i, value] : stored) {
        if (const auto from = Loaded(value)) {
          wishes_[i].push_back(*from);
          wishes_[*from].push_back(i);
        }
      }
      for (auto& [value, variables] : holding) {
        for (const auto& [i, last] : stored) variables.reset(i);
      }
      for (const auto& [i, value] : stored) holds(value, i);
      const BitVector live = LiveOut(block);
      for (const auto& [i, value] : stored) {
        BitVector others = live;
        others.reset(holding[value]);
        conflicts_[i] |= others;
      }
    }
    for (unsigned i = 0; i < Count(); ++i) {
      for (const unsigned other : conflicts_[i].set_bits()) {
        conflicts_[other].set(i);
      }
    }
  }

  // Greedily: what another one is copied to or from first, then the first that
  // is free.
  void Choose() {
    std::vector<unsigned> leads;                 // those that others become
    std::vector<BitVector> taken(Count());       // by lead: in its way
    std::vector<unsigned> lead(Count(), kNone);  // by variable
    for (unsigned i = 0; i < Count(); ++i) {
      const auto may = [&](unsigned other) {
        return other != kNone && !taken[other][i] &&
               variables_[other]->getAllocatedType() ==
                   variables_[i]->getAllocatedType();
      };
      for (const unsigned wish : wishes_[i]) {
        if (lead[i] == kNone && may(lead[wish])) lead[i] = lead[wish];
      }
      if (lead[i] == kNone) {
        const auto free = llvm::find_if(leads, may);
        lead[i] = free != leads.end() ? *free : i;
      }
      if (lead[i] == i) {
        leads.push_back(i);
        taken[i] = conflicts_[i];
        continue;
      }
      taken[lead[i]] |= conflicts_[i];
      variables_[i]->replaceAllUsesWith(variables_[lead[i]]);
      gone_.insert(variables_[i]);
    }
  }

  Function& function_;
  std::vector<AllocaInst*> variables_;
  llvm::DenseMap<const llvm::Value*, unsigned> number_;
  llvm::DenseMap<const BasicBlock*, BitVector> live_in_;
  std::vector<BitVector> conflicts_;
  std::vector<std::vector<unsigned>> wishes_;
  llvm::SmallSetVector<AllocaInst*, 32> gone_;
};

}  // namespace

void ShareVariables(Function& function, const BlockSet& blocks,
                    const BlockSet& yields,
                    std::vector<AllocaInst*>* variables) {
  Sharing(function).Run(blocks, yields, variables);
}

}  // namespace cerberus::ptx
