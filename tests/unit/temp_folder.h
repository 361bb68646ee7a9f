#ifndef CERBERUS_TESTS_UNIT_TEMP_FOLDER_H_
#define CERBERUS_TESTS_UNIT_TEMP_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace cerberus {

// A fresh folder that goes when the object does.
class TempFolder {
 public:
  TempFolder() {
    std::string name = ::testing::TempDir() + "cerberus-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      ADD_FAILURE() << "no temporary folder " << name;
      return;
    }
    path_ = name;
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cerberus

#endif  // CERBERUS_TESTS_UNIT_TEMP_FOLDER_H_
