// Copies of a few bytes, reductions, st.async and red.async, and the
// instructions for clusters, in a cluster of one block.
//
// PTX ISA 9.0, "Data Movement and Conversion Instructions: Asynchronous
// copy".
#include "tests/exec/async_exec_test.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/exec/atomic_reference.h"
#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

// ---- cp.async ---------------------------------------------------------------

TEST(AsyncExec, CpAsync) {
  KernelBatch batch{std::string(kHeader)};
  int copies = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("cp.async")) {
    if (!s.Has("ca") && !s.Has("cg")) continue;
    for (int size : {4, 8, 16}) {
      if (s.Has("cg") && size != 16) continue;
      ++copies;
      const std::string n = std::to_string(size);
      struct Form {
        const char* setup;
        const char* operand;
        std::function<int(std::uint32_t)> valid;
      };
      const Form forms[] = {
          {"", "", [](std::uint32_t) { return 16; }},
          {"  rem.u32 %r1, %thread, 5;\n", ", %r1",
           [](std::uint32_t t) { return static_cast<int>(t % 5); }},
          {"", ", 3", [](std::uint32_t) { return 3; }},
          {"  and.b32 %r1, %thread, 1;\n  setp.ne.u32 %p1, %r1, 0;\n", ", %p1",
           [](std::uint32_t t) { return t % 2 == 1 ? 0 : 16; }},
      };
      for (const Form& form : forms) {
        const std::string body = PlaceOfThread() + form.setup + "  " + s.text +
                                 " [%l0], [%in], " + n + form.operand +
                                 PolicyOf(s) + ";\n  cp.async.wait_all;\n" +
                                 StoreCopied();
        batch.Add(s.text, Kernel(batch.NextName(), body),
                  RunAndCheck(Copied(size, form.valid)));
      }
    }
  }
  EXPECT_GT(copies, 0);
}

// No byte that is not asked for is read: it may be outside of all memory.
TEST(AsyncExec, CpAsyncReadsNothingItIgnores) {
  KernelBatch batch{std::string(kHeader)};
  for (const char* operand : {"0", "%p1"}) {
    batch.Add(operand,
              Kernel(batch.NextName(),
                     PlaceOfThread() +
                         "  setp.eq.u32 %p1, 0, 0;\n  mov.u64 %l3, 64;\n"
                         "  cp.async.cg.shared.global [%l0], [%l3], 16, " +
                         operand + ";\n  cp.async.wait_all;\n" + StoreCopied()),
              RunAndCheck(Copied(16, [](std::uint32_t) { return 0; })));
  }
}

TEST(AsyncExec, CpAsyncGroups) {
  KernelBatch batch{std::string(kHeader)};
  int waits = 0;
  for (const char* opcode : {"cp.async", "cp.async.bulk"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      if (!s.Has("wait_group") && !s.Has("wait_all")) continue;
      ++waits;
      const bool bulk = std::string(opcode) == "cp.async.bulk";
      const std::string body =
          PlaceOfThread() +
          "  cp.async.ca.shared.global [%l0], [%in], 8;\n"
          "  cp.async.commit_group;\n"
          "  cp.async.ca.shared.global [%l0+8], [%in+8], 8;\n  " +
          std::string(bulk ? "cp.async.bulk.commit_group;\n  "
                           : "cp.async.commit_group;\n  ") +
          s.text + (s.Has("wait_all") ? "" : " 0") + ";\n" +
          (bulk ? "  cp.async.wait_all;\n" : "") + StoreCopied();
      batch.Add(s.text, Kernel(batch.NextName(), body),
                RunAndCheck(Copied(16, [](std::uint32_t) { return 16; })));
    }
  }
  EXPECT_EQ(waits, 5);
}

