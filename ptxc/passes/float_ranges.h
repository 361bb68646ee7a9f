// Approximations without care for subnormal numbers where there are none.
//
// PTX's approximate divisions, roots and logarithms of f32 take subnormal
// operands as they are, and AMD's instructions (v_rcp_f32 and its kin) take
// them for zero, so that each needs four or five instructions around it. Most
// operands cannot be subnormal, as what a program adds 1 to, or an epsilon.
#ifndef CERBERUS_PTXC_PASSES_FLOAT_RANGES_H_
#define CERBERUS_PTXC_PASSES_FLOAT_RANGES_H_

#include "llvm/IR/PassManager.h"

namespace cerberus::ptx {

// Metadata of a division: it is PTX's div.approx, a * (1 / b), which is 0 for b
// beyond 2^126.
inline constexpr char kByInverse[] = "cerberus.by-inverse";
// Of a comparison that says whether a number is so small that it is scaled;
// with any other it would do no harm.
inline constexpr char kScalesSmall[] = "cerberus.scales-small";

class DropSubnormalCare : public llvm::PassInfoMixin<DropSubnormalCare> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function,
                              llvm::FunctionAnalysisManager& analyses);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_FLOAT_RANGES_H_
