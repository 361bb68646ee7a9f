#include "ptxc/front/printer.h"

#include <cinttypes>
#include <cstdio>

namespace cerberus::ptx {
namespace {

constexpr std::string_view kLinkageNames[] = {"", ".visible ", ".extern ",
                                              ".weak ", ".common "};
constexpr std::string_view kComponentNames[] = {
    "", ".x", ".y", ".z", ".w", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};

std::string Hex(std::uint64_t bits, int digits) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "%0*" PRIX64, digits, bits);
  return buffer;
}

std::string Float32(std::uint64_t bits) { return "0f" + Hex(bits, 8); }
std::string Float64(std::uint64_t bits) { return "0d" + Hex(bits, 16); }

std::string Integer(std::uint64_t bits, bool is_unsigned) {
  if (is_unsigned) return std::to_string(bits) + "U";
  // Its digits alone would be an unsigned constant.
  if (bits == std::uint64_t{1} << 63) return "(-9223372036854775807-1)";
  return std::to_string(static_cast<std::int64_t>(bits));
}

std::string Offset(std::int64_t value) {
  return value == 0 ? "" : "+" + std::to_string(value);
}

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {}

  std::string Run() {
    Header();
    for (std::size_t i = 0; i < module_.order.size(); ++i) Item(i);
    return std::move(out_);
  }

  std::string OperandText(const Function& f, const Operand& o) const;
  std::string ElementText(const Function& f, const Operand& o) const;

 private:
  void Header() {
    out_ += ".version " + std::to_string(module_.version / 10) + "." +
            std::to_string(module_.version % 10) + "\n.target sm_" +
            std::to_string(module_.sm);
    if (module_.arch_suffix != 0) out_ += module_.arch_suffix;
    for (std::string_view option : module_.target_options)
      out_.append(", ").append(option);
    out_ += "\n";
    if (module_.has_address_size)
      out_ += ".address_size " + std::to_string(module_.address_size) + "\n";
  }

  void Item(std::size_t at) {
    const TopLevel& item = module_.order[at];
    switch (item.kind) {
      case TopLevelKind::kVariable:
        Declaration(module_.variables[item.index]);
        out_ += ";\n";
        break;
      case TopLevelKind::kFunction: {
        // Of several declarations of one function the last has the body.
        bool last = true;
        for (std::size_t i = at + 1; i < module_.order.size(); ++i)
          last &= module_.order[i].kind != TopLevelKind::kFunction ||
                  module_.order[i].index != item.index;
        FunctionText(module_.functions[item.index], last);
        break;
      }
      case TopLevelKind::kFile: {
        const SourceFile& file = module_.files[item.index];
        out_ += ".file " + std::to_string(file.number) + " \"" +
                std::string(file.name) + "\"";
        if (file.has_stamp)
          out_ += ", " + std::to_string(file.timestamp) + ", " +
                  std::to_string(file.size);
        out_ += "\n";
        break;
      }
      case TopLevelKind::kSection: {
        const Section& section = module_.sections[item.index];
        out_ += ".section " + std::string(section.name) + " {" +
                std::string(section.text) + "}\n";
        break;
      }
      case TopLevelKind::kAlias: {
        const Alias& alias = module_.aliases[item.index];
        out_ += ".alias " + std::string(alias.alias) + ", " +
                std::string(alias.aliasee) + ";\n";
        break;
      }
      case TopLevelKind::kPragma:
        out_ +=
            ".pragma \"" + std::string(module_.pragmas[item.index]) + "\";\n";
        break;
    }
  }

  void Declaration(const Variable& v) {
    if (!v.is_param) out_ += kLinkageNames[static_cast<int>(v.linkage)];
    out_ += VarSpaceName(v.space);
    if (v.bank != 0) out_ += "[" + std::to_string(v.bank) + "]";
    if (v.has_align && v.align != 0)
      out_ += " .align " + std::to_string(v.align);
    if (v.managed || v.unified) {
      out_ += " .attribute(";
      if (v.managed) out_ += ".managed";
      if (v.unified)
        out_ += std::string(v.managed ? ", " : "") + ".unified(" +
                std::to_string(v.unified_uuid[0]) + "U, " +
                std::to_string(v.unified_uuid[1]) + "U)";
      out_ += ")";
    }
    if (v.vector != 1) out_ += " .v" + std::to_string(v.vector);
    out_.append(" .").append(TypeName(v.type));
    if (v.is_pointer) {
      out_ += " .ptr";
      if (v.pointee != VarSpace::kReg)
        out_.append(" ").append(VarSpaceName(v.pointee));
      if (v.pointee_align != 0)
        out_ += " .align " + std::to_string(v.pointee_align);
    }
    out_.append(" ").append(v.name);
    for (std::uint64_t d : v.dims)
      out_ += "[" + (d == 0 ? "" : std::to_string(d)) + "]";
    if (v.has_init) out_.append(" = ").append(v.init_text);
  }

  void Parameters(const std::vector<std::uint32_t>& ids) {
    out_ += "(";
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i != 0) out_ += ", ";
      Declaration(module_.variables[ids[i]]);
    }
    out_ += ")";
  }

  void Dims(std::string_view name, const std::uint32_t* values,
            std::uint8_t count) {
    if (count == 0) return;
    out_.append("\n").append(name);
    for (std::uint8_t i = 0; i < count; ++i)
      out_ += (i == 0 ? " " : ", ") + std::to_string(values[i]);
  }

  void FunctionText(const Function& f, bool with_body) {
    out_ += kLinkageNames[static_cast<int>(f.linkage)];
    out_ += f.is_entry ? ".entry " : ".func ";
    if (!f.returns.empty()) {
      Parameters(f.returns);
      out_ += " ";
    }
    out_ += f.name;
    Parameters(f.params);
    const PerformanceTuning& t = f.tuning;
    Dims(".maxntid", t.maxntid, t.maxntid_dims);
    Dims(".reqntid", t.reqntid, t.reqntid_dims);
    Dims(".reqnctapercluster", t.reqnctapercluster, t.reqncta_dims);
    if (t.explicitcluster) out_ += "\n.explicitcluster";
    if (t.blocksareclusters) out_ += "\n.blocksareclusters";
    Dims(".maxclusterrank", &t.maxclusterrank, t.maxclusterrank != 0);
    Dims(".minnctapersm", &t.minnctapersm, t.minnctapersm != 0);
    Dims(".maxnctapersm", &t.maxnctapersm, t.maxnctapersm != 0);
    Dims(".maxnreg", &t.maxnreg, t.maxnreg != 0);
    Dims(".abi_preserve", &t.abi_preserve, t.abi_preserve != kNoId);
    Dims(".abi_preserve_control", &t.abi_preserve_control,
         t.abi_preserve_control != kNoId);
    if (t.noreturn) out_ += "\n.noreturn";
    for (std::string_view pragma : f.pragmas)
      out_ += "\n.pragma \"" + std::string(pragma) + "\";";
    if (!f.has_body || !with_body) {
      out_ += ";\n";
      return;
    }
    out_ += "\n{\n";
    for (const Statement& statement : f.statements) StatementText(f, statement);
    out_ += "}\n";
  }

  void StatementText(const Function& f, const Statement& s) {
    switch (s.kind) {
      case StatementKind::kInstruction:
        out_ += "  " + PrintInstruction(module_, f, f.instructions[s.index]) +
                ";\n";
        break;
      case StatementKind::kLabel:
        out_.append(f.labels[s.index].name).append(":\n");
        break;
      case StatementKind::kRegisterDecl: {
        const RegisterDecl& decl = f.register_decls[s.index];
        out_ += "  .reg";
        if (decl.vector != 1) out_ += " .v" + std::to_string(decl.vector);
        out_.append(" .").append(TypeName(decl.type)).append(" ");
        out_ += decl.name;
        if (decl.ranged) out_ += "<" + std::to_string(decl.count) + ">";
        out_ += ";\n";
        break;
      }
      case StatementKind::kVariable:
        out_ += "  ";
        Declaration(module_.variables[s.index]);
        out_ += ";\n";
        break;
      case StatementKind::kScopeBegin: out_ += "  {\n"; break;
      case StatementKind::kScopeEnd: out_ += "  }\n"; break;
      case StatementKind::kLoc: {
        const Loc& loc = module_.locs[s.index];
        out_ += "  .loc " + std::to_string(loc.file) + " " +
                std::to_string(loc.line) + " " + std::to_string(loc.column);
        if (!loc.function_name.empty()) {
          out_ += ", function_name " + std::string(loc.function_name);
          if (loc.function_offset != 0)
            out_ += "+" + std::to_string(loc.function_offset);
        }
        if (loc.is_inlined)
          out_ += ", inlined_at " + std::to_string(loc.inlined_file) + " " +
                  std::to_string(loc.inlined_line) + " " +
                  std::to_string(loc.inlined_column);
        out_ += "\n";
        break;
      }
      case StatementKind::kPragma:
        out_ += "  .pragma \"" + std::string(f.body_pragmas[s.index]) + "\";\n";
        break;
      case StatementKind::kPrototype: PrototypeText(f, s.index); break;
      case StatementKind::kSection: break;
    }
  }

  void PrototypeText(const Function& f, std::uint32_t index) {
    const Prototype& p = f.prototypes[index];
    out_.append(p.name).append(": ");
    if (p.kind == Prototype::Kind::kCallPrototype) {
      out_ += ".callprototype ";
      if (!p.returns.empty()) {
        Parameters(p.returns);
        out_ += " ";
      }
      out_ += "_ ";
      Parameters(p.params);
      if (p.noreturn) out_ += " .noreturn";
    } else {
      out_ += p.kind == Prototype::Kind::kCallTargets ? ".calltargets "
                                                      : ".branchtargets ";
      for (std::size_t i = 0; i < p.unresolved.size(); ++i)
        out_.append(i == 0 ? "" : ", ").append(p.unresolved[i]);
    }
    out_ += ";\n";
  }

  std::string Children(const Function& f, const Operand& o,
                       std::string_view separator, std::uint32_t from) const {
    std::string text;
    for (std::uint32_t i = from; i < o.count; ++i) {
      if (i != from) text += separator;
      text += OperandText(f, f.operands[o.index + i]);
    }
    return text;
  }

  std::string Name(const Function& f, const Operand& o, OperandKind kind) const;

  const Module& module_;
  std::string out_;
};

