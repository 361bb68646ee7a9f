// Function bodies: registers, labels, instructions.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "ptxc/front/parse/parser_impl.h"

namespace cerberus::ptx {
namespace {

// Register ids are dense, and lowering keeps vectors of them.
constexpr std::size_t kMaxRegisters = std::size_t{1} << 22;
constexpr std::uint64_t kMaxLabels = 65536;  // in a range of branch targets

// Whether array[1] stands for what is there, as in ld, or for where it lies,
// as in mov.
bool TakesAddress(const OpcodeRow& row, std::size_t operand) {
  return operand < row.specs.size() &&
         (row.specs[operand].classes & kOpAddress) != 0;
}

}  // namespace

void Parser::EnterScope() {
  names_.Enter();
  ranges_.Enter();
  labels_.Enter();
  scope_marks_.push_back(
      {static_cast<std::uint32_t>(pending_.size()), scope_labels_.size()});
  ++scope_depth_;
}

void Parser::AddPending(std::string_view name, std::uint32_t operand,
                        std::uint32_t prototype) {
  const std::uint32_t* before = pending_names_.Find(name);
  const std::uint32_t next = before != nullptr ? *before : kNoId;
  pending_names_.Insert(name, static_cast<std::uint32_t>(pending_.size()));
  pending_.push_back({operand, prototype, next});
}

// Names used in this scope and not declared before are labels of this scope
// or of one around it. Each label takes those that mean it, so that neither is
// looked at once for each scope around it.
void Parser::LeaveScope() {
  const ScopeMark mark = scope_marks_.back();
  for (std::size_t i = mark.labels; i < scope_labels_.size(); ++i) {
    const std::uint32_t label = scope_labels_[i];
    const std::string_view name = function_->labels[label].name;
    const std::uint32_t* last = pending_names_.Find(name);
    std::uint32_t at = last != nullptr ? *last : kNoId;
    for (; at != kNoId && at >= mark.pending; at = pending_[at].next) {
      if (pending_[at].prototype != kNoId) {
        function_->prototypes[pending_[at].prototype]
            .targets[pending_[at].operand] = label;
        continue;
      }
      Operand& operand = function_->operands[pending_[at].operand];
      operand.kind = OperandKind::kLabel;
      operand.index = label;
      operand.count = 0;
    }
    if (last != nullptr) pending_names_.Insert(name, at);
  }
  scope_labels_.resize(mark.labels);
  scope_marks_.pop_back();
  names_.Leave();
  ranges_.Leave();
  labels_.Leave();
  --scope_depth_;
}

void Parser::Body(Function& function) {
  function_ = &function;
  pending_.clear();
  pending_names_.Clear();
  scope_marks_.clear();
  scope_labels_.clear();
  scope_depth_ = 0;
  plain_digit_names_ = 0;
  range_scopes_.clear();
  // The pools grow in buffers that all bodies share, and are copied once
  // their size is known: growing fresh ones costs more than parsing.
  function.operands.swap(operand_buffer_);
  function.instructions.swap(instruction_buffer_);
  function.statements.swap(statement_buffer_);
  Advance();  // '{'
  EnterScope();
  // Kernels have registers of module scope as their own; functions, which
  // would share them with their callers, have none.
  for (const std::uint32_t offset : module_registers_) {
    if (!function.is_entry) break;
    const Lexer saved = lexer_;
    const Token token = token_;
    lexer_.Seek(offset);
    Advance();
    RegisterDirective(VariableHead());
    lexer_ = saved;
    token_ = token;
  }
  while (!stop_) {
    if (token_.kind == TokenKind::kEnd) {
      // Behind another error that is no news.
      if (function.errors == 0)
        Error(token_.offset, "the body of '" + std::string(function.name) +
                                 "' is not closed: expected '}'");
      break;
    }
    if (At('{')) {
      Advance();
      EnterScope();
      function.statements.push_back({StatementKind::kScopeBegin, 0});
      continue;
    }
    if (At('}')) {
      if (scope_depth_ == 1) break;
      Advance();
      LeaveScope();
      function.statements.push_back({StatementKind::kScopeEnd, 0});
      continue;
    }
    BodyStatement();
  }
  while (scope_depth_ > 0) LeaveScope();
  const auto settle = [](auto& pool, auto& buffer) {
    std::remove_reference_t<decltype(pool)> exact(pool.begin(), pool.end());
    pool.clear();
    buffer.swap(pool);
    pool.swap(exact);
  };
  settle(function.operands, operand_buffer_);
  settle(function.instructions, instruction_buffer_);
  settle(function.statements, statement_buffer_);
  if (!stop_ && At('}')) Advance();
}

void Parser::BodyStatement() {
  if (token_.kind == TokenKind::kIdentifier) {
    // A label, unless it is a mnemonic; "a::b" occurs in mnemonics only.
    const Token word = token_;
    if (lexer_.NextIs('.')) return InstructionStatement();
    Advance();
    if (At(':')) {
      Advance();
      if (AtDirective(".callprototype"))
        return PrototypeStatement(word, Prototype::Kind::kCallPrototype);
      if (AtDirective(".calltargets"))
        return PrototypeStatement(word, Prototype::Kind::kCallTargets);
      if (AtDirective(".branchtargets"))
        return PrototypeStatement(word, Prototype::Kind::kBranchTargets);
      return LabelStatement(word);
    }
    lexer_.Seek(word.offset + static_cast<std::uint32_t>(word.text.size()));
    token_ = word;
    return InstructionStatement();
  }
  if (At('@')) return InstructionStatement();
  if (At(';')) return StraySemicolon("an instruction, a label or a directive");
  if (token_.kind != TokenKind::kDirective) {
    ErrorHere("an instruction, a label or a directive");
    return SkipStatement();
  }
  if (AtDirective(".reg")) return RegisterDirective(VariableHead());
  if (AtDirective(".loc") || AtDirective(".loc_intermediate"))
    return LocDirective();
  if (AtDirective(".pragma")) {
    const std::size_t before = function_->body_pragmas.size();
    PragmaDirective(function_->body_pragmas);
    for (std::size_t i = before; i < function_->body_pragmas.size(); ++i)
      function_->statements.push_back(
          {StatementKind::kPragma, static_cast<std::uint32_t>(i)});
    return;
  }
  if (AtDirective(".file")) return FileDirective();
  Linkage linkage = Linkage::kLocal;
  if (AtLinkage(&linkage)) {
    if (linkage != Linkage::kExtern) linkage = Linkage::kLocal;
    Advance();
  }
  if (AtVariable()) {
    DeclHead head = VariableHead();
    if (head.variable.space == VarSpace::kReg) return RegisterDirective(head);
    head.variable.linkage = linkage;
    // Before PTX ISA 1.4 kernels had no list of parameters, but these.
    head.variable.is_param = function_->is_entry && module_.version < 14 &&
                             head.variable.space == VarSpace::kParam;
    std::vector<std::uint32_t> ids;
    const bool ok = head.ok && Declarators(head.variable, &ids);
    for (std::uint32_t id : ids) {
      if (head.variable.is_param) {
        function_->params.push_back(id);
        continue;
      }
      function_->variables.push_back(id);
      function_->statements.push_back({StatementKind::kVariable, id});
    }
    if (!ok) SkipStatement();
    return;
  }
  ErrorHere("an instruction or a directive of function scope");
  Advance();
  SkipStatement();
}

// ---- Declarations -----------------------------------------------------------

void Parser::RegisterDirective(const DeclHead& head) {
  if (!head.ok) return SkipStatement();
  do {
    Token name;
    if (!ExpectIdentifier("a register's name", &name)) return SkipStatement();
    std::uint64_t count = 1;
    const bool ranged = Accept('<');
    if (ranged) {
      Constant value;
      if (!Literal(&value) || !Expect('>', "a range of registers"))
        return SkipStatement();
      count = value.bits;
      if (value.kind != Constant::Kind::kInt ||
          count > kMaxRegisters - function_->registers.size()) {
        Error(name.offset, "more than " + std::to_string(kMaxRegisters) +
                               " registers in one function");
        return SkipStatement();
      }
    }
    DeclareRegisters(name.text, name.offset, static_cast<std::uint32_t>(count),
                     ranged, head.variable.type, head.variable.vector);
    function_->statements.push_back(
        {StatementKind::kRegisterDecl,
         static_cast<std::uint32_t>(function_->register_decls.size() - 1)});
  } while (Accept(','));
  if (!Expect(';', ".reg")) SkipStatement();
}

// Whether a register of this scope has the name of one of base<count>.
bool Parser::HoldsElementOf(std::string_view base, std::uint32_t count) const {
  if (plain_digit_names_ == 0) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (names_.InThisScope(std::string(base) + std::to_string(i))) return true;
  }
  return false;
}

