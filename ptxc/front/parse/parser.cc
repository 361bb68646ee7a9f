// Module scope: directives, variables, functions' heads.
#include "ptxc/front/parse/parser.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "ptxc/front/parse/parser_impl.h"

namespace cerberus::ptx {
namespace {

// More errors than this help nobody.
constexpr int kMaxErrors = 100;

bool ParseDecimal(std::string_view text, std::uint32_t* out) {
  const char* end = text.data() + text.size();
  const std::from_chars_result r = std::from_chars(text.data(), end, *out);
  return r.ec == std::errc() && r.ptr == end;
}

// The start of the line at `offset`, or of the comment lines above it.
std::size_t StartOfComment(std::string_view text, std::size_t offset) {
  const auto line_start = [&](std::size_t at) {
    const std::size_t newline = at == 0 ? text.npos : text.rfind('\n', at - 1);
    return newline == text.npos ? 0 : newline + 1;
  };
  std::size_t start = line_start(offset);
  while (start != 0) {
    const std::size_t above = line_start(start - 1);
    const std::string_view line = text.substr(above, start - above);
    if (line.substr(0, 2) != "//") break;
    start = above;
  }
  return start;
}

}  // namespace

std::vector<std::string_view> SplitModules(std::string_view text) {
  constexpr std::string_view kVersion = ".version";
  const std::size_t first = text.find(kVersion);
  if (first == text.npos ||
      text.find(kVersion, first + kVersion.size()) == text.npos) {
    return {text};
  }
  std::vector<std::string_view> modules;
  std::size_t begin = 0;
  bool seen = false;
  Lexer lexer(text);
  for (Token token = lexer.Next(); token.kind != TokenKind::kEnd;
       token = lexer.Next()) {
    if (token.kind != TokenKind::kDirective || token.text != kVersion) continue;
    if (seen) {
      const std::size_t start = StartOfComment(text, token.offset);
      modules.push_back(text.substr(begin, start - begin));
      begin = start;
    }
    seen = true;
  }
  modules.push_back(text.substr(begin));
  return modules;
}

Parser::Parser(std::string_view text, Module& module, const DiagSink& sink)
    : text_(text), module_(module), sink_(sink), lexer_(text) {
  module_.text = text;
  for (std::uint16_t i = 1;; ++i) {
    const SpecialReg reg = static_cast<SpecialReg>(i);
    special_.Insert(SpecialRegName(reg), reg);
    if (SpecialRegName(reg) == "%current_graph_exec") break;
  }
}

void Parser::Run() {
  if (text_.size() >= kNoId) {
    Error(0, "text of " + std::to_string(text_.size()) +
                 " bytes is larger than 4 GiB");
    return;
  }
  if (const char* nul = lexer_.NulBeforeText()) {
    Fatal(static_cast<std::uint32_t>(nul - text_.data()),
          "a NUL ends the text here, but more text stands behind it");
    return;
  }
  Advance();
  Header();
  while (token_.kind != TokenKind::kEnd && !stop_) TopLevelItem();
}

// ---- Errors -----------------------------------------------------------------

bool Parser::Error(std::uint32_t offset, std::string message) {
  ++errors_;
  if (function_ != nullptr) ++function_->errors;
  else ++module_errors_;
  if (stop_) return false;
  if (errors_ > kMaxErrors) {
    stop_ = true;
    ++module_errors_;
    message = "more than " + std::to_string(kMaxErrors) +
              " errors; the rest of the module is not read";
  }
  Report(Severity::kError, offset, std::move(message));
  return false;
}

void Parser::Warn(std::uint32_t offset, std::string message) {
  if (!stop_) Report(Severity::kWarning, offset, std::move(message));
}

void Parser::Report(Severity severity, std::uint32_t offset,
                    std::string message) {
  if (!sink_) return;
  Diag diag =
      MakeDiag(DiagCode::kBadPtx, WhereOf(module_, function_, offset, loc_),
               std::move(message));
  diag.severity = severity;
  sink_(diag);
}

// An error behind which nothing is worth reading.
bool Parser::Fatal(std::uint32_t offset, std::string message) {
  Error(offset, std::move(message));
  stop_ = true;
  ++module_errors_;
  return false;
}

std::string Parser::Found() const {
  switch (token_.kind) {
    case TokenKind::kEnd: return "the end of the text";
    case TokenKind::kString:
      return "the string \"" + std::string(token_.text.substr(0, 40)) + "\"";
    case TokenKind::kError: {
      std::string shown;
      for (const char c : token_.text.substr(0, 20)) {
        const unsigned char byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
          shown += c;
        } else {
          constexpr char kHexDigits[] = "0123456789abcdef";
          shown += "\\x";
          shown += kHexDigits[byte >> 4];
          shown += kHexDigits[byte & 15];
        }
      }
      return "'" + shown + "'";
    }
    default: return "'" + std::string(token_.text.substr(0, 80)) + "'";
  }
}

