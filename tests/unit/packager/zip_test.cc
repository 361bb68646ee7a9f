#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "packager/wheel/zip_reader.h"
#include "packager/wheel/zip_writer.h"
#include "tests/unit/packager/raw_zip.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::packager {
namespace {

using ::testing::HasSubstr;

// What is wrong with the archive, or with a file in it; "" if nothing.
std::string WhyNot(const std::vector<RawEntry>& entries) {
  const std::string bytes = RawZip(entries);
  const auto zip = ZipReader::FromBytes(AsBytes(bytes), "x.zip");
  if (!zip) return zip.error().ToString();
  for (const ZipMember& member : zip->members()) {
    const auto read = zip->ReadAll(member);
    if (!read) return read.error().ToString();
  }
  return "";
}

TEST(ZipReader, ReadsFilesAndLinks) {
  const std::string bytes = RawZip({{"a/", "", 040755},
                                    {"a/tool", "run", 0100755},
                                    {"a/b/c.txt", "hello", 0100644},
                                    {"a/b/link", "../tool", 0120777},
                                    {"from-dos", "x", 0}});
  const auto zip = ZipReader::FromBytes(AsBytes(bytes), "x.zip");
  ASSERT_TRUE(zip) << zip.error().ToString();
  ASSERT_EQ(zip->members().size(), 4u);
  const ZipMember* tool = zip->Find("a/tool");
  ASSERT_NE(tool, nullptr);
  EXPECT_EQ(tool->mode, 0755u);
  EXPECT_EQ(AsText(zip->ReadAll(*tool).value()), "run");
  EXPECT_TRUE(zip->Find("a/b/link")->is_link);
  EXPECT_EQ(zip->Find("from-dos")->mode, 0644u);
  EXPECT_EQ(zip->Find("a"), nullptr);
}

TEST(ZipReader, RefusesNamesThatLeaveTheFolder) {
  EXPECT_THAT(WhyNot({{"/etc/passwd", ""}}), HasSubstr("absolute path"));
  EXPECT_THAT(WhyNot({{"a/../../b", ""}}), HasSubstr("'..' in its path"));
  EXPECT_THAT(WhyNot({{"../b/", "", 040755}}), HasSubstr("'..' in its path"));
  EXPECT_THAT(WhyNot({{"..", ""}}), HasSubstr("'..' in its path"));
  EXPECT_THAT(WhyNot({{"a/./b", ""}}), HasSubstr("'.' in its path"));
  EXPECT_THAT(WhyNot({{"a//b", ""}}), HasSubstr("empty part"));
  EXPECT_THAT(WhyNot({{"a\\..\\b", ""}}), HasSubstr("backslash"));
  EXPECT_THAT(WhyNot({{"a\x1b[2J", ""}}),
              HasSubstr("x.zip/a\\x1b[2J: has a control character"));
  EXPECT_THAT(WhyNot({{"a\xff", ""}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(WhyNot({{"a\xc0\xaf", ""}}), HasSubstr("not UTF-8"));
  EXPECT_EQ(WhyNot({{"\xc3\xa4/..b/c..", ""}}), "");
}

TEST(ZipReader, RefusesLinksThatLeaveTheFolder) {
  EXPECT_EQ(WhyNot({{"a/b", "../c", 0120777}}), "");
  EXPECT_THAT(WhyNot({{"a/b", "../../c", 0120777}}), HasSubstr("outside"));
  EXPECT_THAT(WhyNot({{"a/b", "c/../../../d", 0120777}}), HasSubstr("outside"));
  EXPECT_THAT(WhyNot({{"a", "/etc/passwd", 0120777}}), HasSubstr("outside"));
  EXPECT_THAT(WhyNot({{"a", "", 0120777}}), HasSubstr("outside"));
  EXPECT_THAT(WhyNot({{"a", std::string(5000, 'x'), 0120777}}),
              HasSubstr("at most 4096"));
  EXPECT_THAT(WhyNot({{"a", "/etc", 0120777, 0, 0, -1, -1, 0}}),
              HasSubstr("outside"));  // as if made on DOS
  // Through other links.
  EXPECT_THAT(WhyNot({{"t/a", "..", 0120777}, {"t/b", "a/..", 0120777}}),
              HasSubstr("t/b: is a link to 'a/..', outside"));
  EXPECT_EQ(WhyNot({{"t/a", "..", 0120777}, {"t/b", "a/t/..", 0120777}}), "");
  EXPECT_EQ(WhyNot({{"a", "b", 0120777}, {"b", "a", 0120777}}), "");
  // A file behind a link would be written where the link leads.
  EXPECT_THAT(WhyNot({{"a", ".", 0120777}, {"a/b", "x"}}),
              HasSubstr("which is no folder"));
}

TEST(ZipReader, RefusesWhatIsThereTwice) {
  EXPECT_THAT(WhyNot({{"a", "x"}, {"a", "y"}}),
              HasSubstr("a file is there twice"));
  EXPECT_THAT(WhyNot({{"a/b", "x"}, {"a", "y"}}),
              HasSubstr("which is no folder"));
}

TEST(ZipReader, RefusesDevicesAndPipes) {
  EXPECT_THAT(WhyNot({{"a", "", 0010644}}), HasSubstr("mode 10644"));
  EXPECT_THAT(WhyNot({{"a", "", 0020644}}), HasSubstr("mode 20644"));
  EXPECT_THAT(WhyNot({{"a", "", 0040755}}), HasSubstr("mode 40755"));
  const std::string bytes = RawZip({{"a", "", 0104755}});
  const auto zip = ZipReader::FromBytes(AsBytes(bytes), "x.zip");
  ASSERT_TRUE(zip);
  EXPECT_EQ(zip->members()[0].mode, 0755u);  // no set-user-id
}

TEST(ZipReader, RefusesLies) {
  EXPECT_THAT(WhyNot({{"a", "hello", 0100644, 0, 0, 6}}),
              HasSubstr("says that 5 bytes unpack to 6"));
  EXPECT_THAT(WhyNot({{"a", "hello", 0100644, 8, 0, 1 << 30}}),
              HasSubstr("says that 5 bytes unpack to 1073741824"));
  EXPECT_THAT(WhyNot({{"a", "hello", 0100644, 0, 0, -1, 1}}),
              HasSubstr("x.zip/a: cannot be unpacked: CRC"));
  // Deflate: a stored block of three bytes.
  const std::string block(
      "\x01\x03\x00\xfc\xff"
      "abc",
      8);
  const auto crc = static_cast<std::int64_t>(Crc32("abc"));
  EXPECT_EQ(WhyNot({{"a", block, 0100644, 8, 0, 3, crc}}), "");
  EXPECT_THAT(WhyNot({{"a", block, 0100644, 8, 0, 2, crc}}),
              HasSubstr("x.zip/a: "));
  EXPECT_THAT(WhyNot({{"a", block, 0100644, 8, 0, 4, crc}}),
              HasSubstr("x.zip/a: "));
  EXPECT_THAT(WhyNot({{"a", "x", 0100644, 12}}), HasSubstr("by method 12"));
  EXPECT_THAT(WhyNot({{"a", "x", 0100644, 0, 1}}), HasSubstr("encrypted"));
}

// 300 MB of zeros in 300 KB: no wheel is like that.
TEST(ZipReader, RefusesBombs) {
  TempFolder folder;
  const std::string path = folder.path() + "/x.zip";
  const Bytes zeros(300 << 20);
  auto zip = ZipWriter::Create(path);
  ASSERT_TRUE(zip);
  ASSERT_TRUE(zip->Add("a", zeros, 0644, true));
  ASSERT_TRUE(zip->Finish());
  ASSERT_TRUE(zip->Commit());
  const auto bomb = ZipReader::Open(path);
  ASSERT_FALSE(bomb);
  EXPECT_THAT(bomb.error().message, HasSubstr("expected at most 200 times"));
}

TEST(ZipReader, RefusesEntriesThatShareBytes) {
  std::string bytes = RawZip({{"a", std::string(400, 'x')},
                              {"b", std::string(400, 'x')},
                              {"c", std::string(400, 'x')}});
  // Cut b and c out and let their directory entries lead to a's bytes.
  const std::size_t one = 30 + 1 + 400;
  for (const char name : {'b', 'c'}) bytes[bytes.rfind(name)] = 'a';
  std::string shared = bytes.substr(0, one) + bytes.substr(3 * one);
  std::size_t at = one;
  for (int i = 0; i < 3; ++i, at += 46 + 1) {
    for (int k = 42; k < 46; ++k) shared[at + k] = 0;
    shared[at + 46] = static_cast<char>('a' + i);
  }
  for (int k = 0; k < 4; ++k) {
    shared[at + 16 + k] = static_cast<char>(one >> (8 * k));
  }
  EXPECT_FALSE(ZipReader::FromBytes(AsBytes(shared), "x.zip"));
}

TEST(ZipReader, RefusesWhatIsCutOrNoZip) {
  const std::string bytes = RawZip({{"a", "hello"}, {"b", "world"}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(
        ZipReader::FromBytes(AsBytes(bytes).first(size), "x.zip").has_value())
        << size;
  }
  const auto missing = ZipReader::Open("/no/such.zip");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().ToString(), HasSubstr("cannot open"));
}

Bytes FileBytes(const std::string& path) {
  const auto file = MappedFile::Open(path);
  return file ? Bytes(file->bytes().begin(), file->bytes().end()) : Bytes();
}

void WriteZip(const std::string& path, const ZipReader* from) {
  static const std::string text(100000, 'x');
  auto zip = ZipWriter::Create(path);
  ASSERT_TRUE(zip) << zip.error().ToString();
  ASSERT_TRUE(zip->Add("b/tool", AsBytes(text), 0755, true));
  ASSERT_TRUE(zip->Add("a.bin", AsBytes("\1\2\3"), 0600, false));
  if (from != nullptr) {
    for (const ZipMember& member : from->members()) {
      ASSERT_TRUE(zip->Copy(*from, member, "copy/" + member.name));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(zip->Finish());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(zip->Commit());
}

TEST(ZipWriter, WritesTheSameBytesEverywhere) {
  TempFolder folder;
  ::setenv("TZ", "Pacific/Auckland", 1);
  WriteZip(folder.path() + "/1.zip", nullptr);
  ::setenv("TZ", "UTC", 1);
  WriteZip(folder.path() + "/2.zip", nullptr);
  const Bytes first = FileBytes(folder.path() + "/1.zip");
  EXPECT_EQ(first, FileBytes(folder.path() + "/2.zip"));
  ::setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
  WriteZip(folder.path() + "/3.zip", nullptr);
  ::unsetenv("SOURCE_DATE_EPOCH");
  const Bytes later = FileBytes(folder.path() + "/3.zip");
  EXPECT_NE(first, later);
  // 2023-11-14 22:13:20 in UTC, in the first local header.
  EXPECT_EQ(LoadLe<std::uint16_t>(later.data() + 10), 22 << 11 | 13 << 5 | 10);
  EXPECT_EQ(LoadLe<std::uint16_t>(later.data() + 12), 43 << 9 | 11 << 5 | 14);
  EXPECT_EQ(LoadLe<std::uint16_t>(first.data() + 12), 1 << 5 | 1);
}

TEST(ZipWriter, CopiesWithModesAndLinks) {
  TempFolder folder;
  const std::string bytes =
      RawZip({{"a/t", "run", 0100755}, {"a/l", "t", 0120777}});
  const auto from = ZipReader::FromBytes(AsBytes(bytes), "x.zip");
  ASSERT_TRUE(from);
  const std::string path = folder.path() + "/x.zip";
  WriteZip(path, &*from);
  const auto zip = ZipReader::Open(path);
  ASSERT_TRUE(zip) << zip.error().ToString();
  std::vector<std::string> names;
  for (const ZipMember& member : zip->members()) names.push_back(member.name);
  EXPECT_THAT(
      names, ::testing::ElementsAre("b/tool", "a.bin", "copy/a/t", "copy/a/l"));
  EXPECT_EQ(zip->Find("b/tool")->mode, 0755u);
  EXPECT_LT(zip->Find("b/tool")->stored_size, 1000u);
  EXPECT_EQ(zip->Find("a.bin")->mode, 0600u);
  EXPECT_EQ(zip->Find("copy/a/t")->mode, 0755u);
  EXPECT_TRUE(zip->Find("copy/a/l")->is_link);
  EXPECT_EQ(AsText(zip->ReadAll(*zip->Find("copy/a/t")).value()), "run");
  EXPECT_EQ(AsText(zip->ReadAll(*zip->Find("copy/a/l")).value()), "t");
  EXPECT_EQ(zip->ReadAll(*zip->Find("b/tool"))->size(), 100000u);
}

TEST(ZipWriter, CopiesCompressedBytesAsTheyAre) {
  TempFolder folder;
  // "abc" as a stored block: no compressor would write that.
  const std::string block(
      "\x01\x03\x00\xfc\xff"
      "abc",
      8);
  const std::string bytes = RawZip({{"a", block, 0100644, 8, 0, 3,
                                     static_cast<std::int64_t>(Crc32("abc"))}});
  const auto from = ZipReader::FromBytes(AsBytes(bytes), "x.zip");
  ASSERT_TRUE(from) << from.error().ToString();
  const std::string path = folder.path() + "/x.zip";
  WriteZip(path, &*from);
  const Bytes written = FileBytes(path);
  EXPECT_THAT(std::string(AsText(written)), HasSubstr(block));
  const auto zip = ZipReader::Open(path);
  ASSERT_TRUE(zip);
  EXPECT_EQ(AsText(zip->ReadAll(*zip->Find("copy/a")).value()), "abc");
}

TEST(ZipWriter, LeavesNothingWhenItIsCancelled) {
  TempFolder folder;
  auto zip = ZipWriter::Create(folder.path() + "/x.zip");
  ASSERT_TRUE(zip);
  const Bytes zeros(8 << 20);
  ASSERT_TRUE(zip->Add("a", zeros, 0644, true));
  EXPECT_FALSE(zip->Finish([] { return true; }));
  zip = Err(DiagCode::kUnknown, "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// A hundred thousand files: more than the directory of a plain zip counts.
TEST(ZipWriter, GoesOnWithZip64) {
  TempFolder folder;
  const std::string path = folder.path() + "/x.zip";
  auto zip = ZipWriter::Create(path);
  ASSERT_TRUE(zip);
  for (int i = 0; i < 70000; ++i) {
    ASSERT_TRUE(zip->Add(std::to_string(i), AsBytes("x"), 0644, false));
  }
  ASSERT_TRUE(zip->Finish());
  ASSERT_TRUE(zip->Commit());
  const auto back = ZipReader::Open(path);
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(back->members().size(), 70000u);
}

}  // namespace
}  // namespace cerberus::packager
