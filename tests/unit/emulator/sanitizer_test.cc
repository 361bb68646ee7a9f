// Accesses that no kernel may make, and what the optional checks find: the
// smallest kernel for each.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <fstream>

#include "assemble.h"

namespace cerberus::emulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// s[0:1]: the buffer; v0: the lane; v1: its byte offset.
std::string Prologue(int shift = 2) {
  return "s_load_b64 s[0:1], s[0:1], null\ns_waitcnt lgkmcnt(0)\n"
         "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, " +
         std::to_string(shift) + ", v0\n";
}
const std::string kEnd = "\ns_endpgm";

class Access : public AssembledKernel {
 protected:
  void Resize(std::uint64_t size) {
    const auto memory = device_->Allocate(size, 256, MemoryKind::kDevice);
    ASSERT_TRUE(memory);
    memory_ = *memory;
  }
  std::string Report(std::uint32_t items = 1) {
    const Status done = Run(1, items);
    return done ? "" : done.error().message;
  }
};

TEST_F(Access, AllLanesInFaultAreNamed) {
  Open("gfx1100", Prologue() + "global_load_b32 v2, v1, s[0:1]" + kEnd);
  Resize(80);
  EXPECT_THAT(Report(32),
              AllOf(HasSubstr("load of 4 bytes outside any allocation"),
                    HasSubstr("lane 20 (lanes 20-31)"),
                    HasSubstr("0 bytes past the end of a 80-byte device")));
}

TEST_F(Access, StraddlingTheEnd) {
  Open("gfx1100", Prologue() + "global_load_b64 v[2:3], v1, s[0:1]" + kEnd);
  Resize(12);
  EXPECT_EQ(Report(2), "");  // the second lane reads bytes 4 to 11
  EXPECT_THAT(Report(3),
              AllOf(HasSubstr("load of 8 bytes outside"), HasSubstr("lane 2"),
                    HasSubstr("8 bytes into a 12-byte")));
}

// Atomic operations on halves are made of those on words.
TEST_F(Access, WordsThatHoldTheLastByte) {
  const auto open = [&](const std::string& access) {
    Open("gfx1100", Prologue() + "v_mov_b32 v2, 0\n" + access + kEnd);
    Resize(6);
    return Report(2);  // of the second lane two bytes of four
  };
  EXPECT_EQ(open("global_load_b32 v4, v1, s[0:1]"), "");
  EXPECT_EQ(open("global_atomic_cmpswap_b32 v4, v1, v[2:3], s[0:1] glc"), "");
  EXPECT_THAT(open("global_store_b32 v1, v2, s[0:1]"),
              HasSubstr("store of 4 bytes outside"));
  EXPECT_THAT(open("global_load_b32 v4, v1, s[0:1] offset:-1"),
              HasSubstr("load of 4 bytes outside"));
  EXPECT_THAT(open("global_load_b32 v4, v1, s[0:1] offset:4"),
              HasSubstr("load of 4 bytes outside"));
  KernelParts parts;
  parts.target = "gfx1100";
  parts.lds_size = 6;
  Open(parts, Prologue() + "ds_load_b32 v2, v1" + kEnd);
  EXPECT_EQ(Report(2), "");
  EXPECT_THAT(Report(3), HasSubstr("LDS offset 0x8, beyond"));
}

// As AMD's own libraries need it.
TEST_F(Access, MemoryThatEndsWhereAGpusDoes) {
  DeviceOptions options;
  options.whole_blocks = true;
  Open("gfx1100", Prologue() + "global_load_b32 v2, v1, s[0:1]" + kEnd,
       options);
  Resize(80);
  EXPECT_EQ(Report(32), "");
  memory_.address += 4096 - 8;
  EXPECT_EQ(Report(2), "");
  EXPECT_THAT(Report(3), HasSubstr("0 bytes past the end of a 4096-byte"));
  // Of LDS there are blocks of 512 bytes.
  KernelParts parts;
  parts.target = "gfx1100";
  parts.lds_size = 128;
  Open(parts, Prologue() + "ds_load_b32 v2, v1" + kEnd, options);
  EXPECT_EQ(Report(128), "");
  EXPECT_EQ(Report(129), "");
  Open(parts, Prologue() + "ds_store_b32 v1, v1" + kEnd, options);
  EXPECT_THAT(Report(129), HasSubstr("LDS offset 0x200, beyond"));
}

