// Ways that end the wave: failed assertions, traps.
//
// They lead nowhere, so that LLVM keeps the lanes that take one apart up to the
// end of the function, where it joins all such ways into one: what follows an
// assertion is nested in it. A thousand of them are nested a thousand deep,
// with a mask of lanes alive for each, and much in the backend takes time as
// their square. But nobody is left who could be kept apart. So a way that ends
// in the call of a function that ends the wave goes on, for LLVM, as if it had
// been passed by:
//
//   if (ok) { rest } else { report }   →   if (!ok) { report }
//                                          rest
//
// The passes before this one know that behind a check what it checks holds.
#ifndef CERBERUS_PTXC_PASSES_GROWTH_ENDED_WAVES_H_
#define CERBERUS_PTXC_PASSES_GROWTH_ENDED_WAVES_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

// An attribute of functions whose calls end the wave. Where they are called,
// `llvm.amdgcn.endpgm` and `unreachable` follow.
inline constexpr char kEndsWave[] = "cerberus-ends-wave";

class RejoinEndedWaves : public llvm::PassInfoMixin<RejoinEndedWaves> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

// In all that this process compiles from now on, such calls spoil no register:
// what is needed behind them is needed by nobody who was there. To be called
// when LLVM knows the target.
void KeepRegistersOfEndedWaves();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_ENDED_WAVES_H_
