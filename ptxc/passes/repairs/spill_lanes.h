// VGPRs whose lanes hold spilled SGPRs keep them from round to round of a loop.
//
// SILowerSGPRSpills begins the life of such a VGPR where all places lie behind
// that spill to it or restore from it. If that is in a loop it begins anew in
// each round, and what the last round has spilled is gone: another value may
// get the register. So it is with values that nothing is spilled of before the
// loop, since they are not defined there, as the state of lanes that wait.
// LLVM 22; later ones mend it (llvm-project, pull request 186348).
#ifndef CERBERUS_PTXC_PASSES_REPAIRS_SPILL_LANES_H_
#define CERBERUS_PTXC_PASSES_REPAIRS_SPILL_LANES_H_

namespace cerberus::ptx {

// In all that this process compiles from now on, their life begins before all
// loops. To be called when LLVM knows the target.
void KeepSpillLanes();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_REPAIRS_SPILL_LANES_H_
