// Dot products of the integers in a register.
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {

llvm::Value* FunctionLowering::PackedDot(unsigned bits, const PackedInts& a,
                                         const PackedInts& b, Value* sum) {
  const bool bytes = bits == 8;
  const auto dot = [&](llvm::Intrinsic::ID id8, llvm::Intrinsic::ID id4,
                       Value* x, Value* y, Value* z) {
    return Intrinsic(bytes ? id8 : id4, {}, {x, y, z, b_.getFalse()});
  };
  if (TargetHas("dot8-insts")) {
    return Intrinsic(
        bytes ? llvm::Intrinsic::amdgcn_sudot4 : llvm::Intrinsic::amdgcn_sudot8,
        {},
        {b_.getInt1(a.is_signed), a.word, b_.getInt1(b.is_signed), b.word, sum,
         b_.getFalse()});
  }
  if (!a.is_signed && !b.is_signed && TargetHas("dot7-insts")) {
    return dot(llvm::Intrinsic::amdgcn_udot4, llvm::Intrinsic::amdgcn_udot8,
               a.word, b.word, sum);
  }
  if ((a.is_signed || b.is_signed) && TargetHas("dot1-insts")) {
    const auto signed_dot = [&](Value* x, Value* y, Value* z) {
      return dot(llvm::Intrinsic::amdgcn_sdot4, llvm::Intrinsic::amdgcn_sdot8,
                 x, y, z);
    };
    if (a.is_signed && b.is_signed) return signed_dot(a.word, b.word, sum);
    // u = (u - 128) + 128, of which the first part is signed.
    Value* u = a.is_signed ? b.word : a.word;
    Value* s = a.is_signed ? a.word : b.word;
    Value* rest = signed_dot(I32(bytes ? 0x01010101 : 0x11111111), s, I32(0));
    return signed_dot(b_.CreateXor(u, I32(bytes ? 0x80808080 : 0x88888888)), s,
                      b_.CreateAdd(sum, b_.CreateShl(rest, bytes ? 7 : 3)));
  }
  const auto element = [&](const PackedInts& from, unsigned i) {
    Value* up = b_.CreateShl(from.word, 32 - bits * (i + 1));
    return from.is_signed ? b_.CreateAShr(up, 32 - bits)
                          : b_.CreateLShr(up, 32 - bits);
  };
  for (unsigned i = 0; i < 32 / bits; ++i) {
    sum = b_.CreateAdd(sum, b_.CreateMul(element(a, i), element(b, i)));
  }
  return sum;
}

void FunctionLowering::LowerDp4a() {
  const PackedInts a = {Read(op(1), Type::kB32), IsSigned(type(0))};
  const PackedInts b = {Read(op(2), Type::kB32), IsSigned(type(1))};
  Write(op(0), PackedDot(8, a, b, Read(op(3), Type::kB32)), Type::kB32);
}

void FunctionLowering::LowerDp2a() {
  const Type ta = type(0);
  const Type tb = type(1);
  Value* a = Read(op(1), Type::kB32);
  Value* b = Read(op(2), Type::kB32);
  Value* sum = Read(op(3), Type::kB32);
  const unsigned first = mods().mul_mode() == MulMode::kHi ? 2 : 0;
  for (unsigned i = 0; i < 2; ++i) {
    Value* half = b_.CreateShl(a, 16 - 16 * i);
    half = IsSigned(ta) ? b_.CreateAShr(half, 16) : b_.CreateLShr(half, 16);
    Value* byte = b_.CreateShl(b, 24 - 8 * (first + i));
    byte = IsSigned(tb) ? b_.CreateAShr(byte, 24) : b_.CreateLShr(byte, 24);
    sum = b_.CreateAdd(sum, b_.CreateMul(half, byte));
  }
  Write(op(0), sum, Type::kB32);
}

}  // namespace cerberus::ptx
