// The counters of CERBERUS_EMU_STATS against kernels counted by hand.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "assemble.h"

namespace cerberus::emulator {
namespace {

using ::testing::HasSubstr;

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

class Stats : public AssembledKernel {
 protected:
  void SetUp() override {
    std::string name =
        testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '.');
    path_ =
        testing::TempDir() + "/stats." + std::to_string(getpid()) + "." + name;
  }
  DeviceOptions Counting() const {
    DeviceOptions options;
    options.stats_path = path_;
    return options;
  }
  // Ends the device, so that the file is there.
  void Finish() {
    device_.reset();
    json_ = ReadText(path_);
  }
  // "lane_instructions", or "loads/4" for a member of a member.
  long Number(const std::string& name) const {
    const std::size_t slash = name.find('/');
    std::string part = json_;
    if (slash != std::string::npos) {
      const std::size_t at = json_.find("\"" + name.substr(0, slash) + "\": {");
      if (at == std::string::npos) return -1;
      part = json_.substr(at, json_.find('}', at) - at);
    }
    const std::string key = "\"" + name.substr(slash + 1) + "\": ";
    const std::size_t at = part.find(key);
    if (at == std::string::npos) return -1;
    return std::strtol(part.c_str() + at + key.size(), nullptr, 10);
  }

  std::string path_, json_;
};

// Seven waves look at a word, without sleeping, until the first has counted
// down to 7 there. A turn of theirs is a few looks, once they were seen to
// wait, whatever they see; and what they wait for is seen.
TEST_F(Stats, WavesThatWaitTakeShortTurns) {
  constexpr long kCount = 1 << 19;
  KernelParts parts;
  Open(parts, R"(
    s_load_b64 s[0:1], s[0:1], null
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v5, 2, v0
    v_mov_b32 v1, 0
    v_readfirstlane_b32 s2, v0
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s2, 0
    s_cbranch_scc1 work
  look:
    global_load_b32 v3, v1, s[0:1] glc
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s3, v3
    s_cmp_lg_u32 s3, 7
    s_cbranch_scc1 look
    global_store_b32 v5, v3, s[0:1]
    s_endpgm
  work:
    s_mov_b32 s4, 0x80007
  count:
    s_sub_u32 s4, s4, 1
    v_mov_b32 v2, s4
    global_store_b32 v1, v2, s[0:1]
    s_cmp_lg_u32 s4, 7
    s_cbranch_scc1 count
    s_endpgm)",
       Counting());
  auto* const words = static_cast<std::uint32_t*>(memory_.host());
  std::fill_n(words, 256, 0);
  ASSERT_TRUE(Run(1, 256));
  for (int i = 32; i < 256; ++i) ASSERT_EQ(words[i], 7u) << i;
  Finish();
  EXPECT_GT(Number("instructions/branch"), kCount);
  EXPECT_LT(Number("instructions/branch"), kCount + 100000);
}

