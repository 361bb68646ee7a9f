// Archives written by earlier versions stay readable for ever. The files in
// tests/kpack/golden are never rewritten; new kinds get new files.
#include <gtest/gtest.h>

#include <string>

#include "kpack/reader.h"

namespace cerberus::kpack {
namespace {

// The blobs of all golden archives: no input file needed to check them.
std::string Pattern(std::size_t size, unsigned seed) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    seed = seed * 1664525 + 1013904223;
    out += static_cast<char>('a' + (seed >> 24) % 16);
  }
  return out;
}

struct Expected {
  const char* file;
  const char* key;
  const char* arch;
  std::size_t size;
  unsigned seed;
};

constexpr Expected kExpected[] = {
    {"plain.kpack", "app#0", "gfx1100", 119, 1},
    {"plain.kpack", "app#1", "gfx1100", 219, 2},
    {"plain.kpack", "app#0", "gfx90a:xnack+", 77, 3},
    {"zstd.kpack", "app#0", "gfx1100", 5000, 4},
    {"zstd.kpack", "ptx:99aa06d3014798d86001c324468d497f#", "gfx1100", 5000, 4},
    {"zstd.kpack", "app#1", "gfx1100", 0, 0},
    {"zstd.kpack", "lib/app.so#2", "gfx1100", 1, 5},
    {"ptx.kpack", "app#0", "ptx", 300, 6},
    {"checksums.kpack", "app#0", "gfx1100", 5000, 4},
    {"checksums.kpack", "lib/app.so#2", "gfx1100", 1, 5},
    {"checksums.kpack", "app#0", "gfx90a:xnack+", 77, 3},
};

TEST(Golden, Version1) {
  for (const Expected& e : kExpected) {
    SCOPED_TRACE(std::string(e.file) + " " + e.key + " " + e.arch);
    const auto archive =
        Archive::Open(std::string(CERBERUS_TESTS "/kpack/golden/v1/") + e.file);
    ASSERT_TRUE(archive.has_value()) << archive.error().ToString();
    const Entry* entry = (*archive)->Find(e.key, e.arch);
    ASSERT_NE(entry, nullptr);
    const auto bytes = (*archive)->Read(*entry);
    ASSERT_TRUE(bytes.has_value()) << bytes.error().ToString();
    EXPECT_EQ(AsText(*bytes), Pattern(e.size, e.seed));
  }
}

TEST(Golden, Version2) {
  const auto plain =
      Archive::Open(CERBERUS_TESTS "/kpack/golden/v2/plain.kpack");
  ASSERT_TRUE(plain.has_value()) << plain.error().ToString();
  EXPECT_EQ((*plain)->version(), 2u);
  EXPECT_EQ(AsText(*(*plain)->Read(*(*plain)->Find("k#0", "gfx1100"))), "abc");

  const auto archive =
      Archive::Open(CERBERUS_TESTS "/kpack/golden/v2/reference.kpack");
  ASSERT_TRUE(archive.has_value()) << archive.error().ToString();
  const auto read = [&](const char* key, const char* arch) {
    return std::string(AsText(*(*archive)->Read(*(*archive)->Find(key, arch))));
  };
  EXPECT_EQ(read("app#0", "gfx1100"), Pattern(5000, 4));
  EXPECT_EQ(read("app#0", "gfx1101"), Pattern(4990, 4));
  EXPECT_EQ(read("lib/app.so#2", "gfx1100"), Pattern(1, 5));
  EXPECT_EQ(read("zero#0", "gfx1101"), "");
  // The second is stored as a few bytes behind the first.
  EXPECT_LT((*archive)->Find("app#0", "gfx1101")->stored_size, 50u);
}

TEST(Golden, Checksums) {
  const auto archive =
      Archive::Open(CERBERUS_TESTS "/kpack/golden/v1/checksums.kpack");
  ASSERT_TRUE(archive.has_value());
  EXPECT_TRUE((*archive)->has_checksums());
  for (const Entry& entry : (*archive)->entries()) {
    EXPECT_TRUE(entry.checksum.has_value());
  }
}

TEST(Golden, Metadata) {
  const auto archive =
      Archive::Open(CERBERUS_TESTS "/kpack/golden/v1/zstd.kpack");
  ASSERT_TRUE(archive.has_value());
  const Value metadata = (*archive)->Find("app#0", "gfx1100")->metadata;
  EXPECT_EQ(metadata.Find("cerberus_abi").AsInt(), 1);
  EXPECT_EQ(metadata.Find("sm").AsInt(), 75);
  EXPECT_EQ(metadata.Find("ptx_version").AsString(), "9.0");
  EXPECT_EQ(metadata.Find("failed").Find("tex_kernel").AsString(),
            "'tex.2d' is not supported on gfx1100");
}

}  // namespace
}  // namespace cerberus::kpack
