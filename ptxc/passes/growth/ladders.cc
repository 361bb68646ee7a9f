#include "ptxc/passes/growth/ladders.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"
#include "ptxc/passes/hidden.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::IRBuilder;

// Rungs of a ladder that is cut, at least, and of a piece.
constexpr std::size_t kLongLadder = 48;
constexpr std::size_t kPiece = 8;

// The blocks of a ladder by what they go to, outermost first.
struct Ladder {
  BasicBlock* end;
  std::vector<BasicBlock*> rungs;
};

class Cutting {
 public:
  Cutting(const Ladder& ladder, const llvm::DominatorTree& dominators)
      : end_(*ladder.end),
        rungs_(ladder.rungs),
        function_(*ladder.end->getParent()),
        dominators_(dominators) {}

  bool Run() {
    FindPlaces();
    if (!ChooseCuts()) return false;
    Demote();
    Rebuild();
    return true;
  }

  // To be promoted once all are cut.
  const std::vector<llvm::AllocaInst*>& variables() const { return variables_; }

 private:
  // By block, the last rung that dominates it.
  void FindPlaces() {
    llvm::DenseMap<const BasicBlock*, std::size_t> own;
    for (std::size_t i = 0; i < rungs_.size(); ++i) own[rungs_[i]] = i;
    std::vector<std::pair<llvm::DomTreeNode*, std::size_t>> work = {
        {dominators_.getNode(rungs_.front()), 0}};
    while (!work.empty()) {
      auto [node, place] = work.back();
      work.pop_back();
      BasicBlock* block = node->getBlock();
      if (block == &end_) continue;
      if (const auto at = own.find(block); at != own.end()) place = at->second;
      place_[block] = place;
      for (llvm::DomTreeNode* child : node->children()) {
        work.push_back({child, place});
      }
    }
  }

  // What leads back from a place to one before keeps both in one piece; what
  // leads elsewhere than on and to the end, and what is no branch, is not
  // understood.
  bool ChooseCuts() {
    std::vector<std::ptrdiff_t> held(rungs_.size() + 1);
    for (const auto& [block, place] : place_) {
      const bool plain = llvm::isa<llvm::BranchInst>(block->getTerminator()) &&
                         (block->getSingleSuccessor() != nullptr ||
                          block->getUniqueSuccessor() == nullptr);
      for (BasicBlock* to : llvm::successors(block)) {
        if (to == &end_) {
          if (!plain) return false;
          continue;
        }
        const auto at = place_.find(to);
        if (at == place_.end()) return false;
        if (at->second < place) {
          ++held[at->second + 1];
          --held[place + 1];
        } else if (at->second > place && !plain) {
          ++held[place + 1];
          --held[place + 2];
        }
      }
    }
    std::size_t last = 0;
    std::ptrdiff_t here = 0;
    piece_of_.resize(rungs_.size());
    for (std::size_t i = 0; i < rungs_.size(); ++i) {
      here += held[i];
      if (here == 0 && i - last >= kPiece) {
        cuts_.push_back(rungs_[i]);
        last = i;
      }
      piece_of_[i] = cuts_.size();
    }
    return !cuts_.empty();
  }

  std::size_t PieceOf(BasicBlock* block) const {
    const auto at = place_.find(block);
    return at == place_.end() ? kNone : piece_of_[at->second];
  }

  llvm::AllocaInst* Variable(llvm::Type* type) {
    variables_.push_back(new llvm::AllocaInst(
        type, function_.getDataLayout().getAllocaAddrSpace(), "",
        function_.getEntryBlock().getFirstInsertionPt()));
    return variables_.back();
  }