// Every class, two waves of which the second has 8 lanes.
TEST_F(Stats, InstructionsByClass) {
  KernelParts parts;
  parts.lds_size = 256;
  Open(parts, R"(
    s_load_b64 s[0:1], s[0:1], null
    s_waitcnt lgkmcnt(0)
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v1, 2, v0
    s_mov_b32 s4, 3
  loop:
    v_add_f32 v2, v2, v2
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 loop
    v_rcp_f32 v3, v2
    v_dual_mov_b32 v4, v0 :: v_dual_mov_b32 v5, v1
    v_add_f64 v[6:7], v[6:7], v[6:7]
    v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[16:23], v[24:31]
    ds_store_b32 v1, v0
    s_waitcnt lgkmcnt(0)
    s_barrier
    global_load_b32 v8, v1, s[0:1]
    s_waitcnt vmcnt(0)
    global_store_b32 v1, v8, s[0:1]
    global_atomic_add_u32 v1, v0, s[0:1]
    v_mov_b32 v10, s0
    v_mov_b32 v11, s1
    flat_load_u16 v12, v[10:11]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_sleep 0
    s_nop 0
    s_endpgm)",
       Counting());
  ASSERT_TRUE(Run(1, 40));
  Finish();
  const std::map<std::string, long> expected = {
      {"salu", 1 + 2 * 3}, {"valu", 2 + 3 + 2},
      {"valu_f64", 1},     {"transcendental", 1},
      {"vopd", 1},         {"matrix", 1},
      {"smem", 1},         {"load", 1},
      {"store", 1},        {"atomic", 1},
      {"flat", 1},         {"scratch", 0},
      {"lds", 1},          {"branch", 3},
      {"wait", 4},         {"barrier", 1},
      {"sync", 1},         {"other", 2}};
  for (const auto& [name, count] : expected) {
    EXPECT_EQ(Number("instructions/" + name), 2 * count) << name;
  }
  EXPECT_EQ(Number("waves"), 2);
  EXPECT_EQ(Number("groups"), 1);
  EXPECT_EQ(Number("launches"), 1);
  // 16 vector instructions, by 32 and by 8 lanes.
  EXPECT_EQ(Number("lane_instructions"), 16 * 40);
  EXPECT_EQ(Number("loads/2"), 40);
  EXPECT_EQ(Number("loads/4"), 40);
  EXPECT_EQ(Number("stores/4"), 40);
  EXPECT_EQ(Number("atomics/4"), 40);
  EXPECT_EQ(Number("lds_accesses"), 40);
  EXPECT_EQ(Number("lds_conflicts"), 0);
  EXPECT_EQ(Number("matrix_operations"), 2 * 16 * 16 * 16);
  EXPECT_EQ(Number("lds_bytes"), 256);
}

TEST_F(Stats, WidthsOfEveryKind) {
  Open("gfx942", R"(
    s_load_dwordx2 s[0:1], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32 v1, 4, v0
    global_load_ubyte v2, v1, s[0:1]
    global_load_sshort v2, v1, s[0:1]
    global_load_dword v2, v1, s[0:1]
    global_load_dwordx2 v[2:3], v1, s[0:1]
    global_load_dwordx3 v[4:6], v1, s[0:1]
    global_load_dwordx4 v[8:11], v1, s[0:1]
    s_waitcnt vmcnt(0)
    global_store_byte v1, v2, s[0:1]
    global_store_dwordx4 v1, v[8:11], s[0:1]
    global_atomic_add_x2 v1, v[2:3], s[0:1]
    s_endpgm)",
       Counting());
  ASSERT_TRUE(Run(1, 64));
  Finish();
  for (const char* name :
       {"loads/1", "loads/2", "loads/4", "loads/8", "loads/12", "loads/16",
        "stores/1", "stores/16", "atomics/8"}) {
    EXPECT_EQ(Number(name), 64) << name;
  }
  EXPECT_EQ(Number("stores/4"), 0);
}

struct Lines {
  const char* target;
  int shift;  // lanes are 1 << shift bytes apart
  long lines;
};

class CacheLines : public Stats, public testing::WithParamInterface<Lines> {};

