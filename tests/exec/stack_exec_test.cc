// What a thread has around it: special registers, the stack, the sizes of
// shared memory.
//
// PTX ISA 9.0, "Special Registers" and "Stack Manipulation Instructions".
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/exec/control_exec_test.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

TEST(ControlExec, SpecialRegisters) {
  const std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n"
      ".visible .entry k(.param .u64 out)\n{\n"
      "  .reg .b64 %out;\n  .reg .b32 %r<24>;\n"
      "  ld.param.u64 %out, [out];\n"
      "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %tid.y;\n"
      "  mov.u32 %r2, %tid.z;\n  mov.u32 %r3, %ntid.x;\n"
      "  mov.u32 %r4, %ntid.y;\n  mov.u32 %r5, %ntid.z;\n"
      "  mov.u32 %r6, %ctaid.x;\n  mov.u32 %r7, %ctaid.y;\n"
      "  mov.u32 %r8, %ctaid.z;\n  mov.u32 %r9, %nctaid.x;\n"
      "  mov.u32 %r10, %nctaid.y;\n  mov.u32 %r11, %nctaid.z;\n"
      "  mov.u32 %r12, %laneid;\n  mov.u32 %r13, %lanemask_lt;\n"
      "  mov.u32 %r14, WARP_SZ;\n"
      // What is 0 changes nothing.
      "  mov.u32 %r19, %locality_domain_id;\n  or.b32 %r12, %r12, %r19;\n"
      "  mov.u32 %r19, %locality_domain_supplemental_sm;\n"
      "  or.b32 %r12, %r12, %r19;\n"
      // A row of 16 words per thread, rows in launch order.
      "  mad.lo.u32 %r16, %r8, %r10, %r7;\n"
      "  mad.lo.u32 %r16, %r16, %r9, %r6;\n"
      "  mad.lo.u32 %r17, %r2, %r4, %r1;\n"
      "  mad.lo.u32 %r17, %r17, %r3, %r0;\n"
      "  mul.lo.u32 %r18, %r3, %r4;\n  mul.lo.u32 %r18, %r18, %r5;\n"
      "  mad.lo.u32 %r16, %r16, %r18, %r17;\n"
      "  mad.wide.u32 %out, %r16, 64, %out;\n"
      "  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n"
      "  st.global.v4.u32 [%out+16], {%r4, %r5, %r6, %r7};\n"
      "  st.global.v4.u32 [%out+32], {%r8, %r9, %r10, %r11};\n"
      "  st.global.v4.u32 [%out+48], {%r12, %r13, %r14, %r17};\n"
      "  ret;\n}\n";
  auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  const std::uint32_t block[3] = {5, 3, 4}, grid[3] = {2, 3, 2};
  const std::uint32_t threads = 60, blocks = 12;
  Buffer out((*module)->device(), 64 * threads * blocks);
  Launch launch;
  launch.block = {block[0], block[1], block[2]};
  launch.grid = {grid[0], grid[1], grid[2]};
  launch.params = {out.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  for (std::uint32_t b = 0; b < blocks; ++b) {
    for (std::uint32_t t = 0; t < threads; ++t) {
      const std::uint32_t* row =
          out.as<std::uint32_t>() + (b * threads + t) * 16;
      const std::uint32_t lane = t % 32;
      const std::uint32_t want[16] = {t % 5, t / 5 % 3,        t / 15, 5, 3, 4,
                                      b % 2, b / 2 % 3,        b / 6,  2, 3, 2,
                                      lane,  (1u << lane) - 1, 32,     t};
      for (int i = 0; i < 16; ++i) {
        ASSERT_EQ(row[i], want[i])
            << "block " << b << " thread " << t << " word " << i;
      }
    }
  }
}

// A thread may end in a function that it called through a pointer, whether
// that function returns something or not.

TEST(ControlExec, StackThatGrows) {
  for (const char* type : {"u32", "u64"}) {
    const std::string t(type);
    const std::string r = t == "u32" ? "%r" : "%l";
    const auto out = RunThreads(
        "",
        "  .reg .b32 %i, %n, %sum;\n  mov.u32 %n, 0;\n  mov.u32 %sum, 0;\n"
        "LOOP:\n  stacksave." +
            t + " " + r +
            "4;\n"
            "  mov." +
            t + " " + r +
            "0, 64;\n"
            "  alloca." +
            t + " " + r + "1, " + r +
            "0;\n"
            "  alloca." +
            t + " " + r +
            "2, 32, 16;\n"
            "  mov.u32 %i, 0;\n"
            "FILL:\n  add.u32 %r8, %thread, %i;\n  add.u32 %r8, %r8, %n;\n"
            "  st.local.u32 [" +
            r +
            "1], %r8;\n"
            "  st.local.u32 [" +
            r +
            "2], %i;\n"
            "  ld.local.u32 %r9, [" +
            r +
            "1];\n"
            "  ld.local.u32 %r10, [" +
            r +
            "2];\n"
            "  add.u32 %sum, %sum, %r9;\n  sub.u32 %sum, %sum, %r10;\n"
            "  add." +
            t + " " + r + "1, " + r +
            "1, 4;\n"
            "  add." +
            t + " " + r + "2, " + r +
            "2, 4;\n"
            "  add.u32 %i, %i, 1;\n  setp.lt.u32 %p0, %i, 8;\n"
            "  @%p0 bra FILL;\n  stackrestore." +
            t + " " + r +
            "4;\n"
            "  add.u32 %n, %n, 1;\n  setp.lt.u32 %p0, %n, 100;\n"
            "  @%p0 bra LOOP;\n  cvt.u64.u32 %result, %sum;\n");
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      EXPECT_EQ(out[thread], 8 * (100 * thread + 4950)) << type << thread;
    }
  }
  for (const char* opcode : {"alloca", "stacksave", "stackrestore"}) {
    EXPECT_EQ(LoweredSpellingsOf(opcode).size(), 2u) << opcode;
  }
}

