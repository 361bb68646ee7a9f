#include "standins/resources.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "ptxc/front/parse/parser.h"

namespace cerberus::standins {
namespace {

// The last function of a module, and what it needs.
struct Measured {
  explicit Measured(const std::string& body) {
    text = ".version 8.0\n.target sm_80\n.address_size 64\n" + body;
    parsed = ptx::Parse(
        text, [](const Diag& diag) { ADD_FAILURE() << diag.ToString(); });
    resources = ResourcesOf(*parsed.module, parsed.module->functions.back());
  }
  std::string text;
  ptx::ParseOutcome parsed;
  Resources resources;
};

TEST(StandInResources, MemoryIsWhatTheKernelReaches) {
  const Measured measured(
      ".shared .align 4 .b8 used[100];\n.shared .align 4 .b8 unused[64];\n"
      ".extern .shared .align 16 .b8 dynamic[];\n"
      ".global .b32 counter[3];\n.const .b32 table[5];\n"
      ".func helper() { .local .b64 l[4]; .reg .b64 %rd;\n"
      "  mov.u64 %rd, l; mov.u64 %rd, used; ret; }\n"
      ".visible .entry k(.param .u64 a, .param .u32 n, .param .u64 b) {\n"
      "  .reg .b32 %r; .shared .align 8 .b64 own; .local .b32 m;\n"
      "  mov.u32 %r, own; mov.u32 %r, dynamic; mov.u32 %r, m;\n"
      "  call helper; ret; }");
  EXPECT_EQ(measured.resources.shared_bytes, 8u + 100u);
  EXPECT_EQ(measured.resources.stack_bytes, 4u + 4u + 32u);
  EXPECT_EQ(measured.resources.param_bytes, 24u);
  EXPECT_EQ(BytesIn(*measured.parsed.module, ptx::VarSpace::kGlobal), 12u);
  EXPECT_EQ(BytesIn(*measured.parsed.module, ptx::VarSpace::kConst), 20u);
}

std::uint32_t Barriers(const std::string& body) {
  return Measured(".visible .entry k() { .reg .b32 %r; " + body + " ret; }")
      .resources.barriers;
}
TEST(StandInResources, BarriersUpToTheHighest) {
  EXPECT_EQ(Barriers(""), 0u);
  EXPECT_EQ(Barriers("bar.warp.sync -1; barrier.cluster.arrive;"), 0u);
  EXPECT_EQ(Barriers("bar.sync 0;"), 1u);
  EXPECT_EQ(Barriers("barrier.sync 5; bar.sync 0;"), 6u);
  EXPECT_EQ(Barriers("mov.u32 %r, 3; bar.sync %r;"), 16u);
}

std::uint32_t Registers(int count, const std::string& type, bool loop,
                        const std::string& tuning = "") {
  std::string body = ".reg ." + type + " %v<" + std::to_string(count) + ">;\n";
  const auto load = [&](int i) {
    return "ld.global." + type + " %v" + std::to_string(i) + ", [%p];\n";
  };
  const auto store = [&](int i) {
    return "st.global." + type + " [%p], %v" + std::to_string(i) + ";\n";
  };
  for (int i = 0; i < count; ++i) {
    body += load(i);
    // One behind the other, or all at a time.
    if (!loop) body += store(i);
  }
  if (loop) {
    body += "again:\n";
    for (int i = 0; i < count; ++i) body += store(i);
    body += "bra again;\n";
  }
  return Measured(".visible .entry k() " + tuning + " { .reg .b64 %p;\n" +
                  body + " ret; }")
      .resources.registers;
}
TEST(StandInResources, RegistersAreWhatLivesAtATime) {
  EXPECT_EQ(Registers(100, "u32", false), 8u);  // the least there is
  EXPECT_EQ(Registers(100, "u32", true), 102u);
  EXPECT_EQ(Registers(100, "f64", true), 202u);
  EXPECT_EQ(Registers(200, "f64", true), 255u);
  EXPECT_EQ(Registers(100, "u32", true, ".maxnreg 64"), 64u);
}

}  // namespace
}  // namespace cerberus::standins
