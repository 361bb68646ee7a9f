// mbarrier objects: what arrives at them, waits for them and counts bytes.
//
// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions:
// mbarrier".
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/exec/async_exec_test.h"
#include "tests/exec/kernel_batch.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

// One way to wait for a phase whose token is in %state.
std::string WaitLoop(const std::string& label, const LoweredSpelling& wait,
                     int phase) {
  const bool parity = wait.Has("parity");
  std::string operands = " %p0, " + ObjectOf(wait) + ", " +
                         (parity ? std::to_string(phase & 1) : "%state");
  if (wait.Has("try_wait") && phase > 0) operands += ", 1000";
  return label + ":\n  " + wait.text + operands + ";\n  @!%p0 bra " + label +
         ";\n";
}

std::string ArriveAll(const LoweredSpelling& arrive) {
  // What each thread does so that the phase sees one arrival of it.
  const bool cluster = arrive.Has("shared::cluster");
  const std::string state = cluster ? "_" : "%state";
  std::string text = "  " + arrive.text + " " + state + ", " + ObjectOf(arrive);
  if (arrive.Has("expect_tx")) {
    return text +
           ", 24;\n  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 "
           "[bar], 24;\n";
  }
  return text + ";\n";
}

std::vector<LoweredSpelling> Waits() {
  std::vector<LoweredSpelling> all = LoweredSpellingsOf("mbarrier.test_wait");
  for (LoweredSpelling& s : LoweredSpellingsOf("mbarrier.try_wait")) {
    all.push_back(std::move(s));
  }
  return all;
}

// Each thread writes a word, arrives, waits, and reads another thread's word;
// three phases, so that parity and the reload of the count matter.
std::string Rounds(const std::string& arrive, const LoweredSpelling& wait,
                   bool token) {
  std::string body = InitAndMeet(kThreads) +
                     "  mov.u64 %l1, data;\n"
                     "  mad.wide.u32 %l0, %thread, 4, %l1;\n"
                     "  xor.b32 %r1, %thread, 63;\n"
                     "  mad.wide.u32 %l2, %r1, 4, %l1;\n";
  for (int phase = 0; phase < 3; ++phase) {
    const std::string n = std::to_string(phase);
    if (!token) {
      body += "  mov.b64 %state, " + std::to_string(0) + ";\n";
    }
    // Double buffering keeps one barrier a round enough.
    const std::string offset = std::to_string(256 * phase);
    body += "  add.u32 %r2, %thread, " + std::to_string(100 * phase) +
            ";\n  st.shared.u32 [%l0+" + offset + "], %r2;\n" + arrive +
            WaitLoop("WAIT" + n, wait, phase) + "  ld.shared.u32 %r3, [%l2+" +
            offset + "];\n  st.global.u32 [%out+" + std::to_string(4 * phase) +
            "], %r3;\n";
  }
  return body;
}

void CheckRounds(const std::uint32_t* out) {
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    for (std::uint32_t phase = 0; phase < 3; ++phase) {
      ASSERT_EQ(out[4 * t + phase], (t ^ 63) + 100 * phase) << t;
    }
  }
}

TEST(AsyncExec, MbarrierArriveAndWait) {
  KernelBatch batch{std::string(kHeader)};
  const std::vector<LoweredSpelling> waits = Waits();
  ASSERT_FALSE(waits.empty());
  std::size_t turn = 0;
  for (const LoweredSpelling& arrive : LoweredSpellingsOf("mbarrier.arrive")) {
    if (arrive.Has("noComplete")) continue;
    const bool token = !arrive.Has("shared::cluster");
    // Each arrive with the next way to wait that it can feed.
    const LoweredSpelling* wait;
    do {
      wait = &waits[turn++ % waits.size()];
    } while (!token && !wait->Has("parity"));
    batch.Add(arrive.text + " / " + wait->text,
              Kernel(batch.NextName(), Rounds(ArriveAll(arrive), *wait, true)),
              RunAndCheck(CheckRounds));
  }
  for (const LoweredSpelling& wait : waits) {
    batch.Add(wait.text,
              Kernel(batch.NextName(),
                     Rounds("  mbarrier.arrive.shared.b64 %state, [bar];\n",
                            wait, true)),
              RunAndCheck(CheckRounds));
  }
}

