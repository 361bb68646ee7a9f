// What moves without memory and where variables lie: mov, cvta, isspacep,
// mapa, hints for caches, variables of each state space.
//
// PTX ISA 9.0, "Data Movement and Conversion Instructions" and "State Spaces".
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/memory_exec_test.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

TEST(MemoryExec, MovPacksAndUnpacks) {
  const auto out = RunOne(
      "",
      "  ld.global.b64 %l0, [%in];\n"
      "  mov.b64 {%r0, %r1}, %l0;\n  mov.b64 %l1, {%r1, %r0};\n"
      "  st.global.b64 [%out], %l1;\n"
      "  mov.b64 {%h0, %h1, %h2, %h3}, %l0;\n"
      "  mov.b64 %l2, {%h3, %h2, %h1, %h0};\n"
      "  st.global.b64 [%out+8], %l2;\n"
      "  mov.b32 {%h4, %h5}, %r0;\n  mov.b32 %r2, {%h5, %h4};\n"
      "  st.global.b32 [%out+16], %r2;\n  st.global.b32 [%out+20], %r0;\n"
      "  mov.b64 {_, %r3}, %l0;\n"
      "  st.global.b32 [%out+24], %r3;\n  st.global.b32 [%out+28], 0;\n",
      {0x0123456789abcdef}, 4);
  EXPECT_EQ(out[0], 0x89abcdef01234567u);
  EXPECT_EQ(out[1], 0xcdef89ab45670123u);
  EXPECT_EQ(out[2], 0x89abcdefcdef89abu);
  EXPECT_EQ(out[3], 0x01234567u);
}

TEST(MemoryExec, MovOfEveryType) {
  for (const LoweredSpelling& s : LoweredSpellingsOf("mov")) {
    const Spelling parts(s.text);
    const PtxType t = parts.type();
    if (s.Has("v2") || s.Has("v4")) {
      // Out of a vector register, reversed, and into another one.
      const std::string width = s.Has("v2") ? "2" : "4";
      const std::string bits = std::to_string(t.bits);
      const std::string names =
          s.Has("v2") ? "{%e1, %e0}" : "{%e3, %e2, %e1, %e0}";
      const auto out = RunOne(
          "",
          "  .reg .v" + width + " .b" + bits + " %x, %y;\n  .reg .b" + bits +
              " %e<4>;\n  st.global.b64 [%out], 0;\n"
              "  st.global.b64 [%out+8], 0;\n  ld.global.v" +
              width + ".b" + bits + " %x, [%in];\n  " + s.text + " " + names +
              ", %x;\n  " + s.text + " %y, " + names + ";\n  st.global.v" +
              width + ".b" + bits + " [%out], %y;\n",
          {0xfedcba9876543210, 0x1122334455667788}, 2);
      const int total = t.bits * (s.Has("v2") ? 2 : 4);
      const std::uint64_t low = total >= 64 ? ~0ull : (1ull << total) - 1;
      EXPECT_EQ(out[0], 0xfedcba9876543210u & low) << s.text;
      EXPECT_EQ(out[1], total == 128 ? 0x1122334455667788u : 0u) << s.text;
      continue;
    }
    if (t.kind == PtxType::Kind::kPred) {
      const auto out = RunOne("",
                              "  ld.global.b32 %r0, [%in];\n"
                              "  setp.ne.u32 %p0, %r0, 0;\n  " +
                                  s.text +
                                  " %p1, %p0;\n  selp.u32 %r1, 1, 2, %p1;\n"
                                  "  cvt.u64.u32 %l0, %r1;\n"
                                  "  st.global.b64 [%out], %l0;\n",
                              {5}, 1);
      EXPECT_EQ(out[0], 1u);
      continue;
    }
    const std::string reg = ".b" + std::to_string(t.bits);
    const auto out =
        RunOne("",
               "  .reg " + reg +
                   " %x, %y;\n  st.global.b64 [%out], 0;\n"
                   "  st.global.b64 [%out+8], 0;\n  ld.global" +
                   reg + " %x, [%in];\n  " + s.text + " %y, %x;\n  st.global" +
                   reg + " [%out], %y;\n",
               {0xfedcba9876543210, 0x1122334455667788}, 2);
    const std::uint64_t mask = t.bits >= 64 ? ~0ull : (1ull << t.bits) - 1;
    EXPECT_EQ(out[0], 0xfedcba9876543210u & mask) << s.text;
    EXPECT_EQ(out[1], t.bits == 128 ? 0x1122334455667788u : 0u) << s.text;
  }
}

