#include "packager/wheel/core_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cerberus::packager {
namespace {

using ::testing::ElementsAre;

constexpr char kText[] =
    "Metadata-Version: 2.1\n"
    "Name: Open3D\n"
    "Version: 1.0\n"
    "License: MIT\n"
    "        and more\n"
    "Requires-Dist: numpy >=1.18 ; python_version > '3'\n"
    "Requires-Dist: dash\n"
    "Provides-Extra: test\n"
    "\n"
    "# Open3D\n\nName: not a field\n";

CoreMetadata Parse(const std::string& text) {
  auto metadata = CoreMetadata::Parse(text, "METADATA");
  EXPECT_TRUE(metadata) << metadata.error().ToString();
  return metadata ? *metadata : CoreMetadata();
}

TEST(CoreMetadata, StaysAsItIsWritten) {
  EXPECT_EQ(Parse(kText).ToString(), kText);
}

TEST(CoreMetadata, FindsFieldsInWhateverCase) {
  const CoreMetadata metadata = Parse(kText);
  EXPECT_EQ(metadata.Get("name"), "Open3D");
  EXPECT_EQ(metadata.Get("License"), "MIT\n        and more");
  EXPECT_EQ(metadata.Get("Author"), "");
  EXPECT_THAT(metadata.GetAll("requires-dist"),
              ElementsAre("numpy >=1.18 ; python_version > '3'", "dash"));
}

TEST(CoreMetadata, ChangesInPlace) {
  CoreMetadata metadata = Parse(kText);
  metadata.Set("version", "1.0+cerberus");
  metadata.Set("Requires-Dist", "one");
  metadata.Add("requires-dist", "two");
  metadata.Add("Provides-Extra", "device-all");
  metadata.Add("Author", "nobody");
  metadata.Remove("License");
  EXPECT_EQ(metadata.ToString(),
            "Metadata-Version: 2.1\n"
            "Name: Open3D\n"
            "Version: 1.0+cerberus\n"
            "Requires-Dist: one\n"
            "requires-dist: two\n"
            "Provides-Extra: test\n"
            "Provides-Extra: device-all\n"
            "Author: nobody\n"
            "\n"
            "# Open3D\n\nName: not a field\n");
}

TEST(CoreMetadata, TakesCarriageReturns) {
  for (const char* text :
       {"Name: x\r\nVersion: 1\r\n", "Name: x\r\r\nVersion: 1\r\n"}) {
    EXPECT_EQ(Parse(text).ToString(), "Name: x\nVersion: 1\n");
  }
}

TEST(CoreMetadata, RefusesWhatIsNoField) {
  for (const char* text : {"Name: x\nno colon\n", " folded\n", ": x\n"}) {
    const auto metadata = CoreMetadata::Parse(text, "METADATA");
    ASSERT_FALSE(metadata) << text;
    EXPECT_EQ(metadata.error().code, DiagCode::kBadFormat);
  }
}

}  // namespace
}  // namespace cerberus::packager