// Every object has the layout without reports.
TEST(AsyncExec, MbarrierLayout) {
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : LoweredSpellingsOf("mbarrier.check_layout")) {
    const std::uint32_t want = s.Has("layout::v0") ? 1 : 0;
    batch.Add(
        s.text,
        Kernel(batch.NextName(),
               "  @!%leader ret;\n"
               "  mbarrier.init.layout::v0.shared::cta.b64 [bar], 1;\n  " +
                   s.text + " %p0, " + ObjectOf(s) +
                   ";\n  selp.u32 %r0, 1, 0, %p0;\n"
                   "  st.global.u32 [%out], %r0;\n"),
        RunAndCheck(
            [want](const std::uint32_t* out) { EXPECT_EQ(out[0], want); }));
  }
}

TEST(AsyncExec, MbarrierCountsOfArrivals) {
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : LoweredSpellingsOf("mbarrier.arrive")) {
    if (s.Has("expect_tx") || s.Has("noComplete")) continue;
    // One thread arrives for four, the phase ends with the sixteenth.
    const std::string state = s.Has("shared::cluster") ? "_" : "%state";
    const std::string body =
        InitAndMeet(64) + "  setp.lt.u32 %p1, %thread, 15;\n  @%p1 " + s.text +
        " " + state + ", " + ObjectOf(s) +
        ", 4;\n  bar.sync 0;\n"
        "  mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;\n"
        "  selp.u32 %r0, 1, 0, %p0;\n  st.global.u32 [%out], %r0;\n"
        "  bar.sync 0;\n  @%leader " +
        s.text + " " + state + ", " + ObjectOf(s) +
        ", 4;\n  bar.sync 0;\n"
        "  mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;\n"
        "  selp.u32 %r0, 1, 0, %p0;\n  st.global.u32 [%out+4], %r0;\n";
    batch.Add(s.text, Kernel(batch.NextName(), body),
              RunAndCheck([](const std::uint32_t* out) {
                for (std::uint32_t t = 0; t < kThreads; ++t) {
                  ASSERT_EQ(out[4 * t], 0u);
                  ASSERT_EQ(out[4 * t + 1], 1u);
                }
              }));
  }
}

// .noComplete returns how many arrivals the phase waited for before it.
TEST(AsyncExec, MbarrierPendingCounts) {
  KernelBatch batch{std::string(kHeader)};
  for (const char* opcode : {"mbarrier.arrive", "mbarrier.arrive_drop"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      if (!s.Has("noComplete")) continue;
      for (const LoweredSpelling& pending :
           LoweredSpellingsOf("mbarrier.pending_count")) {
        const std::string body =
            InitAndMeet(65) + "  " + s.text + " %state, " + ObjectOf(s) +
            ", 1;\n  " + pending.text +
            " %r0, %state;\n  st.global.u32 [%out], %r0;\n"
            "  mbarrier.test_wait.shared.b64 %p0, [bar], %state;\n"
            "  selp.u32 %r0, 1, 0, %p0;\n  st.global.u32 [%out+4], %r0;\n"
            "  bar.sync 0;\n"
            "  @%leader mbarrier.arrive.shared.b64 %state, [bar];\n"
            "  bar.sync 0;\n"
            "  mbarrier.test_wait.shared.b64 %p0, [bar], %state;\n"
            "  selp.u32 %r0, 1, 0, %p0;\n  st.global.u32 [%out+8], %r0;\n";
        batch.Add(s.text, Kernel(batch.NextName(), body),
                  RunAndCheck([](const std::uint32_t* out) {
                    std::vector<std::uint32_t> seen;
                    for (std::uint32_t t = 0; t < kThreads; ++t) {
                      seen.push_back(out[4 * t]);
                      ASSERT_EQ(out[4 * t + 1], 0u);
                      ASSERT_EQ(out[4 * t + 2], 1u);
                    }
                    std::sort(seen.begin(), seen.end());
                    for (std::uint32_t t = 0; t < kThreads; ++t) {
                      ASSERT_EQ(seen[t], t + 2);
                    }
                  }));
      }
    }
  }
}

