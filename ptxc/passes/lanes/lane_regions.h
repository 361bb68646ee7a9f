// Where lanes that wait for each other part, and where they meet again
// (passes/lanes/lane_progress.h).
//
// A lane waits in a loop. Others of its warp may be elsewhere only where a
// branch has parted them from it, on the way to the loop or in it, so that some
// come to the loop's begin before both sides meet; and what they can do for it
// stands behind such a branch, and in front of the next barrier of the block,
// where all lanes are together. If something there writes, the region reaches
// from the first such branch to where all have met behind the last such write.
//
//   ↓
//   branch ──→ A: st ──┐         lanes in the loop may wait for A, for B, and,
//   ↓                  │         if they leave it one by one, for C;
//   loop ←┐            │         nobody is behind the barrier yet,
//   ↓  └──┘            ↓         and D writes nothing: the region ends
//   C: atom ────────→ B: st      between B and D
//                      ↓
//                      D → barrier
#ifndef CERBERUS_PTXC_PASSES_LANES_LANE_REGIONS_H_
#define CERBERUS_PTXC_PASSES_LANES_LANE_REGIONS_H_

#include <optional>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "ptxc/passes/lanes/join_rows.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/partings.h"
#include "ptxc/passes/lanes/ways_to_writes.h"

namespace cerberus::ptx {

// Lanes that have yielded go on one by one, so that they have to meet again in
// front of what takes all lanes of a warp or block together, and of calls of
// functions that hold such.
class Together {
 public:
  bool operator()(const llvm::Instruction& instruction);
  // Of one of those, whether it does with the lanes that are there, so that the
  // others need not come: it asks who they are, or is a call of a function
  // without barriers.
  bool TakesWhoIsHere(const llvm::Instruction& instruction);

 private:
  bool IsIn(const llvm::Function& function);
  bool HasBarrier(const llvm::CallBase& call);

  llvm::DenseMap<const llvm::Function*, bool> functions_;
  llvm::DenseMap<const llvm::Function*, bool> with_barriers_;
};

// A write that others may wait for.
bool IsOrderedWrite(const llvm::Instruction& instruction);
bool IsPlainWrite(const llvm::Instruction& instruction);

struct Region {
  llvm::BasicBlock* first = nullptr;  // its terminator begins the region
  llvm::BasicBlock* meet = nullptr;   // where all lanes of it come together
  llvm::SetVector<llvm::BasicBlock*> blocks;
  bool waits = false;        // lanes wait in it for what others write
  bool parts = false;        // and some at joins by mask on other ways
  bool meets_apart = false;  // or not all that have yielded come to one
  // In front of what takes a warp's lanes together: those that have yielded
  // wait here for each other.
  llvm::SetVector<llvm::BasicBlock*> joins;
  // Where they need not be together, and wait for each other only while that
  // holds nobody up.
  llvm::SetVector<llvm::BasicBlock*> rests;
  // Joins by mask (passes/lanes/joins.h) of which lanes may wait for each
  // other.
  std::vector<Joins> exchanges;
  // Other joins by mask, to which those of it come together from another one.
  llvm::SmallPtrSet<const llvm::CallInst*, 8> followers;
};

// A region cut into segments, in program order. Lanes come into one only
// through its gate, be it in the same round or in another.
struct Segment {
  // Where it begins; the first one's is Region::first. Null where lanes of
  // several joins by mask come together: what they do is done there once.
  llvm::BasicBlock* block;
  bool is_join = false;
  bool is_rest = false;  // one that lanes need not wait at (Region::rests)
  // Of joins by mask those that come together here.
  llvm::ArrayRef<llvm::CallInst*> sites = {};
  // Of a join: the segments whose lanes may still come to it.
  std::vector<std::size_t> behind = {};
  struct Way {
    llvm::BasicBlock* from;
    llvm::BasicBlock* to;  // Region::meet, or where another segment begins
    // Whose block `to` is, or where those meet who come from `from`, a site;
    // their number for Region::meet.
    std::size_t segment;
  };
  std::vector<Way> out = {};
  // Where lanes go on behind each of the sites.
  std::vector<std::size_t> onward = {};
};

// Whether lanes wait there only for those of other sites of its kind, by a mask
// that is known: nothing has to be done with what the others bring along.
bool IsAlone(llvm::ArrayRef<llvm::CallInst*> sites);
// Where lanes go on together that came to the site: there, or behind it if they
// did it elsewhere.
llvm::BasicBlock* BehindJoin(llvm::ArrayRef<llvm::CallInst*> sites,
                             const llvm::CallInst& site);

// The regions of one function, as it is now. Blocks must end behind writes that
// others may wait for, and before and behind what takes lanes together.
class LaneRegions {
 public:
  using BlockSet = llvm::SmallPtrSet<const llvm::BasicBlock*, 16>;

