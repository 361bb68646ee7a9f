// Shared memory in a window of device memory, for kernels that ask for more
// than the hardware has (docs/launch-abi.md, "Shared memory in a window").
//
// A kernel whose static shared memory is too large uses the window always, and
// so does one whose clusters have several blocks (passes/clusters.h). One with
// dynamic shared memory, of which only the launch knows how much it is, gets a
// second form, named with formats::kWindowSuffix behind its name, and one that
// may be launched with clusters gets one for these. There a shared address is
// still an offset of 32 bits, but from the window of the block, or of its
// cluster's first; what the compiler itself keeps in LDS stays there.
#ifndef CERBERUS_PTXC_PASSES_SHARED_WINDOW_H_
#define CERBERUS_PTXC_PASSES_SHARED_WINDOW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "llvm/IR/PassManager.h"
#include "ptxc/shared_overflow.h"

namespace cerberus::ptx {

// The variable that a kernel's tensor memory is (lower/tensor_memory.cc). It
// lies in front of all others, and no LDS is large enough for it.
inline constexpr char kTensorMemory[] = "tensor.memory";

struct SharedWindowOptions {
  std::uint32_t limit = UINT32_MAX;  // bytes of LDS that a block may have
  SharedOverflow overflow = SharedOverflow::kError;
};

// What the pass says of a kernel.
struct KernelShared {
  std::uint64_t own_bytes = 0;  // what the compiler itself keeps in LDS
  // Where dynamic shared memory starts in its window, if it has one.
  std::optional<std::uint64_t> window;
  std::uint64_t tensor_bytes = 0;  // of it, at its start, tensor memory
  // Whether clusters of several blocks can have it in that form, or, without a
  // window, at all; nothing if it does not depend on them.
  std::optional<bool> clusters;
  bool second_form = false;  // the kernel without the suffix exists as well
  std::string refused;       // why the kernel cannot be: too much for LDS
};

class MoveSharedMemory : public llvm::PassInfoMixin<MoveSharedMemory> {
 public:
  MoveSharedMemory(const SharedWindowOptions& options,
                   std::map<std::string, KernelShared>* kernels)
      : options_(options), kernels_(kernels) {}
  llvm::PreservedAnalyses run(llvm::Module& module,
                              llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }

 private:
  SharedWindowOptions options_;
  std::map<std::string, KernelShared>* kernels_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_SHARED_WINDOW_H_
