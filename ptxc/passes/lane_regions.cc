#include "ptxc/passes/lane_regions.h"

#include <functional>

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "ptxc/passes/joins.h"
#include "ptxc/passes/lane_progress.h"
#include "ptxc/passes/waiting.h"
#include "ptxc/passes/waves.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Function;
using llvm::Instruction;
using llvm::Loop;

constexpr unsigned kLocalSpace = 5;

// Loops that yield to the same rounds and joins in them. LLVM allocates
// registers for as many in some 10 s, for half of them in 2.
constexpr std::ptrdiff_t kMostInRounds = 128;
constexpr std::size_t kMostJoins = 512;

// `activemask`, which waits for nobody.
bool AsksWhoIsHere(const Instruction& instruction) {
  return IsWaveCall(instruction, "ballot") &&
         llvm::isa<llvm::Constant>(
             llvm::cast<CallInst>(instruction).getArgOperand(0));
}

// Whether lanes wait there only for those of other sites of its kind, by a mask
// that is known: nothing has to be done with what the others bring along.
bool IsAlone(llvm::ArrayRef<CallInst*> sites) {
  return sites.size() == 1 && KnownMaskOf(sites);
}

// Where lanes go on together that came to the site: there, or behind it if they
// did it elsewhere.
BasicBlock* BehindJoin(llvm::ArrayRef<CallInst*> sites, const CallInst& site) {
  BasicBlock* block = const_cast<BasicBlock*>(site.getParent());
  return IsAlone(sites) ? block : block->getSingleSuccessor();
}

}  // namespace

bool Together::OfAWarp(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call || IsBarrier(instruction)) return false;
  const Function* callee = call->getCalledFunction();
  return llvm::isa<llvm::IntrinsicInst>(call) || IsJoin(instruction) ||
         (callee && IsWaveFunction(*callee));
}

bool Together::operator()(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call || !call->isConvergent()) return false;
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) {
    switch (intrinsic->getIntrinsicID()) {
      case llvm::Intrinsic::amdgcn_endpgm:
      case llvm::Intrinsic::amdgcn_s_sleep:
        return false;
      default:
        return true;
    }
  }
  if (call->isInlineAsm()) return true;
  if (const Function* callee = call->getCalledFunction()) {
    return IsIn(*callee);
  }
  const llvm::Module& module = *call->getModule();
  return llvm::any_of(module, [&](const Function& callee) {
    return callee.getFunctionType() == call->getFunctionType() &&
           callee.hasAddressTaken() && IsIn(callee);
  });
}

bool Together::IsIn(const Function& function) {
  if (function.isDeclaration()) return true;
  const auto [known, is_new] = functions_.insert({&function, false});
  if (!is_new) return known->second;  // false as well within recursion
  const llvm::DominatorTree dominators(const_cast<Function&>(function));
  llvm::LoopInfo loops(dominators);
  const bool result =
      !FindWaitingLoops(loops).empty() ||
      llvm::any_of(llvm::instructions(function),
                   [&](const Instruction& i) { return (*this)(i); });
  return functions_[&function] = result;
}

bool IsOrderedWrite(const Instruction& instruction) {
  if (llvm::isa<llvm::AtomicRMWInst>(instruction) ||
      llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) {
    return true;
  }
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store && (store->isAtomic() || store->isVolatile());
}
bool IsPlainWrite(const Instruction& instruction) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store && !IsOrderedWrite(instruction) &&
         store->getPointerAddressSpace() != kLocalSpace;
}

LaneRegions::LaneRegions(Function& function, Together* together, bool any_loop)
    : function_(function),
      together_(together),
      dominators_(function),
      post_dominators_(function),
      loops_(dominators_),
      waiting_(any_loop ? FindReadingLoops(loops_)
                        : FindWaitingLoops(loops_)) {
  llvm::DenseMap<const BasicBlock*, std::size_t> order;
  for (BasicBlock* block :
       llvm::ReversePostOrderTraversal<Function*>(&function_)) {
    order.insert({block, order.size()});
  }
  llvm::sort(waiting_, [&](const Loop* a, const Loop* b) {
    return order[a->getHeader()] < order[b->getHeader()];
  });
}

// ---- Where to begin and where to meet -------------------------------------