TEST_P(CacheLines, OfOneLoad) {
  const Lines& p = GetParam();
  const bool rdna = std::string_view(p.target).starts_with("gfx1");
  Open(p.target,
       std::string(rdna ? "s_load_b64 s[0:1], s[0:1], null\n"
                        : "s_load_dwordx2 s[0:1], s[0:1], 0x0\n") +
           "s_waitcnt lgkmcnt(0)\nv_and_b32 v0, 0x3ff, v0\n"
           "v_lshlrev_b32 v1, " +
           std::to_string(p.shift) + ", v0\n" +
           (rdna ? "global_load_b32" : "global_load_dword") +
           " v2, v1, s[0:1]\ns_endpgm",
       Counting());
  ASSERT_TRUE(Run(1, rdna ? 32 : 64));
  Finish();
  EXPECT_EQ(Number("cache_lines/loads"), p.lines);
  EXPECT_EQ(Number("cache_lines/stores"), 0);
}
INSTANTIATE_TEST_SUITE_P(
    Targets, CacheLines,
    testing::Values(Lines{"gfx1100", 2, 1},   // 128 bytes in a row
                    Lines{"gfx1100", 3, 2},   // 256
                    Lines{"gfx1100", 7, 32},  // a line each
                    Lines{"gfx90a", 2, 4},    // 256 bytes, lines of 64
                    Lines{"gfx942", 2, 2},    // lines of 128
                    Lines{"gfx942", 8, 64}));

struct Conflicts {
  const char* instruction;
  int shift;
  long conflicts;
};
class LdsConflicts : public Stats,
                     public testing::WithParamInterface<Conflicts> {};

TEST_P(LdsConflicts, OfOneInstruction) {
  KernelParts parts;
  parts.lds_size = 8192;
  Open(parts,
       "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, " +
           std::to_string(GetParam().shift) + ", v0\n" +
           (GetParam().shift < 0 ? "v_mov_b32 v1, 0\n" : "") +
           GetParam().instruction + "\ns_endpgm",
       Counting());
  ASSERT_TRUE(Run(1, 32));
  Finish();
  EXPECT_EQ(Number("lds_conflicts"), GetParam().conflicts);
}
INSTANTIATE_TEST_SUITE_P(
    Patterns, LdsConflicts,
    testing::Values(Conflicts{"ds_load_b32 v2, v1", 2, 0},
                    Conflicts{"ds_load_b32 v2, v1", 3, 1},  // every second bank
                    Conflicts{"ds_load_b32 v2, v1", 7, 31},  // one bank
                    Conflicts{"ds_load_b32 v2, v1", -1, 0},  // one word
                    Conflicts{"ds_store_b64 v1, v[2:3]", 3, 0},
                    // Sixteen lanes at a time over eight banks' pairs, twice.
                    Conflicts{"ds_store_b64 v1, v[2:3]", 4, 2},
                    Conflicts{"ds_load_b128 v[4:7], v1", 4, 0},
                    Conflicts{"ds_load_2addr_b32 v[2:3], v1 offset1:1", 3, 2},
                    Conflicts{"ds_add_u32 v1, v2", 2, 0},
                    Conflicts{"ds_add_u32 v1, v2", -1, 31}));

constexpr const char* kNothing = "s_nop 0\ns_endpgm";

TEST_F(Stats, AddsUpOverLaunchesAndWorkers) {
  Open("gfx1100", kNothing, Counting());
  ASSERT_TRUE(Run(500, 64));
  ASSERT_TRUE(Run(500, 64));
  Finish();
  EXPECT_EQ(Number("launches"), 2);
  EXPECT_EQ(Number("groups"), 1000);
  EXPECT_EQ(Number("waves"), 2000);
  EXPECT_EQ(Number("instructions/other"), 4000);
}

TEST_F(Stats, DevicesShareOneFile) {
  Open("gfx1100", kNothing, Counting());
  ASSERT_TRUE(Run(1, 32));
  device_.reset();
  Open("gfx942", kNothing, Counting());
  ASSERT_TRUE(Run(1, 64));
  Finish();
  EXPECT_THAT(json_, HasSubstr("\"target\": \"gfx1100\""));
  EXPECT_THAT(json_, HasSubstr("\"target\": \"gfx942\""));
}

TEST_F(Stats, TheFileIsJson) {
  Open("gfx1100", kNothing, Counting());
  ASSERT_TRUE(Run(1, 32));
  Finish();
  EXPECT_THAT(json_, HasSubstr("\"schema\": 2"));
  EXPECT_EQ(
      std::system(("python3 -m json.tool " + path_ + " > /dev/null").c_str()),
      0);
}

