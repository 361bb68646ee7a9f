// Control flow: bra, brx, call, ret, exit, trap, nanosleep, guards.
//
// PTX ISA 9.0, "Control Flow Instructions", and "Abstracting the ABI" for
// functions and their parameters.
#include "tests/exec/control_exec_test.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/exec/ptx_runner.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

TEST(ControlExec, BraInEveryForm) {
  const auto spellings = LoweredSpellingsOf("bra");
  ASSERT_FALSE(spellings.empty());
  for (const LoweredSpelling& s : spellings) {
    // Uniform jumps must be taken by all threads together.
    const auto out =
        RunThreads("", "  setp.gt.u32 %p0, %thread, 1000;\n  @%p0 " + s.text +
                           " FAR;\n  @!%p0 " + s.text +
                           " NEAR;\n  mov.u64 %result, 1;\n"
                           "FAR:\n  add.u64 %result, %result, 2;\n"
                           "NEAR:\n  add.u64 %result, %result, 4;\n");
    for (std::uint64_t r : out) EXPECT_EQ(r, 4u) << s.text;
  }
}

TEST(ControlExec, DivergentLoopsMeetAgain) {
  // Thread t sums 1..t, odd threads multiply as well; then all add 100.
  const auto out = RunThreads(
      "",
      "  mov.u32 %r0, 0;\n  mov.u32 %r1, 0;\n"
      "LOOP:\n  setp.ge.u32 %p0, %r0, %thread;\n  @%p0 bra DONE;\n"
      "  add.u32 %r0, %r0, 1;\n  add.u32 %r1, %r1, %r0;\n  bra LOOP;\n"
      "DONE:\n  and.b32 %r2, %thread, 1;\n  setp.eq.u32 %p1, %r2, 0;\n"
      "  @%p1 bra EVEN;\n  mul.lo.u32 %r1, %r1, 3;\n"
      "EVEN:\n  add.u32 %r1, %r1, 100;\n  cvt.u64.u32 %result, %r1;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const std::uint64_t sum = t * (t + 1) / 2;
    EXPECT_EQ(out[t], (t % 2 == 1 ? sum * 3 : sum) + 100) << t;
  }
}

// Branches that all lanes take alike, in front of and between some that lanes
// take by themselves, and one store for all of them: the end of CUB's
// reductions with an operation that minds NaN.
TEST(ControlExec, UniformBranchesBetweenDivergentOnes) {
  auto module = PtxModule::Compile(
      ".version 9.0\n.target sm_100\n.address_size 64\n"
      ".visible .entry kern(.param .u64 in, .param .u64 out,\n"
      "    .param .u64 count, .param .u64 init) {\n"
      "  .reg .pred %p<6>;\n  .reg .b32 %r<3>;\n  .reg .b32 %f<4>;\n"
      "  .reg .b64 %rd<5>;\n"
      "  ld.param.u64 %rd1, [in];\n  ld.param.u64 %rd2, [out];\n"
      "  ld.param.u32 %r1, [count];\n  ld.param.f32 %f1, [init];\n"
      "  setp.ne.s32 %p1, %r1, 0;\n  @%p1 bra SOME;\n"
      "  st.global.f32 [%rd2], %f1;\n  bra END;\n"
      "SOME:\n  mov.u32 %r2, %tid.x;\n  mov.f32 %f2, 0f3f800000;\n"
      "  setp.ge.s32 %p2, %r2, %r1;\n  @%p2 bra NONE;\n"
      "  mul.wide.u32 %rd3, %r2, 4;\n  add.s64 %rd4, %rd1, %rd3;\n"
      "  ld.global.f32 %f2, [%rd4];\n"
      "NONE:\n  setp.ne.s32 %p3, %r2, 0;\n  @%p3 bra END;\n"
      "  mov.f32 %f3, %f1;\n"
      "  setp.nan.f32 %p4, %f1, %f1;\n  @%p4 bra STORE;\n"
      "  mov.f32 %f3, %f2;\n"
      "  setp.nan.f32 %p5, %f2, %f2;\n  @%p5 bra STORE;\n"
      "  setp.lt.f32 %p5, %f1, %f2;\n  selp.f32 %f3, %f2, %f1, %p5;\n"
      "STORE:\n  st.global.f32 [%rd2], %f3;\n"
      "END:\n  ret;\n}\n");
  ASSERT_TRUE(module) << module.error().message;
  const Buffer in((*module)->device(), 256), out((*module)->device(), 4);
  for (int i = 0; i < 64; ++i) in.as<float>()[i] = static_cast<float>(i + 5);
  for (const std::uint64_t count : {0, 1, 40}) {
    Launch launch;
    launch.block = {64, 1, 1};
    launch.params = {in.address(), out.address(), count, 0x40000000};
    ASSERT_TRUE((*module)->Run("kern", launch));
    EXPECT_EQ(*out.as<float>(), count == 0 ? 2 : 5) << count;
  }
}

