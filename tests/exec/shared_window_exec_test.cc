// Shared memory that is more than the hardware's, in device memory
// (docs/launch-abi.md, "Shared memory in a window"). That every access finds
// the window is for the tests of those accesses: they run once more with all
// shared memory there (CERBERUS_TEST_SHARED_IN_WINDOW).
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

constexpr std::uint32_t kThreads = 96;
constexpr std::uint32_t kBlocks[3] = {3, 2, 2};
constexpr std::uint32_t kStep = 1024;  // between the threads' words

// Thread t of a block writes seed + t a kilobyte behind its neighbour's word,
// counts with all the others, copies a word there, and after the barrier reads
// what the next thread wrote through its generic address. `base` is where the
// block's bytes are, `few` another variable, `last` the size of the first.
std::string Kernel(const std::string& name, const std::string& variables,
                   const std::string& base, std::uint32_t last) {
  return ".visible .entry " + name + R"((.param .u64 in, .param .u64 out)
{
)" + variables +
         R"(
  .shared .align 8 .b32 few[4];
  .reg .b64 %in, %out, %generic, %own, %l<4>;
  .reg .b32 %t, %n, %base, %at, %next, %seed, %r<12>;
  .reg .pred %p<4>;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %r0, %ctaid.z;
  mov.u32 %r1, %nctaid.y;
  mov.u32 %r2, %ctaid.y;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  mov.u32 %r1, %nctaid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %seed, %r0, %r1, %r2;
  mad.lo.u32 %r3, %seed, %n, %t;
  mul.wide.u32 %own, %r3, 32;
  add.u64 %own, %out, %own;
  mul.lo.u32 %seed, %seed, 1000;
  mov.u32 %base, )" +
         base + R"(;
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.shared.u32 [few+8], 0;
  mad.lo.u32 %at, %t, 1024, %base;
  add.u32 %r4, %seed, %t;
  st.shared.u32 [%at], %r4;
  cp.async.ca.shared.global [%at+16], [%in], 16;
  cp.async.wait_all;
  bar.sync 0;
  atom.shared.add.u32 %r5, [few+8], 1;
  add.u32 %r6, %t, 1;
  rem.u32 %r6, %r6, %n;
  mad.lo.u32 %next, %r6, 1024, %base;
  cvt.u64.u32 %l0, %next;
  cvta.shared.u64 %generic, %l0;
  ld.u32 %r7, [%generic];
  ld.u32 %r8, [%generic+20];
  isspacep.shared %p1, %generic;
  isspacep.shared %p2, %in;
  isspacep.global %p3, %generic;
  selp.u32 %r9, 1, 0, %p1;
  @%p2 add.u32 %r9, %r9, 2;
  @%p3 add.u32 %r9, %r9, 4;
  cvta.to.shared.u64 %l1, %generic;
  sub.u64 %l1, %l1, %l0;
  cvt.u32.u64 %r10, %l1;
  bar.sync 1, 96;
  ld.shared.u32 %r11, [few+8];
  st.global.v4.u32 [%own], {%r7, %r8, %r9, %r10};
  mov.u32 %r5, %total_smem_size;
  st.global.v2.u32 [%own+16], {%r11, %r5};
  mov.u32 %r6, few;
  sub.u32 %r6, %r6, %base;
  setp.lt.u32 %p0, %r6, )" +
         std::to_string(last) + R"(;
  selp.u32 %r6, 1, 0, %p0;
  st.global.u32 [%own+24], %r6;
  ret;
}
)";
}

std::string Ptx(bool dynamic) {
  const std::string bytes = std::to_string(kThreads * kStep);
  return ".version 8.0\n.target sm_80\n.address_size 64\n" +
         (dynamic ? ".extern .shared .align 128 .b8 words[];\n" +
                        Kernel("k", "", "words", kThreads * kStep)
                  : Kernel("k", ".shared .align 128 .b8 words[" + bytes + "];",
                           "words", kThreads * kStep));
}

