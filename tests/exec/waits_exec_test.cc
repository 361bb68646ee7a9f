// Random programs whose lanes wait for each other: locks in branches and
// loops, in one another, in global and shared memory, beside pairs of lanes
// that wait for flags and blocks that wait at an mbarrier, with barriers and
// votes between.
//
// CUDA C++ Programming Guide, "Independent Thread Scheduling". Each thread
// counts what it does under the locks; the counts tell of lanes that were in
// together, votes of lanes that were not, and the limit of instructions of
// those that hang.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

constexpr std::uint32_t kLocks = 4;  // the last one in shared memory
constexpr std::uint64_t kProgramsOfTest = 40;
constexpr std::uint64_t kLargeProgramsOfTest = 4;
constexpr std::uint64_t kProgramsOneByOne = 12;

enum class Kind {
  kSwapLock,    // taken by compare and swap
  kSleepLock,   // the same, asleep between tries
  kTryLock,     // tried until it was taken once, in a loop of its own
  kTicketLock,  // taken in turn
  kBranch,      // on a bit of the thread's number
  kLoop,        // `number` times
  kOddLoop,     // once more for each step of the thread's number modulo 3
  kFlags,       // each of two partners waits for the other one's
  kSignal,      // one of them waits in a branch for the other one's
  kTalk,        // which then waits for an answer; each side votes
  kMeeting,     // all threads, at an mbarrier
  kLeaders,     // one of each warp's active lanes counts them, some rounds
  kLeavers,     // the same, and some leave earlier than others
  kLateWords,   // the same, and say so where all come behind the loop
  kBarrier,
  kTwoBarriers,  // warps of even and odd numbers each at their own
  kNamed,        // a quarter of the warps
  kVote,         // of the warp's lanes that come here
  kApart,        // the same, `rounds` times on each side of a branch
};
constexpr std::uint32_t kAllLanes = ~0u;

struct Step {
  Kind kind;
  // Of the lock, bit, rounds; how it is signalled; which lanes vote.
  std::uint32_t number = 0;
  std::vector<Step> body = {};
  std::vector<Step> otherwise = {};
  // Of kApart: the lanes of both sides, which take the branch by bit `number`.
  std::uint32_t lanes = 0;
  std::uint32_t rounds = 1;
};
using Steps = std::vector<Step>;

class Maker {
 public:
  // `apart`: also what only the programs of such tests hold (kApart).
  Maker(std::uint64_t seed, bool apart) : random_(seed), apart_(apart) {}

  // `lanes`: which of each warp come here; 0: not always the same. All of them
  // are all threads of the block.
  Steps Make(std::uint32_t lanes, int depth) {
    Steps steps(1 + Below(3));
    for (Step& step : steps) step = MakeStep(lanes, depth);
    return steps;
  }

 private:
  std::uint32_t Below(std::uint32_t limit) {
    return static_cast<std::uint32_t>(random_() % limit);
  }

  Step MakeStep(std::uint32_t lanes, int depth) {
    if (apart_ && depth > 0 && Below(3) == 0) {
      const std::uint32_t bit = Below(5);
      const std::uint32_t with = lanes & kWithBit[bit];
      const std::uint32_t without = lanes & ~kWithBit[bit];
      if (with != 0 && without != 0) {
        return {Kind::kApart,
                bit,
                Make(with, depth - 1),
                Make(without, depth - 1),
                lanes,
                1 + Below(3)};
      }
    }
    switch (Below(lanes == kAllLanes ? 18 : lanes != 0 ? 8 : 7)) {
      case 0: return {Kind::kTicketLock, Below(kLocks)};
      case 4: return {Kind::kSleepLock, Below(kLocks)};
      case 5: return {Kind::kTryLock, Below(kLocks)};
      case 1:
        if (depth > 0) {
          const std::uint32_t bit = Below(5);
          return {Kind::kBranch, bit, Make(lanes & kWithBit[bit], depth - 1),
                  Make(lanes & ~kWithBit[bit], depth - 1)};
        }
        break;
      case 2:
        if (depth > 0) {
          return {Kind::kLoop, 2 + Below(2), Make(lanes, depth - 1)};
        }
        break;
      case 3:
        if (depth > 0) return {Kind::kOddLoop, 0, Make(0, depth - 1)};
        break;
      case 7: return {Kind::kVote, lanes};
      case 8: return {Kind::kMeeting};
      case 9: return {Kind::kBarrier};
      case 10: return {Kind::kFlags, Below(4)};
      case 11: return {Kind::kSignal, Below(4)};
      case 12: return {Kind::kTalk, Below(8)};
      case 13: return {Kind::kLeaders, 1 + Below(3)};
      case 14: return {Kind::kLeavers, 2 + Below(3)};
      case 15: return {Kind::kLateWords, 2 + Below(3)};
      case 16: return {Kind::kTwoBarriers};
      case 17: return {Kind::kNamed};
      default: break;
    }
    Step lock = {Kind::kSwapLock, Below(kLocks)};
    // Always in one order, so that nobody waits in a circle.
    if (lock.number + 1 < kLocks && Below(4) == 0) {
      lock.body.push_back({Kind::kSwapLock, lock.number + 1});
    }
    return lock;
  }

