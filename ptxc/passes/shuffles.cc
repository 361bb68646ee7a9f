#include "ptxc/passes/shuffles.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace cerberus::ptx {
namespace {

using llvm::Value;

constexpr unsigned kLanes = 64;
constexpr unsigned kWarp = 32;
constexpr unsigned kRow = 16;
constexpr int kDeepest = 12;  // expressions of lanes are short

// A value of every lane of a wave.
using OfLanes = std::array<std::uint32_t, kLanes>;

std::optional<OfLanes> Evaluate(const Value* value, int depth);

template <typename F>
std::optional<OfLanes> Evaluate2(const llvm::User& user, unsigned first,
                                 int depth, F combine) {
  const auto a = Evaluate(user.getOperand(first), depth + 1);
  if (!a) return std::nullopt;
  const auto b = Evaluate(user.getOperand(first + 1), depth + 1);
  if (!b) return std::nullopt;
  OfLanes result;
  for (unsigned i = 0; i < kLanes; ++i) {
    result[i] = combine((*a)[i], (*b)[i], i);
  }
  return result;
}

std::optional<OfLanes> EvaluateIntrinsic(const llvm::IntrinsicInst& call,
                                         int depth) {
  // Bits of a mask below the lane, in one half of the wave, plus a number.
  const auto count = [](unsigned half) {
    return [half](std::uint32_t mask, std::uint32_t more, unsigned lane) {
      const unsigned below = lane < half ? 0 : std::min(lane - half, kWarp);
      const std::uint64_t bits = (std::uint64_t{1} << below) - 1;
      return static_cast<std::uint32_t>(__builtin_popcountll(mask & bits)) +
             more;
    };
  };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_mbcnt_lo:
      return Evaluate2(call, 0, depth, count(0));
    case llvm::Intrinsic::amdgcn_mbcnt_hi:
      return Evaluate2(call, 0, depth, count(kWarp));
    default: return std::nullopt;
  }
}

// Unless it depends on more than the lane's number. Numbers of 32 bits.
std::optional<OfLanes> Evaluate(const Value* value, int depth) {
  if (depth > kDeepest || !value->getType()->isIntegerTy() ||
      value->getType()->getIntegerBitWidth() > 32) {
    return std::nullopt;
  }
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    OfLanes result;
    result.fill(static_cast<std::uint32_t>(number->getZExtValue()));
    return result;
  }
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value)) {
    return EvaluateIntrinsic(*call, depth);
  }
  const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!binary || !value->getType()->isIntegerTy(32)) return std::nullopt;
  const auto combine = [&](auto f) {
    return Evaluate2(
        *binary, 0, depth,
        [f](std::uint32_t a, std::uint32_t b, unsigned) { return f(a, b); });
  };
  switch (binary->getOpcode()) {
    case llvm::Instruction::Add:
      return combine([](auto a, auto b) { return a + b; });
    case llvm::Instruction::Sub:
      return combine([](auto a, auto b) { return a - b; });
    case llvm::Instruction::And:
      return combine([](auto a, auto b) { return a & b; });
    case llvm::Instruction::Or:
      return combine([](auto a, auto b) { return a | b; });
    case llvm::Instruction::Xor:
      return combine([](auto a, auto b) { return a ^ b; });
    case llvm::Instruction::Shl:
      return combine([](auto a, auto b) { return b < 32 ? a << b : 0; });
    default: return std::nullopt;
  }
}

// Moves what a warp's lanes hold (RDNA3 ISA, "DPP16"; CDNA3 ISA, "DPP" and
// "DS_SWIZZLE_B32").
class Mover {
 public:
  Mover(llvm::IRBuilderBase& b, bool is_rdna, Value* bits)
      : b_(b), is_rdna_(is_rdna), bits_(bits) {}

  // Lane i gets what lane i ^ mask holds.
  Value* Exchange(unsigned mask) { return Exchange(mask, bits_); }

