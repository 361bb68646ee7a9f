#include "kpack/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "tests/unit/kpack/archive_builder.h"

namespace cerberus::kpack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Archive> MustOpen(const std::string& bytes) {
  static std::deque<std::string> kept;  // an archive refers to its bytes
  kept.push_back(bytes);
  KpackResult<std::shared_ptr<const Archive>> archive =
      Archive::FromBytes(AsBytes(kept.back()), "t.kpack");
  if (!archive) {
    ADD_FAILURE() << archive.error().ToString();
    return nullptr;
  }
  return *archive;
}

std::string MustRead(const Archive& archive, const char* key,
                     const char* arch) {
  const Entry* entry = archive.Find(key, arch);
  if (entry == nullptr) return "no such entry";
  KpackResult<Bytes> bytes = archive.Read(*entry);
  return bytes ? std::string(AsText(*bytes)) : bytes.error().ToString();
}

TEST(Reader, PlainBlobsAreNotAligned) {
  // Sizes that put the blobs at 64, 183 and 402, as in upstream's own asset.
  const std::string a(119, 'a'), b(219, 'b'), c(77, 'c');
  const std::string bytes = PlainArchive(
      {a, b, c},
      mp::Map({{"lib/x.so#0",
                mp::Map({{"gfx1100", Row(0, 119)}, {"gfx1201", Row(1, 219)}})},
               {"lib/x.so#1", mp::Map({{"gfx1100", Row(2, 77)}})}}),
      {"gfx1100", "gfx1201"});
  ASSERT_EQ(bytes.find(b), 183u);
  ASSERT_EQ(bytes.find(c), 402u);
  const std::shared_ptr<const Archive> archive = MustOpen(bytes);
  ASSERT_NE(archive, nullptr);
  EXPECT_EQ(archive->group_name(), "group");
  EXPECT_EQ(archive->arch_family(), "family");
  EXPECT_EQ(archive->compression(), "none");
  EXPECT_THAT(archive->arches(), ElementsAre("gfx1100", "gfx1201"));
  EXPECT_EQ(MustRead(*archive, "lib/x.so#0", "gfx1100"), a);
  EXPECT_EQ(MustRead(*archive, "lib/x.so#0", "gfx1201"), b);
  EXPECT_EQ(MustRead(*archive, "lib/x.so#1", "gfx1100"), c);
  EXPECT_EQ(archive->Find("lib/x.so#1", "gfx1201"), nullptr);
  EXPECT_EQ(archive->Find("lib/x.so", "gfx1100"), nullptr);
}

TEST(Reader, ZstdFramesAreFoundByOrdinal) {
  const std::string a(5000, 'a'), b = "short", c;
  const std::shared_ptr<const Archive> archive = MustOpen(
      ZstdArchive({Frame(a), Frame(b), Frame(c)},
                  mp::Map({{"z#2", mp::Map({{"gfx90a:xnack+", Row(2, 0)}})},
                           {"a#0", mp::Map({{"gfx90a:xnack+", Row(0, 5000)}})},
                           {"m#1", mp::Map({{"gfx90a:xnack+", Row(1, 5)}})}}),
                  {"gfx90a:xnack+"}));
  ASSERT_NE(archive, nullptr);
  EXPECT_EQ(MustRead(*archive, "a#0", "gfx90a:xnack+"), a);
  EXPECT_EQ(MustRead(*archive, "m#1", "gfx90a:xnack+"), b);
  EXPECT_EQ(MustRead(*archive, "z#2", "gfx90a:xnack+"), c);
  // Rows come sorted, whatever the file's order.
  EXPECT_EQ(archive->entries().front().key, "a#0");
  EXPECT_EQ(archive->entries().back().key, "z#2");
}

TEST(Reader, MetadataIsReadable) {
  const std::string row = mp::Map(
      {{"type", mp::Str("hsaco")},
       {"ordinal", mp::Int(0)},
       {"original_size", mp::Int(1)},
       {"metadata", mp::Map({{"cerberus_abi", mp::Int(1)},
                             {"failed", mp::Map({{"k", mp::Str("why")}})}})}});
  const std::shared_ptr<const Archive> archive = MustOpen(
      PlainArchive({"x"}, mp::Map({{"p#0", mp::Map({{"gfx1100", row}})}})));
  ASSERT_NE(archive, nullptr);
  const Entry* entry = archive->Find("p#0", "gfx1100");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->type, "hsaco");
  EXPECT_EQ(entry->metadata.Find("cerberus_abi").AsInt(), 1);
  EXPECT_EQ(entry->metadata.Find("failed").Find("k").AsString(), "why");
  EXPECT_FALSE(entry->metadata.Find("failed").Find("j"));
}

