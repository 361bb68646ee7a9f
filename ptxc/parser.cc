// Module scope: directives, variables, functions' heads.
#include "ptxc/parser.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include "ptxc/parser_impl.h"

namespace cerberus::ptx {
namespace {

// More errors than this help nobody.
constexpr int kMaxErrors = 100;
constexpr std::uint64_t kMaxArrayBytes = std::uint64_t{1} << 40;

struct DirectiveSpace {
  std::string_view directive;
  VarSpace space;
};
constexpr DirectiveSpace kSpaces[] = {
    {".global", VarSpace::kGlobal},
    {".const", VarSpace::kConst},
    {".shared", VarSpace::kShared},
    {".local", VarSpace::kLocal},
    {".param", VarSpace::kParam},
    {".tex", VarSpace::kTex},
    {".reg", VarSpace::kReg},
    {".sreg", VarSpace::kSreg},
    {".shared::cta", VarSpace::kShared},
    {".shared::cluster", VarSpace::kShared},
};

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

// ".param .align 8 .b8 [16]", as messages say it.
std::string TypeText(const Variable& v) {
  std::string text(VarSpaceName(v.space));
  if (v.align != 0) text += " .align " + std::to_string(v.align);
  if (v.vector > 1) text += " .v" + std::to_string(v.vector);
  text += " ." + std::string(TypeName(v.type));
  for (const std::uint64_t n : v.dims)
    text += n == 0 ? "[]" : "[" + std::to_string(n) + "]";
  return text;
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

// .file N "name" {, timestamp, size}
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
    if (!UnsignedNumber(&file.timestamp) || !Expect(',', ".file") ||
        !UnsignedNumber(&file.size))
      return;
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

// ---- Functions --------------------------------------------------------------

namespace {

// What may follow a declaration that has no ';'.
bool IsModuleDirective(std::string_view directive) {
  constexpr std::string_view kDirectives[] = {
      ".visible", ".extern", ".weak",   ".common", ".func", ".entry",
      ".global",  ".const",  ".shared", ".tex",    ".file", ".section"};
  return std::ranges::find(kDirectives, directive) != std::end(kDirectives);
}

}  // namespace

void Parser::FunctionItem(Linkage linkage, bool is_entry) {
  Function function;
  function.is_entry = is_entry;
  function.linkage = linkage;
  const std::uint32_t id = static_cast<std::uint32_t>(module_.functions.size());
  // Parameters belong to the function's scope: its body sees them.
  const auto enter = [&] {
    names_.Enter();
    ranges_.Enter();
    labels_.Enter();
  };
  const auto leave = [&] {
    labels_.Leave();
    ranges_.Leave();
    names_.Leave();
    function_ = nullptr;
    function_id_ = kNoId;
    loc_ = kNoId;
  };
  Variable attributes;
  while (AtDirective(".attribute")) {
    if (!VariableAttributes(attributes)) return SkipStatement();
    function.managed_unified = attributes.unified;
  }
  if (AtDirective(".noreturn")) {
    function.tuning.noreturn = true;
    Advance();
  }
  function_id_ = id;
  module_.functions.push_back(std::move(function));
  function_ = &module_.functions.back();
  enter();
  bool ok = true;
  if (!is_entry && Accept('('))
    ok = ParameterList(function_->returns, ')', true);
  Token name = token_;
  ok = ok && ExpectIdentifier("a function's name", &name);
  if (!ok) {
    // Without a name there is nothing to keep.
    leave();
    ++module_errors_;
    module_.functions.pop_back();
    return SkipStatement();
  }
  function_->name = name.text;
  function_->offset = name.offset;
  if (Accept('(') && !ParameterList(function_->params, ')', true)) {
    while (token_.kind != TokenKind::kEnd && !At('{') && !At(';')) Advance();
  }
  TuningDirectives(*function_);
  function_->has_body = At('{');

  if (function_->has_body && linkage == Linkage::kExtern)
    Error(name.offset,
          "'" + std::string(name.text) + "' is .extern and has a body");

  // A declaration before: the definition takes over its id.
  std::uint32_t target = id;
  const Symbol* known = names_.Find(name.text);
  if (known != nullptr && known->kind == Symbol::Kind::kFunction) {
    target = known->index;
    Function& first = module_.functions[target];
    if (first.has_body) {
      Error(name.offset, "function '" + std::string(name.text) + "' is " +
                             (function_->has_body ? "defined twice"
                                                  : "declared behind its "
                                                    "definition"));
    } else if (first.is_entry != is_entry) {
      Error(name.offset, "'" + std::string(name.text) + "' was declared as " +
                             (first.is_entry ? ".entry" : ".func"));
    } else {
      CompareDeclarations(first, *function_);
    }
    if (!first.has_body || function_->has_body) {
      if (first.linkage != Linkage::kLocal &&
          function_->linkage == Linkage::kLocal)
        function_->linkage = first.linkage;
      function_->errors += first.errors;
      first = std::move(*function_);
    }
    for (std::uint32_t v : function_->params)
      module_.variables[v].function = target;
    module_.functions.pop_back();
    function_ = &module_.functions[target];
    function_id_ = target;
    for (const std::vector<std::uint32_t>* list :
         {&function_->params, &function_->returns})
      for (std::uint32_t v : *list) module_.variables[v].function = target;
  } else if (known != nullptr) {
    Error(name.offset, "'" + std::string(name.text) + "' is declared twice");
  }
  module_.order.push_back({TopLevelKind::kFunction, target});
  const bool insert = known == nullptr;
  if (At('{')) {
    if (insert) {
      // Visible inside (recursion) and, once the scope is left, behind.
      names_.Leave();
      names_.Insert(name.text, {Symbol::Kind::kFunction, target});
      names_.Enter();
      for (const std::vector<std::uint32_t>* list :
           {&function_->returns, &function_->params}) {
        for (std::uint32_t v : *list) {
          const Variable& variable = module_.variables[v];
          if (variable.space != VarSpace::kReg && variable.name != "_")
            names_.Insert(variable.name, {Symbol::Kind::kVariable, v});
        }
      }
      for (const RegisterDecl& decl : function_->register_decls)
        names_.Insert(decl.name, {Symbol::Kind::kRegister, decl.first});
    }
    Body(*function_);
    leave();
    return;
  }
  leave();
  if (insert) names_.Insert(name.text, {Symbol::Kind::kFunction, target});
  // Old compilers wrote no ';' behind functions, and ptxas asks for none.
  if (!is_entry &&
      (token_.kind == TokenKind::kEnd || IsModuleDirective(token_.text)))
    return;
  if (Accept(';')) return;
  ErrorHere(is_entry ? "the kernel's body, or ';' behind its declaration"
                     : "';' in a function's declaration");
  SkipStatement();
}

// A function declared again has to have the same parameters and results.
void Parser::CompareDeclarations(const Function& first, const Function& again) {
  const auto compare = [&](const std::vector<std::uint32_t>& before,
                           const std::vector<std::uint32_t>& now,
                           const std::string& what) {
    if (before.size() != now.size())
      return Error(again.offset, "'" + std::string(again.name) + "' has " +
                                     std::to_string(now.size()) + " " + what +
                                     "s, but was declared with " +
                                     std::to_string(before.size()));
    for (std::size_t i = 0; i < now.size(); ++i) {
      const Variable& a = module_.variables[before[i]];
      const Variable& b = module_.variables[now[i]];
      if (a.space != b.space || a.type != b.type || a.vector != b.vector ||
          a.dims != b.dims || a.alignment() != b.alignment())
        return Error(b.offset, what + " '" + std::string(b.name) + "' of '" +
                                   std::string(again.name) + "' is " +
                                   TypeText(b) + ", but was declared as " +
                                   TypeText(a));
    }
    return true;
  };
  compare(first.returns, again.returns, "result") &&
      compare(first.params, again.params, "parameter");
}

// What a name stands for in the function's outermost scope, where a parameter
// cannot be declared anew.
bool Parser::IsParameterHere(std::string_view name) const {
  if (function_ == nullptr || scope_depth_ != 1) return false;
  for (const std::vector<std::uint32_t>* list :
       {&function_->params, &function_->returns}) {
    for (std::uint32_t id : *list) {
      if (module_.variables[id].name == name) return true;
    }
  }
  return false;
}

// The list behind '(' up to and with `close`. `declares`: the names become
// visible (a function's own parameters; not those of a prototype).
bool Parser::ParameterList(std::vector<std::uint32_t>& out, char close,
                           bool declares) {
  if (Accept(close)) return true;
  do {
    if (!AtVariable()) return ErrorHere(".param or .reg");
    DeclHead head = VariableHead();
    if (!head.ok) return false;
    Token name;
    if (!ExpectIdentifier("a parameter's name", &name)) return false;
    Variable& v = head.variable;
    const VarSpace space = v.space;
    v.name = name.text;
    v.offset = name.offset;
    v.is_param = true;
    v.function = function_id_;
    if (!ArrayDims(v)) return false;
    if (space == VarSpace::kReg && declares && function_ != nullptr)
      DeclareRegisters(name.text, name.offset, 1, false, v.type, v.vector);
    const bool bind = declares && space != VarSpace::kReg && name.text != "_";
    const std::string_view bound = v.name;
    const std::uint32_t id = AddVariable(std::move(v));
    if (bind) {
      if (names_.InThisScope(bound))
        Error(name.offset,
              "parameter '" + std::string(bound) + "' is declared twice");
      names_.Insert(bound, {Symbol::Kind::kVariable, id});
    }
    out.push_back(id);
  } while (Accept(','));
  return Expect(close, "a parameter list");
}

bool Parser::Numbers(std::uint32_t* out, std::uint8_t max,
                     std::uint8_t* count) {
  *count = 0;
  do {
    std::uint64_t value = 0;
    const std::uint32_t offset = token_.offset;
    if (!UnsignedNumber(&value)) return false;
    if (value > std::numeric_limits<std::uint32_t>::max() || *count == max)
      return Error(offset, "expected at most " + std::to_string(max) +
                               " numbers of 32 bits");
    out[(*count)++] = static_cast<std::uint32_t>(value);
  } while (Accept(','));
  return true;
}

void Parser::TuningDirectives(Function& function) {
  PerformanceTuning& t = function.tuning;
  while (token_.kind == TokenKind::kDirective) {
    const std::string_view d = token_.text;
    std::uint8_t one = 0;
    const auto dims = [&](std::uint32_t* out, std::uint8_t* count) {
      Advance();
      if (!Numbers(out, 3, count)) return false;
      for (std::uint8_t i = *count; i < 3; ++i) out[i] = 1;
      return true;
    };
    const auto number = [&](std::uint32_t* out) {
      Advance();
      return Numbers(out, 1, &one);
    };
    bool ok = true;
    if (d == ".maxntid") {
      ok = dims(t.maxntid, &t.maxntid_dims);
    } else if (d == ".reqntid") {
      ok = dims(t.reqntid, &t.reqntid_dims);
    } else if (d == ".reqnctapercluster") {
      ok = dims(t.reqnctapercluster, &t.reqncta_dims);
    } else if (d == ".minnctapersm") {
      ok = number(&t.minnctapersm);
    } else if (d == ".maxnctapersm") {
      ok = number(&t.maxnctapersm);
    } else if (d == ".maxnreg") {
      ok = number(&t.maxnreg);
    } else if (d == ".maxclusterrank") {
      ok = number(&t.maxclusterrank);
    } else if (d == ".minperctamemory") {
      // What is no question on a GPU whose block has one kind of memory.
      std::uint32_t bytes = 0;
      ok = number(&bytes);
    } else if (d == ".abi_preserve") {
      ok = number(&t.abi_preserve);
    } else if (d == ".abi_preserve_control") {
      ok = number(&t.abi_preserve_control);
    } else if (d == ".explicitcluster") {
      t.explicitcluster = true;
      Advance();
    } else if (d == ".blocksareclusters") {
      t.blocksareclusters = true;
      Advance();
    } else if (d == ".noreturn") {
      t.noreturn = true;
      Advance();
    } else if (d == ".pragma") {
      PragmaDirective(function.pragmas);
    } else if (IsModuleDirective(d)) {
      return;
    } else {
      ErrorHere("'{', ';' or a performance directive such as .maxntid");
      ok = false;
    }
    if (!ok) {
      while (token_.kind != TokenKind::kEnd && !At('{') && !At(';')) Advance();
      return;
    }
  }
}

// ---- Variables --------------------------------------------------------------

bool Parser::AtSpace(VarSpace* space) const {
  if (token_.kind != TokenKind::kDirective) return false;
  for (const DirectiveSpace& s : kSpaces) {
    if (s.directive != token_.text) continue;
    *space = s.space;
    return true;
  }
  return false;
}

bool Parser::AtVariable() const {
  VarSpace space;
  return AtQualifier() || AtSpace(&space);
}

std::uint32_t Parser::AddVariable(Variable variable) {
  module_.variables.push_back(std::move(variable));
  return static_cast<std::uint32_t>(module_.variables.size() - 1);
}

// .attribute(.managed), .attribute(.unified(uuid, uuid))
bool Parser::VariableAttributes(Variable& variable) {
  Advance();
  if (!Expect('(', ".attribute")) return false;
  do {
    if (AtDirective(".managed")) {
      variable.managed = true;
      Advance();
    } else if (AtDirective(".unified")) {
      variable.unified = true;
      Advance();
      if (Accept('(') && (!UnsignedNumber(&variable.unified_uuid[0]) ||
                          !Expect(',', ".unified") ||
                          !UnsignedNumber(&variable.unified_uuid[1]) ||
                          !Expect(')', ".unified")))
        return false;
    } else {
      return ErrorHere(".managed or .unified");
    }
  } while (Accept(','));
  return Expect(')', ".attribute");
}

// .align N or .attribute(…)
bool Parser::Qualifier(Variable& v) {
  if (AtDirective(".attribute")) return VariableAttributes(v);
  Advance();
  const std::uint32_t offset = token_.offset;
  std::uint64_t value = 0;
  if (!UnsignedNumber(&value)) return false;
  if (value == 0 || (value & (value - 1)) != 0 || value > (1u << 30))
    return Error(offset, "alignment " + std::to_string(value) +
                             " is not a power of two");
  v.has_align = true;
  (v.is_pointer ? v.pointee_align : v.align) =
      static_cast<std::uint32_t>(value);
  return true;
}

// Everything before the name: the state space, and around it, in any order,
// the rest. The manual has qualifiers behind the space; ptxas takes them on
// both sides.
Parser::DeclHead Parser::VariableHead() {
  DeclHead head;
  Variable& v = head.variable;
  while (AtQualifier())
    if (!Qualifier(v)) return head;
  if (!AtSpace(&v.space)) {
    ErrorHere("a state space such as .global");
    return head;
  }
  Advance();
  if (v.space == VarSpace::kConst && Accept('[')) {
    std::uint64_t bank = 0;
    if (!UnsignedNumber(&bank) || !Expect(']', "a constant bank")) return head;
    v.bank = static_cast<std::uint8_t>(std::min<std::uint64_t>(bank, 255));
  }
  while (token_.kind == TokenKind::kDirective) {
    if (AtQualifier()) {
      if (!Qualifier(v)) return head;
      continue;
    }
    const std::string_view d = token_.text;
    VarSpace pointee;
    if (d == ".v2" || d == ".v4" || d == ".v8") {
      v.vector = static_cast<std::uint8_t>(d[2] - '0');
    } else if (d == ".ptr") {
      v.is_pointer = true;
    } else if (v.is_pointer && AtSpace(&pointee)) {
      v.pointee = pointee;
    } else {
      const Type type = TypeFromName(d.substr(1));
      if (type == Type::kNone) {
        ErrorHere("a type");
        return head;
      }
      v.type = type;
    }
    Advance();
  }
  if (v.type == Type::kNone) {
    ErrorHere("a type");
    return head;
  }
  head.ok = true;
  return head;
}

bool Parser::ArrayDims(Variable& v) {
  std::uint64_t total = static_cast<std::uint64_t>(BytesOf(v.type)) * v.vector;
  while (Accept('[')) {
    v.is_array = true;
    std::uint64_t n = 0;
    const std::uint32_t offset = token_.offset;
    if (!At(']') && !UnsignedNumber(&n)) return false;
    if (!Expect(']', "an array's size")) return false;
    v.dims.push_back(n);
    if (n != 0 && total > kMaxArrayBytes / n)
      return Error(offset, "array is larger than " +
                               std::to_string(kMaxArrayBytes) + " bytes");
    if (n != 0) total *= n;
  }
  return true;
}

void Parser::VariableItem(Linkage linkage) {
  const std::uint32_t offset = token_.offset;
  DeclHead head = VariableHead();
  const VarSpace space = head.variable.space;
  // PTX ISA 3.0 took registers of module scope away.
  if (head.ok && space == VarSpace::kReg && module_.version < 30) {
    module_registers_.push_back(offset);
    return SkipStatement();
  }
  if (head.ok && (space == VarSpace::kReg || space == VarSpace::kSreg ||
                  space == VarSpace::kParam)) {
    head.ok = Error(offset, "no " + std::string(VarSpaceName(space)) +
                                " variables at module scope");
  }
  head.variable.linkage = linkage;
  if (!head.ok || !Declarators(head.variable, nullptr)) return SkipStatement();
}

// name, name[…] = …, name<n>; up to and with the ';'.
bool Parser::Declarators(const Variable& head,
                         std::vector<std::uint32_t>* ids) {
  do {
    Token name;
    if (!ExpectIdentifier("a variable's name", &name)) return false;
    Variable v = head;
    v.name = name.text;
    v.offset = name.offset;
    v.function = function_id_;
    if (Accept('<')) {
      std::uint64_t count = 0;
      const std::uint32_t offset = token_.offset;
      // Not UnsignedNumber: '>' would be taken for a comparison.
      Constant value;
      if (!Literal(&value) || !Expect('>', "a range of names")) return false;
      count = value.bits;
      if (value.kind != Constant::Kind::kInt || count > 65536)
        return Error(offset, "a range of more than 65536 variables");
      for (std::uint64_t i = 0; i < count; ++i) {
        Variable one = v;
        one.name = module_.arena.emplace_back(std::string(name.text) +
                                              std::to_string(i));
        const std::uint32_t id = AddVariable(one);
        names_.Insert(module_.variables[id].name,
                      {Symbol::Kind::kVariable, id});
        if (ids != nullptr) ids->push_back(id);
        if (function_ == nullptr)
          module_.order.push_back({TopLevelKind::kVariable, id});
      }
      continue;
    }
    if (!ArrayDims(v)) return false;
    // Bound before its initialiser, which may take its own address.
    std::uint32_t id = kNoId;
    bool replaces = false;
    const Symbol* known = names_.Find(v.name);
    if (IsParameterHere(v.name))
      return Error(name.offset, "'" + std::string(v.name) +
                                    "' is a parameter's name already");
    if (known != nullptr && names_.InThisScope(v.name)) {
      const Variable* first =
          function_ == nullptr && known->kind == Symbol::Kind::kVariable
              ? &module_.variables[known->index]
              : nullptr;
      if (first == nullptr ||
          (first->linkage != Linkage::kExtern && v.linkage != Linkage::kExtern))
        return Error(name.offset, "'" + std::string(v.name) +
                                      "' is declared twice in this scope");
      // An open array may be given its size.
      std::vector<std::uint64_t> before = first->dims, now = v.dims;
      if (first->is_open() || v.is_open())
        before.resize(1), now.resize(1), before = now;
      if (first->type != v.type || first->vector != v.vector || before != now)
        return Error(name.offset, "'" + std::string(v.name) + "' is " +
                                      TypeText(v) + ", but was declared as " +
                                      TypeText(*first));
      if (v.linkage == Linkage::kLocal || first->linkage == Linkage::kLocal)
        return Error(name.offset, "'" + std::string(v.name) +
                                      "' is .extern in one declaration and "
                                      "has no linkage in another");
      id = known->index;
      replaces = true;
    }
    if (!replaces) {
      id = AddVariable(v);
      names_.Insert(v.name, {Symbol::Kind::kVariable, id});
    }
    if (Accept('=')) {
      v.has_init = true;
      const std::uint32_t start = token_.offset;
      const std::uint64_t element =
          static_cast<std::uint64_t>(BytesOf(v.type)) * v.vector;
      std::uint64_t stride = element;
      for (std::size_t i = 1; i < v.dims.size(); ++i) stride *= v.dims[i];
      if (v.type == Type::kSamplerRef) {
        if (!SamplerInitialiser(&v.sampler)) return false;
      } else if (KindOf(v.type) == TypeKind::kOpaque) {
        if (!At('{')) return ErrorHere("'{'");
        bool closed = false;
        lexer_.RawBlock(&closed);
        Advance();
        if (!closed) return ErrorHere("'}' behind an initialiser");
      } else if (!Initialiser(v, 0, 0, stride, kMaxArrayBytes, 0)) {
        return false;
      }
      v.init_text = text_.substr(start, token_.offset - start);
      while (!v.init_text.empty() &&
             (v.init_text.back() == ' ' || v.init_text.back() == '\n' ||
              v.init_text.back() == '\t'))
        v.init_text.remove_suffix(1);
      if (!v.dims.empty() && v.dims[0] == 0) {
        // An open array takes its size from the initialiser.
        std::uint64_t end = 0;
        for (const InitElement& e : v.init)
          end = std::max(end, e.byte / std::max<std::uint64_t>(stride, 1) + 1);
        v.dims[0] = end;
      }
      module_.variables[id] = v;
    } else if (replaces &&
               (module_.variables[id].linkage == Linkage::kExtern)) {
      module_.variables[id] = v;
    }
    if (ids != nullptr) ids->push_back(id);
    if (function_ == nullptr)
      module_.order.push_back({TopLevelKind::kVariable, id});
  } while (Accept(','));
  return Expect(';', "a declaration");
}

// Either one element or a brace list; `depth` counts array dimensions
// entered, `stride` is the size of one entry of the list, `end` where it ends.
bool Parser::Initialiser(Variable& v, std::size_t depth, std::uint64_t base,
                         std::uint64_t stride, std::uint64_t end, int nesting) {
  if (nesting > 32)
    return Error(token_.offset, "initialiser is nested too deeply");
  if (!Accept('{')) return InitialiserElement(v, base);
  ++open_braces_;
  if (depth == 0 && v.dims.empty() && v.vector > 1)
    stride = static_cast<std::uint64_t>(BytesOf(v.type));
  std::uint64_t inner = stride;
  if (depth + 1 < v.dims.size() && v.dims[depth + 1] != 0) {
    inner = stride / v.dims[depth + 1];
  } else {
    inner = static_cast<std::uint64_t>(BytesOf(v.type));
  }
  std::uint64_t at = base;
  while (!At('}')) {
    const bool nested = At('{');
    if (at >= end) {
      Error(token_.offset, "more elements than this row has");
      end = kMaxArrayBytes;  // said once
    }
    // A flat list inside a multi-dimensional array runs over its elements.
    if (!nested) {
      const std::uint64_t element = static_cast<std::uint64_t>(BytesOf(v.type));
      if (!InitialiserElement(v, at)) return false;
      at += v.dims.size() > depth + 1 || v.vector > 1 ? element : stride;
    } else {
      if (!Initialiser(v, depth + 1, at, inner, at + stride, nesting + 1))
        return false;
      at += stride;
    }
    if (!Accept(',')) break;
  }
  if (!Expect('}', "an initialiser")) return false;
  --open_braces_;
  return true;
}

// A number, sym, sym+4, generic(sym)+4, 0xFF00(sym+4), 0xFF(1000).
bool Parser::InitialiserElement(Variable& v, std::uint64_t byte) {
  InitElement e;
  e.byte = byte;
  e.offset = token_.offset;
  const auto addend = [&] {
    std::uint64_t sum = 0;
    if (!Addends(&sum)) return false;
    e.addend += static_cast<std::int64_t>(sum);
    return true;
  };
  const auto symbol = [&]() -> bool {
    Token name;
    bool generic = false;
    if (!ExpectIdentifier("a symbol", &name)) return false;
    if (name.text == "generic" && Accept('(')) {
      generic = true;
      if (!ExpectIdentifier("a symbol", &name)) return false;
      if (!addend() || !Expect(')', "generic()")) return false;
    }
    e.generic = generic;
    e.name = name.text;
    const Symbol* known = names_.Find(name.text);
    if (known != nullptr && known->kind == Symbol::Kind::kVariable) {
      e.kind = InitElement::Kind::kVariable;
      e.index = known->index;
    } else if (known != nullptr && known->kind == Symbol::Kind::kFunction) {
      e.kind = InitElement::Kind::kFunction;
      e.index = known->index;
    } else {
      e.kind = InitElement::Kind::kUnresolved;
      return Error(name.offset,
                   "unknown symbol '" + std::string(name.text) + "'");
    }
    return addend();
  };
  if (token_.kind == TokenKind::kIdentifier && token_.text != "WARP_SZ") {
    if (!symbol()) return false;
  } else {
    Constant value;
    if (token_.kind == TokenKind::kInteger && lexer_.NextIs('(')) {
      if (!Literal(&value) || !Expect('(', "a mask")) return false;
      e.mask = value.bits;
      if (e.mask == 0) return Error(e.offset, "a mask of no bits");
      if (token_.kind == TokenKind::kIdentifier && token_.text != "WARP_SZ") {
        if (!symbol()) return false;
      } else {
        if (!ConstantExpression(&value)) return false;
        if (value.kind != Constant::Kind::kInt)
          return Error(e.offset, "a mask needs an integer or an address");
        e.bits = (value.bits & e.mask) >> std::countr_zero(e.mask);
      }
      if (!Expect(')', "a mask")) return false;
    } else {
      if (!ConstantExpression(&value)) return false;
      e.bits = value.bits;
      e.kind = value.kind == Constant::Kind::kInt ? InitElement::Kind::kInt
               : value.kind == Constant::Kind::kFloat32
                   ? InitElement::Kind::kFloat32
                   : InitElement::Kind::kFloat64;
    }
  }
  v.init.push_back(e);
  return true;
}

// { addr_mode_0 = clamp_to_border, filter_mode = linear }: PTX ISA 9.0, 5.3,
// "Texture Sampler and Surface Types".
bool Parser::SamplerInitialiser(SamplerState* state) {
  constexpr std::string_view kAddressing[] = {"wrap", "clamp_to_edge", "mirror",
                                              "clamp_to_border"};
  constexpr std::string_view kFields[] = {"addr_mode_0", "addr_mode_1",
                                          "addr_mode_2"};
  if (!Expect('{', "a sampler's initialiser")) return false;
  bool known = true;
  if (Accept('}')) return true;
  do {
    Token field;
    if (!ExpectIdentifier("a field of a sampler", &field) ||
        !Expect('=', "a sampler's initialiser")) {
      return false;
    }
    const Token value = token_;
    if (field.text == "force_unnormalized_coords") {
      Constant number;
      if (!Literal(&number)) return false;
      state->force_unnormalized = number.bits != 0;
      continue;
    }
    Token name;
    if (!ExpectIdentifier("a name", &name)) return false;
    const auto axis =
        std::find(std::begin(kFields), std::end(kFields), field.text);
    const auto mode =
        std::find(std::begin(kAddressing), std::end(kAddressing), name.text);
    if (axis != std::end(kFields) && mode != std::end(kAddressing)) {
      state->addressing[axis - kFields] =
          static_cast<std::uint32_t>(mode - kAddressing);
    } else if (field.text == "filter_mode" &&
               (name.text == "nearest" || name.text == "linear")) {
      state->linear = name.text == "linear";
    } else {
      known =
          Error(value.offset,
                "'" + std::string(field.text) + " = " + std::string(name.text) +
                    "' in a sampler, expected addr_mode_0 to addr_mode_2 "
                    "= wrap, mirror, clamp_to_edge or clamp_to_border, "
                    "filter_mode = nearest or linear, or "
                    "force_unnormalized_coords = 0 or 1");
    }
  } while (Accept(','));
  return Expect('}', "a sampler's initialiser") && known;
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
