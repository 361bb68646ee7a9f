#include "support/targets/target_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "support/targets/nearest_targets.h"
#include "support/targets/target_id.h"

namespace cerberus {
namespace {

TEST(TargetTable, KnowsWaveSizeAndSharedMemory) {
  ASSERT_NE(FindTarget("gfx1100"), nullptr);
  EXPECT_EQ(FindTarget("gfx1100")->wave_size, 32);
  EXPECT_EQ(FindTarget("gfx942")->wave_size, 64);
  EXPECT_EQ(FindTarget("gfx942")->lds_bytes, 65536u);
  EXPECT_EQ(FindTarget("gfx950")->lds_bytes, 163840u);
  EXPECT_EQ(FindTarget("gfx1"), nullptr);
}

// nvcc 13 builds nothing below sm_75, and code for sm_90 expects hardware
// that no AMD GPU has.
TEST(TargetTable, CapabilityLiesInTheUsefulRange) {
  for (const char* name :
       {"gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151",
        "gfx1201", "gfx9-4-generic", "gfx11-generic", "gfx9999"}) {
    const int sm = ComputeCapabilityOf(name).sm();
    EXPECT_GE(sm, 75) << name;
    EXPECT_LT(sm, 90) << name;
  }
}

TEST(TargetTable, GenericTargetsAgreeWithTheirProcessors) {
  for (const char* name :
       {"gfx906", "gfx942", "gfx1012", "gfx1036", "gfx1103", "gfx1200"}) {
    const TargetRow* row = FindTarget(name);
    const TargetRow* generic = FindTarget(GenericTargetOf(name));
    ASSERT_NE(row, nullptr) << name;
    ASSERT_NE(generic, nullptr) << name;
    EXPECT_EQ(row->cc.sm(), generic->cc.sm()) << name;
    EXPECT_EQ(row->wave_size, generic->wave_size) << name;
  }
}

TEST(TargetTable, EnvironmentOverrides) {
  ASSERT_EQ(setenv("CERBERUS_CC", "9.0", 1), 0);
  EXPECT_EQ(ComputeCapabilityOf("gfx1100").sm(), 90);
  ASSERT_EQ(setenv("CERBERUS_CC", "nonsense", 1), 0);
  EXPECT_EQ(ComputeCapabilityOf("gfx1100").sm(), 86);
  ASSERT_EQ(unsetenv("CERBERUS_CC"), 0);
}

TEST(TargetTable, TheDriversVersionIsThatOfTheEnvironment) {
  EXPECT_EQ(PresentedCudaVersion(), 13050);
  for (const auto& [text, version] :
       {std::pair("13.4", 13040), {"12.9", 12090}, {"new", 13050}}) {
    ASSERT_EQ(setenv("CERBERUS_DRIVER_VERSION", text, 1), 0);
    EXPECT_EQ(PresentedCudaVersion(), version) << text;
  }
  ASSERT_EQ(unsetenv("CERBERUS_DRIVER_VERSION"), 0);
}

// The one that most modules are compiled for; the default where it makes no
// difference.
TEST(TargetTable, TheEmulatedTargetIsOneThatThereIsCodeFor) {
  EXPECT_EQ(TargetToEmulate({}), "");
  EXPECT_EQ(TargetToEmulate({{{"ptx", 3}}}), "");
  EXPECT_EQ(TargetToEmulate({{{"gfx942", 1}, {"ptx", 1}}}), "gfx942");
  EXPECT_EQ(TargetToEmulate({{{"gfx942", 1}, {"gfx1100", 1}}}), "gfx1100");
  EXPECT_EQ(TargetToEmulate({{{"gfx942", 1}, {"gfx1030", 1}}}), "gfx942");
  EXPECT_EQ(TargetToEmulate({{{"gfx942", 2}, {"gfx1100", 1}}}), "gfx942");
  // Several files.
  EXPECT_EQ(TargetToEmulate({{{"gfx1100", 1}, {"gfx90a", 1}},
                             {{"gfx90a", 4}, {"gfx1201", 4}}}),
            "gfx90a");
  // A device must have the features that the code was compiled for.
  EXPECT_EQ(TargetToEmulate({{{"gfx942:sramecc+:xnack-", 1}}}),
            "gfx942:sramecc+:xnack-");
  EXPECT_EQ(TargetToEmulate({{{"gfx90a:xnack+", 1}, {"gfx90a", 1}}}), "gfx90a");
  // Generic targets run on the processors that they cover.
  EXPECT_EQ(TargetToEmulate({{{"gfx11-generic", 1}}}), "gfx1100");
  EXPECT_EQ(TargetToEmulate({{{"gfx9-4-generic", 1}}}), "gfx942");
  EXPECT_EQ(TargetToEmulate({{{"gfx12-generic", 1}}, {{"gfx1201", 1}}}),
            "gfx1201");
  // What the emulator does not execute.
  EXPECT_EQ(TargetToEmulate({{{"gfx1250", 1}}}), "");
  EXPECT_EQ(TargetToEmulate({{{"nonsense", 1}}}), "");
}

struct ParseRow {
  const char* text;
  int major, minor;
};

TEST(TargetTable, ParsesCapabilities) {
  for (const ParseRow& row :
       {ParseRow{"8.6", 8, 6}, ParseRow{"86", 8, 6}, ParseRow{"10.3", 10, 3},
        ParseRow{"120", 12, 0}, ParseRow{"", 0, 0}, ParseRow{"8", 0, 0},
        ParseRow{"8.", 0, 0}, ParseRow{".6", 0, 0}, ParseRow{"sm_86", 0, 0},
        ParseRow{"8.6a", 0, 0}, ParseRow{"1234", 0, 0},
        ParseRow{"0.5", 0, 0}}) {
    const ComputeCapability cc = ParseComputeCapability(row.text);
    EXPECT_EQ(cc.major, row.major) << row.text;
    EXPECT_EQ(cc.minor, row.minor) << row.text;
  }
}

TEST(NearestTargets, AllOfThemTheLikeliestFirst) {
  EXPECT_EQ(NearestTargets("gfx1100x").rfind("gfx1100, ", 0), 0u);
  EXPECT_EQ(NearestTargets("gfx942x").rfind("gfx942, ", 0), 0u);
  EXPECT_NE(NearestTargets("").find(", gfx1201"), std::string::npos);
}

}  // namespace
}  // namespace cerberus
