// Carries out of sums that have a carry in.
//
// LLVM 22 makes `(a + b) + 0 + carry` one addition with carry, `a + b + carry`,
// also where the carry out of it is needed (performAddCarrySubCarryCombine of
// the AMDGPU backend): it is then that of `a + b` as well, which wrapped
// without one. PTX has it as
//
//   add.u32 t, a, b;  add.cc.u32 x, c, d;  addc.cc.u32 y, t, 0;  addc.u32 …
//
// and in the upper half of 64 bits where a number of 32 is added to a product.
// The same with borrows. Here such a carry is told from the result: it is there
// if one came in and what it came to is zero.
#ifndef CERBERUS_PTXC_PASSES_REPAIRS_CARRIES_H_
#define CERBERUS_PTXC_PASSES_REPAIRS_CARRIES_H_

namespace llvm {
class Module;
}

namespace cerberus::ptx {

void KeepCarries(llvm::Module& module);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_REPAIRS_CARRIES_H_