// What ptxas makes of pairs of additions and subtractions: the flag is 1
// behind an addition that carried and a subtraction that did not borrow.
TEST(ControlExec, CarryFlagBetweenAdditionsAndSubtractions) {
  struct Pair {
    const char* first;
    const char* second;
    bool subtracts[2];
  };
  for (const Pair& pair : {Pair{"sub.cc.u32", "addc.u32", {true, false}},
                           Pair{"sub.cc.s32", "addc.s32", {true, false}},
                           Pair{"add.cc.u32", "subc.u32", {false, true}},
                           Pair{"sub.cc.u32", "subc.u32", {true, true}},
                           Pair{"add.cc.u32", "addc.u32", {false, false}}}) {
    const auto out = RunThreads("", "  sub.u32 %r1, %thread, 32;\n  " +
                                        std::string(pair.first) +
                                        " %r2, %r1, 3;\n  " + pair.second +
                                        " %r3, 1000, 5;\n"
                                        "  cvt.u64.u32 %result, %r3;\n");
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      const std::uint32_t a = thread - 32;
      const std::uint32_t flag = pair.subtracts[0] ? a >= 3 : a + 3 < a;
      EXPECT_EQ(out[thread],
                pair.subtracts[1] ? 1000 - 5 - 1 + flag : 1000 + 5 + flag)
          << pair.first << " " << pair.second << " " << thread;
    }
  }
}

TEST(ControlExec, GuardsPredicateAnyInstruction) {
  const auto out = RunThreads(
      "",
      "  setp.lt.u32 %p0, %thread, 10;\n  mov.u32 %r0, 1;\n"
      "  @%p0 mov.u32 %r0, 2;\n  @!%p0 add.u32 %r0, %r0, 5;\n"
      "  @%p0 setp.eq.u32 %p1, 0, 0;\n  @!%p0 setp.eq.u32 %p1, 0, 1;\n"
      "  @%p1 add.u32 %r0, %r0, 40;\n  cvt.u64.u32 %result, %r0;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(out[t], t < 10 ? 42u : 6u) << t;
  }
}

TEST(ControlExec, BranchTables) {
  if (LoweredSpellingsOf("brx.idx").empty() &&
      LoweredSpellingsOf("brx").empty()) {
    FAIL() << "brx.idx is not lowered";
  }
  for (const char* form : {"brx.idx", "brx.idx.uni"}) {
    const bool uni = std::string(form) == "brx.idx.uni";
    const auto out =
        RunThreads("", std::string(uni ? "  mov.u32 %r0, 2;\n"
                                       : "  rem.u32 %r0, %thread, 3;\n") +
                           "TABLE: .branchtargets A, B, C;\n  " + form +
                           " %r0, TABLE;\n"
                           "A:\n  mov.u64 %result, 10;\n  bra DONE;\n"
                           "B:\n  mov.u64 %result, 20;\n  bra DONE;\n"
                           "C:\n  mov.u64 %result, 30;\nDONE:\n");
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      EXPECT_EQ(out[t], 10u * ((uni ? 2 : t % 3) + 1)) << form << t;
    }
  }
}