// Tensile's kernels count on zeros where a GPU has no LDS. Each lane writes
// what it has of LDS at 0, where there is something, and far behind its end.
TEST_F(Access, LdsOutOfRangeIsZero) {
  DeviceOptions options;
  options.whole_blocks = true;
  KernelParts parts;
  parts.target = "gfx90a";
  parts.lds_size = 512;
  Open(parts,
       "s_load_dwordx2 s[0:1], s[0:1], 0x0\n"
       "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, -1\nds_write_b32 v1, v2\n"
       "v_mov_b32 v3, 0xf00000\nds_read_b32 v4, v1\nds_read_b32 v5, v3\n"
       "ds_read_b128 v[6:9], v3\n"
       "s_waitcnt lgkmcnt(0)\nv_sub_u32 v4, v4, v5\nv_sub_u32 v4, v4, v9\n"
       "global_store_dword v1, v4, s[0:1]" +
           std::string(kEnd),
       options);
  Resize(256);
  EXPECT_EQ(Report(64), "");
  for (std::uint64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uint32_t*>(memory_.address)[i], ~0u) << i;
  }
}

// Rows that only the scalar offset of a buffer load reaches.
TEST_F(Access, BuffersByTheirScalarOffset) {
  const std::string code =
      "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_mov_b32 s6, 4096\n"
      "s_mov_b32 s7, 0x20000\ns_movk_i32 s8, 0x1000\n"
      "v_mov_b32 v1, 0\nv_mov_b32 v2, -1\ns_waitcnt lgkmcnt(0)\n"
      "buffer_load_dword v2, v1, s[4:7], s8 offen\ns_waitcnt vmcnt(0)\n"
      "global_store_dword v1, v2, s[4:5]" +
      std::string(kEnd);
  Open("gfx90a", code);
  Resize(4096);
  EXPECT_THAT(Report(), HasSubstr("0 bytes past the end of a 4096-byte"));
  DeviceOptions options;
  options.whole_blocks = true;
  Open("gfx90a", code, options);
  Resize(4096);
  EXPECT_EQ(Report(), "");
  EXPECT_EQ(*reinterpret_cast<std::uint32_t*>(memory_.address), 0u);
}

TEST_F(Access, AllocationsNeverTouch) {
  Open("gfx1100", Prologue() + "global_store_b8 v1, v0, s[0:1]" + kEnd);
  for (const std::uint64_t size : {1, 255, 256, 4095, 4096, 4097, 8192}) {
    Resize(size);
    const Allocation before = memory_;
    Resize(size);
    const std::uint64_t low = std::min(before.address, memory_.address);
    const std::uint64_t high = std::max(before.address, memory_.address);
    EXPECT_GE(high - low, size + 4096) << size;
    memory_.address += size;
    EXPECT_THAT(Report(), HasSubstr("0 bytes past the end")) << size;
  }
}

TEST_F(Access, NullPage) {
  Open("gfx1100", Prologue() + "global_store_b32 v1, v0, s[0:1]" + kEnd);
  memory_.address = 16;
  EXPECT_THAT(Report(), HasSubstr("at 0x10 (the null page)"));
}

TEST_F(Access, HostMemory) {
  Open("gfx1100", Prologue() + "global_store_b32 v1, v0, s[0:1]" + kEnd);
  // In the middle of much of it, far from what is the device's.
  const std::size_t size = 64u << 20;
  char* const host =
      static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(host, MAP_FAILED);
  memory_.address = reinterpret_cast<std::uint64_t>(host + size / 2);
  EXPECT_THAT(Report(), HasSubstr("memory of the host"));
  ASSERT_TRUE(device_->Register(host, size));
  EXPECT_EQ(Report(), "");
  munmap(host, size);
}

TEST_F(Access, UseAfterFreeSaysWhoAndWhen) {
  Open("gfx1100", Prologue() + "global_store_b32 v1, v0, s[0:1]" + kEnd);
  // The code object was call 1, the fixture's buffer call 2.
  Resize(400);              // 3
  ASSERT_EQ(Report(), "");  // 4, and 5 for the kernel's arguments
  ASSERT_TRUE(device_->Free(memory_.address, "hipFree"));  // 6
  EXPECT_THAT(Report(), HasSubstr("0 bytes into a 400-byte device allocation "
                                  "of call 3 that was freed by hipFree, call "
                                  "6; this launch is call 7"));
}

