#include "ptxc/passes/growth/slot_gaps.h"

#include <climits>

#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include "ptxc/passes/behind_pass.h"

namespace cerberus::ptx {
namespace {

constexpr unsigned kGap = 256;
// The number has 32 bits, and what was moved or deleted keeps one.
constexpr unsigned kMostInstructions = UINT_MAX / kGap / 4;
constexpr llvm::StringLiteral kBeforeScheduler = "register-coalescer";
constexpr llvm::StringLiteral kScheduler = "machine-scheduler";

// LLVM has packIndexes() for its own gap and nothing for another, and hides
// the list. An explicit instantiation may name what is private.
llvm::IndexListEntry& EntryOf(const llvm::SlotIndex& index);
template <auto kMember>
struct Opened {
  friend llvm::IndexListEntry& EntryOf(const llvm::SlotIndex& index) {
    return *(index.*kMember)();
  }
};
template struct Opened<&llvm::SlotIndex::listEntry>;

class SlotPass : public llvm::MachineFunctionPass {
 public:
  using MachineFunctionPass::MachineFunctionPass;

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    usage.addRequired<llvm::SlotIndexesWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

 protected:
  llvm::SlotIndexes& slots() {
    return getAnalysis<llvm::SlotIndexesWrapperPass>().getSI();
  }
};

class WidenPass : public SlotPass {
 public:
  static char ID;
  WidenPass() : SlotPass(ID) {}

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    if (function.getInstructionCount() > kMostInstructions) return false;
    const llvm::IndexListEntry& last = EntryOf(slots().getLastIndex());
    auto at = EntryOf(slots().getZeroIndex()).getIterator();
    for (unsigned index = 0;; ++at, index += kGap) {
      at->setIndex(index);
      if (&*at == &last) return false;
    }
  }
};

class PackPass : public SlotPass {
 public:
  static char ID;
  PackPass() : SlotPass(ID) {}

  bool runOnMachineFunction(llvm::MachineFunction& /*function*/) override {
    slots().packIndexes();
    return false;
  }
};

char WidenPass::ID = 0;
char PackPass::ID = 0;
const llvm::RegisterPass<WidenPass> widens("cerberus-widen-slots",
                                           "Wide gaps between instructions");
const llvm::RegisterPass<PackPass> packs("cerberus-pack-slots",
                                         "Usual gaps between instructions");

}  // namespace

void WidenSlotGaps() {
  static const BehindPass before(kBeforeScheduler, WidenPass::ID);
  static const BehindPass behind(kScheduler, PackPass::ID);
}

}  // namespace cerberus::ptx