// One load behind all cases, of what each gives an offset of.
TEST(ControlExec, CasesThatReadOneArray) {
  const auto out = RunThreads(
      ".global .align 8 .u64 values[16] = {3, 10, 17, 24, 31, 38, 45, 52, 59, "
      "66, 73, 80, 87, 94, 101, 108};\n",
      "  and.b32 %r0, %thread, 3;\n  mov.u64 %l0, values;\n"
      "  mad.wide.u32 %l0, %r0, 8, %l0;\n  rem.u32 %r0, %thread, 6;\n"
      "TABLE: .branchtargets A, B, C, D, E, F;\n  brx.idx %r0, TABLE;\n"
      "A:\n  ld.global.u64 %result, [%l0];\n  bra DONE;\n"
      "B:\n  ld.global.u64 %result, [%l0+24];\n  bra DONE;\n"
      "C:\n  ld.global.u64 %result, [%l0+8];\n  bra DONE;\n"
      "D:\n  ld.global.u64 %result, [%l0+96];\n  bra DONE;\n"
      "E:\n  ld.global.u64 %result, [%l0+40];\n  bra DONE;\n"
      "F:\n  ld.global.u64 %result, [%l0+72];\nDONE:\n");
  constexpr std::uint32_t kIndices[] = {0, 3, 1, 12, 5, 9};
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(out[t], 3 + 7 * (t % 4 + kIndices[t % 6])) << t;
  }
}

// Blocks that jump to any others, so that cycles are entered everywhere: with
// values of all kinds that cross them, loops inside, tables and two exits.
class RandomGraph {
 public:
  RandomGraph(std::uint32_t blocks, std::uint32_t seed) : random_(seed) {
    for (std::uint32_t i = 0; i < blocks; ++i) {
      Block block{Below(6), Below(1000) | 1, Below(4), {}};
      for (std::uint32_t& target : block.targets) {
        // Two behind the last block are the exits.
        target = Below(12) == 0 ? blocks + Below(2) : Below(blocks);
      }
      blocks_.push_back(block);
    }
  }

