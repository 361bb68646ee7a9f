#include "rewriter/embedded_ptx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cerberus::rewriter {
namespace {

using namespace std::string_literals;

const std::string kModule =
    "\n.version 7.0\n.target sm_52\n.visible .entry k() { ret; }\n";

std::vector<std::string> Find(const std::string& bytes) {
  EmbeddedPtxFinder finder(AsBytes(bytes));
  for (std::size_t at = 0;
       (at = bytes.find(EmbeddedPtxFinder::kStart, at)) != std::string::npos;
       ++at) {
    finder.See(at);
  }
  std::vector<std::string> texts;
  for (const EmbeddedPtx& found : std::move(finder).Take()) {
    EXPECT_EQ(bytes.substr(found.offset, found.text.size()), found.text);
    texts.emplace_back(found.text);
  }
  return texts;
}

TEST(EmbeddedPtx, WholeStrings) {
  const std::string other =
      "// \xc3\xa9 comment\n.version 8.0\n.target sm_80\n.entry z(){ret;}";
  EXPECT_THAT(Find("\x01\x02\0"s + kModule + "\0\x7f junk\0"s + other + "\0"s),
              testing::ElementsAre(kModule, other));
}

TEST(EmbeddedPtx, WhatIsNone) {
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

TEST(EmbeddedPtx, OnceHoweverOftenItSaysVersion) {
  EXPECT_THAT(Find("\0"s + kModule + "// .version\n\0"s),
              testing::ElementsAre(kModule + "// .version\n"));
}

}  // namespace
}  // namespace cerberus::rewriter
