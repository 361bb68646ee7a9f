#include "ptxc/passes/lanes/joins.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "ptxc/passes/lanes/waves.h"

namespace cerberus::ptx {
namespace {

constexpr llvm::StringLiteral kPrefix = "__cerberus_join_";

}  // namespace

bool IsJoinFunction(const llvm::Function& function) {
  return function.getName().starts_with(kPrefix);
}

std::pair<llvm::Function*, bool> JoinFunction(
    llvm::Module& module, llvm::StringRef kind, llvm::Type* result,
    llvm::ArrayRef<llvm::Value*> args) {
  const std::string name = (kPrefix + kind).str();
  if (llvm::Function* old = module.getFunction(name)) return {old, false};
  std::vector<llvm::Type*> types;
  for (llvm::Value* arg : args) types.push_back(arg->getType());
  llvm::Function* function =
      llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                             llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::WillReturn);
  // Those without a result order memory. Of the others each stays, whatever
  // becomes of the result: lanes elsewhere wait for as many.
  if (!result->isVoidTy()) function->setOnlyAccessesInaccessibleMemory();
  return {function, true};
}

llvm::CallInst* AsJoin(llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (!call) return nullptr;
  const llvm::Function* callee = call->getCalledFunction();
  return callee && IsJoinFunction(*callee) ? call : nullptr;
}

bool IsJoin(const llvm::Instruction& instruction) {
  return AsJoin(const_cast<llvm::Instruction&>(instruction)) != nullptr;
}

bool IsOfTheWave(const llvm::Instruction& instruction) {
  return IsJoin(instruction) && llvm::cast<llvm::CallInst>(instruction)
                                    .getCalledFunction()
                                    ->hasFnAttribute(kOfTheWave);
}

llvm::Function* BarrierFunction(llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  const auto [function, is_new] =
      JoinFunction(module, "barrier", b.getVoidTy(), {b.getInt32(0)});
  if (!is_new) return function;
  function->addFnAttr(kOfTheWave);
  function->addFnAttr(llvm::Attribute::Convergent);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "", function));
  b.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier,
                    llvm::ArrayRef<llvm::Type*>(),
                    llvm::ArrayRef<llvm::Value*>());
  b.CreateRetVoid();
  return function;
}

void JoinBarriers(llvm::Function& function) {
  llvm::IRBuilder<> b(function.getContext());
  for (llvm::Instruction& instruction :
       llvm::make_early_inc_range(llvm::instructions(function))) {
    const auto* barrier = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!barrier ||
        barrier->getIntrinsicID() != llvm::Intrinsic::amdgcn_s_barrier) {
      continue;
    }
    b.SetInsertPoint(&instruction);
    b.CreateCall(BarrierFunction(*function.getParent()), {b.getInt32(~0u)});
    instruction.eraseFromParent();
  }
}

bool OrdersMemory(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::FenceInst>(instruction) ||
         (IsJoin(instruction) && instruction.getType()->isVoidTy());
}

llvm::Value* MaskOf(const llvm::CallInst& join) {
  return join.getArgOperand(0);
}

std::vector<Joins> KindsOf(llvm::ArrayRef<llvm::CallInst*> joins) {
  llvm::SmallPtrSet<const llvm::Function*, 4> computed;  // some masks are
  for (const llvm::CallInst* join : joins) {
    if (!llvm::isa<llvm::ConstantInt>(MaskOf(*join))) {
      computed.insert(join->getCalledFunction());
    }
  }
  llvm::MapVector<std::pair<const llvm::Function*, const llvm::Value*>, Joins>
      kinds;
  for (llvm::CallInst* join : joins) {
    const llvm::Function* callee = join->getCalledFunction();
    kinds[{callee, computed.contains(callee) ? nullptr : MaskOf(*join)}]
        .push_back(join);
  }
  std::vector<Joins> result;
  for (auto& [key, kind] : kinds) result.push_back(std::move(kind));
  return result;
}

llvm::ConstantInt* KnownMaskOf(llvm::ArrayRef<llvm::CallInst*> kind) {
  llvm::Value* mask = MaskOf(*kind.front());
  const bool same = llvm::all_of(kind, [mask](const llvm::CallInst* join) {
    return MaskOf(*join) == mask;
  });
  return same ? llvm::dyn_cast<llvm::ConstantInt>(mask) : nullptr;
}

// Each turn takes the numbers of the first lane left, as devlib/sync.h does for
// match.sync.
llvm::Function* MatchFunction(llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Value* number = b.getInt32(0);
  const auto [function, is_new] =
      JoinFunction(module, "match", b.getInt32Ty(), {number, number});
  if (!is_new) return function;
  function->addFnAttr(llvm::Attribute::Convergent);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  const auto block = [&] {
    return llvm::BasicBlock::Create(module.getContext(), "", function);
  };
  b.SetInsertPoint(block());
  llvm::BasicBlock* turn = block();
  llvm::BasicBlock* done = block();
  b.CreateBr(turn);
  b.SetInsertPoint(turn);
  llvm::Value* equal = b.getTrue();
  for (llvm::Argument& argument : function->args()) {
    llvm::Value* first =
        b.CreateIntrinsic(llvm::Intrinsic::amdgcn_readfirstlane,
                          {argument.getType()}, {&argument});
    equal = b.CreateAnd(equal, b.CreateICmpEQ(&argument, first));
  }
  llvm::Value* lanes = b.CreateCall(WaveFunction(module, "ballot"), {equal});
  b.CreateCondBr(equal, done, turn);
  b.SetInsertPoint(done);
  b.CreateRet(lanes);
  return function;
}

llvm::PreservedAnalyses InlineJoins::run(llvm::Module& module,
                                         llvm::ModuleAnalysisManager&) {
  bool changed = false;
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (!IsJoinFunction(function)) continue;
    changed = true;
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      llvm::InlineFunctionInfo info;
      llvm::InlineFunction(*llvm::cast<llvm::CallInst>(user), info);
    }
    function.eraseFromParent();
  }
  return changed ? llvm::PreservedAnalyses::none()
                 : llvm::PreservedAnalyses::all();
}

}  // namespace cerberus::ptx