  std::string Ptx() const {
    std::string text =
        "  mov.u32 %r0, %thread;\n  mov.u32 %r1, 0;\n  mov.u32 %r2, 7;\n"
        "  mov.u32 %r3, %thread;\n  mov.u64 %l0, 1;\n"
        "  setp.ne.u32 %p0, %r0, %r0;\n";
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      const std::string number = std::to_string(i);
      text += "B" + number +
              ":\n  add.u32 %r1, %r1, 1;\n  setp.gt.u32 %p1, %r1, 150;\n"
              "  @%p1 bra B" +
              std::to_string(blocks_.size()) +
              ";\n  mad.lo.u32 %r0, %r0, 1664525, " +
              std::to_string(1013904223 + i) + ";\n";
      const std::string factor = std::to_string(block.factor);
      switch (block.kind) {
        case 0: text += "  mad.lo.u32 %r2, %r3, " + factor + ", %r0;\n"; break;
        case 1:  // a swap, which phis make of it
          text +=
              "  mov.u32 %r4, %r2;\n  mov.u32 %r2, %r3;\n"
              "  mov.u32 %r3, %r4;\n";
          break;
        case 2:
          text += "  cvt.u64.u32 %l1, %r2;\n  mad.lo.u64 %l0, %l0, " + factor +
                  ", %l1;\n";
          break;
        case 3: text += "  setp.gt.u32 %p0, %r2, %r3;\n"; break;
        case 4:
          text += "  selp.u32 %r4, " + factor +
                  ", 0, %p0;\n"
                  "  add.u32 %r3, %r3, %r4;\n";
          break;
        default:
          text += "  shr.u32 %r5, %r0, 29;\nL" + number +
                  ":\n  mad.lo.u32 %r3, %r3, 5, %r5;\n"
                  "  sub.u32 %r5, %r5, 1;\n  setp.gt.s32 %p2, %r5, 0;\n"
                  "  @%p2 bra L" +
                  number + ";\n";
      }
      const auto target = [&](int which) {
        return "B" + std::to_string(block.targets[which]);
      };
      text += "  shr.u32 %r6, %r0, 30;\n";
      switch (block.branch) {
        case 0:
          text += "T" + number + ": .branchtargets " + target(0) + ", " +
                  target(1) + ", " + target(2) + ", " + target(3) +
                  ";\n  brx.idx %r6, T" + number + ";\n";
          break;
        case 1: text += "  bra " + target(0) + ";\n"; break;
        default:
          text += "  setp.eq.u32 %p3, %r6, 0;\n  @%p3 bra " + target(0) +
                  ";\n  bra " + target(1) + ";\n";
      }
    }
    const std::string first = std::to_string(blocks_.size());
    const std::string second = std::to_string(blocks_.size() + 1);
    return text + "B" + first + ":\n  add.u32 %r3, %r3, 12345;\nB" + second +
           ":\n  xor.b32 %r2, %r2, %r1;\n  mov.b64 %l1, {%r2, %r3};\n"
           "  xor.b64 %result, %l0, %l1;\n";
  }

  std::uint64_t Expected(std::uint32_t thread) const {
    std::uint32_t r0 = thread, r1 = 0, r2 = 7, r3 = thread;
    std::uint64_t l0 = 1;
    bool p0 = false;
    std::size_t at = 0;
    while (at < blocks_.size()) {
      const Block& block = blocks_[at];
      if (++r1 > 150) {
        at = blocks_.size();
        break;
      }
      r0 = r0 * 1664525 + 1013904223 + static_cast<std::uint32_t>(at);
      switch (block.kind) {
        case 0: r2 = r3 * block.factor + r0; break;
        case 1: std::swap(r2, r3); break;
        case 2: l0 = l0 * block.factor + r2; break;
        case 3: p0 = r2 > r3; break;
        case 4: r3 += p0 ? block.factor : 0; break;
        default: {
          std::uint32_t r5 = r0 >> 29;
          do {
            r3 = r3 * 5 + r5;
          } while (static_cast<std::int32_t>(--r5) > 0);
        }
      }
      const std::uint32_t r6 = r0 >> 30;
      at = block.targets[block.branch == 0   ? r6
                         : block.branch == 1 ? 0
                                             : (r6 == 0 ? 0 : 1)];
    }
    if (at == blocks_.size()) r3 += 12345;
    return l0 ^ (r2 ^ r1) ^ std::uint64_t{r3} << 32;
  }

 private:
  struct Block {
    std::uint32_t kind, factor, branch;
    std::uint32_t targets[4];
  };
  std::uint32_t Below(std::uint32_t limit) {
    random_ = random_ * 1664525 + 1013904223;
    return (random_ >> 8) % limit;
  }
  std::uint32_t random_;
  std::vector<Block> blocks_;
};

TEST(ControlExec, CyclesEnteredAnywhere) {
  // 23 had values that were never set, 27 hung.
  std::vector<std::uint32_t> graphs = {0, 1, 2, 23, 27};
  if (const char* wanted = std::getenv("CERBERUS_TEST_GRAPHS")) {
    graphs.resize(static_cast<std::size_t>(std::atoi(wanted)));
    std::iota(graphs.begin(), graphs.end(), 0u);
  }
  for (const std::uint32_t i : graphs) {
    const RandomGraph graph(5 + 17 * (i % 3), i);
    const auto out = RunThreads("", graph.Ptx());
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      ASSERT_EQ(out[t], graph.Expected(t)) << i << " " << t << graph.Ptx();
    }
  }
}