struct Misaligned {
  const char* target;
  const char* instruction;
};
class Alignment : public Access,
                  public testing::WithParamInterface<Misaligned> {
 protected:
  void OpenAt(int shift) {
    KernelParts parts;
    parts.target = GetParam().target;
    parts.lds_size = 64;
    const bool rdna = parts.target.starts_with("gfx1");
    Open(parts, (rdna ? Prologue(shift)
                      : "s_load_dwordx2 s[0:1], s[0:1], 0x0\n"
                        "s_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v1, " +
                            std::to_string(shift) + ", v0\n") +
                    "s_mov_b32 m0, -1\nv_add_co_u32 v4, vcc" +
                    (rdna ? "_lo" : "") + ", s0, v1\nv_mov_b32 v5, s1\n" +
                    GetParam().instruction + kEnd);
  }
};
class AtomicAlignment : public Alignment {};
class AccessAlignment : public Alignment {};

TEST_P(AtomicAlignment, IsChecked) {
  OpenAt(1);  // the second lane at byte 2
  EXPECT_THAT(Report(2), AllOf(HasSubstr("misaligned"), HasSubstr("lane 1")));
}
INSTANTIATE_TEST_SUITE_P(
    Atomics, AtomicAlignment,
    testing::Values(Misaligned{"gfx1100",
                               "global_atomic_add_u32 v1, v0, "
                               "s[0:1]"},
                    Misaligned{"gfx1100",
                               "global_atomic_add_u64 v1, v[2:3], "
                               "s[0:1]"},
                    Misaligned{"gfx1100", "ds_add_u32 v1, v0"},
                    Misaligned{"gfx1100", "ds_add_rtn_u64 v[2:3], v1, v[2:3]"},
                    Misaligned{"gfx942", "global_atomic_add v1, v0, s[0:1]"},
                    Misaligned{"gfx942", "ds_add_f64 v1, v[2:3]"},
                    Misaligned{"gfx942", "flat_atomic_add v[4:5], v0"}));

// SH_MEM_CONFIG is set to unaligned access by AMD's driver.
TEST_P(AccessAlignment, IsFree) {
  OpenAt(0);  // the second lane at byte 1
  EXPECT_EQ(Report(2), "");
}
INSTANTIATE_TEST_SUITE_P(
    Accesses, AccessAlignment,
    testing::Values(Misaligned{"gfx1100",
                               "global_load_b128 v[8:11], v1, "
                               "s[0:1]"},
                    Misaligned{"gfx1100", "ds_load_b64 v[2:3], v1"},
                    Misaligned{"gfx942",
                               "global_store_dwordx2 v1, v[2:3], "
                               "s[0:1]"},
                    Misaligned{"gfx942", "ds_write_b128 v1, v[8:11]"},
                    Misaligned{"gfx942", "flat_load_dword v2, v[4:5]"}));

TEST_F(Access, LdsBeyondTheGroup) {
  KernelParts parts;
  parts.lds_size = 128;
  Open(parts, Prologue() + "ds_store_b32 v1, v0 offset:4" + kEnd);
  EXPECT_THAT(Report(32),
              AllOf(HasSubstr("store of 4 bytes at LDS offset 0x80, beyond "
                              "the group's 128 bytes"),
                    HasSubstr("lane 31")));
  EXPECT_EQ(Report(31), "");
}

TEST_F(Access, ScratchBeyondTheLane) {
  KernelParts parts;
  parts.private_size = 32;
  Open(parts,
       "v_lshlrev_b32 v1, 2, v0\nscratch_store_b32 v1, v0, off "
       "offset:8" +
           kEnd);
  EXPECT_THAT(Report(16), AllOf(HasSubstr("scratch offset 0x20, beyond the "
                                          "lane's 32 bytes"),
                                HasSubstr("lane 6")));
}

TEST_F(Access, CodeIsReadOnly) {
  Open("gfx1100",
       "s_getpc_b64 s[4:5]\nv_mov_b32 v0, 0\n"
       "global_load_b32 v1, v0, s[4:5]\ns_waitcnt vmcnt(0)\n"
       "global_store_b32 v0, v1, s[4:5]" +
           kEnd);
  EXPECT_THAT(Report(), AllOf(HasSubstr("store of 4 bytes to read-only"),
                              HasSubstr("global_store_b32")));
}

TEST_F(Access, AtomicsOnCodeToo) {
  Open("gfx942",
       "s_getpc_b64 s[4:5]\nv_mov_b32 v0, 0\n"
       "global_atomic_add v0, v0, s[4:5]" +
           kEnd);
  EXPECT_THAT(Report(), HasSubstr("read-only memory"));
}

TEST_F(Access, JumpOutsideTheCode) {
  Open("gfx1100", "s_mov_b64 s[4:5], 0x1000\ns_setpc_b64 s[4:5]" + kEnd);
  EXPECT_THAT(Report(), AllOf(HasSubstr("jump outside any code object"),
                              HasSubstr("s_setpc_b64 s[4:5]")));
}

