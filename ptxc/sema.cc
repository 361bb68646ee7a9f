#include "ptxc/sema.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ptxc/printer.h"

namespace cerberus::ptx {
namespace {

constexpr int kMaxErrors = 100;

std::string Quote(std::string_view text) {
  return "'" + std::string(text) + "'";
}

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

// How a register's type must agree with the instruction's.
enum class Width : std::uint8_t {
  kSame,
  kWider,  // ld, st, cvt: the register may be wider (PTX ISA, "Operand Size
           // Exceeding Instruction-Type Size")
};

// PTX ISA, "Type Information for Instructions and Operands": integers agree
// with integers, floats with the same float, everything with bits.
bool Agrees(Type instruction, Type reg, Width width) {
  const TypeKind a = KindOf(instruction);
  const TypeKind b = KindOf(reg);
  if (a == TypeKind::kPred || b == TypeKind::kPred) return a == b;
  if (a == TypeKind::kOpaque || b == TypeKind::kOpaque) return true;
  const int need = std::max(BitsOf(instruction), 8);
  const int have = BitsOf(reg);
  if (have < need || (width == Width::kSame && have != need)) return false;
  // ptxas takes a .f16x2 register as one of 32 bits.
  const bool bits = b == TypeKind::kBit || reg == Type::kF16x2;
  switch (a) {
    case TypeKind::kBit:
    case TypeKind::kSubByte: return true;
    case TypeKind::kUnsigned:
    case TypeKind::kSigned:
      return bits || b == TypeKind::kUnsigned || b == TypeKind::kSigned;
    case TypeKind::kPackedInt:
      return bits || b == TypeKind::kUnsigned || b == TypeKind::kSigned ||
             b == TypeKind::kPackedInt;
    case TypeKind::kFloat:
    case TypeKind::kPackedFloat:
      return bits || reg == instruction || (reg == Type::kB64);
    case TypeKind::kAltFloat:
      // Held in .b16/.b32; older PTX used unsigned integers too.
      return bits || b == TypeKind::kUnsigned || b == TypeKind::kSigned ||
             reg == instruction;
    default: return true;
  }
}

class Checker {
 public:
  Checker(Module& module, const DiagSink& sink)
      : module_(module), sink_(sink) {}

  int Run(int* module_errors) {
    for (const Variable& v : module_.variables)
      if (v.function == kNoId) CheckVariable(v);
    CheckConstantMemory();
    module_errors_ = errors_;
    for (Function& f : module_.functions) {
      function_ = &f;
      CheckFunction(f);
    }
    if (module_errors != nullptr) *module_errors = module_errors_;
    return errors_;
  }

 private:
  // ---- Reporting ----
  void Report(Severity severity, std::uint32_t offset, std::uint32_t loc,
              std::string message) {
    if (!sink_) return;
    Diag diag =
        MakeDiag(DiagCode::kBadPtx, WhereOf(module_, function_, offset, loc),
                 std::move(message));
    diag.severity = severity;
    sink_(diag);
  }
  void Error(std::uint32_t offset, std::string message) {
    ++errors_;
    if (function_ != nullptr) ++function_->errors;
    // A function's first error is why it is left out, so it is always said.
    const bool first = function_ != nullptr && function_->errors == 1;
    if (errors_ > kMaxErrors && !first) {
      if (said_limit_) return;
      said_limit_ = true;
      message = "more than " + std::to_string(kMaxErrors) +
                " errors; only their number is counted";
    }
    Report(Severity::kError, offset, inst_ == nullptr ? kNoId : inst_->loc,
           std::move(message));
  }
  void Warn(std::uint32_t offset, std::string message) {
    Report(Severity::kWarning, offset, inst_ == nullptr ? kNoId : inst_->loc,
           std::move(message));
  }
  std::string Mnemonic() const { return Quote(inst_->form->spelling); }
  std::string Text(const Operand& o) const {
    std::string text = PrintOperand(module_, *function_, o);
    if (text.size() > 80) text = text.substr(0, 77) + "...";
    return Quote(text);
  }

