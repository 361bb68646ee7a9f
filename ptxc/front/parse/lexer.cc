#include "ptxc/front/parse/lexer.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cerberus::ptx {
namespace {

// Character classes. PTX identifiers: [a-zA-Z][a-zA-Z0-9_$]* and
// [_$%][a-zA-Z0-9_$]+ (PTX ISA, "Identifiers").
enum : std::uint8_t {
  kBlank = 1,
  kStart = 2,   // may start an identifier
  kInside = 4,  // may continue one
  kDigit = 8,
  kHex = 16,
};

constexpr std::array<std::uint8_t, 256> MakeClasses() {
  std::array<std::uint8_t, 256> c{};
  for (const unsigned char b : {' ', '\t', '\r', '\n', '\v', '\f'})
    c[b] = kBlank;
  for (int i = 'a'; i <= 'z'; ++i) {
    const std::size_t lower = static_cast<std::size_t>(i);
    const std::size_t upper = lower - 'a' + 'A';
    c[lower] = c[upper] = kStart | kInside;
    if (i <= 'f') c[lower] |= kHex, c[upper] |= kHex;
  }
  for (std::size_t i = '0'; i <= '9'; ++i) c[i] = kInside | kDigit | kHex;
  c['_'] = c['$'] = kStart | kInside;
  c['%'] = kStart;
  return c;
}
constexpr std::array<std::uint8_t, 256> kClasses = MakeClasses();

inline std::uint8_t ClassOf(char c) {
  return kClasses[static_cast<unsigned char>(c)];
}

}  // namespace

Lexer::Lexer(std::string_view text)
    : begin_(text.data()),
      at_(text.data()),
      end_(begin_ + text.size()),
      padded_end_(end_) {
  if (const void* nul = std::memchr(begin_, 0, text.size()))
    end_ = static_cast<const char*>(nul);
}

const char* Lexer::NulBeforeText() const {
  const bool padding = std::all_of(end_, padded_end_, [](char c) {
    return c == '\0' || (ClassOf(c) & kBlank) != 0;
  });
  return padding ? nullptr : end_;
}

Token Lexer::Make(TokenKind kind, const char* start) const {
  return {kind, std::string_view(start, static_cast<std::size_t>(at_ - start)),
          static_cast<std::uint32_t>(start - begin_)};
}

void Lexer::SkipLine() {
  const void* newline =
      std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
  at_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
}

bool Lexer::SkipBlanks() {
  while (at_ < end_) {
    if ((ClassOf(*at_) & kBlank) != 0) {
      ++at_;
    } else if (*at_ == '/' && end_ - at_ > 1 && at_[1] == '/') {
      SkipLine();
    } else if (*at_ == '/' && end_ - at_ > 1 && at_[1] == '*') {
      const char* close = at_ + 2;
      while (end_ - close > 1 && !(close[0] == '*' && close[1] == '/')) ++close;
      if (end_ - close <= 1) return true;  // open: Next() says so
      at_ = close + 2;
    } else if (*at_ == '#') {
      SkipLine();
    } else {
      return true;
    }
  }
  return false;
}

Token Lexer::Number(const char* start) {
  // Leaves at_ behind the literal. 0f and 0d take exactly 8 and 16 digits.
  if (*start == '0' && end_ - start > 1) {
    const char kind = static_cast<char>(start[1] | 0x20);
    if (kind == 'f' || kind == 'd') {
      at_ = start + 2;
      while (at_ < end_ && (ClassOf(*at_) & kHex) != 0) ++at_;
      const std::ptrdiff_t digits = at_ - start - 2;
      if (kind == 'f' && digits == 8) return Make(TokenKind::kFloat32, start);
      if (kind == 'd' && digits == 16) return Make(TokenKind::kFloat64, start);
      return Make(TokenKind::kError, start);
    }
    if (kind == 'x' || kind == 'b') {
      at_ = start + 2;
      while (at_ < end_ && (ClassOf(*at_) & kHex) != 0) ++at_;
      if (at_ < end_ && *at_ == 'U') ++at_;
      return Make(TokenKind::kInteger, start);
    }
  }
  at_ = start;
  bool is_float = false;
#ifdef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
  while ((ClassOf(*at_) & kDigit) != 0) ++at_;
#else
  while (at_ < end_ && (ClassOf(*at_) & kDigit) != 0) ++at_;
#endif
  if (at_ < end_ && *at_ == '.') {
    is_float = true;
    ++at_;
    while (at_ < end_ && (ClassOf(*at_) & kDigit) != 0) ++at_;
  }
  if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
    const char* p = at_ + 1;
    if (p < end_ && (*p == '+' || *p == '-')) ++p;
    if (p < end_ && (ClassOf(*p) & kDigit) != 0) {
      is_float = true;
      at_ = p;
      while (at_ < end_ && (ClassOf(*at_) & kDigit) != 0) ++at_;
    }
  }
  if (is_float) return Make(TokenKind::kFloat64, start);
  if (at_ < end_ && *at_ == 'U') ++at_;
  return Make(TokenKind::kInteger, start);
}