constexpr char kAddFunction[] =
    ".func (.param .b32 sum) addmul(.param .b32 a, .param .b32 b)\n{\n"
    "  .reg .b32 %r<4>;\n  ld.param.u32 %r0, [a];\n  ld.param.u32 %r1, [b];\n"
    "  mad.lo.u32 %r2, %r0, 10, %r1;\n  st.param.b32 [sum], %r2;\n  ret;\n}\n";

TEST(ControlExec, DirectCalls) {
  for (const char* form : {"call", "call.uni"}) {
    const auto out = RunThreads(
        kAddFunction,
        "  {\n  .param .b32 p0;\n  .param .b32 p1;\n  .param .b32 r;\n"
        "  st.param.b32 [p0], %thread;\n  st.param.b32 [p1], 7;\n  " +
            std::string(form) +
            " (r), addmul, (p0, p1);\n  ld.param.b32 %r0, [r];\n  }\n"
            "  cvt.u64.u32 %result, %r0;\n");
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      EXPECT_EQ(out[t], 10 * t + 7) << form;
    }
  }
}

TEST(ControlExec, CallsWithRegisterParameters) {
  const auto out = RunThreads(
      ".func (.reg .b32 %sum) add2(.reg .b32 %a, .reg .b32 %b)\n{\n"
      "  add.u32 %sum, %a, %b;\n  ret;\n}\n",
      "  call (%r0), add2, (%thread, 5);\n  cvt.u64.u32 %result, %r0;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) EXPECT_EQ(out[t], t + 5);
}

// Not a copy in each place (call_graph.cc, kInstructionsToCopy). It exits for
// some lanes, and reads and writes memory of its own and its caller's.
TEST(ControlExec, CallsOfALargeFunction) {
  std::string function =
      ".shared .b32 word[64];\n"
      ".func (.reg .b32 %sum) large(.reg .b32 %a, .reg .b64 %where)\n{\n"
      "  .local .b32 own[4];\n  .reg .pred %p;\n  .reg .b32 %r<4>;\n"
      "  .reg .b64 %l<4>;\n"
      "  and.b32 %r0, %a, 7;\n  setp.eq.u32 %p, %r0, 5;\n  @%p exit;\n"
      "  and.b32 %r0, %a, 3;\n  mul.wide.u32 %l0, %r0, 4;\n"
      "  mov.u64 %l1, own;\n  add.u64 %l0, %l0, %l1;\n"
      "  st.local.u32 [%l0], %a;\n  ld.u32 %r1, [%where];\n";
  for (int i = 0; i < 10000; ++i) {
    function += "  mad.lo.u32 %r1, %r1, 1664525, 1013904223;\n";
  }
  const auto out = RunThreads(
      function +
          "  mov.u32 %r2, %tid.x;\n  mul.wide.u32 %l2, %r2, 4;\n"
          "  mov.u64 %l3, word;\n  add.u64 %l2, %l2, %l3;\n"
          "  st.shared.u32 [%l2], %r1;\n  bar.sync 0;\n"
          "  ld.shared.u32 %r1, [%l2];\n"
          "  st.u32 [%where], %r1;\n  ld.local.u32 %r3, [%l0];\n"
          "  add.u32 %sum, %r1, %r3;\n  ret;\n}\n",
      "  .local .align 8 .b8 depot[8];\n"
      "  mov.u64 %l0, depot;\n  cvta.local.u64 %l1, %l0;\n"
      "  st.local.u32 [%l0], %thread;\n  call (%r0), large, (%thread, %l1);\n"
      "  call (%r1), large, (%r0, %l1);\n  cvt.u64.u32 %result, %r1;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    std::uint32_t word = t, a = t;
    bool left = false;
    for (int call = 0; call < 2 && !left; ++call) {
      if (left = (a & 7) == 5; left) break;
      for (int i = 0; i < 10000; ++i) word = word * 1664525 + 1013904223;
      a += word;
    }
    EXPECT_EQ(out[t], left ? 0xeeee : a) << t;
  }
}

TEST(ControlExec, CallsWithoutResultAndWithStructs) {
  const auto out = RunThreads(
      ".func store(.param .b64 where, .param .align 8 .b8 pair[16])\n{\n"
      "  .reg .b64 %l<4>;\n  ld.param.u64 %l0, [where];\n"
      "  ld.param.u64 %l1, [pair];\n  ld.param.u64 %l2, [pair+8];\n"
      "  add.u64 %l3, %l1, %l2;\n  st.u64 [%l0], %l3;\n  ret;\n}\n",
      "  .local .align 8 .b8 depot[8];\n"
      "  mov.u64 %l0, depot;\n  cvta.local.u64 %l1, %l0;\n"
      "  cvt.u64.u32 %l2, %thread;\n"
      "  {\n  .param .b64 p0;\n  .param .align 8 .b8 p1[16];\n"
      "  st.param.b64 [p0], %l1;\n  st.param.b64 [p1], %l2;\n"
      "  st.param.b64 [p1+8], 1000;\n  call.uni store, (p0, p1);\n  }\n"
      "  ld.local.u64 %result, [%l0];\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) EXPECT_EQ(out[t], t + 1000);
}

TEST(ControlExec, Recursion) {
  // fib by the textbook, each lane to its own depth.
  const auto out = RunThreads(
      ".func (.param .b32 r) fib(.param .b32 n)\n;\n"
      ".func (.param .b32 r) fib(.param .b32 n)\n{\n"
      "  .reg .b32 %r<8>;\n  .reg .pred %p;\n  ld.param.u32 %r0, [n];\n"
      "  setp.lt.u32 %p, %r0, 2;\n  @%p bra BASE;\n"
      "  sub.u32 %r1, %r0, 1;\n  sub.u32 %r2, %r0, 2;\n"
      "  {\n  .param .b32 a;\n  .param .b32 b;\n  st.param.b32 [a], %r1;\n"
      "  call (b), fib, (a);\n  ld.param.b32 %r3, [b];\n  }\n"
      "  {\n  .param .b32 a;\n  .param .b32 b;\n  st.param.b32 [a], %r2;\n"
      "  call (b), fib, (a);\n  ld.param.b32 %r4, [b];\n  }\n"
      "  add.u32 %r5, %r3, %r4;\n  st.param.b32 [r], %r5;\n  ret;\n"
      "BASE:\n  st.param.b32 [r], %r0;\n  ret;\n}\n",
      "  and.b32 %r0, %thread, 7;\n"
      "  {\n  .param .b32 a;\n  .param .b32 b;\n  st.param.b32 [a], %r0;\n"
      "  call (b), fib, (a);\n  ld.param.b32 %r1, [b];\n  }\n"
      "  cvt.u64.u32 %result, %r1;\n");
  const std::uint64_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13};
  for (std::uint32_t t = 0; t < kThreads; ++t) EXPECT_EQ(out[t], fib[t & 7]);
}

TEST(ControlExec, IndirectCalls) {
  const auto out = RunThreads(
      std::string(kAddFunction) +
          ".func (.param .b32 sum) submul(.param .b32 a, .param .b32 b)\n{\n"
          "  .reg .b32 %r<4>;\n  ld.param.u32 %r0, [a];\n"
          "  ld.param.u32 %r1, [b];\n  mul.lo.u32 %r2, %r0, 10;\n"
          "  sub.u32 %r3, %r2, %r1;\n  st.param.b32 [sum], %r3;\n  ret;\n}\n"
          ".global .align 8 .u64 table[2] = {addmul, submul};\n",
      "  and.b32 %r0, %thread, 1;\n  mov.u64 %l0, table;\n"
      "  mad.wide.u32 %l0, %r0, 8, %l0;\n  ld.global.u64 %l1, [%l0];\n"
      "  {\n  .param .b32 p0;\n  .param .b32 p1;\n  .param .b32 r;\n"
      "  st.param.b32 [p0], %thread;\n  st.param.b32 [p1], 3;\n"
      "PROTO: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 "
      "_);\n"
      "  call (r), %l1, (p0, p1), PROTO;\n  ld.param.b32 %r1, [r];\n  }\n"
      "  cvt.s64.s32 %result, %r1;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const std::int64_t want =
        static_cast<std::int64_t>(10 * t) + (t % 2 == 0 ? 3 : -3);
    EXPECT_EQ(static_cast<std::int64_t>(out[t]), want) << t;
  }
}

TEST(ControlExec, RetAndExitEndTheirThreadsOnly) {
  for (const char* opcode : {"ret", "exit"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      if (s.Has("uni")) continue;  // all threads would have to leave
      const auto out =
          RunThreads("", "  setp.lt.u32 %p0, %thread, 20;\n  @%p0 " + s.text +
                             ";\n  mov.u64 %result, 9;\n");
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        EXPECT_EQ(out[t], t < 20 ? 0xeeeeu : 9u) << s.text << t;
      }
    }
  }
  const auto out = RunThreads("",
                              "  mov.u64 %result, 3;\n"
                              "  st.global.u64 [%out], %result;\n"
                              "  ret.uni;\n  mov.u64 %result, 4;\n");
  for (std::uint64_t r : out) EXPECT_EQ(r, 3u);
}