bool Parser::ErrorHere(const std::string& expected) {
  if (token_.kind == TokenKind::kError && token_.text == "/*")
    return Fatal(token_.offset, "a comment that is not closed, expected '*/'");
  return Error(token_.offset, "expected " + expected + ", found " + Found());
}

bool Parser::Expect(char c, const char* context) {
  if (Accept(c)) return true;
  return ErrorHere("'" + std::string(1, c) + "' in " + context);
}

bool Parser::ExpectIdentifier(const char* what, Token* out) {
  if (token_.kind != TokenKind::kIdentifier) return ErrorHere(what);
  *out = token_;
  Advance();
  return true;
}

// Goes on behind the next ';'. Braces on the way are skipped with what they
// enclose: the vectors of an instruction, or a body without a usable head,
// behind which module scope goes on.
void Parser::SkipStatement() {
  // "}," and "};" close a list that the error was in, any other '}' a body.
  const auto ends_body = [&] {
    if (!At('}') || open_braces_ > 0) return false;
    const std::uint32_t behind = lexer_.offset();
    const Token next = lexer_.Next();
    lexer_.Seek(behind);
    return !next.Is(',') && !next.Is(';');
  };
  while (token_.kind != TokenKind::kEnd && !ends_body()) {
    if (Accept(';')) break;
    if (At('}') && open_braces_ > 0) --open_braces_;
    const bool block = At('{');
    if (block) lexer_.RawBlock();
    Advance();
    if (block && function_ == nullptr && open_braces_ == 0) break;
  }
  open_braces_ = 0;
}

// PTX has no empty statements. Behind an error the ';' may belong to what was
// left out.
void Parser::StraySemicolon(const std::string& expected) {
  if (errors_ == 0) ErrorHere(expected);
  Advance();
}

// ---- Module scope -----------------------------------------------------------

bool Parser::AtLinkage(Linkage* linkage) const {
  constexpr std::pair<std::string_view, Linkage> kLinkages[] = {
      {".visible", Linkage::kVisible},
      {".extern", Linkage::kExtern},
      {".weak", Linkage::kWeak},
      {".common", Linkage::kCommon}};
  if (token_.kind != TokenKind::kDirective) return false;
  for (const auto& [directive, value] : kLinkages) {
    if (token_.text != directive) continue;
    *linkage = value;
    return true;
  }
  return false;
}

// .version, .target, and perhaps .address_size; each stands here alone.
void Parser::Header() {
  // Without them nothing else means anything.
  const auto missing = [&](const char* expected) {
    ErrorHere(expected);
    stop_ = true;
  };
  if (!AtDirective(".version"))
    return missing(".version at the start of a PTX module");
  Version();
  if (!AtDirective(".target")) return missing(".target behind .version");
  while (AtDirective(".target")) Target();
  if (AtDirective(".address_size")) AddressSize();
}

void Parser::TopLevelItem() {
  if (At(';')) return StraySemicolon("a directive at module scope");
  if (At('@') && lexer_.NextIs('@')) {
    // "@@DWARF …": debug information as PTX 1.x wrote it, a line each.
    lexer_.SkipLine();
    Advance();
    return;
  }
  if (token_.kind != TokenKind::kDirective) {
    ErrorHere("a directive at module scope");
    SkipStatement();
    while (Accept('}')) {
    }
    return;
  }
  Linkage linkage = Linkage::kLocal;
  const bool linked = AtLinkage(&linkage);
  if (linked) Advance();
  const std::string_view directive = token_.text;
  if (directive == ".entry" || directive == ".func") {
    Advance();
    return FunctionItem(linkage, directive == ".entry");
  }
  if (AtVariable()) return VariableItem(linkage);
  if (linked) {
    ErrorHere("a function or a variable behind a linkage directive");
    Advance();
    return SkipStatement();
  }
  if (directive == ".version" || directive == ".target" ||
      directive == ".address_size") {
    Error(token_.offset, Found() +
                             " stands only once, at the start of a "
                             "module: .version, .target, .address_size");
    lexer_.SkipLine();
    return Advance();
  }
  if (directive == ".file") return FileDirective();
  if (directive == ".section") return SectionDirective();
  if (directive == ".alias") return AliasDirective();
  if (directive == ".nv_intermediate_source_section")
    return IntermediateSource();
  if (directive == ".loc" || directive == ".loc_intermediate")
    return LocDirective();
  if (directive == ".pragma") {
    if (PragmaDirective(module_.pragmas))
      module_.order.push_back(
          {TopLevelKind::kPragma,
           static_cast<std::uint32_t>(module_.pragmas.size() - 1)});
    return;
  }
  ErrorHere("a directive of module scope (.entry, .func, .global, …)");
  Advance();
  SkipStatement();
}

