// The core of the emulator: memory, code objects, launches and their faults,
// with kernels written as instruction words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "code_object_builder.h"
#include "emulator/emulator.h"

namespace cerberus::emulator {
namespace {

using ::testing::HasSubstr;

Bytes Words(std::initializer_list<std::uint32_t> words) {
  Bytes out;
  for (const std::uint32_t w : words) AppendLe(out, w);
  return out;
}

class Core : public ::testing::Test {
 protected:
  void Open(const KernelParts& parts, const Bytes& code,
            DeviceOptions options = {}) {
    options.threads = 2;
    auto device = Device::Create(parts.target, options);
    ASSERT_TRUE(device) << device.error().ToString();
    device_ = std::move(*device);
    const auto loaded = device_->LoadCodeObject(BuildCodeObject(parts, code));
    ASSERT_TRUE(loaded) << loaded.error().ToString();
    code_ = *loaded;
    const auto memory = device_->Allocate(4096, 256, MemoryKind::kDevice);
    ASSERT_TRUE(memory);
    memory_ = *memory;
  }
  Status Run(std::uint32_t groups, std::uint32_t items) {
    const std::uint64_t argument = memory_.address;
    LaunchConfig config;
    config.grid = {groups, 1, 1};
    config.block = {items, 1, 1};
    config.kernarg =
        ByteSpan(reinterpret_cast<const std::uint8_t*>(&argument), 8);
    return device_->Launch(code_->kernels()[0], config);
  }
  std::uint32_t Out(std::size_t i) const {
    return static_cast<const std::uint32_t*>(memory_.host())[i];
  }

  std::unique_ptr<Device> device_;
  CodeObject* code_ = nullptr;
  Allocation memory_;
};

// gfx1100:
//   s_load_b64 s[0:1], s[0:1], null; s_waitcnt lgkmcnt(0)
//   v_and_b32 v0, 0x3ff, v0; v_lshlrev_b32 v1, 2, v0
//   global_store_b32 v1, v0, s[0:1]; s_endpgm
const Bytes kStoreId =
    Words({0xf4040000, 0xf8000000, 0xbf89fc07, 0x360000ff, 0x000003ff,
           0x30020082, 0xdc6a0000, 0x00000001, 0xbfb00000});

TEST_F(Core, RunsEveryWorkItemOfAGroup) {
  Open({}, kStoreId);
  const Status done = Run(1, 100);
  ASSERT_TRUE(done) << done.error().ToString();
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(Out(i), i);
  EXPECT_EQ(Out(100), 0u);
}

// As lld links Tensile's kernels of rocBLAS, each from a file of its own.
TEST_F(Core, MetadataOfSeveralNotesAreOne) {
  KernelParts parts;
  parts.more_names = {"second", "third"};
  Open(parts, kStoreId);
  EXPECT_EQ(code_->kernels().size(), 3u);
  for (const char* name : {"k", "second", "third"}) {
    ASSERT_NE(code_->FindKernel(name), nullptr) << name;
    EXPECT_EQ(code_->FindKernel(name)->name, name);
  }
}

TEST_F(Core, StoreBehindTheAllocationNamesEverything) {
  Open({}, kStoreId);
  const auto small = device_->Allocate(40, 256, MemoryKind::kDevice);
  ASSERT_TRUE(small);
  memory_ = *small;
  const Status done = Run(1, 32);
  ASSERT_FALSE(done);
  const Fault* fault = device_->LastFault();
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->kernel, "k");
  EXPECT_EQ(fault->instruction, "global_store_b32 v1, v0, s[0:1]");
  EXPECT_EQ(fault->pc_offset, 24u);
  EXPECT_EQ(fault->lane, 10);
  EXPECT_EQ(fault->address, small->address + 40);
  EXPECT_THAT(fault->nearest, HasSubstr("0 bytes past the end of a 40-byte"));
}

TEST_F(Core, UseAfterFreeIsSaid) {
  Open({}, kStoreId);
  ASSERT_TRUE(device_->Free(memory_.address));
  ASSERT_FALSE(Run(1, 1));
  EXPECT_THAT(device_->LastFault()->nearest, HasSubstr("was freed"));
}

TEST_F(Core, MissingWaitIsAnError) {
  // The same without s_waitcnt.
  Open({}, Words({0xf4040000, 0xf8000000, 0x360000ff, 0x000003ff, 0x30020082,
                  0xdc6a0000, 0x00000001, 0xbfb00000}));
  const Status done = Run(1, 1);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("s0 is read before s_wait"));
}

TEST_F(Core, MissingWaitIsNoErrorWithoutTheCheck) {
  DeviceOptions options;
  options.check_waits = false;
  Open({},
       Words({0xf4040000, 0xf8000000, 0x360000ff, 0x000003ff, 0x30020082,
              0xdc6a0000, 0x00000001, 0xbfb00000}),
       options);
  EXPECT_TRUE(Run(1, 1));
}

TEST_F(Core, BytesThatAreNoInstructionStopTheKernel) {
  Open({}, Words({0xbf9f0000}));  // s_code_end
  ASSERT_FALSE(Run(1, 1));
  EXPECT_THAT(device_->LastFault()->reason, HasSubstr("illegal"));
}

TEST_F(Core, RunningOffTheEndOfTheCodeStops) {
  Open({}, Words({0xbf800000}));  // s_nop
  ASSERT_FALSE(Run(1, 1));
}

