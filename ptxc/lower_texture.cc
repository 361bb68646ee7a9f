// Textures, sampled in software from a descriptor in memory
// (docs/texture-descriptor.md): CDNA targets have no image instructions.
#include "ptxc/lower.h"

namespace cerberus::ptx {
namespace {

bool IsLayered(Geom geom) {
  return geom == Geom::kA1d || geom == Geom::kA2d || geom == Geom::kAcube;
}
bool IsCube(Geom geom) { return geom == Geom::kCube || geom == Geom::kAcube; }

// Coordinates behind the layer.
unsigned Dimensions(Geom geom) {
  switch (geom) {
    case Geom::kG1d:
    case Geom::kA1d:
      return 1;
    case Geom::kG2d:
    case Geom::kA2d:
      return 2;
    default:
      return 3;
  }
}

const char* NameOf(Geom geom) {
  if (IsCube(geom)) return "cube";
  switch (Dimensions(geom)) {
    case 1:
      return "1d";
    case 2:
      return "2d";
    default:
      return "3d";
  }
}

}  // namespace

// The handle: a register holds it, a .texref variable's memory holds it.
llvm::Value* FunctionLowering::TextureHandle(const Operand& operand) {
  if (operand.kind == OperandKind::kVariable) {
    const Variable& variable = ptx_module_.variables[operand.index];
    Value* at = variable.space == VarSpace::kParam
                    ? LocalStorage(operand.index)
                    : module_.GlobalOf(operand.index);
    return b_.CreateAlignedLoad(b_.getInt64Ty(), at, llvm::Align(8));
  }
  return Read(operand, Type::kU64);
}

FunctionLowering::TextureCoordinates FunctionLowering::ReadCoordinates(
    const Operand& texture, Type t) {
  TextureCoordinates result;
  const Geom geom = mods().geom();
  const Operand& c = child(texture, texture.count - 1);
  const bool vector = c.kind == OperandKind::kVector;
  unsigned next = 0;
  const auto element = [&](Type type) -> Value* {
    if (!vector) return Read(c, type);
    if (next >= c.count) {
      Fail("too few coordinates");
      return llvm::PoisonValue::get(LlvmType(type));
    }
    return Read(child(c, next++), type);
  };
  result.layer = IsLayered(geom) ? element(Type::kU32)
                                 : static_cast<Value*>(I32(0));
  const unsigned dimensions = Dimensions(geom);
  for (unsigned i = 0; i < 3; ++i) {
    result.at[i] = i < dimensions
                       ? element(t)
                       : llvm::Constant::getNullValue(LlvmType(t));
  }
  return result;
}

void FunctionLowering::LowerTex() {
  const Geom geom = mods().geom();
  if (geom == Geom::kG2dms || geom == Geom::kA2dms) {
    FailUnsupported("multisample textures");
    return;
  }
  const Type result_type = type(0);
  const Type coordinate = type(num_types() - 1);
  const Operand& texture = op(1);
  Value* handle = TextureHandle(child(texture, 0));
  const TextureCoordinates c = ReadCoordinates(texture, coordinate);

  int next = 2;
  Value* lod = llvm::Constant::getNullValue(LlvmType(coordinate));
  if (mods().tex_level() == TexLevel::kLevel) {
    lod = Read(op(next++), coordinate);
  } else if (mods().tex_level() == TexLevel::kGrad) {
    std::vector<Value*> args = {handle};
    for (int side = 0; side < 2; ++side) {
      const Operand& gradient = op(next++);
      for (unsigned i = 0; i < 3; ++i) {
        const bool given = gradient.kind == OperandKind::kVector
                               ? i < gradient.count && i < Dimensions(geom)
                               : i == 0;
        args.push_back(
            !given ? Fp(b_.getFloatTy(), 0)
            : gradient.kind == OperandKind::kVector
                ? Read(child(gradient, i), Type::kF32)
                : Read(gradient, Type::kF32));
      }
    }
    lod = Dev("tex_lod", b_.getFloatTy(), args);
  }
  // What is left is an offset in texels, a value to compare depth with, or
  // both.
  Value* offset[3] = {I32(0), I32(0), I32(0)};
  for (; next < num_operands(); ++next) {
    const Operand& extra = op(next);
    if (extra.kind == OperandKind::kVector) {
      for (unsigned i = 0; i < 3 && i < extra.count; ++i) {
        offset[i] = Read(child(extra, i), Type::kS32);
      }
    } else if (extra.kind == OperandKind::kInt ||
               (extra.kind == OperandKind::kRegister &&
                ptx_.registers[extra.index].type != Type::kF32 &&
                Dimensions(geom) == 1)) {
      offset[0] = Read(extra, Type::kS32);
    } else {
      FailUnsupported("depth comparison");
      return;
    }
  }

  llvm::Type* texel_type = llvm::FixedVectorType::get(b_.getInt32Ty(), 4);
  Value* texel = nullptr;
  if (coordinate == Type::kF32) {
    texel = Dev(std::string("tex_") + NameOf(geom), texel_type,
                {handle, c.layer, c.at[0], c.at[1], c.at[2], offset[0],
                 offset[1], offset[2], lod});
  } else {
    if (IsCube(geom)) {
      Fail("a cubemap has no integer coordinates");
      return;
    }
    texel = Dev(std::string("texel_") + NameOf(geom), texel_type,
                {handle, c.layer, b_.CreateAdd(c.at[0], offset[0]),
                 b_.CreateAdd(c.at[1], offset[1]),
                 b_.CreateAdd(c.at[2], offset[2]), lod});
  }
  WriteTexel(texel, result_type);
}

// d, or d|p where p says whether all texels were resident: they are.
void FunctionLowering::WriteTexel(Value* texel, Type t) {
  const Operand* d = &op(0);
  if (d->kind == OperandKind::kPair) {
    Write(child(*d, 1), b_.getTrue(), Type::kPred);
    d = &child(*d, 0);
  }
  if (d->kind != OperandKind::kVector) {
    Fail("the destination is not a vector");
    return;
  }
  if (t == Type::kF16x2) {
    for (unsigned i = 0; i < 2 && i < d->count; ++i) {
      Value* pair = llvm::PoisonValue::get(LlvmType(Type::kF16x2));
      for (unsigned j = 0; j < 2; ++j) {
        Value* channel = b_.CreateBitCast(
            b_.CreateExtractElement(texel, 2 * i + j), b_.getFloatTy());
        pair = b_.CreateInsertElement(
            pair, b_.CreateFPTrunc(channel, b_.getHalfTy()), j);
      }
      Write(child(*d, i), pair, Type::kF16x2);
    }
    return;
  }
  for (unsigned i = 0; i < 4 && i < d->count; ++i) {
    Value* channel = b_.CreateExtractElement(texel, i);
    if (t == Type::kF16) {
      channel = b_.CreateFPTrunc(
          b_.CreateBitCast(channel, b_.getFloatTy()), b_.getHalfTy());
    }
    Write(child(*d, i), channel, Type::kNone);
  }
}

void FunctionLowering::LowerTld4() {
  const Geom geom = mods().geom();
  if (IsCube(geom)) {
    FailUnsupported("gathers from a cubemap");
    return;
  }
  const Operand& texture = op(1);
  Value* handle = TextureHandle(child(texture, 0));
  const TextureCoordinates c = ReadCoordinates(texture, Type::kF32);
  Value* offset[2] = {I32(0), I32(0)};
  for (int i = 2; i < num_operands(); ++i) {
    if (op(i).kind != OperandKind::kVector) {
      FailUnsupported("depth comparison");
      return;
    }
    for (unsigned j = 0; j < 2 && j < op(i).count; ++j) {
      offset[j] = Read(child(op(i), j), Type::kS32);
    }
  }
  const unsigned channel = static_cast<unsigned>(mods().gather()) - 1;
  WriteTexel(Dev("tex_gather",
                 llvm::FixedVectorType::get(b_.getInt32Ty(), 4),
                 {handle, c.layer, c.at[0], c.at[1], offset[0], offset[1],
                  I32(channel)}),
             type(0));
}

// txq: fields of the descriptor.
void FunctionLowering::LowerTxq() {
  unsigned offset = 0;
  switch (mods().attr()) {
    case Attr::kWidth:
      offset = 8;
      break;
    case Attr::kHeight:
      offset = 12;
      break;
    case Attr::kDepth:
      offset = 16;
      break;
    case Attr::kArraySize:
      offset = 20;
      break;
    case Attr::kNumMipmapLevels:
      offset = 80;
      break;
    case Attr::kNormalizedCoords:
      offset = 48;
      break;
    default:
      FailUnsupported("the descriptor does not hold this in PTX's numbering");
      return;
  }
  const Operand& address = op(1);
  Operand base = address;
  if (address.kind == OperandKind::kAddress) base.kind = address.base;
  Value* handle = TextureHandle(base);
  const auto field = [&](Value* at, unsigned byte) {
    return b_.CreateAlignedLoad(
        b_.getInt32Ty(),
        b_.CreateConstGEP1_32(b_.getInt8Ty(), ToPointer(at, kAsGlobal), byte),
        llvm::Align(4));
  };
  Value* value = field(handle, offset);
  if (mods().attr() == Attr::kNormalizedCoords) {
    value = b_.CreateAnd(value, I32(1));
  }
  if (num_operands() > 2) {
    // A level's extent: the base level's halved as often, at least 1.
    value = Binary(llvm::Intrinsic::umax,
                   b_.CreateLShr(value, Read(op(2), Type::kU32)), I32(1));
  }
  Write(op(0), value, Type::kB32);
}

}  // namespace cerberus::ptx