// Whether a range of this scope has an element of this name.
bool Parser::IsElementOfRange(std::string_view name) const {
  std::string_view base;
  std::uint64_t number = 0;
  return SplitRangeName(name, &base, &number) && ranges_.InThisScope(base) &&
         number < function_->register_decls[*ranges_.Find(base)].count;
}

void Parser::DeclareRegisters(std::string_view name, std::uint32_t offset,
                              std::uint32_t count, bool ranged, Type type,
                              std::uint8_t vector) {
  RegisterDecl decl;
  decl.name = name;
  decl.offset = offset;
  decl.first = static_cast<std::uint32_t>(function_->registers.size());
  decl.count = count;
  decl.type = type;
  decl.vector = vector;
  decl.ranged = ranged;
  const std::uint32_t id =
      static_cast<std::uint32_t>(function_->register_decls.size());
  if (!ranged && IsParameterHere(name))
    Error(offset, "'" + std::string(name) + "' is a parameter's name already");
  else if (ranged ? ranges_.InThisScope(name) || HoldsElementOf(name, count)
                  : names_.InThisScope(name) || IsElementOfRange(name))
    Error(offset,
          "'" + std::string(name) + "' is declared twice in this scope");
  function_->register_decls.push_back(decl);
  function_->registers.resize(function_->registers.size() + count,
                              Register{type, vector, id});
  if (ranged) {
    const std::uint32_t* outer = ranges_.Find(name);
    range_scopes_.push_back(
        {id, outer != nullptr ? *outer : kNoId, ranges_.depth()});
    ranges_.Insert(name, static_cast<std::uint32_t>(range_scopes_.size() - 1));
  } else {
    names_.Insert(name, {Symbol::Kind::kRegister, decl.first});
    if (name.back() >= '0' && name.back() <= '9') ++plain_digit_names_;
  }
}

