#include "ptxc/passes/growth/passes_by_size.h"

#include <gtest/gtest.h>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace cerberus::ptx {
namespace {

// A chain of as many blocks.
void AddFunction(llvm::Module& module, llvm::StringRef name, int blocks) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  llvm::Function* function =
      llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), false),
                             llvm::GlobalValue::ExternalLinkage, name, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  for (int i = 1; i < blocks; ++i) {
    llvm::BasicBlock* next = llvm::BasicBlock::Create(context, "", function);
    b.CreateBr(next);
    b.SetInsertPoint(next);
  }
  b.CreateRetVoid();
}

bool Runs(llvm::LLVMContext& context, llvm::StringRef pass,
          llvm::StringRef function) {
  const llvm::OptPassGate& gate = context.getOptPassGate();
  return !gate.isEnabled() ||
         gate.shouldRunPass(pass, ("function (" + function + ")").str());
}

TEST(PassesBySize, LargeFunctionsDoWithoutMemoryClauses) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  AddFunction(module, "small", 100);
  AddFunction(module, "large", 5000);
  {
    const PassesBySize some(module);
    EXPECT_FALSE(Runs(context, "si-form-memory-clauses", "large"));
    EXPECT_TRUE(Runs(context, "si-form-memory-clauses", "small"));
    EXPECT_TRUE(Runs(context, "machine-scheduler", "large"));
  }
  EXPECT_TRUE(Runs(context, "si-form-memory-clauses", "large"));
}

}  // namespace
}  // namespace cerberus::ptx
