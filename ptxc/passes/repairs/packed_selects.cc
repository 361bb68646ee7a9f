#include "ptxc/passes/repairs/packed_selects.h"

#include <optional>
#include <vector>

#include "llvm/ADT/APInt.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace cerberus::ptx {
namespace {

// None of what is no plain number.
std::optional<llvm::APInt> BitsOf(const llvm::Constant* element,
                                  unsigned bits) {
  if (element == nullptr) return std::nullopt;
  if (llvm::isa<llvm::UndefValue>(element)) return llvm::APInt(bits, 0);
  if (const auto* number = llvm::dyn_cast<llvm::ConstantFP>(element)) {
    return number->getValueAPF().bitcastToAPInt();
  }
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(element)) {
    return number->getValue();
  }
  return std::nullopt;
}

// The casts of a select to other than as many numbers.
std::vector<llvm::BitCastInst*> Repackings(llvm::SelectInst& select,
                                           unsigned elements) {
  std::vector<llvm::BitCastInst*> casts;
  for (llvm::User* user : select.users()) {
    auto* cast = llvm::dyn_cast<llvm::BitCastInst>(user);
    if (cast == nullptr) continue;
    const auto* to = llvm::dyn_cast<llvm::FixedVectorType>(cast->getType());
    if (to == nullptr || to->getNumElements() != elements) {
      casts.push_back(cast);
    }
  }
  return casts;
}

void Split(llvm::SelectInst& select) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(select.getType());
  const auto* yes = llvm::dyn_cast<llvm::Constant>(select.getTrueValue());
  const auto* no = llvm::dyn_cast<llvm::Constant>(select.getFalseValue());
  if (type == nullptr || !select.getCondition()->getType()->isVectorTy() ||
      yes == nullptr || no == nullptr) {
    return;
  }
  const unsigned elements = type->getNumElements();
  const unsigned bits = type->getScalarSizeInBits();
  const std::vector<llvm::BitCastInst*> casts = Repackings(select, elements);
  if (casts.empty() || bits == 0) return;
  llvm::IRBuilder<> b(&select);
  llvm::IntegerType* whole = b.getIntNTy(elements * bits);
  llvm::Value* sum = nullptr;
  for (unsigned i = 0; i < elements; ++i) {
    const auto one = BitsOf(yes->getAggregateElement(i), bits);
    const auto other = BitsOf(no->getAggregateElement(i), bits);
    if (!one || !other) return;
    const auto placed = [&](const llvm::APInt& number) {
      return llvm::ConstantInt::get(whole,
                                    number.zext(elements * bits).shl(i * bits));
    };
    llvm::Value* part =
        b.CreateSelect(b.CreateExtractElement(select.getCondition(), i),
                       placed(*one), placed(*other));
    sum = sum == nullptr ? part : b.CreateOr(sum, part);
  }
  for (llvm::BitCastInst* cast : casts) {
    cast->replaceAllUsesWith(b.CreateBitCast(sum, cast->getType()));
    cast->eraseFromParent();
  }
  if (select.use_empty()) select.eraseFromParent();
}

}  // namespace

void SplitPackedSelects(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<llvm::SelectInst*> selects;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
        selects.push_back(select);
      }
    }
    for (llvm::SelectInst* select : selects) Split(*select);
  }
}

}  // namespace cerberus::ptx
