#include "ptxc/passes/float_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Operator.h"

namespace cerberus::ptx {
namespace {

using llvm::Instruction;
using llvm::Value;
using llvm::Intrinsic::ID;

constexpr int kDeepest = 8;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastNormal = 0x1p-126;

// What a value of f32 may be when it is not NaN.
struct Range {
  double low = -kInfinity, high = kInfinity;
  bool subnormal = true;
  bool nan = true;

  bool IsApart(double from_zero) const {
    return low >= from_zero || high <= -from_zero;
  }
};

// f32 rounds what was computed here in f64.
Range Rounded(double low, double high, bool subnormal) {
  constexpr double kSlack = 0x1p-22;
  Range range;
  if (!std::isnan(low)) range.low = low - std::abs(low) * kSlack;
  if (!std::isnan(high)) range.high = high + std::abs(high) * kSlack;
  // An infinite bound has become NaN.
  if (std::isnan(range.low)) range.low = -kInfinity;
  if (std::isnan(range.high)) range.high = kInfinity;
  range.subnormal = subnormal && !range.IsApart(kLeastNormal);
  return range;
}

Range Union(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high),
          a.subnormal || b.subnormal, a.nan || b.nan};
}

Range Negated(const Range& a) { return {-a.high, -a.low, a.subnormal, a.nan}; }

// If |a| >= m then |a + b| >= m / 2, unless |b| >= m / 2 as well. Then both are
// multiples of m * 2^-25, or of m * 2^-49 if one is a product that is not
// rounded on its own, and so is the sum.
constexpr double kHidesSubnormals = 0x1p-76;

Range Sum(const Range& a, const Range& b) {
  const bool subnormal =
      !a.IsApart(kHidesSubnormals) && !b.IsApart(kHidesSubnormals);
  return Rounded(a.low + b.low, a.high + b.high, subnormal);
}

Range Product(const Range& a, const Range& b, bool square) {
  const auto times = [](double x, double y) {
    return x == 0 || y == 0 ? 0 : x * y;
  };
  const auto [low, high] =
      std::minmax({times(a.low, b.low), times(a.low, b.high),
                   times(a.high, b.low), times(a.high, b.high)});
  return Rounded(square ? std::max(low, 0.0) : low, high, true);
}

class Ranges {
 public:
  Range Of(const Value* value, int depth = 0) {
    const auto [at, is_new] = known_.try_emplace(value);
    // A phi that depends on itself has not been seen to the end: anything.
    if (!is_new || depth > kDeepest || !value->getType()->isFloatTy()) {
      return at->second;
    }
    const Range range = Compute(value, depth + 1);
    return known_[value] = range;
  }

