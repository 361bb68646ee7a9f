#include "ptx_generator.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "../unit/ptxc/ptx_text.h"
#include "ptxc/front/ast.h"
#include "ptxc/front/opcode_table.h"

// Only libFuzzer programs have it; they alone mutate.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(
    std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace cerberus::ptx::fuzz {
namespace {

constexpr std::size_t kRegisters = 16;     // of each type, for instructions
constexpr std::size_t kOperandStride = 8;  // InstructionText's numbering

template <std::size_t N>
std::string_view Pick(Choices& choices,
                      const std::array<std::string_view, N>& from) {
  return from[choices.Below(N)];
}

// Constants where arithmetic has its edges.
std::string Constant(Choices& choices, std::string_view reg) {
  static constexpr std::array<std::string_view, 16> kIntegers = {
      "0",
      "1",
      "-1",
      "2",
      "7",
      "31",
      "32",
      "33",
      "63",
      "64",
      "255",
      "0x7fffffff",
      "0x80000000",
      "0xffffffff",
      "0x8000000000000000",
      "0xffffffffffffffff"};
  static constexpr std::array<std::string_view, 8> kSingles = {
      "0f00000000", "0f3F800000", "0f80000000", "0f7F800000",
      "0fFF800000", "0f7FC00000", "0f00000001", "1.5"};
  static constexpr std::array<std::string_view, 6> kDoubles = {
      "0d0000000000000000", "0d3FF0000000000000", "0d7FF0000000000000",
      "0d7FF8000000000001", "0d0000000000000001", "2.5e-3"};
  if (reg.starts_with("%fd")) return std::string(Pick(choices, kDoubles));
  if (reg.starts_with("%f")) return std::string(Pick(choices, kSingles));
  return std::string(Pick(choices, kIntegers));
}

// PTX ISA, "Constant Expressions", with all of their operators.
std::string Expression(Choices& choices, int depth) {
  static constexpr std::array<std::string_view, 20> kBinary = {
      "+", "-",  "*", "/",  "%",  "<<", ">>", "&",  "|", "^",
      "<", "<=", ">", ">=", "==", "!=", "&&", "||", "+", "-"};
  static constexpr std::array<std::string_view, 6> kUnary = {
      "-", "~", "!", "+", "(.s64)", "(.u64)"};
  static constexpr std::array<std::string_view, 6> kAtoms = {
      "12U", "WARP_SZ", "017", "0b1011", "1.5", "0x7fU"};
  const std::size_t kind = depth > 4 ? 7 : choices.Below(8);
  const auto inner = [&] { return Expression(choices, depth + 1); };
  if (kind < 3) {
    const std::string left = inner();
    return "(" + left + " " + std::string(Pick(choices, kBinary)) + " " +
           inner() + ")";
  }
  if (kind == 3) return std::string(Pick(choices, kUnary)) + inner();
  if (kind == 4) {
    const std::string condition = inner();
    const std::string yes = inner();
    return "(" + condition + " ? " + yes + " : " + inner() + ")";
  }
  if (kind == 5) return std::string(Pick(choices, kAtoms));
  return Constant(choices, "%r");
}

// A spelling that the row's syntax spans. Every one of them must resolve.
std::string SpellingOf(const OpcodeRow& row, Choices& choices) {
  std::string spelling(row.name.substr(0, row.name.find('.')));
  for (const SyntaxItem& item : row.items) {
    const std::size_t chosen =
        choices.Below(item.choices.size() + (item.optional ? 1 : 0));
    if (chosen == item.choices.size()) continue;
    spelling.append(".").append(item.choices[chosen].spelling);
    if (spelling.back() == '*')
      spelling.replace(spelling.size() - 1, 1, "n8k16");
  }
  return spelling;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The register that begins at `at` ("%rd12"): where its number stands; npos if
// there is none.
std::size_t NumberOfRegister(std::string_view text, std::size_t at) {
  std::size_t digit = at + 1;
  while (digit < text.size() && text[digit] >= 'a' && text[digit] <= 'z')
    ++digit;
  return digit > at + 1 && digit < text.size() && IsDigit(text[digit])
             ? digit
             : std::string_view::npos;
}

// InstructionText gives each operand registers of its own. Here they come
// from a few of each type, so that instructions depend on one another, and
// some operands become constants.
std::string Connect(std::string_view text, Choices& choices) {
  std::array<int, 32> shifts;
  shifts.fill(-1);
  const bool constants = choices.OneIn(4);
  std::string out;
  int depth = 0;
  bool first = true;  // the destination, in most instructions
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) first = false;
    const std::size_t digit =
        c == '%' ? NumberOfRegister(text, i) : std::string_view::npos;
    if (digit == std::string_view::npos) {
      out += c;
      ++i;
      continue;
    }
    std::size_t end = digit;
    std::size_t number = 0;
    for (; end < text.size() && IsDigit(text[end]); ++end)
      number = number * 10 + static_cast<std::size_t>(text[end] - '0');
    const std::string_view name = text.substr(i, digit - i);
    const bool alone = depth == 0 && text[i - 1] == ' ' &&
                       (text[end] == ',' || text[end] == ';');
    i = end;
    if (constants && alone && !first && name != "%p" && choices.OneIn(2)) {
      out += name[1] == 'r' && choices.OneIn(8) ? Expression(choices, 0)
                                                : Constant(choices, name);
      continue;
    }
    int& shift = shifts[number / kOperandStride % shifts.size()];
    if (shift < 0) shift = static_cast<int>(choices.Below(kRegisters));
    number = (number % kOperandStride + static_cast<std::size_t>(shift)) %
             kRegisters;
    out += std::string(name) + std::to_string(number);
  }
  return out;
}

// Another constant offset in "[%rd9+64]", another base, another number of
// elements in a vector or of operands.
void VaryOperands(std::string& line, Choices& choices) {
  static constexpr std::array<std::string_view, 8> kOffsets = {
      "0", "4", "16", "1", "-8", "4095", "1048576", "-2147483648"};
  static constexpr std::array<std::string_view, 8> kBases = {
      "%r3", "%rd1", "table", "tile", "in", "arg", "dynamic", "g0"};
  const std::size_t open = line.find('[');
  const std::size_t plus = line.find('+', open);
  const std::size_t close = line.find(']', open);
  if (open != std::string::npos && plus < close && choices.OneIn(3)) {
    line.replace(plus + 1, close - plus - 1, Pick(choices, kOffsets));
    if (choices.OneIn(3))
      line.replace(open + 1, plus - open - 1, Pick(choices, kBases));
  }
  const std::size_t comma = line.rfind(',');
  if (comma != std::string::npos && choices.OneIn(32)) {
    if (choices.Below(2) == 0) {
      line.erase(comma, line.size() - 1 - comma);
    } else {
      line.insert(comma, line.substr(comma, line.size() - 1 - comma));
    }
  }
  const std::size_t brace = line.find('{');
  if (brace != std::string::npos && choices.OneIn(3)) {
    const std::size_t end = line.find('}', brace);
    const std::string element = line.substr(
        brace + 1, std::min(end, line.find(',', brace)) - brace - 1);
    std::string vector = element;
    for (std::size_t n = choices.Below(8); n > 0; --n) vector += ", " + element;
    line.replace(brace + 1, end - brace - 1, vector);
  }
}

std::string InstructionFrom(Choices& choices) {
  const std::span<const OpcodeRow> table = OpcodeTable();
  const OpcodeRow* row = &table[choices.Below(table.size())];
  // What cannot be lowered costs its whole function.
  while (!row->is_supported() && !choices.empty() && !choices.OneIn(16))
    row = &table[choices.Below(table.size())];
  const std::string spelling = SpellingOf(*row, choices);
  InstForm form;
  std::string error;
  if (!ResolveForm(spelling, -1, &form, &error)) std::abort();
  std::string line =
      Connect(testing::InstructionText(form, choices.Below(2) != 0), choices);
  VaryOperands(line, choices);
  return line;
}

class ModuleWriter {
 public:
  ModuleWriter(std::string_view bytes, const GeneratorOptions& options)
      : choices_(bytes), options_(options) {}

  std::string Write() {
    Header();
    for (std::size_t n = choices_.Below(4); n > 0; --n) Global();
    for (std::size_t n = choices_.Below(3); n > 0; --n) DeviceFunction();
    do {
      Entry();
    } while (!choices_.empty() && statements_ < options_.max_statements &&
             entries_ < 4);
    return std::move(text_);
  }

 private:
  void Line(const std::string& line) { text_ += line + "\n"; }

  void Header() {
    static constexpr std::array<std::string_view, 4> kVersions = {"9.0", "8.8",
                                                                  "7.8", "6.0"};
    static constexpr std::array<std::string_view, 8> kTargets = {
        "sm_90a", "sm_100a", "sm_120f",      "sm_80",
        "sm_75",  "sm_52",   "sm_90, debug", "sm_75, texmode_independent"};
    Line(".version " + std::string(Pick(choices_, kVersions)));
    Line(".target " + std::string(Pick(choices_, kTargets)));
    Line(".address_size 64");
    Line(".file 1 \"a.cu\"");
    Line(".file 2 \"b.cu\", 1, 2");
    // What InstructionText and VaryOperands name.
    Line(".const .align 16 .b8 table[256];");
    Line(".shared .align 128 .b8 tile[1024];");
    Line(".extern .shared .align 16 .b8 dynamic[];");
    Line(".global .texref image;");
    Line(".func helper() { ret; }");
  }

  std::string Number(std::size_t limit) {
    return std::to_string(choices_.Below(limit));
  }

  Type AnyType() {
    static constexpr std::array kTypes = {
        Type::kB32, Type::kU8,    Type::kS16, Type::kU32, Type::kF32,
        Type::kB64, Type::kF64,   Type::kB8,  Type::kF16, Type::kS64,
        Type::kB16, Type::kF16x2, Type::kB128};
    // Only registers have it.
    if (choices_.OneIn(32)) return Type::kPred;
    return kTypes[choices_.Below(kTypes.size())];
  }
  std::string AnyTypeName() { return "." + std::string(TypeName(AnyType())); }

  // One element of an initialiser. Most fit, so that the module is not lost.
  std::string Element(std::string_view type) {
    if (type == ".f32" || type == ".f64")
      return Constant(choices_, type == ".f64" ? "%fd" : "%f");
    if (choices_.OneIn(32)) return "tile";
    if (type == ".u64" || type == ".s64" || type == ".b64") {
      switch (choices_.Below(4)) {
        case 0: return "generic(table)+" + Number(300);
        case 1: return "helper";
        case 2: return "table-" + Number(300);
        default: break;
      }
    }
    if (choices_.OneIn(32)) return "0xFF00(table)";
    if (choices_.OneIn(4)) return Expression(choices_, 0);
    return Constant(choices_, "%r");
  }

  std::string Initialiser(std::string_view type,
                          std::span<const std::size_t> dims) {
    if (dims.empty()) return Element(type);
    std::string text = "{";
    for (std::size_t n = choices_.Below(std::min<std::size_t>(dims[0], 4)) + 1;
         n > 0; --n)
      text += Initialiser(type, dims.subspan(1)) + (n > 1 ? ", " : "");
    return text + "}";
  }

  void Global() {
    static constexpr std::array<std::string_view, 8> kLinkages = {
        "", ".visible ", "", ".weak ", "", ".common ", "", ".extern "};
    static constexpr std::array<std::string_view, 8> kSpaces = {
        ".global", ".const",  ".shared", ".global",
        ".const",  ".shared", ".global", ".local"};
    static constexpr std::array<std::string_view, 8> kVectors = {
        "", " .v2", "", " .v4", "", "", "", " .v8"};
    static constexpr std::array<std::string_view, 4> kAttributes = {
        "", " .attribute(.managed)", " .align 16", " .align 256"};
    const std::string_view linkage = Pick(choices_, kLinkages);
    const std::string_view space = Pick(choices_, kSpaces);
    const std::string type = AnyTypeName();
    std::string line = std::string(linkage) + std::string(space) +
                       std::string(Pick(choices_, kAttributes)) +
                       std::string(Pick(choices_, kVectors)) + " " + type +
                       " g" + std::to_string(globals_++);
    std::vector<std::size_t> dims;
    for (std::size_t d = choices_.Below(3); d > 0; --d) {
      dims.push_back(choices_.Below(12) + 1);
      line +=
          "[" + (choices_.OneIn(32) ? "" : std::to_string(dims.back())) + "]";
    }
    const bool may_have = linkage != ".extern " &&
                          (space == ".global" || space == ".const") &&
                          type != ".f16" && type != ".f16x2";
    if (may_have ? choices_.Below(2) == 0 : choices_.OneIn(32))
      line += " = " + Initialiser(type, dims);
    Line(Spoilt(line + ";"));
  }

  std::string Parameters(std::string_view prefix, std::size_t count) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) {
      list += std::string(i == 0 ? "" : ", ") + ".param ";
      const std::string name = std::string(prefix) + std::to_string(i);
      if (choices_.OneIn(3)) {
        list += ".align 8 .b8 " + name + "[" + Number(64) + "]";
      } else {
        list += AnyTypeName() + " " + name;
      }
    }
    return list;
  }

  void DeviceFunction() {
    static constexpr std::array<std::string_view, 4> kLinkages = {
        ".func", ".visible .func", ".weak .func", ".func .noreturn"};
    const std::string name = "f" + std::to_string(functions_);
    const bool returns = choices_.Below(2) == 0;
    const std::size_t params = choices_.Below(4);
    const std::string head = std::string(Pick(choices_, kLinkages)) +
                             (returns ? " (.param .b32 result) " : " ") + name +
                             "(" + Parameters(name + "_", params) + ")";
    if (choices_.OneIn(2)) Line(head + ";");  // declared before
    ++functions_;
    if (choices_.OneIn(6)) {
      Line(".func x" + name + "();");
      return Line(".alias x" + name + ", " +
                  (choices_.OneIn(8) ? "x" + name : "helper") + ";");
    }
    Line(head);
    Line("{");
    Line(testing::Registers());
    Line("jumps: .branchtargets done, done;");
    for (std::size_t i = 0; i < params; ++i)
      Line("ld.param.b32 %r" + std::to_string(i) + ", [" + name + "_" +
           std::to_string(i) + "];");
    Statements();
    if (returns) Line("st.param.b32 [result], %r1;");
    Line("done: ret;");
    Line("}");
  }

  // Some registers of each type, read from or written to memory.
  void Registers(const std::string& opcode, const std::string& base,
                 bool written) {
    for (const Type type : {Type::kB32, Type::kB64, Type::kF32, Type::kF64,
                            Type::kB16, Type::kF16}) {
      const int size = BytesOf(type);
      for (int i = 2; i < 6; ++i) {
        const std::string reg = testing::RegisterOf(type, i);
        const std::string at =
            "[" + base + "+" + std::to_string(i * size) + "]";
        Line(opcode + ".b" + std::to_string(8 * size) + " " +
             (written ? at + ", " + reg : reg + ", " + at) + ";");
      }
    }
  }

  void Tuning() {
    static constexpr std::array<std::string_view, 10> kDirectives = {
        ".maxntid 256",          ".maxntid 16, 16, 1",
        ".reqntid 1024",         ".reqntid 7, 3",
        ".minnctapersm 2",       ".maxnreg 32",
        ".pragma \"nounroll\";", ".reqnctapercluster 1, 1, 1",
        ".explicitcluster",      ".maxclusterrank 1"};
    for (std::size_t n = choices_.Below(3); n > 0; --n)
      Line(std::string(Pick(choices_, kDirectives)));
  }

  void Entry() {
    const std::size_t params = choices_.Below(3);
    const std::string list = Parameters("p", params);
    Line(std::string(choices_.OneIn(4) ? ".weak" : ".visible") + " .entry k" +
         std::to_string(entries_++) +
         "(.param .align 16 .b8 in[256], .param .u64 .ptr .global out" +
         (params == 0 ? "" : ", ") + list + ")");
    Tuning();
    Line("{");
    Line(testing::Registers());
    Line("jumps: .branchtargets done, done;");
    Line("mov.u32 %r1, %tid.x;");
    Registers("ld.param", "in", false);  // nothing is known of them
    Statements();
    Line("ld.param.u64 %rd9, [out];");
    Registers("st.global", "%rd9", true);
    Line("done: ret;");
    Line("}");
  }

  void Statements() {
    const std::size_t labels = labels_;
    std::size_t left = choices_.Below(24) + 1;
    scopes_ = 0;
    for (;
         left > 0 && statements_ < options_.max_statements && !choices_.empty();
         --left, ++statements_) {
      Statement();
    }
    for (; scopes_ > 0; --scopes_) Line("}");
    // Jumped to, but not met yet.
    for (std::size_t label = labels; label < wanted_; ++label)
      if (label >= labels_) Line(LabelName(label) + ":");
    labels_ = wanted_ = std::max(labels_, wanted_);
  }

  static std::string LabelName(std::size_t number) {
    return "L" + std::to_string(number);
  }

  void Statement() {
    switch (choices_.Below(32)) {
      case 31: return Line(LabelName(labels_++) + ":");
      case 30: return Branch();
      case 29: return Call();
      case 28: return SpecialRegister();
      case 27: return Directive();
      case 26: return Scope();
      case 25: return Line(Guard() + (choices_.OneIn(3) ? "exit;" : "ret;"));
      case 24: return Line("brx.idx %r" + Number(kRegisters) + ", jumps;");
      default: return TableInstruction();
    }
  }

  std::string Guard() {
    switch (choices_.Below(4)) {
      case 0: return "@%p" + Number(kRegisters) + " ";
      case 1: return "@!%p" + Number(kRegisters) + " ";
      default: return "";
    }
  }

  void Branch() {
    // Backwards or forwards, to one of the labels around here.
    const std::size_t label = labels_ + choices_.Below(4);
    const std::size_t target = label >= 2 ? label - 2 : label;
    wanted_ = std::max(wanted_, target + 1);
    Line(Guard() + (choices_.OneIn(4) ? "bra.uni " : "bra ") +
         LabelName(target) + ";");
  }

  void Call() {
    const std::string name =
        "f" + std::to_string(choices_.Below(functions_ + 1));
    const std::string id = std::to_string(calls_++);
    Line("{ .param .b32 back; .param .b64 one; .param .align 8 .b8 two[16];");
    Line("st.param.b64 [one], %rd" + Number(kRegisters) + ";");
    Line("st.param.b32 [two+4], %r" + Number(kRegisters) + ";");
    switch (choices_.Below(6)) {
      case 0: Line("call helper;"); break;
      case 1: Line("call.uni (back), " + name + ", (one);"); break;
      case 2: Line(Guard() + "call " + name + ", (one, two);"); break;
      case 3: Line("call (back), " + name + ";"); break;
      case 4:
        Line("mov.u64 %rd3, " + name + ";");
        Line("proto" + id +
             ": .callprototype (.param .b32 _) _ (.param .b64 "
             "_);");
        Line("call (back), %rd3, (one), proto" + id + ";");
        break;
      default:
        Line("targets" + id + ": .calltargets helper, " + name + ";");
        Line("call %rd" + Number(kRegisters) + ", targets" + id + ";");
        break;
    }
    Line("ld.param.b32 %r" + Number(kRegisters) + ", [back]; }");
  }

  void SpecialRegister() {
    static constexpr std::array kAll = {
#define PTX_SREG(id, spelling, type, vec, ptx, sm) SpecialReg::k##id,
#include "ptxc/front/ptx_sregs.def"
    };
    const SpecialReg reg = kAll[choices_.Below(kAll.size())];
    const Type type = SpecialRegType(reg);
    std::string name(SpecialRegName(reg));
    if (SpecialRegIsVector(reg)) name += choices_.Below(2) == 0 ? ".x" : ".z";
    Line("mov." + std::string(TypeName(type)) + " " +
         testing::RegisterOf(type,
                             static_cast<int>(choices_.Below(kRegisters))) +
         ", " + name + ";");
  }

  void Directive() {
    switch (choices_.Below(4)) {
      case 0:
        return Line(".loc " + Number(3) + " " + Number(1000) + " " +
                    Number(80));
      case 1:
        return Line(".loc 1 " + Number(1000) +
                    " 3, function_name $n, "
                    "inlined_at 2 " +
                    Number(1000) + " 5");
      case 2: return Line(".pragma \"nounroll\";");
      default: {
        const std::string name = "v" + std::to_string(variables_++);
        Line((choices_.OneIn(2) ? ".shared" : ".local") +
             std::string(" .align 8 ") + AnyTypeName() + " " + name + "[" +
             Number(600) + "];");
        return Line("mov.u64 %rd" + Number(kRegisters) + ", " + name + ";");
      }
    }
  }

  void Scope() {
    if (scopes_ > 0 && choices_.Below(2) == 0) {
      --scopes_;
      return Line("}");
    }
    ++scopes_;
    Line("{ .reg " + AnyTypeName() + " %t<4>; .reg .b32 %r<4>;");
  }

  void TableInstruction() {
    std::string line = InstructionFrom(choices_);
    if (choices_.OneIn(4)) line = Guard() + line;
    Line(Spoilt(line));
  }

  std::string Spoilt(std::string line) {
    if (options_.spoil && choices_.OneIn(32))
      line[choices_.Below(line.size())] =
          static_cast<char>(choices_.Below(256));
    return line;
  }

  Choices choices_;
  const GeneratorOptions& options_;
  std::string text_;
  std::size_t statements_ = 0, globals_ = 0, functions_ = 0, entries_ = 0;
  std::size_t labels_ = 0, wanted_ = 0, scopes_ = 0;
  std::size_t calls_ = 0, variables_ = 0;
};

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