// .loc file line column {, function_name label{+off}, inlined_at f l c}; the
// same of .loc_intermediate, which nothing here asks for.
void Parser::LocDirective() {
  const bool of_source = AtDirective(".loc");
  Advance();
  Loc loc;
  const auto number = [&](std::uint32_t* out) {
    // No expressions here: three numbers follow each other without commas.
    Constant value;
    if (!Literal(&value)) return false;
    *out = static_cast<std::uint32_t>(value.bits);
    return true;
  };
  if (!number(&loc.file) || !number(&loc.line) || !number(&loc.column)) return;
  while (Accept(',')) {
    Token word;
    if (!ExpectIdentifier("function_name or inlined_at", &word)) return;
    if (word.text == "function_name") {
      Token label;
      if (!ExpectIdentifier("a label", &label)) return;
      loc.function_name = label.text;
      if (Accept('+')) {
        std::uint32_t offset = 0;
        if (!number(&offset)) return;
        loc.function_offset = offset;
      }
    } else if (word.text == "inlined_at") {
      loc.is_inlined = true;
      if (!number(&loc.inlined_file) || !number(&loc.inlined_line) ||
          !number(&loc.inlined_column))
        return;
    } else {
      Error(word.offset, "expected function_name or inlined_at, found '" +
                             std::string(word.text) + "'");
      return;
    }
  }
  if (function_ == nullptr || !of_source) return;
  loc_ = static_cast<std::uint32_t>(module_.locs.size());
  module_.locs.push_back(loc);
  function_->statements.push_back({StatementKind::kLoc, loc_});
}

void Parser::LabelStatement(const Token& name) {
  const std::uint32_t id = static_cast<std::uint32_t>(function_->labels.size());
  if (labels_.InThisScope(name.text))
    Error(name.offset, "label '" + std::string(name.text) +
                           "' is defined twice in this scope");
  function_->labels.push_back(
      {name.text, name.offset,
       static_cast<std::uint32_t>(function_->instructions.size())});
  labels_.Insert(name.text, id);
  scope_labels_.push_back(id);
  function_->statements.push_back({StatementKind::kLabel, id});
}