TEST(ControlExec, NanosleepOnlyWaits) {
  for (const LoweredSpelling& s : LoweredSpellingsOf("nanosleep")) {
    const auto out = RunThreads("", "  " + s.text + " 100;\n  " + s.text +
                                        " %thread;\n  mov.u64 %result, 6;\n");
    for (std::uint64_t r : out) EXPECT_EQ(r, 6u);
  }
}

// A trap ends the thread's wave; what it had stored before stays.
TEST(ControlExec, TrapEndsTheWave) {
  for (const LoweredSpelling& s : LoweredSpellingsOf("trap")) {
    const auto out =
        RunThreads("",
                   "  setp.lt.u32 %p0, %thread, 32;\n  mov.u64 %result, 1;\n"
                   "  st.global.u64 [%out], %result;\n  @!%p0 bra DONE;\n  " +
                       s.text + ";\nDONE:\n  mov.u64 %result, 2;\n",
                   true);
    for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], 1u) << t;
  }
}

TEST(ControlExec, ExitBehindAPointer) {
  const auto out = RunThreads(
      ".func (.param .b32 r) leave(.param .b32 a)\n{\n"
      "  .reg .b32 %r<4>;\n  .reg .pred %p;\n  ld.param.u32 %r0, [a];\n"
      "  setp.gt.u32 %p, %r0, 20;\n  @%p exit;\n"
      "  add.u32 %r1, %r0, 1;\n  st.param.b32 [r], %r1;\n  ret;\n}\n"
      ".func (.param .b32 r) stay(.param .b32 a)\n{\n"
      "  .reg .b32 %r<4>;\n  ld.param.u32 %r0, [a];\n"
      "  add.u32 %r1, %r0, 2;\n  st.param.b32 [r], %r1;\n  ret;\n}\n",
      "  and.b32 %r0, %thread, 1;\n  setp.eq.u32 %p0, %r0, 0;\n"
      "  mov.u64 %l0, leave;\n  mov.u64 %l1, stay;\n"
      "  selp.u64 %l2, %l0, %l1, %p0;\n"
      "  {\n  .param .b32 p0;\n  .param .b32 r;\n"
      "  st.param.b32 [p0], %thread;\n"
      "PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
      "  call (r), %l2, (p0), PROTO;\n  ld.param.b32 %r1, [r];\n  }\n"
      "  cvt.u64.u32 %result, %r1;\n");
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const std::uint64_t want = t % 2 == 1 ? t + 2 : t > 20 ? 0xeeee : t + 1;
    EXPECT_EQ(out[t], want) << t;
  }
}

// Each thread takes two pieces of its own stack in a loop that gives them
// back, fills them and sums them up.

}  // namespace
}  // namespace cerberus::exec
