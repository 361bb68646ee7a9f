#include "packager/tree/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "packager/wheel/record.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::packager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = TreeEntry::Kind;

std::string HashOf(const std::string& text) {
  Sha256 hash;
  hash.Update(AsBytes(text));
  return hash.Hex();
}

Manifest Example() {
  Manifest manifest;
  manifest.group = "an app";
  manifest.part = kHostPart;
  manifest.entries = {
      {"b\xe4\n#\\", Kind::kFile, 0644, 4, HashOf("text"), "", "copied"},
      {"", Kind::kFolder, 0755, 0, "", "", ""},
      {"link", Kind::kLink, 0, 0, "", "../else where", "copied"},
  };
  return manifest;
}

TEST(Manifest, IsMtree) {
  const std::string text = FormatManifest(Example());
  const std::string lines =
      "#mtree\n"
      "# cerberus tree 1 group=an\\040app part=host\n"
      ". type=dir mode=0755\n"
      "./b\\344\\012\\043\\134 type=file mode=0644 size=4 sha256=" +
      HashOf("text") +
      " tags=copied\n"
      "./link type=link link=../else\\040where tags=copied\n";
  EXPECT_EQ(text, lines + "# end entries=3 sha256=" + HashOf(lines) + "\n");
}

TEST(Manifest, SurvivesARoundTrip) {
  const std::string text = FormatManifest(Example());
  const auto manifest = ParseManifest(text, "x");
  ASSERT_TRUE(manifest) << manifest.error().ToString();
  EXPECT_EQ(manifest->group, "an app");
  ASSERT_EQ(manifest->entries.size(), 3u);
  EXPECT_EQ(manifest->entries[1].path, "b\xe4\n#\\");
  EXPECT_EQ(manifest->entries[2].target, "../else where");
  EXPECT_EQ(FormatManifest(*manifest), text);
}

// The line in the place of the third, with a last line that is right.
std::string WithLine(const std::string& line) {
  const std::string lines =
      "#mtree\n# cerberus tree 1 group=g part=host\n" + line + "\n";
  return lines + "# end entries=1 sha256=" + HashOf(lines) + "\n";
}

TEST(Manifest, RefusesWhatLeadsOutOrCannotBeRead) {
  const std::string hash = " sha256=" + HashOf("");
  ASSERT_TRUE(
      ParseManifest(WithLine("./a type=file mode=0644 size=0" + hash), "x"));
  for (const std::string& line :
       {"/etc/passwd type=file mode=0644 size=0" + hash,
        "./../a type=file mode=0644 size=0" + hash,
        "./a/../../b type=file mode=0644 size=0" + hash,
        "./a//b type=file mode=0644 size=0" + hash,
        "./a/ type=file mode=0644 size=0" + hash,
        "./ type=dir mode=0755" + std::string(),
        "./a\\056\\000 type=dir mode=0755" + std::string(),
        "./\\056\\056 type=dir mode=0755" + std::string(),
        "./a type=file mode=0644 size=0" + std::string(),
        "./a type=file mode=0644 size=18446744073709551616" + hash,
        "./a type=file mode=77777 size=0" + hash,
        "./a type=file mode=0648 size=0" + hash,
        "./a type=fifo mode=0644" + std::string(),
        "./a type=link" + std::string(), "./a" + std::string()}) {
    EXPECT_FALSE(ParseManifest(WithLine(line), "x")) << line;
  }
}

TEST(Manifest, SaysWhatItIsNot) {
  EXPECT_THAT(ParseManifest("#mtree v1.0\n", "x").error().message,
              HasSubstr("is not the manifest of a packed tree"));
  std::string text = FormatManifest(Example());
  EXPECT_THAT(
      ParseManifest(text.substr(0, text.rfind("# end")), "x").error().message,
      HasSubstr("the last line is missing"));
  text.replace(text.find("0755"), 4, "0777");
  EXPECT_THAT(ParseManifest(text, "x").error().message,
              HasSubstr("are not those that were written"));
  const std::string twice = ". type=dir mode=0755";
  EXPECT_THAT(
      ParseManifest(WithLine(twice + "\n" + twice), "x").error().message,
      HasSubstr("stands there twice"));
}

class Verify : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_.path() + "/file") << "text";
    ::chmod((folder_.path() + "/file").c_str(), 0640);
    ::symlink("file", (folder_.path() + "/link").c_str());
    ::chmod(folder_.path().c_str(), 0700);
    manifest_.entries = {
        {"", Kind::kFolder, 0700, 0, "", "", ""},
        {"file", Kind::kFile, 0640, 4, HashOf("text"), "", "copied"},
        {"link", Kind::kLink, 0, 0, "", "file", "copied"}};
  }
  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    const bool good =
        VerifyManifest(manifest_, folder_.path(), 2, [&](const Diag& diag) {
          problems.push_back(diag.where.file.substr(folder_.path().size() + 1) +
                             ": " + diag.message);
        });
    EXPECT_EQ(good, problems.empty());
    return problems;
  }
  std::string In(const char* name) { return folder_.path() + "/" + name; }

  TempFolder folder_;
  Manifest manifest_;
};

TEST_F(Verify, FindsNothingWhereAllIsAsItSays) {
  EXPECT_THAT(Problems(), ElementsAre());
}

TEST_F(Verify, NamesEachThatDiffers) {
  std::ofstream(In("file")) << "TEXT";
  std::filesystem::remove(In("link"));
  ::symlink("elsewhere", In("link").c_str());
  EXPECT_THAT(Problems(),
              ElementsAre("file: has other bytes than the manifest's",
                          "link: leads elsewhere, expected 'file'"));
}

TEST_F(Verify, DoesNotTakeALinkForTheFile) {
  std::filesystem::rename(In("file"), In("other"));
  ::symlink("other", In("file").c_str());
  EXPECT_THAT(Problems(),
              ElementsAre("file: is no file, as the manifest says"));
}

TEST_F(Verify, DoesNotWaitForAPipe) {
  std::filesystem::remove(In("file"));
  ASSERT_EQ(::mkfifo(In("file").c_str(), 0640), 0);
  EXPECT_THAT(Problems(),
              ElementsAre("file: is no file, as the manifest says"));
}

}  // namespace
}  // namespace cerberus::packager
