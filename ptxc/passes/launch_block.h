// The launch block behind a kernel's parameters (docs/launch-abi.md).
#ifndef CERBERUS_PTXC_PASSES_LAUNCH_BLOCK_H_
#define CERBERUS_PTXC_PASSES_LAUNCH_BLOCK_H_

#include <array>
#include <cstddef>

#include "formats/launch_abi.h"

namespace llvm {
class Function;
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace cerberus::ptx {

enum LaunchBlockField : unsigned {
  kLaunchDynamicShared = offsetof(formats::LaunchBlock, dynamic_shared),
  kLaunchGridId = offsetof(formats::LaunchBlock, grid_id),
  kLaunchWorkspace = offsetof(formats::LaunchBlock, workspace),
  kLaunchBlockDim = offsetof(formats::LaunchBlock, block),
  kLaunchReciprocal = offsetof(formats::LaunchBlock, reciprocal),
  kLaunchQueue = offsetof(formats::LaunchBlock, launch_queue),
  kLaunchBlockBytes = sizeof(formats::LaunchBlock),
};

// What describes the window of shared memory, before the launch block of
// kernels that have one.
enum WindowBlockField : unsigned {
  kWindowAddress = offsetof(formats::WindowBlock, memory),
  kWindowBytes = offsetof(formats::WindowBlock, bytes),
  kWindowCluster = offsetof(formats::WindowBlock, cluster),
  kWindowBlockBytes = sizeof(formats::WindowBlock),
};

// Loads an integer of that many bits.
llvm::Value* LoadLaunchBlock(llvm::IRBuilderBase& builder, unsigned offset,
                             unsigned bits);
// What .reqntid says: LoadBlockDim then gives constants.
void SetRequiredBlock(llvm::Function& kernel,
                      const std::array<unsigned, 3>& block);
// Threads of the block along an axis.
llvm::Value* LoadBlockDim(llvm::IRBuilderBase& builder, int axis);
bool IsBlockDim(const llvm::Value& value);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LAUNCH_BLOCK_H_
