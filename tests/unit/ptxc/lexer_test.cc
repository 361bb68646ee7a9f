#include "ptxc/front/parse/lexer.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace cerberus::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<TokenKind, std::string>> Tokens(std::string_view text) {
  std::vector<std::pair<TokenKind, std::string>> tokens;
  Lexer lexer(text);
  while (true) {
    const Token token = lexer.Next();
    if (token.kind == TokenKind::kEnd) return tokens;
    tokens.emplace_back(token.kind, std::string(token.text));
    if (token.kind == TokenKind::kError) return tokens;
  }
}

struct NumberCase {
  const char* text;
  TokenKind kind;
};

class LexerNumber : public ::testing::TestWithParam<NumberCase> {};

TEST_P(LexerNumber, IsOneToken) {
  EXPECT_THAT(Tokens(GetParam().text),
              ElementsAre(Pair(GetParam().kind, GetParam().text)));
}

INSTANTIATE_TEST_SUITE_P(
    All, LexerNumber,
    ::testing::Values(NumberCase{"0", TokenKind::kInteger},
                      NumberCase{"42", TokenKind::kInteger},
                      NumberCase{"42U", TokenKind::kInteger},
                      NumberCase{"0x1F", TokenKind::kInteger},
                      NumberCase{"0XfFU", TokenKind::kInteger},
                      NumberCase{"017", TokenKind::kInteger},
                      NumberCase{"0b1011", TokenKind::kInteger},
                      NumberCase{"0f3F800000", TokenKind::kFloat32},
                      NumberCase{"0Fbf800000", TokenKind::kFloat32},
                      NumberCase{"0d3FF0000000000000", TokenKind::kFloat64},
                      NumberCase{"1.5", TokenKind::kFloat64},
                      NumberCase{"1e9", TokenKind::kFloat64},
                      NumberCase{"2.5E-3", TokenKind::kFloat64},
                      // Seven digits: not a float.
                      NumberCase{"0f3F80000", TokenKind::kError},
                      NumberCase{"0d3FF0", TokenKind::kError}));

TEST(Lexer, NamesAndPunctuation) {
  EXPECT_THAT(Tokens("@!%p1 $L__BB0_2: _"),
              ElementsAre(Pair(TokenKind::kPunctuation, "@"),
                          Pair(TokenKind::kPunctuation, "!"),
                          Pair(TokenKind::kIdentifier, "%p1"),
                          Pair(TokenKind::kIdentifier, "$L__BB0_2"),
                          Pair(TokenKind::kPunctuation, ":"),
                          Pair(TokenKind::kIdentifier, "_")));
}

TEST(Lexer, DirectivesKeepDoubleColons) {
  EXPECT_THAT(Tokens(".shared::cta .f32%tid.x"),
              ElementsAre(Pair(TokenKind::kDirective, ".shared::cta"),
                          Pair(TokenKind::kDirective, ".f32"),
                          Pair(TokenKind::kIdentifier, "%tid"),
                          Pair(TokenKind::kDirective, ".x")));
}

TEST(Lexer, SkipsCommentsAndLineMarkers) {
  EXPECT_THAT(Tokens("a // b\n# 12 \"x.cu\"\n/* c\n * d */ e /**/"),
              ElementsAre(Pair(TokenKind::kIdentifier, "a"),
                          Pair(TokenKind::kIdentifier, "e")));
}

TEST(Lexer, UnclosedCommentIsAnError) {
  for (const char* text : {"a /* open", "a /*", "a /*/", "a /* *"})
    EXPECT_THAT(Tokens(text), ElementsAre(Pair(TokenKind::kIdentifier, "a"),
                                          Pair(TokenKind::kError, "/*")));
}

TEST(Lexer, FloatsMayStartWithThePoint) {
  EXPECT_THAT(Tokens(".5 .25e-3"),
              ElementsAre(Pair(TokenKind::kFloat64, ".5"),
                          Pair(TokenKind::kFloat64, ".25e-3")));
}

TEST(Lexer, NulEndsTheText) {
  EXPECT_THAT(Tokens(std::string_view("a\0b", 3)),
              ElementsAre(Pair(TokenKind::kIdentifier, "a")));
}

TEST(Lexer, TwoCharacterOperators) {
  EXPECT_THAT(
      Tokens("<<>><=>===!=&&||"),
      ElementsAre(
          Pair(TokenKind::kShiftLeft, "<<"), Pair(TokenKind::kShiftRight, ">>"),
          Pair(TokenKind::kLessEqual, "<="),
          Pair(TokenKind::kGreaterEqual, ">="), Pair(TokenKind::kEqual, "=="),
          Pair(TokenKind::kNotEqual, "!="), Pair(TokenKind::kAndAnd, "&&"),
          Pair(TokenKind::kOrOr, "||")));
}

TEST(Lexer, UnclosedStringIsAnError) {
  EXPECT_THAT(Tokens("\"abc\n"), ElementsAre(Pair(TokenKind::kError, "\"abc")));
  EXPECT_THAT(Tokens("\"a\\\"b\""),
              ElementsAre(Pair(TokenKind::kString, "a\\\"b")));
  EXPECT_THAT(Tokens("\"\\"), ElementsAre(Pair(TokenKind::kError, "\"\\")));
  // No escape for the end of the line.
  EXPECT_THAT(Tokens("\"\\\n\""), ElementsAre(Pair(TokenKind::kError, "\"\\")));
}

TEST(Lexer, MnemonicIsOneToken) {
  Lexer lexer("ld.global.L2::128B.v4.f32{%f1}");
  const Token word = lexer.Next();
  EXPECT_EQ(lexer.Mnemonic(word), "ld.global.L2::128B.v4.f32");
  EXPECT_TRUE(lexer.Next().Is('{'));
}

TEST(Lexer, RawBlockRespectsStringsAndComments) {
  const std::string text = "{ a { \"}\" } // }\n b } c";
  Lexer lexer(text);
  lexer.Next();
  EXPECT_EQ(lexer.RawBlock(), " a { \"}\" } // }\n b ");
  EXPECT_EQ(lexer.Next().text, "c");
}

}  // namespace
}  // namespace cerberus::ptx
