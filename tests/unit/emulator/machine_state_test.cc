// What a wave finds when it starts: registers by the kernel descriptor, hidden
// arguments, apertures, hardware registers. A kernel stores what it found, the
// test compares with what LLVM's User Guide for AMDGPU Backend says, sections
// "Initial Kernel Execution State" and "Code Object V5 Metadata".
#include <gmock/gmock.h>

#include <span>

#include "assemble.h"

namespace cerberus::emulator {
namespace {

using ::testing::HasSubstr;

// Bits of kernel_code_properties.
constexpr std::uint16_t kBuffer = 1, kDispatch = 2, kQueue = 4, kKernarg = 8,
                        kDispatchId = 16, kFlatScratch = 32, kPrivateSize = 64;
// compute_pgm_rsrc2.
constexpr std::uint32_t UserRegisters(std::uint32_t n) { return n << 1; }
constexpr std::uint32_t kPrivateSegment = 1, kGroupIds = 7 << 7,
                        kGroupInfo = 1 << 10, kItemIdsXyz = 2 << 11;

constexpr std::uint32_t kStored = 28;    // SGPRs that the kernel stores
constexpr std::uint32_t kItemIds = 256;  // words; v0 to v2 of each lane

class MachineState : public AssembledKernel {
 protected:
  // Stores s0 to s27 and, on gfx12, ttmp7 and ttmp9; then v0 to v2 per lane.
  static std::string StoreState(const std::string& target, int kernarg) {
    const bool gfx12 = target.starts_with("gfx12");
    const bool b32 = gfx12 || target.starts_with("gfx11");
    const std::string store = b32 ? "global_store_b32 " : "global_store_dword ";
    const std::string pair = "s[" + std::to_string(kernarg) + ":" +
                             std::to_string(kernarg + 1) + "]";
    std::string code =
        (b32 ? "s_load_b64 s[30:31], " : "s_load_dwordx2 s[30:31], ") + pair +
        ", 0x0\n" + (gfx12 ? "s_wait_kmcnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n") +
        "v_mov_b32 v10, 0\n";
    const auto put = [&](const std::string& name, std::uint32_t word) {
      code += "v_mov_b32 v11, " + name + "\n" + store +
              "v10, v11, s[30:31] offset:" + std::to_string(4 * word) + "\n";
    };
    for (std::uint32_t i = 0; i < kStored; ++i) {
      put("s" + std::to_string(i), i);
    }
    if (gfx12) {
      put("ttmp7", kStored);
      put("ttmp9", kStored + 1);
    }
    code += "v_mbcnt_lo_u32_b32 v12, -1, 0\n";
    if (!target.starts_with("gfx1")) {
      code += "v_mbcnt_hi_u32_b32 v12, -1, v12\n";
    }
    code += "v_mul_u32_u24 v12, v12, 12\n";
    for (int i = 0; i < 3; ++i) {
      code += store + "v12, v" + std::to_string(i) +
              ", s[30:31] offset:" + std::to_string(4 * (256 + i)) + "\n";
    }
    return code + "s_endpgm";
  }

