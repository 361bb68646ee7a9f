#include "ptxc/passes/growth/sinking.h"

#include <cstddef>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Scalar/Sink.h"
#include "ptxc/passes/hidden.h"

namespace cerberus::ptx {
namespace {

// Fewer do no harm.
constexpr std::size_t kManySums = 64;

// Of a load with a write, some tens of milliseconds together.
constexpr std::size_t kMostComparisons = 250000;

// Whether LLVM would move it, and two or more values would be needed for longer
// instead of one.
bool WouldSpread(const llvm::Instruction& value) {
  if (!llvm::isa<llvm::BinaryOperator>(value) || value.use_empty()) {
    return false;
  }
  const llvm::BasicBlock* here = value.getParent();
  if (llvm::any_of(value.uses(), [&](const llvm::Use& use) {
        return WhereUsed(use) == here;
      })) {
    return false;
  }
  return llvm::all_of(value.operands(), [&](const llvm::Use& operand) {
    const auto* made = llvm::dyn_cast<llvm::Instruction>(operand);
    return made && llvm::all_of(made->uses(), [&](const llvm::Use& use) {
             const llvm::BasicBlock* block = WhereUsed(use);
             return block == here || block == made->getParent();
           });
  });
}

bool ComparesMany(const llvm::Function& function) {
  std::size_t comparisons = 0;
  for (const llvm::BasicBlock& block : function) {
    std::size_t writes = 0;
    for (const llvm::Instruction& instruction : llvm::reverse(block)) {
      if (instruction.mayWriteToMemory()) {
        ++writes;
      } else if (instruction.mayReadFromMemory()) {
        comparisons += writes;
      }
    }
  }
  return comparisons > kMostComparisons;
}

}  // namespace

llvm::BasicBlock* WhereUsed(const llvm::Use& use) {
  auto* user = llvm::cast<llvm::Instruction>(use.getUser());
  auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
  return phi ? phi->getIncomingBlock(use) : user->getParent();
}

llvm::PreservedAnalyses HoldSums::run(llvm::Function& function,
                                      llvm::FunctionAnalysisManager& analyses) {
  std::vector<llvm::Instruction*> found;
  for (llvm::Instruction& value : llvm::instructions(function)) {
    // What has 64 bits may be an address, whose parts must be seen.
    if (!value.getType()->isIntegerTy(64) && CanHide(value) &&
        WouldSpread(value)) {
      found.push_back(&value);
    }
  }
  if (found.size() < kManySums) return llvm::PreservedAnalyses::all();
  const auto& uniformity =
      analyses.getResult<llvm::UniformityInfoAnalysis>(function);
  llvm::erase_if(found, [&](const llvm::Instruction* value) {
    return uniformity.isUniform(value);
  });
  for (llvm::Instruction* value : found) {
    Hide(*value, value->getType()).setConvergent();
  }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

llvm::PreservedAnalyses SinkWithinBounds::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  return ComparesMany(function) ? llvm::PreservedAnalyses::all()
                                : llvm::SinkingPass().run(function, analyses);
}

}  // namespace cerberus::ptx