// From `first`'s terminator to `meet`, with all of `held`, or nothing if others
// come in between.
std::optional<Region> LaneRegions::Collect(BasicBlock* first, BasicBlock* meet,
                                           Blocks held) const {
  Region region;
  region.first = first;
  region.meet = meet;
  std::vector<BasicBlock*> work(llvm::succ_begin(first), llvm::succ_end(first));
  while (!work.empty()) {
    BasicBlock* block = work.back();
    work.pop_back();
    if (block == meet || !region.blocks.insert(block)) continue;
    if (block == first || !dominators_.dominates(first, block)) {
      return std::nullopt;
    }
    work.insert(work.end(), llvm::succ_begin(block), llvm::succ_end(block));
  }
  for (BasicBlock* block : held) {
    if (!region.blocks.contains(block)) return std::nullopt;
  }
  return region;
}

// The smallest region that begins at `first` or in front of it.
std::optional<Region> LaneRegions::Smallest(BasicBlock* first,
                                            Blocks held) const {
  for (const llvm::DomTreeNode* begin = dominators_.getNode(first); begin;
       begin = begin->getIDom()) {
    for (const llvm::DomTreeNode* end =
             post_dominators_.getNode(begin->getBlock());
         end && (end = end->getIDom()) && end->getBlock();) {
      // Lanes that go round a loop again do not meet in it the first time.
      const Loop* within = loops_.getLoopFor(end->getBlock());
      if (within && !within->contains(begin->getBlock())) continue;
      std::optional<Region> region =
          Collect(begin->getBlock(), end->getBlock(), held);
      if (region && (begin->getBlock() == first ||
                     region->blocks.contains(first))) {
        return region;
      }
    }
  }
  return std::nullopt;
}

std::optional<Region> LaneRegions::Find(const Parting& parting) const {
  std::optional<Region> region = Smallest(parting.branch, {});
  if (region && parting.other) {
    const std::optional<Region> other = Smallest(parting.other, {});
    if (!other) return std::nullopt;
    llvm::SetVector<BasicBlock*> held = region->blocks;
    held.insert(other->blocks.begin(), other->blocks.end());
    held.insert(parting.other);
    BasicBlock* first = dominators_.findNearestCommonDominator(region->first,
                                                               other->first);
    // Lanes that come to one of them again go other rounds of the loops around.
    for (const Loop* loop = loops_.getLoopFor(region->meet);
         loop && !dominators_.properlyDominates(parting.branch, parting.other);
         loop = loop->getParentLoop()) {
      if (!loop->contains(parting.branch) || !loop->contains(parting.other)) {
        continue;
      }
      held.insert(loop->block_begin(), loop->block_end());
      first = dominators_.getNode(loop->getHeader())->getIDom()->getBlock();
      break;
    }
    region = Smallest(first, held.getArrayRef());
  }
  if (region) region->parts = true;
  return region;
}

Region LaneRegions::Whole(bool parts) const {
  BasicBlock* meet = nullptr;
  for (BasicBlock& block : function_) {
    if (llvm::succ_empty(&block)) meet = &block;
  }
  Region region = *Collect(&function_.getEntryBlock(), meet, {});
  region.parts = parts;
  return region;
}

bool LaneRegions::Merge(std::vector<Region>* regions) const {
  bool all = true;
  std::vector<Region> merged;
  for (Region& region : *regions) {
    std::optional<Region> now =
        Collect(region.first, region.meet, region.blocks.getArrayRef());
    bool parts = region.parts;
    for (std::size_t i = 0; now && i < merged.size();) {
      const auto overlaps = [](const Region& a, const Region& b) {
        return a.first == b.first || a.blocks.contains(b.first) ||
               b.blocks.contains(a.first);
      };
      if (!overlaps(merged[i], *now)) {
        ++i;
        continue;
      }
      llvm::SetVector<BasicBlock*> held = merged[i].blocks;
      held.insert(now->blocks.begin(), now->blocks.end());
      now = Smallest(dominators_.findNearestCommonDominator(merged[i].first,
                                                            now->first),
                     held.getArrayRef());
      parts |= merged[i].parts;
      merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;
    }
    all &= now.has_value();
    if (!now) continue;
    now->parts = parts;
    merged.push_back(std::move(*now));
  }
  *regions = {};
  for (Region& region : merged) {
    region.waits = WaitsIn(region) != 0;
    AddExchanges(&region);
    if (AddJoins(&region, /*of_blocks=*/true)) {
      regions->push_back(std::move(region));
    } else {
      all = false;
    }
  }
  return all;
}

