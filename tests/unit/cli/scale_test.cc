// Shards, and names as shells and Ninja read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "cli/convert/compiler.h"
#include "cli/scale/kept_code.h"
#include "cli/scale/ninja_graph.h"
#include "cli/scale/shard.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::cli {
namespace {

using testing::ElementsAre;

TEST(Shards, InOrderAndFair) {
  EXPECT_THAT(ShardsOf({1, 1, 1, 1}, 2), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(ShardsOf({9, 1, 1, 1}, 2), ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(ShardsOf({5}, 3), ElementsAre(2));
  EXPECT_THAT(ShardsOf({0, 0}, 3), ElementsAre(1, 1));
  EXPECT_THAT(ShardsOf({}, 3), ElementsAre());
}

// Whatever the sizes: every module in one shard, shards in order, none with
// more than its share and the largest module.
TEST(Shards, Bounds) {
  std::uint64_t state = 1;
  const auto next = [&state](std::uint64_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint64_t> sizes(next(60));
    for (std::uint64_t& size : sizes) {
      size = next(4) == 0 ? next(1'000'000'000) : next(1000);
    }
    const auto count = static_cast<unsigned>(1 + next(12));
    const std::vector<unsigned> shards = ShardsOf(sizes, count);
    ASSERT_EQ(shards.size(), sizes.size());
    EXPECT_TRUE(std::is_sorted(shards.begin(), shards.end()));
    std::vector<std::uint64_t> sums(count + 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_GE(shards[i], 1u);
      ASSERT_LE(shards[i], count);
      sums[shards[i]] += sizes[i];
    }
    const std::uint64_t all =
        std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    const std::uint64_t most =
        sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
    for (const std::uint64_t sum : sums) {
      EXPECT_LE(sum, all / count + most + 1);
    }
  }
}

TEST(Ninja, Words) {
  EXPECT_EQ(ShellWord("a/b-c.d"), "a/b-c.d");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(ShellWord("~a"), "'~a'");
  EXPECT_EQ(*NinjaPath("a $b: c"), "a$ $$b$:$ c");
  EXPECT_EQ(*NinjaPath("a|b"), "a${bar}b");
  EXPECT_FALSE(NinjaPath("a\nb"));
  EXPECT_FALSE(NinjaPath("a\rb"));
}

// Everything that the code depends on is in its name; nothing else is.
TEST(KeptModule, Names) {
  CodeFolders folders;
  folders.given = "code";
  CompileRequest request;
  request.ptx = ".version 8.0\n";
  request.arch = "gfx1100";
  const auto path = [&](const std::string& build = "a") {
    return KeptModule(folders, build, request).GivenPath();
  };
  const std::string first = path();
  EXPECT_EQ(first.rfind("code/", 0), 0u);
  request.where.file = "elsewhere";
  request.share.jobs = 7;
  EXPECT_EQ(path(), first);
  EXPECT_NE(path("b"), first);
  const auto differs = [&](auto change) {
    const CompileRequest before = request;
    change(request);
    const bool other = path() != first;
    request = before;
    return other;
  };
  EXPECT_TRUE(differs([](CompileRequest& r) { r.ptx += "\n"; }));
  EXPECT_TRUE(differs([](CompileRequest& r) { r.arch = "gfx1101"; }));
  EXPECT_TRUE(differs([](CompileRequest& r) { r.keep_going = true; }));
  EXPECT_TRUE(differs([](CompileRequest& r) { r.shared_overflow = true; }));
  EXPECT_TRUE(differs([](CompileRequest& r) { r.serial_lanes = true; }));
}

// A file with the right checksum may still hold anything.
TEST(KeptModule, ReadsNothingElse) {
  const TempFolder folder;
  CodeFolders folders;
  folders.own = folder.path();
  CompileRequest request;
  request.ptx = ".version 8.0\n";
  request.arch = "gfx1100";
  const KeptModule module(folders, "build", request);
  ProcessResult run;
  run.exit_code = 3;
  run.err = "message";
  run.out = {1, 2, 3};
  const std::string path = module.Keep(run, {});
  const std::string key =
      path.substr(path.rfind('/') + 1, path.rfind('.') - path.rfind('/') - 1);
  const cache::JitCache file(folder.path(), UINT64_MAX);
  const Bytes good = *file.Load(key);
  const std::optional<KeptModule::Found> found = module.Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->run.exit_code, 3);
  EXPECT_EQ(found->run.err, "message");
  EXPECT_EQ(found->run.out, run.out);
  const std::size_t head = good.size() - run.out.size();
  for (std::size_t size = 0; size < head; ++size) {
    file.Store(key, ByteSpan(good).first(size));
    EXPECT_FALSE(module.Find());
  }
  // Its key, its exit code, the length of its messages: none may be another.
  for (std::size_t i = 0; i < key.size() + 16; ++i) {
    Bytes bad = good;
    bad[i] ^= 0x80;
    file.Store(key, bad);
    EXPECT_FALSE(module.Find());
  }
}

}  // namespace
}  // namespace cerberus::cli
