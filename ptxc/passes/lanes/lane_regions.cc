#include "ptxc/passes/lanes/lane_regions.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "ptxc/passes/lanes/join_rows.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_progress.h"
#include "ptxc/passes/lanes/waiting.h"
#include "ptxc/passes/lanes/waves.h"

namespace cerberus::ptx {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Function;
using llvm::Instruction;
using llvm::Loop;

constexpr unsigned kLocalSpace = 5;

// Loops that yield to the same rounds and joins in them. LLVM allocates
// registers for as many in some 10 s, for half of them in 2. Where there are
// many lanes do without rests.
constexpr std::ptrdiff_t kMostInRounds = 256;
constexpr std::size_t kMostWithRests = 64;
constexpr std::size_t kMostJoins = 512;

// `activemask`, which waits for nobody.
bool AsksWhoIsHere(const Instruction& instruction) {
  return IsWaveCall(instruction, "ballot") &&
         llvm::isa<llvm::Constant>(
             llvm::cast<CallInst>(instruction).getArgOperand(0));
}

}  // namespace

bool IsAlone(llvm::ArrayRef<CallInst*> sites) {
  return sites.size() == 1 && KnownMaskOf(sites);
}

BasicBlock* BehindJoin(llvm::ArrayRef<CallInst*> sites, const CallInst& site) {
  BasicBlock* block = const_cast<BasicBlock*>(site.getParent());
  return IsAlone(sites) ? block : block->getSingleSuccessor();
}

bool Together::operator()(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call || !call->isConvergent()) return false;
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) {
    switch (intrinsic->getIntrinsicID()) {
      case llvm::Intrinsic::amdgcn_endpgm:
      case llvm::Intrinsic::amdgcn_s_sleep: return false;
      default: return true;
    }
  }
  if (call->isInlineAsm() || IsJoin(instruction)) return true;
  return MayCall(*call,
                 [this](const Function& callee) { return IsIn(callee); });
}

bool Together::IsIn(const Function& function) {
  if (function.isDeclaration()) return true;
  const auto [known, is_new] = functions_.insert({&function, false});
  if (!is_new) return known->second;  // false as well within recursion
  const bool result = llvm::any_of(
      llvm::instructions(function),
      [&](const Instruction& i) { return (*this)(i) && !TakesWhoIsHere(i); });
  return functions_[&function] = result;
}

bool Together::TakesWhoIsHere(const Instruction& instruction) {
  const auto& call = llvm::cast<llvm::CallBase>(instruction);
  if (IsWaveCall(call, "ballot") ||
      call.getIntrinsicID() == llvm::Intrinsic::amdgcn_readfirstlane) {
    return true;
  }
  const Function* callee = call.getCalledFunction();
  const bool stays = !call.isInlineAsm() && !IsJoin(call) &&
                     (!callee || !callee->isDeclaration());
  return stays && !HasBarrier(call);
}