namespace {

// The minor versions that there are of each major one.
constexpr std::uint32_t kLastMinor[] = {0, 5, 3, 2, 3, 0, 5, 8, 8, 5};
constexpr std::uint32_t kLastMajor = std::size(kLastMinor) - 1;

bool IsVersion(std::uint32_t major, std::uint32_t minor) {
  return major >= 1 && major <= kLastMajor && minor <= kLastMinor[major];
}

// Newer than what is known here: read for what of it is known.
bool IsNewer(std::uint32_t major, std::uint32_t minor) {
  return major > kLastMajor ||
         (major == kLastMajor && minor > kLastMinor[kLastMajor]);
}

// `suffix`: 'a', 'f' or 0. Features of one architecture came with sm_90,
// those of a family with sm_100.
bool IsTarget(std::uint32_t sm, char suffix) {
  constexpr std::uint16_t kTargets[] = {
      10, 11, 12, 13, 20, 21, 30, 32, 35, 37,  50,  52,  53,  60,  61,  62,
      70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121};
  if (std::find(std::begin(kTargets), std::end(kTargets), sm) ==
      std::end(kTargets)) {
    return false;
  }
  return suffix == 0 || (suffix == 'a' ? sm >= 90 : sm >= 100);
}

}  // namespace

int NewestVersion() {
  return static_cast<int>(kLastMajor * 10 + kLastMinor[kLastMajor]);
}

// What stands in a header where something else should.
void Parser::SkipWord() {
  if (token_.kind != TokenKind::kDirective) Advance();
}

void Parser::Version() {
  Advance();
  const Token number = token_;
  std::uint32_t major = 0, minor = 0;
  const std::size_t dot = number.text.find('.');
  if (number.kind != TokenKind::kFloat64 || dot == std::string_view::npos ||
      !ParseDecimal(number.text.substr(0, dot), &major) ||
      !ParseDecimal(number.text.substr(dot + 1), &minor) || major > 99 ||
      minor > 99) {
    ErrorHere("a version such as 9.0");
    return SkipWord();
  }
  if (IsNewer(major, minor)) {
    Warn(number.offset,
         "PTX " + std::string(number.text) + " is newer than " +
             std::to_string(kLastMajor) + "." +
             std::to_string(kLastMinor[kLastMajor]) +
             ", the newest version known here; what it has brought is an "
             "error where it stands");
  } else if (!IsVersion(major, minor)) {
    Error(number.offset, "PTX has no version " + std::string(number.text));
  }
  Advance();
  module_.version =
      static_cast<std::uint16_t>(major * 10 + std::min(minor, 9u));
}

void Parser::Target() {
  constexpr std::string_view kOptions[] = {
      "debug", "map_f64_to_f32", "texmode_independent", "texmode_unified"};
  Advance();
  for (bool first = true;; first = false) {
    Token option;
    if (!ExpectIdentifier("a target such as sm_75", &option)) return SkipWord();
    std::string_view name = option.text;
    const bool arch = name.starts_with("sm_") || name.starts_with("compute_");
    const auto unknown = [&] {
      return Error(option.offset, "expected a target such as sm_75, found '" +
                                      std::string(option.text) + "'");
    };
    if (first && !arch) {
      unknown();
    } else if (arch) {
      name.remove_prefix(name.find('_') + 1);
      module_.arch_suffix = 0;
      if (name.ends_with('a') || name.ends_with('f')) {
        module_.arch_suffix = name.back();
        name.remove_suffix(1);
      }
      std::uint32_t sm = 0;
      if (!ParseDecimal(name, &sm) || !IsTarget(sm, module_.arch_suffix)) {
        unknown();
      } else {
        module_.sm = static_cast<std::uint16_t>(sm);
      }
    } else if (std::ranges::find(kOptions, name) == std::end(kOptions)) {
      Error(
          option.offset,
          "'" + std::string(name) +
              "' is no option of .target, expected "
              "debug, map_f64_to_f32, texmode_independent or texmode_unified");
    } else {
      if (name == "debug") module_.debug = true;
      else if (name == "map_f64_to_f32") module_.map_f64_to_f32 = true;
      else if (name == "texmode_independent")
        module_.texmode_independent = true;
      module_.target_options.push_back(name);
    }
    if (!Accept(',')) return;
  }
}

void Parser::AddressSize() {
  Advance();
  std::uint64_t size = 0;
  const std::uint32_t offset = token_.offset;
  if (!UnsignedNumber(&size)) return;
  if (size != 32 && size != 64) {
    Error(offset,
          "address size " + std::to_string(size) + ", expected 32 or 64");
    return;
  }
  if (size == 32) {
    Error(offset, "addresses of 32 bits are not supported, expected 64");
  }
  module_.address_size = static_cast<std::uint8_t>(size);
  module_.has_address_size = true;
}