TEST(AsyncExec, CpAsyncArrivesOnMbarrier) {
  KernelBatch batch{std::string(kHeader)};
  int arrives = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("cp.async")) {
    if (!s.Has("mbarrier")) continue;
    ++arrives;
    // .noinc arrives for the count given at initialisation; without it the
    // thread's own arrive still has to come.
    const std::string body =
        InitAndMeet(kThreads) + PlaceOfThread() +
        "  cp.async.cg.shared.global [%l0], [%in], 16;\n  " + s.text + " " +
        ObjectOf(s) + ";\n" +
        (s.Has("noinc") ? ""
                        : "  mbarrier.test_wait.parity.shared.b64 %p1, [bar], "
                          "0;\n  @%p1 trap;\n  bar.sync 0;\n"
                          "  mbarrier.arrive.shared.b64 %state, [bar];\n") +
        "WAIT:\n  mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;\n"
        "  @!%p0 bra WAIT;\n"
        // Another thread's bytes must have come as well.
        "  xor.b32 %r1, %thread, 63;\n"
        "  mad.wide.u32 %l0, %r1, 16, %l1;\n" +
        StoreCopied();
    batch.Add(s.text, Kernel(batch.NextName(), body),
              RunAndCheck([](const std::uint32_t* out) {
                for (std::uint32_t t = 0; t < kThreads; ++t) {
                  ASSERT_EQ(out[4 * t], 4 * (t ^ 63) + 1) << t;
                  ASSERT_EQ(out[4 * t + 3], 4 * (t ^ 63) + 4) << t;
                }
              }));
  }
  EXPECT_GT(arrives, 0);
}

// ---- Reductions -------------------------------------------------------------

// The block's 1,024 bytes at `data` are combined with others, whose values
// lie 1,024 bytes behind in the input. `leader` does it, then all threads
// store what came out unless it lies in the output already.
struct Reduction {
  std::string spelling;
  std::string leader;
  bool to_global;
  int elements;  // that are combined, from the first on
};

std::string ReductionKernel(const std::string& name, const Reduction& r) {
  return Kernel(
      name, InitAndMeet(1) + PlaceOfThread() +
                "  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%in];\n"
                "  st.shared.v4.u32 [%l0], {%r4, %r5, %r6, %r7};\n"
                "  mov.u64 %l1, copy;\n  mad.wide.u32 %l0, %thread, 16, %l1;\n"
                "  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%in+1024];\n"
                "  st.shared.v4.u32 [%l0], {%r4, %r5, %r6, %r7};\n"
                "  bar.sync 0;\n" +
                r.leader + (r.to_global ? "" : WaitForBytes() + StoreCopied()));
}

KernelBatch::Run CheckReduction(const Reduction& r) {
  return [r](PtxModule& module, const std::string& kernel) {
    const Spelling s(r.spelling);
    const PtxType t = s.type(s.types().size() - 1);
    const std::size_t bytes = static_cast<std::size_t>(t.bits) / 8;
    const int count = static_cast<int>(1024 / bytes);
    std::mt19937_64 random(7);
    Buffer in(module.device(), 2048), out(module.device(), 1024);
    std::vector<std::uint8_t> want(1024);
    for (int i = 0; i < count; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * bytes;
      const Value source = RandomAtomicOperand(t, random);
      const Value old = RandomAtomicOperand(t, random);
      const Value result =
          i < r.elements ? ApplyAtomic(OperationOf(s), t, old, source, 0) : old;
      std::memcpy(in.as<std::uint8_t>() + at, &source, bytes);
      std::memcpy(in.as<std::uint8_t>() + 1024 + at, &old, bytes);
      std::memcpy(out.as<std::uint8_t>() + at, &old, bytes);
      std::memcpy(want.data() + at, &result, bytes);
    }
    Launch launch;
    launch.block = {kThreads, 1, 1};
    launch.params = {in.address(), out.address()};
    const Status status = module.Run(kernel, launch);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(std::memcmp(out.as<std::uint8_t>(), want.data(), 1024), 0);
  };
}

TEST(AsyncExec, CpReduceAsyncBulk) {
  KernelBatch batch{std::string(kHeader)};
  int reductions = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("cp.reduce.async.bulk")) {
    ++reductions;
    const Spelling parts(s.text);
    Reduction r;
    r.spelling = s.text;
    r.to_global = s.Has("bulk_group");
    r.elements = 992 * 8 / parts.type().bits;
    if (r.to_global) {
      r.leader = "  @%leader " + s.text + " [%first_out], [data], 992" +
                 PolicyOf(s) +
                 ";\n  @%leader cp.async.bulk.commit_group;\n"
                 "  @%leader cp.async.bulk.wait_group.read 0;\n"
                 "  @%leader cp.async.bulk.wait_group 0;\n";
    } else {
      r.leader =
          "  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 %state, "
          "[bar], 992;\n  @%leader " +
          s.text + " [copy], [data], 992, [bar];\n";
    }
    batch.Add(s.text, ReductionKernel(batch.NextName(), r), CheckReduction(r));
  }
  EXPECT_GT(reductions, 0);
}