// What upstream's readers take, ours takes too.
TEST(Reader, AcceptsWhatUpstreamAccepts) {
  const std::string toc = mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})}});
  const std::string two_frames = Frame("on") + Frame("e");
  const std::string skippable = Le(0x184d2a50u) + Le(2u) + "zz";
  struct {
    const char* what;
    std::string bytes;
  } const cases[] = {
      {"bytes behind the map", PlainArchive({"one"}, toc) + "trailing"},
      {"an unknown key", Header(67) + "one" +
                             Toc(toc, "none",
                                 {{"blobs", mp::Array({BlobRow(64, 3)})},
                                  {"later", mp::Array({})}})},
      {"several frames in one slot", ZstdArchive({two_frames}, toc)},
      {"a skippable frame", ZstdArchive({skippable + Frame("one")}, toc)},
      {"no scheme, no format version",
       Header(67) + "one" +
           mp::Map({{"toc", toc}, {"blobs", mp::Array({BlobRow(64, 3)})}})},
      {"two keys for one ordinal",
       PlainArchive({"one"},
                    mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})},
                             {"q#0", mp::Map({{"gfx1100", Row(0, 3)}})}}))},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const std::shared_ptr<const Archive> archive = MustOpen(c.bytes);
    ASSERT_NE(archive, nullptr);
    EXPECT_EQ(MustRead(*archive, "p#0", "gfx1100"), "one");
  }
}

TEST(Reader, EmptyArchiveHoldsNothing) {
  const std::shared_ptr<const Archive> archive =
      MustOpen(Header(64) + mp::Map({}));
  ASSERT_NE(archive, nullptr);
  EXPECT_TRUE(archive->entries().empty());
  EXPECT_TRUE(archive->arches().empty());
}

