// Global wave sync: what LLVM says of its intrinsics (llvm.amdgcn.ds.gws.*,
// "the number of waves that will wait, less one") and AMD's manuals of the
// semaphores, over waves of several groups.
#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

#include "assemble.h"

namespace cerberus::emulator {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::uint32_t kGroups = 9;

class Gws : public AssembledKernel {
 protected:
  // Groups of one wave: s2 is a group's number, s[0:1] leads to the memory,
  // v0 is 0, and only the first lane is there.
  void Open(std::string_view text, DeviceOptions options = {}) {
    options.watchdog_seconds = 1;
    AssembledKernel::Open("gfx90a", Text(text), options);
    words_ = static_cast<std::uint32_t*>(memory_.host());
    std::memset(words_, 0, 65536);
  }
  static std::string Text(std::string_view text) {
    return R"(
      s_load_dwordx2 s[0:1], s[0:1], 0x0
      s_mov_b64 exec, 1
      v_mov_b32 v0, 0
      v_mov_b32 v1, 1
      s_lshl_b32 s3, s2, 2
      v_mov_b32 v2, s3
      s_waitcnt lgkmcnt(0)
)" + std::string(text);
  }
  std::uint32_t* words_ = nullptr;
};

// The first word counts groups that have come, the others what each saw.
constexpr std::string_view kMeet = R"(
      s_mov_b32 m0, 0x30000
      v_mov_b32 v4, 8
      s_cmp_eq_u32 s2, 0
      s_cbranch_scc0 made
      ds_gws_init v4 offset:2 gds
      s_waitcnt lgkmcnt(0)
      global_store_dword v0, v1, s[0:1] offset:4
      s_waitcnt vmcnt(0)
    made:
      global_load_dword v3, v0, s[0:1] offset:4 glc
      s_waitcnt vmcnt(0)
      v_cmp_eq_u32 vcc, 1, v3
      s_cbranch_vccz made
)";

TEST_F(Gws, BarriersWaitForAllWaves) {
  // Twice: the barrier sets up the next one.
  Open(std::string(kMeet) + R"(
      global_atomic_add v0, v1, s[0:1]
      s_waitcnt vmcnt(0)
      ds_gws_barrier v4 offset:2 gds
      s_waitcnt lgkmcnt(0)
      global_load_dword v3, v0, s[0:1] glc
      s_waitcnt vmcnt(0)
      global_store_dword v2, v3, s[0:1] offset:1024
      ds_gws_barrier v4 offset:2 gds
      s_waitcnt lgkmcnt(0)
      global_atomic_add v0, v1, s[0:1]
      s_waitcnt vmcnt(0)
      ds_gws_barrier v4 offset:2 gds
      s_waitcnt lgkmcnt(0)
      global_load_dword v3, v0, s[0:1] glc
      s_waitcnt vmcnt(0)
      global_store_dword v2, v3, s[0:1] offset:2048
      s_endpgm)");
  const Status done = Run(kGroups, 64);
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_THAT(std::vector<std::uint32_t>(words_ + 256, words_ + 256 + kGroups),
              Each(kGroups));
  EXPECT_THAT(std::vector<std::uint32_t>(words_ + 512, words_ + 512 + kGroups),
              Each(2 * kGroups));
}

TEST_F(Gws, ABarrierOfMoreWavesThanComeHangs) {
  Open(std::string(kMeet) + R"(
      ds_gws_barrier v4 offset:2 gds
      s_waitcnt lgkmcnt(0)
      s_endpgm)");
  EXPECT_THAT(Reason(kGroups - 1, 64), HasSubstr("the kernel hangs"));
}

// The first group gives: one, then as many as are missing. What the others take
// is there when they go on.
TEST_F(Gws, SemaphoresCount) {
  Open(R"(
      s_mov_b32 m0, 0x50000
      s_cmp_eq_u32 s2, 0
      s_cbranch_scc0 take
      global_store_dword v0, v1, s[0:1]
      s_waitcnt vmcnt(0)
      v_mov_b32 v4, 7
      ds_gws_sema_v gds
      ds_gws_sema_br v4 gds
      s_waitcnt lgkmcnt(0)
      s_endpgm
    take:
      ds_gws_sema_p gds
      s_waitcnt lgkmcnt(0)
      global_load_dword v3, v0, s[0:1] glc
      s_waitcnt vmcnt(0)
      global_store_dword v2, v3, s[0:1] offset:1024
      s_endpgm)");
  const Status done = Run(kGroups, 64);
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_THAT(std::vector<std::uint32_t>(words_ + 257, words_ + 256 + kGroups),
              Each(1u));
  // All of it was taken: one more waits for ever.
  words_[0] = 0;
  EXPECT_THAT(Reason(kGroups + 1, 64), HasSubstr("the kernel hangs"));
}

// Those that wait go on, those that come later wait.
TEST_F(Gws, ReleaseAllLetsWaitersGo) {
  Open(R"(
      s_mov_b32 m0, 0
      s_cmp_eq_u32 s2, 0
      s_cbranch_scc1 release
      ds_gws_sema_p offset:7 gds
      s_waitcnt lgkmcnt(0)
      global_store_dword v2, v1, s[0:1] offset:1024
      global_atomic_add v0, v1, s[0:1]
      s_endpgm
    release:
      ds_gws_sema_release_all offset:7 gds
      s_sleep 1
      global_load_dword v3, v0, s[0:1] glc
      s_waitcnt vmcnt(0)
      v_cmp_ne_u32 vcc, 8, v3
      s_cbranch_vccnz release
      s_endpgm)");
  const Status done = Run(kGroups, 64);
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_THAT(std::vector<std::uint32_t>(words_ + 257, words_ + 256 + kGroups),
              Each(1u));
}

}  // namespace
}  // namespace cerberus::emulator
