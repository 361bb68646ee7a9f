// Missing waits and wait states: for each rule the shortest code that breaks
// it, and the same with just enough between. Numbers of wait states are those
// that LLVM inserts (GCNHazardRecognizer), counted here by hand.
#include <gmock/gmock.h>

#include "assemble.h"

namespace cerberus::emulator {
namespace {

using ::testing::HasSubstr;

struct WaitCase {
  const char* name;
  const char* target;
  const char* missing;  // code that lacks a wait
  const char* register_name;
  const char* enough;  // the same with it
};

class Waits : public AssembledKernel,
              public testing::WithParamInterface<WaitCase> {
 protected:
  std::string RunCode(const std::string& code) {
    const WaitCase& p = GetParam();
    KernelParts parts;
    parts.target = p.target;
    parts.lds_size = 1024;
    const std::string_view target = p.target;
    const std::string prologue =
        target.starts_with("gfx12")
            ? "s_load_b64 s[0:1], s[0:1], null\ns_wait_kmcnt 0x0\n"
        : target.starts_with("gfx11")
            ? "s_load_b64 s[0:1], s[0:1], null\ns_waitcnt lgkmcnt(0)\n"
            : "s_load_dwordx2 s[0:1], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n";
    Open(parts, prologue +
                    "v_mov_b32 v1, 0\nv_mov_b32 v6, s0\n"
                    "v_mov_b32 v7, s1\n" +
                    code + "\ns_endpgm");
    return Reason();
  }
};

TEST_P(Waits, MissingOneIsFound) {
  const std::string reason = RunCode(GetParam().missing);
  EXPECT_THAT(reason, HasSubstr("before s_wait for its load"));
  EXPECT_THAT(reason, HasSubstr(GetParam().register_name));
}
TEST_P(Waits, EnoughIsEnough) { EXPECT_EQ(RunCode(GetParam().enough), ""); }

INSTANTIATE_TEST_SUITE_P(
    Rules, Waits,
    testing::Values(
        WaitCase{"VectorLoad", "gfx1100",
                 "global_load_b32 v2, v1, s[0:1]\nv_mov_b32 v3, v2",
                 "v2 is read",
                 "global_load_b32 v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\n"
                 "v_mov_b32 v3, v2"},
        WaitCase{"SecondOfTwo", "gfx1100",
                 "global_load_b32 v2, v1, s[0:1]\n"
                 "global_load_b32 v3, v1, s[0:1]\ns_waitcnt vmcnt(1)\n"
                 "v_mov_b32 v4, v3",
                 "v3 is read",
                 "global_load_b32 v2, v1, s[0:1]\n"
                 "global_load_b32 v3, v1, s[0:1]\ns_waitcnt vmcnt(1)\n"
                 "v_mov_b32 v4, v2"},
        // AMD's hipBLASLt loads halves of a register one by one, and stores the
        // first while the second is on its way.
        WaitCase{"UpperHalf", "gfx1100",
                 "global_load_d16_b16 v2, v1, s[0:1]\n"
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "s_waitcnt vmcnt(1)\nds_store_b16_d16_hi v1, v2",
                 "v2 is read",
                 "global_load_d16_b16 v2, v1, s[0:1]\n"
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "s_waitcnt vmcnt(1)\nds_store_b16 v1, v2"},
        WaitCase{"LowerHalf", "gfx906",
                 "global_load_short_d16_hi v2, v1, s[0:1]\n"
                 "global_load_short_d16 v2, v1, s[0:1]\n"
                 "s_waitcnt vmcnt(1)\nds_write_b16 v1, v2",
                 "v2 is read",
                 "global_load_short_d16_hi v2, v1, s[0:1]\n"
                 "global_load_short_d16 v2, v1, s[0:1]\n"
                 "s_waitcnt vmcnt(1)\nds_write_b16_d16_hi v1, v2"},
        // There a load of half a register writes all of it.
        WaitCase{"HalvesThatAreNone", "gfx90a",
                 "global_load_short_d16 v2, v1, s[0:1]\n"
                 "global_load_short_d16_hi v4, v1, s[0:1]\n"
                 "ds_write_b16_d16_hi v1, v2",
                 "v2 is read",
                 "global_load_short_d16 v2, v1, s[0:1]\n"
                 "global_load_short_d16_hi v4, v1, s[0:1]\n"
                 "s_waitcnt vmcnt(1)\nds_write_b16_d16_hi v1, v2"},
        // rocBLAS 6.4 multiplies one half while the other is on its way.
        WaitCase{"HalfThatIsMultiplied", "gfx1100",
                 "global_load_d16_b16 v2, v1, s[0:1]\n"
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "s_waitcnt vmcnt(1)\nv_mul_f16 v3.l, s2, v2.h",
                 "v2 is read",
                 "global_load_d16_b16 v2, v1, s[0:1]\n"
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "s_waitcnt vmcnt(1)\nv_mul_f16 v3.l, s2, v2.l"},
        WaitCase{"HalfThatIsWritten", "gfx1100",
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "v_mov_b16 v2.h, v1.l",
                 "v2 is overwritten",
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "v_mov_b16 v2.l, v1.l"},
        WaitCase{"HalvesThatAreOneOperand", "gfx1100",
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "v_pk_mul_f16 v3, v1, v2",
                 "v2 is read",
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "s_waitcnt vmcnt(0)\nv_pk_mul_f16 v3, v1, v2"},
        WaitCase{"HalfOfAnAddress", "gfx1100",
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "ds_store_b16 v2, v1",
                 "v2 is read",
                 "global_load_d16_hi_b16 v2, v1, s[0:1]\n"
                 "s_waitcnt vmcnt(0)\nds_store_b16 v2, v1"},
        WaitCase{"Overwritten", "gfx1100",
                 "global_load_b64 v[2:3], v1, s[0:1]\nv_mov_b32 v3, 0",
                 "v3 is overwritten",
                 "global_load_b64 v[2:3], v1, s[0:1]\ns_waitcnt vmcnt(0)\n"
                 "v_mov_b32 v3, 0"},
        WaitCase{"LoadOfAnotherKind", "gfx1100",
                 "global_load_b32 v2, v1, s[0:1]\nds_load_b32 v2, v1",
                 "v2 is overwritten",
                 "global_load_b32 v2, v1, s[0:1]\n"
                 "global_load_b32 v2, v1, s[0:1]"},
        WaitCase{"StoresHaveACounterOfTheirOwn", "gfx1100",
                 "global_load_b32 v2, v1, s[0:1]\n"
                 "global_store_b32 v1, v1, s[0:1]\ns_waitcnt vmcnt(1)\n"
                 "v_mov_b32 v3, v2",
                 "v2 is read",
                 "global_load_b32 v2, v1, s[0:1]\n"
                 "global_store_b32 v1, v1, s[0:1]\ns_waitcnt vmcnt(0)\n"
                 "v_mov_b32 v3, v2"},
        WaitCase{"StoreCounterIsNotForLoads", "gfx1030",
                 "global_load_dword v2, v1, s[0:1]\n"
                 "s_waitcnt_vscnt null, 0x0\nv_mov_b32 v3, v2",
                 "v2",
                 "global_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\n"
                 "v_mov_b32 v3, v2"},
        WaitCase{"CdnaStoresCountWithLoads", "gfx942",
                 "global_load_dword v2, v1, s[0:1]\n"
                 "global_store_dword v1, v1, s[0:1]\ns_waitcnt vmcnt(2)\n"
                 "v_mov_b32 v3, v2",
                 "v2",
                 "global_load_dword v2, v1, s[0:1]\n"
                 "global_store_dword v1, v1, s[0:1]\ns_waitcnt vmcnt(1)\n"
                 "v_mov_b32 v3, v2"},
        WaitCase{"InvalidationsCountWithLoads", "gfx1201",
                 "global_load_b32 v2, v1, s[0:1]\n"
                 "global_wb scope:SCOPE_DEV\ns_wait_loadcnt 0x1\n"
                 "v_mov_b32 v3, v2",
                 "v2",
                 "global_load_b32 v2, v1, s[0:1]\n"
                 "global_inv scope:SCOPE_SE\ns_wait_loadcnt 0x1\n"
                 "v_mov_b32 v3, v2"},
        WaitCase{"WritingBackCountsWithLoads", "gfx942",
                 "global_load_dword v2, v1, s[0:1]\n"
                 "buffer_inv sc1\ns_waitcnt vmcnt(1)\nv_mov_b32 v3, v2",
                 "v2",
                 "global_load_dword v2, v1, s[0:1]\n"
                 "buffer_wbl2 sc1\ns_waitcnt vmcnt(1)\nv_mov_b32 v3, v2"},
        WaitCase{"AtomicThatReturns", "gfx1030",
                 "global_atomic_add v2, v1, v1, s[0:1] glc\n"
                 "s_waitcnt_vscnt null, 0x0\nv_mov_b32 v3, v2",
                 "v2",
                 "global_atomic_add v2, v1, v1, s[0:1] glc\n"
                 "s_waitcnt vmcnt(0)\nv_mov_b32 v3, v2"},
        WaitCase{"Lds", "gfx1100",
                 "ds_load_b32 v2, v1\ns_waitcnt vmcnt(0)\nv_mov_b32 v3, v2",
                 "v2",
                 "ds_load_b32 v2, v1\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v3, "
                 "v2"},
        WaitCase{"LaneExchangeThroughLds", "gfx942",
                 "ds_bpermute_b32 v2, v1, v1\nv_mov_b32 v3, v2", "v2",
                 "ds_bpermute_b32 v2, v1, v1\ns_waitcnt lgkmcnt(0)\n"
                 "v_mov_b32 v3, v2"},
        WaitCase{"ScalarLoadsHaveNoOrder", "gfx1100",
                 "s_load_b32 s4, s[0:1], null\ns_load_b32 s5, s[0:1], null\n"
                 "s_waitcnt lgkmcnt(1)\ns_mov_b32 s6, s4",
                 "s4 is read",
                 "s_load_b32 s4, s[0:1], null\ns_load_b32 s5, s[0:1], null\n"
                 "s_waitcnt lgkmcnt(0)\ns_mov_b32 s6, s4"},
        WaitCase{"ScalarLoadTwiceIntoOne", "gfx1100",
                 "s_load_b32 s4, s[0:1], null\ns_load_b32 s4, s[0:1], 0x4",
                 "s4 is overwritten",
                 "s_load_b32 s4, s[0:1], null\ns_waitcnt lgkmcnt(0)\n"
                 "s_load_b32 s4, s[0:1], 0x4"},
        WaitCase{"FlatNeedsBothCounters", "gfx1100",
                 "flat_load_b32 v2, v[6:7]\ns_waitcnt vmcnt(0)\n"
                 "v_mov_b32 v3, v2",
                 "v2",
                 "flat_load_b32 v2, v[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
                 "v_mov_b32 v3, v2"},
        WaitCase{"FlatHasNoOrderOnCdna", "gfx90a",
                 "flat_load_dword v2, v[6:7]\nflat_load_dword v3, v[6:7]\n"
                 "s_waitcnt vmcnt(1) lgkmcnt(1)\nv_mov_b32 v4, v2",
                 "v2",
                 "flat_load_dword v2, v[6:7]\nflat_load_dword v3, v[6:7]\n"
                 "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v4, v2"},
        WaitCase{"Gfx12Load", "gfx1201",
                 "global_load_b32 v2, v1, s[0:1]\ns_wait_dscnt 0x0\n"
                 "v_mov_b32 v3, v2",
                 "(loadcnt)",
                 "global_load_b32 v2, v1, s[0:1]\ns_wait_loadcnt 0x0\n"
                 "v_mov_b32 v3, v2"},
        WaitCase{"Gfx12Lds", "gfx1201",
                 "ds_load_b32 v2, v1\ns_wait_loadcnt 0x0\nv_mov_b32 v3, v2",
                 "(dscnt)",
                 "ds_load_b32 v2, v1\ns_wait_dscnt 0x0\nv_mov_b32 v3, v2"},
        WaitCase{"Gfx12Both", "gfx1201",
                 "global_load_b32 v2, v1, s[0:1]\nds_load_b32 v3, v1\n"
                 "s_wait_loadcnt_dscnt 0x100\nv_mov_b32 v4, v3\n"
                 "v_mov_b32 v4, v2",
                 "v2",
                 "global_load_b32 v2, v1, s[0:1]\nds_load_b32 v3, v1\n"
                 "s_wait_loadcnt_dscnt 0x0\nv_mov_b32 v4, v3\n"
                 "v_mov_b32 v4, v2"},
        WaitCase{"Gfx12Scalar", "gfx1201",
                 "s_load_b32 s4, s[0:1], null\ns_wait_dscnt 0x0\n"
                 "s_mov_b32 s6, s4",
                 "(kmcnt)",
                 "s_load_b32 s4, s[0:1], null\ns_wait_kmcnt 0x0\n"
                 "s_mov_b32 s6, s4"},
        WaitCase{"StraightToLds", "gfx942",
                 "s_mov_b32 m0, 0\ns_nop 0\n"
                 "global_load_lds_dword v1, s[0:1]\nds_read_b32 v2, v1",
                 "LDS offset 0x0",
                 "s_mov_b32 m0, 0\ns_nop 0\n"
                 "global_load_lds_dword v1, s[0:1]\ns_waitcnt vmcnt(0)\n"
                 "ds_read_b32 v2, v1"}),
    [](const auto& info) { return info.param.name; });

struct StateCase {
  const char* name;
  const char* target;
  const char* first;
  const char* second;
  int states;  // that are needed between; 0: none
};

class WaitStates : public AssembledKernel,
                   public testing::WithParamInterface<StateCase> {
 protected:
  // With `n` wait states between the two.
  std::string RunWith(int n, DeviceOptions options = {}) {
    const StateCase& p = GetParam();
    KernelParts parts;
    parts.target = p.target;
    parts.lds_size = 1024;
    std::string nops;
    for (; n > 0; n -= 8) {
      nops += "s_nop " + std::to_string(std::min(n, 8) - 1) + "\n";
    }
    Open(parts,
         "s_load_dwordx2 s[0:1], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
         "v_mov_b32 v1, 0\ns_mov_b32 m0, 0\ns_nop 7\n" +
             std::string(p.first) + "\n" + nops + p.second + "\ns_endpgm",
         options);
    return Reason();
  }
};

TEST_P(WaitStates, OneTooFewIsFound) {
  if (GetParam().states == 0) {
    EXPECT_EQ(RunWith(0), "");
    return;
  }
  EXPECT_THAT(RunWith(GetParam().states - 1),
              HasSubstr(std::to_string(GetParam().states - 1) +
                        " wait states behind '"));
}
TEST_P(WaitStates, EnoughIsEnough) {
  EXPECT_EQ(RunWith(GetParam().states), "");
}
TEST_P(WaitStates, NothingIsSaidUnasked) {
  DeviceOptions options;
  options.check_waits = false;
  EXPECT_EQ(RunWith(0, options), "");
}

constexpr const char* kMfma4x4 =
    "v_mfma_f32_4x4x1f32 v[8:11], v2, v3, "
    "v[8:11]";
constexpr const char* kMfma16 =
    "v_mfma_f32_16x16x4f32 v[8:11], v2, v3, "
    "v[8:11]";
constexpr const char* kMfma32 =
    "v_mfma_f32_32x32x2f32 v[16:31], v2, v3, "
    "v[16:31]";
constexpr const char* kXdl16 =
    "v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], "
    "v[4:5], v[8:11]";
constexpr const char* kXdl32 =
    "v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], "
    "v[4:5], v[16:31]";
constexpr const char* kDgemm4 =
    "v_mfma_f64_4x4x4f64 v[8:9], v[2:3], v[4:5], "
    "v[8:9]";
constexpr const char* kDgemm16 =
    "v_mfma_f64_16x16x4f64 v[8:15], v[2:3], "
    "v[4:5], v[8:15]";

INSTANTIATE_TEST_SUITE_P(
    Rules, WaitStates,
    testing::Values(
        StateCase{"ResultReadByDpp", "gfx90a", "v_mov_b32 v2, v1",
                  "v_mov_b32_dpp v3, v2 row_shr:1", 2},
        StateCase{"ResultReadByDppVega", "gfx906", "v_mov_b32 v2, v1",
                  "v_mov_b32_dpp v3, v2 row_shr:1", 2},
        StateCase{"OtherRegisterReadByDpp", "gfx90a", "v_mov_b32 v4, v1",
                  "v_mov_b32_dpp v3, v2 row_shr:1", 0},
        StateCase{"ExecThenDpp", "gfx942", "v_cmpx_eq_u32 vcc, v1, v1",
                  "v_mov_b32_dpp v3, v2 row_shr:1", 5},
        StateCase{"LaneSelect", "gfx90a", "v_readfirstlane_b32 s4, v1",
                  "v_readlane_b32 s5, v2, s4", 4},
        StateCase{"LaneSelectOfWrite", "gfx942", "v_readfirstlane_b32 s4, v1",
                  "v_writelane_b32 v2, 1, s4", 4},
        StateCase{"LaneSelectByScalar", "gfx90a", "s_mov_b32 s4, 0",
                  "v_readlane_b32 s5, v2, s4", 0},
        StateCase{"SgprReadByMemory", "gfx90a",
                  "v_mov_b32 v2, s0\nv_readfirstlane_b32 s0, v2",
                  "global_load_dword v3, v1, s[0:1]", 5},
        StateCase{"DivFmas", "gfx90a", "v_cmp_eq_u32 vcc, v1, v1",
                  "v_div_fmas_f32 v2, v3, v4, v5", 4},
        StateCase{"SgprReadByVector", "gfx942", "v_cmp_eq_u32 vcc, v1, v1",
                  "v_cndmask_b32 v2, v3, v4, vcc", 2},
        StateCase{"SgprReadByVectorCdna2", "gfx90a", "v_cmp_eq_u32 vcc, v1, v1",
                  "v_cndmask_b32 v2, v3, v4, vcc", 0},
        StateCase{"SgprReadBehindATakenBranch", "gfx942",
                  "s_cmp_eq_u32 s0, s0\nv_cmp_eq_u32 vcc, v1, v1",
                  "s_cbranch_scc1 1\ns_branch 0\n"
                  "v_cndmask_b32 v2, v3, v4, vcc",
                  0},
        StateCase{"ReadLaneOfResult", "gfx942", "v_mov_b32 v2, v1",
                  "v_readfirstlane_b32 s4, v2", 1},
        StateCase{"Transcendental", "gfx942", "v_rcp_f32 v2, v1",
                  "v_add_f32 v3, v2, v2", 1},
        StateCase{"TranscendentalTwice", "gfx942", "v_rcp_f32 v2, v1",
                  "v_rcp_f32 v3, v2", 0},
        StateCase{"PartOfARegister", "gfx942",
                  "v_add_u16_sdwa v2, v1, v1 dst_sel:WORD_1 "
                  "dst_unused:UNUSED_PRESERVE src0_sel:DWORD "
                  "src1_sel:DWORD",
                  "v_mov_b32 v3, v2", 1},
        StateCase{"WideStoresData", "gfx90a",
                  "global_store_dwordx4 v1, v[8:11], s[0:1]",
                  "v_mov_b32 v10, 0", 1},
        StateCase{"WideStoresDataCdna3", "gfx942",
                  "global_store_dwordx4 v1, v[8:11], s[0:1]",
                  "v_mov_b32 v10, 0", 2},
        StateCase{"NarrowStoresData", "gfx942",
                  "global_store_dwordx2 v1, v[8:9], s[0:1]", "v_mov_b32 v9, 0",
                  0},
        StateCase{"ModeRegister", "gfx90a",
                  "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0",
                  "s_getreg_b32 s4, hwreg(HW_REG_MODE)", 2},
        StateCase{"M0ForLds", "gfx942", "s_mov_b32 m0, 0",
                  "global_load_lds_dword v1, s[0:1]", 1},
        StateCase{"VectorThenMatrix", "gfx90a", "v_mov_b32 v2, v1", kMfma16, 2},
        // As rocBLAS' kernels for gfx90a begin complex products.
        StateCase{"VectorThenSecondMatrix", "gfx90a",
                  "v_add_f32 v6, -v1, 0\n"
                  "v_mfma_f32_16x16x4f32 v[8:11], v2, v3, v[8:11]",
                  "v_mfma_f32_16x16x4f32 v[8:11], v6, v3, v[8:11]", 0},
        StateCase{"Matrix4x4Read", "gfx90a", kMfma4x4, "v_mov_b32 v4, v8", 5},
        StateCase{"Matrix16x16Read", "gfx90a", kMfma16, "v_mov_b32 v4, v11",
                  11},
        StateCase{"Matrix32x32Read", "gfx90a", kMfma32, "v_mov_b32 v4, v31",
                  19},
        StateCase{"Matrix32x32Stored", "gfx90a", kMfma32,
                  "global_store_dword v1, v16, s[0:1]", 19},
        StateCase{"MatrixOverwritten", "gfx90a", kMfma16, "v_mov_b32 v9, 0",
                  11},
        StateCase{"MatrixAsA", "gfx90a", kMfma16,
                  "v_mfma_f32_16x16x4f32 v[12:15], v8, v3, v[12:15]", 11},
        StateCase{"MatrixAsTheSameC", "gfx90a", kMfma16, kMfma16, 0},
        StateCase{"MatrixAsPartOfC", "gfx90a", kMfma16,
                  "v_mfma_f32_16x16x4f32 v[12:15], v2, v3, v[10:13]", 8},
        StateCase{"MatrixAsPartOfCWrittenAgain", "gfx90a",
                  "v_mfma_f32_16x16x4f32 v[8:11], v2, v3, v[8:11]\n"
                  "v_mfma_f32_16x16x4f32 v[10:13], v2, v3, v[8:11]",
                  "v_mfma_f32_16x16x4f32 v[10:13], v2, v3, v[10:13]", 0},
        StateCase{"F64x4Read", "gfx90a", kDgemm4, "v_mov_b32 v4, v8", 6},
        StateCase{"F64x4Stored", "gfx90a", kDgemm4,
                  "global_store_dword v1, v8, s[0:1]", 9},
        StateCase{"F64x16Stored", "gfx90a", kDgemm16,
                  "global_store_dword v1, v8, s[0:1]", 18},
        StateCase{"F32ReadCdna3", "gfx942",
                  "v_mfma_f32_16x16x4_f32 v[8:11], v2, v3, v[8:11]",
                  "v_mov_b32 v4, v8", 10},
        StateCase{"F16ReadCdna3", "gfx942", kXdl16, "v_mov_b32 v6, v8", 7},
        StateCase{"F16LargeReadCdna3", "gfx942", kXdl32, "v_mov_b32 v6, v16",
                  11},
        StateCase{"F16ReadCdna4", "gfx950", kXdl16, "v_mov_b32 v6, v8", 8},
        StateCase{"F16AccumulatorOverwritten", "gfx942",
                  "v_mfma_f32_16x16x16_f16 v[12:15], v[2:3], v[4:5], "
                  "v[8:11]",
                  "v_mov_b32 v9, 0", 3}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cerberus::emulator
