// Halves of registers that each lane loads from memory of its own.
//
// LLVM 22 loads into the upper or lower half of a register that has the other
// one already (LOAD_D16_HI, LOAD_D16_LO). It takes what comes out for the same
// in all lanes where the address and the other half are, although at one
// address of private memory, and of flat memory that may be private, each lane
// has its own: what is computed of it is then computed for one lane, and all
// get that (SITargetLowering::isSDNodeSourceOfDivergence names only loads).
// Here such an address is one that may differ from lane to lane.
#ifndef CERBERUS_PTXC_PASSES_REPAIRS_OWN_HALVES_H_
#define CERBERUS_PTXC_PASSES_REPAIRS_OWN_HALVES_H_

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace cerberus::ptx {

void KeepOwnHalves(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_REPAIRS_OWN_HALVES_H_
