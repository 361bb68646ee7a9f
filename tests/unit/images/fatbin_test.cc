#include "images/fatbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rewriter/fatbin_builder.h"

namespace cerberus::images {
namespace {

using rewriter::testing::EntrySpec;
using rewriter::testing::FatbinOf;
using rewriter::testing::kPtx;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Fatbin, ReadsEntriesOfEveryPacking) {
  const Bytes bytes = FatbinOf({{.packing = 'n'},
                                {.sm = 80, .packing = 'l'},
                                {.sm = 90, .packing = 'z'}});
  const auto fatbin = ParseFatbin(bytes);
  ASSERT_TRUE(fatbin) << fatbin.error().ToString();
  ASSERT_EQ(fatbin->entries.size(), 3u);
  const Compression packing[] = {Compression::kNone, Compression::kLz4,
                                 Compression::kZstd};
  const std::uint32_t sm[] = {75, 80, 90};
  for (std::size_t i = 0; i < 3; ++i) {
    const FatbinEntry& entry = fatbin->entries[i];
    EXPECT_EQ(entry.compression(), packing[i]);
    EXPECT_EQ(entry.sm, sm[i]);
    EXPECT_TRUE(entry.is_ptx());
    EXPECT_TRUE(entry.is_64bit());
    EXPECT_EQ(entry.format_major, 8);
    EXPECT_EQ(entry.format_minor, 3);
    const auto text = UnpackPtx(entry);
    ASSERT_TRUE(text) << text.error().ToString();
    EXPECT_EQ(*text, kPtx);
  }
}

TEST(Fatbin, IgnoresWhatFollowsIt) {
  Bytes bytes = FatbinOf({{}});
  const std::size_t size = bytes.size();
  bytes.resize(size + 100, 0xff);
  const auto fatbin = ParseFatbin(bytes);
  ASSERT_TRUE(fatbin);
  EXPECT_EQ(fatbin->bytes.size(), size);
  EXPECT_EQ(fatbin->entries.size(), 1u);
}

TEST(Fatbin, EmptyContainerHasNoEntries) {
  const auto fatbin = ParseFatbin(FatbinOf({}));
  ASSERT_TRUE(fatbin);
  EXPECT_TRUE(fatbin->entries.empty());
}

TEST(Fatbin, NamesArchitecturesAsNvccDoes) {
  struct Row {
    std::uint16_t kind;
    std::uint32_t sm;
    std::uint64_t flags;
    const char* name;
  } const rows[] = {
      {1, 75, 0x11, "compute_75"},   {2, 75, 0x11, "sm_75"},
      {2, 90, 0x100011, "sm_90a"},   {1, 100, 0x100011, "compute_100a"},
      {2, 100, 0x200011, "sm_100f"}, {8, 70, 0x10011, "compute_70"},
  };
  for (const Row& row : rows) {
    const Bytes bytes =
        FatbinOf({{.kind = row.kind, .sm = row.sm, .flags = row.flags}});
    const auto fatbin = ParseFatbin(bytes);
    ASSERT_TRUE(fatbin);
    EXPECT_EQ(fatbin->entries[0].ArchName(), row.name);
  }
}

TEST(Fatbin, KeepsKindsItDoesNotKnow) {
  const Bytes bytes = FatbinOf({{.kind = 5}});
  const auto fatbin = ParseFatbin(bytes);
  ASSERT_TRUE(fatbin);
  EXPECT_EQ(KindName(fatbin->entries[0].kind), "kind 5");
  EXPECT_FALSE(UnpackPtx(fatbin->entries[0]));
}

TEST(Fatbin, ReadsFlagsAndSourceName) {
  const Bytes bytes = FatbinOf({{.flags = 0x13, .name = "va.cu "}});
  const auto fatbin = ParseFatbin(bytes);
  ASSERT_TRUE(fatbin) << fatbin.error().ToString();
  EXPECT_TRUE(fatbin->entries[0].is_debug());
  EXPECT_EQ(fatbin->entries[0].source_name, "va.cu");
}

// One field of a good fatbin is changed; the message says which.
TEST(Fatbin, RefusesSizesThatLie) {
  struct Row {
    std::size_t at;
    std::uint64_t value;
    int bytes;
    const char* message;
  } const rows[] = {
      {0, 0x12345678, 4, "bad fatbin magic 0x12345678"},
      {4, 2, 2, "fatbin version 2"},
      {6, 24, 2, "header of 24 bytes"},
      {8, 1 << 20, 8, "fatbin size 1048576 runs past"},
      {8, ~0ull, 8, "runs past the end"},
      {8, 100, 8, "runs past the fatbin end"},
      {8, 40, 8, "an entry header takes 64"},
      {16 + 4, 0, 4, "entry header size 0"},
      {16 + 4, 63, 4, "entry header size 63"},
      {16 + 4, 0xffffffff, 4, "entry header size 4294967295"},
      {16 + 8, 1 << 20, 8, "entry size 1048576 runs past"},
      {16 + 8, ~0ull, 8, "runs past the fatbin end"},
      {16 + 16, 1 << 20, 4, "packed size 1048576 is larger"},
      {16 + 32, 1000, 4, "name at 0x3e8"},
      {16 + 36, 1000, 4, "name at 0x40+1000"},
      {16 + 40, 0xa011, 8, "both LZ4 and zstd"},
      {16 + 56, ~0ull, 8, "above the limit"},
      {16 + 56, (1ull << 30) + 1, 8, "above the limit"},
  };
  for (const Row& row : rows) {
    Bytes bytes = FatbinOf({{.packing = 'z', .name = "a.cu"}});
    std::memcpy(bytes.data() + row.at, &row.value,
                static_cast<std::size_t>(row.bytes));
    const auto fatbin = ParseFatbin(bytes, "sec", 0x100);
    ASSERT_FALSE(fatbin) << row.message;
    EXPECT_THAT(fatbin.error().ToString(), HasSubstr(row.message));
    EXPECT_THAT(fatbin.error().ToString(), HasSubstr("sec+0x1"));
  }
}

TEST(Fatbin, RefusesEveryTruncation) {
  const Bytes bytes = FatbinOf({{.packing = 'l'}, {.packing = 'z'}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseFatbin(ByteSpan(bytes).first(size))) << size;
  }
}

TEST(Fatbin, RefusesBrokenStreams) {
  for (const char packing : {'l', 'z'}) {
    // Too small, too large, and off by one.
    for (const std::uint64_t declared :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{sizeof kPtx - 1},
          std::uint64_t{sizeof kPtx + 1}, std::uint64_t{1} << 29}) {
      Bytes bytes = FatbinOf({{.packing = packing}});
      StoreLe<std::uint64_t>(bytes.data() + 16 + 56, declared);
      const auto fatbin = ParseFatbin(bytes);
      ASSERT_TRUE(fatbin);
      EXPECT_FALSE(Unpack(fatbin->entries[0])) << packing << declared;
    }
    Bytes bytes = FatbinOf({{.packing = packing}});
    StoreLe<std::uint64_t>(bytes.data() + 16 + 64, ~0ull);
    const auto fatbin = ParseFatbin(bytes);
    ASSERT_TRUE(fatbin);
    EXPECT_FALSE(Unpack(fatbin->entries[0])) << packing;
  }
}