  // The lanes whose number has a bit.
  static constexpr std::uint32_t kWithBit[] = {
      0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000};

  std::mt19937_64 random_;
  const bool apart_;
};

// What a thread counts: under each lock, and under each taken in turn.
using Counts = std::array<std::uint32_t, 2 * kLocks>;

void Count(const Steps& steps, std::uint32_t thread, Counts* counts) {
  for (const Step& step : steps) {
    std::uint32_t rounds = 1;
    switch (step.kind) {
      case Kind::kSwapLock:
      case Kind::kSleepLock:
      case Kind::kTryLock: ++(*counts)[step.number]; break;
      case Kind::kTicketLock: ++(*counts)[kLocks + step.number]; break;
      case Kind::kLoop: rounds = step.number; break;
      case Kind::kOddLoop: rounds = thread % 3 + 1; break;
      case Kind::kApart: rounds = step.rounds; break;
      default: break;
    }
    const bool parts = step.kind == Kind::kBranch || step.kind == Kind::kApart;
    const bool other = parts && (thread >> step.number & 1) == 0;
    for (std::uint32_t i = 0; i < rounds; ++i) {
      Count(other ? step.otherwise : step.body, thread, counts);
    }
  }
}

// Registers: %t the thread, %r0…%r3 of a step, %flag and %signal how often it
// has waited for its partner or been waited for, %met the number of rounds of
// kLeaders and kLeavers, %i<n> of the loops, %wrong not 0 if some vote was.
class Writer {
 public:
  // `distance`: partners' numbers differ by this bit.
  Writer(std::uint32_t distance, std::uint32_t threads)
      : distance_(distance), threads_(threads) {}

  std::string Write(const Steps& steps) {
    std::string text;
    for (const Step& step : steps) text += Write(step);
    return text;
  }

 private:
  // ".global.u32" or ".shared.u32", and the word.
  static std::string Space(std::uint32_t number) {
    return number + 1 == kLocks ? ".shared" : ".global";
  }
  static std::string At(const char* array, std::uint32_t number) {
    return std::string("[") + (number + 1 == kLocks ? "shared_" : "") + array +
           "+" + std::to_string(4 * number) + "]";
  }
  // In two steps that must not mix with another thread's.
  static std::string Counted(std::uint32_t number) {
    const std::string at = "[counts+" + std::to_string(4 * number) + "]";
    return "  ld.volatile.global.u32 %r1, " + at +
           ";\n  add.u32 %r1, %r1, 1;\n  st.volatile.global.u32 " + at +
           ", %r1;\n  membar.gl;\n";
  }
  static std::string Swap(std::uint32_t number) {
    return "  atom" + Space(number) + ".cas.b32 %r0, " + At("locks", number) +
           ", 0, 1;\n  setp.ne.u32 %p0, %r0, 0;\n";
  }
  static std::string GiveBack(std::uint32_t number) {
    return "  atom" + Space(number) + ".exch.b32 %r0, " + At("locks", number) +
           ", 0;\n";
  }

