#include "ptxc/passes/growth/long_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Pass.h"
#include "ptxc/passes/behind_pass.h"
#include "ptxc/passes/growth/sinking.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;

// Up to here a block costs little whole, and its values need fewer registers.
constexpr std::size_t kWhole = 4000;
constexpr std::size_t kLongest = 2000;
constexpr std::size_t kShortest = kLongest / 2;
// A comparison's result in another block is a mask of lanes that is kept.
constexpr int kCostOfMask = 8;

constexpr llvm::StringLiteral kBehindPass = "codegenprepare";
constexpr llvm::StringLiteral kSinking = "sink";

// An address with a constant offset is for each piece to make: memory
// instructions have the offset in themselves.
bool IsFree(const Instruction& instruction) {
  const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
  return address && address->hasAllConstantIndices();
}

int CostOf(const Instruction& value) {
  if (IsFree(value)) return 0;
  return value.getType()->isIntegerTy(1) ? kCostOfMask : 1;
}

// For each instruction of a block what is alive in front of it and was made in
// the block.
std::vector<int> AliveInFront(const std::vector<Instruction*>& instructions) {
  llvm::DenseMap<const Instruction*, std::size_t> places;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    places[instructions[i]] = i;
  }
  std::vector<int> change(instructions.size() + 1);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    std::size_t last = i;
    for (const llvm::User* user : instructions[i]->users()) {
      const auto at = places.find(llvm::cast<Instruction>(user));
      // In another block it is alive wherever this one is cut.
      if (at != places.end()) last = std::max(last, at->second);
    }
    change[i + 1] += CostOf(*instructions[i]);
    if (last + 1 < change.size()) {
      change[last + 1] -= CostOf(*instructions[i]);
    }
  }
  for (std::size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  return change;
}

// Those in front of which the block is cut.
std::vector<Instruction*> CutsOf(BasicBlock& block) {
  std::vector<Instruction*> instructions, cuts;
  for (Instruction& instruction : block) instructions.push_back(&instruction);
  const std::vector<int> alive = AliveInFront(instructions);
  std::size_t begin = 0;
  while (instructions.size() - begin > kLongest) {
    std::size_t best = begin + kLongest;
    for (std::size_t i = best; i > begin + kShortest; --i) {
      if (alive[i] < alive[best]) best = i;
    }
    begin = best;
    // What begins a block stays at its begin.
    if (llvm::isa<llvm::PHINode>(instructions[best]) ||
        llvm::isa<llvm::AllocaInst>(instructions[best])) {
      continue;
    }
    cuts.push_back(instructions[best]);
  }
  return cuts;
}

// Each piece makes those addresses itself.
void MakeAddressesAnew(BasicBlock& block) {
  llvm::DenseMap<Instruction*, Instruction*> made;
  for (Instruction& instruction : block) {
    if (llvm::isa<llvm::PHINode>(instruction)) continue;
    for (llvm::Use& use : instruction.operands()) {
      auto* address = llvm::dyn_cast<Instruction>(use);
      if (!address || address->getParent() == &block || !IsFree(*address)) {
        continue;
      }
      Instruction*& own = made[address];
      if (own == nullptr) {
        own = address->clone();
        own->insertBefore(instruction.getIterator());
      }
      use = own;
    }
  }
}

using Pieces = llvm::SmallSetVector<BasicBlock*, 16>;

// What a piece makes and other ones use.
std::vector<Instruction*> Crossing(BasicBlock& piece, const Pieces& pieces) {
  std::vector<Instruction*> values;
  for (Instruction& value : piece) {
    const auto in_other_piece = [&](const llvm::Use& use) {
      BasicBlock* block = WhereUsed(use);
      return block != &piece && pieces.contains(block);
    };
    if (!llvm::isa<llvm::PHINode>(value) &&
        llvm::any_of(value.uses(), in_other_piece)) {
      values.push_back(&value);
    }
  }
  return values;
}