// All where lanes part at joins. Elsewhere lanes that have yielded come together
// in front of all of them (AddJoins), which takes one place where there are
// several, as behind `activemask`.
void LaneRegions::AddExchanges(Region* region) const {
  std::vector<CallInst*> joins;
  for (BasicBlock* block : InOrder(*region)) {
    for (Instruction& instruction : *block) {
      CallInst* join = AsJoin(instruction);
      if (join && (region->parts || IsOfTheWave(*join))) joins.push_back(join);
    }
  }
  region->exchanges = KindsOf(joins);
}

// Fills in who writes; false if lanes would have to be together in it.
bool LaneRegions::Examine(Region* region, const Loop& loop) const {
  llvm::SetVector<BasicBlock*> behind;
  llvm::SmallVector<BasicBlock*, 8> work;
  loop.getExitBlocks(work);
  while (!work.empty()) {
    BasicBlock* block = work.pop_back_val();
    if (block == region->meet || loop.contains(block)) continue;
    if (!behind.insert(block)) continue;
    work.append(llvm::succ_begin(block), llvm::succ_end(block));
  }
  for (BasicBlock* block : region->blocks) {
    for (const Instruction& instruction : *block) {
      if ((*together_)(instruction)) return false;
    }
  }
  const std::vector<const Instruction*> fences = FencesIn(*region);
  const BlockSet ahead = AheadOf(loop, *region);
  for (BasicBlock* block : region->blocks) {
    if (loop.contains(block)) continue;
    const bool is_behind = behind.contains(block);
    for (const Instruction& instruction : *block) {
      if (is_behind) {
        region->releases += IsRelease(instruction, fences);
      } else if (IsPlainWrite(instruction) || IsOrderedWrite(instruction)) {
        region->others_write |= !ahead.contains(block);
      }
    }
  }
  return true;
}

std::vector<const Instruction*> LaneRegions::FencesIn(const Region& region) {
  std::vector<const Instruction*> fences;
  for (BasicBlock* block : region.blocks) {
    for (const Instruction& instruction : *block) {
      if (OrdersMemory(instruction)) fences.push_back(&instruction);
    }
  }
  return fences;
}

// A write that others may wait for: ordered, or behind one of the fences.
bool LaneRegions::IsRelease(
    const Instruction& instruction,
    const std::vector<const Instruction*>& fences) const {
  return IsOrderedWrite(instruction) ||
         (IsPlainWrite(instruction) &&
          llvm::any_of(fences, [&](const Instruction* fence) {
            return dominators_.dominates(fence, &instruction);
          }));
}

// The blocks that lead to the loop: lanes that come there pass them before
// any lane waits, in each round of the loops around it.
LaneRegions::BlockSet LaneRegions::AheadOf(const Loop& loop,
                                           const Region& region) const {
  BlockSet ahead;
  std::vector<BasicBlock*> work = {loop.getHeader()};
  while (!work.empty()) {
    BasicBlock* block = work.back();
    work.pop_back();
    if (!region.blocks.contains(block) || !ahead.insert(block).second) {
      continue;
    }
    for (BasicBlock* before : llvm::predecessors(block)) {
      if (!GoesBack(before, block, loop)) work.push_back(before);
    }
  }
  return ahead;
}

// Whether an edge begins another round of the loop, or of one around it.
bool LaneRegions::GoesBack(const BasicBlock* from, const BasicBlock* to,
                           const Loop& loop) const {
  const Loop* begun = loops_.getLoopFor(to);
  return begun && begun->getHeader() == to && begun->contains(from) &&
         begun->contains(&loop);
}

std::ptrdiff_t LaneRegions::WaitsIn(const Region& region) const {
  return llvm::count_if(waiting_, [&](const Loop* loop) {
    return region.blocks.contains(loop->getHeader());
  });
}

