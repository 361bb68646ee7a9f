#include "support/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/unit/temp_folder.h"

namespace cerberus {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class InputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_) << "0123456789";
    // Written a while ago: a change in the same tick of the clock shows.
    fs::last_write_time(
        path_, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }

  const TempFolder folder_;
  const std::string path_ = folder_.path() + "/file";
};

TEST_F(InputFileTest, Parts) {
  Result<InputFile> file = InputFile::Open(path_);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(AsText(file->Read(0, 10).value()), "0123456789");
  EXPECT_EQ(AsText(file->Read(3, 4).value()), "3456");
  EXPECT_EQ(AsText(file->Read(10, 0).value()), "");
  EXPECT_FALSE(file->Read(3, 8));
  EXPECT_FALSE(file->Read(11, 0));
  EXPECT_FALSE(file->Read(1, UINT64_MAX));
  char number[2] = {};
  EXPECT_TRUE(file->ReadNumber(8, number, 2));
  EXPECT_EQ(std::string(number, 2), "89");
  EXPECT_FALSE(file->ReadNumber(9, number, 2));
}

TEST_F(InputFileTest, NotAFile) {
  EXPECT_EQ(InputFile::Open(path_ + "x").error().ToString(),
            path_ + "x: cannot open: No such file or directory");
  EXPECT_THAT(InputFile::Open(folder_.path()).error().ToString(),
              HasSubstr("is a directory"));
}

struct Change {
  const char* what;
  std::function<void(const std::string& path)> make;
  bool still_readable;
};

TEST_F(InputFileTest, ChangedUnderItsReader) {
  const Change changes[] = {
      {"cut short", [](const std::string& path) { fs::resize_file(path, 4); },
       false},
      {"emptied", [](const std::string& path) { fs::resize_file(path, 0); },
       false},
      {"longer", [](const std::string& path) { fs::resize_file(path, 20); },
       false},
      {"written over",
       [](const std::string& path) { std::ofstream(path) << "abcdefghij"; },
       false},
      {"removed", [](const std::string& path) { fs::remove(path); }, true},
      {"replaced",
       [](const std::string& path) {
         std::ofstream(path + ".new") << "abcdefghij";
         fs::rename(path + ".new", path);
       },
       true},
      {"unreadable", [](const std::string& path) { chmod(path.c_str(), 0); },
       true},
  };
  for (const Change& change : changes) {
    TearDown();
    SetUp();
    Result<InputFile> file = InputFile::Open(path_);
    ASSERT_TRUE(file);
    change.make(path_);
    const Result<Bytes> bytes = file->Read(2, 3);
    ASSERT_EQ(bytes.has_value(), change.still_readable) << change.what;
    if (bytes) {
      EXPECT_EQ(AsText(*bytes), "234") << change.what;
    } else {
      EXPECT_THAT(bytes.error().ToString(), HasSubstr("has changed"))
          << change.what;
    }
  }
}

// As daemons do.
TEST_F(InputFileTest, DescriptorClosedByTheProgram) {
  const int number = dup(0);
  close(number);
  Result<InputFile> file = InputFile::Open(path_);
  ASSERT_TRUE(file);
  close(number);
  EXPECT_EQ(AsText(file->Read(2, 3).value()), "234");
  std::ofstream(path_ + "2") << "abcdefghij";
  Result<InputFile> other = InputFile::Open(path_ + "2");
  EXPECT_EQ(AsText(file->Read(2, 3).value()), "234");
}

}  // namespace
}  // namespace cerberus
