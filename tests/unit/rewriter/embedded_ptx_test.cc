#include "rewriter/embedded_ptx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cerberus::rewriter {
namespace {

using namespace std::string_literals;

const std::string kModule =
    ".version 7.0\n.target sm_52\n.visible .entry k() { ret; }";

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

TEST(EmbeddedPtx, Strings) {
  const std::string other =
      ".version 8.0\n.target sm_80, debug\n.entry z(){ret;}";
  EXPECT_THAT(Find("\x01\x02\0\n"s + kModule + "\n\0\x7f junk\0"s +
                   "// \xc3\xa9 comment\n" + other + "\0"s),
              testing::ElementsAre(kModule, other));
}

// Rust and Go count a string's bytes, and put others right beside it.
TEST(EmbeddedPtx, StringsThatNothingEnds) {
  const std::string other =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".global .align 4 .b8 text[5] = {123, 0x7d, 0, 125, 1};\n"
      ".extern .func (.param .b32 r) f(.param .b64 p);\n"
      ".entry z(.param .u64 p)\n{\n// }\n{ .reg .u32 r; }\nret; }\n"
      ".file 1 \"a }.cu\", 17, 5\n"
      ".section .debug_str { .b8 0 }";
  for (const std::string& end :
       {""s, "\0"s, "\x01"s, "main.rs"s, " .visible"s, ".m"s}) {
    EXPECT_THAT(Find("src/main.rs" + kModule + "// made by NVVM\n" + other +
                     kModule + "unwrap\n" + other + end),
                testing::ElementsAre(kModule, other, kModule, other))
        << end;
  }
}

TEST(EmbeddedPtx, WhatIsNone) {
  EXPECT_THAT(Find(""), testing::IsEmpty());
  // Pieces that a program puts together when it runs.
  EXPECT_THAT(Find("\0.version 7.0\n.target sm_52\n\0.entry k\0"s),
              testing::IsEmpty());
  EXPECT_THAT(Find("\0.version 7.0\n.target sm_52\n.entry k() {"s + kModule),
              testing::ElementsAre(kModule));
  EXPECT_THAT(Find("\0usage: --version\0"s), testing::IsEmpty());
  EXPECT_THAT(Find(".version 7.0\n.target sm_52\n.func f() { ret; }"),
              testing::IsEmpty());
}

TEST(EmbeddedPtx, OnceHoweverOftenItSaysVersion) {
  EXPECT_THAT(Find("\0"s + kModule + "// .version\n\0"s),
              testing::ElementsAre(kModule));
}

// What the walk through a module does not know.
TEST(EmbeddedPtx, WrittenInAnUnknownWay) {
  const std::string text =
      ".version 7.0\n.target sm_52\n.news 3\n.entry k() { ret; }\n";
  EXPECT_THAT(Find("\x01"s + text + "\0"s), testing::ElementsAre(text));
  EXPECT_THAT(Find("\x01"s + text + "\x01"s), testing::IsEmpty());
}

}  // namespace
}  // namespace cerberus::rewriter
