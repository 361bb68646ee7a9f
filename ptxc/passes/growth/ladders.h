// Many branches behind each other that all leave for the same place, as of a
// search that was unrolled, or of checks in a row.
//
//   if (a) goto end;  …  if (b) goto end;  …  if (c) goto end;  …  end:
//
// To LLVM each is an if around all that follows: a thousand are nested a
// thousand deep, with as many masks of lanes to keep, most of them spilled, and
// what looks at each if with all in it takes time as their square. Here such a
// ladder is cut into pieces. Lanes that leave a piece go to its end and do not
// note that they go on, and go past all other pieces:
//
//   going = 0
//   if (!a) { … if (!b) { … going = 1 } }
//   if (going) { going = 0; if (!c) … going = 1 }
//   end:
#ifndef CERBERUS_PTXC_PASSES_GROWTH_LADDERS_H_
#define CERBERUS_PTXC_PASSES_GROWTH_LADDERS_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

class CutLadders : public llvm::PassInfoMixin<CutLadders> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_LADDERS_H_
