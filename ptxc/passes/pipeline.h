// The one list of passes between lowering and the backend.
//
// In this order, and why:
//
//   registers to values     PTX's are variables; all that follows wants values
//   repairs/                what LLVM would take for undefined, and is not in
//                           PTX, is made defined before anybody uses it
//   shared memory, waves    which form a kernel has (shared_window, waves):
//                           before lanes, which depend on the wave's width
//   lanes/                  who waits for whom. It follows the program's
//   control
//                           flow; KeepLoopsWhole keeps what it has built from
//                           LLVM's loop passes
//   LLVM's passes           pointers and their address spaces, common
//                           expressions, vectors of two
//   growth/                 what would take time as the square of a function:
//                           last, as some of it is to hold for the backend
//
// Some of growth/ and repairs/ stand between LLVM's passes, where what they
// look for is there for the first time. With opt_level 0 and 1 (-G) only what
// is needed for right code runs.
#ifndef CERBERUS_PTXC_PASSES_PIPELINE_H_
#define CERBERUS_PTXC_PASSES_PIPELINE_H_

#include <map>
#include <string>
#include <vector>

#include "ptxc/passes/lanes/lane_progress.h"
#include "ptxc/passes/lanes/waves.h"
#include "ptxc/passes/shared_window.h"
#include "support/result.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace cerberus::ptx {

struct PipelineOptions {
  int opt_level = 2;
  bool verify_each = false;
  LaneOptions lanes;
  WaveOptions waves;
  SharedWindowOptions shared;
};

// What the passes found out, by function.
struct PipelineReport {
  std::map<std::string, KernelWaves> waves;    // of kernels
  std::map<std::string, KernelShared> shared;  // of those concerned
  std::map<std::string, std::vector<std::string>> warnings;
};

Status RunPipeline(llvm::Module& module, llvm::TargetMachine& machine,
                   const PipelineOptions& options, PipelineReport* report);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_PIPELINE_H_