  // `n`: the number that labels end with.
  std::string WriteLock(const Step& step, const std::string& n) {
    switch (step.kind) {
      case Kind::kSwapLock:
        return "TAKE" + n + ":\n" + Swap(step.number) + "  @%p0 bra TAKE" + n +
               ";\n" + Counted(step.number) + Write(step.body) +
               GiveBack(step.number);
      case Kind::kSleepLock:
        return "TAKE" + n + ":\n" + Swap(step.number) + "  @!%p0 bra TAKEN" +
               n + ";\n  nanosleep.u32 32;\n  bra TAKE" + n + ";\nTAKEN" + n +
               ":\n" + Counted(step.number) + GiveBack(step.number);
      case Kind::kTryLock:
        return "  mov.u32 %r3, 0;\nTRY" + n + ":\n" + Swap(step.number) +
               "  @%p0 bra MISSED" + n + ";\n" + Counted(step.number) +
               "  mov.u32 %r3, 1;\n" + GiveBack(step.number) + "MISSED" + n +
               ":\n  setp.eq.u32 %p1, %r3, 0;\n  @%p1 bra TRY" + n + ";\n";
      case Kind::kTicketLock:
        return "  atom" + Space(step.number) + ".add.u32 %r2, " +
               At("tickets", step.number) + ", 1;\nTURN" + n +
               ":\n  ld.volatile" + Space(step.number) + ".u32 %r0, " +
               At("turns", step.number) +
               ";\n  setp.ne.u32 %p0, %r0, %r2;\n  @%p0 bra TURN" + n + ";\n" +
               Counted(kLocks + step.number) +
               "  add.u32 %r2, %r2, 1;\n  st.volatile" + Space(step.number) +
               ".u32 " + At("turns", step.number) + ", %r2;\n";
      default: return "";
    }
  }

  std::string WriteLoop(const Step& step, const std::string& n) {
    const std::string number = std::to_string(step.number);
    const std::string i = "%i" + n;
    std::string text =
        "  .reg .u32 " + i + ";\n  mov.u32 " + i + ", " + number + ";\n";
    if (step.kind == Kind::kOddLoop) {
      text +=
          "  rem.u32 " + i + ", %t, 3;\n  add.u32 " + i + ", " + i + ", 1;\n";
    }
    return text + "LOOP" + n + ":\n" + Write(step.body) + "  sub.u32 " + i +
           ", " + i + ", 1;\n  setp.ne.u32 %p0, " + i +
           ", 0;\n  @%p0 bra LOOP" + n + ";\n";
  }

  std::string WriteTalk(const Step& step, const std::string& n) {
    const bool talk = step.kind == Kind::kTalk;
    const bool low_gives = step.number / 2 % 2 == 0;
    const bool answers_first = step.number / 4 != 0;
    // Those of one side are every other lane, or whole warps.
    const std::uint32_t low = distance_ == 1 ? 0x55555555 : kAllLanes;
    const std::uint32_t high = distance_ == 1 ? ~low : kAllLanes;
    const std::string give_vote = talk ? Vote(low_gives ? low : high) : "";
    const std::string wait_vote = talk ? Vote(low_gives ? high : low) : "";
    const auto wait = [](const std::string& label) {
      return label +
             ":\n  ld.volatile.global.u32 %r0, [%partner+4096];\n"
             "  setp.lt.u32 %p0, %r0, %signal;\n  @%p0 bra " +
             label + ";\n";
    };
    const std::string tell = Tell(step.number, "[%own+4096], %signal;\n");
    return "  add.u32 %signal, %signal, 1;\n  and.b32 %r0, %t, " +
           std::to_string(distance_) + ";\n  setp.eq.u32 %p0, %r0, " +
           std::to_string(low_gives ? 0 : distance_) + ";\n  @%p0 bra GIVE" +
           n + ";\n" + wait_vote + wait("WAIT" + n) +
           (answers_first ? tell : "") + wait_vote +
           (talk && !answers_first ? tell : "") + "  bra WENT" + n + ";\nGIVE" +
           n + ":\n" + give_vote + tell + (talk ? wait("ANSWER" + n) : "") +
           give_vote + "WENT" + n + ":\n";
  }

