#include "kpack/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "kpack/checksum.h"
#include "kpack/format.h"
#include "kpack/frame_pool.h"
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

// Frames that threads make stand where they would without.
TEST_F(WriterTest, ThreadsMakeTheSameFile) {
  const auto write = [&](const std::string& name,
                         std::shared_ptr<FramePool> pool) {
    ArchiveOptions options;
    options.group_name = "group";
    options.pool = std::move(pool);
    Result<ArchiveWriter> writer = ArchiveWriter::Create(Path(name), options);
    ASSERT_TRUE(writer.has_value());
    Compressor compressor;
    for (unsigned i = 0; i < 60; ++i) {
      // From nothing to more than may be pending; some twice, some compressed.
      const Bytes blob((std::size_t{1} << (i % 25)) - 1,
                       static_cast<std::uint8_t>(i % 40));
      const std::string key = "p#" + std::to_string(i);
      const Result<Bytes> frame =
          i % 7 == 0 ? compressor.Compress(blob) : Result<Bytes>(Bytes());
      ASSERT_TRUE(frame.has_value());
      Must(writer->AddStored(key, "gfx1100", "hsaco", blob, *frame, {}));
    }
    Must(writer->Finish());
    Must(writer->Commit());
  };
  write("alone.kpack", nullptr);
  const auto pool = std::make_shared<FramePool>(3);
  write("threads.kpack", pool);
  EXPECT_EQ(pool->pending_bytes, 0u);
  EXPECT_EQ(Slurp(Path("alone.kpack")), Slurp(Path("threads.kpack")));
  const auto archive = Archive::Open(Path("threads.kpack"));
  ASSERT_TRUE(archive.has_value());
  for (const Entry& entry : (*archive)->entries()) {
    EXPECT_TRUE((*archive)->Read(entry).has_value()) << entry.key;
  }
}

// Archives of ours are not walked when they are opened.
TEST_F(WriterTest, FrameSizesThatAreNotThoseOfTheFrames) {
  ArchiveWriter writer = Create("a.kpack", Compression::kZstdPerKernel);
  Must(writer.Add("p#0", "gfx1100", "hsaco", AsBytes("one")));
  Must(writer.Add("p#1", "gfx1100", "hsaco", AsBytes("another")));
  Must(writer.Finish());
  Must(writer.Commit());
  std::string bytes = Slurp(Path("a.kpack"));
  const auto toc = LoadLe<std::uint64_t>(bytes.data() + 8);
  // The key, two bytes of MessagePack, then the first of them.
  const std::size_t at = bytes.find(kFrameSizesKey) + sizeof kFrameSizesKey - 1;
  ASSERT_LT(at + 2, bytes.size());
  const auto open = [&] {
    StoreTableChecksum(reinterpret_cast<std::uint8_t*>(bytes.data()),
                       AsBytes(bytes).subspan(toc));
    return Archive::FromBytes(AsBytes(bytes), "a.kpack");
  };
  const auto resize = [&](std::size_t i, int by) {
    bytes[at + 2 + 4 * i] = static_cast<char>(bytes[at + 2 + 4 * i] + by);
  };
  ASSERT_TRUE(open().has_value());
  resize(0, 1);
  ASSERT_FALSE(open().has_value());
  EXPECT_THAT(open().error().ToString(), HasSubstr("'frame_sizes'"));
  // They add up, but are not what stands before the frames.
  resize(1, -1);
  const auto archive = open();
  ASSERT_TRUE(archive.has_value()) << archive.error().ToString();
  for (const Entry& entry : (*archive)->entries()) {
    EXPECT_FALSE((*archive)->Read(entry).has_value()) << entry.key;
  }
}

}  // namespace
}  // namespace cerberus::kpack
