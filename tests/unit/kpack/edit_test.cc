#include "kpack/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <iterator>
#include <string>

#include "kpack/check.h"
#include "kpack/diff.h"
#include "tests/unit/kpack/archive_builder.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::kpack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ArchivePtr MustOpen(const std::string& bytes,
                    const std::string& name = "t.kpack") {
  static std::deque<std::string> kept;  // an archive refers to its bytes
  kept.push_back(bytes);
  auto archive = Archive::FromBytes(AsBytes(kept.back()), name);
  EXPECT_TRUE(archive.has_value()) << archive.error().ToString();
  return *archive;
}

// Metadata of each kind that MessagePack has, as another tool may write it.
std::string AnyMetadata() {
  return mp::Map({{"nil", "\xc0"},
                  {"yes", "\xc3"},
                  {"no", "\xc2"},
                  {"float", "\xcb" + mp::Big(0x3ff8000000000000, 8)},
                  {"minus", "\xff"},
                  {"binary", std::string("\xc4\x02\x00\x01", 4)},
                  {"extension", std::string("\xd5\x07", 2) + "xy"},
                  {"list", mp::Array({mp::Int(300), mp::Str("text")})},
                  {"map", mp::Map({{"k", mp::Map({{"v", mp::Int(1)}})}})}});
}

std::string RowWith(const std::string& metadata, std::uint64_t ordinal,
                    std::uint64_t size) {
  return mp::Map({{"type", mp::Str("hsaco")},
                  {"ordinal", mp::Int(ordinal)},
                  {"original_size", mp::Int(size)},
                  {"metadata", metadata}});
}

std::string Written(const Selection& selection, const EditOptions& options) {
  const TempFolder folder;
  const std::string path = folder.path() + "/out.kpack";
  const auto done = WriteArchive(selection, options, path);
  EXPECT_TRUE(done.has_value()) << done.error().ToString();
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST(Edit, MetadataOfOtherToolsStaysAsItIs) {
  const ArchivePtr from = MustOpen(PlainArchive(
      {"one"},
      mp::Map(
          {{"p#0", mp::Map({{"gfx1100", RowWith(AnyMetadata(), 0, 3)}})}})));
  const std::string bytes = Written(SelectAll(from), {.group_name = "group"});
  for (const char* piece : {"\xa3nil\xc0", "\xa3yes\xc3", "\xa5minus\xff",
                            "\xa9"
                            "extension\xd5\x07xy"}) {
    EXPECT_THAT(bytes, HasSubstr(piece));
  }
  const ArchivePtr to = MustOpen(bytes);
  const auto diff = Diff(*from, *to);
  ASSERT_TRUE(diff.has_value()) << diff.error().ToString();
  EXPECT_TRUE(diff->empty());
  EXPECT_EQ(diff->same, 1u);
}

TEST(Edit, FramesStayWhereTheyMay) {
  // Two frames in one slot: nothing that our writer makes.
  const std::string frames = Frame("on") + Frame("e");
  const ArchivePtr from = MustOpen(ZstdArchive(
      {frames}, mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})}})));
  EXPECT_THAT(Written(SelectAll(from), {.group_name = "g"}), HasSubstr(frames));
  EXPECT_THAT(Written(SelectAll(from), {.group_name = "g", .level = 3}),
              testing::Not(HasSubstr(frames)));
}

TEST(Edit, EntriesOfOneBlobStayTogether) {
  const ArchivePtr from = MustOpen(PlainArchive(
      {"one", "two"}, mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})},
                               {"p#1", mp::Map({{"gfx1100", Row(1, 3)}})},
                               {"q#0", mp::Map({{"gfx1100", Row(0, 3)}})}})));
  const Selection kept = KeepBlobs(
      SelectAll(from),
      [](const Selection::Row& row) { return row.entry->key == "p#0"; });
  ASSERT_EQ(kept.rows.size(), 2u);
  EXPECT_EQ(kept.rows[1].entry->key, "q#0");
  const ArchivePtr to = MustOpen(Written(kept, {.group_name = "g"}));
  EXPECT_EQ(to->blob_count(), 1u);
}

