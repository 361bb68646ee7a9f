#include "ptxc/passes/growth/scheduling_regions.h"

#include <cstddef>
#include <optional>

#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "ptxc/passes/behind_pass.h"

namespace cerberus::ptx {
namespace {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;
using llvm::MachineInstr;

constexpr std::size_t kLargestRegion = 1000;
// The last before the scheduler that changes what is long.
constexpr llvm::StringLiteral kBehindPass = "register-coalescer";
constexpr llvm::StringLiteral kBarrier = "SCHED_BARRIER";

class SchedulingRegions : public llvm::MachineFunctionPass {
 public:
  static char ID;
  SchedulingRegions() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    usage.addRequired<llvm::LiveIntervalsWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction& function) override {
    bool changed = false;
    for (MachineBasicBlock& block : function) {
      if (block.size() > kLargestRegion) changed |= Cut(block);
    }
    return changed;
  }

 private:
  bool Cut(MachineBasicBlock& block) {
    const llvm::TargetInstrInfo& instructions =
        *block.getParent()->getSubtarget().getInstrInfo();
    const std::optional<unsigned> barrier = BarrierOf(instructions);
    if (!barrier) return false;
    llvm::LiveIntervals& intervals =
        getAnalysis<llvm::LiveIntervalsWrapperPass>().getLIS();
    std::size_t count = 0;
    for (MachineInstr& instruction : block) {
      if (instruction.isTerminator()) break;
      if (instruction.isPosition() || instruction.isDebugInstr() ||
          ++count % kLargestRegion != 0) {
        continue;
      }
      intervals.InsertMachineInstrInMaps(
          *llvm::BuildMI(block, instruction, llvm::DebugLoc(),
                         instructions.get(*barrier))
               .addImm(0));
    }
    return true;
  }

  static std::optional<unsigned> BarrierOf(
      const llvm::TargetInstrInfo& instructions) {
    for (unsigned i = 0; i < instructions.getNumOpcodes(); ++i) {
      if (instructions.getName(i) == kBarrier) return i;
    }
    return std::nullopt;
  }
};

char SchedulingRegions::ID = 0;
const llvm::RegisterPass<SchedulingRegions> registered(
    "cerberus-scheduling-regions", "Long blocks are scheduled in pieces");

}  // namespace

void BoundSchedulingRegions() {
  static const BehindPass pass(kBehindPass, SchedulingRegions::ID);
}

}  // namespace cerberus::ptx
