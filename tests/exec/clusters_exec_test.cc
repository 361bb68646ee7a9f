// Clusters of several blocks (docs/launch-abi.md, "Clusters"): what each
// instruction for them does to another block's shared memory. Everything else
// is with the tests of a single block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

constexpr std::uint32_t kThreads = 64;
constexpr std::uint32_t kBlocks = 4;  // of a cluster
constexpr std::uint32_t kGrid = 3 * kBlocks;
constexpr std::string_view kHeader =
    ".version 9.0\n.target sm_100a\n.address_size 64\n";

// k(out): each thread has 16 bytes of `out`. `data` is filled with 100 · block
// + the word's number, `bar` waits for one arrival; %there is how a 32-bit
// address of this block becomes the next block's when added.
std::string Kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name + R"((.param .u64 out)
{
  .shared .align 8 .b64 bar;
  .shared .align 128 .b32 data[64];
  .shared .align 128 .b32 got[64];
  .reg .b64 %out, %state, %l<8>;
  .reg .b32 %t, %rank, %next, %block, %bar, %data, %got, %r<12>;
  .reg .b32 %bar_there, %got_there;
  .reg .b16 %h<2>;
  .reg .b128 %q<2>;
  .reg .pred %p<4>, %leader;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %block, %ctaid.x;
  mad.lo.u32 %r0, %block, 64, %t;
  mad.wide.u32 %out, %r0, 16, %out;
  mov.u32 %rank, %cluster_ctarank;
  add.u32 %next, %rank, 1;
  and.b32 %next, %next, 3;
  setp.eq.u32 %leader, %t, 0;
  mov.u32 %bar, bar;
  mov.u32 %data, data;
  mov.u32 %got, got;
  mapa.shared::cluster.u32 %bar_there, %bar, %next;
  mapa.shared::cluster.u32 %got_there, %got, %next;
  mad.lo.u32 %r0, %block, 100, %t;
  mad.lo.u32 %r1, %t, 4, %data;
  st.shared.u32 [%r1], %r0;
  mad.lo.u32 %r1, %t, 4, %got;
  st.shared.u32 [%r1], -1;
  @%leader mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
)" + body +
         "  ret;\n}\n";
}
const std::string kMeet =
    "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n";
// The thread's word of `got`, when the phase is over.
const std::string kTake =
    "WAIT:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, "
    "[bar], 0;\n  @!%p0 bra WAIT;\n" +
    kMeet +
    "  mad.lo.u32 %r1, %t, 4, %got;\n  ld.shared.u32 %r2, [%r1];\n"
    "  st.global.u32 [%out], %r2;\n";
std::string Expect(std::uint32_t bytes) {
  return "  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 %state, "
         "[bar], " +
         std::to_string(bytes) + ";\n" + kMeet;
}

// The first word of thread t of block b is `want(b, t)`.
KernelBatch::Run RunAndCheck(
    const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& want) {
  return [want](PtxModule& module, const std::string& kernel) {
    Buffer out(module.device(), 16 * kThreads * kGrid);
    std::fill_n(out.as<std::uint32_t>(), 4 * kThreads * kGrid, 0xeeeeeeeeu);
    Launch launch;
    launch.grid = {kGrid, 1, 1};
    launch.block = {kThreads, 1, 1};
    launch.cluster = {kBlocks, 1, 1};
    launch.params = {out.address()};
    const Status status = module.Run(kernel, launch);
    ASSERT_TRUE(status) << status.error().ToString();
    for (std::uint32_t i = 0; i < kThreads * kGrid; ++i) {
      ASSERT_EQ(out.as<std::uint32_t>()[4 * i],
                want(i / kThreads, i % kThreads))
          << "block " << i / kThreads << ", thread " << i % kThreads;
    }
  };
}

std::uint32_t Before(std::uint32_t block) {
  return block / kBlocks * kBlocks + (block + kBlocks - 1) % kBlocks;
}
std::uint32_t After(std::uint32_t block) {
  return block / kBlocks * kBlocks + (block + 1) % kBlocks;
}
// What the block before this one had in `data`.
std::uint32_t DataBefore(std::uint32_t block, std::uint32_t word) {
  return 100 * Before(block) + word;
}