  void OpenState(const KernelParts& parts, int kernarg) {
    DeviceOptions options;
    options.threads = 1;  // what is stored is the last group's
    Open(parts, StoreState(parts.target, kernarg), options);
  }
  Status Launch(LaunchConfig config) {
    const std::uint64_t argument = memory_.address;
    config.kernarg =
        ByteSpan(reinterpret_cast<const std::uint8_t*>(&argument), 8);
    return device_->Launch(code_->kernels()[0], config);
  }
  std::uint32_t Word(std::size_t i) const {
    return static_cast<const std::uint32_t*>(memory_.host())[i];
  }
  std::uint64_t Pair(std::size_t i) const {
    return Word(i) | static_cast<std::uint64_t>(Word(i + 1)) << 32;
  }
  // What lies at an address of the emulated device: host memory.
  template <typename T>
  static T At(std::uint64_t address) {
    return LoadLe<T>(reinterpret_cast<const void*>(address));
  }
};

// Where each value must be; -1: not there.
struct Layout {
  const char* name;
  const char* target;
  std::uint16_t properties;
  std::uint32_t rsrc2;
  int dispatch, queue, kernarg, dispatch_id, private_size, group_ids,
      group_info;
};

class Registers : public MachineState,
                  public testing::WithParamInterface<Layout> {};

TEST_P(Registers, AreWhereTheDescriptorSays) {
  const Layout& l = GetParam();
  KernelParts parts;
  parts.target = l.target;
  parts.properties = l.properties;
  parts.rsrc2 = l.rsrc2;
  parts.private_size = 48;
  OpenState(parts, l.kernarg);
  if (HasFatalFailure()) return;
  LaunchConfig config;
  config.grid = {3, 4, 5};
  config.block = {5, 3, 2};
  for (std::uint64_t launch = 0; launch < 2; ++launch) {
    const Status done = Launch(config);
    ASSERT_TRUE(done) << done.error().ToString();
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    const std::uint64_t kernarg = Pair(at(l.kernarg));
    EXPECT_EQ(At<std::uint64_t>(kernarg), memory_.address);
    if (l.dispatch >= 0) {
      // hsa_kernel_dispatch_packet_t: setup, sizes of group and grid in
      // work-items, private and group segment, kernel object, kernarg.
      const std::uint64_t packet = Pair(at(l.dispatch));
      EXPECT_EQ(At<std::uint16_t>(packet) & 0xff, 2u);
      EXPECT_EQ(At<std::uint16_t>(packet + 2), 3u);
      EXPECT_EQ(At<std::uint16_t>(packet + 4), 5u);
      EXPECT_EQ(At<std::uint16_t>(packet + 6), 3u);
      EXPECT_EQ(At<std::uint16_t>(packet + 8), 2u);
      EXPECT_EQ(At<std::uint32_t>(packet + 12), 15u);
      EXPECT_EQ(At<std::uint32_t>(packet + 16), 12u);
      EXPECT_EQ(At<std::uint32_t>(packet + 20), 10u);
      EXPECT_EQ(At<std::uint32_t>(packet + 24), 48u);
      EXPECT_EQ(At<std::uint64_t>(packet + 32), code_->kernels()[0].descriptor);
      EXPECT_EQ(At<std::uint64_t>(packet + 40), kernarg);
    }
    if (l.queue >= 0) {
      // amd_queue_t: group_segment_aperture_base_hi and its neighbour.
      const std::uint64_t queue = Pair(at(l.queue));
      EXPECT_NE(At<std::uint32_t>(queue + 64), 0u);
      EXPECT_NE(At<std::uint32_t>(queue + 68), At<std::uint32_t>(queue + 64));
    }
    if (l.dispatch_id >= 0) EXPECT_EQ(Pair(at(l.dispatch_id)), launch);
    if (l.private_size >= 0) EXPECT_EQ(Word(at(l.private_size)), 48u);
    if (l.group_ids >= 0) {
      EXPECT_EQ(Word(at(l.group_ids)), 2u);
      EXPECT_EQ(Word(at(l.group_ids) + 1), 3u);
      EXPECT_EQ(Word(at(l.group_ids) + 2), 4u);
    } else {
      // Architected: TTMP9 is x, the halves of TTMP7 y and z.
      EXPECT_EQ(Word(kStored + 1), 2u);
      EXPECT_EQ(Word(kStored), 3u | 4u << 16);
    }
    // One wave in the group: the first.
    if (l.group_info >= 0) {
      EXPECT_EQ(Word(at(l.group_info)), 1u << 31 | 1);
    }
  }
}

constexpr std::uint16_t kAllVega = kBuffer | kDispatch | kQueue | kKernarg |
                                   kDispatchId | kFlatScratch | kPrivateSize;
constexpr std::uint16_t kAllArchitected =
    kDispatch | kQueue | kKernarg | kDispatchId | kPrivateSize;
constexpr std::uint32_t kSystem =
    kGroupIds | kGroupInfo | kPrivateSegment | kItemIdsXyz;

INSTANTIATE_TEST_SUITE_P(
    Layouts, Registers,
    testing::Values(
        Layout{"Vega", "gfx906", kAllVega, UserRegisters(15) | kSystem, 4, 6, 8,
               10, 14, 15, 18},
        Layout{"Cdna2", "gfx90a", kAllVega, UserRegisters(15) | kSystem, 4, 6,
               8, 10, 14, 15, 18},
        Layout{"Rdna2", "gfx1030", kAllVega, UserRegisters(15) | kSystem, 4, 6,
               8, 10, 14, 15, 18},
        Layout{"Cdna3", "gfx942", kAllArchitected, UserRegisters(9) | kSystem,
               0, 2, 4, 6, 8, 9, 12},
        Layout{"Cdna4", "gfx950", kAllArchitected, UserRegisters(9) | kSystem,
               0, 2, 4, 6, 8, 9, 12},
        Layout{"Rdna3", "gfx1100", kAllArchitected, UserRegisters(9) | kSystem,
               0, 2, 4, 6, 8, 9, 12},
        Layout{"Rdna4", "gfx1201", kAllArchitected, UserRegisters(9) | kSystem,
               0, 2, 4, 6, 8, -1, -1},
        Layout{"KernargAlone", "gfx1100", kKernarg,
               UserRegisters(2) | kGroupIds | kItemIdsXyz, -1, -1, 0, -1, -1, 2,
               -1},
        Layout{"DispatchBeforeKernarg", "gfx90a", kDispatch | kKernarg,
               UserRegisters(4) | kGroupIds | kGroupInfo | kItemIdsXyz, 0, -1,
               2, -1, -1, 4, 7},
        Layout{"IdBehindKernarg", "gfx1030", kKernarg | kDispatchId,
               UserRegisters(4) | kGroupIds | kItemIdsXyz, -1, -1, 0, 2, -1, 4,
               -1},
        // Registers asked for beyond those that are filled.
        Layout{"UnusedUserRegisters", "gfx1100", kKernarg,
               UserRegisters(6) | kGroupIds | kItemIdsXyz, -1, -1, 0, -1, -1, 6,
               -1}),
    [](const auto& info) { return info.param.name; });

struct ItemIds {
  const char* target;
  bool packed;
};
class WorkItemIds : public MachineState,
                    public testing::WithParamInterface<ItemIds> {};

TEST_P(WorkItemIds, AreInTheirRegisters) {
  // Asked for: x alone, x and y, all.
  for (std::uint32_t ids = 0; ids < 3; ++ids) {
    KernelParts parts;
    parts.target = GetParam().target;
    parts.rsrc2 = UserRegisters(2) | kGroupIds | ids << 11;
    OpenState(parts, 0);
    if (HasFatalFailure()) return;
    LaunchConfig config;
    config.block = {5, 3, 2};
    const Status done = Launch(config);
    ASSERT_TRUE(done) << done.error().ToString();
    std::size_t item = kItemIds;
    for (std::uint32_t z = 0; z < 2; ++z) {
      for (std::uint32_t y = 0; y < 3; ++y) {
        for (std::uint32_t x = 0; x < 5; ++x, item += 3) {
          if (GetParam().packed) {
            const std::uint32_t mask = ids == 0   ? 0x3ffu
                                       : ids == 1 ? 0xfffffu
                                                  : 0x3fffffffu;
            EXPECT_EQ(Word(item) & mask, (x | y << 10 | z << 20) & mask);
          } else {
            EXPECT_EQ(Word(item), x);
            if (ids >= 1) EXPECT_EQ(Word(item + 1), y);
            if (ids >= 2) EXPECT_EQ(Word(item + 2), z);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, WorkItemIds,
    testing::Values(ItemIds{"gfx900", false}, ItemIds{"gfx908", false},
                    ItemIds{"gfx90c", false}, ItemIds{"gfx90a", true},
                    ItemIds{"gfx942", true}, ItemIds{"gfx950", true},
                    ItemIds{"gfx1010", false}, ItemIds{"gfx1036", false},
                    ItemIds{"gfx1100", true}, ItemIds{"gfx1151", true},
                    ItemIds{"gfx1200", true}),
    [](const auto& info) { return std::string(info.param.target); });

TEST_F(MachineState, GroupInfoCountsWavesAndMarksTheFirst) {
  KernelParts parts;
  parts.rsrc2 = UserRegisters(2) | kGroupIds | kGroupInfo;
  OpenState(parts, 0);
  LaunchConfig config;
  config.block = {96, 1, 1};
  ASSERT_TRUE(Launch(config));
  EXPECT_EQ(Word(5), 3u);  // the last wave's
}

// PRELOAD: a length and an offset, in words of the kernarg segment. The first
// 256 bytes of the code are for firmware that does not preload.
TEST_F(MachineState, KernelArgumentsArePreloaded) {
  for (const char* target : {"gfx90a", "gfx942", "gfx950"}) {
    KernelParts parts;
    parts.target = target;
    parts.properties = kKernarg;
    parts.rsrc2 = UserRegisters(2 + 3) | kGroupIds;
    parts.preload = 3 | 1 << 7;
    DeviceOptions options;
    options.threads = 1;
    Open(parts, ".fill 64, 4, 0xbf920002\n" + StoreState(target, 0), options);
    std::uint32_t arguments[] = {0, 0, 0x11111111, 0x22222222, 0x33333333};
    std::memcpy(arguments, &memory_.address, 8);
    LaunchConfig config;
    config.grid = {2, 1, 1};
    config.kernarg =
        ByteSpan(reinterpret_cast<const std::uint8_t*>(arguments), 20);
    const Status done = device_->Launch(code_->kernels()[0], config);
    ASSERT_TRUE(done) << done.error().ToString();
    EXPECT_EQ(Word(2), memory_.address >> 32) << target;
    EXPECT_EQ(Word(3), 0x11111111u) << target;
    EXPECT_EQ(Word(4), 0x22222222u) << target;
    EXPECT_EQ(Word(5), 1u) << target;  // the workgroup's id
  }
}

// --- hidden arguments -----------------------------------------------------

struct Hidden {
  const char* kind;
  std::uint32_t offset, size;  // from the first hidden argument
  std::uint64_t value;
};

class HiddenArguments : public MachineState {
 protected:
  // The kernarg segment of a launch whose hidden arguments begin at byte 8.
  std::uint64_t Kernarg(std::span<const Hidden> hidden, std::uint8_t abi,
                        LaunchConfig config) {
    KernelParts parts;
    parts.abi_version = abi;
    parts.kernarg_size = 8 + 256;
    for (const Hidden& h : hidden) {
      parts.args.push_back({h.kind, 8 + h.offset, h.size});
    }
    OpenState(parts, 0);
    const Status done = Launch(config);
    EXPECT_TRUE(done) << done.error().ToString();
    return Pair(0);
  }
  void Check(std::span<const Hidden> hidden, std::uint64_t kernarg) {
    for (const Hidden& h : hidden) {
      std::uint64_t v = 0;
      std::memcpy(&v, reinterpret_cast<const void*>(kernarg + 8 + h.offset),
                  h.size);
      EXPECT_EQ(v, h.value) << h.kind;
    }
  }
};

TEST_F(HiddenArguments, Version5And6) {
  LaunchConfig config;
  config.grid = {4, 3, 2};  // the last of x is partial
  config.block = {8, 4, 2};
  config.remainder = {5, 0, 0};
  config.dynamic_lds = 1234;
  config.printf_buffer = 0x1111;
  config.heap = 0x2222;
  config.multigrid_sync = 0x3333;
  config.default_queue = 0x4444;
  config.completion_action = 0x5555;
  const Hidden hidden[] = {
      {"hidden_block_count_x", 0, 4, 3},
      {"hidden_block_count_y", 4, 4, 3},
      {"hidden_block_count_z", 8, 4, 2},
      {"hidden_group_size_x", 12, 2, 8},
      {"hidden_group_size_y", 14, 2, 4},
      {"hidden_group_size_z", 16, 2, 2},
      {"hidden_remainder_x", 18, 2, 5},
      {"hidden_remainder_y", 20, 2, 0},
      {"hidden_remainder_z", 22, 2, 0},
      {"hidden_global_offset_x", 40, 8, 0},
      {"hidden_global_offset_y", 48, 8, 0},
      {"hidden_global_offset_z", 56, 8, 0},
      {"hidden_grid_dims", 64, 2, 3},
      {"hidden_printf_buffer", 72, 8, 0x1111},
      {"hidden_hostcall_buffer", 80, 8, 0},
      {"hidden_multigrid_sync_arg", 88, 8, 0x3333},
      {"hidden_heap_v1", 96, 8, 0x2222},
      {"hidden_default_queue", 104, 8, 0x4444},
      {"hidden_completion_action", 112, 8, 0x5555},
      {"hidden_dynamic_lds_size", 120, 4, 1234},
  };
  for (const std::uint8_t abi : {3, 4}) {
    Check(hidden, Kernarg(hidden, abi, config));
  }
}

TEST_F(HiddenArguments, DimensionsOfTheGrid) {
  const Hidden one[] = {{"hidden_grid_dims", 64, 2, 1}};
  LaunchConfig config;
  config.grid = {7, 1, 1};
  Check(one, Kernarg(one, 3, config));
  const Hidden two[] = {{"hidden_grid_dims", 64, 2, 2}};
  config.block = {1, 3, 1};
  Check(two, Kernarg(two, 3, config));
}

TEST_F(HiddenArguments, Version4) {
  LaunchConfig config;
  config.printf_buffer = 0x1111;
  config.default_queue = 0x4444;
  const Hidden hidden[] = {
      {"hidden_global_offset_x", 0, 8, 0},
      {"hidden_global_offset_y", 8, 8, 0},
      {"hidden_global_offset_z", 16, 8, 0},
      {"hidden_printf_buffer", 24, 8, 0x1111},
      {"hidden_default_queue", 32, 8, 0x4444},
      {"hidden_none", 40, 8, 0},
      {"hidden_multigrid_sync_arg", 48, 8, 0},
  };
  Check(hidden, Kernarg(hidden, 2, config));
}

TEST_F(HiddenArguments, AperturesAndQueueAreThoseOfTheRegisters) {
  KernelParts parts;
  parts.kernarg_size = 8 + 256;
  parts.properties = kQueue | kKernarg;
  parts.rsrc2 = UserRegisters(4) | kGroupIds;
  parts.args = {{"hidden_private_base", 200, 4},
                {"hidden_shared_base", 204, 4},
                {"hidden_queue_ptr", 208, 8}};
  OpenState(parts, 2);
  ASSERT_TRUE(Launch({}));
  const std::uint64_t queue = Pair(0), kernarg = Pair(2);
  EXPECT_EQ(At<std::uint64_t>(kernarg + 208), queue);
  EXPECT_EQ(At<std::uint32_t>(kernarg + 200), At<std::uint32_t>(queue + 68));
  EXPECT_EQ(At<std::uint32_t>(kernarg + 204), At<std::uint32_t>(queue + 64));
}

// --- apertures and hardware registers -------------------------------------

struct Flat {
  const char* target;
  const char* code;  // behind which v2 is 77, v3 the limit less the base
};
class Apertures : public MachineState,
                  public testing::WithParamInterface<Flat> {};

// A flat store by the aperture's base is seen by an LDS load, and the limit is
// the last byte of 4 GiB.
TEST_P(Apertures, FlatMemoryHasLdsInIt) {
  KernelParts parts;
  parts.target = GetParam().target;
  parts.lds_size = 64;
  Open(parts, GetParam().code);
  const Status done = Run(1, 1);
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(Word(0), 77u);
  EXPECT_EQ(Word(1), 0xffffffffu);
}

constexpr const char* kFlatGfx9 = R"(
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  s_mov_b64 s[4:5], src_shared_base
  s_mov_b64 s[6:7], src_shared_limit
  v_mov_b32 v4, 12
  v_mov_b32 v5, s5
  v_mov_b32 v6, 77
  flat_store_dword v[4:5], v6
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_read_b32 v2, v4
  s_sub_u32 s6, s6, s4
  v_mov_b32 v3, s6
  v_mov_b32 v7, 0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx2 v7, v[2:3], s[0:1]
  s_endpgm)";
constexpr const char* kFlatGfx11 = R"(
  s_load_b64 s[0:1], s[0:1], 0x0
  s_mov_b64 s[4:5], src_shared_base
  s_mov_b64 s[6:7], src_shared_limit
  v_mov_b32 v4, 12
  v_mov_b32 v5, s5
  v_mov_b32 v6, 77
  flat_store_b32 v[4:5], v6
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_waitcnt_vscnt null, 0x0
  ds_load_b32 v2, v4
  s_sub_u32 s6, s6, s4
  v_mov_b32 v3, s6
  v_mov_b32 v7, 0
  s_waitcnt lgkmcnt(0)
  global_store_b64 v7, v[2:3], s[0:1]
  s_endpgm)";

INSTANTIATE_TEST_SUITE_P(
    Targets, Apertures,
    testing::Values(Flat{"gfx906", kFlatGfx9}, Flat{"gfx90a", kFlatGfx9},
                    Flat{"gfx942", kFlatGfx9}, Flat{"gfx1030", kFlatGfx9},
                    Flat{"gfx1100", kFlatGfx11}),
    [](const auto& info) { return std::string(info.param.target); });

TEST_F(MachineState, ARegisterThatIsNotKeptIsAnError) {
  for (const auto& [target, name] :
       {std::pair{"gfx1100", "HW_REG_TRAPSTS"},
        std::pair{"gfx942", "HW_REG_IB_STS"},
        std::pair{"gfx1201", "HW_REG_WAVE_EXCP_FLAG_USER"}}) {
    Open(target, "s_getreg_b32 s4, hwreg(" + std::string(name) + ")\ns_endpgm");
    EXPECT_THAT(Reason(), HasSubstr("does not keep " + std::string(name)));
  }
}

TEST_F(MachineState, ClearingExceptionRecordsIsAllowed) {
  Open("gfx1100",
       "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0\n"
       "s_endpgm");
  EXPECT_EQ(Reason(), "");
}

// AMD's hipBLASLt switches the hardware's checks of dependencies off and on.
TEST_F(MachineState, TheModeOfSchedulingHasNoEffect) {
  Open("gfx1201",
       "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2\n"
       "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 0\n"
       "s_endpgm");
  EXPECT_EQ(Reason(), "");
}

// Each component for itself: the buffer ends behind the third.
TEST_F(MachineState, BuffersEndBetweenComponents) {
  for (const char* const target : {"gfx90a", "gfx942", "gfx1030"}) {
    Open(target,
         "s_load_dwordx2 s[0:1], s[0:1], 0x0\n"
         "v_mov_b32 v1, 8\nv_mov_b32 v0, 0\n"
         "s_mov_b32 s6, 20\ns_mov_b32 s7, " +
             std::string(target[3] == '9' ? "0x20000" : "0x31016000") +
             "\ns_waitcnt lgkmcnt(0)\n"
             "s_mov_b32 s4, s0\ns_and_b32 s5, s1, 0xffff\n"
             "v_mov_b32 v2, 9\nv_mov_b32 v3, 9\nv_mov_b32 v4, 9\n"
             "v_mov_b32 v5, 9\n"
             "buffer_load_dwordx4 v[2:5], v1, s[4:7], 0 offen\n"
             "s_waitcnt vmcnt(0)\n"
             "global_store_dwordx4 v0, v[2:5], s[0:1] offset:64\ns_nop 1\n"
             "v_mov_b32 v2, 7\nv_mov_b32 v3, 7\nv_mov_b32 v4, 7\n"
             "v_mov_b32 v5, 7\n"
             "buffer_store_dwordx4 v[2:5], v1, s[4:7], 0 offen\n"
             "s_endpgm");
    auto* const words = static_cast<std::uint32_t*>(memory_.host());
    for (std::uint32_t i = 0; i < 8; ++i) words[i] = 100 + i;
    ASSERT_EQ(Reason(), "") << target;
    EXPECT_EQ((std::vector<std::uint32_t>(words + 16, words + 20)),
              (std::vector<std::uint32_t>{102, 103, 104, 0}))
        << target;
    EXPECT_EQ((std::vector<std::uint32_t>(words + 1, words + 6)),
              (std::vector<std::uint32_t>{101, 7, 7, 7, 105}))
        << target;
  }
}

}  // namespace
}  // namespace cerberus::emulator
