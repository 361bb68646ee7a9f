// How warps of 32 lanes lie in the hardware's waves (docs/launch-abi.md,
// "Warps"). Waves of 32 lanes are warps. Waves of 64 lanes hold
//
//   two warps   where that is not slower than one (passes/lanes/packing.h), or
//   where
//               a block would not fit otherwise: lanes of both yield to each
//               other (passes/lanes/lane_progress.h), since a wave has one
//               program counter;
//   one warp    otherwise, in the lower half; the upper half ends at once.
//
// Lowering and the device library ask for what depends on this through
// functions that the pass here replaces:
//
//   __cerberus_wave_thread_x, _y, _z   %tid
//   __cerberus_wave_thread             the thread's number in its block
//   __cerberus_wave_lane               %laneid
//   __cerberus_wave_first_lane         the wave's lane that is the warp's lane
//   0
//   __cerberus_wave_ballot(i1)         the warp's active lanes that say yes
//   __cerberus_wave_any(i1)            1 if an active lane of the wave says yes
#ifndef CERBERUS_PTXC_PASSES_LANES_WAVES_H_
#define CERBERUS_PTXC_PASSES_LANES_WAVES_H_

#include <array>
#include <map>
#include <string>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class CallBase;
class Value;
}  // namespace llvm

namespace cerberus::ptx {

// The function __cerberus_wave_<name>, declared if it is not yet.
llvm::Function* WaveFunction(llvm::Module& module, llvm::StringRef name);
bool IsWaveFunction(const llvm::Function& function);
// Whether the value is a call of __cerberus_wave_<name>.
bool IsWaveCall(const llvm::Value& value, llvm::StringRef name);

// Whether functions stay calls, which then know nothing of their kernel.
bool CallsFunctions(const llvm::Function& function);
// Whether the call may be one of a function of which `is` holds.
bool MayCall(const llvm::CallBase& call,
             llvm::function_ref<bool(const llvm::Function&)> is);

struct WaveOptions {
  unsigned wave_size = 32;
  bool never_pack = false;
};

// Of a block, where each warp has a wave of 64 of its own.
inline constexpr unsigned kMaxThreadsOfHalfWaves = 512;

// What a kernel's second form has behind its name: for blocks too large for one
// warp in each wave.

// What the passes found out of a kernel.
struct KernelWaves {
  int warps_per_wave = 1;
  std::string why_one;  // what keeps two warps from sharing a wave
  bool packed_form =
      false;  // it has a second one, named with formats::kPackedSuffix
};

// Says of each function whether two warps share a wave
// (passes/lanes/packing.h). Of a kernel for which that is better not so, a
// second form with two warps in each wave, which yield to each other
// (passes/lanes/lane_progress.h), takes large blocks; one that is only launched
// with such is that form itself.
class ChooseWaves : public llvm::PassInfoMixin<ChooseWaves> {
 public:
  explicit ChooseWaves(const WaveOptions& options) : options_(options) {}
  llvm::PreservedAnalyses run(llvm::Module& module,
                              llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }

 private:
  WaveOptions options_;
};

class ResolveWaves : public llvm::PassInfoMixin<ResolveWaves> {
 public:
  ResolveWaves(const WaveOptions& options,
               std::map<std::string, KernelWaves>* kernels)
      : options_(options), kernels_(kernels) {}
  llvm::PreservedAnalyses run(llvm::Module& module,
                              llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }

 private:
  WaveOptions options_;
  std::map<std::string, KernelWaves>* kernels_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_WAVES_H_