TEST(Edit, ATargetStandsForItsFeatures) {
  const ArchivePtr from = MustOpen(PlainArchive(
      {"one"}, mp::Map({{"p#0", mp::Map({{"gfx90a", Row(0, 3)},
                                         {"gfx90a:xnack+", Row(0, 3)},
                                         {"gfx90a:xnack-", Row(0, 3)},
                                         {"gfx908", Row(0, 3)}})}})));
  const Selection all = SelectAll(from);
  EXPECT_EQ(KeepArches(all, {"gfx90a"}).rows.size(), 3u);
  EXPECT_EQ(KeepArches(all, {"gfx90a:xnack-", "gfx908"}).rows.size(), 2u);
  EXPECT_EQ(KeepArches(all, {"gfx9"}).rows.size(), 0u);
}

TEST(Edit, MergeSaysWhatDiffers) {
  const auto archive = [](const std::string& blob, const std::string& metadata,
                          const char* name) {
    return MustOpen(
        PlainArchive(
            {blob},
            mp::Map(
                {{"p#0", mp::Map({{"gfx1100", RowWith(metadata, 0, 3)}})}})),
        name);
  };
  const std::string none = mp::Map({});
  const ArchivePtr a = archive("one", none, "a.kpack");
  EXPECT_TRUE(Merge({a, archive("one", none, "b.kpack")}).has_value());
  const auto bytes = Merge({a, archive("two", none, "b.kpack")});
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().ToString(),
            "b.kpack: 'p#0' for gfx1100: other bytes than in a.kpack");
  const auto metadata =
      Merge({a, archive("one", mp::Map({{"k", mp::Int(1)}}), "b.kpack")});
  ASSERT_FALSE(metadata.has_value());
  EXPECT_THAT(metadata.error().ToString(), HasSubstr("other metadata than in"));
}

TEST(Edit, WhatCannotBeReadIsAnError) {
  const TempFolder folder;
  const ArchivePtr from = MustOpen(ZstdArchive(
      {"no frame"}, mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})}})));
  const std::string path = folder.path() + "/out.kpack";
  const auto done = WriteArchive(SelectAll(from), {.group_name = "g"}, path);
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().ToString(), HasSubstr("'p#0' for gfx1100: cannot"));
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST(Edit, FamilyOfTargets) {
  EXPECT_EQ(FamilyOf({"gfx1100"}), "gfx1100");
  EXPECT_EQ(FamilyOf({"gfx1100", "gfx1102"}), "gfx110X");
  EXPECT_EQ(FamilyOf({"gfx1100", "gfx942", "ptx"}), "gfxX");
  EXPECT_EQ(FamilyOf({"ptx"}), "ptx");
  EXPECT_EQ(FamilyOf({}), "");
}

TEST(Check, FindsAllThatIsWrong) {
  const std::string ptx = ".version 7.0\n";
  const std::string said = mp::Map({{"content_key", mp::Str("ptx:00")}});
  const std::string row = mp::Map({{"type", mp::Str("ptx")},
                                   {"ordinal", mp::Int(2)},
                                   {"original_size", mp::Int(ptx.size())},
                                   {"metadata", said}});
  const ArchivePtr archive =
      MustOpen(ZstdArchive({"bad", Frame("two"), Frame(ptx)},
                           mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})},
                                    {"p#1", mp::Map({{"gfx1100", Row(1, 3)}})},
                                    {"p#2", mp::Map({{"gfx1100", Row(1, 4)}})},
                                    {"p#3", mp::Map({{"ptx", row}})}})));
  std::vector<std::string> wrong;
  for (const Diag& diag : CheckArchive(*archive)) {
    wrong.push_back(diag.ToString());
  }
  EXPECT_THAT(
      wrong, ElementsAre(HasSubstr("'p#0' for gfx1100: cannot unpack"),
                         HasSubstr("'p#2' for gfx1100: unpacked to 3 bytes"),
                         HasSubstr("'p#3' for ptx: the PTX is that of 'ptx:")));
}

}  // namespace
}  // namespace cerberus::kpack
