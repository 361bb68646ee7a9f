#include "packager/tree/tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "packager/staging.h"
#include "packager/tree/tree_copy.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::packager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = TreeEntry::Kind;

class TreeTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(In("a/b")); }
  std::string In(const std::string& name) {
    return folder_.path() + "/" + name;
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(In(name)) << text;
  }
  const TreeEntry& Find(const Tree& tree, const std::string& path) {
    for (const TreeEntry& entry : tree.entries()) {
      if (entry.path == path) return entry;
    }
    ADD_FAILURE() << "no " << path;
    return tree.entries().front();
  }

  TempFolder folder_;
};

TEST_F(TreeTest, ListsFoldersBeforeWhatIsInThemAndFollowsNoLink) {
  Write("a/b/file", "text");
  std::filesystem::create_directory_symlink("..", In("a/up"));
  ASSERT_EQ(::mkfifo(In("a/pipe").c_str(), 0600), 0);
  const auto tree = Tree::Read(In("a") + "/");
  ASSERT_TRUE(tree) << tree.error().ToString();
  std::vector<std::string> paths;
  for (const TreeEntry& entry : tree->entries()) paths.push_back(entry.path);
  EXPECT_THAT(paths, ElementsAre("", "b", "b/file", "pipe", "up"));
  EXPECT_EQ(Find(*tree, "up").kind, Kind::kLink);
  EXPECT_EQ(Find(*tree, "up").target, "..");
  EXPECT_EQ(Find(*tree, "pipe").problem, "is a FIFO");
  EXPECT_EQ(tree->Name("b/file"), In("a/b/file"));
  EXPECT_FALSE(tree->Open("up/a/b/file"));  // through a link
  EXPECT_FALSE(tree->Open("../a/b/file"));
  EXPECT_TRUE(tree->Open("b/file"));
}

TEST_F(TreeTest, IsNotReadWhereThereIsNone) {
  EXPECT_EQ(Tree::Read(In("nothing")).error().code, DiagCode::kIo);
  Write("file", "");
  EXPECT_EQ(Tree::Read(In("file")).error().code, DiagCode::kUsage);
}

TEST(StaysInTree, CountsTheWayUp) {
  EXPECT_TRUE(StaysInTree("lib/libx.so", "libx.so.1"));
  EXPECT_TRUE(StaysInTree("lib/libx.so", "../x"));
  EXPECT_TRUE(StaysInTree("a/b/c", "../../d/../e"));
  EXPECT_FALSE(StaysInTree("lib/libx.so", "../../x"));
  EXPECT_FALSE(StaysInTree("x", ".."));
  EXPECT_FALSE(StaysInTree("x", "a/../../b/c"));
  EXPECT_FALSE(StaysInTree("x", "/x"));
  EXPECT_FALSE(StaysInTree("x", ""));
}

TEST(UpFrom, IsAFolderUpForEachInThePath) {
  EXPECT_EQ(UpFrom("x"), "");
  EXPECT_EQ(UpFrom("a/b/x"), "../../");
}

