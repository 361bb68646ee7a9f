#include "ptxc/passes/repairs/exact_floats.h"

#include <vector>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

namespace cerberus::ptx {
namespace {

using llvm::PatternMatch::m_FMul;
using llvm::PatternMatch::m_NonZeroFP;
using llvm::PatternMatch::m_Value;

void KeepSignOfProduct(llvm::FPTruncInst& half) {
  llvm::Value* a = nullptr;
  llvm::Value* b = nullptr;
  if (!half.getType()->getScalarType()->isHalfTy() ||
      !half.getSrcTy()->getScalarType()->isFloatTy() ||
      !match(half.getOperand(0), m_FMul(m_Value(a), m_Value(b)))) {
    return;
  }
  auto* product = llvm::cast<llvm::Instruction>(half.getOperand(0));
  llvm::IRBuilder<> builder(product);
  half.setOperand(
      0, builder.CreateIntrinsic(
             llvm::Intrinsic::fma, {product->getType()},
             {a, b, llvm::ConstantFP::getNegativeZero(product->getType())},
             product));
  if (product->use_empty()) product->eraseFromParent();
}

bool FlushesF32(const llvm::Function& function) {
  return function.getDenormalMode(llvm::APFloat::IEEEsingle()) !=
         llvm::DenormalMode::getIEEE();
}

// Whether a minimum or maximum may stand for the selection.
bool IsAsGoodAs(llvm::SelectInst& select) {
  llvm::Value* a = nullptr;
  llvm::Value* b = nullptr;
  const llvm::SelectPatternFlavor flavor =
      llvm::matchSelectPattern(&select, a, b).Flavor;
  if (flavor != llvm::SPF_FMINNUM && flavor != llvm::SPF_FMAXNUM) return true;
  const bool flushes = select.getType()->getScalarType()->isFloatTy() &&
                       FlushesF32(*select.getFunction());
  return !flushes && (match(a, m_NonZeroFP()) || match(b, m_NonZeroFP()));
}

void SelectAsIntegers(llvm::SelectInst& select) {
  llvm::Type* type = select.getType();
  llvm::IRBuilder<> builder(&select);
  llvm::Type* bits =
      type->getWithNewType(builder.getIntNTy(type->getScalarSizeInBits()));
  llvm::Value* chosen = builder.CreateSelect(
      select.getCondition(), builder.CreateBitCast(select.getTrueValue(), bits),
      builder.CreateBitCast(select.getFalseValue(), bits));
  select.replaceAllUsesWith(builder.CreateBitCast(chosen, type));
  select.eraseFromParent();
}

// Whether `product` need not be there on its own: all that use it are sums in
// its block, which take it up.
bool GoesIntoSums(const llvm::Instruction& product) {
  return llvm::all_of(product.users(), [&](const llvm::User* user) {
    const auto& sum = llvm::cast<llvm::Instruction>(*user);
    if (sum.getParent() != product.getParent()) return false;
    switch (sum.getOpcode()) {
      case llvm::Instruction::FNeg: return GoesIntoSums(sum);
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub:
        return sum.hasAllowContract() && sum.getOperand(0) != sum.getOperand(1);
      default: return false;
    }
  });
}

}  // namespace

llvm::Value* WithoutSubnormal(llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value);
  if (!constant || !constant->getValueAPF().isDenormal()) return value;
  return llvm::ConstantFP::getZero(value->getType(), constant->isNegative());
}

llvm::PreservedAnalyses FlushConstants::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager&) {
  if (!FlushesF32(function)) return llvm::PreservedAnalyses::all();
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!llvm::isa<llvm::FCmpInst>(instruction) &&
        !(call && call->getIntrinsicID() == llvm::Intrinsic::fma)) {
      continue;
    }
    for (llvm::Use& operand : instruction.operands()) {
      if (operand->getType()->isFloatTy()) {
        operand.set(WithoutSubnormal(operand));
      }
    }
  }
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

void KeepFloatsExact(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<llvm::SelectInst*> selects;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (instruction.getOpcode() == llvm::Instruction::FMul &&
          instruction.hasAllowContract() && !GoesIntoSums(instruction)) {
        instruction.setHasAllowContract(false);
      }
      if (auto* half = llvm::dyn_cast<llvm::FPTruncInst>(&instruction)) {
        KeepSignOfProduct(*half);
      }
      auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      if (select && select->getType()->isFPOrFPVectorTy() &&
          !IsAsGoodAs(*select)) {
        selects.push_back(select);
      }
    }
    for (llvm::SelectInst* select : selects) SelectAsIntegers(*select);
  }
}

}  // namespace cerberus::ptx
