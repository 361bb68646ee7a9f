#include "ptxc/passes/zero_products.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

namespace cerberus::ptx {

void KeepSignsOfZeroProducts(llvm::Module& module) {
  using llvm::PatternMatch::m_FMul;
  using llvm::PatternMatch::m_Value;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& use : llvm::instructions(function)) {
      auto* half = llvm::dyn_cast<llvm::FPTruncInst>(&use);
      llvm::Value* a = nullptr;
      llvm::Value* b = nullptr;
      if (!half || !half->getType()->getScalarType()->isHalfTy() ||
          !half->getSrcTy()->getScalarType()->isFloatTy() ||
          !match(half->getOperand(0), m_FMul(m_Value(a), m_Value(b)))) {
        continue;
      }
      auto* product = llvm::cast<llvm::Instruction>(half->getOperand(0));
      llvm::IRBuilder<> builder(product);
      half->setOperand(
          0, builder.CreateIntrinsic(
                 llvm::Intrinsic::fma, {product->getType()},
                 {a, b, llvm::ConstantFP::getNegativeZero(product->getType())},
                 product));
      if (product->use_empty()) product->eraseFromParent();
    }
  }
}

}  // namespace cerberus::ptx
