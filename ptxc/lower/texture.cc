// Textures, sampled in software from a descriptor in memory
// (docs/texture-descriptor.md): CDNA targets have no image instructions.
#include <fmt/format.h>

#include "ptxc/lower/lower.h"

namespace cerberus::ptx {
namespace {

bool IsLayered(Geom geom) {
  return geom == Geom::kA1d || geom == Geom::kA2d || geom == Geom::kAcube ||
         geom == Geom::kA2dms;
}
bool IsCube(Geom geom) { return geom == Geom::kCube || geom == Geom::kAcube; }

bool IsMultisample(Geom geom) {
  return geom == Geom::kG2dms || geom == Geom::kA2dms;
}

// Coordinates behind the layer and the sample.
unsigned Dimensions(Geom geom) {
  switch (geom) {
    case Geom::kG1d:
    case Geom::kA1d: return 1;
    case Geom::kG2d:
    case Geom::kA2d:
    case Geom::kG2dms:
    case Geom::kA2dms: return 2;
    default: return 3;
  }
}

const char* NameOf(Geom geom) {
  if (IsCube(geom)) return "cube";
  switch (Dimensions(geom)) {
    case 1: return "1d";
    case 2: return "2d";
    default: return "3d";
  }
}

}  // namespace

// The handle: a register holds it, a .texref variable's memory holds it.
llvm::Value* FunctionLowering::TextureHandle(const Operand& operand) {
  if (operand.kind == OperandKind::kVariable) {
    return HandleOfVariable(operand.index);
  }
  return Read(operand, Type::kU64);
}

llvm::Value* FunctionLowering::HandleOfVariable(std::uint32_t id) {
  const Variable& variable = ptx_module_.variables[id];
  if (variable.has_init && variable.type != Type::kSamplerRef) {
    Fail(fmt::format("'{}': a texture described in PTX is not supported",
                     variable.name));
  }
  Value* at = variable.space == VarSpace::kParam ? LocalStorage(id)
                                                 : module_.GlobalOf(id);
  return b_.CreateAlignedLoad(b_.getInt64Ty(), at, llvm::Align(8));
}

// [texture, {c}], or with a sampler of its own [texture, sampler, {c}].
FunctionLowering::TextureCoordinates FunctionLowering::ReadCoordinates(
    const Operand& texture, Type t) {
  TextureCoordinates result;
  result.handle = TextureHandle(child(texture, 0));
  result.sampler =
      texture.count > 2 ? TextureHandle(child(texture, 1)) : result.handle;
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
  result.layer = I32(0);
  Value* sample = IsMultisample(geom) ? element(Type::kU32) : nullptr;
  if (IsLayered(geom)) result.layer = element(Type::kU32);
  if (sample) {
    result.layer = Dev("sample_slice", b_.getInt32Ty(),
                       {result.handle, result.layer, sample});
  }
  const unsigned dimensions = Dimensions(geom);
  for (unsigned i = 0; i < 3; ++i) {
    result.at[i] =
        i < dimensions ? element(t) : llvm::Constant::getNullValue(LlvmType(t));
  }
  return result;
}

// What stands behind the coordinates: an offset in texels {e}, a value f to
// compare depth with, both, or none.
FunctionLowering::TextureExtras FunctionLowering::ReadTextureExtras(int first) {
  TextureExtras result;
  for (Value*& offset : result.offset) offset = I32(0);
  result.compare = b_.getFalse();
  result.reference = Fp(b_.getFloatTy(), 0);
  for (int i = first; i < num_operands(); ++i) {
    const Operand& extra = op(i);
    // In one dimension the offset need not be in braces.
    const bool integer = extra.kind == OperandKind::kInt ||
                         (extra.kind == OperandKind::kRegister &&
                          ptx_.registers[extra.index].type != Type::kF32 &&
                          Dimensions(mods().geom()) == 1);
    if (extra.kind == OperandKind::kVector) {
      for (unsigned j = 0; j < 3 && j < extra.count; ++j) {
        result.offset[j] = Read(child(extra, j), Type::kS32);
      }
    } else if (integer) {
      result.offset[0] = Read(extra, Type::kS32);
    } else {
      result.compare = b_.getTrue();
      result.reference = Read(extra, Type::kF32);
    }
  }
  return result;
}

// Operands first and first + 1 are the changes of the coordinates per step.
llvm::Value* FunctionLowering::LevelOfGradients(const TextureCoordinates& c,
                                                int first) {
  const Geom geom = mods().geom();
  std::vector<Value*> args = {c.handle};
  if (IsCube(geom)) {
    args.insert(args.end(), c.at, c.at + 3);
  } else {
    args.push_back(c.sampler);
  }
  for (int side = 0; side < 2; ++side) {
    const Operand& gradient = op(first + side);
    const bool vector = gradient.kind == OperandKind::kVector;
    for (unsigned i = 0; i < 3; ++i) {
      const bool given =
          vector ? i < gradient.count && i < Dimensions(geom) : i == 0;
      args.push_back(!given   ? Fp(b_.getFloatTy(), 0)
                     : vector ? Read(child(gradient, i), Type::kF32)
                              : Read(gradient, Type::kF32));
    }
  }
  return Dev(IsCube(geom) ? "tex_lod_cube" : "tex_lod", b_.getFloatTy(), args);
}

void FunctionLowering::LowerTex() {
  const Geom geom = mods().geom();
  const Type result_type = type(0);
  const Type coordinate = type(num_types() - 1);
  const TextureCoordinates c = ReadCoordinates(op(1), coordinate);
  int next = 2;
  // PTX ISA 9.0, "tex": without .level and .grad it is level 0.
  Value* lod =
      coordinate == Type::kF32
          ? static_cast<Value*>(llvm::ConstantFP::getNaN(b_.getFloatTy()))
          : I32(0);
  if (mods().tex_level() == TexLevel::kLevel) {
    lod = Read(op(next++), coordinate);
  } else if (mods().tex_level() == TexLevel::kGrad) {
    lod = LevelOfGradients(c, next);
    next += 2;
    if (coordinate != Type::kF32) {
      lod = Intrinsic(llvm::Intrinsic::fptosi_sat,
                      {b_.getInt32Ty(), lod->getType()}, {lod});
    }
  }
  const TextureExtras extras = ReadTextureExtras(next);

  llvm::Type* texel_type = llvm::FixedVectorType::get(b_.getInt32Ty(), 4);
  Value* texel = nullptr;
  if (coordinate == Type::kF32) {
    texel = Dev(std::string("tex_") + NameOf(geom), texel_type,
                {c.handle, c.sampler, c.layer, c.at[0], c.at[1], c.at[2],
                 extras.offset[0], extras.offset[1], extras.offset[2], lod,
                 extras.compare, extras.reference});
  } else {
    texel = Dev(
        std::string("texel_") + NameOf(geom), texel_type,
        {c.handle, c.sampler, c.layer, b_.CreateAdd(c.at[0], extras.offset[0]),
         b_.CreateAdd(c.at[1], extras.offset[1]),
         b_.CreateAdd(c.at[2], extras.offset[2]), lod});
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
      channel = b_.CreateFPTrunc(b_.CreateBitCast(channel, b_.getFloatTy()),
                                 b_.getHalfTy());
    }
    Write(child(*d, i), channel, Type::kNone);
  }
}