  // ---- Declarations ----
  void CheckVariable(const Variable& v) {
    if (v.has_init &&
        (v.space == VarSpace::kShared || v.space == VarSpace::kLocal ||
         v.space == VarSpace::kParam))
      Error(v.offset, Quote(v.name) + " has an initialiser, but " +
                          std::string(VarSpaceName(v.space)) +
                          " variables cannot have one");
    if (v.type == Type::kPred && v.space != VarSpace::kReg)
      Error(v.offset, Quote(v.name) +
                          " is of type .pred, which only "
                          "registers have");
    if (v.size() == 0 && v.linkage != Linkage::kExtern &&
        (v.space == VarSpace::kGlobal || v.space == VarSpace::kConst ||
         v.space == VarSpace::kShared) &&
        KindOf(v.type) != TypeKind::kOpaque)
      Error(v.offset, Quote(v.name) +
                          " has no size, which only .extern "
                          "variables may leave open");
    if (v.has_init && v.linkage == Linkage::kExtern)
      Error(v.offset, Quote(v.name) + " is .extern and has an initialiser");
    if (v.space != VarSpace::kGlobal &&
        (v.linkage == Linkage::kCommon || v.managed))
      Error(v.offset, Quote(v.name) + " is in " +
                          std::string(VarSpaceName(v.space)) +
                          ", but only .global variables are .common or "
                          ".managed");
    for (const InitElement& e : v.init) {
      const bool is_float = e.kind == InitElement::Kind::kFloat32 ||
                            e.kind == InitElement::Kind::kFloat64;
      if (KindOf(v.type) == TypeKind::kFloat ? !is_float || BitsOf(v.type) < 32
                                             : is_float && IsInteger(v.type)) {
        Error(e.offset, "initialiser of " + Quote(v.name) + " is not a ." +
                            std::string(TypeName(v.type)) + " constant");
        return;
      }
      const std::uint64_t element = static_cast<std::uint64_t>(BytesOf(v.type));
      if (e.byte + element > v.size()) {
        Error(e.offset, "initialiser of " + Quote(v.name) + " runs past its " +
                            std::to_string(v.size()) + " bytes");
        return;
      }
      // PTX ISA, "Initializers": only these two can be named there.
      if (e.kind == InitElement::Kind::kVariable) {
        const Variable& named = module_.variables[e.index];
        if (named.space != VarSpace::kGlobal && named.space != VarSpace::kConst)
          Error(e.offset, "initialiser of " + Quote(v.name) + " is " +
                              Quote(named.name) + ", a " +
                              std::string(VarSpaceName(named.space)) +
                              " variable, expected a .global or .const one");
      }
    }
  }

  // PTX ISA, "Constant State Space": 64 KiB; more of it is in the numbered
  // banks of old versions.
  void CheckConstantMemory() {
    constexpr std::uint64_t kMost = 65536;
    std::uint64_t end = 0;
    for (const Variable& v : module_.variables) {
      if (v.space != VarSpace::kConst || v.bank != 0 ||
          v.linkage == Linkage::kExtern)
        continue;
      end = v.EndFrom(end);
      if (end > kMost)
        return Error(v.offset, Quote(v.name) + " ends " + std::to_string(end) +
                                   " bytes into constant memory, which has " +
                                   std::to_string(kMost));
    }
  }

  // PTX ISA, "Kernel Function Parameters" and "Variadic Functions".
  void CheckParameters(const Function& f) {
    const std::uint64_t most = module_.version >= 81 ? 32764 : 4352;
    std::uint64_t end = 0;
    for (std::uint32_t id : f.params) {
      end = module_.variables[id].EndFrom(end);
    }
    if (f.is_entry && end > most)
      Error(f.offset, Quote(f.name) + " has " + std::to_string(end) +
                          " bytes of parameters, at most " +
                          std::to_string(most) + " are possible");
    if (f.tuning.noreturn && !f.returns.empty())
      Error(f.offset, Quote(f.name) + " returns a value and is .noreturn");
    for (std::uint32_t id : f.params) {
      const Variable& v = module_.variables[id];
      const char* wrong = nullptr;
      if (v.is_open() && (f.is_entry || id != f.params.back())) {
        wrong = "an open array, which only a function's last parameter may be";
      } else if (f.is_entry && v.space != VarSpace::kParam) {
        wrong = "in .reg, but a kernel's parameters are in .param";
      } else if (v.space == VarSpace::kParam && v.type == Type::kPred) {
        wrong = "of type .pred, which only registers have";
      } else if (v.space == VarSpace::kParam && v.vector > 1) {
        wrong = "a vector, which only registers and memory have";
      }
      if (wrong != nullptr)
        Error(v.offset, "parameter " + Quote(v.name) + " is " + wrong);
    }
  }