TEST(ClustersExec, Barriers) {
  KernelBatch batch{std::string(kHeader)};
  int pairs = 0;
  for (const LoweredSpelling& arrive : LoweredSpellingsOf("barrier.cluster")) {
    if (!arrive.Has("arrive")) continue;
    for (const LoweredSpelling& wait : LoweredSpellingsOf("barrier.cluster")) {
      if (!wait.Has("wait")) continue;
      ++pairs;
      // A relaxed arrival publishes nothing.
      const std::string body =
          std::string(arrive.Has("relaxed") ? "  fence.acq_rel.cluster;\n"
                                            : "") +
          "  " + arrive.text + ";\n  " + wait.text +
          ";\n  mapa.shared::cluster.u32 %r1, %data, %next;\n"
          "  mad.lo.u32 %r1, %t, 4, %r1;\n"
          "  ld.shared::cluster.u32 %r2, [%r1];\n"
          "  st.global.u32 [%out], %r2;\n" +
          kMeet;
      batch.Add(arrive.text + " " + wait.text, Kernel(batch.NextName(), body),
                RunAndCheck([](std::uint32_t block, std::uint32_t thread) {
                  return 100 * After(block) + thread;
                }));
    }
  }
  EXPECT_GT(pairs, 0);
}

TEST(ClustersExec, AddressesAndRanks) {
  KernelBatch batch{std::string(kHeader)};
  int maps = 0;
  for (const LoweredSpelling& map : LoweredSpellingsOf("mapa")) {
    for (const LoweredSpelling& rank : LoweredSpellingsOf("getctarank")) {
      const bool wide = map.Has("u64") || map.Has("s64");
      const bool window = map.Has("shared::cluster");
      // Generic addresses have 64 bits here; both mean the same kind.
      if (window != rank.Has("shared::cluster") ||
          wide != (rank.Has("u64") || rank.Has("s64")) || (!wide && !window)) {
        continue;
      }
      ++maps;
      const std::string at = wide ? "%l1" : "%r4";
      const std::string body =
          kMeet + "  cvt.u64.u32 %l0, %data;\n" +
          (window ? "" : "  cvta.shared.u64 %l0, %l0;\n") + "  " + map.text +
          " " + at + ", " + (wide ? "%l0" : "%data") + ", %next;\n  " +
          rank.text + " %r5, " + at + ";\n  ld" +
          (window ? ".shared::cluster" : "") + ".u32 %r6, [" + at +
          "+12];\n  mad.lo.u32 %r6, %r5, 10000, %r6;\n"
          "  st.global.u32 [%out], %r6;\n" +
          kMeet;
      batch.Add(map.text + " " + rank.text, Kernel(batch.NextName(), body),
                RunAndCheck([](std::uint32_t block, std::uint32_t) {
                  return 10000 * (After(block) % kBlocks) + 100 * After(block) +
                         3;
                }));
    }
  }
  EXPECT_GT(maps, 0);
}

// Of a block's `data`, or of global memory, to the next block or to several.
TEST(ClustersExec, BulkCopies) {
  KernelBatch batch{std::string(kHeader)};
  int several = 0, single = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("cp.async.bulk")) {
    if (!s.Has("shared::cluster") || !s.Has("mbarrier::complete_tx::bytes") ||
        s.Has("ignore_oob")) {
      continue;
    }
    const std::string policy = s.Has("L2::cache_hint") ? ", %l7" : "";
    const bool multicast = s.text.find("multicast") != std::string::npos;
    const bool from_global = s.text.find(".global.") != std::string::npos;
    // The source is 64 words: the grid's own output, filled before the copy.
    std::string body =
        "  mov.u64 %l7, 0;\n  ld.param.u64 %l3, [out];\n"
        "  mul.wide.u32 %l4, %block, 1024;\n  add.u64 %l3, %l3, %l4;\n"
        "  mad.wide.u32 %l4, %t, 4, %l3;\n  mad.lo.u32 %r0, %block, 100, %t;\n"
        "  st.global.u32 [%l4], %r0;\n" +
        Expect(256);
    const std::string from = from_global ? "%l3" : "%data";
    if (multicast) {
      ++several;
      const bool wide = s.Has("multicast::cluster::32b");
      body +=
          "  setp.eq.and.u32 %p1, %rank, 2, %leader;\n  mov.u16 %h0, 13;\n"
          "  mov.u32 %r7, 13;\n  @%p1 " +
          s.text + " [%got], [" + from + "], 256, [%bar], " +
          (wide ? "%r7" : "%h0") + policy +
          ";\n  setp.eq.u32 %p2, %rank, 1;\n  @%p2 bra NOT_MINE;\n"
          "MINE:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta"
          ".b64 %p0, [bar], 0;\n  @!%p0 bra MINE;\nNOT_MINE:\n" +
          kMeet +
          "  mad.lo.u32 %r1, %t, 4, %got;\n  ld.shared.u32 %r2, [%r1];\n"
          "  st.global.u32 [%out], %r2;\n";
      batch.Add(s.text, Kernel(batch.NextName(), body),
                RunAndCheck([](std::uint32_t block, std::uint32_t word) {
                  return block % kBlocks == 1
                             ? ~0u
                             : 100 * (block / kBlocks * kBlocks + 2) + word;
                }));
      continue;
    }
    ++single;
    body += "  @%leader " + s.text + " [%got_there], [" + from +
            "], 256, [%bar_there]" + policy + ";\n" + kTake;
    batch.Add(s.text, Kernel(batch.NextName(), body), RunAndCheck(DataBefore));
  }
  EXPECT_GT(several, 0);
  EXPECT_GT(single, 0);
}

