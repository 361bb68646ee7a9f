// Conversions of floats to integers that hold at the ends of the range.
//
// The target's instructions do: what is too large becomes the largest number,
// NaN becomes 0 (AMD's ISA manuals, "V_CVT_I32_F32", "V_CVT_U32_F32" and those
// of F64). LLVM 22 knows that of none and adds comparisons, six for `(int) x`.
// Its own conversion without them is undefined out of range, which its passes
// may use; so this comes behind them, when nothing but the selection of
// instructions is left. That uses it as well, of (float)(int) x and of
// (int)(float) n: what the instruction makes is frozen, which hides where it
// comes from, and integers that were floats in between keep LLVM's comparisons.
#ifndef CERBERUS_PTXC_PASSES_REPAIRS_SATURATING_H_
#define CERBERUS_PTXC_PASSES_REPAIRS_SATURATING_H_

namespace llvm {
class Module;
}

namespace cerberus::ptx {

void SaturateByInstruction(llvm::Module& module);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_REPAIRS_SATURATING_H_
