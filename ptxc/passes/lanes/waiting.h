// Loops that wait for memory to change: spin locks, flags, tickets.
#ifndef CERBERUS_PTXC_PASSES_LANES_WAITING_H_
#define CERBERUS_PTXC_PASSES_LANES_WAITING_H_

#include <vector>

namespace llvm {
class Instruction;
class Loop;
class LoopInfo;
class Value;
}  // namespace llvm

namespace cerberus::ptx {

bool IsBarrier(const llvm::Instruction& instruction);

// Loops that another lane may have to end: whether they go on depends on
// what they read from memory, and reading it does not by itself bring the
// end nearer, as fetching a ticket or a failed update of a value that was
// read before does.
std::vector<llvm::Loop*> FindWaitingLoops(llvm::LoopInfo& loops);

// Loops whose rounds may read what others write.
std::vector<llvm::Loop*> FindReadingLoops(llvm::LoopInfo& loops);

// Whether a value that differs between threads is the same in all of a warp,
// as %tid.x / 32 is, where blocks are lines of threads.
bool IsSameInAWarp(const llvm::Value& value);

// Whether it is the lane's number and a multiple of 32 that all lanes of the
// warp share: %laneid, the thread's number in the block, or %tid.x where blocks
// are lines of threads. A kernel that asks for no other part of %tid is taken
// for one of those.
bool CountsLanes(const llvm::Value& value);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_WAITING_H_