// Each malformed file has its own message, which says where and what.
TEST(Reader, MalformedFiles) {
  const std::string toc = mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})}});
  const std::string good = PlainArchive({"one"}, toc);
  const std::string frames = ZstdArchive({Frame("one")}, toc);
  const auto with_toc = [](const std::string& top) { return Header(64) + top; };
  const auto with_row = [&](const std::string& row) {
    return PlainArchive({"one"},
                        mp::Map({{"p#0", mp::Map({{"gfx1100", row}})}}));
  };
  const auto with_blob = [&](const std::string& row) {
    return with_toc(Toc(toc, "none", {{"blobs", mp::Array({row})}}));
  };
  const auto with_zstd = [&](const std::string& body, std::uint64_t size) {
    return Header(64 + body.size()) + body +
           Toc(toc, "zstd-per-kernel",
               {{"zstd_offset", mp::Int(64)}, {"zstd_size", mp::Int(size)}});
  };
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "\x91";
  deep += "\x01";

  struct {
    const char* what;
    std::string bytes;
    KpackCode code;
    const char* message;
  } const cases[] = {
      {"empty file", "", KpackCode::kIoError,
       "t.kpack: offset 0x0: the file is empty"},
      {"a text file", "hello, world, this is a text\n",
       KpackCode::kInvalidFormat, "is not a kpack archive"},
      {"three bytes", "KPA", KpackCode::kInvalidFormat,
       "is not a kpack archive"},
      {"cut header", "KPAK\1\0\0", KpackCode::kInvalidFormat,
       "the header is cut short"},
      {"version 3", Header(64, 3) + mp::Map({}), KpackCode::kUnsupportedVersion,
       "offset 0x4: archive version 3, expected 1 or 2"},
      {"no table of contents", Header(64), KpackCode::kInvalidFormat,
       "table of contents at 0x40, but the file ends at 0x40"},
      {"offset of 2^63", Header(1ull << 63) + "x", KpackCode::kInvalidFormat,
       "table of contents at 0x8000000000000000"},
      {"offset inside the header", Header(4) + "x", KpackCode::kInvalidFormat,
       "table of contents at 0x4"},
      {"table cut short", good.substr(0, good.size() - 1),
       KpackCode::kMsgpackParseFailed, "MessagePack data is cut short"},
      {"table is a list", with_toc(mp::Array({})),
       KpackCode::kMsgpackParseFailed, "table of contents: is not a map"},
      {"byte 0xc1", with_toc("\xc1"), KpackCode::kMsgpackParseFailed,
       "not a MessagePack value"},
      {"a list of 2^32 - 1", with_toc("\xdd\xff\xff\xff\xff"),
       KpackCode::kMsgpackParseFailed, "cut short"},
      {"a string of 2^32 - 1", with_toc("\xdb\xff\xff\xff\xff"),
       KpackCode::kMsgpackParseFailed, "cut short"},
      {"deep nesting", with_toc(deep), KpackCode::kMsgpackParseFailed,
       "nested deeper than 32"},
      {"format_version 2", with_toc(mp::Map({{"format_version", mp::Int(2)}})),
       KpackCode::kUnsupportedVersion, "'format_version' is not 1"},
      {"gfx_arches a string",
       with_toc(mp::Map({{"gfx_arches", mp::Str("gfx1100")}})),
       KpackCode::kMsgpackParseFailed, "'gfx_arches' is not a list"},
      {"gfx_arches of numbers",
       with_toc(mp::Map({{"gfx_arches", mp::Array({mp::Int(1)})}})),
       KpackCode::kMsgpackParseFailed, "'gfx_arches' holds what is not"},
      {"unknown scheme", with_toc(Toc(toc, "zstd-dictionary", {})),
       KpackCode::kNotImplemented,
       "compression scheme 'zstd-dictionary' is not supported, expected "
       "'none' or 'zstd-per-kernel'"},
      {"scheme a number",
       with_toc(mp::Map({{"compression_scheme", mp::Int(1)}})),
       KpackCode::kMsgpackParseFailed, "'compression_scheme' is not a string"},
      {"blobs a map", with_toc(mp::Map({{"blobs", mp::Map({})}})),
       KpackCode::kMsgpackParseFailed, "'blobs' is not a list"},
      {"blob without size", with_blob(mp::Map({{"offset", mp::Int(64)}})),
       KpackCode::kMsgpackParseFailed, "blob 0 lacks 'offset' or 'size'"},
      {"blob of the wrong type",
       with_blob(mp::Map({{"offset", mp::Str("64")}, {"size", mp::Int(1)}})),
       KpackCode::kMsgpackParseFailed, "blob 0 lacks 'offset' or 'size'"},
      {"blob past the end", with_blob(BlobRow(64, 100000)), KpackCode::kIoError,
       "offset 0x40: blob 0 of 100000 bytes runs past the end of the file"},
      {"blob of 2^62 bytes", with_blob(BlobRow(64, 1ull << 62)),
       KpackCode::kIoError, "runs past the end of the file"},
      {"blob that wraps", with_blob(BlobRow(~0ull, 2)), KpackCode::kIoError,
       "runs past the end of the file"},
      {"toc a list", with_toc(mp::Map({{"toc", mp::Array({})}})),
       KpackCode::kMsgpackParseFailed, "'toc' is not a map"},
      {"toc key a number", with_toc("\x81" + mp::Str("toc") + "\x81\x01\x80"),
       KpackCode::kMsgpackParseFailed, "'toc' has a key that is not a string"},
      {"binary a list",
       PlainArchive({"one"}, mp::Map({{"p#0", mp::Array({})}})),
       KpackCode::kMsgpackParseFailed, "'p#0' is not a map"},
      {"row a number", with_row(mp::Int(1)), KpackCode::kMsgpackParseFailed,
       "'p#0' for gfx1100 is not a map"},
      {"no ordinal", with_row(mp::Map({})), KpackCode::kMsgpackParseFailed,
       "'p#0' for gfx1100 has no 'ordinal'"},
      {"ordinal -1", with_row(mp::Map({{"ordinal", "\xff"}})),
       KpackCode::kMsgpackParseFailed, "has no 'ordinal'"},
      {"ordinal out of range", with_row(Row(1, 3)),
       KpackCode::kMsgpackParseFailed, "ordinal 1, but there are 1 blobs"},
      {"metadata a list",
       with_row(
           mp::Map({{"ordinal", mp::Int(0)}, {"metadata", mp::Array({})}})),
       KpackCode::kMsgpackParseFailed, "'metadata' is not a map"},
      {"an entry twice",
       PlainArchive({"one"},
                    mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})},
                             {"p#0", mp::Map({{"gfx1100", Row(0, 3)}})}})),
       KpackCode::kMsgpackParseFailed, "'p#0' has two entries for gfx1100"},
      {"no zstd_size",
       with_toc(Toc(toc, "zstd-per-kernel", {{"zstd_offset", mp::Int(64)}})),
       KpackCode::kMsgpackParseFailed, "no 'zstd_offset' and 'zstd_size'"},
      {"zstd_size past the end", with_zstd(Le(0u), 1 << 20),
       KpackCode::kIoError, "frames of 1048576 bytes run past the end"},
      {"zstd_size 3", with_zstd("abc", 3), KpackCode::kInvalidFormat,
       "frames of 3 bytes, expected 4 to"},
      {"too many frames", with_zstd(Le(0x7fffffffu), 4),
       KpackCode::kInvalidFormat, "2147483647 frames, at most 1048576"},
      {"fewer frames than said", with_zstd(Le(3u) + Le(0u), 8),
       KpackCode::kInvalidFormat, "3 frames, but only 1 are there"},
      {"frame past the end", with_zstd(Le(1u) + Le(9u) + "x", 9),
       KpackCode::kInvalidFormat, "frame 0 of 9 bytes runs past the end"},
      {"zstd without original_size",
       ZstdArchive(
           {Frame("one")},
           mp::Map({{"p#0", mp::Map({{"gfx1100",
                                      mp::Map({{"ordinal", mp::Int(0)}})}})}})),
       KpackCode::kMsgpackParseFailed, "has no 'original_size'"},
      {"original_size no frame can reach",
       ZstdArchive(
           {Frame("one")},
           mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 1ull << 62)}})}})),
       KpackCode::kMsgpackParseFailed, "cannot unpack to 4611686018427387904"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    KpackResult<std::shared_ptr<const Archive>> archive =
        Archive::FromBytes(AsBytes(c.bytes), "t.kpack");
    ASSERT_FALSE(archive.has_value());
    EXPECT_EQ(archive.error().kpack_code, c.code);
    EXPECT_THAT(archive.error().ToString(), HasSubstr(c.message));
  }
}