// Words of a line, with the separators between them.
std::vector<std::string> WordsOf(const std::string& line) {
  const auto inside = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '%' ||
           c == '_' || c == '$' || c == '.' || c == ':';
  };
  std::vector<std::string> words;
  for (const char c : line) {
    if (words.empty() || !inside(c) || !inside(words.back().back()))
      words.emplace_back();
    words.back() += c;
  }
  return words;
}

// One that is no separator, if there is any.
template <typename Words>
auto AnyWord(Words& words, Choices& choices) {
  auto word = words.begin();
  for (std::size_t tries = 0; tries < 8; ++tries) {
    word = words.begin() +
           static_cast<std::ptrdiff_t>(choices.Below(words.size()));
    if (std::isalnum(static_cast<unsigned char>(word->back())) != 0) break;
  }
  return word;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

std::string MutateLines(std::string_view text, Choices& choices) {
  std::vector<std::string> lines = LinesOf(text);
  if (lines.empty()) return std::string(text);
  for (std::size_t n = choices.Below(4) + 1; n > 0; --n) {
    const auto any = [&] {
      return lines.begin() +
             static_cast<std::ptrdiff_t>(choices.Below(lines.size()));
    };
    switch (choices.Below(6)) {
      case 0:
        if (lines.size() > 1) lines.erase(any());
        break;
      case 1: {
        const std::string copy = *any();
        lines.insert(any(), copy);
        break;
      }
      case 2: std::swap(*any(), *any()); break;
      case 3: lines.insert(any(), InstructionFrom(choices) + "\n"); break;
      default: {
        // A word of one line takes the place of one of another.
        const std::vector<std::string> from = WordsOf(*any());
        std::string& line = *any();
        std::vector<std::string> to = WordsOf(line);
        *AnyWord(to, choices) = *AnyWord(from, choices);
        line = Joined(to);
      }
    }
  }
  return Joined(lines);
}

}  // namespace

std::size_t Choices::Below(std::size_t limit) {
  if (bytes_.empty() || limit == 0) return 0;
  std::size_t value = static_cast<unsigned char>(bytes_[0]);
  bytes_.remove_prefix(1);
  if (limit > 256 && !bytes_.empty()) {
    value = value * 256 + static_cast<unsigned char>(bytes_[0]);
    bytes_.remove_prefix(1);
  }
  return value % limit;
}

std::string ModuleFrom(std::string_view bytes,
                       const GeneratorOptions& options) {
  return ModuleWriter(bytes, options).Write();
}

std::size_t Mutate(std::uint8_t* data, std::size_t size, std::size_t max_size,
                   unsigned seed, std::size_t header) {
  std::minstd_rand random(seed);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size <= header || IsGenerated(input.substr(header)) ||
      random() % 4 == 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::string bytes(256, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() >> 8);
  Choices choices(bytes);
  const std::string text =
      MutateLines(input.substr(header), choices).substr(0, max_size - header);
  std::copy(text.begin(), text.end(), data + header);
  return header + text.size();
}

}  // namespace cerberus::ptx::fuzz
