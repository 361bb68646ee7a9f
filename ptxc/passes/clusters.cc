#include "ptxc/passes/clusters.h"

#include <fmt/format.h>

#include <vector>

#include "formats/launch_abi.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"
#include "ptxc/address_spaces.h"

namespace cerberus::ptx {
namespace {

constexpr llvm::StringLiteral kPrefix = "__cerberus_cluster_";
constexpr llvm::StringLiteral kRequired = "cerberus-cluster";

llvm::Type* ResultOf(llvm::LLVMContext& context, llvm::StringRef name) {
  if (name == "several" || name == "leaves") {
    return llvm::Type::getInt1Ty(context);
  }
  if (name == "base" || name == "bytes") return llvm::Type::getInt64Ty(context);
  if (name == "barrier") return llvm::PointerType::get(context, kAsGlobal);
  if (name == "phase") return llvm::PointerType::get(context, kAsLocal);
  return llvm::Type::getInt32Ty(context);
}

// What is asked for by a call of __cerberus_cluster_<name>; "" if it is none.
llvm::StringRef Asks(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
  if (callee == nullptr) return {};
  llvm::StringRef name = callee->getName();
  return name.consume_front(kPrefix) ? name : llvm::StringRef();
}

std::vector<llvm::CallInst*> CallsIn(llvm::Function& function) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (!Asks(instruction).empty()) {
      calls.push_back(llvm::cast<llvm::CallInst>(&instruction));
    }
  }
  return calls;
}

// Branches that are decided now go, and what only they led to: in it, lanes
// may wait for each other.
void FoldBranches(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    llvm::ConstantFoldTerminator(&block, /*DeleteDeadConditions=*/true);
  }
  llvm::removeUnreachableBlocks(function);
}

void Resolve(llvm::Function& function, const ClusterValues* values) {
  const std::vector<llvm::CallInst*> calls = CallsIn(function);
  if (calls.empty()) return;
  llvm::BasicBlock& entry = function.getEntryBlock();
  llvm::IRBuilder<> b(&entry, entry.begin());
  llvm::AllocaInst* phase =
      b.CreateAlloca(b.getInt32Ty(), kAsLocal, nullptr, "cluster.phase");
  b.CreateStore(b.getInt32(0), phase);
  const auto value_of = [&](llvm::StringRef name) -> llvm::Value* {
    if (name == "phase") return phase;
    if (name == "several" || name == "leaves") {
      return b.getInt1(values != nullptr);
    }
    if (name == "shape") {
      return values ? values->shape
                    : b.getInt32(formats::WindowBlock::kOneBlock);
    }
    if (name == "own") return values ? values->own : b.getInt32(0);
    if (name == "stride") return values ? values->stride : b.getInt32(0);
    if (name == "base") return values ? values->base : b.getInt64(0);
    if (name == "bytes") return values ? values->bytes : b.getInt64(0);
    return values ? values->barrier
                  : llvm::Constant::getNullValue(
                        ResultOf(function.getContext(), name));
  };
  for (llvm::CallInst* call : calls) {
    llvm::replaceAndRecursivelySimplify(call, value_of(Asks(*call)));
  }
  FoldBranches(function);
  if (llvm::isAllocaPromotable(phase)) {
    llvm::DominatorTree dominators(function);
    llvm::PromoteMemToReg(phase, dominators);
  }
}

}  // namespace

llvm::Function* ClusterFunction(llvm::Module& module, llvm::StringRef name) {
  const std::string full = (kPrefix + name).str();
  if (llvm::Function* known = module.getFunction(full)) return known;
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(ResultOf(module.getContext(), name), false),
      llvm::Function::ExternalLinkage, full, module);
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  return function;
}

bool UsesClusters(const llvm::Function& function) {
  return llvm::any_of(
      llvm::instructions(function), [](const llvm::Instruction& instruction) {
        const llvm::StringRef name = Asks(instruction);
        return name == "several" || name == "shape" || name == "stride";
      });
}

void SetRequiredCluster(llvm::Function& kernel, const ClusterShape& shape) {
  kernel.addFnAttr(kRequired,
                   fmt::format("{},{},{}", shape[0], shape[1], shape[2]));
}

std::optional<ClusterShape> RequiredCluster(const llvm::Function& kernel) {
  if (!kernel.hasFnAttribute(kRequired)) return std::nullopt;
  llvm::SmallVector<llvm::StringRef, 3> sides;
  kernel.getFnAttribute(kRequired).getValueAsString().split(sides, ',');
  ClusterShape shape = {1, 1, 1};
  for (std::size_t i = 0; i < shape.size() && i < sides.size(); ++i) {
    sides[i].getAsInteger(10, shape[i]);
  }
  return shape;
}

void ResolveClusters(llvm::Function& kernel, const ClusterValues& values) {
  Resolve(kernel, &values);
}

void ResolveClustersOfOneBlock(llvm::Function& function) {
  Resolve(function, nullptr);
}

}  // namespace cerberus::ptx