// The nearest meeting place behind which nothing is written that a
// farther one would take in. `around`: the loop, or one around it.
std::optional<Region> LaneRegions::NearestMeeting(BasicBlock* first,
                                                  const Loop& around,
                                                  const Loop& loop) const {
  std::optional<Region> best;
  const llvm::DomTreeNode* node = post_dominators_.getNode(first);
  while (node && (node = node->getIDom()) && node->getBlock()) {
    BasicBlock* meet = node->getBlock();
    if (around.contains(meet)) continue;
    // In front of the loop.
    if (dominators_.dominates(meet, around.getHeader())) continue;
    // Lanes that go round a loop again do not meet in it the first time.
    const Loop* within = loops_.getLoopFor(meet);
    if (within && !within->contains(first)) continue;
    std::optional<Region> region =
        Collect(first, meet, around.getBlocks());
    if (!region) {
      if (best) break;
      continue;
    }
    if (WaitsIn(*region) > kMostInRounds || !Examine(&*region, loop)) break;
    if (!best || region->releases > best->releases) best = region;
  }
  return best;
}

std::optional<Region> LaneRegions::Find(
    Loop& loop, llvm::FunctionAnalysisManager& analyses) {
  if (std::optional<Region> region = FindRegionOfSides(loop, analyses)) {
    return region;
  }
  return FindRegion(loop, analyses);
}

// Lanes may be in different iterations of the loops around: the outermost
// one that can be taken in whole is.
std::optional<Region> LaneRegions::FindRegion(
    Loop& loop, llvm::FunctionAnalysisManager& analyses) {
  llvm::SmallVector<Loop*, 4> around;
  for (Loop* at = &loop; at && !IsLoopOfRounds(*at); at = at->getParentLoop()) {
    around.push_back(at);
  }
  for (Loop* at : llvm::reverse(around)) {
    if (!llvm::InsertPreheaderForLoop(at, &dominators_, &loops_, nullptr,
                                      /*PreserveLCSSA=*/false)) {
      continue;
    }
    post_dominators_.recalculate(function_);
    std::optional<Region> region = FindRegion(*at, loop, analyses);
    if (region) return region;
  }
  return std::nullopt;
}

std::optional<Region> LaneRegions::FindRegion(
    const Loop& around, const Loop& loop,
    llvm::FunctionAnalysisManager& analyses) {
  llvm::UniformityInfo& uniformity =
      analyses.getResult<llvm::UniformityInfoAnalysis>(function_);
  llvm::SmallVector<BasicBlock*, 8> exiting;
  loop.getExitingBlocks(exiting);
  BasicBlock* preheader = around.getLoopPreheader();
  std::optional<Region> best;
  // Lanes that leave the loop together do not wait for each other in it.
  if (llvm::any_of(exiting, [&](BasicBlock* block) {
        return uniformity.hasDivergentTerminator(*block);
      })) {
    best = NearestMeeting(preheader, around, loop);
  }
  // Lanes on the other sides of branches in front of the loop may be the
  // ones that are waited for.
  for (const llvm::DomTreeNode* node = dominators_.getNode(preheader); node;
       node = node->getIDom()) {
    BasicBlock* block = node->getBlock();
    if (loops_.getLoopFor(block) != around.getParentLoop() ||
        llvm::succ_size(block) < 2) {
      continue;
    }
    std::optional<Region> wider = NearestMeeting(block, around, loop);
    if (!wider) continue;
    wider->others_write &= uniformity.hasDivergentTerminator(*block);
    const std::size_t least = best ? best->releases : 0;
    if (wider->releases > least ||
        (wider->others_write && wider->releases == least)) {
      best = wider;
    }
  }
  if (best && best->releases == 0 && !best->others_write) return std::nullopt;
  return best;
}

// ---- Lanes that come together inside --------------------------------------

std::vector<Loop*> LaneRegions::LoopsThatYield(const Region& region) const {
  std::vector<Loop*> loops;
  for (Loop* loop : loops_.getLoopsInPreorder()) {
    if (region.blocks.contains(loop->getHeader()) &&
        llvm::any_of(waiting_, [&](const Loop* waits) {
          return loop->contains(waits);
        })) {
      loops.push_back(loop);
    }
  }
  return loops;
}

LaneRegions::BlockSet LaneRegions::Yields(const Region& region) const {
  BlockSet headers;
  for (const Loop* loop : LoopsThatYield(region)) {
    headers.insert(loop->getHeader());
  }
  // Lanes go round apart that meet at joins in there.
  for (const auto& sites : region.exchanges) {
    for (const CallInst* site : sites) {
      for (const Loop* loop = loops_.getLoopFor(site->getParent());
           loop && region.blocks.contains(loop->getHeader());
           loop = loop->getParentLoop()) {
        headers.insert(loop->getHeader());
      }
    }
  }
  return headers;
}

