// The one list of passes between lowering and the backend.
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
  std::map<std::string, KernelWaves> waves;     // of kernels
  std::map<std::string, KernelWindow> windows;  // of those concerned
  std::map<std::string, std::vector<std::string>> warnings;
};

Status RunPipeline(llvm::Module& module, llvm::TargetMachine& machine,
                   const PipelineOptions& options, PipelineReport* report);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_PIPELINE_H_