TEST(ClustersExec, AsyncStoresAndReductions) {
  KernelBatch batch{std::string(kHeader)};
  int stores = 0, reductions = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("st.async")) {
    if (!s.Has("shared::cluster") || !s.Has("b32") || s.Has("v2") ||
        s.Has("v4")) {
      continue;
    }
    ++stores;
    const std::string body = Expect(256) +
                             "  mad.lo.u32 %r1, %t, 4, %got_there;\n"
                             "  mad.lo.u32 %r2, %block, 100, %t;\n  " +
                             s.text + " [%r1], %r2, [%bar_there];\n" + kTake;
    batch.Add(s.text, Kernel(batch.NextName(), body), RunAndCheck(DataBefore));
  }
  for (const LoweredSpelling& s : LoweredSpellingsOf("red.async")) {
    if (!s.Has("shared::cluster") || !s.Has("u32") || !s.Has("add")) continue;
    ++reductions;
    const std::string body = Expect(256) +
                             "  mad.lo.u32 %r1, %t, 4, %got_there;\n"
                             "  mad.lo.u32 %r2, %block, 100, %t;\n  " +
                             s.text + " [%r1], %r2, [%bar_there];\n" + kTake;
    batch.Add(s.text, Kernel(batch.NextName(), body),
              RunAndCheck([](std::uint32_t block, std::uint32_t word) {
                return DataBefore(block, word) - 1;
              }));
  }
  for (const LoweredSpelling& s : LoweredSpellingsOf("cp.reduce.async.bulk")) {
    if (!s.Has("shared::cluster") || !s.Has("u32") || !s.Has("max")) continue;
    ++reductions;
    // All words of `got` are the largest number but the odd ones.
    const std::string body =
        "  and.b32 %r2, %t, 1;\n  setp.ne.u32 %p1, %r2, 0;\n"
        "  @%p1 st.shared.u32 [%r1], 0;\n" +
        Expect(256) + "  @%leader " + s.text +
        " [%got_there], [%data], 256, [%bar_there];\n" + kTake;
    batch.Add(s.text, Kernel(batch.NextName(), body),
              RunAndCheck([](std::uint32_t block, std::uint32_t word) {
                return word % 2 == 0 ? ~0u : DataBefore(block, word);
              }));
  }
  EXPECT_GT(stores, 0);
  EXPECT_GT(reductions, 1);
}

// Arrivals at the next block's barrier, of one thread each.
TEST(ClustersExec, RemoteArrivals) {
  KernelBatch batch{std::string(kHeader)};
  int arrivals = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("mbarrier.arrive")) {
    if (!s.Has("shared::cluster") || s.Has("noComplete")) continue;
    ++arrivals;
    const std::string bytes = s.Has("expect_tx") ? ", 0" : "";
    const std::string body =
        "  mad.lo.u32 %r1, %t, 4, %got_there;\n"
        "  mad.lo.u32 %r2, %block, 100, %t;\n" +
        kMeet + "  st.shared::cluster.u32 [%r1], %r2;\n" +
        // What the other threads wrote has to be published by each.
        "  fence.acq_rel.cluster;\n  bar.sync 0;\n  @%leader " + s.text +
        " _, [%bar_there]" + bytes + ";\n" + kTake;
    batch.Add(s.text, Kernel(batch.NextName(), body), RunAndCheck(DataBefore));
  }
  EXPECT_GT(arrivals, 0);
}

