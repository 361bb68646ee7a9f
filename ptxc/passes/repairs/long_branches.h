// Long branches of functions spoil nothing that their callers count on.
//
// A branch of more than 128 KiB goes by way of two SGPRs. LLVM sets a pair
// aside in what may need it, and takes the lowest that nothing uses. It does
// not count that s[30:31] is the address to return to, which no instruction
// names where a function calls no other: such a function returned into itself,
// and its kernel never ended (llvm-project, issue 224205). Nor does it save a
// pair that callers expect to find as it was. Pairs that are looked for at each
// branch instead would be no way out: where none is free, LLVM saves one in a
// VGPR and does not wait for what it loads back. LLVM 22, and later ones.
#ifndef CERBERUS_PTXC_PASSES_REPAIRS_LONG_BRANCHES_H_
#define CERBERUS_PTXC_PASSES_REPAIRS_LONG_BRANCHES_H_

namespace cerberus::ptx {

// In all that this process compiles from now on, what callers count on is not
// free for long branches. To be called when LLVM knows the target.
void KeepCallersRegisters();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_REPAIRS_LONG_BRANCHES_H_
