// The one list of passes between lowering and the backend.
#ifndef CERBERUS_PTXC_PASSES_PIPELINE_H_
#define CERBERUS_PTXC_PASSES_PIPELINE_H_

#include <map>
#include <string>

#include "ptxc/passes/waves.h"
#include "support/result.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace cerberus::ptx {

struct PipelineOptions {
  int opt_level = 2;
  bool verify_each = false;
  WaveOptions waves;
};

// `kernels`: what ResolveWaves decided, by the kernel's name.
Status RunPipeline(llvm::Module& module, llvm::TargetMachine& machine,
                   const PipelineOptions& options,
                   std::map<std::string, KernelWaves>* kernels);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_PIPELINE_H_
