// Lanes of a warp that wait for each other: locks, tickets, lists, flags.
//
// CUDA C++ Programming Guide, "Independent Thread Scheduling": from sm_70 on
// every thread makes progress, also when others of its warp wait for it. The
// programs here hang where lanes have to reconverge first. Each runs with
// the emulator's waves in order and in random interleavings; a wave that
// takes too many instructions counts as hung.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

constexpr char kHead[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".global .align 4 .u32 lock = 0;\n.global .align 4 .u32 lock2 = 0;\n"
    ".global .align 4 .u32 total = 0;\n.global .align 4 .u32 serving = 0;\n"
    ".global .align 8 .u64 head = 0;\n"
    ".global .align 8 .b8 nodes[8192];\n"  // next (u64), value (u64)
    ".global .align 4 .b8 flags[4100];\n"
    ".shared .align 4 .u32 shared_lock;\n.shared .align 4 .u32 shared_total;\n"
    ".shared .align 8 .b64 bar;\n"
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, "
    ".param .b64 d, .param .b64 e);\n"
    ".func (.reg .u32 %r) next(.reg .u32 %a)\n"
    "{\n  add.u32 %r, %a, 1;\n  ret;\n}\n"
    ".global .u64 function = next;\n";

// A kernel whose thread %t of %n is lane %lane, with its word of `out` at
// [%l0] and its flag at [%l1].
std::string Kernel(const std::string& body) {
  return std::string(kHead) +
         ".visible .entry k(.param .u64 out)\n{\n"
         "  .reg .b64 %out, %l<16>;\n  .reg .b32 %r<32>;\n"
         "  .reg .b32 %t, %lane, %n;\n  .reg .pred %p<8>;\n"
         "  ld.param.u64 %out, [out];\n  mov.u32 %t, %tid.x;\n"
         "  mov.u32 %n, %ntid.x;\n  mov.u32 %lane, %laneid;\n"
         "  mad.wide.u32 %l0, %t, 4, %out;\n  mov.u64 %l1, flags;\n"
         "  mad.wide.u32 %l1, %t, 4, %l1;\n" +
         body + "  ret;\n}\n";
}

// total += 1, in two steps that must not mix with another thread's.
const std::string kCount =
    "  ld.volatile.global.u32 %r1, [total];\n  add.u32 %r1, %r1, 1;\n"
    "  st.volatile.global.u32 [total], %r1;\n";
const std::string kTake =
    "TAKE:\n  atom.acquire.gpu.global.cas.b32 %r0, [lock], 0, 1;\n"
    "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra TAKE;\n";
const std::string kGive =
    "  atom.release.gpu.global.exch.b32 %r2, [lock], 0;\n";

using Expected = std::function<std::uint32_t(std::uint32_t t, std::uint32_t n)>;

// Threads t and t^1 take turns at a flag, ten each, without a loop around.
std::string Turns() {
  std::string body =
      "  and.b32 %r3, %t, 1;\n  shr.u32 %r4, %t, 1;\n  mov.u64 %l2, flags;\n"
      "  mad.wide.u32 %l2, %r4, 4, %l2;\n  setp.ne.u32 %p0, %r3, 0;\n"
      "  @%p0 bra ODD;\n";
  for (int turn = 0; turn < 20; ++turn) {
    const int odd = turn / 10, number = turn % 10 * 2 + odd;
    const std::string label = "WAIT" + std::to_string(turn);
    body +=
        (turn == 10 ? "  bra END;\nODD:\n" : "") + label +
        ":\n  ld.volatile.global.u32 %r0, [%l2];\n  setp.ne.u32 %p1, %r0, " +
        std::to_string(number) + ";\n  @%p1 bra " + label +
        ";\n  st.volatile.global.u32 [%l2], " + std::to_string(number + 1) +
        ";\n";
  }
  return body + "END:\n  st.global.u32 [%l0], %r0;\n";
}

// All threads meet at an mbarrier, as cuda::barrier waits: sleeping after
// some tries. In the end odd ones drop out, and even ones wait for them.
std::string MeetAndDrop() {
  std::string body =
      "  mov.u32 %r3, bar;\n  setp.ne.u32 %p0, %t, 0;\n"
      "  @!%p0 mbarrier.init.shared.b64 [%r3], %n;\n  bar.sync 0;\n";
  const auto meet = [&body](const std::string& id) {
    body +=
        "  mbarrier.arrive.shared.b64 %l2, [%r3];\n"
        "  mbarrier.try_wait.shared.b64 %p1, [%r3], %l2;\n  @%p1 bra MET" +
        id + ";\n  mov.u32 %r4, 0;\nTRY" + id +
        ":\n  setp.lt.s32 %p2, %r4, 16;\n  @%p2 bra SPIN" + id +
        ";\n  nanosleep.u32 100;\n  bra AGAIN" + id + ";\nSPIN" + id +
        ":\n  add.u32 %r4, %r4, 1;\nAGAIN" + id +
        ":\n  mbarrier.try_wait.shared.b64 %p1, [%r3], %l2;\n"
        "  @!%p1 bra TRY" +
        id + ";\nMET" + id + ":\n";
  };
  for (int i = 0; i < 10; ++i) {
    meet(std::to_string(i));
    body += "  st.global.u32 [%l0], " + std::to_string(i) + ";\n";
  }
  body +=
      "  and.b32 %r5, %t, 1;\n  setp.ne.u32 %p3, %r5, 0;\n"
      "  @%p3 bra DROP;\n";
  meet("_EVEN");
  meet("_EVEN2");
  return body +
         "  st.global.u32 [%l0], 100;\n  bra END;\n"
         "DROP:\n  mbarrier.arrive_drop.shared.b64 _, [%r3];\nEND:\n";
}

// Threads t and t^1 have a word each, at [%l2] and [%l3].
const std::string kPair =
    "  and.b32 %r3, %t, 1;\n  xor.b32 %r4, %t, 1;\n  mov.u64 %l3, flags;\n"
    "  mad.wide.u32 %l2, %t, 4, %l3;\n  mad.wide.u32 %l3, %r4, 4, %l3;\n"
    "  xor.b32 %r4, %r3, 1;\n";  // %r3: 1 in odd threads, %r4: in even ones

// Threads t and t^1 go different ways, and one (`odd`: t^1) waits for the
// other, which then waits for it. In front of and behind each wait the lanes
// of one way are counted together.
std::string SidesThatVote(bool odd) {
  const auto vote = [](const std::string& lanes) {
    return "  vote.sync.ballot.b32 %r5, 1, " + lanes + ";\n  popc.b32 %r5, " +
           "%r5;\n  mad.lo.u32 %r6, %r6, 100, %r5;\n";
  };
  const auto wait = [](const std::string& label, const std::string& until) {
    return label +
           ":\n  ld.volatile.global.u32 %r0, [%l3];\n"
           "  setp.ne.u32 %p1, %r0, " +
           until + ";\n  @%p1 bra " + label + ";\n";
  };
  const std::string waits = odd ? "0xaaaaaaaa" : "0x55555555";
  const std::string tells = odd ? "0x55555555" : "0xaaaaaaaa";
  return kPair + "  mov.u32 %r6, 0;\n  setp.eq.u32 %p0, %r3, " +
         (odd ? "1" : "0") + ";\n  @%p0 bra WAITS;\n" + vote(tells) +
         "  st.volatile.global.u32 [%l2], 1;\n" + wait("ANSWER", "2") +
         vote(tells) + "  bra END;\nWAITS:\n" + vote(waits) +
         wait("SIGNAL", "1") + vote(waits) +
         "  st.volatile.global.u32 [%l2], 2;\n"
         "END:\n  st.global.u32 [%l0], %r6;\n";
}
std::uint32_t VotesOfASide(std::uint32_t t, std::uint32_t n) {
  const std::uint32_t lanes = std::min(n - t / 32 * 32, 32u) / 2;
  return 101 * lanes;
}

struct Program {
  const char* name;
  std::string body;
  const char* variable;  // whose word must be `sum` at the end; or null
  std::function<std::uint32_t(std::uint32_t n)> sum;
  Expected result;  // of a thread; null: not looked at
};

std::uint32_t Once(std::uint32_t n) { return n; }

const std::vector<Program>& Programs() {
  static const std::vector<Program> programs = {
      {"spin_lock", kTake + kCount + kGive, "total", Once, nullptr},
      {"exchange_lock_plain_release",
       "TAKE:\n  atom.global.exch.b32 %r0, [lock], 1;\n"
       "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra TAKE;\n" +
           kCount + "  membar.gl;\n  st.global.u32 [lock], 0;\n",
       "total", Once, nullptr},
      {"lock_in_shared_memory",
       "  setp.eq.u32 %p1, %t, 0;\n  @%p1 st.shared.u32 [shared_lock], 0;\n"
       "  @%p1 st.shared.u32 [shared_total], 0;\n  bar.sync 0;\n"
       "TAKE:\n  atom.shared.cas.b32 %r0, [shared_lock], 0, 1;\n"
       "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra TAKE;\n"
       "  ld.volatile.shared.u32 %r1, [shared_total];\n"
       "  add.u32 %r1, %r1, 1;\n"
       "  st.volatile.shared.u32 [shared_total], %r1;\n"
       "  atom.shared.exch.b32 %r2, [shared_lock], 0;\n  bar.sync 0;\n"
       "  ld.shared.u32 %r3, [shared_total];\n  st.global.u32 [%l0], %r3;\n",
       nullptr, nullptr, [](std::uint32_t, std::uint32_t n) { return n; }},
      {"lock_then_barrier_then_shuffle",
       kTake + kCount + kGive +
           "  bar.sync 0;\n  ld.volatile.global.u32 %r3, [total];\n"
           "  shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;\n"
           "  st.global.u32 [%l0], %r4;\n",
       "total", Once, [](std::uint32_t, std::uint32_t n) { return n; }},
      {"lock_until_done",
       // Two ways lead back to the head of one loop.
       "  mov.u32 %r6, 0;\nAGAIN:\n  setp.ne.u32 %p1, %r6, 0;\n"
       "  @%p1 bra DONE;\n"
       "  atom.acquire.gpu.global.cas.b32 %r0, [lock], 0, 1;\n"
       "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra AGAIN;\n" +
           kCount + "  mov.u32 %r6, 1;\n" + kGive + "  bra AGAIN;\nDONE:\n",
       "total", Once, nullptr},
      {"lock_in_a_loop_of_each_lane",
       // Thread t takes the lock t % 5 times.
       "  rem.u32 %r5, %t, 5;\n  mov.u32 %r6, 0;\n"
       "NEXT:\n  setp.ge.u32 %p1, %r6, %r5;\n  @%p1 bra DONE;\n" +
           kTake + kCount + kGive +
           "  add.u32 %r6, %r6, 1;\n  bra NEXT;\n"
           "DONE:\n  st.global.u32 [%l0], %r6;\n",
       "total",
       [](std::uint32_t n) {
         std::uint32_t sum = 0;
         for (std::uint32_t t = 0; t < n; ++t) sum += t % 5;
         return sum;
       },
       [](std::uint32_t t, std::uint32_t) { return t % 5; }},
      {"lock_released_on_two_ways_out",
       kTake + kCount +
           "  and.b32 %r5, %t, 1;\n  setp.eq.u32 %p1, %r5, 0;\n"
           "  @%p1 bra EVEN;\n" +
           kGive + "  st.global.u32 [%l0], 1;\n  ret;\nEVEN:\n" + kGive +
           "  st.global.u32 [%l0], 2;\n",
       "total", Once,
       [](std::uint32_t t, std::uint32_t) { return t % 2 == 0 ? 2u : 1u; }},
      {"lock_in_a_branch",
       "  mov.u32 %r5, 7;\n  and.b32 %r4, %t, 3;\n"
       "  setp.eq.u32 %p1, %r4, 0;\n  @%p1 bra SKIP;\n" +
           kTake + kCount + "  mov.u32 %r5, 9;\n" + kGive +
           "SKIP:\n  st.global.u32 [%l0], %r5;\n",
       "total", [](std::uint32_t n) { return n - (n + 3) / 4; },
       [](std::uint32_t t, std::uint32_t) { return t % 4 == 0 ? 7u : 9u; }},
      // The loop around has lanes together, so they meet within it, which they
      // could not if the assertion were a way out.
      {"lock_with_an_assertion",
       "  mov.u32 %r6, 0;\nNEXT:\n" + kTake + kCount +
           "  setp.lt.u32 %p1, %r1, 100000;\n  @%p1 bra GOOD;\n"
           "  {\n  .param .b64 a;\n  .param .b32 c;\n"
           "  st.param.b64 [a], 0;\n  st.param.b32 [c], 0;\n"
           "  call.uni __assertfail, (a, a, c, a, a);\n  }\n"
           "GOOD:\n" +
           kGive +
           "  activemask.b32 %r7;\n  st.global.u32 [%l0], %r7;\n"
           "  add.u32 %r6, %r6, 1;\n  setp.lt.u32 %p2, %r6, 3;\n"
           "  @%p2 bra NEXT;\n",
       "total", [](std::uint32_t n) { return 3 * n; }, nullptr},
      {"lock_with_a_call_through_a_pointer",
       "  ld.global.u64 %l4, [function];\n" + kTake +
           "  ld.volatile.global.u32 %r1, [total];\n"
           "  P: .callprototype (.reg .u32 _) _ (.reg .u32 _);\n"
           "  call (%r1), %l4, (%r1), P;\n"
           "  st.volatile.global.u32 [total], %r1;\n" +
           kGive,
       "total", Once, nullptr},
      {"two_locks",
       kTake +
           "TAKE2:\n  atom.global.cas.b32 %r0, [lock2], 0, 1;\n"
           "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra TAKE2;\n" +
           kCount + "  atom.global.exch.b32 %r2, [lock2], 0;\n" + kGive,
       "total", Once, nullptr},
      {"lock_with_backoff",
       "  mov.u32 %r7, 1;\nTAKE:\n"
       "  atom.global.cas.b32 %r0, [lock], 0, 1;\n"
       "  setp.eq.u32 %p0, %r0, 0;\n  @%p0 bra TAKEN;\n"
       "  nanosleep.u32 %r7;\n  shl.b32 %r7, %r7, 1;\n"
       "  min.u32 %r7, %r7, 256;\n  bra TAKE;\nTAKEN:\n" +
           kCount + kGive,
       "total", Once, nullptr},
      {"try_lock_until_done",
       "  mov.u32 %r3, 0;\nTRY:\n"
       "  atom.global.cas.b32 %r0, [lock], 0, 1;\n"
       "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra TRY_AGAIN;\n" +
           kCount + "  membar.gl;\n" + kGive +
           "  mov.u32 %r3, 1;\nTRY_AGAIN:\n"
           "  setp.eq.u32 %p0, %r3, 0;\n  @%p0 bra TRY;\n",
       "total", Once, nullptr},
      {"try_lock_inside_the_loop",
       "TRY:\n  atom.global.cas.b32 %r0, [lock], 0, 1;\n"
       "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra TRY_AGAIN;\n" +
           kCount + kGive +
           "  mov.u32 %r0, 0;\nTRY_AGAIN:\n  setp.ne.u32 %p0, %r0, 0;\n"
           "  @%p0 bra TRY;\n",
       "total", Once, nullptr},
      {"ticket_lock",
       "  atom.global.add.u32 %r5, [lock], 1;\n"
       "WAIT:\n  ld.acquire.gpu.global.u32 %r6, [serving];\n"
       "  setp.ne.u32 %p0, %r6, %r5;\n  @%p0 bra WAIT;\n" +
           kCount +
           "  add.u32 %r6, %r6, 1;\n"
           "  st.release.gpu.global.u32 [serving], %r6;\n",
       "total", Once, nullptr},
      {"list_push_and_pop",
       // Thread t pushes node t with the value t, then pops one.
       "  mov.u64 %l2, nodes;\n  mad.wide.u32 %l2, %t, 16, %l2;\n"
       "  cvt.u64.u32 %l3, %t;\n  st.global.u64 [%l2+8], %l3;\n"
       "  ld.volatile.global.u64 %l4, [head];\n"
       "PUSH:\n  st.volatile.global.u64 [%l2], %l4;\n  mov.u64 %l5, %l4;\n"
       "  atom.global.cas.b64 %l4, [head], %l5, %l2;\n"
       "  setp.ne.u64 %p0, %l4, %l5;\n  @%p0 bra PUSH;\n"
       // All have pushed before any pops, so that no node comes back.
       "  bar.sync 0;\n  ld.volatile.global.u64 %l4, [head];\n"
       "POP:\n  ld.volatile.global.u64 %l6, [%l4];\n  mov.u64 %l5, %l4;\n"
       "  atom.global.cas.b64 %l4, [head], %l5, %l6;\n"
       "  setp.ne.u64 %p0, %l4, %l5;\n  @%p0 bra POP;\n"
       "  ld.global.u32 %r0, [%l5+8];\n"
       "  atom.global.add.u32 %r1, [total], %r0;\n",
       "total", [](std::uint32_t n) { return n * (n - 1) / 2; }, nullptr},
      {"flag_from_the_next_lane",
       // Lane 0 of each warp waits for lane 1, which comes to its branch last.
       "  setp.eq.u32 %p0, %lane, 0;\n  mov.u32 %r0, 5;\n"
       "  @%p0 bra WAIT;\n  setp.ne.u32 %p1, %lane, 1;\n  @%p1 bra DONE;\n"
       "  st.volatile.global.u32 [%l1], 77;\n  bra DONE;\n"
       "WAIT:\n  ld.volatile.global.u32 %r0, [%l1+4];\n"
       "  setp.eq.u32 %p2, %r0, 0;\n  @%p2 bra WAIT;\n"
       "DONE:\n  st.global.u32 [%l0], %r0;\n",
       nullptr, nullptr,
       [](std::uint32_t t, std::uint32_t) { return t % 32 == 0 ? 77u : 5u; }},
      {"flag_waited_for_first",
       "  setp.ne.u32 %p0, %lane, 0;\n  mov.u32 %r0, 5;\n"
       "  @%p0 bra OTHERS;\n"
       "WAIT:\n  ld.acquire.gpu.global.u32 %r0, [%l1+4];\n"
       "  setp.eq.u32 %p2, %r0, 0;\n  @%p2 bra WAIT;\n  bra DONE;\n"
       "OTHERS:\n  setp.ne.u32 %p1, %lane, 1;\n  @%p1 bra DONE;\n"
       "  st.release.gpu.global.u32 [%l1], 77;\n"
       "DONE:\n  st.global.u32 [%l0], %r0;\n",
       nullptr, nullptr,
       [](std::uint32_t t, std::uint32_t) { return t % 32 == 0 ? 77u : 5u; }},
      {"chain_of_flags_upward",
       // Thread t waits for thread t - 1, and counts.
       "  mov.u32 %r0, 0;\n  setp.eq.u32 %p0, %t, 0;\n  @%p0 bra GO;\n"
       "WAIT:\n  ld.volatile.global.u32 %r0, [%l1];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "GO:\n  add.u32 %r0, %r0, 1;\n"
       "  st.volatile.global.u32 [%l1+4], %r0;\n"
       "  st.global.u32 [%l0], %r0;\n",
       nullptr, nullptr, [](std::uint32_t t, std::uint32_t) { return t + 1; }},
      {"chain_of_flags_downward",
       "  mov.u32 %r0, 0;\n  sub.u32 %r4, %n, 1;\n"
       "  setp.eq.u32 %p0, %t, %r4;\n  @%p0 bra GO;\n"
       "WAIT:\n  ld.volatile.global.u32 %r0, [%l1+4];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "GO:\n  add.u32 %r0, %r0, 1;\n"
       "  st.volatile.global.u32 [%l1], %r0;\n"
       "  st.global.u32 [%l0], %r0;\n",
       nullptr, nullptr,
       [](std::uint32_t t, std::uint32_t n) { return n - t; }},
      {"waiting_with_a_fence",
       // Plain loads, read anew since a fence stands between them.
       "  mov.u32 %r0, 0;\n  setp.eq.u32 %p0, %t, 0;\n  @%p0 bra GO;\n"
       "WAIT:\n  membar.gl;\n  ld.global.u32 %r0, [%l1];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "GO:\n  add.u32 %r0, %r0, 1;\n  membar.gl;\n"
       "  st.global.u32 [%l1+4], %r0;\n  st.global.u32 [%l0], %r0;\n",
       nullptr, nullptr, [](std::uint32_t t, std::uint32_t) { return t + 1; }},
      {"waiting_in_a_loop_behind",
       // Even ones wait at once, odd ones in the loop behind it for them.
       kPair + "FIRST:\n  ld.volatile.global.u32 %r0, [%l3];\n"
               "  setp.lt.u32 %p0, %r0, %r4;\n  @%p0 bra FIRST;\n"
               "  st.volatile.global.u32 [%l2], 1;\n  mov.u32 %r5, 0;\n"
               "LOOP:\n  st.volatile.global.u32 [%l0], %r5;\n"
               "WAIT:\n  ld.volatile.global.u32 %r0, [%l3];\n"
               "  setp.lt.u32 %p0, %r0, %r3;\n  @%p0 bra WAIT;\n"
               "  st.volatile.global.u32 [%l2], 2;\n  add.u32 %r5, %r5, 1;\n"
               "  setp.le.u32 %p1, %r5, %r3;\n  @%p1 bra LOOP;\n"
               "  st.global.u32 [%l0], %r5;\n",
       nullptr, nullptr,
       [](std::uint32_t t, std::uint32_t) { return 1 + t % 2; }},
      {"waiting_for_a_later_iteration",
       kPair + "  shl.b32 %r4, %r4, 1;\n  mov.u32 %r5, 0;\n"
               "LOOP:\n  st.volatile.global.u32 [%l0], %r5;\n"
               "WAIT:\n  ld.volatile.global.u32 %r0, [%l3];\n"
               "  setp.lt.u32 %p0, %r0, %r4;\n  @%p0 bra WAIT;\n"
               "  add.u32 %r5, %r5, 1;\n  st.volatile.global.u32 [%l2], %r5;\n"
               "  setp.lt.u32 %p1, %r5, 3;\n  @%p1 bra LOOP;\n"
               "  st.global.u32 [%l0], %r5;\n",
       nullptr, nullptr, [](std::uint32_t, std::uint32_t) { return 3; }},
      {"meeting_behind_the_wait",
       // Each warp waits for the one before, which raises its lanes' flags
       // one after the other, and then exchanges values: bar.warp.sync holds
       // those that need not wait any more.
       "  mov.u64 %l2, nodes;\n  mad.wide.u32 %l3, %t, 8, %l2;\n"
       "  xor.b32 %r5, %t, 1;\n  mad.wide.u32 %l4, %r5, 8, %l2;\n"
       "  setp.lt.u32 %p0, %t, 32;\n  @%p0 bra GO;\n"
       "WAIT:\n  ld.volatile.global.u32 %r0, [%l1+-128];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "GO:\n  add.u32 %r6, %t, 100;\n  st.global.u32 [%l3], %r6;\n"
       "  bar.warp.sync -1;\n  ld.global.u32 %r7, [%l4];\n"
       "  st.global.u32 [%l0], %r7;\n  mov.u32 %r8, 0;\n"
       "NEXT:\n  setp.eq.u32 %p2, %r8, %lane;\n"
       "  @%p2 st.volatile.global.u32 [%l1], 1;\n"
       "  add.u32 %r8, %r8, 1;\n  setp.lt.u32 %p3, %r8, 32;\n"
       "  @%p3 bra NEXT;\n",
       nullptr, nullptr,
       [](std::uint32_t t, std::uint32_t) { return (t ^ 1) + 100; }},
      {"turns", Turns(), nullptr, nullptr,
       [](std::uint32_t t, std::uint32_t) { return 18 + t % 2; }},
      // Lanes meet between the two locks and wait for each other again.
      {"locks_around_a_barrier",
       kTake + kCount + kGive +
           "  bar.sync 0;\nTAKE2:\n"
           "  atom.global.cas.b32 %r0, [lock2], 0, 1;\n"
           "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra TAKE2;\n" +
           kCount + "  atom.global.exch.b32 %r2, [lock2], 0;\n",
       "total", [](std::uint32_t n) { return 2 * n; }, nullptr},
      {"the_even_wait_and_vote", SidesThatVote(false), nullptr, nullptr,
       VotesOfASide},
      {"the_odd_wait_and_vote", SidesThatVote(true), nullptr, nullptr,
       VotesOfASide},
      {"meet_and_drop", MeetAndDrop(), nullptr, nullptr,
       [](std::uint32_t t, std::uint32_t) { return t % 2 == 0 ? 100 : 9; }},
  };
  return programs;
}

std::shared_ptr<emulator::Device> DeviceWithSchedule(std::uint64_t seed) {
  emulator::DeviceOptions options;
  options.random_schedule = seed != 0;
  options.random_schedule_seed = seed;
  options.instruction_limit = 30'000'000;
  auto device = emulator::Device::Create(TestArch(), options);
  EXPECT_TRUE(device) << device.error().ToString();
  return std::move(*device);
}

void Check(const Program& program, std::uint64_t seed, std::uint32_t threads) {
  SCOPED_TRACE(program.name + std::string(", schedule ") +
               std::to_string(seed) + ", threads " + std::to_string(threads));
  const std::shared_ptr<emulator::Device> device = DeviceWithSchedule(seed);
  auto module = PtxModule::Compile(Kernel(program.body), device);
  ASSERT_TRUE(module) << module.error().ToString();
  EXPECT_EQ((*module)->warnings(), "");
  Buffer out(*device, 4 * threads);
  Launch launch;
  launch.block = {threads, 1, 1};
  launch.params = {out.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  if (program.variable != nullptr) {
    EXPECT_EQ(*reinterpret_cast<const std::uint32_t*>(
                  (*module)->Symbol(program.variable)),
              program.sum(threads));
  }
  if (!program.result) return;
  for (std::uint32_t t = 0; t < threads; ++t) {
    ASSERT_EQ(out.as<std::uint32_t>()[t], program.result(t, threads)) << t;
  }
}

TEST(ProgressExec, LanesThatWaitForEachOtherNeverHang) {
  for (const Program& program : Programs()) {
    for (std::uint64_t seed : {0, 1, 2}) Check(program, seed, 100);
    Check(program, 3, 32);
    Check(program, 4, 256);
  }
}

// A lane spins for what another warp writes late; the others of its warp, which
// need not, vote with it all the same. Older targets have no lanes that go on
// by themselves, with a mask or without.
TEST(ProgressExec, LanesVoteWithOneThatSpinsForLong) {
  constexpr std::uint32_t kWarp = 32, kLate = 101;
  const auto kernel = [](const std::string& target, const std::string& vote) {
    return ".version 7.0\n.target " + target +
           "\n.address_size 64\n"
           ".visible .entry k(.param .u64 out, .param .u64 flags)\n{\n"
           "  .reg .b64 %l<4>;\n  .reg .b32 %r<8>;\n  .reg .pred %p<4>;\n"
           "  ld.param.u64 %l0, [out];\n  ld.param.u64 %l1, [flags];\n"
           "  mov.u32 %r0, %tid.x;\n  setp.ge.u32 %p0, %r0, 32;\n"
           "  @%p0 bra LATE;\n"
           "  mad.wide.u32 %l0, %r0, 4, %l0;\n"
           "  mad.wide.u32 %l1, %r0, 4, %l1;\n"
           "SPIN:\n  ld.cg.global.u32 %r1, [%l1];\n  membar.gl;\n"
           "  setp.eq.u32 %p1, %r1, 0;\n  @%p1 bra SPIN;\n"
           "  setp.eq.u32 %p2, %r1, 101;\n  " +
           vote +
           "  st.global.u32 [%l0], %r2;\n  ret;\n"
           "LATE:\n  mov.u32 %r3, 0;\n"
           "COUNT:\n  st.volatile.global.u32 [%l1+128], %r3;\n"
           "  add.u32 %r3, %r3, 1;\n  setp.lt.u32 %p3, %r3, 20000;\n"
           "  @%p3 bra COUNT;\n"
           "  st.cg.global.u32 [%l1], 101;\n  ret;\n}\n";
  };
  const std::string by_mask = "vote.sync.ballot.b32 %r2, %p2, -1;\n";
  for (const auto& [target, vote] :
       std::vector<std::pair<std::string, std::string>>{
           {"sm_90", by_mask},
           {"sm_52", by_mask},
           {"sm_52", "vote.ballot.b32 %r2, %p2;\n"}}) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      SCOPED_TRACE(target + " " + vote + std::to_string(seed));
      const std::shared_ptr<emulator::Device> device = DeviceWithSchedule(seed);
      auto module = PtxModule::Compile(kernel(target, vote), device);
      ASSERT_TRUE(module) << module.error().ToString();
      Buffer out(*device, 4 * kWarp), flags(*device, 4 * (kWarp + 1));
      std::fill_n(flags.as<std::uint32_t>(), kWarp, 1);
      flags.as<std::uint32_t>()[0] = 0;
      Launch launch;
      launch.block = {2 * kWarp, 1, 1};
      launch.params = {out.address(), flags.address()};
      const Status status = (*module)->Run("k", launch);
      ASSERT_TRUE(status) << status.error().ToString();
      EXPECT_EQ(flags.as<std::uint32_t>()[0], kLate);
      for (std::uint32_t t = 0; t < kWarp; ++t) {
        ASSERT_EQ(out.as<std::uint32_t>()[t], 1u) << t;
      }
    }
  }
}

