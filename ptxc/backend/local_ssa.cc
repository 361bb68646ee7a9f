// SSAUpdaterBulk::RewriteAndOptimizeAllUses by what lies between definitions
// and uses alone.
//
// Structurizing calls it for each region. LLVM finds where phis belong by the
// function's dominators, for which it numbers all of them anew, since the
// region has changed them, and walks all that the region dominates: a half of
// the compile time of 5,000 branches behind each other (StructurizeCFG,
// IDFCalculator; LLVM 22). SSAUpdater, which it had used before, looks no
// further than from the uses back to the definitions. The linker puts this in
// LLVM's place (--wrap).
#include <iterator>

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Casting.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"
#include "llvm/Transforms/Utils/SSAUpdaterBulk.h"

namespace cerberus::ptx {
namespace {

// The updater's list of variables is private to it. An explicit instantiation
// may name it all the same ([temp.spec.general]/6).
template <auto kMember>
struct Opened {
  friend auto& VariablesOf(llvm::SSAUpdaterBulk& updater) {
    return updater.*kMember;
  }
};
template struct Opened<&llvm::SSAUpdaterBulk::Rewrites>;
auto& VariablesOf(llvm::SSAUpdaterBulk& updater);

void RewriteAll(llvm::SSAUpdaterBulk& updater,
                llvm::SmallVectorImpl<llvm::PHINode*>* phis) {
  for (auto& variable : VariablesOf(updater)) {
    llvm::SSAUpdater one(phis);
    one.Initialize(variable.Ty, variable.Name);
    for (const auto& [block, value] : variable.Defines) {
      one.AddAvailableValue(block, value);
    }
    for (llvm::Use* use : variable.Uses) one.RewriteUse(*use);
  }
}

}  // namespace
}  // namespace cerberus::ptx

// Its mangled name, which begins with two underscores.
extern "C" void
__wrap__ZN4llvm14SSAUpdaterBulk25RewriteAndOptimizeAllUsesERNS_13DominatorTreeE(
    llvm::SSAUpdaterBulk* updater, llvm::DominatorTree& /*dominators*/) {
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  cerberus::ptx::RewriteAll(*updater, &phis);
  llvm::MapVector<llvm::BasicBlock*, unsigned> left;
  for (llvm::PHINode* phi : phis) {
    if (llvm::Value* value =
            llvm::simplifyInstruction(phi, phi->getDataLayout())) {
      phi->replaceAllUsesWith(value);
      phi->eraseFromParent();
    } else {
      ++left[phi->getParent()];
    }
  }
  for (const auto& [block, count] : left) {
    llvm::EliminateNewDuplicatePHINodes(
        block, std::next(block->phis().begin(), count));
  }
}
