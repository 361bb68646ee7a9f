#include "rewriter/needle_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "support/output_file.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::rewriter {
namespace {

constexpr Needle kFirst = 0x1716151413121110;
constexpr Needle kSecond = 0x2726252423222120;

std::vector<std::uint64_t> All(NeedleScan scan, std::uint64_t from,
                               std::uint64_t to) {
  std::vector<std::uint64_t> places;
  for (;;) {
    const Result<std::uint64_t> at = scan.Next(from, to);
    EXPECT_TRUE(at) << at.error().ToString();
    if (!at || *at == to) return places;
    places.push_back(*at);
    from = *at + 1;
  }
}

// Bytes with many beginnings of the needles; whole ones stand at `places`.
Bytes Haystack(std::size_t size, const std::set<std::uint64_t>& places) {
  std::mt19937 random(5);
  Bytes bytes(size);
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    const bool beginning = random() % 64 == 0;
    bytes[i] = beginning ? 0x10 : static_cast<std::uint8_t>(random() % 16);
    bytes[i + 1] = beginning ? 0x11 : static_cast<std::uint8_t>(random() % 16);
  }
  bool first = false;
  for (const std::uint64_t at : places) {
    StoreLe(bytes.data() + at, (first = !first) ? kFirst : kSecond);
  }
  return bytes;
}

TEST(NeedleScan, FindsBothWhereverTheyStand) {
  constexpr std::uint64_t kBuffer = 256 << 10, kSize = 3 * kBuffer + 77;
  std::set<std::uint64_t> places = {0, 8, 511, 1024, kSize - 8};
  for (std::uint64_t i = 0; i < 20; ++i) {
    places.insert(kBuffer - 100 + i * 9);  // over the end of the buffer
    places.insert(2 * kBuffer - 60 + i * 8);
  }
  const Bytes bytes = Haystack(kSize, places);
  const TempFolder folder;
  const std::string path = folder.path() + "/file";
  ASSERT_TRUE(WriteFile(path, bytes));
  const Result<InputFile> file = InputFile::Open(path);
  ASSERT_TRUE(file);
  for (const InputFile* from :
       {static_cast<const InputFile*>(nullptr), &*file}) {
    EXPECT_THAT(All(NeedleScan(bytes, from, kFirst, kSecond), 0, kSize),
                testing::ElementsAreArray(places));
    // Those that begin in a range.
    EXPECT_THAT(All(NeedleScan(bytes, from, kFirst, kSecond), 1, kSize - 8),
                testing::ElementsAreArray(std::next(places.begin()),
                                          std::prev(places.end())));
    EXPECT_THAT(All(NeedleScan(bytes, from, kFirst, kSecond), 511, 512),
                testing::ElementsAre(511));
  }
}

TEST(NeedleScan, FewBytes) {
  Bytes bytes;
  AppendLe(bytes, kSecond);
  EXPECT_THAT(All(NeedleScan(bytes, nullptr, kFirst, kSecond), 0, 8),
              testing::ElementsAre(0));
  for (; !bytes.empty(); bytes.pop_back()) {
    const ByteSpan part = ByteSpan(bytes).first(bytes.size() - 1);
    EXPECT_THAT(All(NeedleScan(part, nullptr, kFirst, kSecond), 0, part.size()),
                testing::IsEmpty());
  }
}

TEST(NeedleScan, AFileThatHasBecomeShorter) {
  const TempFolder folder;
  const std::string path = folder.path() + "/file";
  const Bytes bytes(1000);
  ASSERT_TRUE(WriteFile(path, bytes));
  const Result<InputFile> file = InputFile::Open(path);
  ASSERT_TRUE(file);
  ASSERT_EQ(::truncate(path.c_str(), 500), 0);
  const auto at = NeedleScan(bytes, &*file, kFirst, kSecond).Next(0, 1000);
  ASSERT_FALSE(at);
  EXPECT_THAT(at.error().ToString(), testing::HasSubstr("has changed"));
}

}  // namespace
}  // namespace cerberus::rewriter
