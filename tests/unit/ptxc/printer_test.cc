#include "ptxc/front/printer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "ptx_text.h"
#include "ptxc/front/parse/parser.h"

namespace cerberus::ptx {
namespace {

std::string Reprint(const std::string& text) {
  const ParseOutcome outcome =
      Parse(text, [](const Diag& diag) { ADD_FAILURE() << diag.ToString(); });
  return Print(*outcome.module);
}

// What a printed instruction says, whatever the blanks.
std::string PrintOne(const std::string& instruction) {
  const std::string text = testing::ModuleWith({instruction});
  const ParseOutcome outcome =
      Parse(text, [](const Diag& diag) { ADD_FAILURE() << diag.ToString(); });
  const Function& f = outcome.module->functions.back();
  return PrintInstruction(*outcome.module, f, f.instructions.front()) + ";";
}

class PrintsAsWritten : public ::testing::TestWithParam<const char*> {};

TEST_P(PrintsAsWritten, Instruction) {
  EXPECT_EQ(PrintOne(GetParam()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    All, PrintsAsWritten,
    ::testing::Values(
        "add.s32 %r1, %r2, -5;", "@!%p1 bra done;", "mov.f32 %f1, 0f7FC00001;",
        "mov.f64 %fd1, 0d3FF0000000000000;",
        "ld.global.v2.f32 {%f1, _}, [%rd1+-8];",
        "ld.global.u32 %r1, [%rd1].unified;", "st.shared.u8 [tile+3], %rs1;",
        "setp.lt.and.s32 %p1|%p2, %r1, 5, !%p3;",
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];",
        "mov.u32 %r1, %tid.x;", "mov.u64 %rd1, tile+16;",
        "mov.u64 %rd1, table[3];", "ld.const.u8 %rs1, table[%r2+1];",
        "vadd4.u32.u32.u32 %r1.b310, %r2.b3210, %r3.b7654, %r4;",
        "vadd2.u32.u32.u32 %r1.h1, %r2.h10, %r3.h32, %r4;",
        "mov.b64 %rd1, 18446744073709551615U;", "call helper, ();",
        "vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1;", "bar.sync 0;", "ret;"));

TEST(Printer, ParsingThePrintedTextGivesTheSameModule) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(CERBERUS_TESTS) + "/ptx")) {
    if (entry.path().extension() != ".ptx") continue;
    ++files;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string once =
        Reprint(std::string(std::istreambuf_iterator<char>(in), {}));
    EXPECT_EQ(Reprint(once), once) << entry.path();
    EXPECT_GT(once.size(), 200u) << entry.path();
  }
  EXPECT_GE(files, 8);
}

TEST(Printer, KeepsDeclarations) {
  const std::string text =
      ".version 8.0\n"
      ".target sm_90a, debug\n"
      ".address_size 64\n"
      ".file 1 \"a.cu\", 12, 34\n"
      ".visible .global .align 16 .v4 .f32 v = {1.0, 2.0, 3.0, 4.0};\n"
      ".extern .shared .align 16 .b8 dyn[];\n"
      ".const[2] .u64 p = generic(v)+8;\n"
      ".global .attribute(.managed) .u32 m;\n"
      ".func (.param .b32 r) f(.reg .b32 x, .param .align 8 .b8 s[16]);\n"
      ".weak .entry k(.param .u64 .ptr .global .align 8 a)\n"
      ".maxntid 8, 4\n"
      ".minnctapersm 2\n"
      ".pragma \"nounroll\";\n"
      "{\n"
      "  .reg .pred %p<4>;\n"
      "  .reg .v2 .f32 q;\n"
      "  .local .align 4 .b8 depot[16];\n"
      "t: .branchtargets A, B;\n"
      "  .loc 1 3 4, function_name s+2, inlined_at 1 2 3\n"
      "  {\n"
      "  .reg .b32 r;\n"
      "  mov.b32 r, 1;\n"
      "  }\n"
      "A:\n"
      "B:\n"
      "  ret;\n"
      "}\n"
      ".alias f, f;\n"
      ".section .debug_x { .b8 1 }\n";
  EXPECT_EQ(Reprint(text), text);
}

}  // namespace
}  // namespace cerberus::ptx
