// What LLVM does not see through: assembly without text.
#ifndef CERBERUS_PTXC_PASSES_HIDDEN_H_
#define CERBERUS_PTXC_PASSES_HIDDEN_H_

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

namespace cerberus::ptx {

inline bool CanHide(llvm::Instruction& value) {
  const llvm::Type* type = value.getType();
  return (type->isIntegerTy(32) || type->isIntegerTy(64) || type->isFloatTy() ||
          type->isDoubleTy()) &&
         value.getInsertionPointAfterDef();
}

// Assembly takes it and gives it back: a lane's own value only, one of a wave
// would be copied. Who uses `value` uses what comes back, by way of `type`, of
// the same size.
inline llvm::CallInst& Hide(llvm::Instruction& value, llvm::Type* type) {
  llvm::IRBuilder<> b(value.getContext());
  b.SetInsertPoint(value.getParent(), *value.getInsertionPointAfterDef());
  auto* made = b.CreateCall(
      llvm::InlineAsm::get(
          llvm::FunctionType::get(type, {value.getType()}, false), "", "=v,0",
          /*hasSideEffects=*/false),
      {llvm::PoisonValue::get(value.getType())});
  made->setDoesNotAccessMemory();
  made->setDoesNotThrow();
  value.replaceAllUsesWith(b.CreateBitCast(made, value.getType()));
  made->setArgOperand(0, &value);
  return *made;
}

// A lane's zero that LLVM keeps in a register.
inline llvm::CallInst& HiddenZero(llvm::IRBuilderBase& b) {
  llvm::CallInst* made = b.CreateCall(
      llvm::InlineAsm::get(
          llvm::FunctionType::get(b.getInt32Ty(), {b.getInt32Ty()}, false), "",
          "=v,0", /*hasSideEffects=*/false),
      {b.getInt32(0)});
  made->setDoesNotAccessMemory();
  made->setDoesNotThrow();
  return *made;
}

// Holds loads back: what may touch memory that is not known, and is no
// instruction. To say so by "~{memory}" would take a millisecond each: LLVM
// compares it with the name of every register.
inline llvm::CallInst& HoldLoads(llvm::IRBuilderBase& b) {
  return *b.CreateCall(
      llvm::InlineAsm::get(
          llvm::FunctionType::get(b.getVoidTy(), {b.getInt32Ty()}, false), "",
          "X", /*hasSideEffects=*/true),
      {b.getInt32(0)});
}

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_HIDDEN_H_