void FunctionLowering::LowerTld4() {
  const TextureCoordinates c = ReadCoordinates(op(1), Type::kF32);
  const TextureExtras extras = ReadTextureExtras(2);
  const unsigned channel = static_cast<unsigned>(mods().gather()) - 1;
  WriteTexel(Dev(IsCube(mods().geom()) ? "gather_cube" : "gather_2d",
                 llvm::FixedVectorType::get(b_.getInt32Ty(), 4),
                 {c.handle, c.sampler, c.layer, c.at[0], c.at[1], c.at[2],
                  extras.offset[0], extras.offset[1], I32(channel),
                  extras.compare, extras.reference}),
             type(0));
}

// txq, suq: what the descriptor says.
void FunctionLowering::LowerTxq() {
  const Operand& address = op(1);
  Operand base = address;
  if (address.kind == OperandKind::kAddress) base.kind = address.base;
  Value* handle = TextureHandle(base);
  const auto field = [&](unsigned byte) -> Value* {
    return b_.CreateAlignedLoad(
        b_.getInt32Ty(),
        b_.CreateConstGEP1_32(b_.getInt8Ty(), ToPointer(handle, kAsGlobal),
                              byte),
        llvm::Align(4));
  };
  const auto query = [&](const char* what) {
    return Dev(fmt::format("query_{}", what), b_.getInt32Ty(), {handle});
  };
  const auto addressing = [&](unsigned axis) {
    return Dev("query_addressing", b_.getInt32Ty(), {handle, I32(axis)});
  };
  Value* value = nullptr;
  switch (mods().attr()) {
    case Attr::kWidth: value = field(8); break;
    case Attr::kHeight: value = field(12); break;
    case Attr::kDepth: value = field(16); break;
    case Attr::kArraySize: value = field(20); break;
    case Attr::kNumMipmapLevels: value = field(80); break;
    case Attr::kChannelDataType: value = query("channel_data_type"); break;
    case Attr::kChannelOrder: value = query("channel_order"); break;
    case Attr::kNormalizedCoords: value = query("normalized_coords"); break;
    case Attr::kForceUnnormalized: value = query("force_unnormalized"); break;
    case Attr::kNumSamples: value = query("num_samples"); break;
    case Attr::kFilterMode: value = query("filter_mode"); break;
    case Attr::kAddrMode0: value = addressing(0); break;
    case Attr::kAddrMode1: value = addressing(1); break;
    case Attr::kAddrMode2: value = addressing(2); break;
    default:
      // memory_layout: 1 says rows lie one behind the other, as they all do.
      value = I32(1);
      break;
  }
  if (num_operands() > 2) {
    // A level's extent: the base level's halved as often, at least 1.
    value = Binary(llvm::Intrinsic::umax,
                   b_.CreateLShr(value, Read(op(2), Type::kU32)), I32(1));
  }
  Write(op(0), value, Type::kB32);
}

// A handle names a texture if it is what one of the module's .texref
// variables holds.
void FunctionLowering::LowerIstypep() {
  Value* handle = Read(op(1), Type::kU64);
  Value* any = b_.getFalse();
  for (std::uint32_t id = 0; id < ptx_module_.variables.size(); ++id) {
    const Variable& variable = ptx_module_.variables[id];
    if (variable.type != type() || variable.space != VarSpace::kGlobal) {
      continue;
    }
    any = b_.CreateOr(any, b_.CreateICmpEQ(HandleOfVariable(id), handle));
  }
  Out(0, any, Type::kPred);
}

}  // namespace cerberus::ptx
