#include "ptxc/passes/repairs/saturating.h"

#include "llvm/ADT/APInt.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace cerberus::ptx {
namespace {

constexpr unsigned kBits = 32;  // of what the instructions make

bool IsSaturating(llvm::Intrinsic::ID id) {
  return id == llvm::Intrinsic::fptosi_sat || id == llvm::Intrinsic::fptoui_sat;
}

// Back from a float that an integer became, LLVM takes that integer.
bool WasInteger(const llvm::Value* from) {
  if (const auto* wider = llvm::dyn_cast<llvm::FPExtInst>(from)) {
    from = wider->getOperand(0);
  }
  return llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(from);
}

llvm::Value* Convert(llvm::IntrinsicInst& call) {
  const bool is_signed = call.getIntrinsicID() == llvm::Intrinsic::fptosi_sat;
  const unsigned bits = call.getType()->getIntegerBitWidth();
  llvm::IRBuilder<> b(&call);
  llvm::Type* word = b.getIntNTy(kBits);
  llvm::Value* from = call.getArgOperand(0);
  if (!from->getType()->isDoubleTy()) {
    from = b.CreateFPExt(from, b.getFloatTy());
  }
  if (!is_signed) {
    llvm::Value* number = b.CreateFreeze(b.CreateFPToUI(from, word));
    if (bits == kBits) return number;
    const llvm::APInt most = llvm::APInt::getMaxValue(bits).zext(kBits);
    number = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number,
                                     llvm::ConstantInt::get(word, most));
    return b.CreateTrunc(number, call.getType());
  }
  llvm::Value* number = b.CreateFreeze(b.CreateFPToSI(from, word));
  if (bits == kBits) return number;
  const llvm::APInt least = llvm::APInt::getSignedMinValue(bits).sext(kBits);
  const llvm::APInt most = llvm::APInt::getSignedMaxValue(bits).sext(kBits);
  number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number,
                                   llvm::ConstantInt::get(word, least));
  number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number,
                                   llvm::ConstantInt::get(word, most));
  return b.CreateTrunc(number, call.getType());
}

}  // namespace

void SaturateByInstruction(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call == nullptr || !IsSaturating(call->getIntrinsicID()) ||
          !call->getType()->isIntegerTy() ||
          call->getType()->getIntegerBitWidth() > kBits ||
          WasInteger(call->getArgOperand(0))) {
        continue;
      }
      call->replaceAllUsesWith(Convert(*call));
      call->eraseFromParent();
    }
  }
}

}  // namespace cerberus::ptx
