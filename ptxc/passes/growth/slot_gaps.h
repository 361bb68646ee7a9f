// Room between the numbers of instructions while they are scheduled.
//
// LLVM numbers a function's instructions 16 apart. The scheduler moves them one
// by one next to each other, where after two or three there is no number left:
// then all behind them are numbered anew until there is a gap, to the end of
// the block. In blocks of a thousand instructions that was a fifth of the
// compile time. So they stand further apart meanwhile; behind the scheduler
// they are numbered as ever, since distances between them count in the
// allocation of registers.
#ifndef CERBERUS_PTXC_PASSES_GROWTH_SLOT_GAPS_H_
#define CERBERUS_PTXC_PASSES_GROWTH_SLOT_GAPS_H_

namespace cerberus::ptx {

// In all that this process compiles from now on. To be called when LLVM knows
// the target.
void WidenSlotGaps();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_SLOT_GAPS_H_
