// Functions: name, results, parameters, directives; what is declared again.
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "ptxc/front/parse/parser_impl.h"

namespace cerberus::ptx {

namespace {

// What may follow a declaration that has no ';'.
bool IsModuleDirective(std::string_view directive) {
  constexpr std::string_view kDirectives[] = {
      ".visible", ".extern", ".weak",   ".common", ".func", ".entry",
      ".global",  ".const",  ".shared", ".tex",    ".file", ".section"};
  return std::ranges::find(kDirectives, directive) != std::end(kDirectives);
}

}  // namespace

// Parameters belong to the function's scope: its body sees them.
void Parser::EnterFunction() {
  names_.Enter();
  ranges_.Enter();
  labels_.Enter();
}

void Parser::LeaveFunction() {
  labels_.Leave();
  ranges_.Leave();
  names_.Leave();
  function_ = nullptr;
  function_id_ = kNoId;
  loc_ = kNoId;
}

// Up to the body or the ';'. False if there is not even a name.
bool Parser::FunctionHead(bool is_entry) {
  if (!is_entry && Accept('(') &&
      !ParameterList(function_->returns, ')', true)) {
    return false;
  }
  Token name = token_;
  if (!ExpectIdentifier("a function's name", &name)) return false;
  function_->name = name.text;
  function_->offset = name.offset;
  if (Accept('(') && !ParameterList(function_->params, ')', true)) {
    while (token_.kind != TokenKind::kEnd && !At('{') && !At(';')) Advance();
  }
  TuningDirectives(*function_);
  function_->has_body = At('{');
  return true;
}

// The function was declared before, as number `first_id`, which it keeps.
void Parser::MergeWithDeclaration(std::uint32_t first_id) {
  Function& first = module_.functions[first_id];
  const std::string name(function_->name);
  if (first.has_body) {
    Error(function_->offset,
          "function '" + name + "' is " +
              (function_->has_body ? "defined twice"
                                   : "declared behind its definition"));
  } else if (first.is_entry != function_->is_entry) {
    Error(function_->offset, "'" + name + "' was declared as " +
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
    module_.variables[v].function = first_id;
  module_.functions.pop_back();
  function_ = &module_.functions[first_id];
  function_id_ = first_id;
  for (const std::vector<std::uint32_t>* list :
       {&function_->params, &function_->returns})
    for (std::uint32_t v : *list) module_.variables[v].function = first_id;
}

// The function's name is visible inside (recursion) and, once the scope is
// left, behind.
void Parser::NameFunctionOutside() {
  names_.Leave();
  names_.Insert(function_->name, {Symbol::Kind::kFunction, function_id_});
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

void Parser::FunctionItem(Linkage linkage, bool is_entry) {
  Function function;
  function.is_entry = is_entry;
  function.linkage = linkage;
  const std::uint32_t id = static_cast<std::uint32_t>(module_.functions.size());
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
  EnterFunction();
  if (!FunctionHead(is_entry)) {
    // Without a name there is nothing to keep.
    LeaveFunction();
    ++module_errors_;
    module_.functions.pop_back();
    return SkipStatement();
  }
  const std::string_view name = function_->name;
  if (function_->has_body && linkage == Linkage::kExtern)
    Error(function_->offset,
          "'" + std::string(name) + "' is .extern and has a body");

  const Symbol* known = names_.Find(name);
  const bool is_new = known == nullptr;
  if (known != nullptr && known->kind == Symbol::Kind::kFunction) {
    MergeWithDeclaration(known->index);
  } else if (known != nullptr) {
    Error(function_->offset, "'" + std::string(name) + "' is declared twice");
  }
  const std::uint32_t target = function_id_;
  module_.order.push_back({TopLevelKind::kFunction, target});
  if (At('{')) {
    if (is_new) NameFunctionOutside();
    Body(*function_);
    return LeaveFunction();
  }
  LeaveFunction();
  if (is_new) names_.Insert(name, {Symbol::Kind::kFunction, target});
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

}  // namespace cerberus::ptx
