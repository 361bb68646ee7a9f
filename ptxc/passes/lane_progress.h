// Forward progress of lanes.
//
// CUDA lets lanes of a warp wait for each other (sm_70 and later). A wave has
// one program counter: lanes that leave a loop wait behind it until the last
// one has left, and lanes on one side of a branch wait for those on the
// other. A lane that holds a lock would so wait for those that want it.
//
// The pass makes lanes that wait yield instead. From a place in front of the
// waiting loop to one where all lanes meet again behind it, the program
// becomes one loop: in each round every lane goes on until it has to wait
// once more, or until it reaches the meeting place and leaves. Waiting loops
// on the way yield to the same rounds.
//
//   before              after, each lane with the number where it goes on
//     P                   P: 0
//     ↓                   round:
//     T                   if 0: T; 1
//     ↓                   if 1: H: try; if done: C, critical section; 2
//     H ←┐ wait           again if not 2
//     ↓ ─┘                meet
//     C
//     ↓ meet
//
// What takes a warp's lanes together (a vote, a shuffle) may stand in there
// behind a wait, in a branch whose other side is waited for. Lanes that come
// there yield as well, until none of their warp is left that may still come.
#ifndef CERBERUS_PTXC_PASSES_LANE_PROGRESS_H_
#define CERBERUS_PTXC_PASSES_LANE_PROGRESS_H_

#include <map>
#include <string>
#include <vector>

#include "llvm/IR/PassManager.h"

namespace llvm {
class Loop;
}

namespace cerberus::ptx {

// Metadata of the branch that ends a round. The rounds see to lanes of one
// warp; warps may wait for each other over longer ways (passes/packing.h).
inline constexpr char kRoundEnd[] = "cerberus.round_end";
// Where lanes only come together, and nobody waits for another's write.
inline constexpr char kJoinsEnd[] = "cerberus.joins_end";
bool IsLoopOfRounds(const llvm::Loop& loop, const char* end = kRoundEnd);
// On functions that the pass leaves alone, since lanes of a wave in lockstep
// make progress in them anyway.
inline constexpr char kNeverYields[] = "cerberus-never-yields";

class LaneProgress : public llvm::PassInfoMixin<LaneProgress> {
 public:
  // `warnings`: by function, what may hang.
  explicit LaneProgress(std::map<std::string, std::vector<std::string>>*
                            warnings)
      : warnings_(warnings) {}
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }

 private:
  std::map<std::string, std::vector<std::string>>* warnings_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANE_PROGRESS_H_