  // ---- Functions ----
  void CheckFunction(Function& f) {
    inst_ = nullptr;
    if (f.tuning.maxntid_dims != 0 && f.tuning.reqntid_dims != 0)
      Error(f.offset, Quote(f.name) + " has both .maxntid and .reqntid");
    const auto positive = [&](const char* directive, const std::uint32_t* n,
                              std::uint8_t count, const char* of_what) {
      if (std::find(n, n + count, 0u) != n + count)
        Error(f.offset, Quote(f.name) + " has " + directive +
                            " 0, expected a positive number of " + of_what);
    };
    positive(".maxntid", f.tuning.maxntid, f.tuning.maxntid_dims, "threads");
    positive(".reqntid", f.tuning.reqntid, f.tuning.reqntid_dims, "threads");
    if (!f.is_entry &&
        (f.tuning.maxntid_dims != 0 || f.tuning.reqntid_dims != 0 ||
         f.tuning.maxnreg != 0 || f.tuning.minnctapersm != 0))
      Error(f.offset, Quote(f.name) +
                          " is a function, but only kernels have "
                          "numbers of threads, blocks and registers");
    if (!f.has_body && f.is_entry && f.linkage != Linkage::kExtern)
      Error(f.offset, Quote(f.name) + " is declared but has no body");
    for (std::uint32_t id : f.variables) CheckVariable(module_.variables[id]);
    CheckParameters(f);
    for (const Prototype& p : f.prototypes)
      if (p.kind == Prototype::Kind::kBranchTargets)
        for (std::size_t i = 0; i < p.targets.size(); ++i)
          if (p.targets[i] == kNoId)
            Error(p.offset,
                  "label " + Quote(p.unresolved[i]) + " is not defined");
    for (const Instruction& inst : f.instructions) {
      inst_ = &inst;
      if (inst.form == nullptr) continue;  // reported by the parser
      CheckInstruction(inst);
    }
    inst_ = nullptr;
  }

  void CheckInstruction(const Instruction& inst) {
    const OpcodeRow& row = *inst.form->row;
    Gate(row);
    if (inst.guard != kNoId &&
        function_->registers[inst.guard].type != Type::kPred)
      Error(inst.offset,
            "guard " + Quote(RegisterName(*function_, inst.guard)) +
                " is of type ." +
                std::string(TypeName(function_->registers[inst.guard].type)) +
                ", expected .pred");
    if (inst.form->opcode() == Opcode::kCall) return CheckCall(inst);
    const OperandCount count = CountOperands(row);
    const int have = inst.num_operands;
    if (have < count.min || have > count.max) {
      std::string expected = std::to_string(count.min);
      if (count.max != count.min)
        expected += " to " + std::to_string(count.max);
      return Error(inst.offset, Mnemonic() + " has " + std::to_string(have) +
                                    " operands, expected " + expected + " (" +
                                    std::string(row.operands) + ")");
    }
    CheckConstants(inst);
    // Optional operands are left out from the first one on, as few as fit.
    int skip = count.max - have;
    int at = 0;
    for (std::size_t s = 0; s < row.specs.size(); ++s) {
      const OperandSpec& spec = row.specs[s];
      if ((spec.classes & kOpOptional) != 0 && skip > 0 &&
          !Matches(spec, OperandAt(at), at, row)) {
        --skip;
        continue;
      }
      CheckOperand(spec, OperandAt(at));
      ++at;
    }
  }

