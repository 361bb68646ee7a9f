#include "ptxc/lower/matrix/matrix.h"

#include <fmt/format.h>

#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace cerberus::ptx {

MatrixShape ShapeOf(Shape shape) {
  switch (shape) {
    case Shape::kM8n8k4: return {8, 8, 4};
    case Shape::kM8n8k16: return {8, 8, 16};
    case Shape::kM8n8k32: return {8, 8, 32};
    case Shape::kM8n8k128: return {8, 8, 128};
    case Shape::kM16n8k4: return {16, 8, 4};
    case Shape::kM16n8k8: return {16, 8, 8};
    case Shape::kM16n8k16: return {16, 8, 16};
    case Shape::kM16n8k32: return {16, 8, 32};
    case Shape::kM16n8k64: return {16, 8, 64};
    case Shape::kM16n8k128: return {16, 8, 128};
    case Shape::kM16n8k256: return {16, 8, 256};
    case Shape::kM16n16k8: return {16, 16, 8};
    case Shape::kM16n16k16: return {16, 16, 16};
    case Shape::kM8n32k16: return {8, 32, 16};
    case Shape::kM32n8k16: return {32, 8, 16};
    default: return {};
  }
}

unsigned ContainerBits(Type type, bool packed_e2m1) {
  switch (type) {
    case Type::kB1: return 1;
    case Type::kE2M1: return packed_e2m1 ? 4 : 8;
    default: return static_cast<unsigned>(BitsOf(type));
  }
}

WarpMatrix::Values WarpMatrix::ReadFragment(int operand, unsigned count,
                                            Type type) {
  const Operand& o = fn_.op(operand);
  const unsigned given = o.kind == OperandKind::kVector ? o.count : 1;
  Values values;
  if (given < count) {
    fn_.Fail(fmt::format("operand {} has {} registers, expected {}",
                         operand + 1, given, count));
    values.assign(count, llvm::PoisonValue::get(fn_.LlvmType(type)));
    return values;
  }
  for (unsigned i = 0; i < count; ++i) {
    values.push_back(
        fn_.Read(o.kind == OperandKind::kVector ? fn_.child(o, i) : o, type));
  }
  return values;
}

void WarpMatrix::WriteFragment(int operand, const Values& values, Type type) {
  const Operand& o = fn_.op(operand);
  const unsigned given = o.kind == OperandKind::kVector ? o.count : 1;
  if (given < values.size()) {
    fn_.Fail(fmt::format("operand {} has {} registers, expected {}",
                         operand + 1, given, values.size()));
    return;
  }
  for (unsigned i = 0; i < given; ++i) {
    fn_.Write(o.kind == OperandKind::kVector ? fn_.child(o, i) : o,
              values[i % values.size()], type);
  }
}

namespace {

// Applies `move`, from i32 to i32, to a value of 32 or 64 bits.
template <typename Move>
llvm::Value* MoveWords(llvm::IRBuilder<>& b, llvm::Value* value,
                       const Move& move) {
  llvm::Type* type = value->getType();
  if (type->getPrimitiveSizeInBits() == 32) {
    return b.CreateBitCast(move(b.CreateBitCast(value, b.getInt32Ty())), type);
  }
  llvm::Value* words =
      b.CreateBitCast(value, llvm::FixedVectorType::get(b.getInt32Ty(), 2));
  llvm::Value* moved = llvm::PoisonValue::get(words->getType());
  for (unsigned i = 0; i < 2; ++i) {
    moved =
        b.CreateInsertElement(moved, move(b.CreateExtractElement(words, i)), i);
  }
  return b.CreateBitCast(moved, type);
}

}  // namespace

llvm::Value* WarpMatrix::FromLane(Value* lane, Value* value) {
  return MoveWords(b_, value,
                   [&](Value* word) { return fn_.Permute(lane, word); });
}

llvm::Value* WarpMatrix::FromWaveLane(Value* four_lanes, Value* value) {
  return MoveWords(b_, value, [&](Value* word) {
    return fn_.Intrinsic(llvm::Intrinsic::amdgcn_ds_bpermute, {},
                         {four_lanes, word});
  });
}

llvm::Value* WarpMatrix::FromQuad(unsigned t, Value* value) {
  // DPP's quad_perm with four equal selectors.
  return MoveWords(b_, value, [&](Value* word) {
    return fn_.Intrinsic(llvm::Intrinsic::amdgcn_update_dpp, {b_.getInt32Ty()},
                         {llvm::PoisonValue::get(b_.getInt32Ty()), word,
                          I32(t * 0x55), I32(15), I32(15), b_.getTrue()});
  });
}

}  // namespace cerberus::ptx
