#include "ptxc/passes/growth/invariants.h"

#include <cstddef>
#include <iterator>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "ptxc/passes/hidden.h"

namespace cerberus::ptx {
namespace {

constexpr std::size_t kMostLoads = 96;
constexpr unsigned kDepth = 4;  // of what makes an address
constexpr std::ptrdiff_t kManyLoops = 16;

// Whether nothing within `depth` steps changes from round to round.
bool IsInvariant(const llvm::Value* value, const llvm::Loop& loop,
                 unsigned depth) {
  if (loop.isLoopInvariant(value)) return true;
  const auto* instruction = llvm::cast<llvm::Instruction>(value);
  return depth > 0 && !llvm::isa<llvm::PHINode>(instruction) &&
         !instruction->mayReadOrWriteMemory() &&
         llvm::all_of(instruction->operands(), [&](const llvm::Use& use) {
           return IsInvariant(use, loop, depth - 1);
         });
}

bool ReadsTooMuch(const llvm::Loop& loop) {
  std::size_t loads = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load && IsInvariant(load->getPointerOperand(), loop, kDepth) &&
          ++loads > kMostLoads) {
        return true;
      }
    }
  }
  return false;
}

bool HoldLoadsInLoops(llvm::Function& function,
                      llvm::FunctionAnalysisManager& analyses) {
  bool changed = false;
  for (const llvm::Loop* loop :
       analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (!ReadsTooMuch(*loop)) continue;
    llvm::BasicBlock* head = loop->getHeader();
    llvm::IRBuilder<> b(head, head->getFirstInsertionPt());
    HoldLoads(b);
    changed = true;
  }
  return changed;
}

// In front of each loop that is in no other one.
std::vector<llvm::Instruction*> PutMarks(
    llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const llvm::LoopInfo& loops =
      analyses.getResult<llvm::LoopAnalysis>(function);
  std::vector<llvm::Instruction*> marks;
  if (std::distance(loops.begin(), loops.end()) < kManyLoops) return marks;
  analyses.invalidate(function,
                      llvm::LoopSimplifyPass().run(function, analyses));
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function)) {
    llvm::BasicBlock* before = loop->getLoopPreheader();
    if (!before) continue;
    llvm::IRBuilder<> b(before->getTerminator());
    marks.push_back(b.CreateIntrinsic(llvm::Intrinsic::sideeffect, {}));
  }
  return marks;
}

}  // namespace

llvm::PreservedAnalyses HoistInvariants::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const bool holds = HoldLoadsInLoops(function, analyses);
  const std::vector<llvm::Instruction*> marks = PutMarks(function, analyses);
  if (holds || !marks.empty()) {
    llvm::PreservedAnalyses loops;
    loops.preserveSet<llvm::CFGAnalyses>();
    analyses.invalidate(function, loops);
  }
  llvm::PreservedAnalyses preserved =
      llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                            /*UseMemorySSA=*/true)
          .run(function, analyses);
  for (llvm::Instruction* mark : marks) mark->eraseFromParent();
  return holds || !marks.empty() ? llvm::PreservedAnalyses::none() : preserved;
}

}  // namespace cerberus::ptx
