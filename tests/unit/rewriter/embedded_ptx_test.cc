#include "rewriter/embedded_ptx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cerberus::rewriter {
namespace {

using namespace std::string_literals;

const std::string kModule =
    "\n.version 7.0\n.target sm_52\n.visible .entry k() { ret; }\n";

std::vector<std::string> Find(
    const std::string& bytes,
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& leave_out =
        {}) {
  std::vector<std::string> texts;
  for (const EmbeddedPtx& found : FindEmbeddedPtx(AsBytes(bytes), leave_out)) {
    EXPECT_EQ(bytes.substr(found.offset, found.text.size()), found.text);
    texts.emplace_back(found.text);
  }
  return texts;
}

TEST(FindEmbeddedPtx, WholeStrings) {
  const std::string other =
      "// \xc3\xa9 comment\n.version 8.0\n.target sm_80\n.entry z(){ret;}";
  EXPECT_THAT(Find("\x01\x02\0"s + kModule + "\0\x7f junk\0"s + other + "\0"s),
              testing::ElementsAre(kModule, other));
}

TEST(FindEmbeddedPtx, WhatIsNone) {
  EXPECT_THAT(Find(""), testing::IsEmpty());
  // No terminator: nothing that a program could hand over as a string.
  EXPECT_THAT(Find(kModule), testing::IsEmpty());
  EXPECT_THAT(Find("\0"s + kModule + "\xff"s.substr(1) + "\x01"s),
              testing::IsEmpty());
  // Pieces that a program puts together when it runs.
  EXPECT_THAT(Find("\0.version 7.0\n.target sm_52\n\0.entry k\0"s),
              testing::IsEmpty());
  EXPECT_THAT(Find("\0usage: --version\0"s), testing::IsEmpty());
}

TEST(FindEmbeddedPtx, LeavesOutRanges) {
  const std::string bytes = "\0"s + kModule + "\0"s + kModule + "\0"s;
  EXPECT_THAT(Find(bytes, {{0, kModule.size() + 1}}),
              testing::ElementsAre(kModule));
  EXPECT_THAT(Find(bytes, {{0, bytes.size()}}), testing::IsEmpty());
}

}  // namespace
}  // namespace cerberus::rewriter
