#include "ptxc/passes/growth/mask_search.h"

#include <cstddef>
#include <vector>

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/Instructions.h"
#include "ptxc/passes/hidden.h"

namespace cerberus::ptx {
namespace {

// Smaller functions stay as they are.
constexpr std::size_t kManyBlocks = 400;
// One of so many blocks stops the search.
constexpr std::size_t kEachBlock = 8;

bool IsUsedElsewhere(const llvm::Instruction& value) {
  return llvm::any_of(value.users(), [&](const llvm::User* user) {
    return llvm::isa<llvm::PHINode>(user) ||
           llvm::cast<llvm::Instruction>(user)->getParent() !=
               value.getParent();
  });
}

}  // namespace

llvm::PreservedAnalyses BoundMaskSearch::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (function.size() < kManyBlocks) return llvm::PreservedAnalyses::all();
  const auto& uniformity =
      analyses.getResult<llvm::UniformityInfoAnalysis>(function);
  std::vector<llvm::Instruction*> found;
  std::size_t count = 0;
  for (llvm::BasicBlock* block :
       llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    if (++count % kEachBlock != 0) continue;
    for (llvm::Instruction& value : *block) {
      if (value.getType()->isIntegerTy(wave_size_) && CanHide(value) &&
          IsUsedElsewhere(value) && uniformity.isDivergent(&value)) {
        found.push_back(&value);
      }
    }
  }
  llvm::LLVMContext& context = function.getContext();
  for (llvm::Instruction* value : found) {
    Hide(*value, wave_size_ == 32 ? llvm::Type::getFloatTy(context)
                                  : llvm::Type::getDoubleTy(context));
  }
  if (found.empty()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace cerberus::ptx
