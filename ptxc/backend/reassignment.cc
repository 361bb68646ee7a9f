// TargetSubtargetInfo::enableRALocalReassignment, which says no.
//
// Where registers run short, before it evicts a value of the same block for
// another one the allocator asks for each register and each value in it whether
// that would find a free one among all 256: a third of the compile time of a
// kernel that spills, mostly in vain (RegAllocEvictionAdvisor::canReassign;
// LLVM 22). Without it kernels execute as many instructions and spill as much.
// The linker puts this in LLVM's place (--wrap).
#include "llvm/Support/CodeGen.h"

namespace llvm {
class TargetSubtargetInfo;
}  // namespace llvm

// Its mangled name, which begins with two underscores.
extern "C" bool
__wrap__ZNK4llvm19TargetSubtargetInfo25enableRALocalReassignmentENS_15CodeGenOptLevelE(
    const llvm::TargetSubtargetInfo* /*subtarget*/,
    llvm::CodeGenOptLevel /*level*/) {
  return false;
}
