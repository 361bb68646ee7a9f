#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace cerberus::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string TextOf(std::FILE* file) {
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

TEST(Progress, ShortConversionsNameTheModule) {
  std::FILE* file = std::tmpfile();
  LinePrinter printer(file, ColorMode::kNever, true);
  Progress progress(printer, {{"gfx1100 a#1", 1000, 3}, {"gfx1100 b", 10, 1}});
  progress.Begin(1);
  progress.Update(1, {1, 1, 0.5});
  progress.End(1);
  progress.Begin(0);
  EXPECT_EQ(TextOf(file), "[1/2] gfx1100 b\n[2/2] gfx1100 a#1\n");
  std::fclose(file);
}

TEST(Progress, LongOnesSayHowMuchIsLeft) {
  std::FILE* file = std::tmpfile();
  LinePrinter printer(file, ColorMode::kNever, true);
  Progress progress(printer,
                    {{"gfx1100 a#1", 3'000'000, 30}, {"gfx1100 b", 10, 1}},
                    std::chrono::milliseconds(0));
  progress.Begin(0);
  progress.Update(0, {10, 30, 0.5});
  progress.Begin(1);
  const std::string text = TextOf(file);
  EXPECT_THAT(text, StartsWith("[1/2] gfx1100 a#1 (3.0 MB of PTX): 0 of 31 "
                               "kernels\n"));
  EXPECT_THAT(text, HasSubstr("[2/2] gfx1100 b (10 bytes of PTX): 10 of 31 "
                              "kernels, about 1 s left\n"));
  std::fclose(file);
}

TEST(Progress, DurationsAreGuesses) {
  using std::chrono::seconds;
  EXPECT_EQ(DurationText(seconds(0)), "1 s");
  EXPECT_EQ(DurationText(seconds(59)), "59 s");
  EXPECT_EQ(DurationText(seconds(100)), "2 min");
  EXPECT_EQ(DurationText(seconds(7800)), "2 h 10 min");
}

}  // namespace
}  // namespace cerberus::cli
