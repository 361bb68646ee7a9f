// What the parser says of texts that are not PTX, where, and where it goes on.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/ptxc/parser_test.h"

namespace cerberus::ptx {
namespace {

// ---- Errors -----------------------------------------------------------------

struct ErrorCase {
  const char* body;
  const char* message;
};

TEST(Parser, StopsBehindAHundredErrors) {
  std::string body;
  for (int i = 0; i < 100; ++i) body += "frob;\n";
  EXPECT_EQ(ParseBody(body).errors.size(), 100u);
  const Parsed p = ParseBody(body + "frob;\nfrob;\n");
  ASSERT_EQ(p.errors.size(), 101u);
  EXPECT_EQ(p.errors.back(),
            "ptx:109:1: kernel 'k': more than 100 errors; the rest of the "
            "module is not read");
  EXPECT_EQ(p.module_errors, 1);
}

class ParseErrors : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(ParseErrors, SaysWhereAndWhat) {
  const Parsed p = ParseBody(GetParam().body);
  ASSERT_EQ(p.errors.size(), 1u) << ::testing::PrintToString(p.errors);
  std::string want = std::string("ptx:") + GetParam().message;
  want.insert(want.find(": "), ": kernel 'k'");
  EXPECT_EQ(p.errors[0], want);
  EXPECT_EQ(p.module_errors, 0);
  EXPECT_EQ(p.function("k").errors, 1u);
}

INSTANTIATE_TEST_SUITE_P(
    All, ParseErrors,
    ::testing::Values(
        ErrorCase{"frob.u32 %r1;", "9:1: unknown instruction 'frob'"},
        ErrorCase{"ret;;",
                  "9:5: expected an instruction, a label or a directive, "
                  "found ';'"},
        ErrorCase{"mov.u32 %r1; mov.u32 %r1 %r2;",
                  "9:26: expected ';' in an instruction, found '%r2'"},
        ErrorCase{"mov.u32 %r1, ;", "9:14: expected a constant, found ';'"},
        ErrorCase{"mov.u32 %r1, 1/0;", "9:15: division by zero"},
        ErrorCase{"mov.u32 %r1, 99999999999999999999;",
                  "9:14: '99999999999999999999' is not an integer of 64 "
                  "bits"},
        ErrorCase{"mov.f32 %f1, ~1.0;",
                  "9:14: '~' needs an integer, not a float"},
        ErrorCase{"mov.u32 %r1, %r2.q;",
                  "9:17: expected a component such as .x or .b0, found "
                  "'.q'"},
        ErrorCase{"ld.global.u32 %r1, [%rd1;",
                  "9:25: expected ']' in an address, found ';'"},
        ErrorCase{"\"name\" ret;",
                  "9:1: expected an instruction, a label or a directive, "
                  "found the string \"name\""},
        ErrorCase{"mov.b64 {%r1 %r2}, %rd1; mov.u32 %r1, 0;",
                  "9:14: expected '}' in a list of operands, found '%r2'"},
        ErrorCase{"mov.b64 %rd1, {%r1, !%r2};",
                  "9:22: '!' and '-' stand only before whole operands"},
        ErrorCase{"ld.global.u32 %r1, [-%rd1];",
                  "9:22: '!' and '-' stand only before whole operands"},
        ErrorCase{"@ ret;", "9:3: undefined predicate 'ret'"},
        ErrorCase{"@; ret;", "9:2: expected a predicate behind '@', found ';'"},
        ErrorCase{"A: ret; A: ret;",
                  "9:9: label 'A' is defined twice in this scope"},
        ErrorCase{".reg .b32 %r<4>;",
                  "9:11: '%r' is declared twice in this scope"},
        ErrorCase{".reg .b32 q<4>; .reg .f32 q3;",
                  "9:27: 'q3' is declared twice in this scope"},
        ErrorCase{".reg .b32 q3; .reg .f32 q<4>;",
                  "9:25: 'q' is declared twice in this scope"},
        ErrorCase{".reg .b32 x<5000000>;",
                  "9:11: more than 4194304 registers in one function"},
        ErrorCase{".local .align 3 .b8 x[4];",
                  "9:15: alignment 3 is not a power of two"},
        ErrorCase{".local .b8 x[99999999999999];",
                  "9:14: array is larger than 1099511627776 bytes"},
        ErrorCase{".frob 3;",
                  "9:1: expected an instruction or a directive "
                  "of function scope, found '.frob'"},
        ErrorCase{"\x01 ret;",
                  "9:1: expected an instruction, a label or a "
                  "directive, found '\\x01'"}));

TEST(Parser, GoesOnBehindAnError) {
  const Parsed p = ParseBody("frob;\nmov.u32 %r1, ;\nret;\nquux.s8 %r1;\n");
  EXPECT_EQ(p.errors.size(), 3u);
  EXPECT_EQ(p.function("k").instructions.size(), 3u);
}

TEST(Parser, OnlyTheFunctionWithErrorsIsLost) {
  const Parsed p =
      ParseModuleText(".entry bad() { frob; }\n.entry good() { ret; }\n");
  EXPECT_EQ(p.function("bad").errors, 1u);
  EXPECT_EQ(p.function("good").errors, 0u);
  EXPECT_EQ(p.module_errors, 0);
}

TEST(Parser, UnclosedBody) {
  EXPECT_THAT(ParseModuleText(".entry k() { ret;").errors,
              ElementsAre(HasSubstr("the body of 'k' is not closed")));
}

TEST(Parser, UnclosedBlocks) {
  EXPECT_THAT(ParseModuleText(".section .debug_info { .b8 1\n").errors,
              ElementsAre(HasSubstr("section .debug_info is not closed")));
  EXPECT_THAT(ParseModuleText(".global .texref t = { a = b\n").errors,
              ElementsAre(HasSubstr("expected '}' behind an initialiser")));
}

// "%tid." ends the text; what lies behind it in memory is no component.
TEST(Parser, TextThatEndsInADot) {
  const std::string text =
      std::string(kHeader) + ".entry k() { mov.u32 %r1, %tid.b";
  std::vector<std::string> errors;
  Parse(std::string_view(text).substr(0, text.size() - 1),
        [&](const Diag& diag) { errors.push_back(diag.ToString()); });
  EXPECT_THAT(errors, Contains(HasSubstr("expected a component such as .x")));
}

TEST(Parser, SamplerFields) {
  EXPECT_THAT(
      ParseModuleText(".global .samplerref s = { filter_mode = clamp };\n")
          .errors,
      ElementsAre(HasSubstr("'filter_mode = clamp' in a sampler")));
}

TEST(Parser, DeepNestingIsRefused) {
  const std::string deep(100000, '(');
  EXPECT_EQ(ParseBody("mov.u32 %r1, " + deep + ";").errors.size(), 1u);
  const std::string braces(100000, '{');
  EXPECT_FALSE(ParseBody("mov.u32 " + braces + ";").errors.empty());
  EXPECT_FALSE(ParseModuleText(".global .b8 x[9] = " + braces).errors.empty());
  // Scopes are no recursion.
  EXPECT_EQ(ParseBody(braces + "ret;" + std::string(100000, '}')).errors.size(),
            0u);
}

}  // namespace
}  // namespace cerberus::ptx
