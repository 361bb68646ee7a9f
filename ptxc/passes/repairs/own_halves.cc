#include "ptxc/passes/repairs/own_halves.h"

#include <map>
#include <vector>

#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace cerberus::ptx {
namespace {

constexpr unsigned kFlat = 0;
constexpr unsigned kPrivate = 5;

bool IsHalf(const llvm::LoadInst& load) {
  const unsigned space = load.getPointerAddressSpace();
  const unsigned bits = load.getType()->getScalarSizeInBits();
  return (space == kFlat || space == kPrivate) &&
         !load.getType()->isVectorTy() && (bits == 8 || bits == 16);
}

}  // namespace

void KeepOwnHalves(llvm::Module& module, llvm::TargetMachine& machine) {
  // With error correction of memory a load writes whole registers.
  if (machine.getMCSubtargetInfo()->checkFeatures("+sramecc-support")) return;
  std::map<llvm::Function*, std::vector<llvm::LoadInst*>> halves;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load != nullptr && IsHalf(*load)) halves[&function].push_back(load);
    }
  }
  if (halves.empty()) return;
  llvm::PassBuilder builder(&machine);
  llvm::FunctionAnalysisManager analyses;
  builder.registerFunctionAnalyses(analyses);
  for (auto& [function, loads] : halves) {
    // Addresses that went through private memory themselves are found the same
    // only while code is selected.
    const bool through_memory =
        machine.getOptLevel() < llvm::CodeGenOptLevel::Default;
    const llvm::UniformityInfo& uniformity =
        analyses.getResult<llvm::UniformityInfoAnalysis>(*function);
    std::erase_if(loads, [&](const llvm::LoadInst* load) {
      return !through_memory &&
             uniformity.isDivergent(load->getPointerOperand());
    });
    for (llvm::LoadInst* load : loads) {
      llvm::Value* address = load->getPointerOperand();
      llvm::CallInst* own = llvm::IRBuilder<>(load).CreateCall(
          llvm::InlineAsm::get(
              llvm::FunctionType::get(address->getType(), {address->getType()},
                                      false),
              "", "=v,0", /*hasSideEffects=*/false),
          {address});
      own->setDoesNotAccessMemory();
      own->setDoesNotThrow();
      load->setOperand(llvm::LoadInst::getPointerOperandIndex(), own);
    }
  }
}

}  // namespace cerberus::ptx
