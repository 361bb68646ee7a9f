#include "packager/wheel/wheel_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cerberus::packager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WheelName, IsReadAndWritten) {
  for (const char* text :
       {"x-1.0-py3-none-any.whl",
        "a_b-2!1.0+cu128-7-cp311-cp311-linux_x86_64.whl",
        "Open3D-0.20.0-cp311-cp311-manylinux_2_27_x86_64.whl"}) {
    const auto name = WheelName::Parse(text);
    ASSERT_TRUE(name) << name.error().ToString();
    EXPECT_EQ(name->ToString(), text);
  }
  const auto name = WheelName::Parse(
      "a-1-7-py2.py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->build, "7");
  EXPECT_EQ(name->Stem(), "a-1");
  EXPECT_THAT(name->Tags(), ElementsAre("py2-none-manylinux2014_x86_64",
                                        "py2-none-manylinux_2_17_x86_64",
                                        "py3-none-manylinux2014_x86_64",
                                        "py3-none-manylinux_2_17_x86_64"));
}

TEST(WheelName, RefusesOthers) {
  for (const char* text :
       {"x.zip", ".whl", "x-1.0.whl", "x-1.0-py3-none.whl",
        "x--py3-none-any.whl", "x-1-1-py3-none-any-y.whl",
        "x-1/2-py3-none-any.whl", "x-..\n-py3-none-any.whl"}) {
    EXPECT_FALSE(WheelName::Parse(text)) << text;
  }
}

TEST(WheelName, NormalizesProjects) {
  EXPECT_EQ(NormalizeName("Open3D-_.cpu"), "open3d-cpu");
  EXPECT_EQ(EscapeName("Open3D.CPU"), "open3d_cpu");
  EXPECT_TRUE(IsProjectName("a.B-c_1"));
  for (const char* name : {"", "-a", "a-", "a b", "a/b", "\xc3\xa4"}) {
    EXPECT_FALSE(IsProjectName(name)) << name;
  }
}

TEST(WheelName, AddsALocalVersion) {
  EXPECT_EQ(AddLocalVersion("1.0", "cerberus"), "1.0+cerberus");
  EXPECT_EQ(AddLocalVersion("1.0+cu128", "cerberus"), "1.0+cu128.cerberus");
}

TEST(WheelName, RaisesThePlatform) {
  const auto raised = [](const char* platform) {
    const auto result = RaisePlatform(platform, 27);
    return result ? *result : result.error().message;
  };
  EXPECT_EQ(raised("manylinux2014_x86_64.manylinux_2_17_x86_64"),
            "manylinux_2_27_x86_64");
  EXPECT_EQ(raised("manylinux_2_17_x86_64.manylinux_2_28_x86_64"),
            "manylinux_2_28_x86_64");
  EXPECT_EQ(raised("manylinux_2_28_x86_64.musllinux_1_1_x86_64"),
            "manylinux_2_28_x86_64");
  EXPECT_EQ(raised("manylinux_2_12_x86_64.musllinux_1_1_x86_64"),
            "manylinux_2_27_x86_64");
  EXPECT_EQ(raised("linux_x86_64"), "linux_x86_64");
  EXPECT_EQ(raised("any"), "manylinux_2_27_x86_64");
  EXPECT_EQ(RaisePlatform("manylinux1_x86_64", 0).value(), "manylinux1_x86_64");
  EXPECT_EQ(RaisePlatform("any", 0).value(), "any");
  for (const char* platform : {"win_amd64", "manylinux_2_28_aarch64",
                               "musllinux_1_2_x86_64", "macosx_11_0_arm64"}) {
    EXPECT_THAT(raised(platform), HasSubstr("expected one for Linux"))
        << platform;
  }
}

}  // namespace
}  // namespace cerberus::packager