// p: .callprototype (ret) _ (params) {.noreturn};
// t: .calltargets f, g;   t: .branchtargets L1, L2, M<3>;
void Parser::PrototypeStatement(const Token& name, Prototype::Kind kind) {
  Prototype p;
  p.kind = kind;
  p.name = name.text;
  p.offset = name.offset;
  Advance();
  if (kind == Prototype::Kind::kCallPrototype) {
    if (Accept('(') && !ParameterList(p.returns, ')', false))
      return SkipStatement();
    Token placeholder;
    if (!ExpectIdentifier("'_'", &placeholder)) return SkipStatement();
    if (Accept('(') && !ParameterList(p.params, ')', false))
      return SkipStatement();
    while (token_.kind == TokenKind::kDirective) {
      // .noreturn, .abi_preserve N, .abi_preserve_control N
      if (AtDirective(".noreturn")) p.noreturn = true;
      const bool has_number = token_.text.starts_with(".abi_preserve");
      Advance();
      std::uint64_t ignored = 0;
      if (has_number && !UnsignedNumber(&ignored)) return SkipStatement();
    }
  } else {
    do {
      Token target;
      if (!ExpectIdentifier("a name", &target)) return SkipStatement();
      if (kind == Prototype::Kind::kBranchTargets && Accept('<')) {
        Constant count;
        if (!Literal(&count) || !Expect('>', "a range of labels"))
          return SkipStatement();
        if (count.kind != Constant::Kind::kInt || count.bits > kMaxLabels) {
          Error(target.offset, "a range of more than " +
                                   std::to_string(kMaxLabels) + " labels");
          return SkipStatement();
        }
        for (std::uint64_t i = 0; i < count.bits; ++i)
          p.unresolved.push_back(module_.arena.emplace_back(
              std::string(target.text) + std::to_string(i)));
        p.targets.resize(p.unresolved.size(), kNoId);
        continue;
      }
      p.unresolved.push_back(target.text);
      std::uint32_t id = kNoId;
      const Symbol* known = names_.Find(target.text);
      if (kind == Prototype::Kind::kCallTargets && known != nullptr &&
          known->kind == Symbol::Kind::kFunction)
        id = known->index;
      if (kind == Prototype::Kind::kCallTargets && id == kNoId)
        Error(target.offset, "'" + std::string(target.text) +
                                 "' is not a function declared before");
      p.targets.push_back(id);
    } while (Accept(','));
  }
  const std::uint32_t id =
      static_cast<std::uint32_t>(function_->prototypes.size());
  if (kind == Prototype::Kind::kBranchTargets) {
    for (std::uint32_t i = 0; i < p.unresolved.size(); ++i)
      AddPending(p.unresolved[i], i, id);
  }
  function_->prototypes.push_back(std::move(p));
  if (names_.InThisScope(name.text))
    Error(name.offset,
          "'" + std::string(name.text) + "' is declared twice in this scope");
  names_.Insert(name.text, {Symbol::Kind::kPrototype, id});
  function_->statements.push_back({StatementKind::kPrototype, id});
  if (!Expect(';', "a prototype")) SkipStatement();
}

// ---- Instructions -----------------------------------------------------------

// What the oldest PTX leaves out. PTX ISA 9.0, "div", "rcp", "sqrt", "sin", …:
// versions 1.0 to 1.3 imply .approx for .f32 and rsqrt, .rn for .f64; targets
// sm_1x flush subnormal numbers in all arithmetic on .f32.
bool Parser::ResolveWith(std::string_view modifier, std::string_view spelling,
                         int operands, InstForm* form) {
  const std::size_t dot = spelling.find('.');
  if (dot == spelling.npos) return false;
  std::string whole(spelling);
  whole.insert(dot, modifier);
  InstForm found;
  std::string error;
  if (!ResolveForm(module_.arena.emplace_back(std::move(whole)), operands,
                   &found, &error))
    return false;
  *form = found;
  return true;
}

const InstForm* Parser::FormOf(std::string_view spelling, int operands,
                               std::uint32_t offset) {
  const std::uint32_t* cached = form_index_.Find(spelling);
  for (std::uint32_t at = cached == nullptr ? kNoId : *cached; at != kNoId;
       at = form_cache_[at].next) {
    const CachedForm& entry = form_cache_[at];
    if (operands >= entry.min && operands <= entry.max) return entry.form;
  }
  InstForm form;
  std::string error;
  if (!ResolveForm(spelling, operands, &form, &error) &&
      !(module_.version < 14 &&
        (ResolveWith(".approx", spelling, operands, &form) ||
         ResolveWith(".rn", spelling, operands, &form)))) {
    Error(offset, std::move(error));
    return nullptr;
  }
  const auto types = std::span(form.types).first(form.num_types);
  if (module_.sm < 20 && form.mods.ftz() != Ftz::kOn &&
      std::ranges::find(types, Type::kF32) != types.end()) {
    ResolveWith(".ftz", form.spelling, operands, &form);
  }
  form.spelling = spelling;
  module_.forms.push_back(form);
  CachedForm entry{&module_.forms.back(), operands, operands,
                   cached == nullptr ? kNoId : *cached};
  form_cache_.push_back(entry);
  form_index_.Insert(spelling,
                     static_cast<std::uint32_t>(form_cache_.size() - 1));
  return entry.form;
}

