// Archives of ours with one byte changed, each byte in several ways: opening
// or reading says so, with the archive's name and, where it is a blob's, the
// entry's; what can still be read is what was written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kpack/edit.h"
#include "kpack/format.h"
#include "kpack/reader.h"
#include "tests/unit/kpack/archive_builder.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::kpack {
namespace {

using testing::HasSubstr;

// Repeats itself enough for zstd to have all its parts: literals, matches,
// tables.
std::string Content(unsigned seed) {
  std::string out;
  for (unsigned i = 0; i < 300; ++i) {
    seed = seed * 1664525 + 1013904223;
    out += "v_add_f32 v" + std::to_string((seed >> 24) % 16) + ", v1\n";
  }
  return out;
}

struct Piece {
  const char* key;
  const char* arch;
  std::string content;
};

const Piece kPieces[] = {{"app#0", "gfx1100", Content(1)},
                         {"app#0", "gfx942:xnack-", Content(2)},
                         {"app#1", "gfx1100", "short"},
                         {"app#2", "gfx1100", ""}};

enum class Kind : std::uint8_t { kPlain, kZstd, kV2Plain, kV2Zstd };

std::string Written(Kind kind) {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.kpack";
  EditOptions options;
  options.group_name = "app";
  options.v2 = kind == Kind::kV2Plain || kind == Kind::kV2Zstd;
  options.compression = kind == Kind::kPlain || kind == Kind::kV2Plain
                            ? Compression::kNone
                            : Compression::kZstdPerKernel;
  std::vector<NewEntry> entries;
  for (const Piece& piece : kPieces) {
    entries.push_back({piece.key,
                       piece.arch,
                       "hsaco",
                       Bytes(piece.content.begin(), piece.content.end()),
                       {{"sm", std::int64_t{75}}}});
  }
  entries.push_back(entries.front());
  entries.back().key = "ptx:00#";
  auto made = BuildArchive(std::move(entries), options, path);
  EXPECT_TRUE(made->file.Commit().has_value());
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Whether the damage is noticed, and nothing wrong comes out.
bool Noticed(const std::string& bytes) {
  const auto archive = Archive::FromBytes(AsBytes(bytes), "t.kpack");
  if (!archive) {
    EXPECT_THAT(archive.error().ToString(), HasSubstr("t.kpack"));
    return true;
  }
  bool noticed = false;
  for (const Piece& piece : kPieces) {
    const Entry* entry = (*archive)->Find(piece.key, piece.arch);
    if (entry == nullptr) {
      ADD_FAILURE() << piece.key << " is missing";
      return false;
    }
    const KpackResult<Bytes> read = (*archive)->Read(*entry);
    if (read) {
      EXPECT_EQ(AsText(*read), piece.content);
      continue;
    }
    noticed = true;
    EXPECT_THAT(read.error().ToString(), HasSubstr("t.kpack"));
    EXPECT_THAT(
        read.error().ToString(),
        HasSubstr("'" + std::string(piece.key) + "' for " + piece.arch));
  }
  return noticed;
}

class DamageTest : public testing::TestWithParam<Kind> {};

TEST_P(DamageTest, EveryByteIsUnderAChecksum) {
  const std::string whole = Written(GetParam());
  ASSERT_FALSE(Noticed(whole));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int bits : {1, 2, 4, 8, 16, 32, 64, 128}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ bits);
      ASSERT_TRUE(Noticed(bytes)) << "byte " << at << ", bits " << bits;
    }
  }
}

TEST_P(DamageTest, EveryCutIsNoticed) {
  const std::string whole = Written(GetParam());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(Noticed(whole.substr(0, size))) << size;
  }
  ASSERT_TRUE(Noticed(whole + "x"));
}

INSTANTIATE_TEST_SUITE_P(, DamageTest,
                         testing::Values(Kind::kPlain, Kind::kZstd,
                                         Kind::kV2Plain, Kind::kV2Zstd));

// A tool that writes header and table anew, and knows nothing of checksums,
// may have compressed blobs anew as well: what it left of them means nothing.
TEST(Checksums, CountOnlyUnderTheTablesOwn) {
  const std::string row =
      mp::Map({{"type", mp::Str("hsaco")},
               {"ordinal", mp::Int(0)},
               {"original_size", mp::Int(3)},
               {"metadata", mp::Map({{kChecksumKey, mp::Int(7)}})}});
  const std::string bytes =
      PlainArchive({"one"}, mp::Map({{"p#0", mp::Map({{"gfx1100", row}})}}));
  const auto archive = Archive::FromBytes(AsBytes(bytes), "t.kpack");
  ASSERT_TRUE(archive.has_value());
  EXPECT_FALSE((*archive)->has_checksums());
  EXPECT_EQ(AsText(*(*archive)->Read((*archive)->entries()[0])), "one");
}

// Other writers let blobs begin where ours have the mark.
TEST(Checksums, OtherBytesBehindTheHeaderAreNotOurs) {
  const std::string blob(100, 'b');
  const std::string bytes =
      Header(116).substr(0, 16) + blob +
      Toc(mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 100)}})}}), "none",
          {{"blobs", mp::Array({BlobRow(16, 100)})}});
  const auto archive = Archive::FromBytes(AsBytes(bytes), "t.kpack");
  ASSERT_TRUE(archive.has_value()) << archive.error().ToString();
  EXPECT_EQ(AsText(*(*archive)->Read((*archive)->entries()[0])), blob);
}

}  // namespace
}  // namespace cerberus::kpack