  // What one piece makes and another one uses goes through a variable.
  void Demote() {
    std::vector<Instruction*> crossing;
    for (const auto& [block, place] : place_) {
      for (Instruction& value : *block) {
        if (llvm::isa<llvm::AllocaInst>(value)) continue;
        if (llvm::any_of(value.uses(), [&](const llvm::Use& use) {
              return PieceOf(WhereUsed(use)) != piece_of_[place];
            })) {
          crossing.push_back(&value);
        }
      }
    }
    for (Instruction* value : crossing) {
      llvm::AllocaInst* variable = Variable(value->getType());
      const std::size_t piece = PieceOf(value->getParent());
      llvm::DenseMap<BasicBlock*, llvm::Value*> read;
      for (llvm::Use& use : llvm::make_early_inc_range(value->uses())) {
        BasicBlock* block = WhereUsed(use);
        if (PieceOf(block) == piece) continue;
        llvm::Value*& here = read[block];
        if (!here) {
          here = new llvm::LoadInst(value->getType(), variable, "",
                                    block->getFirstInsertionPt());
        }
        use.set(here);
      }
      const auto behind = value->getInsertionPointAfterDef();
      new llvm::StoreInst(value, variable, *behind);
    }
  }

  // A phi reads where it is come from.
  static BasicBlock* WhereUsed(const llvm::Use& use) {
    auto* user = llvm::cast<Instruction>(use.getUser());
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    return phi ? phi->getIncomingBlock(use) : user->getParent();
  }

  // The phis of `to` get from `joint` what they got from `from`.
  void MovePhis(BasicBlock& to, const std::vector<BasicBlock*>& from,
                BasicBlock& joint) {
    for (llvm::PHINode& phi : to.phis()) {
      llvm::AllocaInst* variable = Variable(phi.getType());
      for (BasicBlock* block : from) {
        new llvm::StoreInst(phi.getIncomingValueForBlock(block), variable,
                            block->getTerminator()->getIterator());
        phi.removeIncomingValue(block, /*DeletePHIIfEmpty=*/false);
      }
      phi.addIncoming(new llvm::LoadInst(phi.getType(), variable, "",
                                         joint.getTerminator()->getIterator()),
                      &joint);
    }
  }

  void Rebuild() {
    llvm::LLVMContext& context = function_.getContext();
    std::vector<BasicBlock*> joints;
    for (BasicBlock* cut : cuts_) {
      joints.push_back(BasicBlock::Create(context, "joint", &function_, cut));
    }
    std::vector<std::vector<BasicBlock*>> on(cuts_.size());
    std::vector<BasicBlock*> leaving;
    std::vector<llvm::PHINode*> going;
    std::vector<llvm::Value*> nothing;
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      IRBuilder<> b(joints[i]);
      going.push_back(b.CreatePHI(b.getInt32Ty(), 2));
      b.CreateCondBr(b.CreateIsNotNull(going[i]), cuts_[i],
                     i + 1 < cuts_.size() ? joints[i + 1] : &end_);
      if (i > 0) going[i]->addIncoming(b.getInt32(0), joints[i - 1]);
      b.SetInsertPoint(
          i > 0 ? cuts_[i - 1] : rungs_.front(),
          (i > 0 ? cuts_[i - 1] : rungs_.front())->getFirstInsertionPt());
      nothing.push_back(&HiddenZero(b));
    }
    for (const auto& [block, place] : place_) {
      const std::size_t piece = piece_of_[place];
      if (piece == cuts_.size()) continue;
      const bool goes =
          llvm::is_contained(llvm::successors(block), cuts_[piece]);
      const bool leaves = llvm::is_contained(llvm::successors(block), &end_);
      if (goes) on[piece].push_back(block);
      if (leaves) leaving.push_back(block);
      if (goes || leaves) {
        Redirect(*block, piece, goes, leaves, *nothing[piece], *going[piece]);
      }
    }
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      MovePhis(*cuts_[i], on[i], *joints[i]);
    }
    MovePhis(end_, leaving, *joints.back());
  }

  // The way on and that to the end lead to the piece's joint. Whether a lane is
  // still going is a number and no bit: that would be a mask for each way that
  // leads to the joint, and two instructions at each rung. Lanes that leave
  // have what they came with, which no rung makes anew if it seems to be no
  // constant.
  void Redirect(BasicBlock& block, std::size_t piece, bool goes, bool leaves,
                llvm::Value& nothing, llvm::PHINode& going) {
    BasicBlock* joint = going.getParent();
    auto* branch = llvm::cast<llvm::BranchInst>(block.getTerminator());
    IRBuilder<> b(branch);
    if (goes && leaves) {
      llvm::Value* condition = branch->getCondition();
      if (branch->getSuccessor(0) != cuts_[piece]) {
        condition = b.CreateNot(condition);
      }
      going.addIncoming(b.CreateZExt(condition, going.getType()), &block);
      b.CreateBr(joint);
      branch->eraseFromParent();
      return;
    }
    for (unsigned i = 0; i < branch->getNumSuccessors(); ++i) {
      const BasicBlock* to = branch->getSuccessor(i);
      if (to != &end_ && to != cuts_[piece]) continue;
      branch->setSuccessor(i, joint);
      going.addIncoming(goes ? b.getInt32(1) : &nothing, &block);
    }
  }

  static constexpr std::size_t kNone = ~std::size_t{0};

  BasicBlock& end_;
  const std::vector<BasicBlock*>& rungs_;
  llvm::Function& function_;
  const llvm::DominatorTree& dominators_;
  llvm::MapVector<BasicBlock*, std::size_t> place_;  // a rung's number
  std::vector<std::size_t> piece_of_;                // by rung
  std::vector<BasicBlock*> cuts_;  // where pieces begin but the first
  std::vector<llvm::AllocaInst*> variables_;
};

