// MachineRegisterInfo::isPhysRegUsed without the list of a register's aliases.
//
// LLVM makes that list when it is first asked for, sorted, and keeps it as long
// as the target machine. To count the registers that a kernel takes it asks for
// those of all 256 vector registers and 512 accumulation registers, with
// hundreds each: a third of the instructions of the smallest compilation
// (AMDGPUResourceUsageAnalysis, SIRegisterInfo::getNumUsedPhysRegs; LLVM 22).
// All that is wanted is whether one of them occurs. The linker puts this in
// LLVM's place (--wrap).
#include "llvm/ADT/BitVector.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/MC/MCRegister.h"
#include "llvm/MC/MCRegisterInfo.h"

// Its mangled name, which begins with two underscores.
extern "C" bool
__wrap__ZNK4llvm19MachineRegisterInfo13isPhysRegUsedENS_10MCRegisterEb(
    const llvm::MachineRegisterInfo* registers, llvm::MCRegister reg,
    bool skip_masks) {
  if (!skip_masks && registers->getUsedPhysRegsMask().test(reg.id())) {
    return true;
  }
  // A register is an alias if it has one of these units: it lies above the
  // unit's root.
  const llvm::TargetRegisterInfo* info = registers->getTargetRegisterInfo();
  for (const llvm::MCRegUnit unit : info->regunits(reg)) {
    for (llvm::MCRegUnitRootIterator root(unit, info); root.isValid(); ++root) {
      for (const llvm::MCPhysReg alias : info->superregs_inclusive(*root)) {
        if (!registers->reg_nodbg_empty(alias)) return true;
      }
    }
  }
  return false;
}
