// PTX text to tokens, one at a time, without copying.
//
// A token is a view into the text. A mnemonic with its suffixes
// ("ld.global.L2::128B.v4.f32") is one token, made on request, since only the
// parser knows that an instruction starts; elsewhere ".f32" is a token of
// its own. Comments, blanks and '#' lines are skipped. A NUL ends the text
// (PTX in a fatbin is NUL-padded); nothing but padding may follow it.
#ifndef CERBERUS_PTXC_FRONT_PARSE_LEXER_H_
#define CERBERUS_PTXC_FRONT_PARSE_LEXER_H_

#include <cstdint>
#include <string_view>

namespace cerberus::ptx {

enum class TokenKind : std::uint8_t {
  kEnd,
  kIdentifier,  // also register names (%r1) and _
  kDirective,   // .reg, .f32, .shared::cta; text includes the dot
  kInteger,     // 12, 0x1F, 017, 0b101, each with an optional U
  kFloat32,     // 0f3F800000
  kFloat64,     // 0d3FF0000000000000, 1.5, 1e9
  kString,      // text without the quotes
  kShiftLeft,
  kShiftRight,
  kLessEqual,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAndAnd,
  kOrOr,
  kPunctuation,  // any other single character: text[0]
  kError,        // text: the offending character
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::uint32_t offset = 0;  // where it begins, a string's quote included

  bool Is(char c) const {
    return kind == TokenKind::kPunctuation && text[0] == c;
  }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text);

  Token Next();
  // The mnemonic that begins with `word`, the token just returned: extends it
  // over the suffixes that follow without a blank.
  std::string_view Mnemonic(const Token& word);
  // Whether the character right behind the last token is `c`.
  bool NextIs(char c) const { return at_ < end_ && *at_ == c; }
  // Skips to behind the next '\n'.
  void SkipLine();
  // Skips to the '}' that closes the brace just returned, strings and
  // comments respected, and returns what was in between. `closed`, if not
  // null, says whether there was one before the end of the text.
  std::string_view RawBlock(bool* closed = nullptr);
  std::uint32_t offset() const {
    return static_cast<std::uint32_t>(at_ - begin_);
  }
  void Seek(std::uint32_t offset) { at_ = begin_ + offset; }
  // The NUL that ends the text, if more than blanks and NULs stand behind it;
  // else null.
  const char* NulBeforeText() const;

 private:
  bool SkipBlanks();
  Token Number(const char* start);
  Token Make(TokenKind kind, const char* start) const;

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* padded_end_;  // of the padding behind the text
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_PARSE_LEXER_H_