// Where lanes on one side of a branch wait for those on another, and a
// warp's lanes of one side are taken together behind a loop that waits: the
// region of the outermost such branch, or of the loop that it leaves.
std::optional<Region> LaneRegions::FindRegionOfSides(
    Loop& loop, llvm::FunctionAnalysisManager& analyses) {
  llvm::UniformityInfo& uniformity =
      analyses.getResult<llvm::UniformityInfoAnalysis>(function_);
  const auto parts_lanes = [&](BasicBlock* block) {
    return uniformity.hasDivergentTerminator(*block) &&
           !IsSameInAWarp(*block->getTerminator()->getOperand(0));
  };
  struct Candidate {
    BasicBlock* first;
    llvm::SmallVector<BasicBlock*, 8> branches;
    const Loop* around;
  };
  std::vector<Candidate> candidates;
  for (Loop* around = &loop; around && !IsLoopOfRounds(*around);
       around = around->getParentLoop()) {
    llvm::SmallVector<BasicBlock*, 8> exiting;
    around->getExitingBlocks(exiting);
    llvm::erase_if(exiting, std::not_fn(parts_lanes));
    BasicBlock* first = llvm::InsertPreheaderForLoop(
        around, &dominators_, &loops_, nullptr, /*PreserveLCSSA=*/false);
    if (!first) continue;
    post_dominators_.recalculate(function_);
    if (around != &loop && !exiting.empty()) {
      candidates.push_back({first, exiting, around});
    }
    // Branches in front of it, within the next loop around.
    for (const llvm::DomTreeNode* node = dominators_.getNode(first); node;
         node = node->getIDom()) {
      BasicBlock* branch = node->getBlock();
      if (loops_.getLoopFor(branch) != around->getParentLoop() ||
          llvm::succ_size(branch) < 2 || !parts_lanes(branch)) {
        continue;
      }
      candidates.push_back({branch, {branch}, around});
    }
  }
  for (const Candidate& candidate : llvm::reverse(candidates)) {
    std::optional<Region> region = RegionOfSides(
        candidate.first, candidate.branches, *candidate.around, loop);
    if (region) return region;
  }
  return std::nullopt;
}

// From `first` to where all lanes meet again behind `around`, if some take
// another side than `loop`'s at one of the branches and come to writes that it
// may wait for. Of the meeting places the nearest behind which no more of
// those stand.
std::optional<Region> LaneRegions::RegionOfSides(
    BasicBlock* first, llvm::ArrayRef<BasicBlock*> branches,
    const Loop& around, const Loop& loop) const {
  std::optional<Region> best;
  for (const llvm::DomTreeNode* node = post_dominators_.getNode(first);
       node && (node = node->getIDom()) && node->getBlock();) {
    BasicBlock* meet = node->getBlock();
    if (around.contains(meet) ||
        loops_.getLoopFor(first) != loops_.getLoopFor(meet)) {
      continue;
    }
    std::optional<Region> region =
        Collect(first, meet, around.getBlocks());
    if (!region) break;
    const std::size_t least = best ? best->releases : 0;
    if (ReleasesBeside(loop, branches, *region) <= least) continue;
    if (!AddJoins(&*region)) break;
    region->releases = ReleasesBeside(loop, branches, *region);
    if (region->releases > least) best = std::move(region);
  }
  return best;
}

// The writes to which lanes that take other sides than the loop's at the
// branches come before they wait themselves, be it for those in the loop.
std::size_t LaneRegions::ReleasesBeside(const Loop& loop,
                                        llvm::ArrayRef<BasicBlock*> branches,
                                        const Region& region) const {
  const BlockSet ahead = AheadOf(loop, region);
  BlockSet ends;
  for (const BasicBlock* block : ReachedFrom({loop.getHeader()}, region)) {
    if (region.joins.contains(block)) ends.insert(block);
  }
  for (const Loop* other : LoopsThatYield(region)) {
    if (!other->contains(&loop)) ends.insert(other->getHeader());
  }
  std::vector<BasicBlock*> sides;
  for (BasicBlock* branch : branches) {
    for (BasicBlock* side : llvm::successors(branch)) {
      if (!ahead.contains(side)) sides.push_back(side);
    }
  }
  const std::vector<const Instruction*> fences = FencesIn(region);
  std::size_t releases = 0;
  for (const BasicBlock* block : ReachedFrom(sides, region, &loop, ends)) {
    releases += llvm::count_if(*block, [&](const Instruction& instruction) {
      return IsRelease(instruction, fences);
    });
  }
  return releases;
}

