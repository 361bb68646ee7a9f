#include "support/targets/target_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cerberus {
namespace {

using ::testing::ElementsAre;

TEST(TargetId, ParsesProcessorAndFeatures) {
  const auto id = TargetId::Parse("amdgcn-amd-amdhsa--gfx942:xnack-:sramecc+");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->processor, "gfx942");
  EXPECT_EQ(id->ToString(), "gfx942:sramecc+:xnack-");
}

TEST(TargetId, RejectsWhatIsNone) {
  for (const char* text : {"", "gfx", "sm_75", "gfx1100:", "gfx1100:xnack",
                           "gfx1100:+", "GFX1100", "gfxabc", "gfx1100 "}) {
    EXPECT_FALSE(TargetId::Parse(text)) << text;
  }
  EXPECT_EQ(TargetId::Parse("sm_75").error().message,
            "'sm_75' is not a target id, expected one like 'gfx1100' or "
            "'gfx942:xnack-'");
}

TEST(TargetId, LoadsMostSpecificFirstAndGenericLast) {
  EXPECT_THAT(TargetId::Parse("gfx942:sramecc+:xnack-")->LoadOrder(),
              ElementsAre("gfx942:sramecc+:xnack-", "gfx942:sramecc+",
                          "gfx942:xnack-", "gfx942", "gfx9-4-generic"));
  EXPECT_THAT(TargetId::Parse("gfx1100")->LoadOrder(),
              ElementsAre("gfx1100", "gfx11-generic"));
  EXPECT_THAT(TargetId::Parse("gfx90a")->LoadOrder(), ElementsAre("gfx90a"));
}

TEST(TargetId, KnowsGenericNames) {
  EXPECT_TRUE(TargetId::Parse("gfx9-4-generic")->is_generic());
  EXPECT_FALSE(TargetId::Parse("gfx942")->is_generic());
}

}  // namespace
}  // namespace cerberus
