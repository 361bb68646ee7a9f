// Which code objects a device takes: processors, generic targets, features of
// target ids, versions (LLVM, User Guide for AMDGPU Backend, tables "AMDGPU
// Processors" and "AMDGPU Generic Processors", sections "Target ID" and
// "Generic Processor Versioning").
#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <map>
#include <set>

#include "assemble.h"
#include "support/targets/target_table.h"

namespace cerberus::emulator {
namespace {

const std::map<std::string, std::set<std::string>> kGeneric = {
    {"gfx9-generic",
     {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
    {"gfx9-4-generic", {"gfx942", "gfx950"}},
    {"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
    {"gfx10-3-generic",
     {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035",
      "gfx1036"}},
    {"gfx11-generic",
     {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151",
      "gfx1152", "gfx1153"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
};

// A kernel that only ends; the same bytes on every target but gfx11 and later.
Bytes Code(const std::string& target, std::uint8_t abi,
           std::uint8_t generic_version) {
  KernelParts parts;
  parts.target = target;
  parts.abi_version = abi;
  parts.elf_flags = std::uint32_t{generic_version} << 24;
  parts.wavefront_size = target.starts_with("gfx9") ? 64 : 32;
  const bool gfx11 = target.starts_with("gfx11") || target.starts_with("gfx12");
  Bytes code;
  AppendLe(code, gfx11 ? 0xbfb00000u : 0xbf810000u);
  return BuildCodeObject(parts, code);
}

// "" if it is loaded and runs.
std::string Try(const std::string& device_id, const Bytes& code) {
  const auto device = Device::Create(device_id);
  if (!device) return device.error().ToString();
  const auto loaded = (*device)->LoadCodeObject(code);
  if (!loaded) return loaded.error().ToString();
  const Status done = (*device)->Launch((*loaded)->kernels()[0], {});
  return done ? "" : done.error().ToString();
}

TEST(TargetsTest, EveryProcessorOfTheseGenerationsIsThere) {
  std::set<std::string> expected = {"gfx908", "gfx90a"};
  for (const auto& [generic, covered] : kGeneric) {
    expected.insert(covered.begin(), covered.end());
  }
  const std::vector<std::string> targets = Device::Targets();
  EXPECT_EQ(std::set<std::string>(targets.begin(), targets.end()), expected);
  // What the driver stub takes for emulated (support/targets/target_table.h).
  for (const std::string& name : targets) EXPECT_TRUE(IsEmulated(name)) << name;
  for (const char* name :
       {"gfx940", "gfx941", "gfx1250", "gfx1251", "gfx11-generic", "gfx9999"}) {
    EXPECT_FALSE(IsEmulated(name)) << name;
  }
}

TEST(TargetsTest, EveryProcessorRunsItsOwnCode) {
  for (const std::string& t : Device::Targets()) {
    for (const std::uint8_t abi : {2, 3, 4}) {
      EXPECT_EQ(Try(t, Code(t, abi, 0)), "") << t;
    }
  }
}

TEST(TargetsTest, GenericCodeRunsOnWhatItCoversAlone) {
  for (const auto& [generic, covered] : kGeneric) {
    const Bytes code = Code(generic, 4, 1);
    for (const std::string& t : Device::Targets()) {
      if (covered.contains(t)) EXPECT_EQ(Try(t, code), "") << t;
      else EXPECT_NE(Try(t, code), "") << generic << " on " << t;
    }
  }
}

TEST(TargetsTest, GenericCodeNeedsItsVersions) {
  EXPECT_NE(Try("gfx1100", Code("gfx11-generic", 3, 1)), "");
  EXPECT_NE(Try("gfx1100", Code("gfx11-generic", 4, 0)), "");
  EXPECT_EQ(Try("gfx1100", Code("gfx11-generic", 4, 2)), "");
}

TEST(TargetsTest, OtherVersionsOfCodeObjectsAreRefused) {
  EXPECT_NE(Try("gfx1100", Code("gfx1100", 1, 0)), "");
  EXPECT_NE(Try("gfx1100", Code("gfx1100", 5, 0)), "");
}

// What RDNA 1 alone has ("RDNA 1.0" ISA, VOP3 instructions).
class Rdna1 : public AssembledKernel {};

TEST_F(Rdna1, MultipliesSignedNumbers) {
  Open("gfx1010", R"(
    s_load_dwordx2 s[2:3], s[0:1], 0x0
    v_lshlrev_b32 v1, 3, v0
    s_waitcnt lgkmcnt(0)
    global_load_dwordx2 v[2:3], v1, s[2:3]
    s_waitcnt vmcnt(0)
    v_mul_lo_i32 v4, v2, v3
    global_store_dword v1, v4, s[2:3]
    s_endpgm)");
  constexpr std::array<std::array<std::int32_t, 2>, 6> kFactors = {
      {{3, 5}, {-3, 5}, {-7, -9}, {0, -1}, {0x12345678, -2}, {1 << 30, -4}}};
  std::memcpy(memory_.host(), kFactors.data(), sizeof kFactors);
  ASSERT_EQ(Reason(kFactors.size()), "");
  for (std::size_t i = 0; i < kFactors.size(); ++i) {
    const std::int64_t product =
        std::int64_t{kFactors[i][0]} * std::int64_t{kFactors[i][1]};
    EXPECT_EQ(static_cast<const std::uint32_t*>(memory_.host())[2 * i],
              static_cast<std::uint32_t>(product))
        << i;
  }
}

struct FeatureCase {
  const char* device;
  const char* code;
  bool loads;
};
class Features : public testing::TestWithParam<FeatureCase> {};

TEST_P(Features, Decide) {
  const FeatureCase& p = GetParam();
  EXPECT_EQ(Try(p.device, Code(p.code, 3, 0)) == "", p.loads)
      << p.code << " on " << p.device;
}

INSTANTIATE_TEST_SUITE_P(
    TargetIds, Features,
    testing::Values(
        FeatureCase{"gfx90a:xnack+", "gfx90a:xnack+", true},
        FeatureCase{"gfx90a:xnack+", "gfx90a:xnack-", false},
        FeatureCase{"gfx90a:xnack-", "gfx90a:xnack+", false},
        FeatureCase{"gfx90a:xnack-", "gfx90a", true},
        FeatureCase{"gfx90a", "gfx90a:xnack+", true},
        FeatureCase{"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+", true},
        FeatureCase{"gfx90a:sramecc+:xnack-", "gfx90a:sramecc-:xnack-", false},
        FeatureCase{"gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-", true},
        FeatureCase{"gfx1010:xnack-", "gfx1010:xnack-", true},
        // Not features of these processors.
        FeatureCase{"gfx1100:xnack+", "gfx1100", false},
        FeatureCase{"gfx900:sramecc+", "gfx900", false},
        FeatureCase{"gfx942:fast+", "gfx942", false}));

}  // namespace
}  // namespace cerberus::emulator