// Stacks of 1 KiB, which threads of CUDA have unless they ask for more.
TEST(ControlExec, AllocatedStackIsNoLargerThanAskedFor) {
  const auto out =
      RunThreads("",
                 "  mad.lo.u32 %r0, %thread, 4, 400;\n  alloca.u32 %r1, %r0;\n"
                 "  st.local.u32 [%r1], %thread;\n  add.u32 %r2, %r1, %r0;\n"
                 "  st.local.u32 [%r2+-4], %r0;\n  alloca.u32 %r3, 300;\n"
                 "  mov.u32 %r4, 0;\n"
                 "FILL:\n  add.u32 %r5, %r3, %r4;\n  st.local.u32 [%r5], 77;\n"
                 "  add.u32 %r4, %r4, 4;\n  setp.lt.u32 %p0, %r4, 300;\n"
                 "  @%p0 bra FILL;\n  ld.local.u32 %r6, [%r1];\n"
                 "  ld.local.u32 %r7, [%r2+-4];\n  add.u32 %r6, %r6, %r7;\n"
                 "  cvt.u64.u32 %result, %r6;\n");
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    EXPECT_EQ(out[thread], 400 + 5 * thread) << thread;
  }
}

// Functions that write n words and add them up.
constexpr const char* kOfWords =
    ".func fill(.reg .b32 at, .reg .b32 n, .reg .b32 v)\n{\n"
    "  .reg .pred p;\n"
    "MORE:\n  st.local.u32 [at], v;\n  add.u32 at, at, 4;\n"
    "  sub.u32 n, n, 1;\n  setp.ne.u32 p, n, 0;\n  @p bra MORE;\n  ret;\n}\n"
    ".func (.reg .b32 s) sum(.reg .b32 at, .reg .b32 n)\n{\n"
    "  .reg .pred p;\n  .reg .b32 w;\n  mov.u32 s, 0;\n"
    "MORE:\n  ld.local.u32 w, [at];\n  add.u32 s, s, w;\n"
    "  add.u32 at, at, 4;\n  sub.u32 n, n, 1;\n  setp.ne.u32 p, n, 0;\n"
    "  @p bra MORE;\n  ret;\n}\n";

