#include "packager/wheel/wheel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/unit/packager/raw_zip.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::packager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kName[] = "out/x_y-1.0-py3-none-manylinux_2_17_x86_64.whl";
constexpr char kWheel[] =
    "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n"
    "Tag: py3-none-manylinux_2_17_x86_64\n";

// A wheel's entries; RECORD is made to fit.
std::vector<RawEntry> Entries(
    const std::map<std::string, std::string>& changed = {}) {
  std::map<std::string, std::string> files = {
      {"x_y/__init__.py", "import os\n"},
      {"x_y-1.0.data/platlib/x_y/more.py", ""},
      {"x_y-1.0.data/scripts/tool", "#!python\n"},
      {"x_y-1.0.dist-info/METADATA",
       "Metadata-Version: 2.1\nName: X.y\nVersion: 1.0\n"},
      {"x_y-1.0.dist-info/WHEEL", kWheel}};
  for (const auto& [path, text] : changed) files[path] = text;
  std::vector<RawEntry> entries;
  std::vector<RecordLine> lines;
  for (const auto& [path, text] : files) {
    if (text == "(none)") continue;
    if (path == "x_y-1.0.dist-info/RECORD") continue;
    entries.push_back({path, text});
    lines.push_back(
        {path, Sha256::Of(AsBytes(text)), std::to_string(text.size())});
  }
  const auto record = files.find("x_y-1.0.dist-info/RECORD");
  if (record == files.end()) {
    lines.push_back({"x_y-1.0.dist-info/RECORD", "", ""});
    entries.push_back({"x_y-1.0.dist-info/RECORD", FormatRecord(lines)});
  } else if (record->second != "(none)") {
    entries.push_back({record->first, record->second});
  }
  return entries;
}

std::string WhyNot(const std::map<std::string, std::string>& changed,
                   const std::string& name = kName) {
  const std::string bytes = RawZip(Entries(changed));
  const auto wheel = Wheel::FromBytes(AsBytes(bytes), name);
  return wheel ? "" : wheel.error().ToString();
}

TEST(Wheel, IsRead) {
  const std::string bytes = RawZip(Entries());
  const auto wheel = Wheel::FromBytes(AsBytes(bytes), kName);
  ASSERT_TRUE(wheel) << wheel.error().ToString();
  EXPECT_EQ(wheel->metadata().Get("Name"), "X.y");
  EXPECT_EQ(wheel->dist_info(), "x_y-1.0.dist-info");
  EXPECT_THAT(wheel->warnings(), IsEmpty());
  std::vector<std::string> files;
  for (const ZipMember& file : wheel->files()) files.push_back(file.name);
  EXPECT_THAT(files,
              ElementsAre("x_y-1.0.data/platlib/x_y/more.py",
                          "x_y-1.0.data/scripts/tool", "x_y/__init__.py"));
  EXPECT_EQ(wheel->InstalledPath("x_y/__init__.py"), "x_y/__init__.py");
  EXPECT_EQ(wheel->InstalledPath("x_y-1.0.data/platlib/x_y/more.py"),
            "x_y/more.py");
  EXPECT_EQ(wheel->InstalledPath("x_y-1.0.data/scripts/tool"), "");
  WheelName other = wheel->name();
  other.version = "1.0+cerberus";
  EXPECT_EQ(wheel->NewPath("x_y/a", other), "x_y/a");
  EXPECT_EQ(wheel->NewPath("x_y-1.0.dist-info/LICENSE", other),
            "x_y-1.0+cerberus.dist-info/LICENSE");
  EXPECT_EQ(wheel->NewPath("x_y-1.0.data/scripts/tool", other),
            "x_y-1.0+cerberus.data/scripts/tool");
}

