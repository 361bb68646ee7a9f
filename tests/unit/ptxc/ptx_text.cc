#include "ptx_text.h"

namespace cerberus::ptx::testing {
namespace {

// What the type of an operand is, from the row's rule.
Type TypeOf(const OperandSpec& spec, const InstForm& form) {
  switch (spec.from) {
    case OperandSpec::From::kFixed: return spec.fixed;
    case OperandSpec::From::kIndexed: return form.type(spec.index);
    case OperandSpec::From::kWide:
      switch (BitsOf(form.type(spec.index))) {
        case 16: return IsSigned(form.type()) ? Type::kS32 : Type::kU32;
        default: return IsSigned(form.type()) ? Type::kS64 : Type::kU64;
      }
    case OperandSpec::From::kAny: return Type::kB32;
  }
  return Type::kB32;
}

std::string Vector(Type type, int count, int number) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : ", ") + RegisterOf(type, number + i);
  return text + "}";
}

std::string Address(const InstForm& form, int address) {
  // With two state spaces, the second address is of the second one.
  const Space space = address == 1 && form.mods.space2() != Space::kNone
                          ? form.mods.space2()
                          : form.mods.space();
  switch (space) {
    case Space::kParam:
      if (form.opcode() == Opcode::kSt) return "[arg+16]";
      return "[in+16]";
    case Space::kParamEntry: return "[in]";
    case Space::kParamFunc: return "[arg]";
    case Space::kConst: return "[table+16]";
    case Space::kShared:
    case Space::kSharedCta: return "[tile+32]";
    default: return "[%rd9+64]";
  }
}

// A constant where nothing else is allowed.
std::string Constant(Opcode opcode) {
  switch (opcode) {
    case Opcode::kCpAsync: return "16";
    case Opcode::kApplypriority:
    case Opcode::kDiscard:
    case Opcode::kFence:
    case Opcode::kTensormapCpFenceproxy: return "128";
    case Opcode::kSetmaxnreg: return "32";
    case Opcode::kStBulk: return "0";
    default: return "8";
  }
}

std::string Coordinates(const InstForm& form, Type type) {
  switch (form.mods.geom()) {
    case Geom::kG1d: return Vector(type, 1, 20);
    case Geom::kG2d:
    case Geom::kA1d: return Vector(type, 2, 20);
    case Geom::kG5d: return Vector(type, 5, 20);
    default: return Vector(type, 4, 20);
  }
}

}  // namespace

std::string Registers() {
  return "  .reg .pred %p<160>;\n  .reg .b8 %rb<160>;\n"
         "  .reg .b16 %rs<160>;\n  .reg .f16 %h<160>;\n"
         "  .reg .f16x2 %hh<160>;\n  .reg .b32 %r<160>;\n"
         "  .reg .f32 %f<160>;\n  .reg .b64 %rd<160>;\n"
         "  .reg .f64 %fd<160>;\n  .reg .b128 %rq<160>;\n"
         "  .param .align 16 .b8 arg[64];\n";
}

std::string RegisterOf(Type type, int number) {
  const std::string n = std::to_string(number);
  switch (type) {
    case Type::kPred: return "%p" + n;
    case Type::kF16: return "%h" + n;
    case Type::kF16x2: return "%hh" + n;
    case Type::kF32: return "%f" + n;
    case Type::kF64: return "%fd" + n;
    default: break;
  }
  if (type == Type::kE2M1x2) return "%rb" + n;
  switch (BitsOf(type)) {
    case 128: return "%rq" + n;
    case 64: return "%rd" + n;
    case 32: return "%r" + n;
    default: return "%rs" + n;
  }
}

std::string InstructionText(const InstForm& form, bool optional) {
  std::string text(form.spelling);
  if (form.opcode() == Opcode::kCall) return text + " helper;";
  std::string operands;
  int number = 0;
  int addresses = 0;
  for (const OperandSpec& spec : form.row->specs) {
    number += 8;
    const std::uint32_t c = spec.classes;
    if (spec.name == "policy") {
      // A cache policy is there exactly if the mnemonic announces it.
      if (form.mods.cache_hint() == CacheHint::kNone) continue;
    } else if ((c & kOpOptional) != 0 && !optional) {
      continue;
    }
    const Type type = TypeOf(spec, form);
    std::string one;
    if ((c & kOpAddress) != 0) {
      one = Address(form, addresses++);
    } else if ((c & kOpTexture) != 0) {
      const Type coordinate =
          form.num_types > 1 && form.opcode() == Opcode::kTex
              ? form.type(1)
              : (form.opcode() == Opcode::kTld4 ? Type::kF32 : Type::kS32);
      one = "[%rd9, " + Coordinates(form, coordinate) + "]";
    } else if (spec.name == "dstate" &&
               form.mods.space() == Space::kSharedCluster) {
      one = "_";
    } else if ((c & kOpLabel) != 0) {
      one = spec.name == "targets" ? "jumps" : "done";
    } else if ((c & (kOpRegister | kOpPair)) == 0 && (c & kOpImmediate) != 0) {
      one = Constant(form.opcode());
    } else if ((c & kOpScalarOrVector) != 0) {
      one = form.mods.vec() == Vec::kNone
                ? RegisterOf(type, number)
                : Vector(type, form.mods.vector_width(), number);
    } else if (form.opcode() == Opcode::kMov && form.mods.vec() != Vec::kNone) {
      one = Vector(form.type(), form.mods.vector_width(), number);
    } else if ((c & kOpVector) != 0 && (c & kOpRegister) == 0) {
      one = Vector(type, 4, number);
    } else {
      const bool tex =
          form.opcode() == Opcode::kTex || form.opcode() == Opcode::kTld4;
      one = tex && (c & kOpDest) != 0
                ? Vector(form.type(), form.mods.vector_width(), number)
                : RegisterOf(type, number);
      if ((c & kOpNegatable) != 0 && optional) one = "!" + one;
    }
    if ((c & kOpPair) != 0 && (optional || (c & kOpRegister) == 0))
      one += "|%p31";
    operands += (operands.empty() ? " " : ", ") + one;
  }
  return text + operands + ";";
}

std::string ModuleWith(const std::vector<std::string>& lines,
                       std::string_view target, std::string_view version) {
  std::string text = ".version " + std::string(version) + "\n.target " +
                     std::string(target) +
                     "\n.address_size 64\n"
                     ".const .align 16 .b8 table[256];\n"
                     ".shared .align 128 .b8 tile[1024];\n"
                     ".func helper() { ret; }\n"
                     ".visible .entry kernel(.param .align 16 .b8 in[256])\n"
                     "{\n" +
                     Registers() + "jumps: .branchtargets done, done;\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text + "done:\n  ret;\n}\n";
}

}  // namespace cerberus::ptx::testing
