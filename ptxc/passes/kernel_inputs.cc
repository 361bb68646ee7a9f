#include "ptxc/passes/kernel_inputs.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

namespace cerberus::ptx {
namespace {

struct Input {
  llvm::Intrinsic::ID intrinsic;
  const char* absent;
};
constexpr Input kInputs[] = {
    {llvm::Intrinsic::amdgcn_workitem_id_x, "amdgpu-no-workitem-id-x"},
    {llvm::Intrinsic::amdgcn_workitem_id_y, "amdgpu-no-workitem-id-y"},
    {llvm::Intrinsic::amdgcn_workitem_id_z, "amdgpu-no-workitem-id-z"},
    {llvm::Intrinsic::amdgcn_workgroup_id_x, "amdgpu-no-workgroup-id-x"},
    {llvm::Intrinsic::amdgcn_workgroup_id_y, "amdgpu-no-workgroup-id-y"},
    {llvm::Intrinsic::amdgcn_workgroup_id_z, "amdgpu-no-workgroup-id-z"},
    {llvm::Intrinsic::amdgcn_lds_kernel_id, "amdgpu-no-lds-kernel-id"},
};

void MarkKernel(llvm::Function& kernel) {
  bool used[std::size(kInputs)] = {};
  for (const llvm::Instruction& instruction : llvm::instructions(kernel)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call) continue;
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call);
    if (!intrinsic) return;
    for (std::size_t i = 0; i < std::size(kInputs); ++i) {
      if (intrinsic->getIntrinsicID() == kInputs[i].intrinsic) used[i] = true;
    }
  }
  for (std::size_t i = 0; i < std::size(kInputs); ++i) {
    if (!used[i]) kernel.addFnAttr(kInputs[i].absent);
  }
}

}  // namespace

void MarkKernelInputs(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL &&
        !function.isDeclaration()) {
      MarkKernel(function);
    }
  }
}

}  // namespace cerberus::ptx
