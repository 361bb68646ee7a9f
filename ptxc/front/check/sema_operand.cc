// Operands, by what the row of an instruction says of each.
#include <algorithm>

#include "ptxc/front/check/sema_impl.h"
#include "ptxc/front/printer.h"

namespace cerberus::ptx {
namespace {

VarSpace VarSpaceOf(Space space) {
  switch (space) {
    case Space::kGlobal: return VarSpace::kGlobal;
    case Space::kConst: return VarSpace::kConst;
    case Space::kLocal: return VarSpace::kLocal;
    case Space::kParam:
    case Space::kParamEntry:
    case Space::kParamFunc: return VarSpace::kParam;
    case Space::kShared:
    case Space::kSharedCta:
    case Space::kSharedCluster: return VarSpace::kShared;
    default: return VarSpace::kReg;
  }
}

}  // namespace

std::string Checker::Expected(std::uint32_t c) {
  std::string text;
  const auto add = [&](std::uint32_t bit, const char* what) {
    if ((c & bit) == 0) return;
    text += (text.empty() ? "" : " or ") + std::string(what);
  };
  add(kOpRegister, "a register");
  add(kOpImmediate, "a constant");
  add(kOpAddress, "an address in [ ]");
  add(kOpVector, "a vector in { }");
  add(kOpPair, "a pair d|p");
  add(kOpLabel, "a label");
  add(kOpTexture, "a texture operand in [ ]");
  return text;
}

void Checker::WrongKind(const OperandSpec& spec, const Operand& o) {
  Error(o.offset, "operand '" + std::string(spec.name) + "' of " + Mnemonic() +
                      " is " + Text(o) + ", expected " +
                      Expected(spec.classes));
}

Type Checker::TypeOf(const OperandSpec& spec) const {
  const InstForm& form = *inst_->form;
  switch (spec.from) {
    case OperandSpec::From::kFixed: return spec.fixed;
    case OperandSpec::From::kIndexed: return form.type(spec.index);
    case OperandSpec::From::kWide:
      return BitsOf(form.type(spec.index)) == 16
                 ? (IsSigned(form.type()) ? Type::kS32 : Type::kU32)
                 : (IsSigned(form.type()) ? Type::kS64 : Type::kU64);
    case OperandSpec::From::kAny: return Type::kNone;
  }
  return Type::kNone;
}

Width Checker::WidthOf(const OperandSpec& spec) const {
  switch (inst_->form->opcode()) {
    case Opcode::kCvt:
      return KindOf(TypeOf(spec)) == TypeKind::kAltFloat ? Width::kSame
                                                         : Width::kWider;
    case Opcode::kLd:
    case Opcode::kSt:
    case Opcode::kLdu:
    case Opcode::kSuld:
    case Opcode::kSust:
    case Opcode::kStAsync:
    case Opcode::kCvtPack: return Width::kWider;
    default: return Width::kSame;
  }
}

void Checker::CheckOperand(const OperandSpec& spec, const Operand& o) {
  const std::uint32_t c = spec.classes;
  const Type type = TypeOf(spec);
  if (o.negated && o.kind != OperandKind::kUnresolved &&
      ((c & kOpDest) != 0 || o.kind != OperandKind::kRegister))
    return Error(o.offset, "operand '" + std::string(spec.name) + "' of " +
                               Mnemonic() + " is " + Text(o) +
                               ", which cannot be negated");
  if (o.adds() && (c & kOpDest) != 0)
    return Error(o.offset, "operand '" + std::string(spec.name) + "' of " +
                               Mnemonic() + " is " + Text(o) +
                               ", which cannot be written");
  switch (o.kind) {
    case OperandKind::kUnresolved:
      if ((c & kOpLabel) != 0)
        return Error(o.offset,
                     "label " + Quote(module_.NameOf(o)) + " is not defined");
      return Error(o.offset, "undefined name " + Quote(module_.NameOf(o)));
    case OperandKind::kSink:
      if ((c & kOpSink) == 0) return WrongKind(spec, o);
      return;
    case OperandKind::kLabel:
    case OperandKind::kPrototype:
      if ((c & kOpLabel) == 0) return WrongKind(spec, o);
      return;
    case OperandKind::kFunction:
    case OperandKind::kVariable:
      if (o.element && !CheckCounter(o)) return;
      if ((c & kOpSymbol) != 0) return CheckSymbol(o);
      if (o.kind == OperandKind::kVariable &&
          module_.variables[o.index].space == VarSpace::kTex)
        return;
      if (spec.from == OperandSpec::From::kAny && (c & kOpRegister) != 0)
        return;
      // A sum with a symbol is an integer constant, as ptxas has it; the
      // symbol alone is none.
      if (o.kind == OperandKind::kVariable && o.value != 0 && !o.element &&
          (c & kOpImmediate) != 0 && KindOf(type) != TypeKind::kFloat)
        return;
      return WrongKind(spec, o);
    case OperandKind::kSpecial: {
      if ((c & kOpSpecial) == 0 && inst_->form->opcode() != Opcode::kCvt)
        return Error(o.offset, "special register " + Text(o) +
                                   " as an operand of " + Mnemonic() +
                                   ", expected " + Expected(c));
      const SpecialReg reg = static_cast<SpecialReg>(o.index);
      const Type has = SpecialRegType(reg);
      if (KindOf(type) == TypeKind::kFloat) {
        return Mismatch(spec, o, has, type);
      }
      // PTX ISA, "%gridid": 32 bits in old code, which may read it so still.
      if (type != Type::kNone && BitsOf(has) > 32 && BitsOf(type) < 64 &&
          !(reg == SpecialReg::kGridid && BitsOf(type) == 32))
        return Mismatch(spec, o, has, type);
      return;
    }
    case OperandKind::kInt:
    case OperandKind::kFloat32:
    case OperandKind::kFloat64: return CheckConstant(spec, o, type);
    case OperandKind::kRegister:
      if ((c & (kOpRegister | kOpScalarOrVector)) == 0)
        return WrongKind(spec, o);
      return CheckRegister(
          spec, o, type,
          (c & kOpScalarOrVector) != 0 ? inst_->form->mods.vector_width() : 1);
    case OperandKind::kVector: return CheckVector(spec, o, type);
    case OperandKind::kPair: return CheckPair(spec, o, type);
    case OperandKind::kAddress:
      if ((c & (kOpAddress | kOpTexture)) == 0) return WrongKind(spec, o);
      return CheckAddress(o);
    case OperandKind::kTexture:
      if ((c & (kOpTexture | kOpAddress)) == 0) return WrongKind(spec, o);
      return CheckTexture(o);
    default: return WrongKind(spec, o);
  }
}

// What a texture instruction is given by name: a texture, a surface or, behind
// a texture and to a query, a sampler.
void Checker::CheckReference(const Operand& o, bool second) {
  if (o.kind != OperandKind::kVariable && o.base != OperandKind::kVariable)
    return;
  const Type has = module_.variables[o.index].type;
  if (KindOf(has) != TypeKind::kOpaque) return;
  Type want = Type::kNone;
  switch (inst_->form->opcode()) {
    case Opcode::kTex:
    case Opcode::kTld4:
      want = second ? Type::kSamplerRef : Type::kTexRef;
      break;
    case Opcode::kTxq:
      if (has == Type::kSamplerRef) return;
      want = Type::kTexRef;
      break;
    case Opcode::kSuld:
    case Opcode::kSust:
    case Opcode::kSured:
    case Opcode::kSuq: want = Type::kSurfRef; break;
    default: return;
  }
  if (has == want) return;
  Error(o.offset, Text(o) + " in " + Mnemonic() + " is a ." +
                      std::string(TypeName(has)) + ", expected a ." +
                      std::string(TypeName(want)));
}

// [handle, {coordinates}] or [handle, sampler, {coordinates}].
void Checker::CheckTexture(const Operand& o) {
  CheckNames(o);
  for (std::uint32_t i = 0; i < o.count && i < 2; ++i)
    CheckReference(function_->operands[o.index + i], i != 0);
  const Operand& handle = function_->operands[o.index];
  if (o.count == 0 || handle.kind != OperandKind::kRegister) return;
  const Type type = function_->registers[handle.index].type;
  if (BitsOf(type) != 64)
    Error(handle.offset, "handle " + Text(handle) + " of " + Mnemonic() +
                             " is a register of type ." +
                             std::string(TypeName(type)) +
                             ", expected one of 64 bits");
}

void Checker::CheckNames(const Operand& composite) {
  for (std::uint32_t i = 0; i < composite.count; ++i) {
    const Operand& child = function_->operands[composite.index + i];
    if (child.kind == OperandKind::kUnresolved)
      Error(child.offset, "undefined name " + Quote(module_.NameOf(child)));
    else if (child.is_composite()) CheckNames(child);
  }
}

void Checker::Mismatch(const OperandSpec& spec, const Operand& o, Type has,
                       Type want) {
  Error(o.offset, "operand '" + std::string(spec.name) + "' of " + Mnemonic() +
                      " is " + Text(o) + " of type ." +
                      std::string(TypeName(has)) + ", expected ." +
                      std::string(TypeName(want)));
}

void Checker::CheckConstant(const OperandSpec& spec, const Operand& o,
                            Type type) {
  if ((spec.classes & kOpImmediate) == 0) return WrongKind(spec, o);
  const bool is_float = o.kind != OperandKind::kInt;
  const TypeKind kind = KindOf(type);
  const bool wants_float = kind == TypeKind::kFloat ||
                           kind == TypeKind::kAltFloat ||
                           kind == TypeKind::kPackedFloat;
  const bool wants_int = kind == TypeKind::kUnsigned ||
                         kind == TypeKind::kSigned || kind == TypeKind::kPred;
  // Floats have 32 or 64 bits: bits of another size are not what is meant, and
  // there are none of 16.
  const int bits = o.kind == OperandKind::kFloat64 ? 64 : 32;
  const bool wants_other =
      kind == TypeKind::kBit
          ? BitsOf(type) != bits
          : wants_float && (BitsOf(type) < 32 || kind != TypeKind::kFloat);
  if ((is_float && (wants_int || wants_other)) ||
      (!is_float && kind == TypeKind::kFloat && wants_float))
    Error(o.offset,
          "operand '" + std::string(spec.name) + "' of " + Mnemonic() +
              " is the " + (is_float ? "float " : "integer ") + Text(o) +
              ", expected a constant of type ." + std::string(TypeName(type)));
}

void Checker::CheckRegister(const OperandSpec& spec, const Operand& o,
                            Type type, int width) {
  const Register& reg = function_->registers[o.index];
  const int element =
      static_cast<int>(o.part) - static_cast<int>(Component::kX);
  if (o.part >= Component::kX && o.part <= Component::kW && reg.vector > 1 &&
      element >= reg.vector) {
    Error(o.offset, Text(o) + " in " + Mnemonic() + ", of a register with " +
                        std::to_string(reg.vector) + " elements");
    return;
  }
  // mov packs a vector register like a vector in { }.
  if (reg.vector > 1 && o.part == Component::kWhole &&
      (spec.classes & kOpVector) != 0 &&
      reg.vector * BitsOf(reg.type) == BitsOf(type))
    return;
  if (reg.vector != width && o.part == Component::kWhole &&
      !(width == 1 && (spec.classes & kOpVector) != 0) &&
      spec.from != OperandSpec::From::kAny) {
    Error(o.offset, "operand '" + std::string(spec.name) + "' of " +
                        Mnemonic() + " is " + Text(o) + " with " +
                        std::to_string(reg.vector) + " elements, expected " +
                        std::to_string(width));
    return;
  }
  if (type == Type::kNone) return;
  if (!Agrees(type, reg.type, WidthOf(spec))) Mismatch(spec, o, reg.type, type);
  if (o.negated && reg.type != Type::kPred &&
      inst_->form->opcode() != Opcode::kVmad)
    Error(o.offset, Text(o) + " negates a register of type ." +
                        std::string(TypeName(reg.type)) + ", expected .pred");
}

// ptxas takes integer registers as the floats of a vector in memory.
bool Checker::HoldsElement(Type element, Type reg) const {
  switch (inst_->form->opcode()) {
    case Opcode::kLd:
    case Opcode::kLdu:
    case Opcode::kSt:
    case Opcode::kAtom:
    case Opcode::kRed:
      return BitsOf(reg) == BitsOf(element) &&
             (KindOf(reg) == TypeKind::kUnsigned ||
              KindOf(reg) == TypeKind::kSigned);
    default: return false;
  }
}

void Checker::CheckVector(const OperandSpec& spec, const Operand& o,
                          Type type) {
  const std::uint32_t c = spec.classes;
  if ((c & kOpScalarOrVector) != 0) {
    const int width = inst_->form->mods.vector_width();
    if (static_cast<int>(o.count) != width)
      return Error(o.offset, "vector " + Text(o) + " of " + Mnemonic() +
                                 " has " + std::to_string(o.count) +
                                 " elements, expected " +
                                 std::to_string(width));
  } else if ((c & kOpVector) == 0 && spec.from != OperandSpec::From::kAny) {
    return WrongKind(spec, o);
  }
  const bool packs = (c & kOpVector) != 0 && (c & kOpRegister) != 0;
  int bits = 0;
  for (std::uint32_t i = 0; i < o.count; ++i) {
    const Operand& child = function_->operands[o.index + i];
    if (child.kind == OperandKind::kUnresolved) {
      Error(child.offset, "undefined name " + Quote(module_.NameOf(child)));
      return;
    }
    if (child.kind == OperandKind::kRegister) {
      const Type has = function_->registers[child.index].type;
      bits += BitsOf(has);
      if (!packs && type != Type::kNone && !HoldsElement(type, has) &&
          !Agrees(type, has, WidthOf(spec)))
        Mismatch(spec, child, has, type);
    } else if (child.kind == OperandKind::kSink) {
      // As wide as its neighbours; known once another element is.
      bits += type != Type::kNone && o.count != 0
                  ? BitsOf(type) / static_cast<int>(o.count)
                  : 0;
    } else if (child.kind == OperandKind::kInt ||
               child.kind == OperandKind::kFloat32 ||
               child.kind == OperandKind::kFloat64) {
      if ((c & kOpDest) != 0)
        return Error(child.offset, "constant " + Text(child) +
                                       " cannot be written by " + Mnemonic());
      bits += type != Type::kNone && o.count != 0
                  ? BitsOf(type) / static_cast<int>(o.count)
                  : 0;
    }
  }
  if (packs && type != Type::kNone && bits != BitsOf(type))
    Error(o.offset, "vector " + Text(o) + " of " + Mnemonic() + " has " +
                        std::to_string(bits) + " bits, expected " +
                        std::to_string(BitsOf(type)));
}

void Checker::CheckPair(const OperandSpec& spec, const Operand& o, Type type) {
  if ((spec.classes & kOpPair) == 0) return WrongKind(spec, o);
  const Operand& first = function_->operands[o.index];
  const Operand& second = function_->operands[o.index + 1];
  OperandSpec half = spec;
  half.classes = kOpRegister | kOpDest | kOpSink |
                 (spec.from == OperandSpec::From::kAny
                      ? static_cast<std::uint32_t>(kOpVector)
                      : 0u);
  CheckOperand(half, first);
  half.from = OperandSpec::From::kFixed;
  half.fixed = Type::kPred;
  half.classes = kOpRegister | kOpDest | kOpSink;
  CheckOperand(half, second);
  (void)type;
}

void Checker::CheckSymbol(const Operand& o) {
  if (o.kind != OperandKind::kVariable) return;
  const InstForm& form = *inst_->form;
  // All of global memory's addresses have 64 bits.
  if (form.opcode() == Opcode::kMov && o.value == 0 && !o.element &&
      BitsOf(form.type()) == 32 &&
      module_.variables[o.index].space == VarSpace::kGlobal)
    return Error(o.offset, Text(o) + " is an address of 64 bits, " +
                               Mnemonic() + " takes 32");
  if (form.opcode() != Opcode::kCvta) return;
  if (form.mods.to() == To::kOn)
    return Error(o.offset,
                 Text(o) + " in " + Mnemonic() + ", expected a register");
  const VarSpace want = VarSpaceOf(form.mods.space());
  const VarSpace has = module_.variables[o.index].space;
  if (want != VarSpace::kReg && want != has)
    Error(o.offset, Text(o) + " is in " + std::string(VarSpaceName(has)) +
                        ", " + Mnemonic() + " needs " +
                        std::string(VarSpaceName(want)));
}

// The register that counts elements in array[%r].
bool Checker::CheckCounter(const Operand& o) {
  if (o.count == 0) return true;
  const Type type = function_->registers[o.count - 1].type;
  const TypeKind kind = KindOf(type);
  if (kind != TypeKind::kFloat && kind != TypeKind::kPred &&
      BitsOf(type) >= 16 && BitsOf(type) <= 64)
    return true;
  Error(o.offset, Text(o) + " is counted by a register of type ." +
                      std::string(TypeName(type)) +
                      ", expected an integer of 32 or 64 bits");
  return false;
}

// Whether the instruction's address, global or generic, cannot be held by a
// register of 32 bits; those left out here take one, as ptxas has it.
bool Checker::NeedsWideAddress() const {
  switch (inst_->form->opcode()) {
    case Opcode::kLd:
    case Opcode::kLdu:
    case Opcode::kSt:
    case Opcode::kAtom:
    case Opcode::kRed:
    case Opcode::kMultimemLdReduce:
    case Opcode::kMultimemSt:
    case Opcode::kMultimemRed:
    case Opcode::kMultimemRedAsync:
    case Opcode::kPrefetch:
    case Opcode::kPrefetchu:
    case Opcode::kApplypriority:
    case Opcode::kDiscard:
    case Opcode::kMbarrierInit:
    case Opcode::kMbarrierInval:
    case Opcode::kMbarrierArrive:
    case Opcode::kMbarrierArriveDrop:
    case Opcode::kMbarrierTestWait:
    case Opcode::kMbarrierTryWait:
    case Opcode::kMbarrierExpectTx:
    case Opcode::kMbarrierCompleteTx:
    case Opcode::kTxq:
    case Opcode::kSuq:
      return inst_->form->mods.space() == Space::kNone ||
             inst_->form->mods.space() == Space::kGlobal;
    default: return false;
  }
}

void Checker::CheckAddress(const Operand& o) {
  if (o.element && !CheckCounter(o)) return;
  if (o.base == OperandKind::kUnresolved)
    return Error(o.offset, "undefined name " +
                               Quote(module_.text.substr(o.offset, o.count)));
  if (o.base == OperandKind::kRegister) {
    const Type type = function_->registers[o.index].type;
    const TypeKind kind = KindOf(type);
    if (kind == TypeKind::kFloat || kind == TypeKind::kPred ||
        BitsOf(type) < 16 || BitsOf(type) > 64)
      Error(o.offset, "address " + Text(o) + " is a register of type ." +
                          std::string(TypeName(type)) +
                          ", expected an integer of 32 or 64 bits");
    else if (BitsOf(type) == 32 && NeedsWideAddress())
      Error(o.offset, "address " + Text(o) + " is a register of type ." +
                          std::string(TypeName(type)) + ", " + Mnemonic() +
                          " needs one of 64 bits");
    return;
  }
  if (o.base == OperandKind::kInt && inst_->form->mods.space() != Space::kLocal)
    return Error(o.offset, "address " + Text(o) + " of " + Mnemonic() +
                               " is a constant, which only .local memory "
                               "is accessed by");
  if (o.base != OperandKind::kVariable) return;
  CheckReference(o, false);
  if (inst_->form->opcode() == Opcode::kSt &&
      std::count(function_->params.begin(), function_->params.end(), o.index) !=
          0) {
    return Error(o.offset, Text(o) + " is a parameter, which " + Mnemonic() +
                               " cannot write");
  }
  const VarSpace has = module_.variables[o.index].space;
  if (has == VarSpace::kTex) return;
  const Modifiers& mods = inst_->form->mods;
  if (mods.space() == Space::kNone) {
    // PTX ISA, "Generic Addressing": windows of neither are given by name.
    if (has == VarSpace::kConst || has == VarSpace::kParam)
      Error(o.offset, Text(o) + " is in " + std::string(VarSpaceName(has)) +
                          ", " + Mnemonic() + " needs a generic address");
    return;
  }
  // Of two spaces each is that of an address or a tensor; a barrier may be a
  // third one.
  int before = 0;
  for (int i = 0; &OperandAt(i) != &o && i < inst_->num_operands; ++i) {
    const OperandKind kind = OperandAt(i).kind;
    before += kind == OperandKind::kAddress || kind == OperandKind::kTexture;
  }
  const bool two = mods.space2() != Space::kNone;
  const VarSpace want =
      VarSpaceOf(two && before == 1 ? mods.space2() : mods.space());
  if (want == VarSpace::kReg || want == has || (two && before > 1)) return;
  Error(o.offset, Text(o) + " is in " + std::string(VarSpaceName(has)) + ", " +
                      Mnemonic() + " accesses " +
                      std::string(VarSpaceName(want)));
}

}  // namespace cerberus::ptx