// A refused request is answered in each block.
TEST(ClustersExec, LaunchControl) {
  KernelBatch batch{std::string(kHeader)};
  int requests = 0;
  for (const LoweredSpelling& s :
       LoweredSpellingsOf("clusterlaunchcontrol.try_cancel")) {
    if (!s.Has("multicast::cluster::all")) continue;
    ++requests;
    const std::string generic =
        s.Has("shared::cta") ? " [got], [bar];\n" : " [%l1], [%l2];\n";
    const std::string body =
        "  mov.u64 %l1, got;\n  cvta.shared.u64 %l1, %l1;\n"
        "  mov.u64 %l2, bar;\n  cvta.shared.u64 %l2, %l2;\n" +
        Expect(16) + "  setp.eq.and.u32 %p1, %rank, 1, %leader;\n  @%p1 " +
        s.text + generic + kTake;
    batch.Add(s.text, Kernel(batch.NextName(), body),
              RunAndCheck([](std::uint32_t, std::uint32_t word) {
                return word < 4 ? 0 : ~0u;
              }));
  }
  EXPECT_GT(requests, 0);
}

// What the kernel says of its clusters decides on its forms.
TEST(ClustersExec, Forms) {
  const auto kernel = [](const std::string& name, const std::string& directives,
                         const std::string& body) {
    return ".visible .entry " + name + "(.param .u64 out)\n" + directives +
           "{\n  .reg .b64 %out;\n  .reg .b32 %r;\n"
           "  ld.param.u64 %out, [out];\n" +
           body + "  st.global.u32 [%out], %r;\n  ret;\n}\n";
  };
  const std::string asks = "  mov.u32 %r, %cluster_nctarank;\n";
  const auto module = PtxModule::Compile(
      std::string(kHeader) + kernel("plain", "", "  mov.u32 %r, %ctaid.x;\n") +
      kernel("may", ".maxclusterrank 4\n", asks) +
      kernel("one", ".reqnctapercluster 1, 1, 1\n", asks) +
      kernel("always", ".reqnctapercluster 2, 2\n.explicitcluster\n", asks));
  ASSERT_TRUE(module) << module.error().ToString();
  const auto clusters = [&](const char* name, bool several) {
    return (*module)->Facts(name).FormFor(32, 0, 65536, several);
  };
  EXPECT_FALSE(clusters("plain", true).window);
  EXPECT_FALSE(clusters("may", false).window);
  EXPECT_TRUE(clusters("may", true).window);
  EXPECT_EQ((*module)->Facts("may").max_cluster, 4u);
  EXPECT_FALSE(clusters("one", true).window);
  EXPECT_TRUE(clusters("always", true).window);
  EXPECT_TRUE((*module)->Facts("always").forms.empty());
  EXPECT_EQ((*module)->Facts("always").required_cluster,
            (std::array<std::uint32_t, 3>{2, 2, 1}));
  EXPECT_TRUE((*module)->Facts("always").explicit_cluster);
}

// What asks for the cluster may be a kernel's first instruction, in front of
// constant addresses.
TEST(ClustersExec, AsksFirst) {
  const std::string text = std::string(kHeader) +
                           R"(.visible .entry k(.param .u64 out)
{
  .shared .align 8 .b32 data[2];
  .reg .b64 %out;
  .reg .b32 %r<3>;
)" + kMeet + R"(  st.shared.u32 [data+4], 7;
  ld.param.u64 %out, [out];
  mov.u32 %r0, %cluster_ctarank;
  mad.wide.u32 %out, %r0, 4, %out;
  ld.shared.u32 %r1, [data+4];
  add.u32 %r1, %r1, %r0;
  st.global.u32 [%out], %r1;
  ret;
}
)";
  const auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  Buffer out((*module)->device(), 4 * kBlocks);
  Launch launch;
  launch.grid = launch.cluster = {kBlocks, 1, 1};
  launch.params = {out.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    EXPECT_EQ(out.as<std::uint32_t>()[i], 7 + i);
  }
}

}  // namespace
}  // namespace cerberus::exec