  // Rounds of lanes that choose a leader and wait for those of others.
  std::string WriteRounds(const Step& step, const std::string& n) {
    const std::string number = std::to_string(step.number);
    const std::string i = "%i" + n;
    std::string text =
        "  .reg .u32 " + i + ";\n  mov.u32 " + i + ", 0;\nROUND" + n + ":\n";
    if (step.kind == Kind::kLeavers) {
      text += "  rem.u32 %r0, %t, 3;\n  setp.gt.u32 %p0, " + i +
              ", %r0;\n  @%p0 bra LEAVE" + n + ";\n";
    }
    text +=
        "  add.u32 %met, %met, 1;\n  activemask.b32 %r0;\n"
        "  popc.b32 %r1, %r0;\n  sub.u32 %r2, 0, %r0;\n"
        "  and.b32 %r2, %r0, %r2;\n  bar.warp.sync %r0;\n"
        "  mov.u32 %r3, %lanemask_eq;\n"
        "  setp.ne.u32 %p0, %r2, %r3;\n"
        "  @!%p0 red.global.add.u32 [rounds], %r1;\n"
        "  bfind.u32 %r2, %r2;\n"
        "  shfl.sync.idx.b32 %r1, %met, %r2, 31, %r0;\n"
        "  mul.lo.u32 %r2, %met, " +
        std::to_string(threads_) + ";\nMET" + n +
        ":\n  ld.volatile.global.u32 %r0, [rounds];\n"
        "  setp.lt.u32 %p0, %r0, %r2;\n  @%p0 bra MET" +
        n + ";\n  add.u32 " + i + ", " + i + ", 1;\n";
    std::string end = number;
    if (step.kind == Kind::kLateWords) {
      text +=
          "  rem.u32 %r0, %t, 3;\n  add.u32 %r0, %r0, 1;\n"
          "  min.u32 %r0, %r0, " +
          number + ";\n";
      end = "%r0";
    }
    text += "  setp.lt.u32 %p0, " + i + ", " + end + ";\n  @%p0 bra ROUND" + n +
            ";\n";
    if (step.kind == Kind::kLeaders) return text;
    if (step.kind == Kind::kLeavers) text += "  bra LEFT" + n + ";\n";
    return text + "LEAVE" + n + ":\n  sub.u32 " + i + ", " + number + ", " + i +
           ";\n  add.u32 %met, %met, " + i +
           ";\n  red.global.add.u32 [rounds], " + i + ";\nLEFT" + n + ":\n";
  }

  std::string WriteApart(const Step& step, const std::string& n) {
    const std::string number = std::to_string(step.number);
    // One side goes round a loop, the other's rounds are behind each other.
    const std::string i = "%i" + n;
    std::string text =
        "  .reg .u32 " + i + ";\n  mov.u32 " + i + ", " +
        std::to_string(step.rounds) + ";\n  bfe.u32 %r0, %t, " + number +
        ", 1;\n  setp.eq.u32 %p0, %r0, 0;\n  @%p0 bra ELSE" + n + ";\nLOOP" +
        n + ":\n" + Write(step.body) + Vote(step.lanes) + "  sub.u32 " + i +
        ", " + i + ", 1;\n  setp.ne.u32 %p0, " + i + ", 0;\n  @%p0 bra LOOP" +
        n + ";\n  bra END" + n + ";\nELSE" + n + ":\n";
    for (std::uint32_t round = 0; round < step.rounds; ++round) {
      text += Write(step.otherwise) + Vote(step.lanes);
    }
    return text + "END" + n + ":\n";
  }

  std::string Write(const Step& step) {
    const std::string n = std::to_string(++labels_);
    const std::string number = std::to_string(step.number);
    switch (step.kind) {
      case Kind::kSwapLock:
      case Kind::kSleepLock:
      case Kind::kTryLock:
      case Kind::kTicketLock: return WriteLock(step, n);
      case Kind::kBranch:
        return "  bfe.u32 %r0, %t, " + number +
               ", 1;\n  setp.eq.u32 %p0, %r0, 0;\n  @%p0 bra ELSE" + n + ";\n" +
               Write(step.body) + "  bra END" + n + ";\nELSE" + n + ":\n" +
               Write(step.otherwise) + "END" + n + ":\n";
      case Kind::kLoop:
      case Kind::kOddLoop: return WriteLoop(step, n);
      case Kind::kFlags:
        return "  add.u32 %flag, %flag, 1;\n" +
               Tell(step.number, "[%own], %flag;\n") + "FLAG" + n +
               ":\n  ld.volatile.global.u32 %r0, [%partner];\n"
               "  setp.lt.u32 %p0, %r0, %flag;\n  @%p0 bra FLAG" +
               n + ";\n";
      case Kind::kSignal:
      case Kind::kTalk: return WriteTalk(step, n);
      case Kind::kMeeting:
        return "  mbarrier.arrive.shared.b64 %state, [meeting];\nMEET" + n +
               ":\n  mbarrier.try_wait.shared.b64 %p0, [meeting], %state;\n"
               "  @!%p0 bra MEET" +
               n + ";\n";
      case Kind::kBarrier: return "  bar.sync 0;\n";
      case Kind::kTwoBarriers:
        return "  and.b32 %r0, %t, 32;\n  setp.eq.u32 %p0, %r0, 0;\n"
               "  @%p0 bra EVEN" +
               n + ";\n  bar.sync 0;\n  bra BOTH" + n + ";\nEVEN" + n +
               ":\n  add.u32 %r1, %r0, 1;\n  bar.sync 0;\n"
               "BOTH" +
               n + ":\n";
      case Kind::kNamed:
        return "  bfe.u32 %r0, %t, 5, 2;\n  add.u32 %r0, %r0, 1;\n"
               "  bar.sync %r0, " +
               std::to_string(threads_ / 4) + ";\n";
      case Kind::kLeaders:
      case Kind::kLeavers:
      case Kind::kLateWords: return WriteRounds(step, n);
      case Kind::kVote: return Vote(step.number);
      case Kind::kApart: return WriteApart(step, n);
    }
    return "";
  }

