// Undoes what LLVM's instruction selection takes for the same number.
#ifndef CERBERUS_PTXC_PASSES_EXACT_FLOATS_H_
#define CERBERUS_PTXC_PASSES_EXACT_FLOATS_H_

namespace llvm {
class Module;
}

namespace cerberus::ptx {

// To run last, since LLVM's passes would put back what is changed here.
//
// A product of f32 that is rounded to f16 becomes v_fma_mixlo_f16 a, b, +0,
// and -0 + +0 is +0. It is written as a sum with -0, which changes nothing.
//
// x < c ? x : c becomes v_min_f32, which takes -0 for less than +0 and flushes
// subnormals where the kernel's f32 arithmetic does. A selection does neither,
// and is made one of integers where that could show.
void KeepFloatsExact(llvm::Module& module);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_EXACT_FLOATS_H_
