// Several modules, linked, and modules of old versions.
//
// PTX ISA 9.0, chapters 5.2.4 and 11.6, and the directive .alias.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/exec/language_exec_test.h"
#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

// ---- Chapters 5.2.4, 11.6 and "alias": names that modules share -------------

struct Linked {
  const char* modules[2];
  const char* body;  // of the first module's kernel
  std::uint64_t want;
};

constexpr const char* kCallF =
    "{ .param .u64 q, w; st.param.u64 [q], 5; call (w), f, (q);\n"
    "ld.param.u64 %d0, [w]; }";
constexpr const char* kDeclareF =
    ".extern .func (.param .u64 r) f(.param .u64 a);";
constexpr const char* kWeakF =
    ".weak .func (.param .u64 r) f(.param .u64 a) {\n"
    "  st.param.u64 [r], 1; ret; }";
constexpr Linked kLinked[] = {
    {{kDeclareF,
      ".visible .func (.param .u64 r) g(.param .u64 a) {\n"
      "  .reg .u64 x; ld.param.u64 x, [a]; add.u64 x, x, 2;\n"
      "  st.param.u64 [r], x; ret; }\n"
      ".visible .func (.param .u64 r) f(.param .u64 a);\n.alias f, g;"},
     kCallF,
     7},
    // What exits behind an alias ends its callers' threads.
    {{".func g() { exit; }\n.func f();\n.alias f, g;", ""},
     "ld.param.u64 %d7, [out]; st.global.u64 [%d7], 6; call f;",
     6},
    {{kWeakF,
      ".visible .func (.param .u64 r) f(.param .u64 a) {\n"
      "  st.param.u64 [r], 2; ret; }"},
     kCallF,
     2},
    {{kWeakF, kWeakF}, kCallF, 1},
    // Each module has its own functions and variables without linkage.
    {{".extern .func (.param .u64 r) f(.param .u64 a);\n"
      ".global .u64 own = 100;",
      ".global .u64 own = 23;\n"
      ".func (.param .u64 r) h(.param .u64 a) { .reg .u64 x;\n"
      "  ld.global.u64 x, [own]; st.param.u64 [r], x; ret; }\n"
      ".visible .func (.param .u64 r) f(.param .u64 a) { .reg .u64 x;\n"
      "  .param .u64 q, w; ld.param.u64 x, [a]; st.param.u64 [q], x;\n"
      "  call (w), h, (q); ld.param.u64 x, [w]; st.param.u64 [r], x;\n"
      "  ret; }"},
     "{ .param .u64 q, w; st.param.u64 [q], 5; call (w), f, (q);\n"
     "ld.param.u64 %d0, [w]; } ld.global.u64 %d1, [own];\n"
     "add.u64 %d0, %d0, %d1;",
     123},
    // Of .common variables the largest is taken, or the definition.
    {{".common .global .align 8 .b8 c[8];\n.extern .func set();",
      ".common .global .align 8 .b8 c[64];\n.visible .func set() {\n"
      "  st.global.u64 [c+56], 9; st.global.u64 [c], 3; ret; }"},
     "call set; ld.global.u64 %d0, [c];",
     3},
    {{".common .global .align 8 .b8 c[64];",
      ".visible .global .align 8 .u64 c[2] = {4, 5};"},
     "ld.global.u64 %d0, [c+8];",
     5},
    // Addresses of what another module defines.
    {{".extern .global .u64 v[2];\n.extern .const .u64 c[2];\n"
      ".visible .global .u64 at[3] = {v+8, generic(v), generic(c)+8};",
      ".visible .global .u64 v[2] = {10, 200};\n"
      ".visible .const .u64 c[2] = {3000, 40000};"},
     "ld.global.u64 %d1, [at]; ld.global.u64 %d0, [%d1];\n"
     "ld.global.u64 %d1, [at+8]; ld.u64 %d1, [%d1]; add.u64 %d0, %d0, %d1;\n"
     "ld.global.u64 %d1, [at+16]; ld.u64 %d1, [%d1]; add.u64 %d0, %d0, %d1;",
     40210},
    {{".extern .global .u64 table[2];",
      ".func (.param .u64 r) f(.param .u64 a) { st.param.u64 [r], 8; ret; }\n"
      ".visible .global .u64 table[2] = {0, f};"},
     "p: .callprototype (.param .u64 _) _ (.param .u64 _);\n"
     "ld.global.u64 %d1, [table+8];\n"
     "{ .param .u64 q, w; st.param.u64 [q], 5; call (w), %d1, (q), p;\n"
     "ld.param.u64 %d0, [w]; }",
     8},
    // A function that another one calls by a pointer, and which stands behind
    // it, ends the kernel.
    {{".extern .global .u64 table[1];\n.func g() { .reg .u64 x;\n"
      "  p: .callprototype _ ();\n"
      "  ld.global.u64 x, [table]; call x, p; ret; }",
      ".func f() { exit; }\n.visible .global .u64 table[1] = {f};"},
     "ld.param.u64 %d7, [out]; st.global.u64 [%d7], 6; call g;",
     6},
};