TEST(MemoryExec, MovImmediatesAndFloats) {
  const auto out = RunOne(
      "",
      "  mov.f32 %f0, 0f3FC00000;\n  mov.f64 %d0, 0d4004000000000000;\n"
      "  mov.f32 %f1, 2.5;\n  mov.u32 %r0, -1;\n  mov.s64 %l0, -2;\n"
      "  mov.u32 %r1, 0x10U;\n  mov.b16 %h0, 0xBEEF;\n"
      "  st.global.f32 [%out], %f0;\n  st.global.f32 [%out+4], %f1;\n"
      "  st.global.f64 [%out+8], %d0;\n  st.global.u32 [%out+16], %r0;\n"
      "  st.global.u32 [%out+20], %r1;\n  st.global.u64 [%out+24], %l0;\n"
      "  mov.u64 %l1, 0;\n  st.global.b64 [%out+32], %l1;\n"
      "  st.global.b16 [%out+32], %h0;\n",
      {}, 5);
  EXPECT_EQ(out[0], 0x402000003fc00000u);
  EXPECT_EQ(out[1], 0x4004000000000000u);
  EXPECT_EQ(out[2], 0x00000010ffffffffu);
  EXPECT_EQ(out[3], static_cast<std::uint64_t>(-2));
  EXPECT_EQ(out[4], 0xbeefu);
}

// A pointer into each space, made generic, used, turned back.
TEST(MemoryExec, CvtaGoesBothWays) {
  for (const char* space : {"global", "shared", "shared::cta",
                            "shared::cluster", "local", "const"}) {
    const std::string s(space);
    const bool is_const = s == "const", is_shared = s.starts_with("shared");
    const std::string declare =
        s == "global" || is_const
            ? "." + s + " .align 8 .b64 var[2] = {11, 22};\n"
            : "";
    const std::string inside =
        declare.empty()
            ? "  ." + s.substr(0, s.find(':')) + " .align 8 .b64 var[2];\n"
            : "";
    const auto out = RunOne(
        declare,
        inside + "  mov.u64 %l0, var;\n" +
            (is_const
                 ? ""
                 : "  mov.b64 %l6, 33;\n  st." + s + ".b64 [%l0+8], %l6;\n") +
            "  cvta." + s +
            ".u64 %l1, %l0;\n"
            "  ld.b64 %l2, [%l1+8];\n  st.global.b64 [%out], %l2;\n"
            "  cvta.to." +
            s +
            ".u64 %l3, %l1;\n"
            "  ld." +
            s +
            ".b64 %l4, [%l3+8];\n"
            "  st.global.b64 [%out+8], %l4;\n"
            "  cvta." +
            s +
            ".u64 %l5, var;\n"
            "  sub.u64 %l5, %l5, %l1;\n  st.global.b64 [%out+16], %l5;\n"
            "  isspacep." +
            s +
            " %p0, %l1;\n  selp.u64 %l6, 1, 0, %p0;\n"
            "  st.global.b64 [%out+24], %l6;\n"
            "  isspacep." +
            (is_shared ? "local" : "shared") +
            " %p1, %l1;\n  selp.u64 %l6, 1, 0, %p1;\n"
            "  st.global.b64 [%out+32], %l6;\n",
        {}, 5);
    const std::uint64_t want = is_const ? 22 : 33;
    EXPECT_EQ(out[0], want) << space;
    EXPECT_EQ(out[1], want) << space;
    EXPECT_EQ(out[2], 0u) << space;
    EXPECT_EQ(out[3], 1u) << space;
    EXPECT_EQ(out[4], 0u) << space;
  }
}

TEST(MemoryExec, CvtaOfAKernelsParameters) {
  for (const std::string space : {"param", "param::entry"}) {
    const auto out =
        RunOne("",
               "  cvta." + space +
                   ".u64 %l1, in;\n  ld.u64 %l2, [%l1];\n"
                   "  sub.u64 %l2, %l2, %in;\n  st.global.b64 [%out], %l2;\n"
                   "  cvta.to." +
                   space +
                   ".u64 %l3, %l1;\n"
                   "  ld.param.u64 %l4, [%l3+8];\n  sub.u64 %l4, %l4, %out;\n"
                   "  st.global.b64 [%out+8], %l4;\n"
                   "  isspacep." +
                   space +
                   " %p0, %l1;\n"
                   "  isspacep." +
                   space +
                   " %p1, %in;\n"
                   "  selp.u64 %l5, 1, 0, %p0;\n  selp.u64 %l6, 1, 0, %p1;\n"
                   "  st.global.b64 [%out+16], %l5;\n"
                   "  st.global.b64 [%out+24], %l6;\n",
               {}, 4);
    EXPECT_EQ(out, (std::vector<std::uint64_t>{0, 0, 1, 0})) << space;
  }
}