TEST_F(Stats, NothingIsWrittenUnasked) {
  Open("gfx1100", kNothing);
  ASSERT_TRUE(Run(1, 32));
  Finish();
  EXPECT_EQ(json_, "");
}

// --- occupancy, as LLVM's own remarks give it -----------------------------

constexpr const char* kOccupancySource = R"(
#define KERNEL(name, threads, ...)                                         \
  extern "C" __attribute__((global,                                        \
                            amdgpu_flat_work_group_size(threads, threads))) \
  void name(float* p) { __VA_ARGS__ }
#define LDS(n) __attribute__((shared)) static volatile float a[n]; a[0] = *p;
#define CLOBBER(r) __asm__ volatile("" ::: r);
KERNEL(small, 256, *p = 1;)
KERNEL(one_wave, 32, *p = 1;)
KERNEL(vgprs40, 256, CLOBBER("v39"))
KERNEL(vgprs73, 256, CLOBBER("v72"))
KERNEL(vgprs97, 256, CLOBBER("v96"))
KERNEL(vgprs129, 256, CLOBBER("v128"))
KERNEL(vgprs200, 256, CLOBBER("v199"))
KERNEL(sgprs85, 256, CLOBBER("s84"))
KERNEL(sgprs99, 256, CLOBBER("s95"))
KERNEL(lds8, 256, LDS(2048))
KERNEL(lds20, 256, LDS(5000))
KERNEL(lds64, 128, LDS(16384))
KERNEL(lds64wide, 1024, LDS(16384))
KERNEL(both, 512, CLOBBER("v100") LDS(4096))
)";

class Occupancy : public testing::TestWithParam<const char*> {};

TEST_P(Occupancy, IsWhatLlvmSays) {
  const std::string base = testing::TempDir() + "/occupancy." + GetParam() +
                           "." + std::to_string(getpid());
  std::ofstream(base + ".hip") << kOccupancySource;
  const std::string command =
      std::string(CLANGXX) + " -x hip -O2 -nogpulib -nogpuinc " +
      "--cuda-device-only --no-gpu-bundle-output --offload-arch=" + GetParam() +
      " -Rpass-analysis=kernel-resource-usage -o " + base + ".hsaco " + base +
      ".hip 2> " + base + ".remarks";
  ASSERT_EQ(std::system(command.c_str()), 0);
  auto device = Device::Create(GetParam());
  ASSERT_TRUE(device);
  const auto code = (*device)->LoadCodeObject(ReadAll(base + ".hsaco"));
  ASSERT_TRUE(code) << code.error().ToString();

  std::ifstream remarks(base + ".remarks");
  std::string line, name;
  int compared = 0;
  const std::regex pattern(
      R"((Function Name|Occupancy \[waves/SIMD\]): (\S+))");
  while (std::getline(remarks, line)) {
    std::smatch match;
    if (!std::regex_search(line, match, pattern)) continue;
    if (match[1] == "Function Name") {
      name = match[2];
      continue;
    }
    const KernelInfo* kernel = (*code)->FindKernel(name);
    ASSERT_NE(kernel, nullptr) << name;
    EXPECT_EQ(
        (*device)->WavesPerSimd(*kernel, kernel->max_flat_workgroup_size, 0),
        std::stoul(match[2]))
        << name << ": " << kernel->vgprs << " vgprs, " << kernel->sgprs
        << " sgprs, " << kernel->lds_size << " bytes of LDS";
    ++compared;
  }
  EXPECT_EQ(compared, 14);
}
INSTANTIATE_TEST_SUITE_P(Targets, Occupancy,
                         testing::Values("gfx900", "gfx90a", "gfx942", "gfx950",
                                         "gfx1030", "gfx1100", "gfx1102",
                                         "gfx1201"));

}  // namespace
}  // namespace cerberus::emulator