TEST(AsyncExec, RedAsync) {
  KernelBatch batch{std::string(kHeader)};
  int reductions = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("red.async")) {
    ++reductions;
    const Spelling parts(s.text);
    const PtxType t = parts.type();
    const std::string size = std::to_string(t.bits / 8);
    const std::string reg = t.bits == 64 ? "%l4" : "%r4";
    Reduction r;
    r.spelling = s.text;
    r.to_global = s.Has("release");
    r.elements = kThreads;
    const bool window = s.Has("shared::cluster");
    const std::string load = "  mad.wide.u32 %l2, %thread, " + size +
                             ", %l3;\n  ld.shared.b" + std::to_string(t.bits) +
                             " " + reg + ", [%l2];\n";
    if (r.to_global) {
      r.leader = "  mov.u64 %l3, data;\n" + load +
                 "  mad.wide.u32 %l2, %thread, " + size + ", %first_out;\n  " +
                 s.text + " [%l2], " + reg + ";\n";
    } else {
      const std::string base = window ? "copy" : "generic";
      r.leader =
          "  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 %state, "
          "[bar], " +
          std::to_string(kThreads * static_cast<unsigned>(t.bits) / 8) +
          ";\n  bar.sync 0;\n  mov.u64 %l3, data;\n" + load +
          "  mov.u64 %l3, copy;\n" +
          (window ? "" : "  cvta.shared.u64 %l3, %l3;\n") +
          "  mad.wide.u32 %l2, %thread, " + size + ", %l3;\n  " + s.text +
          " [%l2], " + reg + ", " + (window ? "[bar]" : "[%bar]") + ";\n";
    }
    batch.Add(s.text, ReductionKernel(batch.NextName(), r), CheckReduction(r));
  }
  EXPECT_GT(reductions, 0);
}

// Each thread stores elements of its input into another thread's place.
TEST(AsyncExec, StAsync) {
  KernelBatch batch{std::string(kHeader)};
  int stores = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("st.async")) {
    ++stores;
    const Spelling parts(s.text);
    const int bits = parts.type().bits;
    const int width = s.Has("v4") ? 4 : s.Has("v2") ? 2 : 1;
    const int size = bits / 8 * width;
    // The block's 1,024 bytes hold 64 places of 16 bytes or 32 of 32.
    const std::uint32_t stride = size > 16 ? 32 : 16;
    const std::uint32_t active = 1024 / stride;
    const std::string type = bits <= 16 ? "b16" : "b" + std::to_string(bits);
    std::string body = PlaceOfThread() + InitAndMeet(1) + "  .reg ." + type +
                       " %v<4>;\n  setp.lt.u32 %p1, %thread, " +
                       std::to_string(active) + ";\n  min.u32 %r2, %thread, " +
                       std::to_string(active - 1) +
                       ";\n  mad.wide.u32 %l4, %r2, " + std::to_string(stride) +
                       ", %first_in;\n";
    std::string value;
    for (int i = 0; i < width; ++i) {
      const std::string n = std::to_string(i);
      body += "  ld.global.b" + std::to_string(bits) + " %v" + n + ", [%l4+" +
              std::to_string(i * bits / 8) + "];\n";
      value += (i == 0 ? "%v" : ", %v") + n;
    }
    if (width > 1) value = "{" + value + "}";
    const bool window = s.Has("shared::cluster") || s.Has("shared::cta");
    const std::string total =
        std::to_string(static_cast<std::uint32_t>(size) * active);
    if (s.Has("release")) {
      body += "  " + s.text + " [%out], " + value + ";\n";
      batch.Add(s.text, Kernel(batch.NextName(), body),
                RunAndCheck([size](const std::uint32_t* out) {
                  std::uint32_t want[4] = {1, 2, 3, 4};
                  EXPECT_EQ(
                      std::memcmp(out, want, static_cast<std::size_t>(size)),
                      0);
                  EXPECT_EQ(out[3], 0xeeeeeeeeu);
                }));
      continue;
    }
    body +=
        "  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 %state, "
        "[bar], " +
        total +
        ";\n  bar.sync 0;\n"
        "  xor.b32 %r1, %thread, " +
        std::to_string(active - 1) + ";\n  mad.wide.u32 %l2, %r1, " +
        std::to_string(stride) + ", %l1;\n" +
        (window ? "" : "  cvta.shared.u64 %l2, %l2;\n") + "  @%p1 " + s.text +
        " [%l2], " + value + ", " + (window ? "[bar]" : "[%bar]") + ";\n" +
        WaitForBytes() + StoreCopied();
    batch.Add(
        s.text, Kernel(batch.NextName(), body),
        RunAndCheck([=](const std::uint32_t* out) {
          const std::uint32_t words = stride / 4;
          for (std::uint32_t t = 0; t < active; ++t) {
            std::vector<std::uint32_t> want(words, ~0u);
            std::vector<std::uint32_t> source(words);
            std::iota(source.begin(), source.end(),
                      words * (t ^ (active - 1)) + 1);
            std::memcpy(want.data(), source.data(),
                        static_cast<std::size_t>(size));
            ASSERT_EQ(std::memcmp(out + words * t, want.data(), stride), 0)
                << t;
          }
        }));
  }
  EXPECT_GT(stores, 0);
}