TEST(ControlExec, PiecesOfStackLieBesideEachOther) {
  const auto out = RunThreads(
      kOfWords,
      "  .local .align 4 .b8 frame[64];\n  mov.u32 %r8, frame;\n"
      "  call fill, (%r8, 16, 5);\n"
      "  alloca.u32 %r1, 512;\n  alloca.u32 %r2, 512, 64;\n"
      "  alloca.u32 %r3, 512;\n  alloca.u32 %r4, 16;\n"
      "  alloca.u32 %r5, 16;\n"
      "  add.u32 %r6, %thread, 1;\n  call fill, (%r1, 128, %r6);\n"
      "  add.u32 %r6, %thread, 2;\n  call fill, (%r2, 128, %r6);\n"
      "  add.u32 %r6, %thread, 3;\n  call fill, (%r3, 128, %r6);\n"
      "  call fill, (%r4, 4, 1);\n  call fill, (%r5, 4, 2);\n"
      "  call (%r9), sum, (%r1, 128);\n  call (%r10), sum, (%r2, 128);\n"
      "  call (%r11), sum, (%r3, 128);\n  call (%r12), sum, (%r8, 16);\n"
      "  mad.lo.u32 %r9, %r10, 3, %r9;\n  mad.lo.u32 %r9, %r11, 5, %r9;\n"
      "  add.u32 %r9, %r9, %r12;\n"
      "  sub.u32 %r5, %r5, %r4;\n  and.b32 %r2, %r2, 63;\n"
      "  mad.lo.u32 %r9, %r5, 1000000, %r9;\n"
      "  mad.lo.u32 %r9, %r2, 100000000, %r9;\n"
      "  cvt.u64.u32 %result, %r9;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(out[t], 128 * ((t + 1) + 3 * (t + 2) + 5 * (t + 3)) + 16 * 5 +
                          16 * 1000000)
        << t;
  }
}

// Half of the lanes give back what they took, beside others that keep it.
TEST(ControlExec, StackOfLanesInBranches) {
  const auto out = RunThreads(
      kOfWords,
      "  stacksave.u32 %r0;\n  and.b32 %r1, %thread, 1;\n"
      "  setp.eq.u32 %p0, %r1, 1;\n  mov.u32 %r9, 0;\n"
      "  @%p0 bra KEEP;\n  alloca.u32 %r2, 256;\n"
      "  call fill, (%r2, 64, 9);\n  stackrestore.u32 %r0;\n  bra BOTH;\n"
      "KEEP:\n  mad.lo.u32 %r3, %thread, 4, 64;\n  alloca.u32 %r2, %r3;\n"
      "  shr.u32 %r4, %r3, 2;\n  call fill, (%r2, %r4, 7);\n"
      "BOTH:\n  alloca.u32 %r5, 128;\n  call fill, (%r5, 32, %thread);\n"
      "  @%p0 call (%r9), sum, (%r2, %r4);\n"
      "  call (%r6), sum, (%r5, 32);\n  add.u32 %r9, %r9, %r6;\n"
      "  cvt.u64.u32 %result, %r9;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(out[t], 32 * t + (t % 2 == 1 ? 7 * (t + 16) : 0)) << t;
  }
}