TEST(Wheel, HoldsFilesAgainstRecord) {
  const std::string init = "x_y/__init__.py";
  const auto read = [&](const std::string& line) {
    const std::string bytes =
        RawZip(Entries({{"x_y-1.0.dist-info/RECORD", line + "\ngone.py,,\n"}}));
    const auto wheel = Wheel::FromBytes(AsBytes(bytes), kName);
    if (!wheel) return wheel.error().ToString();
    std::string all;
    for (const Diag& warning : wheel->warnings()) {
      all += warning.ToString() + "\n";
    }
    EXPECT_THAT(all, HasSubstr("gone.py: is in RECORD and not in the wheel"));
    EXPECT_THAT(all, HasSubstr("tool: is in the wheel and not in RECORD"));
    const auto hash = wheel->Read(*wheel->zip().Find(init),
                                  [](ByteSpan) -> Status { return {}; });
    return hash ? *hash : hash.error().ToString();
  };
  const std::string right = Sha256::Of(AsBytes("import os\n"));
  EXPECT_EQ(read(init + "," + right + ",10"), right);
  EXPECT_EQ(read(init + "," + right + "=,"), right);  // padded
  EXPECT_EQ(read(init + ",sha384=abc,10"), right);
  EXPECT_THAT(read(init + "," + right + ",11"),
              HasSubstr("__init__.py: has 10 bytes, RECORD says 11"));
  EXPECT_THAT(read(init + ",sha256=abc,10"),
              HasSubstr("has " + right + ", RECORD says sha256=abc"));
  EXPECT_THAT(read("x_y-1.0.dist-info/WHEEL,sha256=abc,"),
              HasSubstr("WHEEL: has sha256="));
}

TEST(Wheel, RefusesWhatIsNone) {
  EXPECT_THAT(WhyNot({}, "x_y-1.0.whl"), HasSubstr("not the name of a wheel"));
  EXPECT_THAT(WhyNot({{"x_y-1.0.dist-info/METADATA", "(none)"}}),
              HasSubstr("has no file 'x_y-1.0.dist-info/METADATA'"));
  EXPECT_THAT(WhyNot({{"x_y-1.0.dist-info/RECORD", "(none)"}}),
              HasSubstr("has no file 'x_y-1.0.dist-info/RECORD'"));
  EXPECT_THAT(WhyNot({{"y-2.dist-info/METADATA", ""}}),
              HasSubstr("has 2 folders *.dist-info"));
  EXPECT_THAT(WhyNot({{"z-1.data/scripts/a", ""}}),
              HasSubstr("has two folders *.data"));
  EXPECT_THAT(
      WhyNot({{"x_y-1.0.dist-info/METADATA", "Name: z\nVersion: 1.0\n"}}),
      HasSubstr("says Name: 'z', the file name says 'x_y'"));
  EXPECT_THAT(
      WhyNot({{"x_y-1.0.dist-info/METADATA", "Name: X.Y\nVersion: 2\n"}}),
      HasSubstr("says Version: '2'"));
  EXPECT_THAT(WhyNot({{"x_y-1.0.dist-info/WHEEL", "Wheel-Version: 2.0\n"}}),
              HasSubstr("expected 1.x"));
  EXPECT_THAT(WhyNot({}, "z-1.0-py3-none-any.whl"),
              HasSubstr("has the folder 'x_y-1.0.dist-info'"));
}

TEST(Wheel, WritesARecordThatReadsBack) {
  TempFolder folder;
  const std::string bytes = RawZip(Entries());
  const auto wheel = Wheel::FromBytes(AsBytes(bytes), kName);
  ASSERT_TRUE(wheel);
  WheelName name = wheel->name();
  name.version = "1.0+cerberus";
  auto writer = WheelWriter::Create(folder.path(), name);
  ASSERT_TRUE(writer) << writer.error().ToString();
  for (const ZipMember& member : wheel->files()) {
    const auto hash =
        wheel->Read(member, [](ByteSpan) -> Status { return {}; });
    ASSERT_TRUE(hash);
    ASSERT_TRUE(
        writer->Copy(*wheel, member, wheel->NewPath(member.name, name), *hash));
  }
  CoreMetadata metadata = wheel->metadata();
  metadata.Set("Version", name.version);
  ASSERT_TRUE(writer->Add("x_y/a,b.so", AsBytes("ELF"), 0755));
  ASSERT_TRUE(
      writer->AddText(writer->dist_info() + "/METADATA", metadata.ToString()));
  ASSERT_TRUE(writer->AddText(writer->dist_info() + "/WHEEL", kWheel));
  ASSERT_TRUE(writer->Finish());
  ASSERT_TRUE(writer->Commit());
  const auto back = Wheel::Open(folder.path() + "/" + name.ToString());
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_THAT(back->warnings(), IsEmpty());
  EXPECT_EQ(back->files().size(), 4u);
  for (const ZipMember& member : back->files()) {
    EXPECT_TRUE(back->Read(member, [](ByteSpan) -> Status { return {}; }));
  }
  EXPECT_EQ(back->zip().Find("x_y/a,b.so")->mode, 0755u);
}

}  // namespace
}  // namespace cerberus::packager