TEST(Fatbin, UnpacksZstdWithoutContentSize) {
  // A streaming compressor does not know the size when it writes the header.
  const std::string content(100000, 'x');
  Bytes packed(ZSTD_compressBound(content.size()));
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  ZSTD_inBuffer in{content.data(), content.size(), 0};
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  ASSERT_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0u);
  ZSTD_freeCCtx(context);
  FatbinEntry entry{};
  entry.kind = EntryKind::kPtx;
  entry.flags = kFlagZstd;
  entry.payload = ByteSpan(packed).first(out.pos);
  entry.unpacked_size = content.size();
  const auto text = UnpackPtx(entry);
  ASSERT_TRUE(text) << text.error().ToString();
  EXPECT_EQ(*text, content);
  entry.unpacked_size = content.size() - 1;
  EXPECT_FALSE(Unpack(entry));
  entry.unpacked_size = content.size() + 1;
  EXPECT_FALSE(Unpack(entry));
}

TEST(Fatbin, PtxWithNulInsideIsRefused) {
  const Bytes bytes = FatbinOf({{.content = std::string("a\0b", 3)}});
  const auto fatbin = ParseFatbin(bytes);
  ASSERT_TRUE(fatbin);
  const auto text = UnpackPtx(fatbin->entries[0]);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("NUL at offset 1"));
}

TEST(Fatbin, ListsKernelsOfPtx) {
  const auto names_in = [](const std::string& text) {
    const Bytes bytes = FatbinOf({{.content = text}});
    const auto fatbin = ParseFatbin(bytes);
    auto names = KernelNames(fatbin->entries[0]);
    return names ? *names : std::vector<std::string>{names.error().message};
  };
  EXPECT_THAT(names_in(kPtx), ElementsAre("k1", "k2"));
  EXPECT_THAT(names_in(".visible .entry\n_Z3addPKf\n(\n.param"),
              ElementsAre("_Z3addPKf"));
  EXPECT_THAT(names_in("// .entry no\n/* .entry no */.entry yes()"),
              ElementsAre("yes"));
  EXPECT_THAT(names_in(".file 1 \".entry no\"\n.weak .entry $y_1()"),
              ElementsAre("$y_1"));
  EXPECT_THAT(names_in(".entry a(.param .u64 p);\n.entry b();\n"
                       ".entry a(.param .u64 p)\n{\nret;\n}"),
              ElementsAre("a", "b"));
  EXPECT_THAT(names_in(".func f(){}.entryx g"), ElementsAre());
  EXPECT_THAT(names_in(".entry"), ElementsAre());
  EXPECT_THAT(names_in("/* open .entry no"), ElementsAre());
}

}  // namespace
}  // namespace cerberus::images
