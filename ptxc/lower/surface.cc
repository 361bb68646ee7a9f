// Surfaces: accesses by coordinates to what a descriptor
// (docs/texture-descriptor.md) describes.
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {

// [surface, {coordinates}] as an address; 0 where an access outside of the
// surface is left out. `bytes`: of the access, where x counts bytes.
llvm::Value* FunctionLowering::SurfaceAddress(const Operand& surface,
                                              unsigned bytes) {
  const TextureCoordinates c = ReadCoordinates(surface, Type::kS32);
  const bool samples = mods().surf_form() == SurfForm::kP;
  Value* at =
      Dev("surface_at", b_.getInt64Ty(),
          {c.handle, c.layer, c.at[0], c.at[1], c.at[2], I32(bytes),
           b_.getInt1(samples), b_.getInt1(mods().clamp() == Clamp::kClamp)});
  if (mods().clamp() == Clamp::kTrap) {
    If(b_.CreateICmpEQ(at, I64(0)), [&] { LowerTrap(); });
  }
  return at;
}

// Accesses only what lies inside; .clamp has moved everything there, and
// .trap has ended what lies outside.
void FunctionLowering::IfInside(Value* at, llvm::function_ref<void()> access) {
  if (mods().clamp() == Clamp::kZero) {
    If(b_.CreateICmpNE(at, I64(0)), access);
  } else {
    access();
  }
}

void FunctionLowering::LowerSuld() {
  const unsigned width = static_cast<unsigned>(mods().vector_width());
  const unsigned bytes = static_cast<unsigned>(BytesOf(type()));
  Value* at = SurfaceAddress(op(1), bytes * width);
  const Operand& d = op(0);
  const bool vector = d.kind == OperandKind::kVector;
  const auto each = [&](llvm::function_ref<Value*(unsigned)> value) {
    for (unsigned i = 0; i < width && (!vector || i < d.count); ++i) {
      Write(vector ? child(d, i) : d, value(i), Type::kNone);
    }
  };
  if (mods().clamp() == Clamp::kZero) {
    each([&](unsigned) { return IntOf(Int(bytes * 8), 0); });
  }
  IfInside(at, [&] {
    llvm::Type* type = llvm::FixedVectorType::get(Int(bytes * 8), width);
    Value* whole = b_.CreateAlignedLoad(type, ToPointer(at, kAsGlobal),
                                        llvm::Align(bytes * width));
    each([&](unsigned i) { return b_.CreateExtractElement(whole, i); });
  });
}

void FunctionLowering::LowerSust() {
  const unsigned width = static_cast<unsigned>(mods().vector_width());
  const Type t = type();
  const unsigned bytes = static_cast<unsigned>(BytesOf(t));
  const bool formatted = mods().surf_form() == SurfForm::kP;
  const unsigned elements = formatted ? 4 : width;
  const Operand& source = op(1);
  const bool vector = source.kind == OperandKind::kVector;
  Value* whole = llvm::Constant::getNullValue(
      llvm::FixedVectorType::get(Int(bytes * 8), elements));
  for (unsigned i = 0; i < width && (!vector || i < source.count); ++i) {
    whole = b_.CreateInsertElement(
        whole, Read(vector ? child(source, i) : source, t), i);
  }
  Value* at = SurfaceAddress(op(0), bytes * width);
  IfInside(at, [&] {
    if (formatted) {
      Dev("surface_store", b_.getVoidTy(),
          {TextureHandle(child(op(0), 0)), at, whole, I32(width)});
    } else {
      b_.CreateAlignedStore(whole, ToPointer(at, kAsGlobal),
                            llvm::Align(bytes * width));
    }
  });
}

void FunctionLowering::LowerSured() {
  const Type t = type();
  Value* value = Read(op(1), t);
  Value* at = SurfaceAddress(op(0), static_cast<unsigned>(BytesOf(t)));
  Value* pointer = ToPointer(at, kAsGlobal);
  const bool ordered = mods().op() == Op::kMin || mods().op() == Op::kMax;
  IfInside(at, [&] {
    if (mods().surf_form() != SurfForm::kP || !ordered) {
      AtomicOp(pointer, value, nullptr, t);
      return;
    }
    // A formatted minimum is one of the surface's own kind of integers.
    const bool wide = BytesOf(t) == 8;
    Value* is_signed = Dev("surface_is_signed", b_.getInt1Ty(),
                           {TextureHandle(child(op(0), 0))});
    If(is_signed, [&] {
      AtomicOp(pointer, value, nullptr, wide ? Type::kS64 : Type::kS32);
    });
    If(b_.CreateNot(is_signed), [&] {
      AtomicOp(pointer, value, nullptr, wide ? Type::kU64 : Type::kU32);
    });
  });
}

}  // namespace cerberus::ptx