// More waits than go into one loop of rounds: each thread waits for the one
// before it, the first for the last one's turn before.
TEST(ProgressExec, ManyWaitsInOneFunction) {
  constexpr std::uint32_t kTurns = 140;
  std::string body =
      "  add.u32 %r8, %t, %n;\n  sub.u32 %r8, %r8, 1;\n"
      "  rem.u32 %r8, %r8, %n;\n  mov.u64 %l2, flags;\n"
      "  mad.wide.u32 %l2, %r8, 4, %l2;\n  setp.eq.u32 %p1, %t, 0;\n";
  for (std::uint32_t turn = 1; turn <= kTurns; ++turn) {
    const std::string n = std::to_string(turn);
    body += "  selp.u32 %r9, " + std::to_string(turn - 1) + ", " + n +
            ", %p1;\nWAIT" + n +
            ":\n  ld.volatile.global.u32 %r0, [%l2];\n"
            "  setp.lt.u32 %p0, %r0, %r9;\n  @%p0 bra WAIT" +
            n + ";\n  st.volatile.global.u32 [%l1], " + n + ";\n";
  }
  body += "  st.global.u32 [%l0], %r0;\n";
  const Program program = {"many", body, nullptr, nullptr,
                           [](std::uint32_t t, std::uint32_t) {
                             return t == 0 ? kTurns - 1 : kTurns;
                           }};
  Check(program, 1, 100);
}

