#include "ptxc/passes/addresses.h"

#include <map>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"
#include "ptxc/address_spaces.h"

namespace cerberus::ptx {
namespace {

using llvm::Value;
using namespace llvm::PatternMatch;

constexpr int kDeepest = 8;  // sums of sums

class Rewriter {
 public:
  Rewriter(llvm::Function& function, unsigned space)
      : function_(function),
        pointer_(llvm::PointerType::get(function.getContext(), space)) {}

  // The address as a pointer; null if it shows no base. What is made stands
  // right behind the sum, so that equal addresses share it.
  Value* PointerTo(Value* address, int depth = 0) {
    const auto [at, is_new] = known_.try_emplace(address, nullptr);
    if (!is_new) return at->second;
    Value* base = nullptr;
    Value* offset = nullptr;
    if (depth < kDeepest && Split(address, &base, &offset)) {
      Value* start = PointerTo(base, depth + 1);
      if (!start) start = AsPointer(base);
      auto* sum = llvm::dyn_cast<llvm::Instruction>(address);
      llvm::IRBuilder<> b(sum->getNextNode());
      return known_[address] = b.CreateGEP(b.getInt8Ty(), start, offset);
    }
    return nullptr;
  }

 private:
  // Which side of a sum is an address: what only addresses come from, or the
  // side that is not a constant.
  static bool Split(Value* address, Value** base, Value** offset) {
    Value *a, *b;
    if (!llvm::isa<llvm::Instruction>(address) ||
        !match(address, m_Add(m_Value(a), m_Value(b)))) {
      return false;
    }
    if (IsBase(b, 0) && !IsBase(a, 0)) std::swap(a, b);
    if (!llvm::isa<llvm::ConstantInt>(b) && (!IsBase(a, 0) || IsBase(b, 0))) {
      return false;
    }
    *base = a;
    *offset = b;
    return true;
  }

  static bool IsBase(Value* value, int depth) {
    if (match(value, m_PtrToInt(m_Value()))) return true;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) {
      // A kernel's parameter.
      return load->getPointerAddressSpace() == kAsConstant &&
             load->getType()->isIntegerTy(64);
    }
    Value *a, *b;
    return depth < kDeepest && match(value, m_Add(m_Value(a), m_Value(b))) &&
           (IsBase(a, depth + 1) || IsBase(b, depth + 1));
  }

  Value* AsPointer(Value* base) {
    Value*& made = bases_[base];
    if (made) return made;
    Value* from = nullptr;
    if (match(base, m_PtrToInt(m_Value(from))) && from->getType() == pointer_) {
      return made = from;
    }
    llvm::BasicBlock::iterator at;
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(base)) {
      at = *instruction->getInsertionPointAfterDef();
    } else {
      at = function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
    }
    llvm::IRBuilder<> b(&*at);
    return made = b.CreateIntToPtr(base, pointer_);
  }

  llvm::Function& function_;
  llvm::Type* const pointer_;
  llvm::DenseMap<Value*, Value*> known_;
  llvm::DenseMap<Value*, Value*> bases_;
};

}  // namespace

llvm::PreservedAnalyses FindPointers::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
  std::vector<llvm::IntToPtrInst*> casts;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(&instruction)) {
      casts.push_back(cast);
    }
  }
  std::map<unsigned, Rewriter> rewriters;
  bool changed = false;
  for (llvm::IntToPtrInst* cast : casts) {
    const unsigned space = cast->getAddressSpace();
    // Only whole addresses: what is cut or extended is no sum of pointers.
    if (cast->getOperand(0)->getType()->getIntegerBitWidth() !=
        function.getDataLayout().getPointerSizeInBits(space)) {
      continue;
    }
    Rewriter& rewriter =
        rewriters.try_emplace(space, function, space).first->second;
    Value* pointer = rewriter.PointerTo(cast->getOperand(0));
    if (!pointer) continue;
    cast->replaceAllUsesWith(pointer);
    cast->eraseFromParent();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none()
                 : llvm::PreservedAnalyses::all();
}

}  // namespace cerberus::ptx
