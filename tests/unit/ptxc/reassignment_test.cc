// What the linker puts in LLVM's place is there.
#include <gtest/gtest.h>

#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "ptxc/backend/codegen.h"

namespace cerberus::ptx {
namespace {

TEST(Reassignment, IsNotAskedFor) {
  for (const char* processor : {"gfx1100", "gfx942"}) {
    TargetId target;
    target.processor = processor;
    auto machine = CreateMachine(target, 2);
    ASSERT_TRUE(machine) << machine.error().ToString();
    llvm::LLVMContext context;
    llvm::Module module("m", context);
    PrepareModule(module, target, **machine);
    const llvm::Function* function = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
        llvm::GlobalValue::ExternalLinkage, "f", module);
    EXPECT_FALSE(
        (*machine)->getSubtargetImpl(*function)->enableRALocalReassignment(
            (*machine)->getOptLevel()));
  }
}

}  // namespace
}  // namespace cerberus::ptx
