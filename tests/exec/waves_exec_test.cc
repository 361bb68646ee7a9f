// Warps of 32 lanes on waves of 64, and the same programs on waves of 32:
// which kernels put two warps into a wave, and that both ways compute what
// CUDA's model says. docs/launch-abi.md, "Warps".
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

constexpr char kHead[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".shared .align 8 .b8 words[8192];\n.shared .align 4 .u32 flag;\n"
    ".global .align 4 .u32 lock = 0;\n.global .align 4 .u32 total = 0;\n"
    ".extern .shared .align 8 .b8 dynamic[];\n"
    ".extern .shared .align 8 .b8 dynamic_too[];\n"
    ".global .align 4 .u32 ready = 1;\n.global .align 4 .u32 three = 3;\n";

// A kernel whose thread %t of %n is lane %lane of warp %warp, has the word
// at [%l0] for its result and the word at [%s] of shared memory.
std::string Kernel(const std::string& name, const std::string& bounds,
                   const std::string& body) {
  return ".visible .entry " + name + "(.param .u64 out)\n" + bounds +
         "{\n  .reg .b64 %out, %l<8>;\n  .reg .b32 %r<32>;\n"
         "  .reg .b32 %t, %lane, %warp, %n, %s;\n  .reg .pred %p<8>;\n"
         "  ld.param.u64 %out, [out];\n  mov.u32 %t, %tid.x;\n"
         "  mov.u32 %n, %ntid.x;\n  and.b32 %lane, %t, 31;\n"
         "  shr.u32 %warp, %t, 5;\n  mad.wide.u32 %l0, %t, 4, %out;\n"
         "  mov.u32 %s, words;\n  mad.lo.u32 %s, %t, 4, %s;\n" +
         body + "  ret;\n}\n";
}

// Thread t puts 100 + t into shared memory, and 100 + n - 1 - t is its
// result, with `barrier` between.
std::string Reverse(const std::string& barrier) {
  return "  add.u32 %r0, %t, 100;\n  st.shared.u32 [%s], %r0;\n" + barrier +
         "  sub.u32 %r1, %n, 1;\n  sub.u32 %r1, %r1, %t;\n"
         "  mov.u32 %r2, words;\n  mad.lo.u32 %r2, %r1, 4, %r2;\n"
         "  ld.shared.u32 %r3, [%r2];\n  st.global.u32 [%l0], %r3;\n";
}

// Thread 0 of each block counts it in `total`; the last one resets that and
// raises `lock`, for which the others wait.
std::string MeetBlocks(const std::string& at) {
  return "  @%p0 bra OTHERS" + at +
         ";\n  ld.volatile.global.u32 %r0, [lock];\n"
         "  membar.gl;\n  atom.global.add.u32 %r1, [total], 1;\n"
         "  setp.ne.u32 %p1, %r1, 0;\n  @%p1 bra WAIT" +
         at +
         ";\n"
         "  st.volatile.global.u32 [total], 0;\n  membar.gl;\n"
         "  add.u32 %r0, %r0, 1;\n  st.volatile.global.u32 [lock], %r0;\n"
         "  bra OTHERS" +
         at +
         ";\n"
         "WAIT" +
         at +
         ":\n  ld.volatile.global.u32 %r2, [lock];\n"
         "  setp.eq.u32 %p2, %r2, %r0;\n  @%p2 bra WAIT" +
         at +
         ";\n"
         "OTHERS" +
         at + ":\n  bar.sync 0;\n";
}

// What thread t of n has for result; kNothing: it stored none.
using Expected = std::function<std::uint32_t(std::uint32_t t, std::uint32_t n)>;
constexpr std::uint32_t kNothing = 0xeeeeeeee;

std::uint32_t Reversed(std::uint32_t t, std::uint32_t n) {
  return 100 + n - 1 - t;
}

struct Case {
  const char* name;
  int warps_per_wave;  // on waves of 64
  std::vector<std::uint32_t> threads;
  Expected expected;
  std::string body;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"no_barrier",
       2,
       {1, 31, 32, 33, 64, 95, 1024},
       [](std::uint32_t t, std::uint32_t n) { return t * n; },
       "  mul.lo.u32 %r0, %t, %n;\n  st.global.u32 [%l0], %r0;\n"},
      {"barrier",
       2,
       {1, 33, 64, 100, 1024},
       Reversed,
       Reverse("  bar.sync 0;\n")},
      {"barrier_in_both_arms",
       1,
       {64, 96, 127, 512, 1024},
       Reversed,
       Reverse("  and.b32 %r5, %warp, 1;\n  setp.eq.u32 %p0, %r5, 0;\n"
               "  @%p0 bra EVEN;\n  bar.sync 0;\n  bra DONE;\n"
               "EVEN:\n  bar.sync 0;\nDONE:\n")},
      {"barrier_in_one_arm_by_lane_zero_branch",
       2,
       {64, 320, 1024},
       Reversed,
       // The branch has no barrier in it, so that it may diverge.
       Reverse("  setp.ne.u32 %p0, %t, 0;\n  @%p0 bra OTHERS;\n"
               "  st.shared.u32 [flag], 1;\nOTHERS:\n  bar.sync 0;\n")},
      {"exit_before_barriers",
       2,
       {48, 64, 200, 1024},
       [](std::uint32_t t, std::uint32_t n) {
         if (t % 3 == 0) return kNothing;
         const std::uint32_t other = n - 1 - t;
         return other % 3 == 0 ? 7 : 100 + other;
       },
       // Who exits does not count at the barriers that follow.
       "  st.shared.u32 [%s], 7;\n  bar.sync 0;\n  rem.u32 %r5, %t, 3;\n"
       "  setp.eq.u32 %p0, %r5, 0;\n  @%p0 ret;\n" +
           Reverse("  bar.sync 0;\n")},
      {"whole_warps_exit_before_barriers",
       2,
       {64, 160, 1024},
       [](std::uint32_t t, std::uint32_t n) {
         if (t / 32 % 2 == 0) return kNothing;
         const std::uint32_t other = n - 1 - t;
         return other / 32 % 2 == 0 ? 7 : 100 + other;
       },
       "  st.shared.u32 [%s], 7;\n  bar.sync 0;\n  and.b32 %r5, %warp, 1;\n"
       "  setp.eq.u32 %p0, %r5, 0;\n  @%p0 exit;\n" +
           Reverse("  bar.sync 0;\n")},
      {"votes_after_warps_exit",
       2,
       {64, 96, 160, 1024},
       [](std::uint32_t t, std::uint32_t n) {
         if (t % 96 < 40) return kNothing;
         std::uint32_t left = 0;
         for (std::uint32_t i = 0; i < n; ++i) left += i % 96 < 40 ? 0 : 1;
         return n << 16 | left << 4 | 2;
       },
       // Who has exited does not vote, neither anew nor as before.
       "  setp.eq.u32 %p1, %t, %t;\n  bar.red.popc.u32 %r1, 0, %p1;\n"
       "  rem.u32 %r5, %t, 96;\n  setp.lt.u32 %p0, %r5, 40;\n  @%p0 exit;\n"
       "  bar.red.popc.u32 %r2, 0, %p1;\n  bar.red.and.pred %p2, 0, %p1;\n"
       "  bar.red.or.pred %p3, 0, !%p1;\n  selp.u32 %r3, 2, 0, %p2;\n"
       "  selp.u32 %r4, 1, 0, %p3;\n  or.b32 %r3, %r3, %r4;\n"
       "  shl.b32 %r1, %r1, 16;\n  shl.b32 %r2, %r2, 4;\n"
       "  or.b32 %r3, %r3, %r2;\n  or.b32 %r3, %r3, %r1;\n"
       "  st.global.u32 [%l0], %r3;\n"},
      {"barrier_in_loop",
       2,
       {64, 96, 1024},
       [](std::uint32_t t, std::uint32_t n) { return (t + 5) % n; },
       // Five turns by one place.
       "  mov.u32 %r0, 0;\n  mov.u32 %r1, %t;\n"
       "LOOP:\n  st.shared.u32 [%s], %r1;\n  bar.sync 0;\n"
       "  add.u32 %r2, %t, 1;\n  rem.u32 %r2, %r2, %n;\n"
       "  mov.u32 %r3, words;\n  mad.lo.u32 %r3, %r2, 4, %r3;\n"
       "  ld.shared.u32 %r1, [%r3];\n  bar.sync 0;\n"
       "  add.u32 %r0, %r0, 1;\n  setp.lt.u32 %p0, %r0, 5;\n"
       "  @%p0 bra LOOP;\n  st.global.u32 [%l0], %r1;\n"},
      {"barrier_in_loop_of_loaded_count",
       2,
       {64, 1024},
       [](std::uint32_t, std::uint32_t n) { return 3 * n; },
       // Counts all threads, as often as memory says.
       "  ld.global.u32 %r6, [three];\n  mov.u32 %r0, 0;\n"
       "  mov.u32 %r1, 0;\n"
       "LOOP:\n  setp.eq.u32 %p1, 0, 0;\n"
       "  barrier.sync 0;\n  bar.red.popc.u32 %r2, 0, %p1;\n"
       "  add.u32 %r1, %r1, %r2;\n  add.u32 %r0, %r0, 1;\n"
       "  setp.lt.u32 %p0, %r0, %r6;\n  @%p0 bra LOOP;\n"
       "  st.global.u32 [%l0], %r1;\n"},
      {"barrier_under_a_vote",
       1,
       {64, 96, 512, 1024},
       // The vote is the same in a warp, but not in a wave.
       [](std::uint32_t t, std::uint32_t n) { return Reversed(t, n); },
       Reverse("  setp.ge.u32 %p0, %t, 32;\n  vote.sync.any.pred %p1, %p0, "
               "-1;\n  @%p1 bra UPPER;\n  bar.sync 0;\n  bra DONE;\n"
               "UPPER:\n  barrier.sync 0;\nDONE:\n")},
      {"lanes_at_two_barriers",
       1,
       {64, 96, 512, 1024},
       Reversed,
       // Odd lanes of even warps come to the other one: PTX ISA, "barrier",
       // without .aligned.
       "  and.b32 %r4, %t, 33;\n  setp.eq.u32 %p0, %r4, 1;\n" +
           Reverse("  @%p0 bra ASIDE;\n  barrier.sync 0;\n  bra BOTH;\n"
                   "ASIDE:\n  add.u32 %r5, %t, 1;\n  barrier.sync 0;\n"
                   "BOTH:\n")},
      {"lanes_at_two_named_barriers",
       2,
       {64, 96, 1024},
       Reversed,
       // Odd lanes of even warps come to the other one: PTX ISA, "barrier",
       // without .aligned.
       "  and.b32 %r4, %t, 33;\n  setp.eq.u32 %p0, %r4, 1;\n" +
           Reverse("  @%p0 bra ASIDE;\n  barrier.sync 1, %n;\n  bra BOTH;\n"
                   "ASIDE:\n  add.u32 %r5, %t, 1;\n  barrier.sync 1, %n;\n"
                   "BOTH:\n")},
      {"lanes_at_two_counts",
       1,
       {64, 96, 1024},
       [](std::uint32_t, std::uint32_t n) { return n - (n + 2) / 3; },
       // Of all threads of the block, those whose number is no multiple of 3.
       "  and.b32 %r4, %t, 33;\n  setp.eq.u32 %p0, %r4, 1;\n"
       "  rem.u32 %r5, %t, 3;\n  setp.ne.u32 %p1, %r5, 0;\n"
       "  @%p0 bra ASIDE;\n  barrier.red.popc.u32 %r6, 0, %p1;\n"
       "  bra BOTH;\nASIDE:\n  add.u32 %r7, %t, 1;\n"
       "  barrier.red.popc.u32 %r6, 0, %p1;\nBOTH:\n"
       "  st.global.u32 [%l0], %r6;\n"},
      {"exchange_loop",
       2,
       {64, 70, 256},
       [](std::uint32_t, std::uint32_t n) { return n * (n - 1) / 2; },
       // Adds by compare and swap; a failed turn means that another won.
       "  ld.global.u32 %r0, [total];\n"
       "AGAIN:\n  mov.u32 %r1, %r0;\n  add.u32 %r2, %r1, %t;\n"
       "  atom.global.cas.b32 %r0, [total], %r1, %r2;\n"
       "  setp.ne.u32 %p0, %r0, %r1;\n  @%p0 bra AGAIN;\n"
       "  bar.sync 0;\n  ld.volatile.global.u32 %r3, [total];\n"
       "  st.global.u32 [%l0], %r3;\n"},
      {"work_queue",
       2,
       {64, 512},
       [](std::uint32_t, std::uint32_t n) { return 5 * n; },
       // Threads fetch numbers below 5 n, and each counts itself once more.
       "  mul.lo.u32 %r6, %n, 5;\n"
       "NEXT:\n  atom.global.add.u32 %r0, [lock], 1;\n"
       "  setp.ge.u32 %p0, %r0, %r6;\n  @%p0 bra DONE;\n"
       "  red.global.add.u32 [total], 1;\n  bra NEXT;\n"
       "DONE:\n  bar.sync 0;\n  ld.volatile.global.u32 %r3, [total];\n"
       "  st.global.u32 [%l0], %r3;\n"},
      {"all_wait_for_memory",
       2,
       {64, 1024},
       [](std::uint32_t t, std::uint32_t) { return t; },
       "WAIT:\n  ld.volatile.global.u32 %r0, [ready];\n"
       "  setp.eq.u32 %p0, %r0, 0;\n  @%p0 bra WAIT;\n"
       "  st.global.u32 [%l0], %t;\n"},
      {"first_warp_waits_for_the_second",
       1,
       {64, 96, 1024},
       [](std::uint32_t t, std::uint32_t) { return t < 32 ? 132u : 32u; },
       "  setp.eq.u32 %p0, %t, 0;\n  @%p0 st.shared.u32 [flag], 0;\n"
       "  bar.sync 0;\n  mov.u32 %r1, 32;\n"
       "  setp.eq.u32 %p0, %warp, 0;\n  @%p0 bra WAIT;\n"
       "  setp.ne.u32 %p1, %t, 32;\n  @%p1 bra DONE;\n"
       "  st.volatile.shared.u32 [flag], 132;\n  bra DONE;\n"
       "WAIT:\n  ld.volatile.shared.u32 %r1, [flag];\n"
       "  setp.eq.u32 %p2, %r1, 0;\n  @%p2 bra WAIT;\n"
       "DONE:\n  st.global.u32 [%l0], %r1;\n"},
      {"second_warp_waits_for_the_first",
       1,
       {64, 96, 1024},
       [](std::uint32_t t, std::uint32_t) {
         return t >= 32 && t < 64 ? 132u : 32u;
       },
       "  setp.eq.u32 %p0, %t, 0;\n  @%p0 st.shared.u32 [flag], 0;\n"
       "  bar.sync 0;\n  mov.u32 %r1, 32;\n"
       "  setp.eq.u32 %p0, %warp, 1;\n  @%p0 bra WAIT;\n"
       "  setp.ne.u32 %p1, %t, 0;\n  @%p1 bra DONE;\n"
       "  st.volatile.shared.u32 [flag], 132;\n  bra DONE;\n"
       "WAIT:\n  ld.volatile.shared.u32 %r1, [flag];\n"
       "  setp.eq.u32 %p2, %r1, 0;\n  @%p2 bra WAIT;\n"
       "DONE:\n  st.global.u32 [%l0], %r1;\n"},
      {"one_thread_waits_before_a_barrier",
       2,
       {64, 1024},
       // Nothing that the others could do ends its wait.
       [](std::uint32_t, std::uint32_t) { return 1; },
       "  setp.ne.u32 %p0, %t, 0;\n  @%p0 bra OTHERS;\n"
       "WAIT:\n  ld.volatile.global.u32 %r0, [ready];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "  membar.gl;\n  ld.acquire.gpu.global.u32 %r0, [ready];\n"
       "  st.shared.u32 [flag], %r0;\n"
       "OTHERS:\n  bar.sync 0;\n  ld.shared.u32 %r1, [flag];\n"
       "  st.global.u32 [%l0], %r1;\n"},
      {"one_thread_waits_and_tells_before_a_barrier",
       2,
       {64, 1024},
       [](std::uint32_t, std::uint32_t) { return 4; },
       "  sub.u32 %r4, %n, 1;\n  setp.ne.u32 %p0, %t, %r4;\n"
       "  @%p0 bra OTHERS;\n"
       "WAIT:\n  ld.volatile.global.u32 %r0, [ready];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "  add.u32 %r0, %r0, 3;\n  st.volatile.global.u32 [total], %r0;\n"
       "  st.shared.u32 [flag], %r0;\n"
       "OTHERS:\n  bar.sync 0;\n  ld.shared.u32 %r1, [flag];\n"
       "  st.global.u32 [%l0], %r1;\n"},
      {"locks_at_the_end",
       2,
       {64, 100, 1024},
       [](std::uint32_t, std::uint32_t) { return kNothing; },
       "TAKE:\n  atom.global.cas.b32 %r0, [lock], 0, 1;\n"
       "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra TAKE;\n"
       "  ld.volatile.global.u32 %r1, [total];\n  add.u32 %r1, %r1, 1;\n"
       "  st.volatile.global.u32 [total], %r1;\n  membar.gl;\n"
       "  atom.global.exch.b32 %r2, [lock], 0;\n"},
      {"one_thread_meets_other_blocks",
       2,
       {64, 1024},
       [](std::uint32_t t, std::uint32_t) { return t + 3; },
       "  setp.ne.u32 %p0, %t, 0;\n  st.global.u32 [%l0], %t;\n" +
           MeetBlocks("1") +
           "  ld.global.u32 %r3, [%l0];\n  add.u32 %r3, %r3, 1;\n"
           "  st.global.u32 [%l0], %r3;\n" +
           MeetBlocks("2") +
           "  ld.volatile.global.u32 %r4, [lock];\n"
           "  ld.global.u32 %r3, [%l0];\n  add.u32 %r3, %r3, %r4;\n"
           "  st.global.u32 [%l0], %r3;\n"},
      {"one_thread_waits_for_a_later_write",
       2,
       {64, 96, 1024},
       [](std::uint32_t t, std::uint32_t) { return t; },
       "  setp.ne.u32 %p0, %t, 0;\n  @%p0 bra OTHERS;\n"
       "WAIT:\n  ld.volatile.global.u32 %r0, [lock];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "OTHERS:\n  bar.warp.sync -1;\n  setp.ne.u32 %p2, %t, 40;\n"
       "  @%p2 bra DONE;\n"
       "  st.volatile.global.u32 [lock], 5;\n"
       "DONE:\n  st.global.u32 [%l0], %t;\n"},
      {"one_thread_waits_for_another_ones_write",
       2,
       {64, 96, 1024},
       // Both lie where lanes yield to each other.
       [](std::uint32_t t, std::uint32_t) { return t; },
       "  setp.ne.u32 %p0, %t, 0;\n  @%p0 bra OTHERS;\n"
       "WAIT:\n  ld.volatile.global.u32 %r0, [lock];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "OTHERS:\n  setp.ne.u32 %p2, %t, 40;\n  @%p2 bra DONE;\n"
       "  st.volatile.global.u32 [lock], 5;\n"
       "DONE:\n  st.global.u32 [%l0], %t;\n"},
      {"one_thread_waits_for_a_later_plain_write",
       2,
       {64, 96, 1024},
       // The fence in the loop has plain memory read anew.
       [](std::uint32_t t, std::uint32_t) { return t; },
       "  setp.eq.u32 %p0, %t, 0;\n  @%p0 st.shared.u32 [flag], 0;\n"
       "  bar.sync 0;\n  @!%p0 bra OTHERS;\n"
       "WAIT:\n  membar.cta;\n  ld.shared.u32 %r0, [flag];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "OTHERS:\n  setp.ne.u32 %p2, %t, 40;\n  @%p2 bra DONE;\n"
       "  st.shared.u32 [flag], 5;\n"
       "DONE:\n  st.global.u32 [%l0], %t;\n"},
      {"dynamic_shared_arrays_are_one",
       2,
       {64},
       [](std::uint32_t t, std::uint32_t) { return t; },
       "  setp.eq.u32 %p0, %t, 0;\n  @%p0 st.shared.u32 [dynamic], 0;\n"
       "  bar.sync 0;\n  @!%p0 bra OTHERS;\n"
       "WAIT:\n  ld.volatile.shared.u32 %r0, [dynamic];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "OTHERS:\n  setp.ne.u32 %p2, %t, 40;\n  @%p2 bra DONE;\n"
       "  st.shared.u32 [dynamic_too], 5;\n"
       "DONE:\n  st.global.u32 [%l0], %t;\n"},
      {"all_meet_at_an_mbarrier",
       2,
       {64, 1024},
       [](std::uint32_t t, std::uint32_t n) { return Reversed(t, n); },
       "  setp.ne.u32 %p0, %t, 0;\n  @%p0 bra MADE;\n"
       "  mbarrier.init.shared.b64 [dynamic], %n;\nMADE:\n  bar.sync 0;\n" +
           Reverse("  mbarrier.arrive.shared.b64 %l1, [dynamic];\n"
                   "AGAIN:\n"
                   "  mbarrier.test_wait.shared.b64 %p1, [dynamic], %l1;\n"
                   "  @!%p1 bra AGAIN;\n")},
      {"each_warp_waits_for_the_one_before",
       2,
       {64, 96, 1024},
       [](std::uint32_t t, std::uint32_t) { return t / 32 + 1; },
       "  st.shared.u32 [%s], 0;\n  bar.sync 0;\n"
       "  setp.eq.u32 %p0, %warp, 0;\n  @%p0 bra GO;\n"
       "WAIT:\n  ld.volatile.shared.u32 %r0, [%s+-128];\n"
       "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra WAIT;\n"
       "GO:\n  bar.warp.sync -1;\n  add.u32 %r1, %warp, 1;\n"
       "  st.volatile.shared.u32 [%s], %r1;\n"
       "  st.global.u32 [%l0], %r1;\n"},
      {"producer_and_consumer",
       1,
       {64},
       // Warp 0 hands over eight words per lane, one at a time, by the named
       // barriers 1 (full) and 2 (empty); warp 1 adds them up.
       [](std::uint32_t t, std::uint32_t) {
         return t < 32 ? 8u : 8 * (t - 32) + 28 * 100;
       },
       "  mov.u32 %r0, 0;\n  mov.u32 %r1, 0;\n  mov.u32 %r2, words;\n"
       "  mad.lo.u32 %r2, %lane, 4, %r2;\n"
       "  setp.ne.u32 %p0, %warp, 0;\n  @%p0 bra CONSUME;\n"
       "PRODUCE:\n  bar.sync 2, 64;\n  mad.lo.u32 %r3, %r0, 100, %lane;\n"
       "  st.shared.u32 [%r2], %r3;\n  bar.arrive 1, 64;\n"
       "  add.u32 %r0, %r0, 1;\n  setp.lt.u32 %p1, %r0, 8;\n"
       "  @%p1 bra PRODUCE;\n  mov.u32 %r1, %r0;\n  bra DONE;\n"
       "CONSUME:\n  bar.arrive 2, 64;\n  bar.sync 1, 64;\n"
       "  ld.shared.u32 %r3, [%r2];\n  add.u32 %r1, %r1, %r3;\n"
       "  add.u32 %r0, %r0, 1;\n  setp.lt.u32 %p1, %r0, 8;\n"
       "  @%p1 bra CONSUME;\n"
       "DONE:\n  st.global.u32 [%l0], %r1;\n"},
      {"call_with_barrier",
       2,
       {64, 1024},
       [](std::uint32_t t, std::uint32_t n) { return Reversed(t, n); },
       Reverse("  call.uni meet;\n")},
      {"wait_in_a_call",
       1,
       {64},
       // The second warp's flag is raised behind the first one's call.
       [](std::uint32_t t, std::uint32_t) { return t; },
       "  st.shared.u32 [%s], 1;\n  setp.ne.u32 %p0, %t, 32;\n"
       "  @%p0 bra MEET;\n  st.shared.u32 [%s], 0;\n"
       "MEET:\n  bar.sync 0;\n"
       "  { .param .b32 at; st.param.b32 [at], %s;\n"
       "  ld.global.u64 %l1, [waits];\n"
       "  PROTOTYPE: .callprototype _ (.param .b32 _);\n"
       "  call %l1, (at), PROTOTYPE; }\n"
       "  setp.ne.u32 %p1, %t, 0;\n  @%p1 bra DONE;\n"
       "  st.volatile.shared.u32 [words+128], 1;\n"
       "DONE:\n  st.global.u32 [%l0], %t;\n"},
      {"device_heap",
       2,
       {64, 1024},
       [](std::uint32_t t, std::uint32_t n) { return Reversed(t, n); },
       // The heap's lock is taken in a loop, by a lane at a time.
       Reverse("  { .param .b64 size; .param .b64 block;\n"
               "  st.param.b64 [size], 16;\n"
               "  call (block), malloc, (size);\n"
               "  ld.param.b64 %l1, [block]; }\n  bar.sync 0;\n"
               "  { .param .b64 block; st.param.b64 [block], %l1;\n"
               "  call free, (block); }\n")},
  };
  return cases;
}

