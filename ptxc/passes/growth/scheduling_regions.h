// Long blocks are scheduled in pieces.
//
// The backend's scheduler looks at every pair of an unrolled loop's thousands
// of instructions for those that can be issued together, and moves some so far
// that all others are numbered anew. It moves none past SCHED_BARRIER. In IR
// the intrinsic of that name would do harm: whatever reads memory in front of
// it stays there in the selected block, what is done with it need not, and all
// those values are alive at once.
//
// The scheduler behind the allocation of registers looks at every pair for two
// that can be issued together: its pieces are shorter still.
#ifndef CERBERUS_PTXC_PASSES_GROWTH_SCHEDULING_REGIONS_H_
#define CERBERUS_PTXC_PASSES_GROWTH_SCHEDULING_REGIONS_H_

namespace cerberus::ptx {

// In all that this process compiles from now on. To be called when LLVM knows
// the target.
void BoundSchedulingRegions();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_SCHEDULING_REGIONS_H_