// What asks which lanes are there holds nobody up: here they hold the lock.
TEST(ProgressExec, LocksHeldWhereLanesNeedNotMeet) {
  const Program program = {"asks",
                           kTake + "  activemask.b32 %r3;\n" + kCount + kGive,
                           "total", [](std::uint32_t n) { return n; }, nullptr};
  for (std::uint64_t seed : {0, 1}) Check(program, seed, 100);
}

// Lanes that come late from a lock are counted with those that came early.
TEST(ProgressExec, BarriersCountLanesThatComeApart) {
  const std::string late =
      "  rem.u32 %r8, %t, 3;\nAGAIN:\n" + kTake + kCount + kGive +
      "  setp.ne.u32 %p1, %r8, 0;\n  sub.u32 %r8, %r8, 1;\n"
      "  @%p1 bra AGAIN;\n";
  const Program named = {
      "named",
      late +
          "  shr.u32 %r3, %t, 6;\n  add.u32 %r3, %r3, 1;\n"
          "  bar.sync %r3, 64;\n  st.global.u32 [%l0], %t;\n",
      nullptr, nullptr, [](std::uint32_t t, std::uint32_t) { return t; }};
  const Program counts = {
      "counts",
      late +
          "  and.b32 %r3, %t, 1;\n  setp.ne.u32 %p1, %r3, 0;\n"
          "  bar.red.popc.u32 %r3, 0, %p1;\n  st.global.u32 [%l0], %r3;\n",
      nullptr, nullptr, [](std::uint32_t, std::uint32_t n) { return n / 2; }};
  for (std::uint64_t seed : {0, 1, 2}) {
    Check(named, seed, 256);
    Check(counts, seed, 256);
  }
}