// The blocks of the region that can be reached from some of it, with those: in
// the same round of `loop` and those around it, if there is one, and in front
// of `ends`.
LaneRegions::BlockSet LaneRegions::ReachedFrom(std::vector<BasicBlock*> work,
                                               const Region& region,
                                               const Loop* loop,
                                               const BlockSet& ends) const {
  BlockSet reached;
  while (!work.empty()) {
    BasicBlock* block = work.back();
    work.pop_back();
    if (!region.blocks.contains(block) || ends.contains(block) ||
        !reached.insert(block).second) {
      continue;
    }
    for (BasicBlock* next : llvm::successors(block)) {
      if (!loop || !GoesBack(block, next, *loop)) work.push_back(next);
    }
  }
  return reached;
}

// Fills in the joins; false if there is something that takes more together
// than the lanes that can meet, or too much of it.
bool LaneRegions::AddJoins(Region* region, bool of_blocks) const {
  const BlockSet yields = Yields(*region);
  llvm::SmallPtrSet<const Instruction*, 8> by_mask;
  for (const auto& sites : region->exchanges) {
    by_mask.insert(sites.begin(), sites.end());
  }
  std::vector<BasicBlock*> collective;
  for (BasicBlock* block : InOrder(*region)) {
    bool found = false;
    for (const Instruction& instruction : *block) {
      if (!(*together_)(instruction)) continue;
      if (!of_blocks && !Together::OfAWarp(instruction)) return false;
      if (region->parts && AsksWhoIsHere(instruction)) continue;
      found |= !by_mask.contains(&instruction);
    }
    if (!found) continue;
    // In front of loops whose rounds a warp's lanes go together.
    for (const Loop* around = loops_.getLoopFor(block);
         around && region->blocks.contains(around->getHeader()) &&
         !yields.contains(around->getHeader());
         around = around->getParentLoop()) {
      block = around->getHeader();
    }
    if (!llvm::is_contained(collective, block)) collective.push_back(block);
  }
  for (bool changed = true; changed;) {
    if (static_cast<std::ptrdiff_t>(yields.size() + region->joins.size()) >
            kMostInRounds ||
        by_mask.size() > kMostJoins) {
      return false;
    }
    changed = false;
    const auto last = LastMeetings(*region, yields);
    for (BasicBlock* block : collective) {
      if (last.lookup(block)) continue;
      if (yields.contains(block)) return false;
      changed = region->joins.insert(block);
      break;
    }
  }
  return true;
}

// For each block of the region, behind which join lanes come there together, or
// the region's first block; null if not all do behind one, or one by one from
// loops that yield.
llvm::DenseMap<const BasicBlock*, const BasicBlock*> LaneRegions::LastMeetings(
    const Region& region, const BlockSet& yields) const {
  llvm::DenseMap<const BasicBlock*, const BasicBlock*> last;
  last[region.first] = region.first;
  BlockSet behind_joins;
  for (const auto& sites : region.exchanges) {
    for (const CallInst* site : sites) {
      behind_joins.insert(BehindJoin(sites, *site));
    }
  }
  const std::vector<BasicBlock*> order = InOrder(region);
  for (bool changed = true; changed;) {
    changed = false;
    for (const BasicBlock* block : order) {
      std::optional<const BasicBlock*> meeting;
      if (region.joins.contains(block) || behind_joins.contains(block)) {
        meeting = block;
      } else if (yields.contains(block)) {
        meeting = nullptr;
      } else {
        for (const BasicBlock* before : llvm::predecessors(block)) {
          const auto known = last.find(before);
          if (known == last.end()) continue;  // a loop goes back from there
          const bool same = !meeting || *meeting == known->second;
          meeting = same ? known->second : nullptr;
        }
      }
      const auto [known, is_new] = last.insert({block, *meeting});
      changed |= is_new || known->second != *meeting;
      known->second = *meeting;
    }
  }
  return last;
}

// The region's blocks in program order.
std::vector<BasicBlock*> LaneRegions::InOrder(const Region& region) const {
  std::vector<BasicBlock*> order;
  for (BasicBlock* block :
       llvm::ReversePostOrderTraversal<Function*>(&function_)) {
    if (region.blocks.contains(block)) order.push_back(block);
  }
  return order;
}