// A function that takes stack, of a size that each thread has for itself,
// calls itself: all that was taken above stays as it is, in loops too.
TEST(ControlExec, StackOfCalledFunctions) {
  const auto out = RunThreads(
      std::string(kOfWords) +
          ".func (.reg .b32 s) deep(.reg .b32 n, .reg .b32 t)\n{\n"
          "  .reg .pred p;\n  .reg .b32 %r<9>;\n"
          "  .local .align 4 .b8 frame[32];\n  mov.u32 %r5, frame;\n"
          "  call fill, (%r5, 8, n);\n"
          "  and.b32 %r0, t, 3;\n  add.u32 %r0, %r0, n;\n"
          "  mad.lo.u32 %r1, %r0, 8, 8;\n  alloca.u32 %r2, %r1;\n"
          "  shr.u32 %r3, %r1, 2;\n  add.u32 %r4, n, t;\n"
          "  call fill, (%r2, %r3, %r4);\n  mov.u32 s, 0;\n"
          "  setp.eq.u32 p, n, 0;\n  @p bra LEAF;\n  sub.u32 %r6, n, 1;\n"
          "  call (s), deep, (%r6, t);\n"
          "LEAF:\n  call (%r7), sum, (%r2, %r3);\n  add.u32 s, s, %r7;\n"
          "  call (%r7), sum, (%r5, 8);\n  add.u32 s, s, %r7;\n  ret;\n}\n",
      "  alloca.u32 %r1, 64;\n  mul.lo.u32 %r2, %thread, 7;\n"
      "  call fill, (%r1, 16, %r2);\n  mov.u32 %r3, 0;\n"
      "  mov.u32 %r9, 0;\n"
      "LOOP:\n  stacksave.u32 %r10;\n  alloca.u32 %r11, 48;\n"
      "  call fill, (%r11, 12, %r3);\n  and.b32 %r4, %thread, 1;\n"
      "  setp.eq.u32 %p0, %r4, 1;\n  @%p0 bra ODD;\n"
      "  call (%r5), deep, (2, %thread);\n  bra BOTH;\n"
      "ODD:\n  call (%r5), deep, (4, %thread);\n"
      "BOTH:\n  add.u32 %r9, %r9, %r5;\n  call (%r5), sum, (%r11, 12);\n"
      "  add.u32 %r9, %r9, %r5;\n  stackrestore.u32 %r10;\n"
      "  add.u32 %r3, %r3, 1;\n  setp.lt.u32 %p1, %r3, 50;\n"
      "  @%p1 bra LOOP;\n  call (%r5), sum, (%r1, 16);\n"
      "  add.u32 %r9, %r9, %r5;\n  cvt.u64.u32 %result, %r9;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    std::uint64_t deep = 0;
    for (std::uint32_t n = 0; n <= (t % 2 == 1 ? 4 : 2); ++n) {
      deep += (((t & 3) + n) * 2 + 2) * (n + t) + 8 * n;
    }
    EXPECT_EQ(out[t], 50 * deep + 12 * 1225 + 16 * 7 * t) << t;
  }
}

TEST(ControlExec, SharedMemorySizes) {
  const auto out = RunThreads(
      "",
      "  .shared .align 4 .b8 some[200];\n  st.shared.u32 [some], %thread;\n"
      "  mov.u32 %r0, %total_smem_size;\n  mov.u32 %r1, %aggr_smem_size;\n"
      "  mov.u32 %r2, %dynamic_smem_size;\n  sub.u32 %r1, %r1, %r0;\n"
      "  add.u32 %r0, %r0, %r1;\n  add.u32 %r0, %r0, %r2;\n"
      "  cvt.u64.u32 %result, %r0;\n");
  for (const std::uint64_t size : out) EXPECT_EQ(size, 256u);
}

// It is memory of its own, beside the kernel's, and all threads see the same.
TEST(ControlExec, ReservedSharedMemory) {
  const auto out = RunThreads(
      "",
      "  .shared .align 4 .b8 mine[256];\n"
      "  mov.u32 %r9, mine;\n  shl.b32 %r0, %thread, 2;\n"
      "  add.u32 %r9, %r9, %r0;\n  st.shared.u32 [%r9], %thread;\n"
      "  mov.u32 %r1, %reserved_smem_offset_1;\n  add.u32 %r2, %r1, %r0;\n"
      "  add.u32 %r3, %thread, 1000;\n  st.shared.u32 [%r2], %r3;\n"
      "  mov.u32 %r4, %reserved_smem_offset_0;\n  add.u32 %r5, %r4, %r0;\n"
      "  add.u32 %r3, %thread, 3000;\n  st.shared.u32 [%r5], %r3;\n"
      "  bar.sync 0;\n  xor.b32 %r0, %r0, 252;\n"
      "  add.u32 %r2, %r1, %r0;\n  ld.shared.u32 %r6, [%r2];\n"
      "  add.u32 %r5, %r4, %r0;\n  ld.shared.u32 %r7, [%r5];\n"
      "  ld.shared.u32 %r8, [%r9];\n  add.u32 %r6, %r6, %r7;\n"
      "  add.u32 %r6, %r6, %r8;\n"
      "  mov.u32 %r2, %reserved_smem_offset_begin;\n"
      "  mov.u32 %r3, %reserved_smem_offset_end;\n  sub.u32 %r3, %r3, %r2;\n"
      "  mov.u32 %r4, %reserved_smem_offset_cap;\n"
      "  setp.ne.u32 %p0, %r3, %r4;\n  @%p0 mov.u32 %r6, 0;\n"
      "  cvt.u64.u32 %result, %r6;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(out[t], 4000u + 2 * (kThreads - 1 - t) + t) << t;
  }
}

}  // namespace
}  // namespace cerberus::exec
