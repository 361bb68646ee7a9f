// Passes of ours among those of LLVM's backend.
#ifndef CERBERUS_PTXC_PASSES_BEHIND_PASS_H_
#define CERBERUS_PTXC_PASSES_BEHIND_PASS_H_

#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/PassRegistry.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"

namespace cerberus::ptx {

// While it exists, whatever this process compiles runs the pass with `id`
// behind LLVM's pass `name`. To be made when LLVM knows the target.
class BehindPass {
 public:
  BehindPass(llvm::StringRef name, char& id)
      : callback_([name, &id](llvm::TargetMachine&, llvm::PassManagerBase&,
                              llvm::TargetPassConfig* passes) {
          const llvm::PassInfo* behind =
              llvm::PassRegistry::getPassRegistry()->getPassInfo(name);
          if (behind) passes->insertPass(behind->getTypeInfo(), &id);
        }) {}

 private:
  const llvm::RegisterTargetPassConfigCallback callback_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_BEHIND_PASS_H_
