// Any bytes through the lexer: tokens are views into the text, in order, with
// nothing but blanks and comments between them, and the text ends.
//
// The text lies at the end of an allocation of its own, so that reading a
// character too far is seen.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <source_location>
#include <string_view>

#include "ptxc/front/parse/lexer.h"

namespace {

using cerberus::ptx::Lexer;
using cerberus::ptx::Token;
using cerberus::ptx::TokenKind;

void Must(bool holds,
          std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "the check in line %u failed\n", where.line());
  std::abort();
}

// Whether `gap` holds no token: an independent reading of what PTX skips.
bool IsSkipped(std::string_view gap) {
  while (!gap.empty()) {
    std::size_t length = 1;
    if (gap.starts_with("//") || gap[0] == '#') {
      length = gap.find('\n');
    } else if (gap.starts_with("/*")) {
      length = gap.find("*/", 2);
      if (length == std::string_view::npos) return false;
      length += 2;
    } else if (std::string_view(" \t\r\n\v\f").find(gap[0]) ==
               std::string_view::npos) {
      return false;
    }
    if (length > gap.size()) return true;
    gap.remove_prefix(length);
  }
  return true;
}

// The token's first character decides what it may be.
bool FitsKind(const Token& token, std::string_view text) {
  const std::string_view t = token.text;
  switch (token.kind) {
    case TokenKind::kIdentifier:
      return t[0] == '_' || t[0] == '$' || t[0] == '%' ||
             ((t[0] | 0x20) >= 'a' && (t[0] | 0x20) <= 'z');
    case TokenKind::kDirective: return t[0] == '.';
    case TokenKind::kInteger: return t[0] >= '0' && t[0] <= '9';
    case TokenKind::kFloat32: return t.size() == 10;
    case TokenKind::kFloat64:
      return t[0] == '.' || (t[0] >= '0' && t[0] <= '9');
    case TokenKind::kString:
      return text[token.offset] == '"' && t.find('\n') == t.npos;
    case TokenKind::kShiftLeft: return t == "<<";
    case TokenKind::kShiftRight: return t == ">>";
    case TokenKind::kLessEqual: return t == "<=";
    case TokenKind::kGreaterEqual: return t == ">=";
    case TokenKind::kEqual: return t == "==";
    case TokenKind::kNotEqual: return t == "!=";
    case TokenKind::kAndAnd: return t == "&&";
    case TokenKind::kOrOr: return t == "||";
    case TokenKind::kPunctuation: return t.size() == 1;
    case TokenKind::kError: return !t.empty();
    case TokenKind::kEnd: return t.empty();
  }
  return false;
}

void CheckTokens(std::string_view text) {
  Lexer lexer(text);
  std::size_t end = 0;  // of the token before
  while (true) {
    const Token token = lexer.Next();
    Must(token.text.data() >= text.data() + end &&
         token.text.data() + token.text.size() <= text.data() + text.size());
    // A string's text stands behind its quote.
    Must(text.data() + token.offset ==
         token.text.data() - (token.kind == TokenKind::kString ? 1 : 0));
    Must(IsSkipped(text.substr(end, token.offset - end)));
    Must(FitsKind(token, text));
    Must(lexer.offset() <= text.size());
    if (token.kind == TokenKind::kEnd) {
      // Behind it there is nothing, or the padding of a fatbin.
      Must(token.offset == text.size() || text[token.offset] == '\0');
      Must(lexer.Next().kind == TokenKind::kEnd);
      return;
    }
    Must(lexer.offset() > end);
    end = lexer.offset();
    // A token read again is the same token.
    lexer.Seek(token.offset);
    const Token again = lexer.Next();
    Must(again.kind == token.kind && again.text == token.text &&
         lexer.offset() == end);
    if (token.kind != TokenKind::kIdentifier) continue;
    const std::string_view mnemonic = lexer.Mnemonic(token);
    Must(mnemonic.starts_with(token.text) &&
         lexer.offset() == token.offset + mnemonic.size());
    lexer.Seek(static_cast<std::uint32_t>(end));
  }
}

// Blocks end at their brace, or with the text.
void CheckBlock(std::string_view text) {
  Lexer lexer(text);
  bool closed = false;
  const std::string_view block = lexer.RawBlock(&closed);
  Must(block.data() == text.data() && block.size() <= text.size());
  Must(!closed || text[block.size()] == '}');
  Must(lexer.offset() <= text.size());
  lexer.SkipLine();
  Must(lexer.offset() <= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::unique_ptr<char[]> copy(new char[size]);
  std::copy_n(data, size, copy.get());
  const std::string_view text(copy.get(), size);
  CheckTokens(text);
  CheckBlock(text);
  return 0;
}
