#include "ptxc/passes/repairs/long_branches.h"

#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "ptxc/passes/behind_pass.h"

namespace cerberus::ptx {
namespace {

using llvm::MachineBasicBlock;
using llvm::MachineFunction;
using llvm::MachineInstr;
using llvm::TargetRegisterInfo;

constexpr llvm::StringLiteral kSelection = "finalize-isel";
constexpr llvm::StringLiteral kFrames = "prologepilog";
constexpr llvm::StringLiteral kPairs = "SGPR_64";

// It has no caller.
bool IsKernel(const MachineFunction& function) {
  return function.getFunction().getCallingConv() != llvm::CallingConv::C;
}

const llvm::TargetRegisterClass* Pairs(const TargetRegisterInfo& registers) {
  for (const llvm::TargetRegisterClass* some : registers.regclasses()) {
    if (registers.getRegClassName(some) == kPairs) return some;
  }
  return nullptr;
}

MachineInstr* SomeReturn(MachineFunction& function) {
  for (MachineBasicBlock& block : function) {
    for (MachineInstr& instruction : block.terminators()) {
      if (instruction.isReturn()) return &instruction;
    }
  }
  return nullptr;
}

// A return uses the registers, for nothing: they hold no value there, and so
// are as free as before for all but this.
class UseSaved : public llvm::MachineFunctionPass {
 public:
  static char ID;
  UseSaved() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction& function) override {
    if (IsKernel(function)) return false;
    const TargetRegisterInfo& registers =
        *function.getSubtarget().getRegisterInfo();
    const llvm::TargetRegisterClass* pairs = Pairs(registers);
    MachineInstr* end = SomeReturn(function);
    if (pairs == nullptr || end == nullptr) return false;
    const llvm::MCPhysReg* saved = registers.getCalleeSavedRegs(&function);
    for (const llvm::MCPhysReg pair : *pairs) {
      for (const llvm::MCPhysReg* reg = saved; *reg != 0; ++reg) {
        if (!registers.regsOverlap(pair, *reg)) continue;
        llvm::MachineInstrBuilder(function, end)
            .addReg(pair, llvm::RegState::Implicit | llvm::RegState::Undef);
        break;
      }
    }
    return true;
  }
};

// The pair is chosen: a kernel needs no more registers than are used.
class UseNoMore : public llvm::MachineFunctionPass {
 public:
  static char ID;
  UseNoMore() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction& function) override {
    if (IsKernel(function)) return false;
    for (MachineBasicBlock& block : function) {
      for (MachineInstr& instruction : block.terminators()) {
        if (!instruction.isReturn()) continue;
        for (unsigned i = instruction.getNumOperands(); i-- > 0;) {
          const llvm::MachineOperand& operand = instruction.getOperand(i);
          if (operand.isReg() && operand.isImplicit() && operand.isUndef()) {
            instruction.removeOperand(i);
          }
        }
      }
    }
    return true;
  }
};

char UseSaved::ID = 0;
char UseNoMore::ID = 0;
const llvm::RegisterPass<UseSaved> registered_first(
    "cerberus-use-saved", "Long branches take no registers of callers");
const llvm::RegisterPass<UseNoMore> registered_second(
    "cerberus-use-no-more", "Such registers are as free as they are");

}  // namespace

void KeepCallersRegisters() {
  static const BehindPass use(kSelection, UseSaved::ID);
  static const BehindPass no_more(kFrames, UseNoMore::ID);
}

}  // namespace cerberus::ptx
