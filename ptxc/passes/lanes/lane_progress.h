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
// on the way yield to the same rounds. Which places these are follows from
// control flow (passes/lanes/lane_regions.h): all is taken in that a lane which
// is not in the loop may do before the next barrier of the block, up to the
// last write.
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
// The same rounds let lanes meet by a mask. PTX's `.sync` instructions wait for
// the lanes of their mask wherever those execute one of the same kind, be it on
// the other side of a branch or in another round of a loop. Where lanes part so
// that this may happen (passes/lanes/partings.h), they go on one by one: a lane
// that comes to such an instruction notes its operands and where it goes on
// behind it, and yields. In the round in which all lanes of its mask stand at
// one of its kind, or none of the others may come any more, they do it
// together, in a place of its own:
//
//   if (odd) { A; x = shfl(m, a); B; }      round:
//   else     { C; y = shfl(m, c); D; }      if 0: odd: A; note a, 2; 1
//                                                 else: C; note c, 3; 1
//                                           if 1 and all of m are at 1:
//                                             r = shfl(noted); to 2 or 3
//                                           if 2: x = r; B; 4
//                                           if 3: y = r; D; 4
//                                           again if not 4
//
// Gates in program order with a lane's number for the next are how thread
// frontiers schedule lanes (Diamos et al., "SIMD re-convergence at thread
// frontiers", MICRO 2011); that lanes have to leave a loop for others to go on
// is ElTantawy and Aamodt, "MIMD synchronization on SIMT architectures", MICRO
// 2016. What has to come out is Volta's independent thread scheduling, as the
// CUDA Programming Guide describes it.
//
// What takes a warp's lanes together without a mask (a barrier, a matrix
// product) may stand in there as well. Lanes that come there yield until none
// of their warp is left that may still come. Where they need not be together (a
// vote of older PTX, what follows the last write that others wait for) they
// rest for some rounds only, so that work which all have to do is done once,
// and nobody waits in a circle. In PTX for sm_62 and older they rest as long as
// it takes: what is behind a loop took all lanes there, without a mask.
//
// Two warps that share a wave of 64 are the same problem with 64 lanes, in
// which a barrier of the block is a join of all lanes of the wave, wherever
// either warp comes to one. A kernel whose warps wait for each other, and for
// whose blocks there are not enough waves to give each warp its own, is one
// region from its entry to its end; so is every function where lanes are to go
// on one by one (LaneOptions::serial).
#ifndef CERBERUS_PTXC_PASSES_LANES_LANE_PROGRESS_H_
#define CERBERUS_PTXC_PASSES_LANES_LANE_PROGRESS_H_

#include <map>
#include <string>
#include <vector>

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

// Makes one way out of all of a function, and lets blocks end where lanes may
// have to wait, as LaneRegions wants it.
void PrepareLanes(llvm::Function& function,
                  llvm::FunctionAnalysisManager& analyses);
// The function begins with a block in front of all that lanes do, and ends with
// one behind it.
void SeparateEnds(llvm::Function& function);

// On functions that the pass leaves alone, since lanes of a wave in lockstep
// make progress in them anyway.
inline constexpr char kNeverYields[] = "cerberus-never-yields";

// On functions two warps of which share a wave.
inline constexpr char kTwoWarps[] = "cerberus-two-warps";
// On functions all of whose lanes, and warps that share a wave, go on one by
// one wherever they may wait for each other: all of it is one loop of rounds.
// The pass takes it away from those that are too large for that.
inline constexpr char kWhole[] = "cerberus-whole";

// The `.target` from which on lanes need not be together.
inline constexpr int kFirstIndependent = 70;

struct LaneOptions {
  // Lanes of all functions go on one by one, in all loops that read memory.
  bool serial = false;
  // Lanes that left a loop rest behind it until the last one has, however long
  // that takes: PTX for targets below kFirstIndependent counts on it.
  bool reconverge = false;
};

class LaneProgress : public llvm::PassInfoMixin<LaneProgress> {
 public:
  // `warnings`: by function, what may hang.
  LaneProgress(const LaneOptions& options,
               std::map<std::string, std::vector<std::string>>* warnings)
      : options_(options), warnings_(warnings) {}
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }

 private:
  LaneOptions options_;
  std::map<std::string, std::vector<std::string>>* warnings_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_LANE_PROGRESS_H_