TEST(LanguageExec, LinkedModules) {
  for (const Linked& row : kLinked) {
    const std::string header =
        ".version 9.0\n.target sm_100a\n.address_size 64\n";
    const std::string text =
        header + row.modules[0] +
        "\n.visible .entry k(.param .u64 out)\n{\n  .reg .b64 %d<8>;\n" +
        row.body +
        "\n  ld.param.u64 %d7, [out];\n  st.global.u64 [%d7], %d0;\n"
        "  ret;\n}\n" +
        header + row.modules[1] + "\n";
    SCOPED_TRACE(text);
    Result<std::unique_ptr<PtxModule>> module = PtxModule::Compile(text);
    ASSERT_TRUE(module) << module.error().ToString();
    Buffer out((*module)->device(), 8);
    Launch launch;
    launch.params = {out.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(*out.as<std::uint64_t>(), row.want);
  }
}

// ---- Versions before 3.0 and targets before sm_20 ---------------------------

struct OldModule {
  const char* text;
  std::uint64_t want;
};

// PTX ISA 9.0, "div", "rcp", "sqrt": .approx for .f32 and .rn for .f64 before
// 1.4; "add" and others: sm_1x flushes subnormal numbers. What else is here
// ptxas 13.0 takes.
TEST(LanguageExec, OldModules) {
  constexpr OldModule kModules[] = {
      {".version 1.3\n.target sm_10, map_f64_to_f32\n"
       ".reg .u32 %ra<17>;\n.reg .f32 %fa<3>;\n"
       ".entry k\n{\n  .reg .u64 %d<2>;\n  .param .u64 out;\n"
       "  mov.f32 %fa0, 0f40C00000;\n  mov.f32 %fa1, 0f40400000;\n"
       "  div.f32 %fa2, %fa0, %fa1;\n  rsqrt.f32 %fa1, %fa2;\n"
       "  rcp.f32 %fa1, %fa1;\n  mul.f32 %fa2, %fa1, %fa1;\n"
       "  cvt.rni.u32.f32 %ra16, %fa2;\n  cvt.u64.u32 %d1, %ra16;\n"
       "  ld.param.u64 %d0, [out];\n  st.global.u64 [%d0], %d1;\n"
       "  exit;\n}\n",
       2},
      {".version 1.2\n.target sm_13\n.entry k\n{\n  .reg .u64 %d<2>;\n"
       "  .reg .f64 %e;\n  .param .u64 out;\n  mov.f64 %e, "
       "0d4022000000000000;\n"
       "  sqrt.f64 %e, %e;\n  rcp.f64 %e, %e;\n  mov.b64 %d1, %e;\n"
       "  ld.param.u64 %d0, [out];\n  st.global.u64 [%d0], %d1;\n"
       "  exit;\n}\n",
       0x3fd5555555555555},
      {".version 1.4\n.target sm_13\n.entry k(.param .u64 out)\n{\n"
       "  .reg .u64 %d<2>;\n  .reg .f32 %f<2>;\n  .reg .pred %p;\n"
       "  mov.f32 %f0, 0f00400000;\n  add.f32 %f1, %f0, %f0;\n"
       "  setp.gt.f32 %p, %f0, 0f00000000;\n  mov.b64 %d1, {%f1, 0};\n"
       "  @%p add.u64 %d1, %d1, 1;\n"
       "  ld.param.u64 %d0, [out];\n  st.global.u64 [%d0], %d1;\n"
       "  exit;\n}\n",
       0},
      {".version 2.1\n.target sm_20\n.entry k(.param .u64 out)\n{\n"
       "  .reg .u64 %d<2>;\n  .reg .f32 %f<2>;\n  .reg .pred %p;\n"
       "  mov.f32 %f0, 0f00400000;\n  mad.f32 %f1, %f0, %f0, %f0;\n"
       "  mad.f32 %f1, %f0, 0f40000000, %f1;\n  sub.f32 %f1, %f1, %f0;\n"
       "  setp.gt.f32 %p, %f0, 0f00000000;\n  mov.b64 %d1, {%f1, 0};\n"
       "  @%p add.u64 %d1, %d1, 1;\n"
       "  ld.param.u64 %d0, [out];\n  st.global.u64 [%d0], %d1;\n"
       "  exit;\n}\n",
       0x00800001},
      {".version 2.1\n.target sm_20\n"
       ".visible .func (.param .u64 r) f(.param .u64 a)\n\n"
       ".visible .func (.param .u64 r) f(.param .u64 a)\n{\n"
       "  .reg .u64 %d;\n  ld.param.u64 %d, [a];\n  add.u64 %d, %d, 3;\n"
       "  st.param.u64 [r], %d;\n  ret;\n}\n"
       ".entry k(.param .u64 out)\n{\n  .reg .u64 %d<2>;\n"
       "  .param .u64 a;\n  .param .u64 r;\n  st.param.u64 [a], 4;\n"
       "  call (r), f, (a);\n  ld.param.u64 %d1, [r];\n"
       "  ld.param.u64 %d0, [out];\n  st.global.u64 [%d0], %d1;\n"
       "  exit;\n}\n",
       7},
  };
  for (const OldModule& old : kModules) {
    SCOPED_TRACE(old.text);
    Result<std::unique_ptr<PtxModule>> module = PtxModule::Compile(old.text);
    ASSERT_TRUE(module) << module.error().ToString();
    Buffer out((*module)->device(), 8);
    Launch launch;
    launch.params = {out.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(*out.as<std::uint64_t>(), old.want);
  }
}

}  // namespace
}  // namespace cerberus::exec
