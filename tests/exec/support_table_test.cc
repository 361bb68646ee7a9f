#include "tests/exec/support_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxc/front/opcode_table.h"

namespace cerberus::exec {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// PTX ISA 9.0, "clz": .type = { .b32, .b64 }.
int RowOfClz() { return ptx::RowsOf("clz").front()->index; }

TEST(NotExecuted, NamesTargetFormTypeAndModifier) {
  const Executed executed = {{"gfx90a", {{RowOfClz(), "clz.b32"}}}};
  const std::vector<std::string> missing =
      NotExecuted(executed, {"clz.b32", "clz.b64"});
  EXPECT_THAT(missing, Contains("gfx90a: clz .b32|.b64: b64 with ''"));
  EXPECT_THAT(missing, Not(Contains("gfx90a: clz .b32|.b64: b32 with ''")));
  EXPECT_THAT(missing, Contains("gfx1100: clz .b32|.b64: b32 with ''"));
  EXPECT_THAT(missing, Contains("gfx90a: clz.b64"));
  EXPECT_THAT(missing, Not(Contains("gfx90a: clz.b32")));
  EXPECT_THAT(missing, Not(Contains(HasSubstr("cvta {.to} CVTASPACE .u32:"))));
}

// shfl without .sync takes another number of operands: neither counts for
// the other.
TEST(NotExecuted, CountsRowsOfOneOpcodeApart) {
  const std::vector<const ptx::OpcodeRow*> rows = ptx::RowsOf("shfl");
  ASSERT_GE(rows.size(), 2u);
  Executed executed;
  for (const std::string& target : kTestedTargets) {
    ptx::ForEachSpelling(*rows[0], false, [&](std::string_view spelling) {
      executed[target].emplace(rows[0]->index, spelling);
    });
  }
  const std::vector<std::string> missing = NotExecuted(executed, {});
  const auto of = [](const ptx::OpcodeRow& row) {
    return HasSubstr(std::string(row.name) + " " + std::string(row.syntax) +
                     ":");
  };
  EXPECT_THAT(missing, Not(Contains(of(*rows[0]))));
  EXPECT_THAT(missing, Contains(of(*rows[1])));
}

TEST(SupportTable, CountsPairsByTarget) {
  const Executed executed = {{"gfx90a", {{RowOfClz(), "clz.b32"}}}};
  const std::string text = SupportTable(executed, {"clz.b32", "clz.b64"});
  EXPECT_THAT(text, HasSubstr("executed, of 2 |"));
  EXPECT_THAT(text, HasSubstr("| gfx90a | 1 | 1 |"));
  EXPECT_THAT(text,
              HasSubstr("| `clz .b32\\|.b64` | 2.0 | 20 |  | 2 | 0 | 0 | 0 | "
                        "1 | 0 | 0 |\n"));
}

}  // namespace
}  // namespace cerberus::exec
