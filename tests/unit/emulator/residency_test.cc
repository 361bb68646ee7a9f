// How many groups of a launch are resident at once: as many as the GPU holds,
// and no more memory than is stated (emulator/device/occupancy.h).
#include <gmock/gmock.h>

#include "assemble.h"
#include "emulator/device/occupancy.h"

namespace cerberus::emulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Residency : public AssembledKernel {
 protected:
  u64 Groups(u32 items, u32 dynamic_lds, u32 scratch) const {
    return ResidentGroups(*FindTarget(device_->info().processor),
                          code_->kernels()[0], items, dynamic_lds, scratch);
  }
};

// Groups that each wait until all have begun.
constexpr std::string_view kMeet = R"(
    s_load_b64 s[0:1], s[0:1], null
    v_and_b32 v0, 0x3ff, v0
    v_cmp_eq_u32 vcc_lo, 0, v0
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v1, 0
    v_mov_b32 v2, 1
    s_and_saveexec_b32 s6, vcc_lo
    global_atomic_add_u32 v1, v2, s[0:1]
  again:
    s_sleep 1
    global_load_b32 v3, v1, s[0:1] glc
    global_load_b32 v4, v1, s[0:1] offset:4
    s_waitcnt vmcnt(0)
    v_cmp_lt_u32 vcc_lo, v3, v4
    s_cbranch_vccnz again
    s_endpgm)";

TEST_F(Residency, AsManyAsTheGpuHolds) {
  DeviceOptions options;
  options.watchdog_seconds = 1;
  KernelParts parts;
  parts.lds_size = 20000;  // three groups in a compute unit
  Open(parts, kMeet, options);
  constexpr std::uint32_t kUnits = 48;
  ASSERT_EQ(Groups(64, 0, 0), 3 * kUnits);
  EXPECT_EQ(Groups(64, 40000, 0), kUnits);
  auto* const counters = static_cast<std::uint32_t*>(memory_.host());
  counters[0] = 0;
  counters[1] = 3 * kUnits;
  const Status done = Run(3 * kUnits, 64);
  ASSERT_TRUE(done) << done.error().ToString();
  // One more than it holds waits for ever, as on the GPU.
  counters[0] = 0;
  counters[1] = 3 * kUnits + 1;
  EXPECT_THAT(Reason(3 * kUnits + 1, 64),
              HasSubstr("the kernel hangs; 144 of 145 groups are resident"));
  // All are resident, and wait for one that is not in the grid.
  counters[0] = 0;
  counters[1] = 5;
  EXPECT_THAT(Reason(4, 64),
              AllOf(HasSubstr("the kernel hangs"), Not(HasSubstr("resident"))));
}

// 32 KiB of private memory a thread, 256 threads a group: not all that the GPU
// would hold.
TEST_F(Residency, PrivateMemoryIsBounded) {
  Open("gfx1100", "s_endpgm");
  EXPECT_EQ(Groups(256, 0, 0), 48u * 4);
  EXPECT_EQ(Groups(256, 0, 32768), 128u);
  EXPECT_EQ(Groups(1024, 0, 1 << 20), 1u);
  Open("gfx942", "s_endpgm");
  EXPECT_EQ(Groups(256, 0, 0), 304u * 8);
  EXPECT_EQ(Groups(64, 0, 16384), 1024u);
}

}  // namespace
}  // namespace cerberus::emulator
