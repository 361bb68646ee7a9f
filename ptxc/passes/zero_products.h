// Keeps the sign of products that are zero and become f16.
#ifndef CERBERUS_PTXC_PASSES_ZERO_PRODUCTS_H_
#define CERBERUS_PTXC_PASSES_ZERO_PRODUCTS_H_

namespace llvm {
class Module;
}

namespace cerberus::ptx {

// LLVM selects v_fma_mixlo_f16 a, b, +0 for a product of f32 that is rounded
// to f16, and -0 + +0 is +0. So that it does not, such a product is written as
// a sum with -0, which changes nothing, for v_fma_mixlo_f16 a, b, -0. To run
// last: LLVM's passes would make a product of it again.
void KeepSignsOfZeroProducts(llvm::Module& module);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_ZERO_PRODUCTS_H_
