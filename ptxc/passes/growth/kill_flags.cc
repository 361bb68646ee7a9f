#include "ptxc/passes/growth/kill_flags.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/Pass.h"
#include "ptxc/passes/behind_pass.h"

// LLVM's, by its mangled name, which begins with two underscores.
extern "C" void
__real__ZNK4llvm19MachineRegisterInfo14clearKillFlagsENS_8RegisterE(
    const llvm::MachineRegisterInfo* registers, llvm::Register reg);

namespace cerberus::ptx {
namespace {

constexpr llvm::StringLiteral kBeforeMasking = "si-fix-vgpr-copies";
constexpr llvm::StringLiteral kMasking = "si-optimize-exec-masking";
constexpr llvm::StringLiteral kVectorRegisters = "VGPR_32";
constexpr unsigned kManyInstructions = 5'000;
constexpr unsigned kManyUses = 64;

// The vector registers of a function in which they have no such flag at the
// time. That pass looks at those of scalar ones.
struct Cleared {
  const llvm::MachineRegisterInfo* registers = nullptr;  // null: no function
  llvm::BitVector units;

  bool Has(llvm::MCRegister reg) const {
    const llvm::TargetRegisterInfo& info = *registers->getTargetRegisterInfo();
    return units.test(static_cast<unsigned>(*info.regunits(reg).begin()));
  }
};
thread_local Cleared cleared;

llvm::BitVector VectorUnits(const llvm::TargetRegisterInfo& info) {
  llvm::BitVector units(info.getNumRegUnits());
  for (const llvm::TargetRegisterClass* registers : info.regclasses()) {
    if (info.getRegClassName(registers) != kVectorRegisters) continue;
    for (const llvm::MCPhysReg reg : *registers) {
      for (const auto unit : info.regunits(reg)) {
        units.set(static_cast<unsigned>(unit));
      }
    }
  }
  return units;
}

class ClearPass : public llvm::MachineFunctionPass {
 public:
  static char ID;
  ClearPass() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    if (function.getInstructionCount() < kManyInstructions) return false;
    const llvm::MachineRegisterInfo& registers = function.getRegInfo();
    cleared = {&registers, VectorUnits(*registers.getTargetRegisterInfo())};
    for (llvm::MachineBasicBlock& block : function) {
      for (llvm::MachineInstr& instruction : block.instrs()) {
        for (llvm::MachineOperand& operand : instruction.operands()) {
          if (operand.isReg() && operand.isUse() && operand.isKill() &&
              cleared.Has(operand.getReg().asMCReg())) {
            operand.setIsKill(false);
          }
        }
      }
    }
    return true;
  }
};

class ForgetPass : public llvm::MachineFunctionPass {
 public:
  static char ID;
  ForgetPass() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& /*function*/) override {
    cleared.registers = nullptr;
    return false;
  }
};

char ClearPass::ID = 0;
char ForgetPass::ID = 0;
const llvm::RegisterPass<ClearPass> clears("cerberus-clear-kill-flags",
                                           "Clear all kill flags");
const llvm::RegisterPass<ForgetPass> forgets("cerberus-forget-kill-flags",
                                             "Kill flags may be set again");

}  // namespace

void ClearKillFlagsAtOnce() {
  static const BehindPass before(kBeforeMasking, ClearPass::ID);
  static const BehindPass behind(kMasking, ForgetPass::ID);
}

}  // namespace cerberus::ptx

extern "C" void
__wrap__ZNK4llvm19MachineRegisterInfo14clearKillFlagsENS_8RegisterE(
    const llvm::MachineRegisterInfo* registers, llvm::Register reg) {
  using cerberus::ptx::cleared;
  if (registers == cleared.registers && reg.isPhysical() &&
      cleared.Has(reg.asMCReg())) {
    return;
  }
  if (!registers->isSSA() || !reg.isVirtual()) {
    __real__ZNK4llvm19MachineRegisterInfo14clearKillFlagsENS_8RegisterE(
        registers, reg);
    return;
  }
  unsigned uses = 0;
  for (llvm::MachineOperand& use : registers->use_operands(reg)) {
    use.setIsKill(false);
    if (++uses == cerberus::ptx::kManyUses) return;
  }
}