// Of an integer as wide as a wave that another block uses LLVM looks through
// all that is made of it, up to the end of the function, whether it is a mask
// of lanes (hasCFUser, LLVM 22): time as the square of the pieces. Floats are
// none, so such values go from piece to piece as floats.
Instruction* CrossAsFloat(Instruction& value, const Pieces& pieces) {
  BasicBlock* made = value.getParent();
  llvm::IRBuilder<> b(made->getTerminator());
  llvm::Type* type = value.getType();
  llvm::Type* as = type->isIntegerTy(32)   ? b.getFloatTy()
                   : type->isIntegerTy(64) ? b.getDoubleTy()
                                           : nullptr;
  if (as == nullptr) return &value;
  auto* crossing = llvm::cast<Instruction>(b.CreateBitCast(&value, as));
  llvm::DenseMap<BasicBlock*, llvm::Value*> again;
  for (llvm::Use& use : llvm::make_early_inc_range(value.uses())) {
    BasicBlock* block = WhereUsed(use);
    if (block == made || !pieces.contains(block)) continue;
    llvm::Value*& own = again[block];
    if (own == nullptr) {
      b.SetInsertPoint(block, block->getFirstInsertionPt());
      own = b.CreateBitCast(crossing, type);
    }
    use.set(own);
  }
  return crossing;
}

// LLVM sinks what only a later block uses into that one: of a row of sums all
// would go to the last piece, and what they are made of be alive up to there.
// What is used where it is made stays.
void HoldWithin(const Pieces& pieces) {
  for (BasicBlock* piece : pieces) {
    std::vector<Instruction*> held = Crossing(*piece, pieces);
    for (Instruction*& value : held) value = CrossAsFloat(*value, pieces);
    llvm::IRBuilder<> b(piece->getTerminator());
    for (Instruction* value : held) {
      b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::fake_use, {value});
    }
  }
}

bool Cut(llvm::Function& function) {
  std::vector<BasicBlock*> blocks;
  for (BasicBlock& block : function) {
    if (block.size() > kWhole) blocks.push_back(&block);
  }
  for (BasicBlock* block : blocks) {
    Pieces pieces;
    pieces.insert(block);
    const std::vector<Instruction*> cuts = CutsOf(*block);
    for (Instruction* at : llvm::reverse(cuts)) {
      BasicBlock* piece = block->splitBasicBlock(at->getIterator(), "piece");
      MakeAddressesAnew(*piece);
      pieces.insert(piece);
    }
    HoldWithin(pieces);
  }
  return !blocks.empty();
}

bool Release(llvm::Function& function) {
  bool changed = false;
  for (Instruction& instruction :
       llvm::make_early_inc_range(llvm::instructions(function))) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call || call->getIntrinsicID() != llvm::Intrinsic::fake_use) continue;
    instruction.eraseFromParent();
    changed = true;
  }
  return changed;
}

class CutPass : public llvm::FunctionPass {
 public:
  static char ID;
  CutPass() : FunctionPass(ID) {}
  bool runOnFunction(llvm::Function& function) override {
    return Cut(function);
  }
};

class ReleasePass : public llvm::FunctionPass {
 public:
  static char ID;
  ReleasePass() : FunctionPass(ID) {}
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
  }
  bool runOnFunction(llvm::Function& function) override {
    return Release(function);
  }
};

char CutPass::ID = 0;
char ReleasePass::ID = 0;
const llvm::RegisterPass<CutPass> registered(
    "cerberus-long-blocks", "Long blocks are selected in pieces");
const llvm::RegisterPass<ReleasePass> releases("cerberus-release-pieces",
                                               "Pieces are sunk no more");

}  // namespace

llvm::PreservedAnalyses CutLongBlocks::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
  return Cut(function) ? llvm::PreservedAnalyses::none()
                       : llvm::PreservedAnalyses::all();
}

void SelectLongBlocksInPieces() {
  static const BehindPass pass(kBehindPass, CutPass::ID);
  static const BehindPass released(kSinking, ReleasePass::ID);
}

}  // namespace cerberus::ptx