// .file N "name" {, timestamp {, size}}
void Parser::FileDirective() {
  Advance();
  SourceFile file;
  std::uint64_t number = 0;
  const std::uint32_t offset = token_.offset;
  if (!UnsignedNumber(&number)) return;
  file.number = static_cast<std::uint32_t>(number);
  if (module_.FileByNumber(file.number) != nullptr)
    Error(offset, ".file " + std::to_string(number) + " stands here twice");
  if (token_.kind != TokenKind::kString) {
    ErrorHere("a file name in quotes");
    return;
  }
  file.name = token_.text;
  Advance();
  if (Accept(',')) {
    file.has_stamp = true;
    if (!UnsignedNumber(&file.timestamp)) return;
    // ptxas reads a time without a size, too.
    if (Accept(',') && !UnsignedNumber(&file.size)) return;
  }
  module_.order.push_back(
      {TopLevelKind::kFile, static_cast<std::uint32_t>(module_.files.size())});
  module_.files.push_back(file);
}

// .section .debug_xyz { … }: kept as text; it is data for a debugger.
void Parser::SectionDirective() {
  Section section;
  section.offset = token_.offset;
  Advance();
  if (token_.kind != TokenKind::kDirective &&
      token_.kind != TokenKind::kIdentifier) {
    ErrorHere("a section's name");
    return SkipStatement();
  }
  section.name = token_.text;
  Advance();
  if (!At('{')) {
    ErrorHere("'{' behind a section's name");
    return SkipStatement();
  }
  bool closed = false;
  section.text = lexer_.RawBlock(&closed);
  Advance();
  if (!closed) {
    Error(section.offset, "section " + std::string(section.name) +
                              " is not closed: expected '}'");
    return;
  }
  module_.order.push_back(
      {TopLevelKind::kSection,
       static_cast<std::uint32_t>(module_.sections.size())});
  module_.sections.push_back(section);
}

// .nv_intermediate_source_section { … }: text of what stood between the source
// and PTX, to which .loc_intermediate refers. A debugger here reads .loc.
void Parser::IntermediateSource() {
  const std::uint32_t offset = token_.offset;
  Advance();
  bool closed = At('{');
  if (closed) lexer_.RawBlock(&closed);
  Advance();
  if (!closed)
    Error(offset, ".nv_intermediate_source_section: expected '{' and '}'");
}

void Parser::AliasDirective() {
  Alias alias;
  alias.offset = token_.offset;
  Advance();
  Token first, second;
  if (!ExpectIdentifier("a function's name", &first) ||
      !Expect(',', ".alias") ||
      !ExpectIdentifier("a function's name", &second) || !Expect(';', ".alias"))
    return SkipStatement();
  alias.alias = first.text;
  alias.aliasee = second.text;
  const auto function_of = [&](const Token& name) {
    const Symbol* symbol = names_.Find(name.text);
    if (symbol == nullptr || symbol->kind != Symbol::Kind::kFunction) {
      Error(name.offset, "'" + std::string(name.text) +
                             "' is not a function declared before");
      return kNoId;
    }
    return symbol->index;
  };
  alias.alias_function = function_of(first);
  alias.aliasee_function = function_of(second);
  module_.order.push_back({TopLevelKind::kAlias,
                           static_cast<std::uint32_t>(module_.aliases.size())});
  module_.aliases.push_back(alias);
}

// .pragma "a", "b"; Unknown ones are ignored, as the manual wants.
bool Parser::PragmaDirective(std::vector<std::string_view>& out) {
  Advance();
  const std::size_t before = out.size();
  do {
    if (token_.kind != TokenKind::kString) {
      ErrorHere("a pragma in quotes");
      SkipStatement();
      return false;
    }
    out.push_back(token_.text);
    Advance();
  } while (Accept(','));
  if (!Expect(';', ".pragma")) SkipStatement();
  return out.size() == before + 1;
}

// ---- Entry points -----------------------------------------------------------

ParseOutcome Parse(std::string_view text, const DiagSink& sink) {
  ParseOutcome outcome;
  outcome.module = std::make_unique<Module>();
  Parser parser(text, *outcome.module, sink);
  parser.Run();
  outcome.errors = parser.errors();
  outcome.module_errors = parser.module_errors();
  return outcome;
}

Result<std::unique_ptr<Module>> ParseModule(std::string_view text) {
  Diag first;
  ParseOutcome outcome = Parse(text, [&first](const Diag& diag) {
    if (first.message.empty()) first = diag;
  });
  if (outcome.errors != 0) return Err(std::move(first));
  return std::move(outcome.module);
}

}  // namespace cerberus::ptx
