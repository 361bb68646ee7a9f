// Where lanes part of which some wait at a join for others.
//
// Lanes of a wave that part at a branch are together again where its sides
// meet. A join (passes/lanes/joins.h) on one side gets all lanes that it waits
// for unless others can come to one of its kind elsewhere:
//
//   on the other side         if (a) join; else join;
//   or behind the meeting,    if (a) join;  if (b) join;
//   having passed it by:      for (…) { if (a) join; }
//                             while (a) join;  while (b) join;
//
// The latter takes two branches, or one that lanes come to again, with more
// joins on one way than on another, or with joins of other masks. At a barrier
// all lanes are together.
//
// Lanes that come to a join together part there, too, if one's mask names
// others that have another mask: `3 << lane` waits for the next lane at a place
// where that has `3 << (lane - 1)`.
#ifndef CERBERUS_PTXC_PASSES_LANES_PARTINGS_H_
#define CERBERUS_PTXC_PASSES_LANES_PARTINGS_H_

#include <utility>
#include <vector>

#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

struct Parting {
  // At whose ends lanes part of which some may wait for others, on other sides
  // or, where there are several, where those lead. In program order.
  std::vector<llvm::BasicBlock*> branches;
  // What has to be between there and where they meet.
  std::vector<llvm::BasicBlock*> held = {};
  // Two of the branches, or one twice, to the second of which lanes may come
  // behind the first in another round of the loops around.
  std::vector<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>> again = {};
};

enum class Lanes { kOfAWarp, kOfAWave };

struct PartingsFound {
  // At whose ends lanes part, in program order.
  std::vector<llvm::BasicBlock*> branches;
  std::vector<Parting> partings;  // in program order
  // Calls of functions with joins in them that only some lanes come to.
  std::vector<llvm::CallBase*> calls;
};
PartingsFound FindPartings(llvm::Function& function,
                           const llvm::DominatorTree& dominators,
                           llvm::FunctionAnalysisManager& analyses,
                           Lanes lanes = Lanes::kOfAWarp);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_PARTINGS_H_