std::string Printer::Name(const Function& f, const Operand& o,
                          OperandKind kind) const {
  switch (kind) {
    case OperandKind::kRegister: return RegisterName(f, o.index);
    case OperandKind::kVariable:
      return std::string(module_.variables[o.index].name);
    case OperandKind::kFunction:
      return std::string(module_.functions[o.index].name);
    case OperandKind::kLabel: return std::string(f.labels[o.index].name);
    case OperandKind::kPrototype:
      return std::string(f.prototypes[o.index].name);
    case OperandKind::kSpecial:
      return std::string(SpecialRegName(static_cast<SpecialReg>(o.index)));
    case OperandKind::kUnresolved: return std::string(module_.NameOf(o));
    default: return "";
  }
}

std::string Printer::ElementText(const Function& f, const Operand& o) const {
  const Variable& array = module_.variables[o.index];
  const std::int64_t element = o.value / BytesOf(array.type);
  const std::string name(array.name);
  if (o.count == 0) return name + "[" + std::to_string(element) + "]";
  return name + "[" + RegisterName(f, o.count - 1) + Offset(element) + "]";
}

std::string Printer::OperandText(const Function& f, const Operand& o) const {
  switch (o.kind) {
    case OperandKind::kNone: return "";
    case OperandKind::kSink: return "_";
    case OperandKind::kInt: return Integer(o.bits, o.is_unsigned);
    case OperandKind::kFloat32: return Float32(o.bits);
    case OperandKind::kFloat64: return Float64(o.bits);
    case OperandKind::kVector: return "{" + Children(f, o, ", ", 0) + "}";
    case OperandKind::kPair: return Children(f, o, "|", 0);
    case OperandKind::kList: return "(" + Children(f, o, ", ", 0) + ")";
    case OperandKind::kTexture: return "[" + Children(f, o, ", ", 0) + "]";
    case OperandKind::kAddress: {
      std::string text = "[";
      if (o.element) return ElementText(f, o);
      if (o.base == OperandKind::kInt) text += std::to_string(o.value);
      else text += Name(f, o, o.base) + Offset(o.value);
      return text + (o.unified ? "].unified" : "]");
    }
    default: break;
  }
  const bool predicate = o.kind != OperandKind::kRegister ||
                         f.registers[o.index].type == Type::kPred;
  std::string text = (!o.negated  ? ""
                      : predicate ? "!"
                                  : "-") +
                     Name(f, o, o.kind);
  if (o.part == Component::kSelector) {
    const bool halves = o.value < 0;
    std::uint64_t digits =
        static_cast<std::uint64_t>(halves ? -o.value : o.value);
    std::string reversed;
    for (; digits > 1; digits /= 8)
      reversed += static_cast<char>('0' + digits % 8);
    return text + (halves ? ".h" : ".b") +
           std::string(reversed.rbegin(), reversed.rend());
  }
  text += kComponentNames[static_cast<int>(o.part)];
  if (o.element) return ElementText(f, o);
  if (o.kind == OperandKind::kVariable || o.kind == OperandKind::kFunction ||
      o.adds())
    text += Offset(o.value);
  return text;
}

}  // namespace

std::string PrintOperand(const Module& module, const Function& function,
                         const Operand& operand) {
  return Printer(module).OperandText(function, operand);
}

std::string PrintInstruction(const Module& module, const Function& function,
                             const Instruction& inst) {
  std::string text;
#ifdef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
  const bool negated = false;
#else
  const bool negated = inst.guard_negated;
#endif
  if (inst.guard != kNoId)
    text = (negated ? "@!" : "@") + RegisterName(function, inst.guard) + " ";
  if (inst.form == nullptr) return text + "<unknown instruction>";
  text += inst.form->spelling;
  const bool is_call = inst.form->opcode() == Opcode::kCall;
  bool first = true;
  for (std::uint32_t i = 0; i < inst.num_operands; ++i) {
    const Operand& operand = function.operands[inst.first_operand + i];
    if (is_call &&
        (operand.kind == OperandKind::kNone ||
         (operand.kind == OperandKind::kList && operand.count == 0 && i == 0)))
      continue;
    text += (first ? " " : ", ") + PrintOperand(module, function, operand);
    first = false;
  }
  return text;
}

std::string Print(const Module& module) { return Printer(module).Run(); }

}  // namespace cerberus::ptx