std::string Module(const Case& c, const std::string& bounds = "") {
  return std::string(kHead) +
         ".extern .func (.param .b64 block) malloc(.param .b64 size);\n"
         ".extern .func free(.param .b64 block);\n"
         ".func meet()\n{\n  bar.sync 0;\n  ret;\n}\n"
         ".func wait(.param .b32 at)\n{\n  .reg .b32 %r<2>;\n"
         "  .reg .pred %p;\n  ld.param.b32 %r0, [at];\n"
         "AGAIN:\n  ld.volatile.shared.u32 %r1, [%r0];\n"
         "  setp.eq.u32 %p, %r1, 0;\n  @%p bra AGAIN;\n  ret;\n}\n"
         ".global .u64 waits = wait;\n" +
         Kernel(c.name, bounds, c.body);
}

bool PacksWarps() {
  return SharedDevice()->info().wavefront_size == 64 &&
         std::getenv("CERBERUS_TEST_ONE_WARP_PER_WAVE") == nullptr;
}

TEST(WavesExec, ProgramsComputeTheSameInEveryLayout) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    for (std::uint32_t threads : c.threads) {
      SCOPED_TRACE(threads);
      // A module each time: its variables begin anew.
      auto module = PtxModule::Compile(Module(c));
      ASSERT_TRUE(module) << module.error().ToString();
      if (threads > (*module)->Facts(c.name).max_threads) continue;
      Buffer buffer((*module)->device(), 4 * threads);
      std::fill_n(buffer.as<std::uint32_t>(), threads, kNothing);
      Launch launch;
      launch.block = {threads, 1, 1};
      launch.dynamic_shared = 16;
      launch.params = {buffer.address()};
      const Status status = (*module)->Run(c.name, launch);
      ASSERT_TRUE(status) << status.error().ToString();
      for (std::uint32_t t = 0; t < threads; ++t) {
        ASSERT_EQ(buffer.as<std::uint32_t>()[t], c.expected(t, threads))
            << "thread " << t;
      }
    }
  }
}

