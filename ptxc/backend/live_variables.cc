// LiveVariablesWrapperPass::runOnMachineFunction with a block's registers alone
// cleared behind it.
//
// LLVM keeps the last instruction to write and to read each physical register,
// looks at all of the target's 10,000 at the end of each block, whether they
// have one, and clears them: a twentieth of the compile time of what has many
// small blocks (LiveVariables; LLVM 22). A block's own are few, and those with
// names without numbers, vcc, exec, scc and m0, stand first. What is found, and
// the order of it, is the same. LLVM's is inline, so that the linker takes this
// one.
#include <algorithm>
#include <iterator>

#include "llvm/ADT/DepthFirstIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveVariables.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/ErrorHandling.h"

namespace cerberus::ptx {
namespace {

// What is private to LLVM's. An explicit instantiation may name it all the same
// ([temp.spec.general]/6).
template <auto kFunction, auto kRegisters, auto kInfo, auto kWritten,
          auto kRead, auto kPhis, auto kVariables, auto kFindPhis,
          auto kRunOnBlock>
struct Opened {
  friend auto& FunctionOf(llvm::LiveVariables& all) { return all.*kFunction; }
  friend auto& RegistersOf(llvm::LiveVariables& all) { return all.*kRegisters; }
  friend auto& InfoOf(llvm::LiveVariables& all) { return all.*kInfo; }
  friend auto& WrittenBy(llvm::LiveVariables& all) { return all.*kWritten; }
  friend auto& ReadBy(llvm::LiveVariables& all) { return all.*kRead; }
  friend auto& PhisOf(llvm::LiveVariables& all) { return all.*kPhis; }
  friend auto& VariablesOf(llvm::LiveVariables& all) { return all.*kVariables; }
  friend void FindPhis(llvm::LiveVariables& all,
                       const llvm::MachineFunction& function) {
    (all.*kFindPhis)(function);
  }
  friend void RunOnBlock(llvm::LiveVariables& all,
                         llvm::MachineBasicBlock& block, unsigned registers) {
    (all.*kRunOnBlock)(&block, registers);
  }
};
template struct Opened<
    &llvm::LiveVariables::MF, &llvm::LiveVariables::MRI,
    &llvm::LiveVariables::TRI, &llvm::LiveVariables::PhysRegDef,
    &llvm::LiveVariables::PhysRegUse, &llvm::LiveVariables::PHIVarInfo,
    &llvm::LiveVariables::VirtRegInfo, &llvm::LiveVariables::analyzePHINodes,
    &llvm::LiveVariables::runOnBlock>;
auto& FunctionOf(llvm::LiveVariables& all);
auto& RegistersOf(llvm::LiveVariables& all);
auto& InfoOf(llvm::LiveVariables& all);
auto& WrittenBy(llvm::LiveVariables& all);
auto& ReadBy(llvm::LiveVariables& all);
auto& PhisOf(llvm::LiveVariables& all);
auto& VariablesOf(llvm::LiveVariables& all);
void FindPhis(llvm::LiveVariables& all, const llvm::MachineFunction& function);
void RunOnBlock(llvm::LiveVariables& all, llvm::MachineBasicBlock& block,
                unsigned registers);

// The number behind the last that the block writes or reads, parts and all.
unsigned RegistersIn(const llvm::MachineBasicBlock& block,
                     const llvm::TargetRegisterInfo& info, unsigned all) {
  unsigned last = 0;
  unsigned before = 0;
  const auto add = [&](unsigned reg) {
    if (reg == before) return;
    before = reg;
    for (const llvm::MCPhysReg part : info.subregs_inclusive(reg)) {
      last = std::max<unsigned>(last, part);
    }
  };
  for (const auto& live_in : block.liveins()) add(live_in.PhysReg);
  for (const llvm::MachineInstr& instruction : block) {
    for (const llvm::MachineOperand& operand : instruction.operands()) {
      if (operand.isRegMask()) return all;
      if (operand.isReg() && operand.getReg().isPhysical()) {
        add(operand.getReg().id());
      }
    }
  }
  return last + 1;
}

void Analyze(llvm::LiveVariables& all, llvm::MachineFunction& function) {
  const llvm::TargetRegisterInfo& info =
      *function.getSubtarget().getRegisterInfo();
  llvm::MachineRegisterInfo& registers = function.getRegInfo();
  if (!registers.isSSA()) {
    llvm::report_fatal_error("live variables are of a function in SSA form");
  }
  FunctionOf(all) = &function;
  RegistersOf(all) = &registers;
  InfoOf(all) = &info;
  const unsigned count = info.getNumSupportedRegs(function);
  WrittenBy(all).assign(count, nullptr);
  ReadBy(all).assign(count, nullptr);
  PhisOf(all).resize(function.getNumBlockIDs());
  FindPhis(all, function);

  for (llvm::MachineBasicBlock* block : llvm::depth_first(&function)) {
    const unsigned own = RegistersIn(*block, info, count);
    RunOnBlock(all, *block, own);
    std::fill_n(WrittenBy(all).begin(), own, nullptr);
    std::fill_n(ReadBy(all).begin(), own, nullptr);
  }

  auto& variables = VariablesOf(all);
  for (unsigned i = 0; i < variables.size(); ++i) {
    const llvm::Register reg = llvm::Register::index2VirtReg(i);
    const llvm::MachineInstr* writes = registers.getVRegDef(reg);
    for (llvm::MachineInstr* last : variables[reg].Kills) {
      if (last == writes) {
        last->addRegisterDead(reg, &info);
      } else {
        last->addRegisterKilled(reg, &info);
      }
    }
  }
  WrittenBy(all).clear();
  ReadBy(all).clear();
  PhisOf(all).clear();
}

}  // namespace
}  // namespace cerberus::ptx

// Its mangled name.
extern "C" bool
_ZN4llvm24LiveVariablesWrapperPass20runOnMachineFunctionERNS_15MachineFunctionE(
    llvm::LiveVariablesWrapperPass* pass, llvm::MachineFunction& function) {
  cerberus::ptx::Analyze(pass->getLV(), function);
  return false;
}
