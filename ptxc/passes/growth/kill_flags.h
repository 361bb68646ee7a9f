// MachineRegisterInfo::clearKillFlags, where there is nothing to clear.
//
// Passes of LLVM's backend that give a register one more use, or a later one,
// forget which of its uses was the last, by a walk over all of them: the square
// of their number for an address that all of a kernel uses, or in physical
// registers, of which there are few (a third of the compile time of 5,000
// branches behind each other, an eighth of GPU4PySCF's type2_cart; LLVM 22).
//
// As long as virtual registers have one definition each, nothing depends on the
// flags but a guess at how many registers a loop needs (MachineLICM), and then
// LiveVariables sets them anew: of a register with many uses some keep theirs.
// And of a large function those of vector registers are cleared at once before
// the pass that asks for it most, once for each comparison
// (SIOptimizeExecMasking). The linker puts this in LLVM's place (--wrap).
#ifndef CERBERUS_PTXC_PASSES_GROWTH_KILL_FLAGS_H_
#define CERBERUS_PTXC_PASSES_GROWTH_KILL_FLAGS_H_

namespace cerberus::ptx {

// Once LLVM knows the target.
void ClearKillFlagsAtOnce();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_KILL_FLAGS_H_