void RunAndCheck(PtxModule& module, std::uint32_t dynamic_shared) {
  const std::uint32_t blocks = kBlocks[0] * kBlocks[1] * kBlocks[2];
  Buffer in(module.device(), 16);
  Buffer out(module.device(), 32 * kThreads * blocks);
  const std::uint32_t values[] = {7, 77, 777, 7777};
  std::copy_n(values, 4, in.as<std::uint32_t>());
  Launch launch;
  launch.grid = {kBlocks[0], kBlocks[1], kBlocks[2]};
  launch.block = {kThreads, 1, 1};
  launch.dynamic_shared = dynamic_shared;
  launch.params = {in.address(), out.address()};
  const Status status = module.Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  for (std::uint32_t i = 0; i < kThreads * blocks; ++i) {
    const std::uint32_t* got = out.as<std::uint32_t>() + 8 * i;
    const std::uint32_t block = i / kThreads, next = (i + 1) % kThreads;
    EXPECT_EQ(got[0], 1000 * block + next) << i;
    EXPECT_EQ(got[1], 77u) << i;
    EXPECT_EQ(got[2], 1u) << i << ": shared, and not global";
    EXPECT_EQ(got[3], 0u) << i;
    EXPECT_EQ(got[4], kThreads) << i;
    EXPECT_GE(got[5], kThreads * kStep) << i;
    EXPECT_EQ(got[6], 0u) << i << ": the variables overlap";
  }
}

TEST(SharedWindow, StaticAboveTheHardwares) {
  auto module = PtxModule::Compile(Ptx(false), {}, /*overflow=*/true);
  ASSERT_TRUE(module) << module.error().ToString();
  RunAndCheck(**module, 0);
}

// One code object for both: the launch decides.
TEST(SharedWindow, DynamicAboveTheHardwares) {
  auto module = PtxModule::Compile(Ptx(true), {}, /*overflow=*/true);
  ASSERT_TRUE(module) << module.error().ToString();
  RunAndCheck(**module, kThreads * kStep);
  RunAndCheck(**module, 200 * 1024);
  const bool fits = SharedDevice()->info().lds_bytes > kThreads * kStep + 1024;
  EXPECT_EQ(
      (*module)
          ->Facts("k")
          .FormFor(kThreads, kThreads * kStep, SharedDevice()->info().lds_bytes)
          .window.has_value(),
      !fits);
}

TEST(SharedWindow, IsAskedFor) {
  const std::uint32_t lds = SharedDevice()->info().lds_bytes;
  if (lds > kThreads * kStep) return;  // gfx950 has enough
  const auto module = PtxModule::Compile(Ptx(false));
  ASSERT_FALSE(module);
  const std::string text = module.error().ToString();
  EXPECT_NE(text.find(std::to_string(lds)), std::string::npos) << text;
  EXPECT_NE(text.find("--shared-overflow=global"), std::string::npos) << text;
}

// A function that stays a call cannot know where its callers' windows are.
TEST(SharedWindow, IsRefusedWhereCallsUseSharedMemory) {
  const std::string ptx = R"(.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 words[200000];
.func f(.param .u32 n)
{
  .reg .b32 %n, %m;
  .reg .pred %p;
  ld.param.u32 %n, [n];
  st.shared.u32 [words+199992], %n;
  sub.u32 %m, %n, 1;
  setp.eq.u32 %p, %n, 0;
  @%p ret;
  { .param .u32 p; st.param.u32 [p], %m; call.uni f, (p); }
  ret;
}
.visible .entry k()
{
  { .param .u32 p; st.param.u32 [p], 3; call.uni f, (p); }
  ret;
}
)";
  const auto module = PtxModule::Compile(ptx, {}, /*overflow=*/true);
  ASSERT_FALSE(module);
  const std::string text = module.error().ToString();
  EXPECT_NE(text.find("functions that it calls"), std::string::npos) << text;
}

}  // namespace
}  // namespace cerberus::exec