// --- debug information ----------------------------------------------------

TEST_F(Access, SourceLineNameAndConstantAreNamed) {
  const std::string base =
      testing::TempDir() + "/source." + std::to_string(getpid());
  std::ofstream(base + ".hip") << R"(
extern "C" __attribute__((constant)) const int table[4] = {1, 2, 3, 4};

inline __attribute__((device, always_inline)) void Put(int* p, int i) {
  *(volatile int*)(p + i) = 7;
}
__attribute__((global)) void Kernel(int* p) {
  Put(p ? p : (int*)(unsigned long)table, p ? 100 : 2);
}
)";
  const std::string command =
      std::string(CLANGXX) +
      " -x hip -O1 -g -nogpulib -nogpuinc "
      "--cuda-device-only --no-gpu-bundle-output --offload-arch=gfx1100 -o " +
      base + ".hsaco " + base + ".hip";
  ASSERT_EQ(std::system(command.c_str()), 0);
  auto device = Device::Create("gfx1100");
  ASSERT_TRUE(device);
  device_ = std::move(*device);
  const auto code = device_->LoadCodeObject(ReadAll(base + ".hsaco"));
  ASSERT_TRUE(code) << code.error().ToString();
  code_ = *code;
  Resize(400);
  EXPECT_THAT(Report(),
              AllOf(HasSubstr("kernel '_Z6KernelPi' (Kernel(int*))"),
                    HasSubstr(".hip:5, inlined at "), HasSubstr(".hip:8,")));
  const Fault* fault = device_->LastFault();
  EXPECT_EQ(fault->demangled, "Kernel(int*)");
  EXPECT_EQ(fault->lanes, 1u);
  memory_.address = 0;
  EXPECT_THAT(Report(), AllOf(HasSubstr("read-only memory"),
                              HasSubstr(".rodata"), HasSubstr("'table'")));
}

// --- never-written memory -------------------------------------------------

class Uninitialised : public Access {
 protected:
  static DeviceOptions On() {
    DeviceOptions options;
    options.check_uninitialised = options.check_scratch = true;
    return options;
  }
};

TEST_F(Uninitialised, GlobalMemory) {
  Open("gfx1100", Prologue() + "global_load_b32 v2, v1, s[0:1]" + kEnd, On());
  device_->MarkWritten(memory_.address, 8);
  EXPECT_EQ(Report(2), "");
  EXPECT_THAT(Report(32), AllOf(HasSubstr("load of 4 bytes that were never "
                                          "written"),
                                HasSubstr("lane 2 (lanes 2-31)")));
}

TEST_F(Uninitialised, StoresOfAnotherKernelCount) {
  Open("gfx1100",
       Prologue() +
           "s_cmp_eq_u32 s2, 0\ns_cbranch_scc0 load\n"
           "global_store_b32 v1, v0, s[0:1]\ns_endpgm\nload:\n"
           "global_load_b32 v2, v1, s[0:1]" +
           kEnd,
       On());
  ASSERT_EQ(Report(4), "");
  std::uint64_t argument = memory_.address;
  LaunchConfig config;
  config.grid = {2, 1, 1};
  config.block = {4, 1, 1};
  config.kernarg =
      ByteSpan(reinterpret_cast<const std::uint8_t*>(&argument), 8);
  EXPECT_TRUE(device_->Launch(code_->kernels()[0], config));
  config.block = {8, 1, 1};
  EXPECT_TRUE(device_->Launch(code_->kernels()[0], config));
}

TEST_F(Uninitialised, PaddingMayBeLoadedAlong) {
  Open("gfx1100", Prologue() + "global_load_b128 v[4:7], v1, s[0:1]" + kEnd,
       On());
  device_->MarkWritten(memory_.address + 12, 1);
  EXPECT_EQ(Report(), "");
}

TEST_F(Uninitialised, HostMemoryIsTheHostsBusiness) {
  Open("gfx1100", Prologue() + "global_load_b32 v2, v1, s[0:1]" + kEnd, On());
  const auto memory = device_->Allocate(64, 256, MemoryKind::kHost);
  ASSERT_TRUE(memory);
  memory_ = *memory;
  EXPECT_EQ(Report(), "");
}

TEST_F(Uninitialised, AtomicsReadToo) {
  Open("gfx1100", Prologue() + "global_atomic_add_u32 v1, v0, s[0:1]" + kEnd,
       On());
  EXPECT_THAT(Report(), HasSubstr("atomic of 4 bytes that were never"));
}