TEST(Reader, BadFrames) {
  struct {
    const char* what;
    std::string frame;
    std::uint64_t size;
    const char* message;
  } const cases[] = {
      {"no frame at all", "not a frame", 5, "cannot unpack"},
      {"size too small", Frame("hello"), 4, "cannot unpack"},
      {"size too large", Frame("hello"), 6, "unpacked to 5 bytes, expected 6"},
      {"an empty slot", "", 1, "'p#0' for gfx1100: unpacked to 0 bytes"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string bytes = ZstdArchive(
        {c.frame}, mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, c.size)}})}}));
    const std::shared_ptr<const Archive> archive = MustOpen(bytes);
    ASSERT_NE(archive, nullptr);
    EXPECT_THAT(MustRead(*archive, "p#0", "gfx1100"), HasSubstr(c.message));
  }
}

// Any cut of a good archive is an error or a smaller archive, never a crash.
TEST(Reader, EveryPrefix) {
  const std::string toc = mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})}});
  for (const std::string& whole :
       {PlainArchive({"one"}, toc), ZstdArchive({Frame("one")}, toc)}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::string cut = whole.substr(0, size);
      EXPECT_FALSE(Archive::FromBytes(AsBytes(cut), "t").has_value()) << size;
    }
  }
}

TEST(Reader, MissingFile) {
  KpackResult<std::shared_ptr<const Archive>> archive =
      Archive::Open("/nonexistent/x.kpack");
  ASSERT_FALSE(archive.has_value());
  EXPECT_EQ(archive.error().kpack_code, KpackCode::kFileNotFound);
  EXPECT_EQ(archive.error().ToString(),
            "/nonexistent/x.kpack: cannot open: No such file or directory");
  EXPECT_EQ(Archive::Open("/").error().kpack_code, KpackCode::kIoError);
}

}  // namespace
}  // namespace cerberus::kpack
