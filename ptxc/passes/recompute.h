// What is quickly made from a value that is alive is made again where it is
// used next, where there are not enough registers.
//
// A matrix product of small tiles sends each word of A to all lanes of a quad:
// four registers instead of one, and tiles that are used again and again stay
// in registers as they were sent. The allocation of registers spills them to
// memory, or what is next to them; that it may make a value again LLVM knows
// only of constants. So, behind the scheduler: where more is alive than there
// are registers for, results of one fast instruction with one operand (moves
// between lanes, parts of words, conversions) end at their last use in front of
// that place, and are made again behind it.
#ifndef CERBERUS_PTXC_PASSES_RECOMPUTE_H_
#define CERBERUS_PTXC_PASSES_RECOMPUTE_H_

namespace cerberus::ptx {

// In all that this process compiles from now on. To be called when LLVM knows
// the target.
void RecomputeWithinRegisters();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_RECOMPUTE_H_