  static std::string Vote(std::uint32_t lanes) {
    const std::string mask = std::to_string(lanes);
    return "  vote.sync.ballot.b32 %r0, 1, " + mask + ";\n  xor.b32 %r0, " +
           "%r0, " + mask + ";\n  or.b32 %wrong, %wrong, %r0;\n";
  }

  // Ordered, or plain behind a fence and before another one.
  static std::string Tell(std::uint32_t how, const std::string& what) {
    return how % 2 == 0
               ? "  membar.gl;\n  st.volatile.global.u32 " + what
               : "  membar.gl;\n  st.global.u32 " + what + "  membar.gl;\n";
  }

  const std::uint32_t distance_;
  const std::uint32_t threads_;
  int labels_ = 0;
};

// A fourth of the programs are compiled for a debugger; two fifths have
// partners in other warps, which may share a wave.
std::string KernelText(const Steps& steps, std::uint64_t seed,
                       std::uint32_t threads) {
  const bool debug = seed % 4 == 3;
  const std::uint32_t distance = seed % 5 < 2 ? 32 : 1;
  return std::string(".version 8.3\n.target sm_90") + (debug ? ", debug" : "") +
         "\n.address_size 64\n"
         ".global .align 4 .b8 locks[16];\n.global .align 4 .b8 tickets[16];\n"
         ".global .align 4 .b8 turns[16];\n.global .align 4 .b8 counts[32];\n"
         ".global .align 4 .b8 flags[8192];\n.global .align 4 .u32 rounds;\n"
         ".shared .align 4 .b8 shared_locks[16];\n"
         ".shared .align 4 .b8 shared_tickets[16];\n"
         ".shared .align 4 .b8 shared_turns[16];\n"
         ".shared .align 8 .b64 meeting;\n"
         ".visible .entry k()\n{\n  .reg .u32 %t, %flag, %signal, %met, "
         "%wrong, %r<4>;\n"
         "  .reg .b64 %own, %partner, %state;\n  .reg .pred %p<2>;\n"
         "  mov.u32 %t, %tid.x;\n  mov.u32 %flag, 0;\n"
         "  mov.u32 %signal, 0;\n  mov.u32 %met, 0;\n"
         "  mov.u32 %wrong, 0;\n"
         "  mov.u64 %own, flags;\n"
         "  xor.b32 %r0, %t, " +
         std::to_string(distance) +
         ";\n  mad.wide.u32 %partner, %r0, 4, %own;\n"
         "  mad.wide.u32 %own, %t, 4, %own;\n"
         "  st.shared.u32 [shared_locks+12], 0;\n"
         "  st.shared.u32 [shared_tickets+12], 0;\n"
         "  st.shared.u32 [shared_turns+12], 0;\n"
         "  setp.eq.u32 %p0, %t, 0;\n"
         "  @%p0 mbarrier.init.shared.b64 [meeting], " +
         std::to_string(threads) + ";\n  bar.sync 0;\n" +
         Writer(distance, threads).Write(steps) +
         "  setp.ne.u32 %p0, %wrong, 0;\n"
         "  @%p0 atom.global.max.u32 %r0, [counts], 1000000;\n  ret;\n}\n";
}