// Whether the call may lead to a barrier.
bool Together::HasBarrier(const llvm::CallBase& call) {
  return MayCall(call, [this](const Function& function) {
    const auto [known, is_new] = with_barriers_.insert({&function, false});
    if (!is_new) return known->second;  // false as well within recursion
    const bool result = llvm::any_of(
        llvm::instructions(function), [this](const Instruction& instruction) {
          const auto* next = llvm::dyn_cast<llvm::CallBase>(&instruction);
          return IsBarrier(instruction) || (next && HasBarrier(*next));
        });
    return with_barriers_[&function] = result;
  });
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

LaneRegions::LaneRegions(Function& function, Together* together,
                         llvm::FunctionAnalysisManager& analyses,
                         const Options& options)
    : function_(function),
      together_(together),
      dominators_(function),
      post_dominators_(function),
      loops_(dominators_),
      waiting_(options.any_loop ? FindReadingLoops(loops_)
                                : FindWaitingLoops(loops_)),
      partings_(FindPartings(function, dominators_, analyses, options.lanes)) {
  for (Instruction& instruction : llvm::instructions(function_)) {
    if (OrdersMemory(instruction)) fences_.push_back(&instruction);
    if (IsBarrier(instruction)) barriers_.insert(instruction.getParent());
  }
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

// Regions that begin at one block, each with the next block as its end where
// all lanes that left the first meet.
class LaneRegions::Growing {
 public:
  Growing(const LaneRegions& regions, BasicBlock* first) : regions_(regions) {
    region_.first = first;
  }

  // Whether there is one that ends there, for an end behind the last one.
  bool GrowTo(BasicBlock* meet) {
    llvm::SetVector<BasicBlock*>& blocks = region_.blocks;
    if (failed_ && meet != failed_ && !blocks.contains(meet)) return false;
    std::vector<BasicBlock*> work = {region_.meet};
    if (failed_ || !region_.meet || blocks.contains(meet)) {
      blocks.clear();
      failed_ = nullptr;
      work = {llvm::succ_begin(region_.first), llvm::succ_end(region_.first)};
    }
    region_.meet = meet;
    while (!work.empty()) {
      BasicBlock* block = work.back();
      work.pop_back();
      if (block == meet || !blocks.insert(block)) continue;
      // Others come in between.
      if (block == region_.first ||
          !regions_.dominators_.dominates(region_.first, block)) {
        failed_ = block;
        return false;
      }
      work.insert(work.end(), llvm::succ_begin(block), llvm::succ_end(block));
    }
    return true;
  }

  const Region& region() const { return region_; }
  bool Holds(llvm::ArrayRef<BasicBlock*> held) const {
    return llvm::all_of(held, [this](BasicBlock* block) {
      return region_.blocks.contains(block);
    });
  }

 private:
  const LaneRegions& regions_;
  Region region_;
  BasicBlock* failed_ = nullptr;  // the way there passed some of the blocks
};

// From `first`'s terminator to `meet`, with all of `held`, or nothing if others
// come in between.
std::optional<Region> LaneRegions::Collect(BasicBlock* first, BasicBlock* meet,
                                           Blocks held) const {
  Growing growing(*this, first);
  if (!growing.GrowTo(meet) || !growing.Holds(held)) return std::nullopt;
  return growing.region();
}

// The ends of regions that begin at the block may be these.
std::vector<BasicBlock*> LaneRegions::Ends(BasicBlock* begin) const {
  std::vector<BasicBlock*> ends;
  for (const llvm::DomTreeNode* end = post_dominators_.getNode(begin);
       end && (end = end->getIDom()) && end->getBlock();) {
    // Lanes that go round a loop again do not meet in it the first time.
    const Loop* within = loops_.getLoopFor(end->getBlock());
    if (!within || within->contains(begin)) ends.push_back(end->getBlock());
  }
  return ends;
}

// The end of the smallest region that begins at the block, or null.
BasicBlock* LaneRegions::FirstEnd(BasicBlock* begin) const {
  const auto [known, is_new] = first_ends_.insert({begin, nullptr});
  if (!is_new) return known->second;
  Growing growing(*this, begin);
  for (BasicBlock* end : Ends(begin)) {
    if (growing.GrowTo(end)) return known->second = end;
  }
  return nullptr;
}

// The smallest region that begins at `first` or in front of it.
std::optional<Region> LaneRegions::Smallest(BasicBlock* first,
                                            Blocks held) const {
  for (const llvm::DomTreeNode* node = dominators_.getNode(first); node;
       node = node->getIDom()) {
    BasicBlock* begin = node->getBlock();
    if (!FirstEnd(begin)) continue;
    Growing growing(*this, begin);
    for (BasicBlock* end : Ends(begin)) {
      if (growing.GrowTo(end) && growing.Holds(held) &&
          (begin == first || growing.region().blocks.contains(first))) {
        return growing.region();
      }
    }
  }
  return std::nullopt;
}

// Where lanes that part there meet again: the end of the smallest region.
const BasicBlock* LaneRegions::MeetingOf(BasicBlock* branch) const {
  for (const llvm::DomTreeNode* node = dominators_.getNode(branch); node;
       node = node->getIDom()) {
    BasicBlock* begin = node->getBlock();
    const BasicBlock* end = FirstEnd(begin);
    if (!end) continue;
    if (begin == branch || !dominators_.dominates(end, branch)) return end;
    // The branch is behind that region; what begins at its end came before.
    if (loops_.getLoopFor(end) == loops_.getLoopFor(begin)) continue;
    const std::optional<Region> region = Smallest(branch, {});
    return region ? region->meet : nullptr;
  }
  return nullptr;
}

std::optional<Region> LaneRegions::Find(const Parting& parting) const {
  BasicBlock* first = parting.branches.front();
  const auto begin_at = [&](BasicBlock* block) {
    first = dominators_.findNearestCommonDominator(first, block);
  };
  for (BasicBlock* branch : parting.branches) begin_at(branch);
  // What holds a branch holds the smallest region that begins there.
  llvm::SetVector<BasicBlock*> held(parting.held.begin(), parting.held.end());
  for (BasicBlock* branch : parting.branches) {
    if (branch != first) held.insert(branch);
  }
  // Lanes that come to one of them again go other rounds of the loops around.
  llvm::SmallSetVector<const Loop*, 4> rounds;
  for (const auto& [branch, other] : parting.again) {
    const BasicBlock* meet = MeetingOf(branch);
    if (!meet) return std::nullopt;
    for (const Loop* loop = loops_.getLoopFor(meet); loop;
         loop = loop->getParentLoop()) {
      if (!loop->contains(branch) || !loop->contains(other)) continue;
      rounds.insert(loop);
      break;
    }
  }
  for (const Loop* loop : rounds) {
    held.insert(loop->block_begin(), loop->block_end());
    begin_at(dominators_.getNode(loop->getHeader())->getIDom()->getBlock());
  }
  std::optional<Region> region = Smallest(first, held.getArrayRef());
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
      now = Smallest(
          dominators_.findNearestCommonDominator(merged[i].first, now->first),
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
  const BlockSet partings(partings_.branches.begin(), partings_.branches.end());
  BlockSet yields;
  for (const Loop* loop : waiting_) yields.insert(loop->getHeader());
  llvm::CycleInfo cycles;
  cycles.compute(function_);
  const JoinRows::Flow flow = {dominators_, post_dominators_, cycles, partings,
                               yields};
  for (Region& region : merged) {
    region.waits = WaitsIn(region) != 0;
    AddExchanges(flow, &region);
    bool fits = AddJoins(&region);
    if (fits && !region.parts && region.meets_apart) {
      // Lanes that have yielded do not all come to joins by mask together.
      region.parts = true;
      AddExchanges(flow, &region);
      fits = AddJoins(&region);
    }
    if (fits) AddRests(&region);
    if (fits) regions->push_back(std::move(region));
    all &= fits;
  }
  return all;
}

// All where lanes part at joins. Elsewhere lanes that have yielded come
// together in front of all of them (AddJoins), which takes one place where
// there are several, as behind `activemask`.
void LaneRegions::AddExchanges(const JoinRows::Flow& flow,
                               Region* region) const {
  std::vector<CallInst*> joins, of_wave;
  for (BasicBlock* block : InOrder(*region)) {
    for (Instruction& instruction : *block) {
      CallInst* join = AsJoin(instruction);
      if (!join) continue;
      if (IsOfTheWave(*join)) {
        of_wave.push_back(join);
      } else if (region->parts) {
        joins.push_back(join);
      }
    }
  }
  const JoinRows rows(*region, joins, flow, together_);
  region->exchanges.clear();
  region->followers.clear();
  for (CallInst* join : joins) {
    if (rows.Follows(*join)) region->followers.insert(join);
  }
  llvm::erase_if(joins, [&](CallInst* join) { return rows.Follows(*join); });
  for (CallInst* join : joins) {
    if (rows.IsOnePlace(*join)) region->exchanges.push_back({join});
  }
  llvm::erase_if(joins, [&](CallInst* join) { return rows.IsOnePlace(*join); });
  for (const auto& some : {KindsOf(joins), KindsOf(of_wave)}) {
    llvm::append_range(region->exchanges, some);
  }
}

// Whether the block writes what others may wait for: ordered, or behind a fence
// that all lanes pass which come to it.
bool LaneRegions::Releases(const BasicBlock* block) const {
  return llvm::any_of(*block, [&](const Instruction& instruction) {
    if (IsOrderedWrite(instruction)) return true;
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      const Function* callee = call->getCalledFunction();
      return !call->isInlineAsm() && !IsJoin(instruction) &&
             (!callee || !callee->isDeclaration());
    }
    return IsPlainWrite(instruction) &&
           llvm::any_of(fences_, [&](const Instruction* fence) {
             return dominators_.dominates(fence, &instruction);
           });
  });
}

std::ptrdiff_t LaneRegions::WaitsIn(const Region& region) const {
  return llvm::count_if(waiting_, [&](const Loop* loop) {
    return region.blocks.contains(loop->getHeader());
  });
}

// Puts a block in front of each loop that waits.
const WaysToWrites& LaneRegions::Ways() {
  if (ways_) return *ways_;
  for (Loop* loop : waiting_) {
    llvm::InsertPreheaderForLoop(loop, &dominators_, &loops_, nullptr,
                                 /*PreserveLCSSA=*/false);
  }
  post_dominators_.recalculate(function_);
  first_ends_.clear();
  std::vector<BasicBlock*> releases, plain;
  for (BasicBlock& block : function_) {
    if (Releases(&block)) releases.push_back(&block);
    if (llvm::any_of(block, IsPlainWrite)) plain.push_back(&block);
  }
  return ways_.emplace(function_, post_dominators_, barriers_, releases, plain);
}

// While some lanes are in the loop, others may be where branches led them that
// part lanes on the way to it or in it, and behind that up to the next barrier.
// What of it writes, or comes before such a write, belongs to the region: any
// other lane's wait can only end by what other warps do.
LaneRegions::Waiting LaneRegions::Find(Loop& loop) {
  const WaysToWrites& ways = Ways();
  BasicBlock* first = loop.getLoopPreheader();
  if (!first) return {};
  const WaysToWrites::Blocks in_front = ways.InFrontOf(loop.getHeader());
  WaysToWrites::Blocks reached = ways.None();
  WaysToWrites::Sides from_released;
  bool needed = false;
  llvm::SetVector<BasicBlock*> held(loop.block_begin(), loop.block_end());
  for (BasicBlock* branch : partings_.branches) {
    if (!in_front.test(branch->getNumber())) continue;
    WaysToWrites::Sides elsewhere;
    bool comes = false;
    for (BasicBlock* side : llvm::successors(branch)) {
      if (ways.ComeFirst(branch, side, loop.getHeader())) {
        comes = true;
      } else {
        elsewhere.push_back(side);
      }
    }
    if (!comes) continue;
    // What leads to a write, and that. On another way than the loop's, plain
    // ones count as well: much code takes them for flags.
    const bool released = llvm::any_of(
        elsewhere, [&](BasicBlock* side) { return ways.LeadToRelease(side); });
    const WaysToWrites::Blocks* plain =
        loop.contains(branch) ? nullptr : ways.ToPlain(branch, elsewhere);
    if (!released && !plain) continue;
    if (released) llvm::append_range(from_released, elsewhere);
    if (plain) reached |= *plain;
    needed = true;
    held.insert(branch);
    first = dominators_.findNearestCommonDominator(first, branch);
  }
  if (!needed) return {};
  reached |= ways.ToReleases(from_released);
  for (BasicBlock& block : function_) {
    if (reached.test(block.getNumber())) held.insert(&block);
  }
  held.remove(first);
  return {true, Smallest(first, held.getArrayRef())};
}

// ---- Lanes that come together inside --------------------------------------

LaneRegions::BlockSet LaneRegions::Yields(const Region& region) const {
  BlockSet headers;
  for (const Loop* waits : waiting_) {
    if (!region.blocks.contains(waits->getHeader())) continue;
    for (const Loop* loop = waits;
         loop && region.blocks.contains(loop->getHeader());
         loop = loop->getParentLoop()) {
      headers.insert(loop->getHeader());
    }
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

// Fills in the joins; false if there is something that takes more together
// than the lanes that can meet, or too much of it.
bool LaneRegions::AddJoins(Region* region) const {
  const BlockSet yields = Yields(*region);
  std::size_t exchanging = 0;
  llvm::SmallPtrSet<const Instruction*, 8> by_mask(region->followers.begin(),
                                                   region->followers.end());
  for (const auto& sites : region->exchanges) {
    exchanging += sites.size();
    by_mask.insert(sites.begin(), sites.end());
  }
  region->joins.clear();
  region->rests.clear();
  // Whether all that takes lanes together in them takes who is here.
  llvm::MapVector<BasicBlock*, bool> collective;
  llvm::SmallPtrSet<const BasicBlock*, 8> with_masks;
  for (BasicBlock* block : InOrder(*region)) {
    bool found = false;
    bool rest = true;
    bool has_mask = false;
    for (const Instruction& instruction : *block) {
      if (!(*together_)(instruction) || by_mask.contains(&instruction)) {
        continue;
      }
      if (region->parts && !region->waits && AsksWhoIsHere(instruction)) {
        continue;
      }
      found = true;
      rest &= together_->TakesWhoIsHere(instruction);
      has_mask |= IsJoin(instruction);
    }
    if (!found) continue;
    // In front of loops whose rounds a warp's lanes go together.
    for (const Loop* around = loops_.getLoopFor(block);
         around && region->blocks.contains(around->getHeader()) &&
         !yields.contains(around->getHeader());
         around = around->getParentLoop()) {
      block = around->getHeader();
    }
    const auto [known, is_new] = collective.insert({block, rest});
    known->second &= rest;
    if (has_mask) with_masks.insert(block);
  }
  for (bool changed = true; changed;) {
    if (static_cast<std::ptrdiff_t>(yields.size() + region->joins.size() +
                                    region->rests.size()) > kMostInRounds ||
        exchanging > kMostJoins) {
      return false;
    }
    changed = false;
    const auto last = LastMeetings(*region, yields);
    for (const auto& [block, rest] : collective) {
      if (last.lookup(block)) continue;
      if (yields.contains(block)) return false;
      changed = (rest ? region->rests : region->joins).insert(block);
      region->meets_apart |= with_masks.contains(block);
      break;
    }
  }
  return true;
}

// Lanes that waited in a loop one by one go on together behind the last write,
// in the same round of the loop around, that others may wait for: what they do
// alone is done once for each of them.
void LaneRegions::AddRests(Region* region) const {
  if (Yields(*region).size() + region->joins.size() > kMostWithRests) return;
  for (const Loop* loop : waiting_) {
    if (!region->blocks.contains(loop->getHeader())) continue;
    const Loop* around = loop->getParentLoop();
    llvm::SmallVector<BasicBlock*, 4> exits;
    loop->getExitBlocks(exits);
    std::vector<BasicBlock*> work(exits.begin(), exits.end());
    BlockSet passed(loop->block_begin(), loop->block_end());
    BasicBlock* rest = nullptr;
    bool ends = false;
    for (const llvm::DomTreeNode* node =
             post_dominators_.getNode(loop->getHeader());
         !ends && (node = node->getIDom());) {
      BasicBlock* block = node->getBlock();
      ends = !block || block == region->meet ||
             !region->blocks.contains(block) ||
             (around && !around->contains(block));
      if (!ends && loops_.getLoopFor(block) != around) continue;
      bool writes = false;
      while (!work.empty()) {
        BasicBlock* between = work.back();
        work.pop_back();
        if (between == block || !region->blocks.contains(between) ||
            (around && !around->contains(between)) ||
            !passed.insert(between).second) {
          continue;
        }
        writes |= Releases(between);
        work.insert(work.end(), llvm::succ_begin(between),
                    llvm::succ_end(between));
      }
      if (ends) {
        if (writes) rest = nullptr;
      } else if (!rest || writes) {
        rest = block;
      }
      if (block) work = {block};
    }
    // Where all have to come together, no rest is as good.
    if (rest && !region->joins.contains(rest)) region->rests.insert(rest);
  }
}

// For each block of the region, behind which join all lanes come there
// together, or the region's first block; null if not all do behind one, or one
// by one from loops that yield, or in the groups of a mask.
llvm::DenseMap<const BasicBlock*, const BasicBlock*> LaneRegions::LastMeetings(
    const Region& region, const BlockSet& yields) const {
  llvm::DenseMap<const BasicBlock*, const BasicBlock*> last;
  last[region.first] = region.first;
  BlockSet behind_all, behind_some;
  for (const auto& sites : region.exchanges) {
    const llvm::ConstantInt* mask = KnownMaskOf(sites);
    for (const CallInst* site : sites) {
      (mask && mask->isMinusOne() ? behind_all : behind_some)
          .insert(BehindJoin(sites, *site));
    }
  }
  const std::vector<BasicBlock*> order = InOrder(region);
  for (bool changed = true; changed;) {
    changed = false;
    for (const BasicBlock* block : order) {
      std::optional<const BasicBlock*> meeting;
      if (region.joins.contains(block) || region.rests.contains(block) ||
          behind_all.contains(block)) {
        meeting = block;
      } else if (yields.contains(block) || behind_some.contains(block)) {
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

}  // namespace cerberus::ptx