  // All lanes of the warp get what one holds.
  Value* Broadcast(unsigned lane) {
    if (!is_rdna_) return Swizzle(0, lane, 0);
    return b_.CreateIntrinsic(llvm::Intrinsic::amdgcn_readlane,
                              {b_.getInt32Ty()}, {bits_, b_.getInt32(lane)});
  }

 private:
  Value* Exchange(unsigned mask, Value* bits) {
    constexpr unsigned kRowRotateRight = 0x120, kRowXorMask = 0x160;
    if (mask == 0) return bits;
    if (mask < 4) {  // quad_perm: two bits for each of four lanes
      unsigned control = 0;
      for (unsigned i = 0; i < 4; ++i) control |= (i ^ mask) << (2 * i);
      return Dpp(control, bits);
    }
    if (!is_rdna_) {
      return mask == kRow / 2 ? Dpp(kRowRotateRight + mask, bits)
                              : Swizzle(kWarp - 1, 0, mask);
    }
    if (mask < kRow) return Dpp(kRowXorMask + mask, bits);
    Value* other = b_.CreateIntrinsic(
        llvm::Intrinsic::amdgcn_permlanex16, {b_.getInt32Ty()},
        {llvm::PoisonValue::get(b_.getInt32Ty()), bits, b_.getInt32(0x76543210),
         b_.getInt32(0xfedcba98), b_.getFalse(), b_.getTrue()});
    return Exchange(mask & (kRow - 1), other);
  }

  Value* Dpp(unsigned control, Value* bits) {
    return b_.CreateIntrinsic(
        llvm::Intrinsic::amdgcn_update_dpp, {b_.getInt32Ty()},
        {llvm::PoisonValue::get(b_.getInt32Ty()), bits, b_.getInt32(control),
         b_.getInt32(15), b_.getInt32(15), b_.getTrue()});
  }

  // Lane i gets what lane (i & keep | set) ^ flip of its 32 holds.
  Value* Swizzle(unsigned keep, unsigned set, unsigned flip) {
    return b_.CreateIntrinsic(
        llvm::Intrinsic::amdgcn_ds_swizzle, llvm::ArrayRef<llvm::Type*>(),
        {bits_, b_.getInt32(keep | set << 5 | flip << 10)});
  }

  llvm::IRBuilderBase& b_;
  const bool is_rdna_;
  Value* const bits_;
};

// Null if no instruction moves lanes so.
Value* Choose(llvm::IntrinsicInst& permute, unsigned wave_size) {
  const std::optional<OfLanes> index = Evaluate(permute.getArgOperand(0), 0);
  if (!index) return nullptr;
  const auto source = [&](unsigned lane) {
    return (*index)[lane] / 4 % wave_size;
  };
  bool exchange = true, broadcast = true;
  for (unsigned i = 0; i < wave_size; ++i) {
    exchange &= source(i) == (i ^ source(0));
    broadcast &= source(i) == (i / kWarp * kWarp + source(0));
  }
  if (source(0) >= kWarp) return nullptr;
  llvm::IRBuilder<> b(&permute);
  Mover mover(b, wave_size == kWarp, permute.getArgOperand(1));
  if (exchange) return mover.Exchange(source(0));
  if (broadcast) return mover.Broadcast(source(0));
  return nullptr;
}

}  // namespace

llvm::PreservedAnalyses ChooseShuffles::run(
    llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
  std::vector<llvm::IntrinsicInst*> permutes;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (call && call->getIntrinsicID() == llvm::Intrinsic::amdgcn_ds_bpermute) {
      permutes.push_back(call);
    }
  }
  bool changed = false;
  for (llvm::IntrinsicInst* permute : permutes) {
    Value* moved = Choose(*permute, wave_size_);
    if (!moved) continue;
    permute->replaceAllUsesWith(moved);
    permute->eraseFromParent();
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace cerberus::ptx
