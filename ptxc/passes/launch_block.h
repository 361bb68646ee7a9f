// The launch block behind a kernel's parameters (docs/launch-abi.md).
#ifndef CERBERUS_PTXC_PASSES_LAUNCH_BLOCK_H_
#define CERBERUS_PTXC_PASSES_LAUNCH_BLOCK_H_

#include <array>

namespace llvm {
class Function;
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace cerberus::ptx {

enum LaunchBlockField : unsigned {
  kLaunchDynamicShared = 0,
  kLaunchGridId = 8,
  kLaunchWorkspace = 16,
  kLaunchBlockDim = 24,
  kLaunchReciprocal = 36,
  kLaunchQueue = 44,
  kLaunchBlockBytes = 48,
};

// What describes the window of shared memory, before the launch block of
// kernels that have one.
enum WindowBlockField : unsigned {
  kWindowAddress = 0,
  kWindowBytes = 8,  // of one block
  kWindowBlockBytes = 16,
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
