// Constant expressions, evaluated as the manual says: integers are 64 bits,
// signed unless the literal has a U suffix or does not fit; the usual
// arithmetic conversions; shifts take the left operand's type; '~' makes
// unsigned; '%' divides unsigned numbers, with a signed result; comparisons
// give signed 0 or 1. Floats are doubles and do not mix with integers: the
// operators are unary + and -, the arithmetic ones and comparisons.
// As ptxas has it, a shift counts modulo 64, and the type of '?' is that of the
// value it chose.
// PTX ISA, "Constant Expressions" and "Integer Constant Expression Evaluation".
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "ptxc/front/parse/parser_impl.h"

namespace cerberus::ptx {
namespace {

constexpr int kMaxDepth = 200;

}  // namespace

int Parser::PrecedenceOf(const Token& token) {
  switch (token.kind) {
    case TokenKind::kOrOr: return 2;
    case TokenKind::kAndAnd: return 3;
    case TokenKind::kEqual:
    case TokenKind::kNotEqual: return 7;
    case TokenKind::kLessEqual:
    case TokenKind::kGreaterEqual: return 8;
    case TokenKind::kShiftLeft:
    case TokenKind::kShiftRight: return 9;
    case TokenKind::kPunctuation: break;
    default: return -1;
  }
  switch (token.text[0]) {
    case '?': return 1;
    case '|': return 4;
    case '^': return 5;
    case '&': return 6;
    case '<':
    case '>': return 8;
    case '+':
    case '-': return 10;
    case '*':
    case '/':
    case '%': return kProduct;
    default: return -1;
  }
}

namespace {

// Of more than 64 bits the low ones count, as for ptxas, which refuses only a
// digit behind a number whose top bit is set already.
bool ParseInteger(std::string_view text, std::uint64_t* value, bool* u) {
  *u = text.ends_with('U');
  if (*u) text.remove_suffix(1);
  std::uint64_t base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'b') {
    base = 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  *value = 0;
  for (const char c : text) {
    const std::uint64_t digit =
        static_cast<std::uint64_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    if (digit >= base || *value >= kTop) return false;
    *value = *value * base + digit;
  }
  // Constants that do not fit in 63 bits are unsigned.
  if (*value >= kTop) *u = true;
  return !text.empty();
}

std::uint64_t HexDigits(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

double ToDouble(const Constant& constant) {
  double value = 0;
  std::memcpy(&value, &constant.bits, sizeof value);
  return value;
}

// "a op b" of doubles; false when `op` takes integers only.
bool FloatBinary(const Token& op, double a, double b, Constant* out) {
  double value = 0;
  bool truth = false;
  bool comparison = true;
  switch (op.kind) {
    case TokenKind::kEqual: truth = a == b; break;
    case TokenKind::kNotEqual: truth = a != b; break;
    case TokenKind::kLessEqual: truth = a <= b; break;
    case TokenKind::kGreaterEqual: truth = a >= b; break;
    case TokenKind::kPunctuation:
      switch (op.text[0]) {
        case '<': truth = a < b; break;
        case '>': truth = a > b; break;
        case '+':
          value = a + b;
          comparison = false;
          break;
        case '-':
          value = a - b;
          comparison = false;
          break;
        case '*':
          value = a * b;
          comparison = false;
          break;
        case '/':
          value = a / b;
          comparison = false;
          break;
        default: return false;
      }
      break;
    default: return false;
  }
  if (comparison) {
    *out = Constant{Constant::Kind::kInt, false, truth ? 1u : 0u};
  } else {
    *out = Constant{Constant::Kind::kFloat64, false, 0};
    std::memcpy(&out->bits, &value, sizeof value);
  }
  return true;
}

}  // namespace

bool Parser::Literal(Constant* out) {
  const Token token = token_;
  switch (token.kind) {
    case TokenKind::kInteger:
      out->kind = Constant::Kind::kInt;
      if (!ParseInteger(token.text, &out->bits, &out->is_unsigned))
        return Error(token.offset, "'" + std::string(token.text) +
                                       "' is not an integer of 64 bits");
      break;
    case TokenKind::kFloat32:
      out->kind = Constant::Kind::kFloat32;
      out->bits = HexDigits(token.text.substr(2));
      break;
    case TokenKind::kFloat64: {
      out->kind = Constant::Kind::kFloat64;
      if (token.text.size() == 18 && (token.text[1] | 0x20) == 'd') {
        out->bits = HexDigits(token.text.substr(2));
      } else {
        double value = 0;
        const std::from_chars_result r = std::from_chars(
            token.text.data(), token.text.data() + token.text.size(), value);
        if (r.ec == std::errc::result_out_of_range)
          return Error(token.offset, "'" + std::string(token.text) +
                                         "' is out of a double's range");
        std::memcpy(&out->bits, &value, sizeof value);
      }
      break;
    }
    default: return ErrorHere("a constant");
  }
  Advance();
  return true;
}

bool Parser::Unary(int depth, Constant* out) {
  if (depth > kMaxDepth)
    return Error(token_.offset, "constant expression is nested too deeply");
  if (token_.kind == TokenKind::kIdentifier && token_.text == "WARP_SZ") {
    *out = Constant{Constant::Kind::kInt, false, 32};
    Advance();
    return true;
  }
  if (token_.kind != TokenKind::kPunctuation) return Literal(out);
  const char op = token_.text[0];
  const std::uint32_t offset = token_.offset;
  if (op == '(') {
    Advance();
    // A cast: (.s64) or (.u64).
    if (AtDirective(".s64") || AtDirective(".u64")) {
      const bool u = token_.text[1] == 'u';
      Advance();
      if (!Expect(')', "a cast") || !Unary(depth + 1, out)) return false;
      out->is_unsigned = u;
      return true;
    }
    return Binary(0, depth + 1, out) && Expect(')', "an expression");
  }
  if (op != '-' && op != '+' && op != '~' && op != '!')
    return ErrorHere("a constant");
  Advance();
  if (!Unary(depth + 1, out)) return false;
  if (out->kind != Constant::Kind::kInt) {
    if (op == '-')
      out->bits ^= out->kind == Constant::Kind::kFloat32 ? 0x80000000u
                                                         : 0x8000000000000000u;
    else if (op != '+')
      return Error(
          offset, "'" + std::string(1, op) + "' needs an integer, not a float");
    return true;
  }
  if (op == '-') {
    out->bits = 0 - out->bits;
  } else if (op == '~') {
    out->bits = ~out->bits;
    out->is_unsigned = true;
  } else if (op == '!') {
    out->bits = out->bits == 0 ? 1 : 0;
    out->is_unsigned = false;
  }
  return true;
}

// `out` becomes out `op` right, both integers.
bool Parser::IntBinary(const Token& op, const Constant& right, Constant* out) {
  const std::uint64_t a = out->bits;
  const std::uint64_t b = right.bits;
  const bool u = out->is_unsigned || right.is_unsigned;
  const std::int64_t sa = static_cast<std::int64_t>(a);
  const std::int64_t sb = static_cast<std::int64_t>(b);
  const bool less = u ? a < b : sa < sb;
  std::uint64_t value = 0;
  bool is_signed = false;  // whatever the operands are
  switch (op.kind) {
    case TokenKind::kOrOr:
      value = a != 0 || b != 0;
      is_signed = true;
      break;
    case TokenKind::kAndAnd:
      value = a != 0 && b != 0;
      is_signed = true;
      break;
    case TokenKind::kEqual:
      value = a == b;
      is_signed = true;
      break;
    case TokenKind::kNotEqual:
      value = a != b;
      is_signed = true;
      break;
    case TokenKind::kLessEqual:
      value = less || a == b;
      is_signed = true;
      break;
    case TokenKind::kGreaterEqual:
      value = !less;
      is_signed = true;
      break;
    case TokenKind::kShiftLeft: value = a << (b & 63); break;
    case TokenKind::kShiftRight:
      value = out->is_unsigned ? a >> (b & 63)
                               : static_cast<std::uint64_t>(sa >> (b & 63));
      break;
    default:
      switch (op.text[0]) {
        case '|': value = a | b; break;
        case '^': value = a ^ b; break;
        case '&': value = a & b; break;
        case '<':
          value = less;
          is_signed = true;
          break;
        case '>':
          value = !less && a != b;
          is_signed = true;
          break;
        case '+': value = a + b; break;
        case '-': value = a - b; break;
        case '*': value = a * b; break;
        default:
          if (b == 0) return Error(op.offset, "division by zero");
          if (op.Is('%')) {
            value = a % b;
            is_signed = true;
          } else if (u) {
            value = a / b;
          } else {
            // No overflow trap.
            value = sb == -1 ? 0 - a : static_cast<std::uint64_t>(sa / sb);
          }
      }
  }
  const bool shift =
      op.kind == TokenKind::kShiftLeft || op.kind == TokenKind::kShiftRight;
  out->bits = value;
  out->is_unsigned = !is_signed && (shift ? out->is_unsigned : u);
  return true;
}

bool Parser::Binary(int min_precedence, int depth, Constant* out) {
  if (!Unary(depth, out)) return false;
  while (true) {
    // Behind a value, "%4" is a remainder, not a name.
    if (token_.kind == TokenKind::kIdentifier && token_.text[0] == '%') {
      token_.kind = TokenKind::kPunctuation;
      token_.text = token_.text.substr(0, 1);
      lexer_.Seek(token_.offset + 1);
    }
    const int precedence = PrecedenceOf(token_);
    if (precedence < 0 || precedence < min_precedence) return true;
    const Token op = token_;
    if (depth > kMaxDepth)
      return Error(op.offset, "constant expression is nested too deeply");
    Advance();
    if (op.Is('?')) {
      if (out->kind != Constant::Kind::kInt)
        return Error(op.offset, "'?' needs an integer, not a float");
      Constant yes, no;
      if (!Binary(0, depth + 1, &yes) || !Expect(':', "'?'") ||
          !Binary(precedence, depth + 1, &no))
        return false;
      *out = out->bits != 0 ? yes : no;
      continue;
    }
    Constant right;
    if (!Binary(precedence + 1, depth + 1, &right)) return false;
    if (out->kind == Constant::Kind::kFloat64 &&
        right.kind == Constant::Kind::kFloat64 &&
        FloatBinary(op, ToDouble(*out), ToDouble(right), out))
      continue;
    if (out->kind != Constant::Kind::kInt || right.kind != Constant::Kind::kInt)
      return Error(op.offset,
                   "'" + std::string(op.text) + "' needs integers, not floats");
    if (!IntBinary(op, right, out)) return false;
  }
}

bool Parser::ConstantExpression(Constant* out) { return Binary(0, 0, out); }

// What is added to a name or a register: behind '+' any expression, so that
// a+1<<4 is a+16; a-4 is more than ptxas takes.
bool Parser::Addends(std::uint64_t* sum) {
  while (At('+') || At('-')) {
    const bool minus = At('-');
    Advance();
    Constant term;
    const std::uint32_t offset = token_.offset;
    if (!Binary(minus ? kProduct : 0, 0, &term)) return false;
    if (term.kind != Constant::Kind::kInt)
      return Error(offset, "an address offset must be an integer");
    *sum += minus ? 0 - term.bits : term.bits;
  }
  return true;
}

bool Parser::UnsignedNumber(std::uint64_t* out) {
  const std::uint32_t offset = token_.offset;
  Constant value;
  if (!ConstantExpression(&value)) return false;
  if (value.kind != Constant::Kind::kInt ||
      (!value.is_unsigned && static_cast<std::int64_t>(value.bits) < 0))
    return Error(offset, "expected a number that is not negative");
  *out = value.bits;
  return true;
}

}  // namespace cerberus::ptx