Token Lexer::Next() {
  if (!SkipBlanks()) return Make(TokenKind::kEnd, at_);
  const char* start = at_;
  const std::uint8_t c = ClassOf(*start);
  if ((c & kStart) != 0) {
    ++at_;
    while (at_ < end_ && (ClassOf(*at_) & kInside) != 0) ++at_;
    if (*start == '%' && at_ - start == 1)
      return Make(TokenKind::kPunctuation, start);
    return Make(TokenKind::kIdentifier, start);
  }
  if ((c & kDigit) != 0 ||
      (*start == '.' && end_ - start > 1 && (ClassOf(start[1]) & kDigit) != 0))
    return Number(start);
  if (*start == '/' && end_ - start > 1 && start[1] == '*') {
    at_ = end_;  // a comment that is not closed
    return {TokenKind::kError, std::string_view(start, 2),
            static_cast<std::uint32_t>(start - begin_)};
  }
  ++at_;
  const char next = at_ < end_ ? *at_ : '\0';
  const auto two = [&](TokenKind kind) {
    ++at_;
    return Make(kind, start);
  };
  switch (*start) {
    case '.':
      while (at_ < end_ && ((ClassOf(*at_) & kInside) != 0 ||
                            (*at_ == ':' && end_ - at_ > 1 &&
                             (at_[1] == ':' || at_[-1] == ':'))))
        ++at_;
      return Make(TokenKind::kDirective, start);
    case '"': {
      while (at_ < end_ && *at_ != '"' && *at_ != '\n')
        at_ += (*at_ == '\\' && end_ - at_ > 1 && at_[1] != '\n') ? 2 : 1;
      if (at_ == end_ || *at_ != '"') return Make(TokenKind::kError, start);
      Token token = Make(TokenKind::kString, start + 1);
      --token.offset;  // that of the quote
      ++at_;
      return token;
    }
    case '<':
      if (next == '<') return two(TokenKind::kShiftLeft);
      if (next == '=') return two(TokenKind::kLessEqual);
      break;
    case '>':
      if (next == '>') return two(TokenKind::kShiftRight);
      if (next == '=') return two(TokenKind::kGreaterEqual);
      break;
    case '=':
      if (next == '=') return two(TokenKind::kEqual);
      break;
    case '!':
      if (next == '=') return two(TokenKind::kNotEqual);
      break;
    case '&':
      if (next == '&') return two(TokenKind::kAndAnd);
      break;
    case '|':
      if (next == '|') return two(TokenKind::kOrOr);
      break;
    default:
      if (static_cast<unsigned char>(*start) < 0x20 ||
          static_cast<unsigned char>(*start) >= 0x7f)
        return Make(TokenKind::kError, start);
      break;
  }
  return Make(TokenKind::kPunctuation, start);
}

std::string_view Lexer::Mnemonic(const Token& word) {
  while (at_ < end_) {
    if ((ClassOf(*at_) & kInside) != 0 || *at_ == '.') {
      ++at_;
    } else if (*at_ == ':' && end_ - at_ > 1 && at_[1] == ':') {
      at_ += 2;
    } else {
      break;
    }
  }
  const char* start = word.text.data();
  return {start, static_cast<std::size_t>(at_ - start)};
}

std::string_view Lexer::RawBlock(bool* closed) {
  const char* start = at_;
  int depth = 1;
  const char* last = end_;
  if (closed != nullptr) *closed = false;
  while (true) {
    last = at_;
    const Token token = Next();
    if (token.kind == TokenKind::kEnd) {
      last = end_;
      break;
    }
    if (token.Is('{')) ++depth;
    if (token.Is('}') && --depth == 0) {
      last = at_ - 1;
      if (closed != nullptr) *closed = true;
      break;
    }
  }
  return {start, static_cast<std::size_t>(last - start)};
}

}  // namespace cerberus::ptx
