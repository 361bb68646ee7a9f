// 64-bit `or` of which one half is known to be all ones.
//
// LLVM 22 makes two of 32 bits of it, and where the first operand of one of
// them is -1 it takes the second one for the result (SIFoldOperands): the upper
// half of `or.b64 c, a, b` behind `or.b64 a, x, -64` was that of b. Here that
// half is -1 before it comes to this.
#ifndef CERBERUS_PTXC_PASSES_REPAIRS_KNOWN_ONES_H_
#define CERBERUS_PTXC_PASSES_REPAIRS_KNOWN_ONES_H_

namespace llvm {
class Module;
}

namespace cerberus::ptx {

void KeepKnownOnes(llvm::Module& module);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_REPAIRS_KNOWN_ONES_H_