// A lock that one thread takes for its block is held by no other lane.
TEST(ProgressExec, LocksOfOneThreadAreNotWarnedOf) {
  for (const char* other : {"%p1, %t, 0", "%p1, %lane, 5"}) {
    auto module = PtxModule::Compile(
        Kernel("  setp.ne.u32 " + std::string(other) + ";\n  @%p1 bra HELD;\n" +
               kTake + "HELD:\n  bar.sync 0;\n" + kCount +
               "  bar.sync 0;\n  @%p1 bra GIVEN;\n" + kGive + "GIVEN:\n"));
    ASSERT_TRUE(module) << module.error().ToString();
    EXPECT_EQ((*module)->warnings(), "") << other;
  }
}

// A swap of what was just read locks nothing.
TEST(ProgressExec, PushesOntoAListAreNotWarnedOf) {
  auto module = PtxModule::Compile(
      Kernel("PUSH:\n  ld.volatile.global.u32 %r0, [total];\n"
             "  st.global.u32 [%l0], %r0;\n  membar.gl;\n"
             "  atom.global.cas.b32 %r1, [total], %r0, %t;\n"
             "  setp.ne.u32 %p0, %r1, %r0;\n  @%p0 bra PUSH;\n"));
  ASSERT_TRUE(module) << module.error().ToString();
  EXPECT_EQ((*module)->warnings(), "");
}

}  // namespace
}  // namespace cerberus::exec