 private:
  Range Compute(const Value* value, int depth) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value)) {
      const llvm::APFloat& number = constant->getValueAPF();
      if (number.isNaN()) return {};
      const double exact = number.convertToFloat();
      return {exact, exact, number.isDenormal(), false};
    }
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value)) {
      return OfIntrinsic(*call, depth);
    }
    const auto* user = llvm::dyn_cast<Instruction>(value);
    if (!user) return {};
    const auto operand = [&](unsigned i) {
      return Of(user->getOperand(i), depth);
    };
    switch (user->getOpcode()) {
      case Instruction::FNeg: return Negated(operand(0));
      case Instruction::FAdd: return Sum(operand(0), operand(1));
      case Instruction::FSub: return Sum(operand(0), Negated(operand(1)));
      case Instruction::FMul:
        return Product(operand(0), operand(1),
                       user->getOperand(0) == user->getOperand(1));
      case Instruction::UIToFP: return {0, kInfinity, false};
      case Instruction::SIToFP: return {-kInfinity, kInfinity, false};
      case Instruction::FPExt:
        // Subnormal numbers of f16 are normal in f32; bf16 has f32's.
        return {-kInfinity, kInfinity,
                !user->getOperand(0)->getType()->isHalfTy()};
      case Instruction::Select: return Union(operand(1), operand(2));
      case Instruction::PHI: {
        Range range = operand(0);
        for (unsigned i = 1; i < user->getNumOperands(); ++i) {
          range = Union(range, operand(i));
        }
        return range;
      }
      default: return {};
    }
  }

  Range OfIntrinsic(const llvm::IntrinsicInst& call, int depth) {
    const auto operand = [&](unsigned i) {
      return Of(call.getArgOperand(i), depth);
    };
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::fabs: {
        const Range a = operand(0);
        if (a.low >= 0) return a;
        return {std::max(0.0, -a.high), std::max(-a.low, a.high), a.subnormal};
      }
      case llvm::Intrinsic::fma: {
        const Range product =
            Product(operand(0), operand(1),
                    call.getArgOperand(0) == call.getArgOperand(1));
        return Sum(product, operand(2));
      }
      case llvm::Intrinsic::maxnum:
      case llvm::Intrinsic::maximumnum: return Largest(operand(0), operand(1));
      case llvm::Intrinsic::minnum:
      case llvm::Intrinsic::minimumnum:
        return Negated(Largest(Negated(operand(0)), Negated(operand(1))));
      // The root of the least subnormal is 2^-74.5, its inverse 2^74.5.
      case llvm::Intrinsic::sqrt:
      case llvm::Intrinsic::amdgcn_sqrt:
        return Rounded(std::sqrt(std::max(operand(0).low, 0.0)), kInfinity,
                       false);
      case llvm::Intrinsic::amdgcn_rsq: return {0, kInfinity, false};
      case llvm::Intrinsic::exp2:
      case llvm::Intrinsic::amdgcn_exp2:
        return Rounded(std::exp2(operand(0).low), std::exp2(operand(0).high),
                       true);
      // Next to 1 it is 2^-24.
      case llvm::Intrinsic::log2:
      case llvm::Intrinsic::amdgcn_log: return {-kInfinity, kInfinity, false};
      default: return {};
    }
  }

  // Of two, either of which may be NaN, and then the other counts.
  static Range Largest(const Range& a, const Range& b) {
    Range range = Union(a, b);
    if (!a.nan) range.low = std::max(range.low, a.low);
    if (!b.nan) range.low = std::max(range.low, b.low);
    range.subnormal = range.subnormal && !range.IsApart(kLeastNormal);
    return range;
  }

  llvm::DenseMap<const Value*, Range> known_;
};

bool AllowsTwoUlp(const Instruction& instruction) {
  return llvm::cast<llvm::FPMathOperator>(instruction).getFPAccuracy() >= 2;
}

// What computes the same without care; null if there is nothing, or need.
Value* WithoutCare(Instruction& instruction, Ranges& ranges) {
  llvm::IRBuilder<> b(&instruction);
  const auto plain = [&](ID id, Value* operand) -> Value* {
    return b.CreateUnaryIntrinsic(id, operand);
  };
  if (llvm::isa<llvm::FCmpInst>(instruction)) {
    return instruction.hasMetadata(kScalesSmall) &&
                   !ranges.Of(instruction.getOperand(0)).subnormal
               ? b.getFalse()
               : nullptr;
  }
  if (!instruction.getType()->isFloatTy()) return nullptr;
  if (instruction.getOpcode() == Instruction::FDiv) {
    Value* divisor = instruction.getOperand(1);
    if (!instruction.hasMetadata(kByInverse) || ranges.Of(divisor).subnormal) {
      return nullptr;
    }
    return b.CreateFMul(instruction.getOperand(0),
                        plain(llvm::Intrinsic::amdgcn_rcp, divisor));
  }
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (!call || call->arg_empty()) return nullptr;
  Value* operand = call->getArgOperand(0);
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::sqrt:
      if (!AllowsTwoUlp(instruction) || ranges.Of(operand).subnormal) break;
      return plain(llvm::Intrinsic::amdgcn_sqrt, operand);
    case llvm::Intrinsic::log2:
      if (ranges.Of(operand).subnormal) break;
      return plain(llvm::Intrinsic::amdgcn_log, operand);
    case llvm::Intrinsic::exp2:
      if (ranges.Of(operand).low < -126) break;
      return plain(llvm::Intrinsic::amdgcn_exp2, operand);
    default: break;
  }
  return nullptr;
}

}  // namespace

llvm::PreservedAnalyses DropSubnormalCare::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
  Ranges ranges;
  // They go at the end: `ranges` knows them by their address.
  std::vector<Instruction*> replaced;
  for (Instruction& instruction : llvm::instructions(function)) {
    Value* plain = WithoutCare(instruction, ranges);
    if (!plain) continue;
    instruction.replaceAllUsesWith(plain);
    replaced.push_back(&instruction);
  }
  if (replaced.empty()) return llvm::PreservedAnalyses::all();
  for (Instruction* instruction : replaced) instruction->eraseFromParent();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace cerberus::ptx
