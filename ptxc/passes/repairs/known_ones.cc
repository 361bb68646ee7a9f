#include "ptxc/passes/repairs/known_ones.h"

#include <vector>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/KnownBits.h"

namespace cerberus::ptx {
namespace {

constexpr unsigned kHalf = 32;

void Split(llvm::BinaryOperator& sum) {
  if (llvm::isa<llvm::Constant>(sum.getOperand(1))) return;
  const llvm::DataLayout& layout = sum.getModule()->getDataLayout();
  const llvm::APInt ones =
      llvm::computeKnownBits(sum.getOperand(0), layout).One |
      llvm::computeKnownBits(sum.getOperand(1), layout).One;
  const bool known[] = {ones.extractBits(kHalf, 0).isAllOnes(),
                        ones.extractBits(kHalf, kHalf).isAllOnes()};
  if (!known[0] && !known[1]) return;
  llvm::IRBuilder<> b(&sum);
  llvm::Type* type = llvm::FixedVectorType::get(b.getInt32Ty(), 2);
  llvm::Value* operands[] = {b.CreateBitCast(sum.getOperand(0), type),
                             b.CreateBitCast(sum.getOperand(1), type)};
  llvm::Value* halves = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < 2; ++i) {
    llvm::Value* half = llvm::ConstantInt::getAllOnesValue(b.getInt32Ty());
    if (!known[i]) {
      half = b.CreateOr(b.CreateExtractElement(operands[0], i),
                        b.CreateExtractElement(operands[1], i));
    }
    halves = b.CreateInsertElement(halves, half, i);
  }
  sum.replaceAllUsesWith(b.CreateBitCast(halves, sum.getType()));
  sum.eraseFromParent();
}

}  // namespace

void KeepKnownOnes(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<llvm::BinaryOperator*> sums;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (instruction.getOpcode() == llvm::Instruction::Or &&
          instruction.getType()->isIntegerTy(2 * kHalf)) {
        sums.push_back(llvm::cast<llvm::BinaryOperator>(&instruction));
      }
    }
    for (llvm::BinaryOperator* sum : sums) Split(*sum);
  }
}

}  // namespace cerberus::ptx
