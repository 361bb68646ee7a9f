#include "standins/tool.h"

#include <gtest/gtest.h>

#include <string>

#include "ptxc/front/parse/parser.h"

namespace cerberus::standins {
namespace {

TEST(StandInTool, KnowsArchitectures) {
  EXPECT_EQ(ParseArch("sm_86", false)->sm, 86u);
  EXPECT_EQ(ParseArch("sm_90a", false)->suffix, 'a');
  EXPECT_EQ(ParseArch("sm_100f", false)->suffix, 'f');
  EXPECT_EQ(ParseArch("compute_75", true)->sm, 75u);
  for (const char* name : {"", "sm_", "sm_20", "sm_86a", "sm_90f", "sm_90ab",
                           "sm_999", "compute_75", "lto_80", "86"}) {
    EXPECT_FALSE(ParseArch(name, false)) << name;
  }
}

TEST(StandInTool, IsAsNewAsThePtxThatIsKnown) {
  EXPECT_EQ(ToolkitVersion(),
            "13." + std::to_string(ptx::NewestVersion() - 90));
}

struct Linked {
  explicit Linked(const std::vector<std::string>& bodies) {
    texts.reserve(bodies.size());
    const std::string names[] = {"a", "b", "c"};
    std::vector<LinkInput> inputs;
    for (const std::string& body : bodies) {
      texts.push_back(".version 8.0\n.target sm_80\n.address_size 64\n" + body);
      ptx::ParseOutcome parsed = ptx::Parse(
          texts.back(), [](const Diag& d) { ADD_FAILURE() << d.ToString(); });
      inputs.push_back({names[inputs.size()], std::move(parsed.module)});
    }
    for (const LinkProblem& problem : CheckLink(inputs)) {
      const bool twice = problem.kind == LinkProblem::Kind::kDefinedTwice;
      out += std::string(twice ? "twice " : "missing ") + problem.symbol + "@" +
             std::string(problem.file) + ";";
    }
  }
  std::vector<std::string> texts;
  std::string out;
};

TEST(StandInTool, FindsWhatALinkLacksAndHasTwice) {
  const std::string calls = ".extern .func f();\n.entry k() { call f; ret; }";
  const std::string defines = ".visible .func f() { ret; }";
  EXPECT_EQ(Linked({calls}).out, "missing f@a;");
  EXPECT_EQ(Linked({calls, defines}).out, "");
  EXPECT_EQ(Linked({calls, defines, defines}).out, "twice f@c;");
  EXPECT_EQ(
      Linked({calls, ".weak .func f() { ret; }", ".weak .func f() { ret; }"})
          .out,
      "");
  // Declared and not used; the same name within two files; the driver's own.
  EXPECT_EQ(Linked({".extern .func f();\n.entry k() { ret; }"}).out, "");
  EXPECT_EQ(Linked({".func f() { ret; }", ".func f() { ret; }"}).out, "");
  EXPECT_EQ(Linked({".extern .func (.param .b32 r) vprintf(.param .b64 a,"
                    " .param .b64 b);\n.entry k() { .reg .b64 %rd;\n"
                    " { .param .b64 a; .param .b64 b; .param .b32 r;\n"
                    "  call (r), vprintf, (a, b); } ret; }"})
                .out,
            "");
  EXPECT_EQ(Linked({".entry k() { ret; }", ".entry k() { ret; }"}).out,
            "twice k@b;");
}

TEST(StandInTool, LinksVariablesToo) {
  const std::string uses =
      ".extern .global .b32 v;\n.entry k() { .reg .b32 %r;"
      " ld.global.b32 %r, [v]; ret; }";
  EXPECT_EQ(Linked({uses}).out, "missing v@a;");
  EXPECT_EQ(Linked({uses, ".visible .global .b32 v;"}).out, "");
  EXPECT_EQ(
      Linked({uses, ".visible .global .b32 v;", ".visible .global .b32 v;"})
          .out,
      "twice v@c;");
  // In an initialiser; and shared memory, whose size a launch says.
  EXPECT_EQ(Linked({".extern .global .b32 v;\n"
                    ".visible .global .u64 p = v;"})
                .out,
            "missing v@a;");
  EXPECT_EQ(Linked({".extern .shared .align 4 .b8 s[];\n"
                    ".entry k() { .reg .b32 %r; mov.u32 %r, s; ret; }"})
                .out,
            "");
}

}  // namespace
}  // namespace cerberus::standins