  // `any_loop`: every loop that reads what others may write counts as one that
  // waits.
  struct Options {
    Lanes lanes = Lanes::kOfAWarp;  // that share a program counter
    bool any_loop = false;
  };
  LaneRegions(llvm::Function& function, Together* together,
              llvm::FunctionAnalysisManager& analyses, const Options& options);

  // Loops that wait, in program order, outer ones before inner ones.
  const std::vector<llvm::Loop*>& waiting() const { return waiting_; }
  const llvm::DominatorTree& dominators() const { return dominators_; }
  const PartingsFound& partings() const { return partings_; }

  // Whether lanes of a warp may be elsewhere that those in the loop wait for.
  struct Waiting {
    bool needed = false;
    std::optional<Region> region;  // in which they yield; too large if nothing
  };
  // May add blocks in front of loops, so that regions that were found before
  // must be filled in.
  Waiting Find(llvm::Loop& loop);
  // Of lanes that part, and of which some may wait for others at joins by mask;
  // nothing if it would be too large.
  std::optional<Region> Find(const Parting& parting) const;
  // From the function's entry to its end. `parts`: as in Region.
  Region Whole(bool parts) const;
  // One region for each two that overlap, filled in; false for those that would
  // be too large, which are left out.
  bool Merge(std::vector<Region>* regions) const;

  std::vector<Segment> Segments(const Region& region) const;

 private:
  using Blocks = llvm::ArrayRef<llvm::BasicBlock*>;
  class Growing;
  std::optional<Region> Collect(llvm::BasicBlock* first, llvm::BasicBlock* meet,
                                Blocks held) const;
  std::vector<llvm::BasicBlock*> Ends(llvm::BasicBlock* begin) const;
  llvm::BasicBlock* FirstEnd(llvm::BasicBlock* begin) const;
  std::optional<Region> Smallest(llvm::BasicBlock* first, Blocks held) const;
  const llvm::BasicBlock* MeetingOf(llvm::BasicBlock* branch) const;
  void AddExchanges(const JoinRows::Flow& flow, Region* region) const;
  bool Releases(const llvm::BasicBlock* block) const;
  const WaysToWrites& Ways();
  std::ptrdiff_t WaitsIn(const Region& region) const;
  // Where the loops begin that yield: those in which lanes wait, and those
  // around them, of which lanes may be in different iterations.
  BlockSet Yields(const Region& region) const;
  bool AddJoins(Region* region) const;
  void AddRests(Region* region) const;
  llvm::DenseMap<const llvm::BasicBlock*, const llvm::BasicBlock*> LastMeetings(
      const Region& region, const BlockSet& yields) const;
  std::vector<llvm::BasicBlock*> InOrder(const Region& region) const;

  llvm::Function& function_;
  Together* together_;
  llvm::DominatorTree dominators_;
  llvm::PostDominatorTree post_dominators_;
  llvm::LoopInfo loops_;
  std::vector<llvm::Loop*> waiting_;
  PartingsFound partings_;
  std::vector<const llvm::Instruction*> fences_;
  BlockSet barriers_;  // blocks with one
  mutable llvm::DenseMap<const llvm::BasicBlock*, llvm::BasicBlock*>
      first_ends_;
  std::optional<WaysToWrites> ways_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_LANE_REGIONS_H_