TEST(MemoryExec, VariablesHoldAddressesOfOthers) {
  const auto out = RunOne(
      ".global .align 4 .u32 numbers[4] = {10, 20, 30, 40};\n"
      ".global .align 8 .u64 third = numbers+8;\n"
      ".global .align 8 .u64 generic_third = generic(numbers)+8;\n",
      "  ld.global.u64 %l0, [third];\n  ld.global.u32 %r0, [%l0];\n"
      "  ld.global.u64 %l1, [generic_third];\n  ld.u32 %r1, [%l1+4];\n"
      "  mov.u64 %l2, numbers;\n  ld.global.u32 %r2, [%l2+4];\n"
      "  ld.global.u32 %r3, [numbers];\n"
      "  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n",
      {}, 2);
  EXPECT_EQ(out[0], 40ull << 32 | 30);
  EXPECT_EQ(out[1], 10ull << 32 | 20);
}

TEST(MemoryExec, DynamicSharedMemoryStartsBehindTheStatic) {
  const std::string text =
      std::string(kHeader) +
      ".extern .shared .align 16 .b8 dynamic[];\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .shared .align 4 .b32 fixed[16];\n"
      "  .reg .b64 %out, %l<4>;\n  .reg .b32 %r<8>, %size;\n"
      "  ld.param.u64 %out, [out];\n  mov.u32 %r0, %tid.x;\n"
      "  mov.u32 %r1, fixed;\n  mad.lo.u32 %r1, %r0, 4, %r1;\n"
      "  mov.u32 %r2, dynamic;\n  mad.lo.u32 %r2, %r0, 4, %r2;\n"
      "  st.shared.u32 [%r1], 7;\n  st.shared.u32 [%r2], %r0;\n"
      "  bar.sync 0;\n"
      "  ld.shared.u32 %r3, [%r1];\n  ld.shared.u32 %r4, [%r2];\n"
      "  add.u32 %r5, %r3, %r4;\n"
      "  mad.wide.u32 %l0, %r0, 4, %out;\n  st.global.u32 [%l0], %r5;\n"
      "  mov.u32 %size, %dynamic_smem_size;\n"
      "  st.global.u32 [%out+64], %size;\n  ret;\n}\n";
  auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  Buffer out((*module)->device(), 128);
  Launch launch;
  launch.block = {16, 1, 1};
  launch.dynamic_shared = 64;
  launch.params = {0, out.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  for (std::uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(out.as<std::uint32_t>()[i], 7 + i);
  }
  EXPECT_EQ(out.as<std::uint32_t>()[16], 64u);
}

// All of it is the launch's: local arrays take none.
TEST(MemoryExec, LocalMemoryIsNotShared) {
  const std::string text =
      std::string(kHeader) +
      ".func (.param .b64 r) f(.param .align 8 .b8 p[48])\n{\n"
      "  .reg .b64 %d<4>;\n  .reg .b16 %h;\n"
      "  mov.b64 %d0, p;\n"
      "  ld.local.b16 %h, [%d0+2];\n  add.u16 %h, %h, 1;\n"
      "  st.local.b16 [%d0+2], %h;\n"
      "  ld.local.b64 %d1, [%d0+16];\n  add.u64 %d1, %d1, 1;\n"
      "  st.local.b64 [%d0+16], %d1;\n"
      "  ld.local.b8 %d2, [%d0+17];\n  st.local.b8 [%d0+45], %d2;\n"
      "  ld.local.b64 %d3, [%d0+40];\n  add.u64 %d3, %d3, %d1;\n"
      "  st.param.b64 [r], %d3;\n  ret;\n}\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b64 %out, %l<2>;\n"
      "  ld.param.u64 %out, [out];\n"
      "  ld.global.v2.u64 {%l0, %l1}, [%out];\n"
      "  .param .align 8 .b8 p[48];\n  .param .b64 r;\n"
      "  st.param.v2.b64 [p], {%l0, %l1};\n"
      "  st.param.v2.b64 [p+16], {%l1, %l0};\n"
      "  st.param.v2.b64 [p+32], {%l0, %l0};\n"
      "  call (r), f, (p);\n"
      "  ld.param.b64 %l0, [r];\n  st.global.u64 [%out], %l0;\n  ret;\n}\n";
  auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  Buffer out((*module)->device(), 16);
  out.as<std::uint64_t>()[0] = 0x1122334455667788;
  out.as<std::uint64_t>()[1] = 0x0102030405060708;
  Launch launch;
  launch.dynamic_shared = 64 << 10;
  launch.params = {0, out.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_EQ(out.as<std::uint64_t>()[0],
            0x1122074455667788 + 0x0102030405060709);
}

// A half of a register is loaded from one address, at which each lane has its
// own; the other half is the same in all. As -G compiles it: with optimisation
// nothing was found that loads so.
TEST(MemoryExec, HalvesInLocalMemoryAreEachLanesOwn) {
  for (const char* type : {".b16", ".u8"}) {
    for (const char* space : {".local", ""}) {
      SCOPED_TRACE(type + std::string(space));
      const std::string text =
          ".version 9.0\n.target sm_100a, debug\n.address_size 64\n"
          ".visible .entry k(.param .u64 out)\n{\n"
          "  .reg .b64 %out, %at;\n  .reg .b32 %t, %r<4>;\n"
          "  .reg .b16 %h<4>;\n  .local .align 4 .b8 depot[64];\n"
          "  ld.param.u64 %out, [out];\n  mov.u32 %t, %tid.x;\n"
          "  cvt.u16.u32 %h0, %t;\n  add.u16 %h0, %h0, 0x3f80;\n"
          "  mov.u64 %at, depot;\n  mov.u32 %r0, %ctaid.x;\n"
          "  mad.wide.u32 %at, %r0, 2, %at;\n  st.local.b16 [%at+2], %h0;\n"
          "  mov.u64 %at, depot;\n" +
          std::string(*space == 0 ? "  cvta.local.u64 %at, %at;\n" : "") +
          "  ld" + space + type + " %h1, [%at+2];\n" +
          std::string(*type == '.' && type[1] == 'u'
                          ? "  shl.b16 %h1, %h1, 3;\n"
                            "  or.b16 %h1, %h1, 0x3f80;\n"
                          : "") +
          "  cvt.rz.f16.bf16 %h2, %h1;\n  mov.b32 %r1, {%h2, %h0};\n"
          "  mad.wide.u32 %out, %t, 4, %out;\n"
          "  st.global.b32 [%out], %r1;\n  ret;\n}\n";
      Result<std::unique_ptr<PtxModule>> module = PtxModule::Compile(text);
      ASSERT_TRUE(module) << module.error().ToString();
      Buffer out((*module)->device(), 4 * kThreads);
      Launch launch;
      launch.block = {kThreads, 1, 1};
      launch.params = {out.address()};
      const Status status = (*module)->Run("k", launch);
      ASSERT_TRUE(status) << status.error().ToString();
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        const std::uint32_t of_byte =
            (((0x3f80 + t) & 0xff) << 3 & 0xffff) | 0x3f80;
        const std::uint32_t number = type[1] == 'u' ? of_byte : 0x3f80 + t;
        // From 1 to below 4: three more bits of fraction, another bias.
        const std::uint32_t half = (number << 3) - ((127 - 15) << 10);
        EXPECT_EQ(out.as<std::uint32_t>()[t],
                  (0x3f80 + t) << 16 | (half & 0xffff))
            << t;
      }
    }
  }
}

// Prefetches, priorities and policies: whatever they do to caches, what is
// read and written stays the same.
TEST(MemoryExec, HintsChangeNothing) {
  KernelBatch batch{std::string(kHeader) +
                    ".const .align 128 .b8 table[128];\n"};
  int kernels = 0;
  for (const char* opcode :
       {"prefetch", "prefetchu", "applypriority", "applypriority.async.bulk",
        "discard", "createpolicy"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      const std::string name(opcode);
      std::vector<std::string> operands;
      if (name == "createpolicy") {
        if (s.Has("range")) {
          operands = {"%policy, [%line], 128, 256"};
        } else if (s.Has("cvt")) {
          operands = {"%policy, %line"};
        } else {
          operands = {"%policy", "%policy, 0.5"};
        }
      } else {
        const std::string address = s.Has("local")   ? "depot"
                                    : s.Has("const") ? "table"
                                    : s.Has("param") ? "in"
                                                     : "%line";
        operands = {"[" + address + "]" +
                    (name == "discard" || name.starts_with("applypriority")
                         ? ", 128"
                         : "")};
      }
      for (const std::string& operand : operands) {
        ++kernels;
        // discard may lose what the line holds: it goes before the store.
        batch.Add(
            s.text,
            Entry(batch.NextName()) +
                "  .reg .b64 %line;\n  .local .align 128 .b8 depot[128];\n"
                "  ld.param.u64 %line, [" +
                (name == "discard" ? "out" : "in") + "];\n" + Prologue(4) +
                "  .reg .b32 %r;\n  " + s.text + " " + operand +
                ";\n  bar.sync 0;\n" +
                (name == "createpolicy"
                     ? "  ld.global.L2::cache_hint.b32 %r, [%in], %policy;\n"
                     : "  ld.global.b32 %r, [%in];\n") +
                "  st.global.b32 [%out], %r;\n  ret;\n}\n",
            [](PtxModule& module, const std::string& k) {
              Copies(module, k, 4);
            });
      }
    }
  }
  EXPECT_GT(kernels, 0);
}

// Without a debugger, a profiler and a dependent grid there is nothing to do.
TEST(MemoryExec, EventsForOthersChangeNothing) {
  KernelBatch batch{std::string(kHeader)};
  int kernels = 0;
  for (const char* opcode :
       {"brkpt", "pmevent", "trace.mark", "griddepcontrol"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      ++kernels;
      batch.Add(
          s.text,
          Entry(batch.NextName()) + Prologue(4) + "  .reg .b32 %r;\n" +
              "  ld.global.b32 %r, [%in];\n  " + s.text +
              (s.text.starts_with("pmevent") || s.text.starts_with("trace.mark")
                   ? " 1"
                   : "") +
              (s.Has("b32")   ? ", %r"
               : s.Has("b64") ? ", %in"
                              : "") +
              ";\n  st.global.b32 [%out], %r;\n  ret;\n}\n",
          [](PtxModule& module, const std::string& k) {
            Copies(module, k, 4);
          });
    }
  }
  EXPECT_GT(kernels, 0);
}

// A cluster of one block, which every grid has that names no other.
TEST(MemoryExec, ClusterOfOneBlock) {
  for (const LoweredSpelling& arrive : LoweredSpellingsOf("barrier.cluster")) {
    if (!arrive.Has("arrive")) continue;
    for (const LoweredSpelling& wait : LoweredSpellingsOf("barrier.cluster")) {
      if (!wait.Has("wait")) continue;
      const std::string text =
          std::string(kHeader) + Entry("k") + Prologue(4) +
          "  .reg .b32 %r, %s;\n  .reg .b64 %mine, %other;\n"
          "  .shared .align 4 .b8 words[256];\n  mov.u64 %other, words;\n"
          "  mad.wide.u32 %mine, %thread, 4, %other;\n"
          "  xor.b32 %s, %thread, 63;\n"
          "  mad.wide.u32 %other, %s, 4, %other;\n"
          "  ld.global.b32 %r, [%in];\n  st.shared.b32 [%mine], %r;\n  " +
          arrive.text + ";\n  " + wait.text +
          ";\n  ld.shared.b32 %r, [%other];\n"
          "  st.global.b32 [%out], %r;\n  ret;\n}\n";
      auto module = PtxModule::Compile(text);
      ASSERT_TRUE(module) << module.error().ToString() << text;
      Buffer in((*module)->device(), 4 * kThreads);
      Buffer out((*module)->device(), 4 * kThreads);
      std::iota(in.as<std::uint32_t>(), in.as<std::uint32_t>() + kThreads, 7u);
      Launch launch;
      launch.block = {kThreads, 1, 1};
      launch.params = {in.address(), out.address()};
      ASSERT_TRUE((*module)->Run("k", launch)) << arrive.text;
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        ASSERT_EQ(out.as<std::uint32_t>()[t], 7 + (t ^ 63)) << arrive.text;
      }
    }
  }
  for (const LoweredSpelling& s : LoweredSpellingsOf("mapa")) {
    const bool wide = s.Has("u64") || s.Has("s64");
    const bool window = s.Has("shared::cluster");
    const std::string size = wide ? "64" : "32";
    const std::string reg = wide ? "%l" : "%r";
    if (!wide && !window) continue;  // generic addresses have 64 bits here
    const auto out = RunOne(
        "",
        "  .shared .align 8 .b64 var[2];\n  mov.u" + size + " " + reg +
            "0, var;\n" + (window ? "" : "  cvta.shared.u64 %l0, %l0;\n") +
            "  " + s.text + " " + reg + "1, " + reg +
            "0, 0;\n  mov.b64 %l5, 33;\n  st" +
            (window ? ".shared::cluster" : "") + ".b64 [" + reg +
            "1+8], %l5;\n  ld.shared.b64 %l6, [var+8];\n"
            "  st.global.b64 [%out], %l6;\n",
        {}, 1);
    EXPECT_EQ(out[0], 33u) << s.text;
  }
}

}  // namespace
}  // namespace cerberus::exec
