#include "standins/options.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/temp_folder.h"

namespace cerberus::standins {
namespace {

constexpr OptionRow kRows[] = {
    {"gpu-name", "arch", true},
    {"output-file", "o", true},
    {"opt-level", "O", true},
    {"verbose", "v", false},
    {"generate-line-info", "lineinfo", false},
    {"options-file", "optf", true},
    {"library", "l", true},
};

struct Parsed {
  CommandLine line;
  std::vector<std::string> unknown;
  std::string error;
};
Parsed Parse(std::vector<std::string> arguments) {
  Parsed out;
  out.error =
      ParseCommandLine(std::move(arguments), kRows, &out.line, &out.unknown);
  return out;
}

TEST(StandInOptions, TakesAllSpellings) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{
           {"-arch=sm_86"},
           {"-arch", "sm_86"},
           {"--gpu-name", "sm_86"},
           {"--gpu-name=sm_86"},
           {"--gpu-name", "sm_75", "-arch", "sm_86"}}) {
    const Parsed parsed = Parse(arguments);
    EXPECT_EQ(parsed.error, "");
    EXPECT_EQ(parsed.line.Value("gpu-name"), "sm_86") << arguments[0];
  }
  const Parsed parsed =
      Parse({"-O3", "-v", "a.ptx", "-lineinfo", "-lcudadevrt", "-", "-ob.o"});
  EXPECT_EQ(parsed.line.Value("opt-level"), "3");
  EXPECT_EQ(parsed.line.Value("library"), "cudadevrt");
  EXPECT_EQ(parsed.line.Value("output-file"), "b.o");
  EXPECT_TRUE(parsed.line.Has("generate-line-info"));
  EXPECT_TRUE(parsed.line.Has("verbose"));
  EXPECT_EQ(parsed.line.inputs, (std::vector<std::string>{"a.ptx", "-"}));
  EXPECT_EQ(parsed.line.Value("gpu-name", "sm_75"), "sm_75");
}

TEST(StandInOptions, UnknownOnesAreNotedWithWhatCanOnlyBeTheirValue) {
  const TempFolder folder;
  const std::string input = folder.path() + "/in.ptx";
  std::ofstream(input) << "x";
  const Parsed parsed =
      Parse({"--knob", "3", "--flag", input, "-hidden=1", "-v"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.unknown,
            (std::vector<std::string>{"knob", "flag", "hidden"}));
  EXPECT_EQ(parsed.line.inputs, std::vector<std::string>{input});
  EXPECT_TRUE(parsed.line.Has("verbose"));
}

TEST(StandInOptions, ReadsOptionsFiles) {
  const TempFolder folder;
  const std::string file = folder.path() + "/options";
  std::ofstream(file) << "-arch=sm_90\n  -o 'with blank'\n";
  const Parsed parsed = Parse({"--options-file", file, "-v"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.line.Value("gpu-name"), "sm_90");
  EXPECT_EQ(parsed.line.Value("output-file"), "with blank");
  EXPECT_TRUE(parsed.line.Has("verbose"));
  // One that names itself ends.
  std::ofstream(file) << "--options-file " << file;
  EXPECT_NE(Parse({"-optf", file}).error, "");
  EXPECT_EQ(Parse({"-optf", folder.path() + "/none"}).error,
            "Options file '" + folder.path() + "/none' could not be opened");
}

TEST(StandInOptions, SaysWhichValueIsMissing) {
  EXPECT_EQ(Parse({"-v", "-arch"}).error,
            "Missing value for option 'gpu-name'");
}

}  // namespace
}  // namespace cerberus::standins
