#include "ptxc/passes/lanes/lane_masks.h"

#include <array>
#include <cstdint>

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "ptxc/passes/lanes/waiting.h"
#include "ptxc/passes/lanes/waves.h"

namespace cerberus::ptx {
namespace {

constexpr std::uint32_t kLanes = 32;
constexpr std::uint32_t kWarps = 32;  // the most that a block has

// What a value is in one thread, whose number in its block is known.
class InThread {
 public:
  explicit InThread(std::uint32_t thread) : thread_(thread) {}

  // Null if it depends on anything else.
  llvm::Constant* operator()(const llvm::Value& value, int depth = 0) {
    constexpr int kDeepest = 32;
    if (const auto* constant = llvm::dyn_cast<llvm::Constant>(&value)) {
      return const_cast<llvm::Constant*>(constant);
    }
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (!instruction || depth == kDeepest) return nullptr;
    const auto [known, is_new] = known_.insert({instruction, nullptr});
    if (!is_new) return known->second;
    llvm::Constant* result = nullptr;
    if (IsWaveCall(value, "lane")) {
      result = llvm::ConstantInt::get(value.getType(), thread_ % kLanes);
    } else if (instruction->getOpcode() != llvm::Instruction::And &&
               CountsLanes(value)) {
      result = llvm::ConstantInt::get(value.getType(), thread_);
    } else if (!llvm::isa<llvm::PHINode>(instruction) &&
               !instruction->mayReadOrWriteMemory()) {
      llvm::SmallVector<llvm::Constant*, 3> operands;
      for (const llvm::Value* operand : instruction->operand_values()) {
        if (llvm::isa<llvm::Function>(operand)) continue;
        llvm::Constant* constant = (*this)(*operand, depth + 1);
        if (!constant) return nullptr;
        operands.push_back(constant);
      }
      result = Fold(*instruction, operands);
    }
    return known_[instruction] = result;
  }

 private:
  static llvm::Constant* Fold(const llvm::Instruction& instruction,
                              llvm::ArrayRef<llvm::Constant*> operands) {
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (llvm::isa<llvm::FreezeInst>(instruction) ||
        // A mark that the value is the same in all lanes (partings.cc).
        (intrinsic && intrinsic->getIntrinsicID() ==
                          llvm::Intrinsic::amdgcn_readfirstlane)) {
      return operands.front();
    }
    const llvm::DataLayout& layout = instruction.getModule()->getDataLayout();
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      llvm::Function* callee = call->getCalledFunction();
      return callee && llvm::canConstantFoldCallTo(call, callee)
                 ? llvm::ConstantFoldCall(call, callee, operands)
                 : nullptr;
    }
    return llvm::ConstantFoldInstOperands(
        const_cast<llvm::Instruction*>(&instruction), operands, layout);
  }

  std::uint32_t thread_;
  llvm::DenseMap<const llvm::Instruction*, llvm::Constant*> known_;
};

}  // namespace

bool FormsGroups(const llvm::Value& mask) {
  for (std::uint32_t warp = 0; warp < kWarps; ++warp) {
    std::array<std::uint32_t, kLanes> masks;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(
          InThread(warp * kLanes + lane)(mask));
      if (!known) return false;
      masks[lane] = static_cast<std::uint32_t>(known->getZExtValue());
    }
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      for (std::uint32_t other = 0; other < kLanes; ++other) {
        if ((masks[lane] >> other & 1) != 0 && masks[other] != masks[lane]) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace cerberus::ptx
