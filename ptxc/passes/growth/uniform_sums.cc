#include "ptxc/passes/growth/uniform_sums.h"

#include <optional>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace cerberus::ptx {
namespace {

using llvm::BinaryOperator;
using llvm::Value;

// Below this LLVM does as well.
constexpr std::size_t kFewest = 8;

// One of a chain, and which of its operands is uniform.
struct Link {
  BinaryOperator* op;
  unsigned uniform;
  Value* Uniform() const { return op->getOperand(uniform); }
  Value* Lanes() const { return op->getOperand(1 - uniform); }
};

// If just one operand is divergent.
std::optional<Link> LinkOf(BinaryOperator& op,
                           const llvm::UniformityInfo& same) {
  const bool left = same.isDivergent(op.getOperand(0));
  const bool right = same.isDivergent(op.getOperand(1));
  if (left == right) return std::nullopt;
  return Link{&op, left ? 1u : 0u};
}

// The next link of a chain in the same block, if nobody else uses this one.
BinaryOperator* NextOf(BinaryOperator& op) {
  if (!op.hasOneUse()) return nullptr;
  auto* next = llvm::dyn_cast<BinaryOperator>(*op.user_begin());
  return next && next->getOpcode() == op.getOpcode() &&
                 next->getParent() == op.getParent()
             ? next
             : nullptr;
}

}  // namespace

llvm::PreservedAnalyses OrderUniformSums::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto& same = analyses.getResult<llvm::UniformityInfoAnalysis>(function);
  std::vector<std::vector<Link>> chains;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* first = llvm::dyn_cast<BinaryOperator>(&instruction);
    if (!first || !first->getType()->isIntegerTy() || !first->isAssociative() ||
        !first->isCommutative()) {
      continue;
    }
    const std::optional<Link> link = LinkOf(*first, same);
    if (!link) continue;
    // Only where a chain begins.
    if (auto* before = llvm::dyn_cast<BinaryOperator>(link->Lanes());
        before && NextOf(*before) == first && LinkOf(*before, same)) {
      continue;
    }
    std::vector<Link> chain = {*link};
    while (BinaryOperator* next = NextOf(*chain.back().op)) {
      const std::optional<Link> more = LinkOf(*next, same);
      if (!more || more->Lanes() != chain.back().op) break;
      chain.push_back(*more);
    }
    if (chain.size() >= kFewest) chains.push_back(std::move(chain));
  }
  for (const std::vector<Link>& chain : chains) {
    Value* sum = chain.front().Uniform();
    for (const Link& link : llvm::drop_begin(chain)) {
      sum = llvm::IRBuilder<>(link.op).CreateBinOp(link.op->getOpcode(), sum,
                                                   link.Uniform());
    }
    BinaryOperator* last = chain.back().op;
    last->replaceAllUsesWith(llvm::IRBuilder<>(last).CreateBinOp(
        last->getOpcode(), chain.front().Lanes(), sum));
    for (const Link& link : llvm::reverse(chain)) link.op->eraseFromParent();
  }
  if (chains.empty()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace cerberus::ptx
