#include "ptxc/passes/repairs/spill_lanes.h"

#include <vector>

#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "ptxc/passes/behind_pass.h"

namespace cerberus::ptx {
namespace {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;
using llvm::MachineInstr;

constexpr llvm::StringLiteral kBehindPass = "si-lower-sgpr-spills";
constexpr llvm::StringLiteral kSpillToLane = "SI_SPILL_S32_TO_VGPR";

class SpillLanes : public llvm::MachineFunctionPass {
 public:
  static char ID;
  SpillLanes() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    usage.addRequired<llvm::LiveIntervalsWrapperPass>();
    usage.addRequired<llvm::MachineDominatorTreeWrapperPass>();
    usage.addRequired<llvm::MachineLoopInfoWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction& function) override {
    const llvm::MachineLoopInfo& loops =
        getAnalysis<llvm::MachineLoopInfoWrapperPass>().getLI();
    std::vector<MachineInstr*> begins;
    for (MachineBasicBlock& block : function) {
      if (!loops.getLoopFor(&block)) continue;
      for (MachineInstr& instruction : block) {
        if (BeginsSpills(instruction)) begins.push_back(&instruction);
      }
    }
    for (MachineInstr* begin : begins) MoveOut(*begin, loops);
    return !begins.empty();
  }

 private:
  static bool BeginsSpills(const MachineInstr& instruction) {
    if (!instruction.isImplicitDef()) return false;
    const llvm::Register result = instruction.getOperand(0).getReg();
    if (!result.isVirtual()) return false;
    const MachineFunction& function = *instruction.getMF();
    const llvm::TargetInstrInfo& instructions =
        *function.getSubtarget().getInstrInfo();
    return llvm::any_of(function.getRegInfo().use_nodbg_instructions(result),
                        [&](const MachineInstr& use) {
                          return instructions.getName(use.getOpcode()) ==
                                 kSpillToLane;
                        });
  }

  void MoveOut(MachineInstr& begin, const llvm::MachineLoopInfo& loops) {
    llvm::LiveIntervals& intervals =
        getAnalysis<llvm::LiveIntervalsWrapperPass>().getLIS();
    const llvm::MachineDominatorTree& dominators =
        getAnalysis<llvm::MachineDominatorTreeWrapperPass>().getDomTree();
    const llvm::MachineDomTreeNode* to = dominators.getNode(begin.getParent());
    while (loops.getLoopFor(to->getBlock())) to = to->getIDom();
    MachineBasicBlock* block = to->getBlock();
    const llvm::Register result = begin.getOperand(0).getReg();
    intervals.removeInterval(result);
    intervals.RemoveMachineInstrFromMaps(begin);
    block->splice(block->getFirstTerminator(), begin.getParent(), begin);
    intervals.InsertMachineInstrInMaps(begin);
    intervals.createAndComputeVirtRegInterval(result);
  }
};

char SpillLanes::ID = 0;
const llvm::RegisterPass<SpillLanes> registered(
    "cerberus-spill-lanes", "Spilled SGPRs outlive rounds of loops");

}  // namespace

void KeepSpillLanes() {
  static const BehindPass pass(kBehindPass, SpillLanes::ID);
}

}  // namespace cerberus::ptx
