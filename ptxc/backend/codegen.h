// LLVM IR to machine code, in memory.
#ifndef CERBERUS_PTXC_BACKEND_CODEGEN_H_
#define CERBERUS_PTXC_BACKEND_CODEGEN_H_

#include <memory>
#include <mutex>

#include "ptxc/compile/compile.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace cerberus::ptx {

// The machine for a target id; an unknown processor is an error.
Result<std::unique_ptr<llvm::TargetMachine>> CreateMachine(
    const TargetId& target, int opt_level);

// What the AMDGPU backend must know of the module before any function is
// lowered: triple, data layout, code object version.
void PrepareModule(llvm::Module& module, const TargetId& target,
                   llvm::TargetMachine& machine);

// Object file or assembly text. The module is consumed by it.
Result<Bytes> EmitMachineCode(llvm::Module& module,
                              llvm::TargetMachine& machine, bool assembly);

// Held where LLVM's options, which are the process's, are given and taken; lld
// does that as well, as often as it links.
std::mutex& OptionsOfLlvm();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_BACKEND_CODEGEN_H_
