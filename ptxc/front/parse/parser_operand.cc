// The operands of instructions.
#include <algorithm>
#include <utility>

#include "ptxc/front/parse/parser_impl.h"

namespace cerberus::ptx {
namespace {

constexpr int kMaxNesting = 32;

}  // namespace

bool SplitRangeName(std::string_view name, std::string_view* base,
                    std::uint64_t* number) {
  std::size_t start = name.size();
  while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') --start;
  const std::size_t digits = name.size() - start;
  if (digits == 0 || digits > 9 || start == 0) return false;
  std::uint64_t value = 0;
  for (std::size_t i = start; i < name.size(); ++i)
    value = value * 10 + static_cast<std::uint64_t>(name[i] - '0');
  *base = name.substr(0, start);
  *number = value;
  return true;
}

bool Parser::ParseOperand(Operand* out) {
  if (nesting_ > kMaxNesting)
    return Error(token_.offset, "operands are nested too deeply");
  if (At('[')) return BracketOperand(out);
  if (Accept('{')) {
    ++open_braces_;
    if (!OperandList('}', OperandKind::kVector, out)) return false;
    --open_braces_;
  } else if (!OperandAtom(out, false)) {
    return false;
  }
  if (!At('|')) return true;
  // d|p
  Operand pair;
  pair.kind = OperandKind::kPair;
  pair.offset = out->offset;
  Advance();
  Operand second;
  if (!OperandAtom(&second, false)) return false;
  pair.index = static_cast<std::uint32_t>(function_->operands.size());
  pair.count = 2;
  for (const Operand& half : {*out, second}) {
    if (half.kind == OperandKind::kUnresolved)
      AddPending(module_.NameOf(half),
                 static_cast<std::uint32_t>(function_->operands.size()));
    function_->operands.push_back(half);
  }
  *out = pair;
  return true;
}

// An element of a list, or an address: nothing that `!p` or `-r` may stand for.
bool Parser::IsPlain(const Operand& operand) {
  return !operand.negated ||
         Error(operand.offset, "'!' and '-' stand only before whole operands");
}

// Operands up to and with `close` become the children of one.
bool Parser::OperandList(char close, OperandKind kind, Operand* out) {
  out->kind = kind;
  out->offset = token_.offset;
  const std::size_t base = scratch_.size();
  ++nesting_;
  bool ok = true;
  if (!At(close)) {
    do {
      Operand child;
      ok = ParseOperand(&child) && IsPlain(child);
      if (ok) scratch_.push_back(child);
    } while (ok && Accept(','));
  }
  ok = ok && Expect(close, "a list of operands");
  --nesting_;
  TakeChildren(base, out);
  return ok;
}

// Moves the operands gathered since `base` into the function's pool, as the
// children of `out`.
void Parser::TakeChildren(std::size_t base, Operand* out) {
  out->index = static_cast<std::uint32_t>(function_->operands.size());
  out->count = static_cast<std::uint32_t>(scratch_.size() - base);
  for (std::size_t i = base; i < scratch_.size(); ++i) {
    if (scratch_[i].kind == OperandKind::kUnresolved)
      AddPending(module_.NameOf(scratch_[i]),
                 static_cast<std::uint32_t>(function_->operands.size()));
    function_->operands.push_back(scratch_[i]);
  }
  scratch_.resize(base);
}

// [address] or [texture, {coordinates}], behind which .unified may stand.
bool Parser::BracketOperand(Operand* out) {
  const std::uint32_t offset = token_.offset;
  Advance();
  Operand base;
  if (!OperandAtom(&base, true) || !IsPlain(base)) return false;
  if (At(',')) {
    Operand list;
    list.kind = OperandKind::kTexture;
    list.offset = offset;
    const std::size_t mark = scratch_.size();
    scratch_.push_back(base);
    ++nesting_;
    bool ok = true;
    while (ok && Accept(',')) {
      Operand child;
      ok = ParseOperand(&child) && IsPlain(child);
      if (ok) scratch_.push_back(child);
    }
    ok = ok && Expect(']', "a texture or tensor operand");
    --nesting_;
    TakeChildren(mark, &list);
    *out = list;
    return ok;
  }
  if (!Expect(']', "an address")) return false;
  out->kind = OperandKind::kAddress;
  out->base = base.kind;
  out->offset = base.kind == OperandKind::kUnresolved ? base.offset : offset;
  out->index = base.index;
  out->count = base.kind == OperandKind::kUnresolved ? base.count : 0;
  out->value = base.value;
  out->part = base.part;
  if (AtDirective(".unified")) {
    out->unified = true;
    Advance();
  }
  return true;
}

// A register of up to 64 bits that `+4` may follow also outside of addresses;
// only ptxas says so, and not in lists.
bool Parser::IsInteger(const Operand& operand) const {
  const Register& reg = function_->registers[operand.index];
  const TypeKind kind = KindOf(reg.type);
  return operand.part == Component::kWhole && reg.vector <= 1 &&
         BitsOf(reg.type) <= 64 &&
         (kind == TypeKind::kBit || kind == TypeKind::kUnsigned ||
          kind == TypeKind::kSigned);
}

// A name, a constant, _, !p, -r; sym+4, array[1], reg+4.
bool Parser::OperandAtom(Operand* out, bool in_address) {
  out->offset = token_.offset;
  // !p negates a predicate, -r an operand of vmad.
  if (At('!') || At('-')) {
    const Lexer saved = lexer_;
    const Token bang = token_;
    Advance();
    if (token_.kind == TokenKind::kIdentifier && token_.text != "WARP_SZ") {
      if (!OperandAtom(out, false)) return false;
      out->negated = true;
      return true;
    }
    lexer_ = saved;
    token_ = bang;
  }
  if (token_.kind == TokenKind::kIdentifier && token_.text != "WARP_SZ") {
    const Token name = token_;
    Advance();
    if (!ResolveName(name, out)) return false;
    if (token_.kind == TokenKind::kDirective && !ComponentOf(out)) return false;
    const bool adds = out->kind == OperandKind::kVariable ||
                      out->kind == OperandKind::kFunction ||
                      (out->kind == OperandKind::kRegister &&
                       (in_address || (nesting_ == 0 && IsInteger(*out)))) ||
                      (in_address && out->kind == OperandKind::kUnresolved);
    if (out->kind == OperandKind::kVariable && At('[')) return ElementOf(out);
    if (!adds || (!At('+') && !At('-'))) return true;
    std::uint64_t sum = 0;
    if (!Addends(&sum)) return false;
    if (out->kind != OperandKind::kUnresolved)
      out->value = static_cast<std::int64_t>(sum);
    return true;
  }
  Constant value;
  if (!ConstantExpression(&value)) return false;
  out->kind = value.kind == Constant::Kind::kInt       ? OperandKind::kInt
              : value.kind == Constant::Kind::kFloat32 ? OperandKind::kFloat32
                                                       : OperandKind::kFloat64;
  out->bits = value.bits;
  out->is_unsigned = value.is_unsigned;
  return true;
}

// array[2], array[%r], array[%r+2]: elements are counted, not bytes (PTX ISA
// 9.0, 6.4.2, "Arrays as Operands"). Those of a vector array are its scalars,
// as ptxas has it.
bool Parser::ElementOf(Operand* out) {
  Advance();
  const Variable& array = module_.variables[out->index];
  Constant index;
  if (token_.kind == TokenKind::kIdentifier && token_.text != "WARP_SZ") {
    const Token name = token_;
    Operand counter;
    Advance();
    if (!ResolveName(name, &counter)) return false;
    if (counter.kind != OperandKind::kRegister)
      return Error(name.offset, "'" + std::string(name.text) +
                                    "' is not a register that counts elements");
    out->count = counter.index + 1;
  }
  if ((out->count == 0 || At('+') || At('-')) && !ConstantExpression(&index))
    return false;
  if (!Expect(']', "an array's element")) return false;
  out->element = true;
  out->value = static_cast<std::int64_t>(
      index.bits * static_cast<std::uint64_t>(BytesOf(array.type)));
  return true;
}

// .x of a special or vector register; .b0, .h1, .b3210 of a video operand.
bool Parser::ComponentOf(Operand* operand) {
  std::string_view text = token_.text.substr(1);
  if (operand->kind != OperandKind::kRegister &&
      operand->kind != OperandKind::kSpecial) {
    if (text == "unified") return true;
    return ErrorHere("an operand's end");
  }
  if (text == "unified") return true;
  constexpr std::string_view kXyzw = "xyzw";
  constexpr std::string_view kRgba = "rgba";
  Component part = Component::kWhole;
  if (text.size() == 1) {
    std::size_t at = kXyzw.find(text[0]);
    if (at == std::string_view::npos) at = kRgba.find(text[0]);
    if (at != std::string_view::npos)
      part =
          static_cast<Component>(static_cast<std::size_t>(Component::kX) + at);
  } else if (text.size() == 2 && text[0] == 'b' && text[1] >= '0' &&
             text[1] <= '3') {
    part = static_cast<Component>(static_cast<int>(Component::kB0) +
                                  (text[1] - '0'));
  } else if (text == "h0") {
    part = Component::kH0;
  } else if (text == "h1") {
    part = Component::kH1;
  } else if (text.size() >= 2 && text.size() <= 5 &&
             (text[0] == 'b' || text[0] == 'h')) {
    // One digit (0 to 7) per byte or half, the most significant first; the
    // sign of `value` tells halves from bytes.
    part = Component::kSelector;
    std::int64_t digits = 1;
    for (const char c : text.substr(1)) {
      if (c < '0' || c > '7') part = Component::kWhole;
      digits = digits * 8 + (c - '0');
    }
    operand->value = text[0] == 'b' ? digits : -digits;
  }
  if (part == Component::kWhole)
    return ErrorHere("a component such as .x or .b0");
  operand->part = part;
  Advance();
  return true;
}

// The register that `name` is as an element of a range such as %r<100>, of the
// innermost one that has so many, and the scope of that; kNoId if none has.
std::uint32_t Parser::RangeElement(std::string_view name, std::size_t* depth) {
  std::string_view base;
  std::uint64_t number = 0;
  if (!SplitRangeName(name, &base, &number)) return kNoId;
  const std::uint32_t* innermost = ranges_.Find(base);
  for (std::uint32_t at = innermost ? *innermost : kNoId; at != kNoId;
       at = range_scopes_[at].outer) {
    const RegisterDecl& decl =
        function_->register_decls[range_scopes_[at].decl];
    if (number >= decl.count) continue;
    *depth = range_scopes_[at].depth;
    return decl.first + static_cast<std::uint32_t>(number);
  }
  return kNoId;
}

bool Parser::ResolveName(const Token& name, Operand* out) {
  out->offset = name.offset;
  const std::string_view text = name.text;
  if (text.size() == 1 && text[0] == '_') {
    out->kind = OperandKind::kSink;
    return true;
  }
  // Nearly always an element of a range; a register of that very name is
  // looked for only where there are such.
  std::size_t depth = 0;
  const std::uint32_t element = RangeElement(text, &depth);
  if (element != kNoId &&
      (plain_digit_names_ == 0 || !names_.FindFrom(depth, text))) {
    out->kind = OperandKind::kRegister;
    out->index = element;
    return true;
  }
  if (const Symbol* symbol = names_.Find(text)) {
    switch (symbol->kind) {
      case Symbol::Kind::kRegister: out->kind = OperandKind::kRegister; break;
      case Symbol::Kind::kVariable: out->kind = OperandKind::kVariable; break;
      case Symbol::Kind::kFunction: out->kind = OperandKind::kFunction; break;
      case Symbol::Kind::kPrototype: out->kind = OperandKind::kPrototype; break;
    }
    out->index = symbol->index;
    return true;
  }
  if (text[0] == '%') {
    if (const SpecialReg* special = special_.Find(text)) {
      out->kind = OperandKind::kSpecial;
      out->index = static_cast<std::uint32_t>(*special);
      return true;
    }
  }
  out->kind = OperandKind::kUnresolved;
  out->index = kNoId;
  out->count = static_cast<std::uint32_t>(text.size());
  return true;
}

}  // namespace cerberus::ptx
