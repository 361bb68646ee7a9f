// Passes of LLVM's backend that large functions do without.
//
// SIFormMemoryClauses, where the GPU may replay loads (XNACK): for each block
// with one it asks all values of the function whether they are alive there.
#ifndef CERBERUS_PTXC_PASSES_GROWTH_PASSES_BY_SIZE_H_
#define CERBERUS_PTXC_PASSES_GROWTH_PASSES_BY_SIZE_H_

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"

namespace cerberus::ptx {

// While it exists, in what the module's context compiles.
class PassesBySize : public llvm::OptPassGate {
 public:
  explicit PassesBySize(llvm::Module& module);
  ~PassesBySize() override;
  PassesBySize(const PassesBySize&) = delete;
  PassesBySize& operator=(const PassesBySize&) = delete;

  bool isEnabled() const override { return !large_.empty(); }
  bool shouldRunPass(llvm::StringRef pass,
                     llvm::StringRef where) const override;

 private:
  llvm::LLVMContext& context_;
  llvm::OptPassGate& before_;
  llvm::StringSet<> large_;  // functions, as LLVM describes them
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_GROWTH_PASSES_BY_SIZE_H_