void Parser::InstructionStatement() {
  Instruction inst;
  if (Accept('@')) {
    inst.guard_negated = Accept('!');
    Operand guard;
    const Token name = token_;
    if (token_.kind != TokenKind::kIdentifier) {
      ErrorHere("a predicate behind '@'");
      return SkipStatement();
    }
    Advance();
    if (!ResolveName(name, &guard)) return SkipStatement();
    if (guard.kind != OperandKind::kRegister) {
      Error(name.offset,
            "undefined predicate '" + std::string(name.text) + "'");
      return SkipStatement();
    }
    inst.guard = guard.index;
    if (token_.kind != TokenKind::kIdentifier) {
      ErrorHere("an instruction");
      return SkipStatement();
    }
  }
  const Token word = token_;
  inst.offset = word.offset;
  inst.loc = loc_;
  std::string_view mnemonic = lexer_.Mnemonic(word);
  Advance();
  // "add .f32" is legal PTX too, if nobody writes it.
  while (token_.kind == TokenKind::kDirective) {
    mnemonic = module_.arena.emplace_back(std::string(mnemonic) +
                                          std::string(token_.text));
    Advance();
  }
  const std::size_t base = scratch_.size();
  bool ok = true;
  int operands = 0;
  if (word.text == "call") {
    ok = CallOperands();
    operands = -1;
  } else if (!At(';')) {
    do {
      Operand operand;
      ok = ParseOperand(&operand);
      if (!ok) break;
      scratch_.push_back(operand);
      ++operands;
    } while (Accept(','));
  }
  if (ok) ok = Expect(';', "an instruction");
  if (!ok) {
    scratch_.resize(base);
    return SkipStatement();
  }
  inst.form = FormOf(mnemonic, operands, word.offset);
  inst.first_operand = static_cast<std::uint32_t>(function_->operands.size());
  inst.num_operands = static_cast<std::uint16_t>(
      std::min<std::size_t>(scratch_.size() - base, 0xffff));
  for (std::size_t i = base; i < scratch_.size(); ++i) {
    Operand& operand = scratch_[i];
    if (word.text == "bra") NameLabel(&operand);
    if (operand.kind == OperandKind::kUnresolved)
      AddPending(module_.NameOf(operand),
                 static_cast<std::uint32_t>(function_->operands.size()));
    if (operand.element && inst.form != nullptr &&
        TakesAddress(*inst.form->row, i - base)) {
      operand.kind = OperandKind::kAddress;
      operand.base = OperandKind::kVariable;
    }
    function_->operands.push_back(operand);
  }
  scratch_.resize(base);
  function_->statements.push_back(
      {StatementKind::kInstruction,
       static_cast<std::uint32_t>(function_->instructions.size())});
  function_->instructions.push_back(inst);
}

// A label may have the name of a function or of a variable.
void Parser::NameLabel(Operand* operand) {
  std::string_view name;
  if (operand->value != 0) return;
  if (operand->kind == OperandKind::kFunction)
    name = module_.functions[operand->index].name;
  else if (operand->kind == OperandKind::kVariable && !operand->element)
    name = module_.variables[operand->index].name;
  else return;
  operand->kind = OperandKind::kUnresolved;
  operand->index = kNoId;
  operand->count = static_cast<std::uint32_t>(name.size());
}

// call{.uni} {(ret),} callee {, (args)} {, prototype}
bool Parser::CallOperands() {
  Operand returns, callee, arguments, prototype;
  returns.kind = arguments.kind = OperandKind::kList;
  returns.index = arguments.index =
      static_cast<std::uint32_t>(function_->operands.size());
  if (Accept('(') &&
      (!OperandList(')', OperandKind::kList, &returns) || !Expect(',', "call")))
    return false;
  if (!OperandAtom(&callee, false)) return false;
  if (Accept(',')) {
    if (Accept('(')) {
      if (!OperandList(')', OperandKind::kList, &arguments)) return false;
      if (Accept(',') && !OperandAtom(&prototype, false)) return false;
    } else if (!OperandAtom(&prototype, false)) {
      return false;
    }
  }
  for (const Operand& operand : {returns, callee, arguments, prototype})
    scratch_.push_back(operand);
  return true;
}

}  // namespace cerberus::ptx
