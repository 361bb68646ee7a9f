#include "kpack/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "kpack/reader.h"
#include "tests/unit/kpack/archive_builder.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::kpack {
namespace {

using testing::HasSubstr;

class WriterTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) { return folder_ + "/" + name; }
  static std::string Slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }

  ArchiveWriter Create(const std::string& name, Compression compression,
                       bool checksums = true) {
    Result<ArchiveWriter> writer =
        ArchiveWriter::Create(Path(name), {.group_name = "group",
                                           .gfx_arch_family = "family",
                                           .compression = compression,
                                           .checksums = checksums});
    EXPECT_TRUE(writer.has_value());
    return *std::move(writer);
  }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
};

void Must(const Status& status) {
  ASSERT_TRUE(status.has_value()) << status.error().ToString();
}

TEST_F(WriterTest, PlainArchiveIsUpstreamsByteForByte) {
  ArchiveWriter writer = Create("a.kpack", Compression::kNone, false);
  // Not sorted: the table is, the blobs stay as added.
  Must(writer.Add("p#1", "gfx1100", "hsaco", AsBytes("second")));
  Must(writer.Add("p#0", "gfx1100", "hsaco", AsBytes("one")));
  Must(writer.Finish());
  Must(writer.Commit());
  EXPECT_EQ(
      Slurp(Path("a.kpack")),
      PlainArchive({"second", "one"},
                   mp::Map({{"p#0", mp::Map({{"gfx1100", Row(1, 3)}})},
                            {"p#1", mp::Map({{"gfx1100", Row(0, 6)}})}})));
}

TEST_F(WriterTest, ZstdArchiveIsUpstreamsByteForByte) {
  const std::string blob(300, 'k');
  ArchiveWriter writer = Create("a.kpack", Compression::kZstdPerKernel, false);
  Must(writer.Add("p#0", "gfx1100", "hsaco", AsBytes(blob)));
  Must(writer.Finish());
  Must(writer.Commit());
  EXPECT_EQ(
      Slurp(Path("a.kpack")),
      ZstdArchive({Frame(blob)},
                  mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 300)}})}})));
}

TEST_F(WriterTest, RoundTripWithMetadata) {
  ArchiveWriter writer = Create("a.kpack", Compression::kZstdPerKernel);
  Must(writer.Add(
      "p#0", "gfx942:xnack-", "hsaco", AsBytes("code"),
      {{"cerberus_abi", std::int64_t{1}},
       {"content_key", std::string("ptx:00")},
       {"failed", std::map<std::string, std::string>{{"k", "no texture"}}}}));
  Must(writer.AddAlias("ptx:00#", "gfx942:xnack-", "p#0"));
  Must(writer.Finish());
  Must(writer.Commit());

  const auto archive = Archive::Open(Path("a.kpack"));
  ASSERT_TRUE(archive.has_value()) << archive.error().ToString();
  EXPECT_EQ((*archive)->blob_count(), 1u);
  for (const char* key : {"p#0", "ptx:00#"}) {
    const Entry* entry = (*archive)->Find(key, "gfx942:xnack-");
    ASSERT_NE(entry, nullptr) << key;
    EXPECT_EQ(entry->original_size, 4u);
    EXPECT_EQ(entry->metadata.Find("cerberus_abi").AsInt(), 1);
    EXPECT_EQ(entry->metadata.Find("content_key").AsString(), "ptx:00");
    EXPECT_EQ(entry->metadata.Find("failed").Find("k").AsString(),
              "no texture");
    EXPECT_EQ(AsText(*(*archive)->Read(*entry)), "code");
  }
}

TEST_F(WriterTest, EqualBlobsAreStoredOnce) {
  ArchiveWriter writer = Create("a.kpack", Compression::kZstdPerKernel);
  Must(writer.Add("p#0", "gfx1100", "hsaco", AsBytes("same")));
  Must(writer.Add("p#1", "gfx1100", "hsaco", AsBytes("same")));
  Must(writer.Add("p#2", "gfx1100", "hsaco", AsBytes("other")));
  EXPECT_EQ(writer.entry_count(), 3u);
  EXPECT_EQ(writer.blob_count(), 2u);
}

TEST_F(WriterTest, NothingAppearsBeforeCommit) {
  {
    ArchiveWriter writer = Create("a.kpack", Compression::kNone);
    Must(writer.Add("p#0", "gfx1100", "hsaco", AsBytes("x")));
    Must(writer.Finish());
    EXPECT_FALSE(std::filesystem::exists(Path("a.kpack")));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(WriterTest, KeyTwiceIsAnError) {
  ArchiveWriter writer = Create("a.kpack", Compression::kNone);
  Must(writer.Add("p#0", "gfx1100", "hsaco", AsBytes("x")));
  Must(writer.Add("p#0", "gfx1201", "hsaco", AsBytes("x")));
  const Status again = writer.Add("p#0", "gfx1100", "hsaco", AsBytes("y"));
  ASSERT_FALSE(again.has_value());
  EXPECT_THAT(again.error().ToString(),
              HasSubstr("'p#0' has an entry for gfx1100 already"));
  EXPECT_FALSE(writer.AddAlias("q#0", "gfx1100", "missing").has_value());
}

}  // namespace
}  // namespace cerberus::kpack
