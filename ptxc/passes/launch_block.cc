#include "ptxc/passes/launch_block.h"

#include <string>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"

namespace cerberus::ptx {
namespace {

constexpr const char* kRequired[] = {"cerberus-block-x", "cerberus-block-y",
                                     "cerberus-block-z"};

}  // namespace

llvm::Value* LoadLaunchBlock(llvm::IRBuilderBase& builder, unsigned offset,
                             unsigned bits) {
  llvm::Function* function = builder.GetInsertBlock()->getParent();
  llvm::Value* base = nullptr;
  int at = static_cast<int>(offset);
  if (function->getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL) {
    base = function->getArg(function->arg_size() - 1);
  } else {
    // A device function does not know its kernel's parameters, but the
    // block's place is fixed relative to the hidden arguments: right before.
    base = builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_implicitarg_ptr,
                                   llvm::ArrayRef<llvm::Type*>(),
                                   llvm::ArrayRef<llvm::Value*>());
    at -= kLaunchBlockBytes;
  }
  llvm::LoadInst* load = builder.CreateAlignedLoad(
      builder.getIntNTy(bits),
      builder.CreateConstGEP1_32(builder.getInt8Ty(), base,
                                 static_cast<unsigned>(at)),
      llvm::Align(bits / 8));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

void SetRequiredBlock(llvm::Function& kernel,
                      const std::array<unsigned, 3>& block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    kernel.addFnAttr(kRequired[i], std::to_string(block[i]));
  }
}

llvm::Value* LoadBlockDim(llvm::IRBuilderBase& builder, int axis) {
  const llvm::Function& function = *builder.GetInsertBlock()->getParent();
  const llvm::Attribute required = function.getFnAttribute(kRequired[axis]);
  unsigned known = 0;
  if (required.isStringAttribute() &&
      !required.getValueAsString().getAsInteger(10, known)) {
    return builder.getInt32(known);
  }
  llvm::Value* size = LoadLaunchBlock(
      builder, kLaunchBlockDim + 4 * static_cast<unsigned>(axis), 32);
  llvm::MDBuilder metadata(builder.getContext());
  llvm::cast<llvm::Instruction>(size)->setMetadata(
      llvm::LLVMContext::MD_range,
      metadata.createRange(llvm::APInt(32, 1), llvm::APInt(32, 1025)));
  return size;
}

bool IsBlockDim(const llvm::Value& value) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(&value);
  if (!load) return false;
  std::int64_t at = 0;
  const llvm::Value* base = llvm::GetPointerBaseWithConstantOffset(
      load->getPointerOperand(), at, load->getDataLayout());
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(base)) {
    if (call->getIntrinsicID() != llvm::Intrinsic::amdgcn_implicitarg_ptr) {
      return false;
    }
    at += kLaunchBlockBytes;
  } else {
    const auto* argument = llvm::dyn_cast<llvm::Argument>(base);
    const llvm::Function& function = *load->getFunction();
    if (!argument || argument->getArgNo() + 1 != function.arg_size() ||
        function.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL) {
      return false;
    }
  }
  return at >= kLaunchBlockDim && at < kLaunchBlockDim + 12;
}

}  // namespace cerberus::ptx
