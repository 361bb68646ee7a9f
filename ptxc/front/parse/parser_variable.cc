// Variables and parameters: space, type, attributes, dimensions, initialisers.
#include <algorithm>
#include <utility>

#include "ptxc/front/parse/parser_impl.h"

namespace cerberus::ptx {
namespace {

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

}  // namespace

std::string TypeText(const Variable& v) {
  std::string text(VarSpaceName(v.space));
  if (v.align != 0) text += " .align " + std::to_string(v.align);
  if (v.vector > 1) text += " .v" + std::to_string(v.vector);
  text += " ." + std::string(TypeName(v.type));
  for (const std::uint64_t n : v.dims)
    text += n == 0 ? "[]" : "[" + std::to_string(n) + "]";
  return text;
}

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

// name<n>: n variables, name0 and so on, from behind the '<'.
bool Parser::NumberedVariables(const Variable& v,
                               std::vector<std::uint32_t>* ids) {
  const std::uint32_t offset = token_.offset;
  // Not UnsignedNumber: '>' would be taken for a comparison.
  Constant value;
  if (!Literal(&value) || !Expect('>', "a range of names")) return false;
  if (value.kind != Constant::Kind::kInt || value.bits > 65536)
    return Error(offset, "a range of more than 65536 variables");
  for (std::uint64_t i = 0; i < value.bits; ++i) {
    Variable one = v;
    one.name =
        module_.arena.emplace_back(std::string(v.name) + std::to_string(i));
    const std::uint32_t id = AddVariable(one);
    names_.Insert(module_.variables[id].name, {Symbol::Kind::kVariable, id});
    if (ids != nullptr) ids->push_back(id);
    if (function_ == nullptr)
      module_.order.push_back({TopLevelKind::kVariable, id});
  }
  return true;
}

// Binds the name before the initialiser, which may take its own address: to a
// new id, or to that of a declaration that this one completes.
bool Parser::BindVariable(const Variable& v, std::uint32_t* id,
                          bool* replaces) {
  const std::string quoted = "'" + std::string(v.name) + "'";
  const Symbol* known = names_.Find(v.name);
  if (IsParameterHere(v.name))
    return Error(v.offset, quoted + " is a parameter's name already");
  *replaces = known != nullptr && names_.InThisScope(v.name);
  if (!*replaces) {
    *id = AddVariable(v);
    names_.Insert(v.name, {Symbol::Kind::kVariable, *id});
    return true;
  }
  const Variable* first =
      function_ == nullptr && known->kind == Symbol::Kind::kVariable
          ? &module_.variables[known->index]
          : nullptr;
  if (first == nullptr ||
      (first->linkage != Linkage::kExtern && v.linkage != Linkage::kExtern))
    return Error(v.offset, quoted + " is declared twice in this scope");
  // An open array may be given its size.
  std::vector<std::uint64_t> before = first->dims, now = v.dims;
  if (first->is_open() || v.is_open())
    before.resize(1), now.resize(1), before = now;
  if (first->type != v.type || first->vector != v.vector || before != now)
    return Error(v.offset, quoted + " is " + TypeText(v) +
                               ", but was declared as " + TypeText(*first));
  if (v.linkage == Linkage::kLocal || first->linkage == Linkage::kLocal)
    return Error(v.offset, quoted +
                               " is .extern in one declaration and has no "
                               "linkage in another");
  *id = known->index;
  return true;
}

// From behind the '='.
bool Parser::VariableInitialiser(Variable& v) {
  v.has_init = true;
  const std::uint32_t start = token_.offset;
  std::uint64_t stride = static_cast<std::uint64_t>(BytesOf(v.type)) * v.vector;
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
  return true;
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
      if (!NumberedVariables(v, ids)) return false;
      continue;
    }
    if (!ArrayDims(v)) return false;
    std::uint32_t id = kNoId;
    bool replaces = false;
    if (!BindVariable(v, &id, &replaces)) return false;
    if (Accept('=')) {
      if (!VariableInitialiser(v)) return false;
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

}  // namespace cerberus::ptx
