#include "ptxc/passes/repairs/carries.h"

#include <utility>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/KnownBits.h"

namespace cerberus::ptx {
namespace {

using llvm::IRBuilder;
using llvm::Value;
using llvm::WithOverflowInst;

constexpr unsigned kHalf = 32;

bool NeedsCarry(const WithOverflowInst& sum) {
  return llvm::any_of(sum.users(), [](const llvm::User* user) {
    const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    return !part || part->getIndices()[0] == 1;
  });
}

// Whether the backend may see a sum without carry in it, or in its upper half.
bool MayBeSum(const Value& value) {
  if (const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(&value)) {
    const auto* sum =
        llvm::dyn_cast<WithOverflowInst>(part->getAggregateOperand());
    return !sum || !NeedsCarry(*sum);
  }
  return llvm::isa<llvm::Instruction>(value) &&
         !llvm::isa<llvm::LoadInst, llvm::PHINode>(value);
}

// A sum or difference, and its carry or borrow.
using Parts = std::pair<Value*, Value*>;

Parts WithCarry(IRBuilder<>& b, bool add, Value* value, Value* carry) {
  Value* in = b.CreateZExt(carry, value->getType());
  Value* sum = add ? b.CreateAdd(value, in) : b.CreateSub(value, in);
  return {sum, b.CreateAnd(carry, b.CreateIsNull(add ? sum : value))};
}

Parts OfHalves(IRBuilder<>& b, bool add, Value* value, Value* half) {
  llvm::Type* type = b.getInt32Ty();
  Value* lower = b.CreateBinaryIntrinsic(
      add ? llvm::Intrinsic::uadd_with_overflow
          : llvm::Intrinsic::usub_with_overflow,
      b.CreateTrunc(value, type), b.CreateTrunc(half, type));
  const Parts upper =
      WithCarry(b, add, b.CreateTrunc(b.CreateLShr(value, kHalf), type),
                b.CreateExtractValue(lower, 1));
  Value* shifted =
      b.CreateShl(b.CreateZExt(upper.first, value->getType()), kHalf);
  return {b.CreateOr(shifted, b.CreateZExt(b.CreateExtractValue(lower, 0),
                                           value->getType())),
          upper.second};
}

void Replace(WithOverflowInst& sum) {
  using llvm::PatternMatch::m_Value;
  using llvm::PatternMatch::m_ZExt;
  const bool add = sum.getBinaryOp() == llvm::Instruction::Add;
  Value* value = sum.getLHS();
  Value* other = sum.getRHS();
  const auto fits = [&] {
    Value* carry = nullptr;
    if (!MayBeSum(*value)) return false;
    if (sum.getLHS()->getType()->isIntegerTy(kHalf)) {
      return match(other, m_ZExt(m_Value(carry))) &&
             carry->getType()->isIntegerTy(1);
    }
    return llvm::computeKnownBits(other, sum.getDataLayout())
               .countMinLeadingZeros() >= kHalf;
  };
  bool found = fits();
  if (!found && add) {
    std::swap(value, other);
    found = fits();
  }
  if (!found) return;
  IRBuilder<> b(&sum);
  const Parts parts =
      value->getType()->isIntegerTy(kHalf)
          ? WithCarry(b, add, value,
                      llvm::cast<llvm::ZExtInst>(other)->getOperand(0))
          : OfHalves(b, add, value, other);
  Value* both = b.CreateInsertValue(llvm::PoisonValue::get(sum.getType()),
                                    parts.first, 0);
  both = b.CreateInsertValue(both, parts.second, 1);
  for (llvm::User* user : llvm::make_early_inc_range(sum.users())) {
    auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    if (!part) continue;
    part->replaceAllUsesWith(part->getIndices()[0] == 0 ? parts.first
                                                        : parts.second);
    part->eraseFromParent();
  }
  sum.replaceAllUsesWith(both);
  sum.eraseFromParent();
}

}  // namespace

void KeepCarries(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<WithOverflowInst*> sums;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* sum = llvm::dyn_cast<WithOverflowInst>(&instruction);
      if (sum && !sum->isSigned() &&
          sum->getBinaryOp() != llvm::Instruction::Mul &&
          (sum->getLHS()->getType()->isIntegerTy(kHalf) ||
           sum->getLHS()->getType()->isIntegerTy(2 * kHalf)) &&
          NeedsCarry(*sum)) {
        sums.push_back(sum);
      }
    }
    for (WithOverflowInst* sum : sums) Replace(*sum);
  }
}

}  // namespace cerberus::ptx
