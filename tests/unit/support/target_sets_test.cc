#include "support/targets/target_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/targets/target_id.h"
#include "support/targets/target_table.h"
#include "tests/unit/temp_folder.h"

namespace cerberus {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Targets = std::vector<std::string>;

TEST(TargetSets, WordsStandForTargets) {
  EXPECT_THAT(*ExpandTargets({"generic"}),
              ElementsAre("gfx9-generic", "gfx9-4-generic", "gfx10-1-generic",
                          "gfx10-3-generic", "gfx11-generic", "gfx12-generic"));
  const Targets all = *ExpandTargets({"all"});
  EXPECT_THAT(all, Contains("gfx90a"));
  EXPECT_THAT(all, Contains("gfx1251"));
  EXPECT_THAT(all, Not(Contains("gfx11-generic")));
  EXPECT_THAT(all, Not(Contains("gfx940")));  // LLVM makes none
  EXPECT_THAT(*ExpandTargets({"rocm-6.3"}),
              ElementsAre("gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100"));
  EXPECT_EQ(*ExpandTargets({"rocm"}), *ExpandTargets({"rocm-10.0"}));
  EXPECT_THAT(*ExpandTargets({"gfx1100", "rocm-6.3", "gfx90a:xnack+"}),
              ElementsAre("gfx1100", "gfx908", "gfx90a", "gfx942", "gfx1030",
                          "gfx90a:xnack+"));
}

TEST(TargetSets, EveryTargetOfAReleaseIsCompiled) {
  const Targets compiled = CompiledTargets(false);
  for (const char* release : {"rocm-10.0", "rocm-7.1", "rocm-6.3"}) {
    const Targets targets = *ExpandTargets({release});
    for (const std::string& target : targets) {
      EXPECT_THAT(compiled, Contains(target)) << release;
    }
  }
}

TEST(TargetSets, AnUnknownReleaseIsAnErrorThatNamesTheKnown) {
  const auto targets = ExpandTargets({"rocm-1.0"});
  ASSERT_FALSE(targets);
  EXPECT_EQ(targets.error().code, DiagCode::kUsage);
  EXPECT_THAT(targets.error().message, HasSubstr("rocm-7.1 (2025-10-30)"));
}

class Native : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("HSA_OVERRIDE_GFX_VERSION"); }
  void TearDown() override { ::unsetenv("HSA_OVERRIDE_GFX_VERSION"); }
  void AddNode(int number, unsigned simds, unsigned version) {
    const std::string node = folder_.path() +
                             "/sys/class/kfd/kfd/topology/nodes/" +
                             std::to_string(number);
    std::filesystem::create_directories(node);
    std::ofstream(node + "/properties")
        << "cpu_cores_count 0\nsimd_count " << simds << "\ngfx_target_version "
        << version << "\n";
  }
  TempFolder folder_;
};

TEST_F(Native, IsWhatTheKernelShows) {
  AddNode(0, 0, 0);  // the processor
  AddNode(1, 304, 90402);
  AddNode(2, 304, 90402);
  AddNode(10, 96, 110000);
  AddNode(3, 104, 90010);
  EXPECT_THAT(*NativeTargets(folder_.path()),
              ElementsAre("gfx942", "gfx90a", "gfx1100"));
}

TEST_F(Native, IsWhatTheRuntimeIsToldToSee) {
  AddNode(1, 32, 100305);
  ::setenv("HSA_OVERRIDE_GFX_VERSION", "10.3.0", 1);
  EXPECT_THAT(*NativeTargets(folder_.path()), ElementsAre("gfx1030"));
  ::setenv("HSA_OVERRIDE_GFX_VERSION", "gfx1030", 1);
  EXPECT_FALSE(NativeTargets(folder_.path()));
}

TEST_F(Native, WithoutAGpuIsAnError) {
  EXPECT_THAT(NativeTargets(folder_.path()).error().message,
              HasSubstr("no AMD GPU in this machine"));
  AddNode(0, 0, 0);
  EXPECT_FALSE(NativeTargets(folder_.path()));
}

TEST(ChooseTargets, ABareProcessorTakesItsVariants) {
  const Targets there = {"gfx1100", "gfx90a:xnack+", "gfx90a:xnack-",
                         "gfx11-generic"};
  EXPECT_EQ(ChooseTargets(there, {}), there);
  EXPECT_THAT(ChooseTargets(there, {"gfx90a"}),
              ElementsAre("gfx90a:xnack+", "gfx90a:xnack-"));
  EXPECT_THAT(ChooseTargets(there, {"gfx90a:xnack-", "gfx1100"}),
              ElementsAre("gfx1100", "gfx90a:xnack-"));
}

TEST(ChooseTargets, WithFeaturesTheMostSpecificThatIsLoaded) {
  EXPECT_THAT(ChooseTargets({"gfx90a", "gfx90a:xnack+"}, {"gfx90a:xnack-"}),
              ElementsAre("gfx90a"));
}

TEST(ChooseTargets, TheGenericTargetServesWhatThereIsNoOtherCodeFor) {
  const Targets there = {"gfx1100", "gfx11-generic"};
  EXPECT_THAT(ChooseTargets(there, {"gfx1100"}), ElementsAre("gfx1100"));
  EXPECT_THAT(ChooseTargets(there, {"gfx1103"}), ElementsAre("gfx11-generic"));
  EXPECT_TRUE(ChooseTargets(there, {"gfx1201"}).empty());
}

TEST(IsOfUse, ForVariantsFamiliesAndGenericTargets) {
  EXPECT_TRUE(IsOfUse("gfx90a:xnack+", {"gfx90a"}));
  EXPECT_FALSE(IsOfUse("gfx90a:xnack+", {"gfx90a:xnack-"}));
  EXPECT_TRUE(IsOfUse("gfx90a", {"gfx90a:xnack-"}));
  EXPECT_TRUE(IsOfUse("gfx11-generic", {"gfx1103"}));
  EXPECT_FALSE(IsOfUse("gfx1100", {"gfx11-generic"}));
  EXPECT_TRUE(IsOfUse("gfx11xx", {"gfx1151"}));
  EXPECT_FALSE(IsOfUse("gfx11xx", {"gfx1201"}));
  EXPECT_TRUE(IsOfUse("gfx120x", {"gfx1030", "gfx1201"}));
  EXPECT_FALSE(IsOfUse("gfx120x", {"gfx1250"}));
  EXPECT_TRUE(IsOfUse("gfx803", {}));
}

}  // namespace
}  // namespace cerberus