  const Operand& OperandAt(int i) const {
    static const Operand kMissing;
    if (i >= inst_->num_operands) return kMissing;
    return function_
        ->operands[inst_->first_operand + static_cast<std::uint32_t>(i)];
  }

  // Whether an optional operand is the one present: by position if all that
  // follow still fit.
  bool Matches(const OperandSpec& spec, const Operand& o, int at,
               const OpcodeRow& row) const {
    const int left = inst_->num_operands - at;
    int needed = 0;
    bool behind = false;
    for (const OperandSpec& other : row.specs) {
      if (&other == &spec) {
        behind = true;
        continue;
      }
      if (behind && (other.classes & kOpOptional) == 0) ++needed;
    }
    if (left <= needed) return false;
    if ((spec.classes & kOpAddress) != 0)
      return o.kind == OperandKind::kAddress;
    if ((spec.classes & (kOpVector | kOpRegister)) == kOpVector)
      return o.kind == OperandKind::kVector;
    if (o.kind == OperandKind::kRegister && TypeOf(spec) != Type::kNone)
      return Agrees(TypeOf(spec), function_->registers[o.index].type,
                    Width::kSame);
    return true;
  }

  // What the manual says of single instructions beside their operands' types.
  void CheckConstants(const Instruction& inst) {
    const Modifiers& mods = inst.form->mods;
    const auto constant = [&](int i, auto allowed, const char* expected) {
      const Operand& o = OperandAt(i);
      if (o.kind == OperandKind::kInt && !allowed(o.bits)) {
        Error(o.offset,
              Text(o) + " in " + Mnemonic() + ", expected " + expected);
      }
    };
    switch (inst.form->opcode()) {
      case Opcode::kBar:
      case Opcode::kBarrier: {
        const bool reduces = mods.bar() == Bar::kRed;
        const int first = reduces ? 1 : 0;
        constant(
            first, [](std::uint64_t v) { return v < 16; },
            "a barrier from 0 to 15");
        if (inst.num_operands == (reduces ? 4 : 2)) {
          constant(
              first + 1, [](std::uint64_t v) { return v % 32 == 0; },
              "a multiple of 32 threads");
        }
        break;
      }
      case Opcode::kMov: {
        const Operand& source = OperandAt(1);
        const auto width = static_cast<std::uint32_t>(mods.vector_width());
        for (int i = 0; i < 2 && width > 1; ++i) {
          const Operand& o = OperandAt(i);
          const bool fits =
              o.kind == OperandKind::kVector ? o.count == width
              : o.kind == OperandKind::kRegister
                  ? o.part == Component::kWhole &&
                        function_->registers[o.index].vector == width
                  : o.kind == OperandKind::kSpecial &&
                        o.part == Component::kWhole && width == 4 &&
                        SpecialRegIsVector(static_cast<SpecialReg>(o.index));
          if (!fits) {
            Error(o.offset, Text(o) + " in " + Mnemonic() +
                                ", expected a vector of " +
                                std::to_string(width));
          }
        }
        if (source.kind == OperandKind::kSpecial &&
            source.part == Component::kWhole && mods.vector_width() == 1 &&
            OperandAt(0).kind == OperandKind::kRegister &&
            function_->registers[OperandAt(0).index].vector <= 1 &&
            SpecialRegIsVector(static_cast<SpecialReg>(source.index))) {
          Error(source.offset, Text(source) + " in " + Mnemonic() +
                                   " is a vector, expected one of its "
                                   "components");
        }
        break;
      }
      case Opcode::kCpAsync:
        if (inst.num_operands < 3) break;
        if (mods.cache() == Cache::kCg) {
          constant(2, [](std::uint64_t v) { return v == 16; }, "16 bytes");
        } else {
          constant(
              2, [](std::uint64_t v) { return v == 4 || v == 8 || v == 16; },
              "4, 8 or 16 bytes");
        }
        break;
      case Opcode::kApplypriority:
      case Opcode::kDiscard:
      case Opcode::kFence:
        constant(1, [](std::uint64_t v) { return v == 128; }, "128 bytes");
        break;
      case Opcode::kPmevent:
        if (mods.option() == Option::kMask) {
          constant(
              0, [](std::uint64_t v) { return v <= 0xffff; },
              "a mask of 16 events");
        } else {
          constant(
              0, [](std::uint64_t v) { return v < 16; },
              "an event from 0 to 15");
        }
        break;
      case Opcode::kStBulk:
        constant(
            2, [](std::uint64_t v) { return v == 0; },
            "0, which is all that it can store");
        break;
      case Opcode::kMbarrierArrive:
      case Opcode::kMbarrierArriveDrop:
        // The state of another block's barrier is not told.
        if (mods.space() == Space::kSharedCluster &&
            OperandAt(0).kind != OperandKind::kSink) {
          Error(OperandAt(0).offset,
                Text(OperandAt(0)) + " in " + Mnemonic() + ", expected '_'");
        }
        break;
      case Opcode::kMad:
        // PTX ISA, "mad": the rounding is implied on sm_1x alone; ptxas
        // implies it before version 3.0 too.
        if (inst.form->type() == Type::kF32 && module_.sm >= 20 &&
            module_.version >= 30 && mods.rounding() == Rounding::kNone) {
          Error(inst.offset, Mnemonic() +
                                 " needs a rounding modifier "
                                 "(.rn, .rz, .rm or .rp) on sm_20 "
                                 "and newer targets");
        }
        break;
      default: break;
    }
  }

