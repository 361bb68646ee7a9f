// The segments of a region: what lanes do between two meetings.
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_regions.h"

namespace cerberus::ptx {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Function;
using llvm::Loop;

// The region's blocks in program order.
std::vector<BasicBlock*> LaneRegions::InOrder(const Region& region) const {
  std::vector<BasicBlock*> order;
  for (BasicBlock* block :
       llvm::ReversePostOrderTraversal<Function*>(&function_)) {
    if (region.blocks.contains(block)) order.push_back(block);
  }
  return order;
}

// By segment, whether lanes may come there from `begin`, with or without a
// round of some loop.
static std::vector<bool> ReachedFrom(const std::vector<Segment>& segments,
                                     std::size_t begin) {
  std::vector<bool> reached(segments.size());
  std::vector<std::size_t> work = {begin};
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
  return reached;
}

// Of two joins with a way from each to the other, whether lanes at `i` do not
// wait for those at `j`. One that takes all lanes waits for those at all
// others: if it went first, some lanes would be a barrier ahead of the others.
static bool GoesFirst(const std::vector<Segment>& segments, std::size_t i,
                      std::size_t j) {
  const Segment& first = segments[i];
  const Segment& second = segments[j];
  if (!second.is_join || !first.sites.empty()) return false;
  const auto takes_all = [](const Segment& segment) {
    return segment.sites.empty() ? !segment.is_rest
                                 : IsOfTheWave(*segment.sites.front());
  };
  if (takes_all(first) != takes_all(second)) {
    return takes_all(second) && ReachedFrom(segments, i)[j];
  }
  return j > i;
}

// The segment that each block belongs to, by its first block. Blocks where
// several meet begin one and are put into `begins`.
static llvm::DenseMap<const BasicBlock*, const BasicBlock*> BeginOf(
    const std::vector<BasicBlock*>& order, LaneRegions::BlockSet& begins) {
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
  return begin_of;
}

// For each join, the segments that lanes may come to it from.
static void FindBehind(std::vector<Segment>& segments) {
  if (llvm::none_of(segments, [](const Segment& s) { return s.is_join; })) {
    return;
  }
  for (std::size_t j = 0; j < segments.size(); ++j) {
    const std::vector<bool> reached = ReachedFrom(segments, j);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].is_join && i != j && reached[i] &&
          !GoesFirst(segments, i, j)) {
        segments[i].behind.push_back(j);
      }
    }
  }
}

// Segments begin where lanes wait, where they come together, and where those
// of several segments meet.
std::vector<Segment> LaneRegions::Segments(const Region& region) const {
  std::vector<BasicBlock*> order = InOrder(region);
  order.insert(order.begin(), region.first);
  BlockSet begins(region.joins.begin(), region.joins.end());
  begins.insert(region.rests.begin(), region.rests.end());
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
  const auto begin_of = BeginOf(order, begins);
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
      segments.push_back(
          {nullptr, true, false, region.exchanges[joined->second]});
    }
    number[block] = segments.size();
    const bool rest = region.rests.contains(block) && !alone;
    segments.push_back(
        {block, alone || rest || region.joins.contains(block), rest});
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
  FindBehind(segments);
  return segments;
}

}  // namespace cerberus::ptx