TEST(WavesExec, WarpsThatWaitForEachOtherShareAWaveInLargeBlocks) {
  const bool wide = SharedDevice()->info().wavefront_size == 64;
  for (const Case& c : Cases()) {
    auto module = PtxModule::Compile(Module(c));
    ASSERT_TRUE(module) << module.error().ToString();
    const stub::KernelInfo& facts = (*module)->Facts(c.name);
    const bool one = wide && (!PacksWarps() || c.warps_per_wave == 1);
    EXPECT_EQ(facts.half_waves, one) << c.name;
    // Functions that stay calls have no second form.
    const bool large =
        !one ||
        (PacksWarps() && std::string(c.body).find("call") == std::string::npos);
    EXPECT_EQ(facts.max_threads, large ? 1024u : 512u) << c.name;
    const bool packed =
        std::any_of(facts.forms.begin(), facts.forms.end(),
                    [](const auto& form) { return !form->half_waves; });
    EXPECT_EQ(packed, one && large) << c.name;
  }
}

// A bound above 512 cannot be kept with one warp in a wave where functions stay
// calls; the message says what stands in the way.
TEST(WavesExec, BlocksTooLargeForOneWarpPerWave) {
  const bool wide = SharedDevice()->info().wavefront_size == 64;
  const auto find = [](std::string_view name) -> Case {
    for (const Case& c : Cases()) {
      if (c.name == name) return c;
    }
    return {};
  };
  const Case both_arms = find("barrier_in_both_arms");
  const Case called = find("wait_in_a_call");
  for (const char* bounds : {".maxntid 1024, 1, 1\n", ".reqntid 32, 32\n"}) {
    auto taken =
        PtxModule::Compile(kHead + Kernel("k", bounds, both_arms.body));
    EXPECT_EQ(static_cast<bool>(taken), !wide || PacksWarps()) << bounds;
    auto refused = PtxModule::Compile(Module(called, bounds));
    EXPECT_EQ(static_cast<bool>(refused), !wide) << bounds;
    if (refused) continue;
    EXPECT_NE(refused.error().ToString().find(
                  PacksWarps() ? "lanes wait for others in a loop"
                               : "one warp in each wave is asked for"),
              std::string::npos)
        << refused.error().ToString();
  }
}

}  // namespace
}  // namespace cerberus::exec