TEST(AsyncExec, StBulk) {
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : LoweredSpellingsOf("st.bulk")) {
    const std::string at = s.Has("shared::cta") ? "[data]" : "[%l3]";
    const std::string body = PlaceOfThread() +
                             "  cvta.shared.u64 %l3, %l1;\n  bar.sync 0;\n"
                             "  @%leader " +
                             s.text + " " + at + ", 1000, 0;\n  bar.sync 0;\n" +
                             StoreCopied();
    batch.Add(s.text, Kernel(batch.NextName(), body),
              RunAndCheck([](const std::uint32_t* out) {
                for (std::uint32_t i = 0; i < 4 * kThreads; ++i) {
                  ASSERT_EQ(out[i], i < 250 ? 0 : ~0u) << i;
                }
              }));
  }
}

// ---- Clusters ---------------------------------------------------------------

// A request to take over the next cluster's work may be refused, which is
// what the answer must then say.
TEST(AsyncExec, ClusterLaunchControl) {
  KernelBatch batch{std::string(kHeader)};
  int requests = 0;
  for (const LoweredSpelling& s :
       LoweredSpellingsOf("clusterlaunchcontrol.try_cancel")) {
    ++requests;
    const bool window = s.Has("shared::cta");
    std::string body =
        InitAndMeet(1) + PlaceOfThread() +
        "  cvta.shared.u64 %l3, %l1;\n"
        "  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar], "
        "16;\n  @%leader " +
        s.text + (window ? " [data], [bar]" : " [%l3], [%bar]") + ";\n" +
        WaitForBytes() + "  ld.shared.b128 %q0, [data];\n";
    for (const LoweredSpelling& query :
         LoweredSpellingsOf("clusterlaunchcontrol.query_cancel")) {
      body += "  " + query.text +
              (query.Has("is_canceled") ? " %p1, %q0;\n"
               : query.Has("v4")        ? " {%r8, %r9, %r10, _}, %q0;\n"
                                        : " %r8, %q0;\n");
    }
    body += "  selp.u32 %r0, 1, 0, %p1;\n  st.global.u32 [%out], %r0;\n";
    batch.Add(s.text, Kernel(batch.NextName(), body),
              RunAndCheck([](const std::uint32_t* out) {
                for (std::uint32_t t = 0; t < kThreads; ++t) {
                  ASSERT_EQ(out[4 * t], 0u);
                }
              }));
  }
  EXPECT_GT(requests, 0);
}

TEST(AsyncExec, RankOfTheOnlyBlock) {
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : LoweredSpellingsOf("getctarank")) {
    const bool window = s.Has("shared::cluster");
    const bool wide = s.Has("u64") || s.Has("s64");
    if (!wide && !window) continue;  // generic addresses have 64 bits here
    batch.Add(s.text,
              Kernel(batch.NextName(), std::string("  mov.u32 %r1, data;\n") +
                                           "  " + s.text + " %r0, " +
                                           (!wide    ? "%r1"
                                            : window ? "data"
                                                     : "%bar") +
                                           ";\n  st.global.u32 [%out], %r0;\n"),
              RunAndCheck([](const std::uint32_t* out) {
                EXPECT_EQ(out[0], 0u);
                EXPECT_EQ(out[4 * kThreads - 4], 0u);
              }));
  }
  for (const LoweredSpelling& s : LoweredSpellingsOf("setmaxnreg")) {
    batch.Add(
        s.text,
        Kernel(batch.NextName(), "  " + s.text + " 64;\n" + PlaceOfThread() +
                                     "  cp.async.cg.shared.global "
                                     "[%l0], [%in], 16;\n" +
                                     StoreCopied()),
        RunAndCheck(Copied(16, [](std::uint32_t) { return 16; })));
  }
}

}  // namespace
}  // namespace cerberus::exec
