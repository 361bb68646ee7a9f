// Selects of several numbers in a register by a condition of each.
//
// LLVM 22 takes `and (bitcast (select c, X, Y)), Z` with constants for `select
// c, X & Z, Y & Z` also where the bitcast makes one number of several: then `c`
// has an element for each and the result none, which is no code
// (AMDGPUCodeGenPrepare, foldBinOpIntoSelect). A register that was never set
// came out of `set.f16x2` and `and` with a constant. Here such a select becomes
// one of each number's bits.
#ifndef CERBERUS_PTXC_PASSES_REPAIRS_PACKED_SELECTS_H_
#define CERBERUS_PTXC_PASSES_REPAIRS_PACKED_SELECTS_H_

namespace llvm {
class Module;
}

namespace cerberus::ptx {

void SplitPackedSelects(llvm::Module& module);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_REPAIRS_PACKED_SELECTS_H_
