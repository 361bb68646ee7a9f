// Keeps floats apart that LLVM takes for the same number.
#ifndef CERBERUS_PTXC_PASSES_REPAIRS_EXACT_FLOATS_H_
#define CERBERUS_PTXC_PASSES_REPAIRS_EXACT_FLOATS_H_

#include "llvm/IR/PassManager.h"

namespace llvm {
class Module;
class Value;
}  // namespace llvm

namespace cerberus::ptx {

// Where f32 arithmetic flushes, subnormal constants that are compared, or
// multiplied and added, become zeros: LLVM computes with constants as they
// are. To run as soon as registers are values.
class FlushConstants : public llvm::PassInfoMixin<FlushConstants> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

// The bits of zero for a subnormal constant, else `value`.
llvm::Value* WithoutSubnormal(llvm::Value* value);

// To run last, since LLVM's passes would put back what is changed here.
//
// A product of f32 that is rounded to f16 becomes v_fma_mixlo_f16 a, b, +0,
// and -0 + +0 is +0. It is written as a sum with -0, which changes nothing.
//
// A product that is used on its own, too, is one number wherever it is used, as
// ptxas keeps it: of (d = a * b; e = c - d) AMDGPU's backend makes a fused
// product and sum beside d, whereby what d was rounded by is lost for those who
// look for it in e, as CUDA's powf and tgammaf do.
//
// x < c ? x : c becomes v_min_f32, which takes -0 for less than +0 and flushes
// subnormals where the kernel's f32 arithmetic does. A selection does neither,
// and is made one of integers where that could show.
void KeepFloatsExact(llvm::Module& module);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_REPAIRS_EXACT_FLOATS_H_