TEST_F(Uninitialised, Lds) {
  KernelParts parts;
  parts.lds_size = 256;
  Open(parts,
       Prologue() +
           "ds_store_b32 v1, v0\nv_add_nc_u32 v1, 4, v1\n"
           "ds_load_b32 v2, v1" +
           kEnd,
       On());
  EXPECT_THAT(Report(4), AllOf(HasSubstr("load of 4 bytes of LDS at offset "
                                         "0x10 that were never written"),
                               HasSubstr("lane 3")));
}

TEST_F(Uninitialised, Scratch) {
  KernelParts parts;
  parts.private_size = 32;
  Open(parts,
       "v_lshlrev_b32 v1, 2, v0\nscratch_store_b32 v1, v0, off\n"
       "scratch_load_b32 v2, off, off offset:4" +
           kEnd,
       On());
  EXPECT_THAT(Report(2), AllOf(HasSubstr("load of 4 bytes of scratch at "
                                         "offset 0x4 that were never"),
                               HasSubstr("lane 0")));
}

TEST_F(Uninitialised, NothingIsSaidUnasked) {
  Open("gfx1100", Prologue() + "global_load_b32 v2, v1, s[0:1]" + kEnd);
  EXPECT_EQ(Report(), "");
}

// --- races on LDS ---------------------------------------------------------

struct RaceCase {
  const char* name;
  const char* code;
  const char* report;  // empty: no race
  std::uint32_t items = 64;
  const char* target = "gfx1100";
};
class Races : public AssembledKernel,
              public testing::WithParamInterface<RaceCase> {};

TEST_P(Races, AreFoundWhereTheyAre) {
  DeviceOptions options;
  options.check_races = true;
  KernelParts parts;
  parts.target = GetParam().target;
  parts.lds_size = 512;
  Open(parts,
       "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\n"
       "v_xor_b32 v3, 0x80, v1\nv_mov_b32 v4, 0\n" +
           std::string(GetParam().code) + "\ns_endpgm",
       options);
  const std::string reason = Reason(GetParam().items);
  if (*GetParam().report == 0) {
    EXPECT_EQ(reason, "");
  } else {
    EXPECT_THAT(reason,
                AllOf(HasSubstr("data race"), HasSubstr(GetParam().report)));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Lds, Races,
    testing::Values(
        RaceCase{"WriteThenRead", "ds_store_b32 v1, v0\nds_load_b32 v2, v3",
                 "store of LDS byte 0x80, which wave 0 has read"},
        RaceCase{"ReadThenWrite", "ds_load_b32 v2, v3\nds_store_b32 v1, v0",
                 "load of LDS byte 0x0, which wave 0 has written"},
        RaceCase{"WriteTwice", "ds_store_b32 v4, v0",
                 "store of LDS byte 0x0, which wave 0 has written"},
        RaceCase{"ReadTwice", "ds_load_b32 v2, v4", ""},
        RaceCase{"Barrier",
                 "ds_store_b32 v1, v0\ns_waitcnt lgkmcnt(0)\n"
                 "s_barrier\nds_load_b32 v2, v3",
                 ""},
        RaceCase{"BarrierOnlyBefore",
                 "s_barrier\nds_store_b32 v1, v0\nds_load_b32 v2, v3",
                 "which wave 0 has read"},
        RaceCase{"OneWave", "ds_store_b32 v1, v0\nds_load_b32 v2, v3", "", 32},
        RaceCase{"OneWaveOf64", "ds_write_b32 v1, v0\nds_read_b32 v2, v3", "",
                 64, "gfx942"},
        RaceCase{"NeighbouringBytes", "ds_store_b8 v0, v0", ""},
        RaceCase{"Atomics", "ds_add_u32 v4, v0", ""},
        RaceCase{"AtomicAndLoad", "ds_load_b32 v2, v4\nds_add_u32 v4, v0",
                 "which wave 0 has"},
        RaceCase{"OrderedByAtomics",
                 "ds_add_rtn_u32 v5, v4, v0 offset:256\n"
                 "ds_load_b32 v2, v4\nds_store_b32 v4, v0\n"
                 "ds_add_rtn_u32 v5, v4, v0 offset:256",
                 ""},
        RaceCase{"SplitBarrier",
                 "ds_store_b32 v1, v0\ns_wait_dscnt 0x0\n"
                 "s_barrier_signal -1\ns_barrier_wait -1\nds_load_b32 v2, v3",
                 "", 64, "gfx1201"},
        RaceCase{"BetweenSignalAndWait",
                 "s_barrier_signal -1\nds_store_b32 v1, v0\n"
                 "s_barrier_wait -1\nds_load_b32 v2, v3",
                 "which wave", 64, "gfx1201"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cerberus::emulator