  void Gate(const OpcodeRow& row) {
    if (gated_.size() <= row.index) gated_.resize(row.index + 1u, false);
    if (gated_[row.index]) return;
    gated_[row.index] = true;
    // What 1.4 spelled out, 1.0 to 1.3 implied.
    if (module_.version != 0 &&
        row.ptx_version > std::max<int>(module_.version, 14))
      Warn(inst_->offset, Mnemonic() + " needs .version " +
                              std::to_string(row.ptx_version / 10) + "." +
                              std::to_string(row.ptx_version % 10) +
                              ", found " +
                              std::to_string(module_.version / 10) + "." +
                              std::to_string(module_.version % 10));
    if (module_.sm != 0 && row.min_sm > module_.sm)
      Warn(inst_->offset, Mnemonic() + " needs .target sm_" +
                              std::to_string(row.min_sm) +
                              std::string(row.arch) + ", found sm_" +
                              std::to_string(module_.sm));
  }

  // ---- Operands ----
  static std::string Expected(std::uint32_t c) {
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

  void WrongKind(const OperandSpec& spec, const Operand& o) {
    Error(o.offset, "operand '" + std::string(spec.name) + "' of " +
                        Mnemonic() + " is " + Text(o) + ", expected " +
                        Expected(spec.classes));
  }

  Type TypeOf(const OperandSpec& spec) const {
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

  Width WidthOf(const OperandSpec& spec) const {
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

  void CheckOperand(const OperandSpec& spec, const Operand& o) {
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
        return CheckRegister(spec, o, type,
                             (c & kOpScalarOrVector) != 0
                                 ? inst_->form->mods.vector_width()
                                 : 1);
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

  // [handle, {coordinates}] or [handle, sampler, {coordinates}].
  void CheckTexture(const Operand& o) {
    CheckNames(o);
    const Operand& handle = function_->operands[o.index];
    if (o.count == 0 || handle.kind != OperandKind::kRegister) return;
    const Type type = function_->registers[handle.index].type;
    if (BitsOf(type) != 64)
      Error(handle.offset, "handle " + Text(handle) + " of " + Mnemonic() +
                               " is a register of type ." +
                               std::string(TypeName(type)) +
                               ", expected one of 64 bits");
  }

  void CheckNames(const Operand& composite) {
    for (std::uint32_t i = 0; i < composite.count; ++i) {
      const Operand& child = function_->operands[composite.index + i];
      if (child.kind == OperandKind::kUnresolved)
        Error(child.offset, "undefined name " + Quote(module_.NameOf(child)));
      else if (child.is_composite()) CheckNames(child);
    }
  }

  void Mismatch(const OperandSpec& spec, const Operand& o, Type has,
                Type want) {
    Error(o.offset, "operand '" + std::string(spec.name) + "' of " +
                        Mnemonic() + " is " + Text(o) + " of type ." +
                        std::string(TypeName(has)) + ", expected ." +
                        std::string(TypeName(want)));
  }

  void CheckConstant(const OperandSpec& spec, const Operand& o, Type type) {
    if ((spec.classes & kOpImmediate) == 0) return WrongKind(spec, o);
    const bool is_float = o.kind != OperandKind::kInt;
    const TypeKind kind = KindOf(type);
    const bool wants_float = kind == TypeKind::kFloat ||
                             kind == TypeKind::kAltFloat ||
                             kind == TypeKind::kPackedFloat;
    const bool wants_int = kind == TypeKind::kUnsigned ||
                           kind == TypeKind::kSigned || kind == TypeKind::kPred;
    if ((is_float && wants_int) ||
        (!is_float && kind == TypeKind::kFloat && wants_float))
      Error(o.offset, "operand '" + std::string(spec.name) + "' of " +
                          Mnemonic() + " is the " +
                          (is_float ? "float " : "integer ") + Text(o) +
                          ", expected a constant of type ." +
                          std::string(TypeName(type)));
  }

  void CheckRegister(const OperandSpec& spec, const Operand& o, Type type,
                     int width) {
    const Register& reg = function_->registers[o.index];
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
    if (!Agrees(type, reg.type, WidthOf(spec)))
      Mismatch(spec, o, reg.type, type);
    if (o.negated && reg.type != Type::kPred &&
        inst_->form->opcode() != Opcode::kVmad)
      Error(o.offset, Text(o) + " negates a register of type ." +
                          std::string(TypeName(reg.type)) + ", expected .pred");
  }

  // ptxas takes integer registers as the floats of a vector in memory.
  bool HoldsElement(Type element, Type reg) const {
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

  void CheckVector(const OperandSpec& spec, const Operand& o, Type type) {
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

  void CheckPair(const OperandSpec& spec, const Operand& o, Type type) {
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

  void CheckSymbol(const Operand& o) {
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
    const VarSpace want = VarSpaceOf(inst_->form->mods.space());
    const VarSpace has = module_.variables[o.index].space;
    if (want != VarSpace::kReg && want != has)
      Error(o.offset, Text(o) + " is in " + std::string(VarSpaceName(has)) +
                          ", " + Mnemonic() + " needs " +
                          std::string(VarSpaceName(want)));
  }

  // The register that counts elements in array[%r].
  bool CheckCounter(const Operand& o) {
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
  bool NeedsWideAddress() const {
    switch (inst_->form->opcode()) {
      case Opcode::kLd:
      case Opcode::kLdu:
      case Opcode::kSt:
      case Opcode::kAtom:
      case Opcode::kRed:
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

  void CheckAddress(const Operand& o) {
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
    if (o.base == OperandKind::kInt &&
        inst_->form->mods.space() != Space::kLocal)
      return Error(o.offset, "address " + Text(o) + " of " + Mnemonic() +
                                 " is a constant, which only .local memory "
                                 "is accessed by");
    if (o.base != OperandKind::kVariable) return;
    if (inst_->form->opcode() == Opcode::kSt &&
        std::count(function_->params.begin(), function_->params.end(),
                   o.index) != 0) {
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
    // Of two spaces each is that of an address; a barrier may be a third one.
    int before = 0;
    for (int i = 0; &OperandAt(i) != &o && i < inst_->num_operands; ++i)
      before += OperandAt(i).kind == OperandKind::kAddress ? 1 : 0;
    const bool two = mods.space2() != Space::kNone;
    const VarSpace want =
        VarSpaceOf(two && before == 1 ? mods.space2() : mods.space());
    if (want == VarSpace::kReg || want == has || (two && before > 1)) return;
    Error(o.offset, Text(o) + " is in " + std::string(VarSpaceName(has)) +
                        ", " + Mnemonic() + " accesses " +
                        std::string(VarSpaceName(want)));
  }

  // ---- Calls ----
  void CheckCall(const Instruction& inst) {
    const Operand& returns = OperandAt(0);
    const Operand& callee = OperandAt(1);
    const Operand& arguments = OperandAt(2);
    const Operand& prototype = OperandAt(3);
    CheckNames(returns);
    CheckNames(arguments);
    if (callee.kind == OperandKind::kUnresolved)
      return Error(callee.offset, "call of " + Quote(module_.NameOf(callee)) +
                                      ", which is not declared");
    if (callee.kind == OperandKind::kFunction) {
      const Function& target = module_.functions[callee.index];
      if (target.is_entry)
        return Error(callee.offset,
                     "call of " + Quote(target.name) + ", which is an .entry");
      return CheckSignature(target.name, target.returns, returns, target.params,
                            arguments);
    }
    if (callee.kind != OperandKind::kRegister)
      return Error(callee.offset, "call of " + Text(callee) +
                                      ", expected a function or a register");
    if (prototype.kind == OperandKind::kUnresolved)
      return Error(
          prototype.offset,
          "prototype " + Quote(module_.NameOf(prototype)) + " is not defined");
    if (prototype.kind != OperandKind::kPrototype)
      return Error(inst.offset,
                   "indirect call without a .callprototype or .calltargets");
    const Prototype& p = function_->prototypes[prototype.index];
    if (p.kind == Prototype::Kind::kCallPrototype) {
      CheckSignature(p.name, p.returns, returns, p.params, arguments);
    } else if (p.kind == Prototype::Kind::kCallTargets) {
      if (!p.targets.empty() && p.targets[0] != kNoId) {
        const Function& target = module_.functions[p.targets[0]];
        CheckSignature(target.name, target.returns, returns, target.params,
                       arguments);
      }
    } else {
      Error(prototype.offset, Quote(p.name) +
                                  " is a list of labels, expected a "
                                  ".callprototype or .calltargets");
    }
  }

  void CheckSignature(std::string_view name,
                      const std::vector<std::uint32_t>& formal_returns,
                      const Operand& returns,
                      const std::vector<std::uint32_t>& formal_params,
                      const Operand& arguments) {
    CheckList("returns", name, formal_returns, returns);
    CheckList("takes", name, formal_params, arguments);
  }

  void CheckList(std::string_view verb, std::string_view name,
                 const std::vector<std::uint32_t>& formals,
                 const Operand& actuals) {
    if (formals.size() != actuals.count)
      return Error(inst_->offset, Quote(name) + " " + std::string(verb) + " " +
                                      std::to_string(formals.size()) +
                                      " values, the call has " +
                                      std::to_string(actuals.count));
    for (std::uint32_t i = 0; i < actuals.count; ++i) {
      const Operand& actual = function_->operands[actuals.index + i];
      const Variable& formal = module_.variables[formals[i]];
      std::uint64_t have = 0;
      if (actual.kind == OperandKind::kVariable) {
        have = module_.variables[actual.index].size();
      } else if (actual.kind == OperandKind::kRegister) {
        const Register& reg = function_->registers[actual.index];
        have = static_cast<std::uint64_t>(BytesOf(reg.type));
        if (actual.part == Component::kWhole) have *= reg.vector;
      } else {
        continue;
      }
      // An open array takes any size (variadic functions).
      if (formal.size() != 0 && have != formal.size())
        Error(actual.offset,
              "value " + Text(actual) + " of " + std::to_string(have) +
                  " bytes, " + Quote(name) + " " + std::string(verb) + " " +
                  std::to_string(formal.size()) + " bytes there");
    }
  }

  Module& module_;
  const DiagSink& sink_;
  Function* function_ = nullptr;
  const Instruction* inst_ = nullptr;
  int errors_ = 0;
  bool said_limit_ = false;
  int module_errors_ = 0;
  std::vector<bool> gated_;
};

}  // namespace

int Check(Module& module, const DiagSink& sink, int* module_errors) {
  return Checker(module, sink).Run(module_errors);
}

}  // namespace cerberus::ptx