// "" or what went wrong. Two thirds run with their waves in random order.
std::string RunAlone(const Steps& steps, std::uint64_t seed,
                     std::uint32_t threads) {
  emulator::DeviceOptions options;
  options.random_schedule = seed % 3 != 0;
  options.random_schedule_seed = seed;
  options.instruction_limit = 300'000ull * threads;
  Result<std::shared_ptr<emulator::Device>> device =
      emulator::Device::Create(TestArch(), options);
  if (!device) return device.error().ToString();
  auto module = PtxModule::Compile(KernelText(steps, seed, threads), *device);
  if (!module) return module.error().ToString();
  if (!(*module)->warnings().empty()) return (*module)->warnings();
  Launch launch;
  launch.block = {threads, 1, 1};
  if (const Status ran = (*module)->Run("k", launch); !ran) {
    return ran.error().ToString();
  }
  Counts expected = {};
  for (std::uint32_t t = 0; t < threads; ++t) Count(steps, t, &expected);
  const auto* counts =
      reinterpret_cast<const std::uint32_t*>((*module)->Symbol("counts"));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (counts[i] == expected[i]) continue;
    return "count " + std::to_string(i) + " is " + std::to_string(counts[i]) +
           ", not " + std::to_string(expected[i]);
  }
  return "";
}

// Without all that can be left out with something still wrong.
void Shrink(const Steps& all, Steps* list, std::uint64_t seed,
            std::uint32_t threads) {
  for (std::size_t i = list->size(); i-- > 0;) {
    const Step step = (*list)[i];
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
    if (!RunAlone(all, seed, threads).empty()) continue;
    list->insert(list->begin() + static_cast<std::ptrdiff_t>(i), step);
    Shrink(all, &(*list)[i].body, seed, threads);
    Shrink(all, &(*list)[i].otherwise, seed, threads);
  }
}

// CERBERUS_TEST_WAITS=FIRST:COUNT runs other programs;
// CERBERUS_TEST_WAITS_SHRINK=1 makes those small that fail, and prints them.
void RunPrograms(std::uint32_t threads, unsigned long long count,
                 bool apart = false, unsigned long long first = 1) {
  if (const char* text = std::getenv("CERBERUS_TEST_WAITS")) {
    std::sscanf(text, "%llu:%llu", &first, &count);
  }
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Steps program = Maker(seed, apart).Make(kAllLanes, /*depth=*/2);
    const std::string wrong = RunAlone(program, seed, threads);
    if (wrong.empty()) continue;
    if (std::getenv("CERBERUS_TEST_WAITS_SHRINK") == nullptr) {
      ADD_FAILURE() << "program " << seed << ": " << wrong;
      continue;
    }
    Shrink(program, &program, seed, threads);
    ADD_FAILURE() << "program " << seed << ": " << wrong
                  << "\nshrunk: " << RunAlone(program, seed, threads) << "\n"
                  << KernelText(program, seed, threads);
  }
}

TEST(WaitsExec, RandomPrograms) { RunPrograms(128, kProgramsOfTest); }

// As many as a block can have, whose warps wait for each other; half of that
// where each is to have a wave of 64 of its own.
TEST(WaitsExec, RandomProgramsOfLargeBlocks) {
  const bool halves = std::getenv("CERBERUS_TEST_ONE_WARP_PER_WAVE") != nullptr;
  RunPrograms(halves ? 512 : 1024, kLargeProgramsOfTest);
}

// Lanes that wait in between meet by mask from two sides of a branch.
TEST(WaitsExec, RandomProgramsApart) {
  RunPrograms(128, kProgramsOfTest, /*apart=*/true);
}

// One whose lanes lost what they waited with, where registers are short on
// gfx1100 (ptxc/passes/repairs/spill_lanes.h).
TEST(WaitsExec, StateOfLanesThatIsSpilled) {
  RunPrograms(128, 1, /*apart=*/true, /*first=*/1707);
}

TEST(WaitsExec, RandomProgramsOneByOne) {
  ::setenv("CERBERUS_TEST_SERIAL_LANES", "1", 1);
  RunPrograms(128, kProgramsOneByOne);
  ::unsetenv("CERBERUS_TEST_SERIAL_LANES");
}

}  // namespace
}  // namespace cerberus::exec