TEST_F(Core, EndlessLoopMeetsTheLimit) {
  DeviceOptions options;
  options.instruction_limit = 1000;
  Open({}, Words({0xbfa0ffff}), options);  // s_branch to itself
  ASSERT_FALSE(Run(1, 1));
  EXPECT_THAT(device_->LastFault()->reason, HasSubstr("no end after"));
}

TEST_F(Core, BarrierWaitsForAllWaves) {
  // Every wave stores its id, meets at the barrier; then all loads see all
  // stores: lane i of wave 0 stores element 32 + i again behind 1024 bytes.
  //   s_load_b64 s[0:1], s[0:1], null; s_waitcnt lgkmcnt(0)
  //   v_and_b32 v0, 0x3ff, v0; v_lshlrev_b32 v1, 2, v0
  //   global_store_b32 v1, v0, s[0:1]; s_waitcnt_vscnt null, 0; s_barrier
  //   v_xor_b32 v2, 0x80, v1; global_load_b32 v3, v2, s[0:1]
  //   s_waitcnt vmcnt(0); global_store_b32 v1, v3, s[0:1] offset:1024
  //   s_endpgm
  DeviceOptions options;
  options.random_schedule = true;
  options.random_schedule_seed = 7;
  Open({},
       Words({0xf4040000, 0xf8000000, 0xbf89fc07, 0x360000ff, 0x000003ff,
              0x30020082, 0xdc6a0000, 0x00000001, 0xbc7c0000, 0xbfbd0000,
              0x3a0402ff, 0x00000080, 0xdc520000, 0x03000002, 0xbf8903f7,
              0xdc6a0400, 0x00000301, 0xbfb00000}),
       options);
  const Status done = Run(1, 64);
  ASSERT_TRUE(done) << done.error().ToString();
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(Out(256 + i), i ^ 32);
}

TEST_F(Core, RefusesImpossibleLaunches) {
  Open({}, kStoreId);
  EXPECT_FALSE(Run(0, 1));
  EXPECT_FALSE(Run(1, 0));
  EXPECT_FALSE(Run(1, 1025));
  LaunchConfig config;
  config.dynamic_lds = 65537;
  EXPECT_FALSE(device_->Launch(code_->kernels()[0], config));
}

TEST_F(Core, RefusesCodeOfAnotherTarget) {
  Open({}, kStoreId);
  KernelParts other;
  other.target = "gfx1030";
  const auto loaded = device_->LoadCodeObject(BuildCodeObject(other, kStoreId));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("gfx1030"));
}

// As assembled kernels of AMD's libraries: the ELF header's flags say it.
TEST_F(Core, TargetsThatMetadataDoNotName) {
  KernelParts parts;
  parts.names_target = false;
  parts.elf_flags = 0x41;
  Open(parts, kStoreId);
  const Status done = Run(1, 32);
  EXPECT_TRUE(done) << done.error().ToString();
  for (const std::uint32_t flags : {0x36u, 0u, 0xffu}) {
    parts.elf_flags = flags;
    const auto loaded =
        device_->LoadCodeObject(BuildCodeObject(parts, kStoreId));
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("of the ELF header's flags"));
  }
  // sramecc on: not for a device that has it off, xnack for any.
  auto device = Device::Create("gfx90a:sramecc-:xnack+");
  ASSERT_TRUE(device);
  parts.elf_flags = 0x3f | 0xc00 | 0x100;
  const auto loaded =
      (*device)->LoadCodeObject(BuildCodeObject(parts, kStoreId));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("gfx90a:sramecc+"));
}

TEST_F(Core, EveryTruncationIsReported) {
  Open({}, kStoreId);
  const Bytes whole = BuildCodeObject({}, kStoreId);
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    EXPECT_FALSE(device_->LoadCodeObject(ByteSpan(whole.data(), size))) << size;
  }
}

TEST(Memory, FindsWhatContainsAnAddress) {
  auto device = Device::Create("gfx1100");
  ASSERT_TRUE(device);
  const auto a = (*device)->Allocate(100, 256, MemoryKind::kDevice);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->address % 256, 0u);
  EXPECT_EQ((*device)->Find(a->address + 99)->address, a->address);
  EXPECT_FALSE((*device)->Find(a->address + 100));
  EXPECT_FALSE((*device)->Free(a->address + 1));
  EXPECT_TRUE((*device)->Free(a->address));
  EXPECT_FALSE((*device)->Find(a->address));
}

TEST(Memory, RegisteredTwiceIsRefused) {
  auto device = Device::Create("gfx1100");
  ASSERT_TRUE(device);
  char bytes[64];
  EXPECT_TRUE((*device)->Register(bytes, sizeof bytes));
  EXPECT_FALSE((*device)->Register(bytes + 8, 8));
  EXPECT_TRUE((*device)->Free(reinterpret_cast<std::uint64_t>(bytes)));
  EXPECT_TRUE((*device)->Register(bytes + 8, 8));
}

TEST(Targets, UnknownOnesAreRefused) {
  EXPECT_FALSE(Device::Create("gfx803"));
  EXPECT_FALSE(Device::Create("sm_90"));
  for (const std::string& t : Device::Targets()) {
    EXPECT_TRUE(Device::Create(t)) << t;
  }
}

}  // namespace
}  // namespace cerberus::emulator
