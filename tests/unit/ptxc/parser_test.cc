// The parser: modules, declarations, constants, bodies of functions.
#include "tests/unit/ptxc/parser_test.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "ptxc/front/block_bounds.h"

namespace cerberus::ptx {
namespace {

// ---- Headers ----------------------------------------------------------------

TEST(Parser, Header) {
  const Parsed p(
      ".version 9.1\n.target sm_100a, debug, texmode_independent\n"
      ".address_size 64\n");
  EXPECT_THAT(p.errors, IsEmpty());
  EXPECT_EQ(p.module->version, 91);
  EXPECT_EQ(p.module->sm, 100);
  EXPECT_EQ(p.module->arch_suffix, 'a');
  EXPECT_TRUE(p.module->debug);
  EXPECT_TRUE(p.module->texmode_independent);
  EXPECT_EQ(p.module->address_size, 64);
}

// What a version brings that is not known here is an error where it stands,
// not at the version.
TEST(Parser, VersionNewerThanKnown) {
  for (const char* version : {"9.9", "9.12", "10.0", "27.1"}) {
    const Parsed p(".version " + std::string(version) +
                   "\n.target sm_90\n.entry k() { ret; }\n.entry l() {\n"
                   ".reg .b32 %r<2>;\nfrobnicate.b32 %r0, %r1;\n}\n");
    EXPECT_THAT(p.warnings,
                ElementsAre(HasSubstr("ptx:1:10: PTX " + std::string(version) +
                                      " is newer than 9.")));
    EXPECT_THAT(p.errors, ElementsAre(HasSubstr("'frobnicate")));
    EXPECT_EQ(p.module_errors, 0);
  }
}

TEST(Parser, VersionThatNeverWas) {
  for (const char* version : {"0.9", "1.6", "2.9", "6.7", "8.9"}) {
    const Parsed p(".version " + std::string(version) + "\n.target sm_75\n");
    EXPECT_THAT(p.errors,
                ElementsAre(HasSubstr("no version " + std::string(version))));
    EXPECT_THAT(p.warnings, IsEmpty());
  }
  EXPECT_THAT(Parsed(".version nine\n.target sm_75\n").errors,
              ElementsAre(HasSubstr("expected a version such as 9.0")));
}

TEST(Parser, TextThatIsNotPtx) {
  EXPECT_THAT(Parsed("").errors,
              ElementsAre("ptx:1:1: expected .version at the start of a PTX "
                          "module, found the end of the text"));
  EXPECT_THAT(Parsed(".version 9.0\n").errors,
              ElementsAre("ptx:2:1: expected .target behind .version, found "
                          "the end of the text"));
  EXPECT_THAT(Parsed(".version 9.0\n.target sm_75\n@%p1 bra L;\n").errors,
              ElementsAre("ptx:3:1: expected a directive at module scope, "
                          "found '@'"));
  EXPECT_THAT(Parsed(".version 9.0\n.target sm_75\n.reg .b32 %r<8>;\n"
                     ".param .b32 p;\n")
                  .errors,
              ElementsAre("ptx:3:1: no .reg variables at module scope",
                          "ptx:4:1: no .param variables at module scope"));
  EXPECT_THAT(Parsed("int main() {}").errors,
              ElementsAre(HasSubstr("found 'int'")));
}

// What ptxas 13.0 refuses: one error, where it is.
TEST(Parser, MalformedModules) {
  const std::string head = ".version 9.0\n.target sm_80\n.address_size 64\n";
  const std::string kernel = ".entry k() { ret; }\n";
  const struct {
    std::string text;
    const char* error;
  } kMalformed[] = {
      // The header.
      {".version 9.0\n.target banana\n",
       "ptx:2:9: expected a target such as sm_75, found 'banana'"},
      {".version 9.0\n.target foo_80\n",
       "ptx:2:9: expected a target such as sm_75, found 'foo_80'"},
      {".version 9.0\n.target debug, sm_80\n",
       "ptx:2:9: expected a target such as sm_75, found 'debug'"},
      {".version 9.0\n.target sm_80, banana\n",
       "ptx:2:16: 'banana' is no option of .target, expected debug, "
       "map_f64_to_f32, texmode_independent or texmode_unified"},
      {".target sm_80\n.version 9.0\n",
       "ptx:1:1: expected .version at the start of a PTX module, found "
       "'.target'"},
      {".visible .version 9.0\n.target sm_80\n",
       "ptx:1:1: expected .version at the start of a PTX module, found "
       "'.visible'"},
      {".version 9.0\n.address_size 64\n.target sm_80\n",
       "ptx:2:1: expected .target behind .version, found '.address_size'"},
      {head + kernel + ".target sm_80\n" + ".global .b32 x;\n",
       "ptx:5:1: '.target' stands only once, at the start of a module: "
       ".version, .target, .address_size"},
      {head + ".address_size 64\n",
       "ptx:4:1: '.address_size' stands only once, at the start of a module: "
       ".version, .target, .address_size"},
      {head + ".global .b32 x;\n.address_size 64\n",
       "ptx:5:1: '.address_size' stands only once, at the start of a module: "
       ".version, .target, .address_size"},
      // Linkage.
      {head + ".visible .visible .entry k() { ret; }\n",
       "ptx:4:10: expected a function or a variable behind a linkage "
       "directive, found '.visible'"},
      {head + ".weak .file 1 \"a.c\"\n",
       "ptx:4:7: expected a function or a variable behind a linkage "
       "directive, found '.file'"},
      {head + ".extern .func f() { ret; }\n",
       "ptx:4:15: kernel 'f': 'f' is .extern and has a body"},
      {head + ".file 1 \"a.c\"\n.file 1 \"b.c\"\n",
       "ptx:5:7: .file 1 stands here twice"},
      // Functions without a body, and declared again.
      {head + ".entry k()\n",
       "ptx:5:1: expected the kernel's body, or ';' behind its declaration, "
       "found the end of the text"},
      {head + ".entry k() .entry l() { ret; }\n",
       "ptx:4:12: expected the kernel's body, or ';' behind its declaration, "
       "found '.entry'"},
      {head + ".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }\n",
       "ptx:5:21: kernel 'f': parameter 'a' of 'f' is .param .b64, but was "
       "declared as .param .b32"},
      {head + ".func f(.param .u32 a);\n.func f(.param .s32 b);\n",
       "ptx:5:21: kernel 'f': parameter 'b' of 'f' is .param .s32, but was "
       "declared as .param .u32"},
      {head + ".func f(.param .b8 a[4]);\n.func f(.param .b8 a[8]);\n",
       "ptx:5:20: kernel 'f': parameter 'a' of 'f' is .param .b8[8], but was "
       "declared as .param .b8[4]"},
      {head + ".func f(.param .align 4 .b8 a[8]);\n"
              ".func f(.param .align 8 .b8 a[8]);\n",
       "ptx:5:29: kernel 'f': parameter 'a' of 'f' is .param .align 8 "
       ".b8[8], but was declared as .param .align 4 .b8[8]"},
      {head + ".func f(.reg .b32 a);\n.func f(.param .b32 a);\n",
       "ptx:5:21: kernel 'f': parameter 'a' of 'f' is .param .b32, but was "
       "declared as .reg .b32"},
      {head + ".func f(.param .b32 a);\n.func f() { ret; }\n",
       "ptx:5:7: kernel 'f': 'f' has 0 parameters, but was declared with 1"},
      {head + ".func (.param .b32 r) f();\n.func f() { ret; }\n",
       "ptx:5:7: kernel 'f': 'f' has 0 results, but was declared with 1"},
      {head + ".func f() { ret; }\n.func f();\n",
       "ptx:5:7: kernel 'f': function 'f' is declared behind its definition"},
      // Variables.
      {head + ".extern .global .b32 x;\n.visible .global .b64 x;\n",
       "ptx:5:23: 'x' is .global .b64, but was declared as .global .b32"},
      {head + ".extern .global .b32 x[4];\n.visible .global .b32 x[8];\n",
       "ptx:5:23: 'x' is .global .b32[8], but was declared as "
       ".global .b32[4]"},
      {head + ".extern .global .b32 x;\n.global .b32 x;\n",
       "ptx:5:14: 'x' is .extern in one declaration and has no linkage in "
       "another"},
      {head + ".weak .global .b32 x;\n.weak .global .b32 x;\n",
       "ptx:5:20: 'x' is declared twice in this scope"},
      {head + ".common .global .b32 x;\n.common .global .b32 x;\n",
       "ptx:5:22: 'x' is declared twice in this scope"},
      {head + ".entry k(.param .b32 a) { .reg .b32 a; ret; }\n",
       "ptx:4:37: kernel 'k': 'a' is a parameter's name already"},
      {head + ".entry k(.param .b32 a) { .local .b32 a; ret; }\n",
       "ptx:4:39: kernel 'k': 'a' is a parameter's name already"},
      // The text's end.
      {head + kernel + "/* no end",
       "ptx:5:1: a comment that is not closed, expected '*/'"},
      {head + ".entry k() {\n  /* ret; }\n",
       "ptx:5:3: kernel 'k': a comment that is not closed, expected '*/'"},
      {head + ".entry k() {\n  \1ret; }\n" + kernel,
       "ptx:5:3: a NUL ends the text here, but more text stands behind it"},
      {head + kernel + "\1\1 .global",
       "ptx:5:1: a NUL ends the text here, but more text stands behind it"},
  };
  for (const auto& malformed : kMalformed) {
    std::string text = malformed.text;
    std::ranges::replace(text, '\1', '\0');
    EXPECT_THAT(Parsed(text).errors, ElementsAre(malformed.error)) << text;
  }
}

// What ptxas 13.0 takes.
TEST(Parser, OddModules) {
  const std::string head = ".version 9.0\n.target sm_80\n";
  for (std::string body :
       {".target sm_75, texmode_unified\n", ".extern .entry k();\n",
        ".entry k(); .entry k() { ret; }\n", ".extern .func f()",
        ".func f(.param .b32 a); .func f(.param .b32 b) { ret; }\n",
        ".extern .global .b32 x; .visible .global .b32 x;\n",
        ".visible .global .b32 x; .extern .global .b32 x;\n",
        ".extern .global .b32 x[]; .visible .global .b32 x[8];\n",
        ".extern .shared .b8 s[]; .extern .shared .b8 s[];\n",
        ".global .b32 x; .entry k() { .reg .b32 x; ret; }\n",
        ".entry k(.param .b32 a) { { .reg .b32 a; } ret; }\n",
        ".entry k() { ret; }\n\1\1\n\1"}) {
    std::ranges::replace(body, '\1', '\0');
    EXPECT_THAT(Parsed(head + body).errors, IsEmpty()) << body;
  }
}

// Brackets of any kind, however many: one error, and no time to speak of.
TEST(Parser, ManyBrackets) {
  const std::string head = ".version 9.0\n.target sm_80\n";
  for (const std::string bracket :
       {"(", "[", "{", "-", "-(", "{[", "1?(", "!"}) {
    std::string many;
    for (int i = 0; i < 50000; ++i) many += bracket;
    for (const std::string& text :
         {head + ".entry k() { .reg .b32 %r<4>;\n add.u32 %r1, %r2, " + many +
              ";\n ret; }\n",
          head + ".entry k() { .reg .b32 %r<4>;\n add.u32 %r1, %r2, " + many +
              "\n",
          head + ".global .b32 x[] = " + many + ";\n"}) {
      EXPECT_THAT(Parsed(text).errors, ::testing::SizeIs(::testing::Le(2)))
          << bracket;
    }
  }
}

TEST(Parser, DirectivesOfPtx94) {
  const Parsed p(
      ".version 9.4\n.target sm_107f\n.file 1 \"a.cu\"\n"
      ".nv_intermediate_source_section { .b8 1 { } any \"text\" }\n"
      ".entry k() .minperctamemory 1024 .maxnreg 40 {\n"
      ".loc 1 2 3\n.loc_intermediate 1 7 8\nret; }\n");
  EXPECT_THAT(p.errors, IsEmpty());
  EXPECT_THAT(p.warnings, IsEmpty());
  EXPECT_EQ(p.module->sm, 107);
  EXPECT_EQ(p.function("k").tuning.maxnreg, 40u);
  ASSERT_EQ(p.module->locs.size(), 1u);
  EXPECT_EQ(p.module->locs[0].line, 2u);
  EXPECT_THAT(
      Parsed(".version 9.4\n.target sm_107\n.nv_intermediate_source_section {")
          .errors,
      ElementsAre(HasSubstr("expected '{' and '}'")));
}

TEST(Parser, BoundsOfBlocksTravelInTheText) {
  std::string ptx = ".version 7.0\n.target sm_75\n.visible .entry k() { ret; }";
  AppendBlockBounds({}, &ptx);
  EXPECT_EQ(ptx.back(), '}');
  AppendBlockBounds({{"k", 384}, {"_Z1kv", 1024}}, &ptx);
  ptx +=
      ".pragma \"cerberus.max_threads k 640\", \"nounroll\";\n"
      ".pragma \"cerberus.max_threads l 0\";\n"
      ".pragma \"cerberus.max_threads l 1025\";\n"
      ".pragma \"cerberus.max_threads l 99999999999999999999\";\n"
      ".pragma \"cerberus.max_threads l 8x\";\n"
      ".pragma \"cerberus.max_threads l\";\n"
      ".pragma \"cerberus.max_threads \";\n";
  const Parsed p(ptx);
  EXPECT_THAT(p.errors, IsEmpty());
  BlockBounds bounds;
  ReadBlockBounds(*p.module, &bounds);
  EXPECT_EQ(bounds, (BlockBounds{{"k", 384}, {"_Z1kv", 1024}}));
}

// ---- Declarations -----------------------------------------------------------

TEST(Parser, EntryWithParametersAndTuning) {
  const Parsed p = ParseModuleText(
      ".weak .entry k(\n.param .u64 .ptr .global .align 16 a,\n"
      ".param .align 8 .b8 s[24],\n.param .f32 x)\n"
      ".maxntid 256\n.minnctapersm 2\n.maxnreg 40\n.pragma \"nounroll\";\n"
      "{ ret; }\n");
  EXPECT_THAT(p.errors, IsEmpty());
  const Function& f = p.function("k");
  EXPECT_TRUE(f.is_entry);
  EXPECT_TRUE(f.has_body);
  EXPECT_EQ(f.linkage, Linkage::kWeak);
  EXPECT_THAT(f.tuning.maxntid, ElementsAre(256, 1, 1));
  EXPECT_EQ(f.tuning.minnctapersm, 2u);
  EXPECT_EQ(f.tuning.maxnreg, 40u);
  EXPECT_THAT(f.pragmas, ElementsAre("nounroll"));
  ASSERT_EQ(f.params.size(), 3u);
  const Variable& a = p.module->variables[f.params[0]];
  EXPECT_TRUE(a.is_pointer);
  EXPECT_EQ(a.pointee, VarSpace::kGlobal);
  EXPECT_EQ(a.pointee_align, 16u);
  EXPECT_EQ(a.align, 0u);
  const Variable& s = p.module->variables[f.params[1]];
  EXPECT_EQ(s.align, 8u);
  EXPECT_EQ(s.size(), 24u);
}

TEST(Parser, EveryTuningDirective) {
  const Parsed p = ParseModuleText(
      ".entry k() .reqntid 8, 8, 4 .reqnctapercluster 2 .explicitcluster\n"
      ".maxclusterrank 8 .blocksareclusters .maxnctapersm 4 { ret; }\n"
      ".func f() .noreturn .abi_preserve 12 .abi_preserve_control 3 "
      "{ ret; }\n");
  EXPECT_THAT(p.errors, IsEmpty());
  const PerformanceTuning& t = p.function("k").tuning;
  EXPECT_THAT(t.reqntid, ElementsAre(8, 8, 4));
  EXPECT_THAT(t.reqnctapercluster, ElementsAre(2, 1, 1));
  EXPECT_TRUE(t.explicitcluster);
  EXPECT_TRUE(t.blocksareclusters);
  EXPECT_EQ(t.maxclusterrank, 8u);
  EXPECT_EQ(t.maxnctapersm, 4u);
  EXPECT_TRUE(p.function("f").tuning.noreturn);
  EXPECT_EQ(p.function("f").tuning.abi_preserve, 12u);
}

TEST(Parser, DeclarationAndDefinitionAreOneFunction) {
  const Parsed p = ParseModuleText(
      ".func (.param .b32 r) f(.param .b32 x);\n"
      ".entry k() { .reg .b32 %r<3>;\n{ .param .b32 a; .param .b32 b;\n"
      "st.param.b32 [a], %r1; call.uni (b), f, (a);\n"
      "ld.param.b32 %r2, [b]; } ret; }\n"
      ".func (.param .b32 r) f(.param .b32 y) { ret; }\n");
  EXPECT_THAT(p.errors, IsEmpty());
  ASSERT_EQ(p.module->functions.size(), 2u);
  EXPECT_TRUE(p.function("f").has_body);
  EXPECT_EQ(p.module->variables[p.function("f").params[0]].name, "y");
}

TEST(Parser, VariablesAndInitialisers) {
  const Parsed p = ParseModuleText(
      ".visible .global .align 4 .b8 bytes[4] = {1, 0xFF, 'x'};\n");
  EXPECT_FALSE(p.errors.empty());  // no character constants in PTX
  const Parsed q = ParseModuleText(
      ".visible .global .align 16 .v4 .f32 v = {1.0, 0f40000000, 3, -4.5};\n"
      ".const .s32 m[2][3] = {{1, 2, 3}, {-4, 5}};\n"
      ".global .u64 p = generic(m)+1<<3;\n"
      ".global .align 8 .b8 low[2] = {0xFF(v), 0xFF00(v)};\n"
      ".global .attribute(.managed) .u32 shared_int;\n"
      ".extern .shared .align 16 .b8 dyn[];\n"
      ".global .s32 open[] = {1, 2, 3};\n"
      ".common .global .f64 c;\n.const[3] .b8 bank;\n"
      ".tex .u64 old;\n.global .samplerref smp = { filter_mode = nearest };\n"
      ".global .b32 many<3>;\n");
  ASSERT_THAT(q.errors, IsEmpty());
  const Variable& v = q.variable("v");
  EXPECT_EQ(v.size(), 16u);
  ASSERT_EQ(v.init.size(), 4u);
  EXPECT_EQ(v.init[1].kind, InitElement::Kind::kFloat32);
  EXPECT_EQ(v.init[3].byte, 12u);
  const Variable& m = q.variable("m");
  ASSERT_EQ(m.init.size(), 5u);
  EXPECT_EQ(m.init[3].byte, 12u);
  EXPECT_EQ(static_cast<std::int64_t>(m.init[3].bits), -4);
  const Variable& ptr = q.variable("p");
  EXPECT_EQ(ptr.init[0].kind, InitElement::Kind::kVariable);
  EXPECT_TRUE(ptr.init[0].generic);
  EXPECT_EQ(ptr.init[0].addend, 8);
  EXPECT_EQ(q.variable("low").init[1].mask, 0xFF00u);
  EXPECT_TRUE(q.variable("shared_int").managed);
  EXPECT_EQ(q.variable("dyn").size(), 0u);
  EXPECT_EQ(q.variable("open").size(), 12u);
  EXPECT_EQ(q.variable("c").linkage, Linkage::kCommon);
  EXPECT_EQ(q.variable("bank").bank, 3);
  EXPECT_EQ(q.variable("many2").type, Type::kB32);
}

TEST(Parser, RowsOfInitialisersEnd) {
  EXPECT_THAT(
      ParseModuleText(".global .u32 x[2][2] = {{1, 2, 3}, {4}};\n").errors,
      ElementsAre("ptx:3:32: more elements than this row has"));
  EXPECT_THAT(ParseModuleText(".global .u8 x[2][2][2] = {{1, 2, 3, 4}, {5}};\n"
                              ".global .v2 .f32 y[2] = {{1.0, 2.0}, {3.0}};\n")
                  .errors,
              IsEmpty());
}

TEST(Parser, QualifiersMayPrecedeTheStateSpace) {
  const Parsed p = ParseModuleText(
      ".extern .align 16 .shared .b8 dyn[];\n"
      ".attribute(.managed) .align 8 .global .align 32 .b32 m;\n"
      ".entry k(.align 64 .param .b8 a[4]) {\n.align 8 .reg .b32 %r<2>;\n"
      ".align 4 .local .b8 l[4]; mov.u32 %r1, 0; }\n");
  ASSERT_THAT(p.errors, IsEmpty());
  EXPECT_EQ(p.variable("dyn").align, 16u);
  EXPECT_EQ(p.variable("m").align, 32u);
  EXPECT_TRUE(p.variable("m").managed);
  const Function& k = p.function("k");
  EXPECT_EQ(p.module->variables[k.params[0]].align, 64u);
  EXPECT_EQ(p.module->variables[k.variables[0]].align, 4u);
  EXPECT_EQ(k.registers.size(), 2u);
  EXPECT_THAT(ParseModuleText(".align 8 .func f() { ret; }\n").errors,
              ElementsAre("ptx:3:10: expected a state space such as .global, "
                          "found '.func'"));
}

TEST(Parser, SectionsFilesAliasesAndPragmas) {
  const Parsed p = ParseModuleText(
      ".file 1 \"a.cu\", 1234, 56\n.pragma \"next knob X\";\n"
      ".func f() { ret; }\n.func g();\n.alias g, f;\n"
      ".section .debug_str {\nL: .b8 1,2\n.b8 0\n}\n"
      "@@DWARF .byte 0x02\n");
  ASSERT_THAT(p.errors, IsEmpty());
  EXPECT_EQ(p.module->files[0].name, "a.cu");
  EXPECT_EQ(p.module->files[0].timestamp, 1234u);
  EXPECT_EQ(p.module->aliases[0].aliasee, "f");
  EXPECT_EQ(p.module->sections[0].name, ".debug_str");
  EXPECT_THAT(std::string(p.module->sections[0].text), HasSubstr("L: .b8 1,2"));
}

// ---- Constants --------------------------------------------------------------

struct ConstantCase {
  const char* text;
  std::int64_t value;
};

class ConstantExpression : public ::testing::TestWithParam<ConstantCase> {};

TEST_P(ConstantExpression, IsEvaluated) {
  const Parsed p =
      ParseBody(std::string("mov.b64 %rd1, ") + GetParam().text + ";");
  ASSERT_THAT(p.errors, IsEmpty());
  EXPECT_EQ(OperandOf(p, 0, 1).kind, OperandKind::kInt);
  EXPECT_EQ(OperandOf(p, 0, 1).value, GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    All, ConstantExpression,
    ::testing::Values(
        ConstantCase{"12", 12}, ConstantCase{"-12", -12},
        ConstantCase{"0x10", 16}, ConstantCase{"010", 8},
        ConstantCase{"0b101", 5}, ConstantCase{"7U", 7},
        ConstantCase{"WARP_SZ", 32}, ConstantCase{"WARP_SZ*2-1", 63},
        ConstantCase{"1+2*3", 7}, ConstantCase{"(1+2)*3", 9},
        ConstantCase{"7-2-1", 4}, ConstantCase{"100/7%4", 2},
        ConstantCase{"-7/2", -3}, ConstantCase{"-7%2", 1},
        ConstantCase{"-1%-2>>1", 0}, ConstantCase{"-7%-2>>1", -4},
        ConstantCase{"1<<4|1", 17}, ConstantCase{"6&3^1", 3},
        ConstantCase{"~0", -1}, ConstantCase{"~0>>1", INT64_MAX},
        ConstantCase{"~0>0", 1}, ConstantCase{"!5", 0}, ConstantCase{"!0", 1},
        ConstantCase{"-8>>1", -4}, ConstantCase{"0x8000000000000000>>63", 1},
        ConstantCase{"1<<65", 2}, ConstantCase{"-1>>-1", -1},
        ConstantCase{"0x100000000>>66", 1 << 30}, ConstantCase{"3<4&&4>=4", 1},
        ConstantCase{"1==2||2!=2", 0}, ConstantCase{"1.5<2.0", 1},
        ConstantCase{"1.5+.5>=2.0", 1}, ConstantCase{"-1.0==1.0?2:3", 3},
        // A constant too large for .s64 is unsigned, and so is the result.
        ConstantCase{"-1<0xFFFFFFFFFFFFFFFF", 0}, ConstantCase{"-1<1U", 0},
        ConstantCase{"-1<1", 1}, ConstantCase{"(.u64)-1/2U", INT64_MAX},
        ConstantCase{"(.s64)4294967296U>>4", 268435456},
        ConstantCase{"(1?-1:2U)>>1", -1},
        // Longer ones lose their high bits.
        ConstantCase{"18446744073709551617", 1},
        ConstantCase{"0x123456789abcdef01", 0x23456789abcdef01},
        ConstantCase{"1?2:3", 2}, ConstantCase{"0?2:0?3:4", 4},
        ConstantCase{"-0x7FFFFFFFFFFFFFFF-1", INT64_MIN},
        ConstantCase{"(-0x7FFFFFFFFFFFFFFF-1)/-1", INT64_MIN}));

TEST(Parser, IntegersWithTooManyDigitsAreErrors) {
  for (const char* text : {"99999999999999999999", "0xfffffffffffffffff", "08",
                           "0b12", "0x", "0b"})
    EXPECT_FALSE(
        ParseBody(std::string("mov.b64 %rd1, ") + text + ";").errors.empty())
        << text;
}

TEST(Parser, FloatConstantsKeepTheirBits) {
  const Parsed p = ParseBody(
      "mov.f32 %f1, 0f7FC00001;\n"
      "mov.f32 %f1, -0f3F800000;\n"
      "mov.f32 %f1, 0.1;\n"
      "mov.f32 %f1, 0d7FF8000000000001;\n");
  ASSERT_THAT(p.errors, IsEmpty());
  EXPECT_EQ(OperandOf(p, 0, 1).kind, OperandKind::kFloat32);
  EXPECT_EQ(OperandOf(p, 0, 1).bits, 0x7FC00001u);
  EXPECT_EQ(OperandOf(p, 1, 1).bits, 0xBF800000u);
  EXPECT_EQ(OperandOf(p, 2, 1).kind, OperandKind::kFloat64);
  EXPECT_EQ(OperandOf(p, 2, 1).bits, 0x3FB999999999999Au);
  EXPECT_EQ(OperandOf(p, 3, 1).bits, 0x7FF8000000000001u);
}

TEST(Parser, FloatExpressionsAreDoubles) {
  const Parsed p = ParseBody(
      "mov.f32 %f1, 1.5*2.0-1.0/4.0;\n"
      "mov.f32 %f1, -(0d3FF0000000000000+.5);\n");
  ASSERT_THAT(p.errors, IsEmpty());
  EXPECT_EQ(OperandOf(p, 0, 1).kind, OperandKind::kFloat64);
  EXPECT_EQ(OperandOf(p, 0, 1).bits, 0x4006000000000000u);  // 2.75
  EXPECT_EQ(OperandOf(p, 1, 1).bits, 0xBFF8000000000000u);  // -1.5
  for (const char* mixed :
       {"1.5+1", "1.5&2.0", "1.5?1:2", "1.5%2.0", "0f3F800000+1.0", "1.5<<1"})
    EXPECT_FALSE(
        ParseBody(std::string("mov.f32 %f1, ") + mixed + ";").errors.empty())
        << mixed;
}

// ---- Bodies -----------------------------------------------------------------

TEST(Parser, Operands) {
  const Parsed p = ParseBody(
      "ld.param.u64 %rd1, [a];\n"
      "ld.global.v2.f32 {%f1, _}, [%rd1+-8];\n"
      "setp.lt.and.s32 %p1|%p2, %r1, 5, !%p3;\n"
      "mov.u32 %r1, %tid.x;\n"
      "@!%p1 ret;\n"
      "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}];\n"
      "vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1;\n"
      "vadd4.u32.u32.u32 %r1.b31, %r2.b3210, %r3.b7654, %r4;\n"
      "ld.param.f32 %f1, [s+12];\n"
      "ld.local.u32 %r1, [16];\n");
  ASSERT_THAT(p.errors, IsEmpty());
  EXPECT_EQ(OperandOf(p, 0, 1).kind, OperandKind::kAddress);
  EXPECT_EQ(OperandOf(p, 0, 1).base, OperandKind::kVariable);
  const Function& f = p.function("k");
  const Operand& vec = OperandOf(p, 1, 0);
  ASSERT_EQ(vec.kind, OperandKind::kVector);
  ASSERT_EQ(vec.count, 2u);
  EXPECT_EQ(f.operands[vec.index + 1].kind, OperandKind::kSink);
  EXPECT_EQ(OperandOf(p, 1, 1).value, -8);
  EXPECT_EQ(OperandOf(p, 2, 0).kind, OperandKind::kPair);
  EXPECT_TRUE(OperandOf(p, 2, 3).negated);
  EXPECT_EQ(OperandOf(p, 3, 1).kind, OperandKind::kSpecial);
  EXPECT_EQ(OperandOf(p, 3, 1).part, Component::kX);
  EXPECT_TRUE(f.instructions[4].guard_negated);
  EXPECT_EQ(RegisterName(f, f.instructions[4].guard), "%p1");
  const Operand& tex = OperandOf(p, 5, 1);
  ASSERT_EQ(tex.kind, OperandKind::kTexture);
  ASSERT_EQ(tex.count, 2u);
  EXPECT_EQ(f.operands[tex.index + 1].count, 2u);
  EXPECT_EQ(OperandOf(p, 6, 1).part, Component::kB0);
  EXPECT_EQ(OperandOf(p, 6, 2).part, Component::kH1);
  EXPECT_EQ(OperandOf(p, 7, 1).part, Component::kSelector);
  EXPECT_EQ(OperandOf(p, 8, 1).value, 12);
  EXPECT_EQ(OperandOf(p, 9, 1).base, OperandKind::kInt);
}

TEST(Parser, RegistersHaveDenseIds) {
  const Parsed p = ParseModuleText(
      ".entry k() { .reg .b32 %r<3>, x; .reg .v2 .f32 v; .reg .b32 q1;\n"
      "mov.b32 %r2, x; mov.b32 q1, v.y; mov.b32 %r02, x; }");
  const Function& f = p.module->functions[0];
  EXPECT_EQ(f.registers.size(), 6u);
  EXPECT_EQ(OperandOf(p, 0, 0).index, 2u);
  EXPECT_EQ(OperandOf(p, 0, 1).index, 3u);
  EXPECT_EQ(OperandOf(p, 1, 1).part, Component::kY);
  EXPECT_EQ(f.registers[4].vector, 2);
  EXPECT_EQ(OperandOf(p, 2, 0).index, 2u);  // %r02 is %r2, as for ptxas
}

// Two expansions of one inline asm: the same labels and registers in scopes
// of their own.
TEST(Parser, ScopesHaveTheirOwnNames) {
  const Parsed p = ParseBody(
      "{ .reg .pred p; L: setp.eq.b32 p, %r1, 0; @p bra L; bra OUT; }\n"
      "{ .reg .pred p; L: setp.eq.b32 p, %r1, 0; @p bra L; }\n"
      "OUT: ret;\n");
  ASSERT_THAT(p.errors, IsEmpty());
  const Function& f = p.function("k");
  ASSERT_EQ(f.labels.size(), 3u);
  EXPECT_EQ(OperandOf(p, 1, 0).index, 0u);  // first L
  EXPECT_EQ(OperandOf(p, 4, 0).index, 1u);  // second L
  EXPECT_EQ(OperandOf(p, 2, 0).index, 2u);  // OUT
  EXPECT_NE(f.instructions[1].guard, f.instructions[4].guard);
}

TEST(Parser, LabelsMayHaveNamesOfFunctionsAndVariables) {
  const Parsed p = ParseModuleText(
      ".global .u32 again;\n.func other() { ret; }\n"
      ".func f() {\nf: bra other;\nagain: bra again;\nother: bra f;\n}\n");
  ASSERT_THAT(p.errors, IsEmpty());
  const Function& f = p.function("f");
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(f.operands[i].kind, OperandKind::kLabel);
  EXPECT_EQ(f.operands[0].index, 2u);
  EXPECT_EQ(f.operands[1].index, 1u);
  EXPECT_EQ(f.operands[2].index, 0u);
}

TEST(Parser, StrippedText) {
  const Parsed p(
      ".version 8.0\n.target sm_90\n.entry k(.param .u64 a)"
      ".maxntid 256{.reg .f32 %f<5>;.reg .b32 %r<9>;"
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
      "{%f1,%f2,%f3,%f4},{%r1,%r2,%r3,%r4},{%r5,%r6},"
      "{%f1,%f2,%f3,%f4};ret;}");
  EXPECT_THAT(p.errors, IsEmpty());
  EXPECT_EQ(p.function("k").instructions.size(), 2u);
}

TEST(Parser, SourceLines) {
  const Parsed p = ParseModuleText(
      ".file 1 \"scan.cu\"\n.entry k() {\n.loc 1 7 3\nret;\n"
      ".loc 1 9 5, function_name $L__info_string0+4, inlined_at 1 7 3\n"
      "ret;\nfrob;\n}\n");
  const Function& f = p.function("k");
  const Loc& loc = p.module->locs[f.instructions[1].loc];
  EXPECT_EQ(loc.line, 9u);
  EXPECT_EQ(loc.function_name, "$L__info_string0");
  EXPECT_EQ(loc.function_offset, 4);
  EXPECT_TRUE(loc.is_inlined);
  EXPECT_EQ(loc.inlined_line, 7u);
  EXPECT_THAT(p.errors, ElementsAre("ptx:9:1: kernel 'k' (scan.cu:9): "
                                    "unknown instruction 'frob'"));
}

TEST(Parser, IndirectCallsAndJumpTables) {
  const Parsed p = ParseBody(
      "proto: .callprototype (.param .b32 _) _ (.param .b64 _, "
      ".param .align 8 .b8 _[16]) .noreturn;\n"
      "{ .param .b32 r; .param .b64 x; .param .align 8 .b8 y[16];\n"
      "call (r), %rd1, (x, y), proto; }\n"
      "table: .branchtargets A, B<2>, A;\n"
      "brx.idx %r1, table;\nA:\nB0:\nB1: ret;\n");
  ASSERT_THAT(p.errors, IsEmpty());
  const Function& f = p.function("k");
  ASSERT_EQ(f.prototypes.size(), 2u);
  EXPECT_TRUE(f.prototypes[0].noreturn);
  EXPECT_EQ(f.prototypes[0].params.size(), 2u);
  EXPECT_THAT(f.prototypes[1].targets, ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(OperandOf(p, 0, 0).count, 1u);
  EXPECT_EQ(OperandOf(p, 0, 1).kind, OperandKind::kRegister);
  EXPECT_EQ(OperandOf(p, 0, 2).count, 2u);
  EXPECT_EQ(OperandOf(p, 0, 3).kind, OperandKind::kPrototype);
}

TEST(Parser, BlanksInsideAMnemonic) {
  const Parsed p = ParseBody("add .f32 %f1, %f2, %f3;");
  EXPECT_THAT(p.errors, IsEmpty());
  EXPECT_EQ(p.function("k").instructions[0].form->spelling, "add.f32");
}

// ---- Whole files ------------------------------------------------------------

TEST(Parser, ReadsRealFiles) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(CERBERUS_TESTS) + "/ptx")) {
    if (entry.path().extension() != ".ptx") continue;
    ++files;
    std::ifstream in(entry.path(), std::ios::binary);
    const Parsed p(std::string(std::istreambuf_iterator<char>(in), {}));
    EXPECT_THAT(p.errors, IsEmpty()) << entry.path();
    EXPECT_FALSE(p.module->functions.empty()) << entry.path();
  }
  EXPECT_GE(files, 8);
}

}  // namespace
}  // namespace cerberus::ptx
