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
constexpr std::size_t kLargestPairingRegion = 250;
// The last before the scheduler that changes what is long.
constexpr llvm::StringLiteral kBehindPass = "register-coalescer";
// The last before the one behind the allocation of registers.
constexpr llvm::StringLiteral kBehindAllocation = "si-post-ra-bundler";
constexpr llvm::StringLiteral kBarrier = "SCHED_BARRIER";

std::optional<unsigned> BarrierOf(const llvm::TargetInstrInfo& instructions) {
  for (unsigned i = 0; i < instructions.getNumOpcodes(); ++i) {
    if (instructions.getName(i) == kBarrier) return i;
  }
  return std::nullopt;
}

// With `intervals` the barriers get their place in them.
bool Cut(MachineBasicBlock& block, std::size_t largest,
         llvm::LiveIntervals* intervals) {
  const llvm::TargetInstrInfo& instructions =
      *block.getParent()->getSubtarget().getInstrInfo();
  const std::optional<unsigned> barrier = BarrierOf(instructions);
  if (!barrier) return false;
  std::size_t count = 0;
  for (MachineInstr& instruction : block) {
    if (instruction.isTerminator()) break;
    if (instruction.isPosition() || instruction.isDebugInstr() ||
        ++count % largest != 0) {
      continue;
    }
    MachineInstr& made = *llvm::BuildMI(block, instruction, llvm::DebugLoc(),
                                        instructions.get(*barrier))
                              .addImm(0);
    if (intervals) intervals->InsertMachineInstrInMaps(made);
  }
  return true;
}

bool CutAll(MachineFunction& function, std::size_t largest,
            llvm::LiveIntervals* intervals) {
  bool changed = false;
  for (MachineBasicBlock& block : function) {
    if (block.size() > largest) changed |= Cut(block, largest, intervals);
  }
  return changed;
}

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
    return CutAll(function, kLargestRegion,
                  &getAnalysis<llvm::LiveIntervalsWrapperPass>().getLIS());
  }
};

class PairingRegions : public llvm::MachineFunctionPass {
 public:
  static char ID;
  PairingRegions() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction& function) override {
    return CutAll(function, kLargestPairingRegion, nullptr);
  }
};

char SchedulingRegions::ID = 0;
char PairingRegions::ID = 0;
const llvm::RegisterPass<SchedulingRegions> registered(
    "cerberus-scheduling-regions", "Long blocks are scheduled in pieces");
const llvm::RegisterPass<PairingRegions> registered_pairing(
    "cerberus-pairing-regions", "Long blocks are paired in pieces");

}  // namespace

void BoundSchedulingRegions() {
  static const BehindPass pass(kBehindPass, SchedulingRegions::ID);
  static const BehindPass again(kBehindAllocation, PairingRegions::ID);
}

}  // namespace cerberus::ptx