// Segments begin where lanes wait, where they come together, and where those
// of several segments meet.
std::vector<Segment> LaneRegions::Segments(const Region& region) const {
  std::vector<BasicBlock*> order = InOrder(region);
  order.insert(order.begin(), region.first);
  BlockSet begins(region.joins.begin(), region.joins.end());
  begins.insert(region.first);
  const BlockSet yields = Yields(region);
  begins.insert(yields.begin(), yields.end());
  llvm::DenseMap<const BasicBlock*, std::size_t> behind, kind_at;
  for (std::size_t kind = 0; kind < region.exchanges.size(); ++kind) {
    const auto& sites = region.exchanges[kind];
    for (const CallInst* site : sites) {
      behind[BehindJoin(sites, *site)] = kind;
      begins.insert(BehindJoin(sites, *site));
      if (!IsAlone(sites)) kind_at[site->getParent()] = kind;
    }
  }
  llvm::DenseMap<const BasicBlock*, const BasicBlock*> begin_of;
  for (bool changed = true; changed;) {
    changed = false;
    for (const BasicBlock* block : order) {
      const BasicBlock* begin = begins.contains(block) ? block : nullptr;
      if (!begin) {
        for (const BasicBlock* before : llvm::predecessors(block)) {
          const BasicBlock* other = begin_of.lookup(before);
          if (!other) continue;  // a loop goes back from there
          if (begin && begin != other) {
            begins.insert(begin = block);
            break;
          }
          begin = other;
        }
      }
      const BasicBlock*& known = begin_of[block];
      changed |= known != begin;
      known = begin;
    }
  }
  std::vector<Segment> segments;
  llvm::DenseMap<const BasicBlock*, std::size_t> number;
  llvm::DenseMap<std::size_t, std::size_t> number_of_kind;
  for (BasicBlock* block : order) {
    if (!begins.contains(block)) continue;
    const auto joined = behind.find(block);
    const bool alone =
        joined != behind.end() && IsAlone(region.exchanges[joined->second]);
    if (joined != behind.end() && !alone &&
        number_of_kind.insert({joined->second, segments.size()}).second) {
      segments.push_back({nullptr, true, region.exchanges[joined->second]});
    }
    number[block] = segments.size();
    segments.push_back({block, alone || region.joins.contains(block)});
    if (alone) segments.back().sites = region.exchanges[joined->second];
  }
  number[region.meet] = segments.size();
  for (BasicBlock* from : order) {
    const std::size_t at = number.at(begin_of.at(from));
    Segment& segment = segments[at];
    if (const auto kind = kind_at.find(from); kind != kind_at.end()) {
      BasicBlock* to = from->getSingleSuccessor();
      const std::size_t meeting = number_of_kind.at(kind->second);
      segment.out.push_back({from, to, meeting});
      segments[meeting].onward.push_back(number.at(to));
      continue;
    }
    for (BasicBlock* to : llvm::successors(from)) {
      const auto found = number.find(to);
      if (found == number.end()) continue;
      const Loop* loop = loops_.getLoopFor(to);
      const bool goes_round = loop && loop->getHeader() == to &&
                              loop->contains(from) && !yields.contains(to) &&
                              found->second == at;
      if (!goes_round) segment.out.push_back({from, to, found->second});
    }
  }
  if (llvm::none_of(segments, [](const Segment& s) { return s.is_join; })) {
    return segments;
  }
  for (std::size_t j = 0; j < segments.size(); ++j) {
    std::vector<bool> reached(segments.size());
    std::vector<std::size_t> work = {j};
    const auto visit = [&](std::size_t next) {
      if (next == segments.size() || reached[next]) return;
      reached[next] = true;
      work.push_back(next);
    };
    while (!work.empty()) {
      const Segment& segment = segments[work.back()];
      work.pop_back();
      for (const Segment::Way& way : segment.out) visit(way.segment);
      for (const std::size_t next : segment.onward) visit(next);
    }
    for (std::size_t i = 0; i < segments.size(); ++i) {
      // Of two joins with a way from each to the other the first goes first.
      if (!segments[i].is_join || i == j ||
          (segments[i].sites.empty() && segments[j].is_join && j > i)) {
        continue;
      }
      if (reached[i]) segments[i].behind.push_back(j);
    }
  }
  return segments;
}

}  // namespace cerberus::ptx