// Rows of branches at which lanes part, by where they meet again.
std::vector<Ladder> FindLadders(llvm::Function& function,
                                llvm::FunctionAnalysisManager& analyses) {
  const auto& behind =
      analyses.getResult<llvm::PostDominatorTreeAnalysis>(function);
  const auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  const auto& dominators =
      analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  llvm::MapVector<BasicBlock*, std::vector<BasicBlock*>> by_end;
  for (BasicBlock& block : function) {
    const llvm::DomTreeNode* node = behind.getNode(&block);
    if (!dominators.isReachableFromEntry(&block) || !node || !node->getIDom() ||
        !node->getIDom()->getBlock() || block.getUniqueSuccessor()) {
      continue;
    }
    BasicBlock* end = node->getIDom()->getBlock();
    if (loops.getLoopFor(end) != loops.getLoopFor(&block)) continue;
    by_end[end].push_back(&block);
  }
  std::vector<Ladder> found;
  for (auto& [end, blocks] : by_end) {
    if (blocks.size() < kLongLadder) continue;
    const auto& uniformity =
        analyses.getResult<llvm::UniformityInfoAnalysis>(function);
    const llvm::SmallPtrSet<const BasicBlock*, 32> all(blocks.begin(),
                                                       blocks.end());
    // The longest chain: each is in the way of the next.
    const auto* last = *std::max_element(
        blocks.begin(), blocks.end(), [&](BasicBlock* a, BasicBlock* b) {
          return dominators.getNode(a)->getLevel() <
                 dominators.getNode(b)->getLevel();
        });
    Ladder ladder = {end, {}};
    for (const llvm::DomTreeNode* node = dominators.getNode(last); node;
         node = node->getIDom()) {
      BasicBlock* block = node->getBlock();
      if (all.contains(block) &&
          uniformity.isDivergent(block->getTerminator())) {
        ladder.rungs.push_back(block);
      }
    }
    std::reverse(ladder.rungs.begin(), ladder.rungs.end());
    if (ladder.rungs.size() >= kLongLadder) found.push_back(std::move(ladder));
  }
  return found;
}

}  // namespace

llvm::PreservedAnalyses CutLadders::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  llvm::SmallPtrSet<const BasicBlock*, 4> ends;
  bool changed = false;
  for (bool again = true; again;) {
    again = false;
    for (const Ladder& ladder : FindLadders(function, analyses)) {
      if (!ends.insert(ladder.end).second) continue;
      Cutting cutting(
          ladder, analyses.getResult<llvm::DominatorTreeAnalysis>(function));
      if (!cutting.Run()) continue;
      analyses.invalidate(function, llvm::PreservedAnalyses::none());
      llvm::DominatorTree dominators(function);
      llvm::PromoteMemToReg(cutting.variables(), dominators);
      changed = again = true;
      break;
    }
  }
  return changed ? llvm::PreservedAnalyses::none()
                 : llvm::PreservedAnalyses::all();
}

}  // namespace cerberus::ptx