// Threads that drop take part in one phase and are not waited for in the
// next.
TEST(AsyncExec, MbarrierArriveAndDrop) {
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : LoweredSpellingsOf("mbarrier.arrive_drop")) {
    const std::string state = s.Has("shared::cluster") ? "_" : "%state";
    std::string drop = "  @%p1 " + s.text + " " + state + ", " + ObjectOf(s);
    if (s.Has("expect_tx")) {
      drop +=
          ", 8;\n  @%p1 mbarrier.complete_tx.relaxed.cta.shared.b64 "
          "[bar], 8";
    } else if (s.Has("noComplete")) {
      drop += ", 1";
    }
    const auto probe = [](int offset, int parity) {
      return "  bar.sync 0;\n  mbarrier.test_wait.parity.shared.b64 %p0, "
             "[bar], " +
             std::to_string(parity) +
             ";\n  selp.u32 %r0, 1, 0, %p0;\n  st.global.u32 [%out+" +
             std::to_string(offset) + "], %r0;\n  bar.sync 0;\n";
    };
    const std::string rest =
        "  @!%p1 mbarrier.arrive.shared.b64 %state, [bar];\n";
    const std::string body = InitAndMeet(kThreads) +
                             "  setp.lt.u32 %p1, %thread, 40;\n" + drop +
                             ";\n" + probe(0, 0) + rest + probe(4, 0) +
                             probe(8, 1) + rest + probe(12, 1);
    batch.Add(s.text, Kernel(batch.NextName(), body),
              RunAndCheck([](const std::uint32_t* out) {
                for (std::uint32_t t = 0; t < kThreads; ++t) {
                  ASSERT_EQ(out[4 * t], 0u);      // 24 are missing
                  ASSERT_EQ(out[4 * t + 1], 1u);  // all have arrived
                  ASSERT_EQ(out[4 * t + 2], 0u);  // phase 1 has begun
                  ASSERT_EQ(out[4 * t + 3], 1u);  // and needs only the 24
                }
              }));
  }
}

// Transactions hold a phase open, in whatever order they are announced.
TEST(AsyncExec, MbarrierTransactions) {
  KernelBatch batch{std::string(kHeader)};
  const auto probe = [](int offset) {
    return "  mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;\n"
           "  selp.u32 %r0, 1, 0, %p0;\n  st.global.u32 [%out+" +
           std::to_string(offset) + "], %r0;\n";
  };
  for (const LoweredSpelling& expect :
       LoweredSpellingsOf("mbarrier.expect_tx")) {
    for (const LoweredSpelling& complete :
         LoweredSpellingsOf("mbarrier.complete_tx")) {
      const std::string body =
          "  @!%leader ret;\n  mbarrier.init.b64 [%bar], 1;\n  mov.u32 %r1, "
          "1048575;\n  " +
          complete.text + " " + ObjectOf(complete) + ", 1000000;\n  " +
          expect.text + " " + ObjectOf(expect) + ", %r1;\n" + probe(0) +
          "  mbarrier.arrive.shared.b64 %state, [bar];\n" + probe(4) + "  " +
          complete.text + " " + ObjectOf(complete) + ", 48575;\n" + probe(8) +
          "  mbarrier.inval.shared.b64 [bar];\n  st.shared.u32 [bar], 7;\n"
          "  ld.shared.u32 %r0, [bar];\n  st.global.u32 [%out+12], %r0;\n";
      batch.Add(expect.text + " / " + complete.text,
                Kernel(batch.NextName(), body),
                RunAndCheck([](const std::uint32_t* out) {
                  EXPECT_EQ(out[0], 0u);
                  EXPECT_EQ(out[1], 0u);
                  EXPECT_EQ(out[2], 1u);
                  EXPECT_EQ(out[3], 7u);
                }));
    }
  }
  for (const char* opcode : {"mbarrier.init", "mbarrier.inval"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      const bool init = s.Has("init");
      const std::string body =
          "  @!%leader ret;\n  " +
          (init ? s.text + " " + ObjectOf(s) + ", 1;\n"
                : "mbarrier.init.shared.b64 [bar], 1;\n  " + s.text + " " +
                      ObjectOf(s) +
                      ";\n  mbarrier.init.shared.b64 [bar], 1;\n") +
          probe(0) + "  mbarrier.arrive.b64 %state, [%bar];\n" + probe(4);
      batch.Add(s.text, Kernel(batch.NextName(), body),
                RunAndCheck([](const std::uint32_t* out) {
                  EXPECT_EQ(out[0], 0u);
                  EXPECT_EQ(out[1], 1u);
                }));
    }
  }
}

}  // namespace
}  // namespace cerberus::exec
