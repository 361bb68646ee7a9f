#include "ptxc/passes/phi_offsets.h"

#include <cstdint>
#include <vector>

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/Casting.h"

namespace cerberus::ptx {
namespace {

// With fewer ways the sum behind costs what they spare.
constexpr unsigned kManyWays = 4;

// The sum of a base and a constant, if it is one.
llvm::GetElementPtrInst* AsSum(llvm::Value* pointer) {
  auto* sum = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer);
  return sum && sum->hasAllConstantIndices() ? sum : nullptr;
}

bool Join(llvm::PHINode& phi) {
  if (!phi.getType()->isPointerTy() || phi.getNumIncomingValues() < kManyWays) {
    return false;
  }
  const llvm::DataLayout& layout = phi.getDataLayout();
  llvm::Value* base = nullptr;
  std::vector<std::uint32_t> offsets;
  auto flags = llvm::GEPNoWrapFlags::all();
  for (llvm::Value* pointer : phi.incoming_values()) {
    llvm::APInt offset(layout.getIndexTypeSizeInBits(phi.getType()), 0);
    if (llvm::GetElementPtrInst* sum = AsSum(pointer)) {
      if (!sum->hasOneUse() || !sum->accumulateConstantOffset(layout, offset)) {
        return false;
      }
      flags = flags & sum->getNoWrapFlags();
      pointer = sum->getPointerOperand();
    }
    if (!offset.isIntN(31) || pointer == &phi || (base && pointer != base)) {
      return false;
    }
    base = pointer;
    offsets.push_back(static_cast<std::uint32_t>(offset.getZExtValue()));
  }
  if (llvm::all_equal(offsets)) return false;
  // It is defined in front of all ways here, so of the phi as well.
  llvm::IRBuilder<> b(&phi);
  llvm::PHINode* joined = b.CreatePHI(b.getInt32Ty(), offsets.size());
  for (unsigned i = 0; i < offsets.size(); ++i) {
    joined->addIncoming(b.getInt32(offsets[i]), phi.getIncomingBlock(i));
  }
  b.SetInsertPoint(phi.getParent(), phi.getParent()->getFirstInsertionPt());
  llvm::Value* index = b.CreateZExt(joined, layout.getIndexType(phi.getType()),
                                    "", /*IsNonNeg=*/true);
  phi.replaceAllUsesWith(b.CreatePtrAdd(base, index, "", flags));
  std::vector<llvm::GetElementPtrInst*> sums;
  for (llvm::Value* pointer : phi.incoming_values()) {
    if (auto* sum = AsSum(pointer)) sums.push_back(sum);
  }
  phi.eraseFromParent();
  for (llvm::GetElementPtrInst* sum : sums) sum->eraseFromParent();
  return true;
}

}  // namespace

llvm::PreservedAnalyses JoinOffsets::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    for (llvm::PHINode& phi : llvm::make_early_inc_range(block.phis())) {
      changed |= Join(phi);
    }
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace cerberus::ptx
