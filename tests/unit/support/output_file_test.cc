#include "support/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/mapped_file.h"
#include "tests/unit/temp_folder.h"

namespace cerberus {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OutputFileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::string Read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const TempFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(OutputFileTest, AppearsOnlyAtCommit) {
  auto file = OutputFile::Create(Path("out"), 0751);
  ASSERT_TRUE(file) << file.error().ToString();
  ASSERT_TRUE(file->Append(AsBytes("hello ")));
  EXPECT_THAT(Names(), IsEmpty());
  ASSERT_TRUE(file->Append(AsBytes("world")));
  ASSERT_TRUE(file->WriteAt(0, AsBytes("J")));
  EXPECT_EQ(file->size(), 11u);
  ASSERT_TRUE(file->Commit());
  EXPECT_THAT(Names(), ElementsAre("out"));
  EXPECT_EQ(Read(Path("out")), "Jello world");
  struct stat st;
  ASSERT_EQ(::stat(Path("out").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0751u);
}

TEST_F(OutputFileTest, ReplacesOnlyAtCommit) {
  ASSERT_TRUE(WriteFile(Path("out"), AsBytes("old")));
  {
    auto file = OutputFile::Create(Path("out"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Append(AsBytes("new and dropped")));
  }
  EXPECT_EQ(Read(Path("out")), "old");
  ASSERT_TRUE(WriteFile(Path("out"), AsBytes("new")));
  EXPECT_EQ(Read(Path("out")), "new");
  EXPECT_THAT(Names(), ElementsAre("out"));
}

TEST_F(OutputFileTest, RefusesAFolderAndAMissingFolder) {
  const auto folder = OutputFile::Create(folder_);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().ToString(), HasSubstr("is a directory"));
  const auto missing = OutputFile::Create(Path("no/such/out"));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().ToString(),
              HasSubstr("cannot create: No such file or directory"));
}

TEST_F(OutputFileTest, ReportsAFullDiskAndLeavesNothing) {
  // A file size limit fails a write as a full disk does.
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit old_limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  struct rlimit limit = old_limit;
  limit.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Bytes big(1 << 16, 0xab);
  const Status status = WriteFile(Path("out"), big);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().ToString(), HasSubstr("cannot write"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(OutputFileTest, MappedFileReadsItBack) {
  ASSERT_TRUE(WriteFile(Path("out"), AsBytes("abc")));
  const auto file = MappedFile::Open(Path("out"));
  ASSERT_TRUE(file);
  EXPECT_EQ(AsText(file->bytes()), "abc");
  ASSERT_TRUE(WriteFile(Path("empty"), {}));
  const auto empty = MappedFile::Open(Path("empty"));
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->size(), 0u);
  EXPECT_FALSE(MappedFile::Open(Path("absent")));
  EXPECT_FALSE(MappedFile::Open(folder_));
}

}  // namespace
}  // namespace cerberus