TEST_F(TreeTest, ACopyIsTheFileWithAllThatIsKnownOfIt) {
  Write("a/file", "text");
  ::chmod(In("a/file").c_str(), 04751);
  const bool has_attributes =
      ::setxattr(In("a/file").c_str(), "user.x", "y", 1, 0) == 0;
  const timespec times[2] = {{1000, 1}, {2000, 999999999}};
  ::utimensat(AT_FDCWD, In("a/file").c_str(), times, 0);
  const auto tree = Tree::Read(In("a"));
  const TreeEntry& entry = Find(*tree, "file");
  const auto copy = CopyFile(*tree, entry, In("copy"), CopyHow::kCopy);
  ASSERT_TRUE(copy) << copy.error().ToString();
  EXPECT_EQ(copy->problem, "");
  EXPECT_EQ(copy->size, 4u);
  // sha256sum
  EXPECT_EQ(copy->sha256,
            "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1");
  ASSERT_TRUE(KeepAttributes(*tree, entry, In("copy"), false));
  struct stat st;
  ASSERT_EQ(::stat(In("copy").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 04751u);
  EXPECT_EQ(st.st_mtim.tv_sec, 2000);
  EXPECT_EQ(st.st_mtim.tv_nsec, 999999999);
  char value = 0;
  if (has_attributes) {
    EXPECT_EQ(::getxattr(In("copy").c_str(), "user.x", &value, 1), 1);
    EXPECT_EQ(value, 'y');
  }
}

TEST_F(TreeTest, HolesStayHoles) {
  Write("a/file", "start");
  ASSERT_EQ(::truncate(In("a/file").c_str(), 16 << 20), 0);
  const auto tree = Tree::Read(In("a"));
  const auto copy =
      CopyFile(*tree, Find(*tree, "file"), In("copy"), CopyHow::kCopy);
  ASSERT_TRUE(copy && copy->problem.empty());
  struct stat st;
  ASSERT_EQ(::stat(In("copy").c_str(), &st), 0);
  EXPECT_EQ(st.st_size, 16 << 20);
  EXPECT_LT(st.st_blocks * 512, 4 << 20);
}

TEST_F(TreeTest, AFileThatChangesMeanwhileIsNotCopied) {
  Write("a/file", "text");
  const auto tree = Tree::Read(In("a"));
  Write("a/file", "longer");
  auto copy = CopyFile(*tree, Find(*tree, "file"), In("copy"), CopyHow::kCopy);
  ASSERT_TRUE(copy);
  EXPECT_THAT(copy->problem, HasSubstr("changed while the tree was read"));
  EXPECT_FALSE(std::filesystem::exists(In("copy")));
  std::filesystem::remove(In("a/file"));
  ::symlink("/etc/hostname", In("a/file").c_str());
  copy = CopyFile(*tree, Find(*tree, "file"), In("copy"), CopyHow::kCopy);
  EXPECT_THAT(copy->problem, HasSubstr("cannot open"));
}

TEST_F(TreeTest, AHardLinkIsTheFileItself) {
  Write("a/file", "text");
  const auto tree = Tree::Read(In("a"));
  const auto copy =
      CopyFile(*tree, Find(*tree, "file"), In("link"), CopyHow::kHardLink);
  ASSERT_TRUE(copy) << copy.error().ToString();
  EXPECT_TRUE(std::filesystem::equivalent(In("link"), In("a/file")));
  EXPECT_EQ(copy->size, 4u);
}

TEST_F(TreeTest, WhatIsThereIsNotWrittenOver) {
  Write("a/file", "text");
  Write("copy", "older");
  const auto tree = Tree::Read(In("a"));
  EXPECT_FALSE(
      CopyFile(*tree, Find(*tree, "file"), In("copy"), CopyHow::kCopy));
  EXPECT_FALSE(
      CopyFile(*tree, Find(*tree, "file"), In("copy"), CopyHow::kHardLink));
}

TEST_F(TreeTest, AStagedTreeAppearsWholeOrNotAtAll) {
  {
    auto staging = Staging::Create(In("out"));
    ASSERT_TRUE(staging) << staging.error().ToString();
    std::ofstream(staging->tree() + "/file") << "text";
    EXPECT_FALSE(std::filesystem::exists(In("out")));
    // A second run would be in its way.
    EXPECT_THAT(Staging::Create(In("out")).error().message,
                HasSubstr("another run is making it"));
    ASSERT_TRUE(staging->Commit());
  }
  EXPECT_TRUE(std::filesystem::exists(In("out/file")));
  EXPECT_FALSE(std::filesystem::exists(In(".out.cerberus")));
  EXPECT_THAT(Staging::Create(In("out")).error().message,
              HasSubstr("is there already"));
}

TEST_F(TreeTest, WhatWasMadeIsThereForTheNextRun) {
  {
    auto staging = Staging::Create(In("out"));
    std::filesystem::create_directory(staging->tree() + "/closed");
    std::ofstream(staging->tree() + "/closed/file") << "half";
    ::chmod((staging->tree() + "/closed").c_str(), 0555);
    std::ofstream(staging->code() + "/module") << "code";
  }
  EXPECT_FALSE(std::filesystem::exists(In(".out.cerberus/tree")));
  {
    auto staging = Staging::Create(In("out"));
    ASSERT_TRUE(staging) << staging.error().ToString();
    EXPECT_TRUE(staging->HasCode());
    EXPECT_TRUE(std::filesystem::is_empty(staging->tree()));
    std::filesystem::remove(staging->code() + "/module");
  }
  EXPECT_FALSE(std::filesystem::exists(In(".out.cerberus")));
}

TEST_F(TreeTest, ANameThatWasTakenMeanwhileIsNotReplaced) {
  auto staging = Staging::Create(In("out"));
  std::filesystem::create_directory(In("out"));
  EXPECT_THAT(staging->Commit().error().message,
              HasSubstr("cannot rename into place"));
}

}  // namespace
}  // namespace cerberus::packager
