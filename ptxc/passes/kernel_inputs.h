// Says to the backend which of its inputs a kernel does not use.
#ifndef CERBERUS_PTXC_PASSES_KERNEL_INPUTS_H_
#define CERBERUS_PTXC_PASSES_KERNEL_INPUTS_H_

namespace llvm {
class Module;
}

namespace cerberus::ptx {

// Without these attributes every kernel gets all ids set up by the hardware,
// and x, y and z of the thread share one register. LLVM's own pass for it
// (AMDGPUAttributor) solves the general case at many times the cost; here a
// kernel that calls nothing is looked through, any other is left alone.
void MarkKernelInputs(llvm::Module& module);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_KERNEL_INPUTS_H_
