// Large functions: what ptxc does only where there is much of it (ladders of
// exits, checks that end the wave, sums across many blocks), in random programs
// that the host computes as well.
//   CERBERUS_TEST_LARGE=FIRST:COUNT large_exec_test
// runs others than the few that belong to the test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

constexpr std::uint32_t kThreads = 64;
constexpr std::uint32_t kMultiplier = 1664525;

class Program {
 public:
  explicit Program(std::uint32_t seed) : random_(seed * 7919 + 1) {
    for (int i = 0; i < 8; ++i) Below(2);
    rounds_ = 1 + Below(3);
    const std::uint32_t count = 60 + Below(140);
    // One kind more often than others, so that ladders get long.
    const std::uint32_t often = Below(kKinds);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t kind = Below(2) == 0 ? often : Below(kKinds);
      steps_.push_back({kind, Below(1u << 16), Below(1000) | 1, Below(count)});
    }
  }

  std::string Ptx() const {
    std::string text =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
        "  .reg .b64 %o, %i;\n  .reg .b32 %x, %s, %t, %n, %r<4>;\n"
        "  .reg .pred %p;\n"
        "  ld.param.u64 %o, [out];\n  ld.param.u64 %i, [in];\n"
        "  mov.u32 %t, %tid.x;\n  mad.wide.u32 %o, %t, 8, %o;\n"
        "  mov.u32 %x, %t;\n  mov.u32 %s, 1;\n  mov.u32 %n, 0;\nROUND:\n";
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const std::string at = std::to_string(i);
      const std::string value = std::to_string(step.value);
      const std::string factor = std::to_string(step.factor);
      text += "  mad.lo.u32 %x, %x, " + std::to_string(kMultiplier) + ", " +
              value + ";\n  shr.u32 %r0, %x, 16;\n";
      switch (step.kind) {
        case kDiamond:
          text +=
              "  and.b32 %r1, %r0, 1;\n  setp.eq.u32 %p, %r1, 0;\n"
              "  @%p bra ELSE" +
              at + ";\n  xor.b32 %x, %x, " + factor + ";\n  bra DONE" + at +
              ";\nELSE" + at + ":\n  add.u32 %s, %s, %x;\nDONE" + at + ":\n";
          break;
        case kExit:
        case kOtherExit:
        case kNextRound:
          text += "  and.b32 %r1, %r0, 127;\n  setp.eq.u32 %p, %r1, " +
                  std::to_string(step.value & 127) + ";\n  @%p bra " +
                  (step.kind == kExit        ? "END"
                   : step.kind == kOtherExit ? "OTHER"
                                             : "NEXT") +
                  ";\n";
          break;
        case kLoop:
          text += "  and.b32 %r1, %r0, 7;\nLOOP" + at +
                  ":\n  mad.lo.u32 %s, %s, 3, %r1;\n  and.b32 %r2, %s, 31;\n"
                  "  setp.eq.u32 %p, %r2, 7;\n  @%p bra OUT" +
                  at +
                  ";\n  sub.u32 %r1, %r1, 1;\n  setp.gt.s32 %p, %r1, 0;\n"
                  "  @%p bra LOOP" +
                  at + ";\nOUT" + at + ":\n";
          break;
        case kCheck:  // holds
          text +=
              "  ld.global.u32 %r1, [%i];\n  and.b32 %r2, %r0, 15;\n"
              "  add.u32 %r1, %r1, %r2;\n  setp.lt.u32 %p, %r1, 65551;\n"
              "  @%p bra OK" +
              at + ";\n  trap;\nOK" + at + ":\n  add.u32 %s, %s, %r0;\n";
          break;
        case kLoad:
          text += "  ld.global.u32 %r1, [%i+" + std::to_string(4 * step.index) +
                  "];\n  add.u32 %s, %s, %r1;\n  setp.gt.u32 %p, %r1, %r0;\n"
                  "  @%p add.u32 %x, %x, %s;\n";
          break;
        default:  // by what is the same in all threads
          text += "  ld.global.u32 %r1, [%i];\n  setp.gt.u32 %p, %r1, " +
                  value + ";\n  @%p bra ALL" + at + ";\n  mad.lo.u32 %s, %s, " +
                  factor + ", %x;\nALL" + at + ":\n";
      }
    }
    return text + "NEXT:\n  add.u32 %n, %n, 1;\n  setp.lt.u32 %p, %n, " +
           std::to_string(rounds_) +
           ";\n  @%p bra ROUND;\n  bra END;\nOTHER:\n  xor.b32 %s, %s, 4660;\n"
           "END:\n  st.global.u32 [%o], %x;\n  st.global.u32 [%o+4], %s;\n"
           "  ret;\n}\n";
  }

  std::uint32_t Input(std::uint32_t index) const {
    return (index + 1) * 40503 % 65536;
  }
  std::size_t size() const { return steps_.size(); }

  std::uint64_t Expected(std::uint32_t thread) const {
    std::uint32_t x = thread, s = 1;
    for (std::uint32_t round = 0; round < rounds_; ++round) {
      for (const Step& step : steps_) {
        x = x * kMultiplier + step.value;
        const std::uint32_t r0 = x >> 16;
        const bool leaves = (r0 & 127) == (step.value & 127);
        if (step.kind == kExit && leaves) return Result(x, s);
        if (step.kind == kOtherExit && leaves) return Result(x, s ^ 4660);
        if (step.kind == kNextRound && leaves) break;
        Do(step, r0, &x, &s);
      }
    }
    return Result(x, s);
  }

 private:
  enum Kind : std::uint32_t {
    kDiamond,
    kExit,
    kOtherExit,
    kNextRound,
    kLoop,
    kCheck,
    kLoad,
    kUniform,
    kKinds
  };
  struct Step {
    std::uint32_t kind, value, factor, index;
  };

  static std::uint64_t Result(std::uint32_t x, std::uint32_t s) {
    return x | std::uint64_t{s} << 32;
  }
  void Do(const Step& step, std::uint32_t r0, std::uint32_t* x,
          std::uint32_t* s) const {
    if (step.kind == kDiamond) {
      if ((r0 & 1) == 0) {
        *s += *x;
      } else {
        *x ^= step.factor;
      }
    } else if (step.kind == kLoop) {
      std::uint32_t r1 = r0 & 7;
      do {
        *s = *s * 3 + r1;
      } while ((*s & 31) != 7 && static_cast<std::int32_t>(--r1) > 0);
    } else if (step.kind == kCheck) {
      *s += r0;
    } else if (step.kind == kLoad) {
      const std::uint32_t r1 = Input(step.index);
      *s += r1;
      if (r1 > r0) *x += *s;
    } else if (step.kind == kUniform && Input(0) <= step.value) {
      *s = *s * step.factor + *x;
    }
  }
  std::uint32_t Below(std::uint32_t limit) {
    random_ = random_ * 1664525 + 1013904223;
    return (random_ >> 8) % limit;
  }

  std::uint32_t random_;
  std::uint32_t rounds_ = 0;
  std::vector<Step> steps_;
};

TEST(LargeExec, RandomPrograms) {
  std::uint32_t first = 0, count = 12;
  if (const char* text = std::getenv("CERBERUS_TEST_LARGE")) {
    ASSERT_EQ(std::sscanf(text, "%u:%u", &first, &count), 2) << text;
  }
  for (std::uint32_t i = first; i < first + count; ++i) {
    const Program program(i);
    SCOPED_TRACE("program " + std::to_string(i));
    auto module = PtxModule::Compile(program.Ptx());
    ASSERT_TRUE(module) << module.error().ToString() << program.Ptx();
    Buffer out((*module)->device(), 8 * kThreads);
    Buffer in((*module)->device(), 4 * program.size());
    for (std::uint32_t k = 0; k < program.size(); ++k) {
      in.as<std::uint32_t>()[k] = program.Input(k);
    }
    Launch launch;
    launch.block = {kThreads, 1, 1};
    launch.params = {out.address(), in.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << status.error().ToString();
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      ASSERT_EQ(out.as<std::uint64_t>()[t], program.Expected(t))
          << "thread " << t << program.Ptx();
    }
  }
}

// Runs it on `inputs` and compares what each thread writes, so many words.
template <typename P>
void CheckWords(const P& program, std::size_t words,
                const std::vector<std::uint32_t>& inputs) {
  auto module = PtxModule::Compile(program.Ptx());
  ASSERT_TRUE(module) << module.error().ToString();
  Buffer out((*module)->device(), 4 * words * kThreads);
  Buffer in((*module)->device(), 4 * inputs.size());
  std::memset(out.as<void>(), 0, out.size());
  std::memcpy(in.as<void>(), inputs.data(), in.size());
  Launch launch;
  launch.block = {kThreads, 1, 1};
  launch.params = {out.address(), in.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const std::uint32_t* written = out.as<std::uint32_t>() + t * words;
    ASSERT_EQ(std::vector<std::uint32_t>(written, written + words),
              program.Expected(t))
        << "thread " << t;
  }
}

// One block of thousands of instructions: values, comparisons and addresses
// are made in one piece of it and used in others.
class LongBlock {
 public:
  static constexpr std::uint32_t kValues = 16, kMasks = 4, kWords = 64;

  explicit LongBlock(std::uint32_t seed) : random_(seed * 7919 + 1) {
    for (int i = 0; i < 9000; ++i) {
      steps_.push_back({Below(kKinds), Below(kValues), Below(kValues),
                        Below(kValues), Below(kWords)});
    }
  }

  // Thread t has kWords words of `out`, all read `in`.
  std::string Ptx() const {
    std::string text =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
        "  .reg .b64 %o, %i;\n  .reg .b32 %t, %x<16>;\n  .reg .pred %p<4>;\n"
        "  ld.param.u64 %o, [out];\n  ld.param.u64 %i, [in];\n"
        "  mov.u32 %t, %tid.x;\n  mad.wide.u32 %o, %t, 256, %o;\n";
    for (std::uint32_t i = 0; i < kValues; ++i) {
      text += fmt::format("  mad.lo.u32 %x{0}, %t, 77, {0};\n", i);
    }
    for (std::uint32_t i = 0; i < kMasks; ++i) {
      text += fmt::format("  setp.gt.u32 %p{0}, %t, {0};\n", i);
    }
    for (const Step& s : steps_) {
      const std::uint32_t mask = s.b % kMasks;
      switch (s.kind) {
        case kAdd:
          text += fmt::format("  add.u32 %x{}, %x{}, %x{};\n", s.to, s.a, s.b);
          break;
        case kMultiply:
          text += fmt::format("  mad.lo.u32 %x{}, %x{}, %x{}, {};\n", s.to, s.a,
                              s.b, s.word);
          break;
        case kCompare:
          text += fmt::format("  setp.lt.u32 %p{}, %x{}, %x{};\n",
                              s.to % kMasks, s.a, s.b);
          break;
        case kSelect:
          text += fmt::format("  selp.b32 %x{}, %x{}, {}, %p{};\n", s.to, s.a,
                              s.word, mask);
          break;
        case kInput:
          text +=
              fmt::format("  ld.global.u32 %x{}, [%i+{}];\n", s.to, 4 * s.word);
          break;
        case kLoad:
          text +=
              fmt::format("  ld.global.u32 %x{}, [%o+{}];\n", s.to, 4 * s.word);
          break;
        default:
          text +=
              fmt::format("  st.global.u32 [%o+{}], %x{};\n", 4 * s.word, s.a);
      }
    }
    for (std::uint32_t i = 0; i < kValues; ++i) {
      text += fmt::format("  st.global.u32 [%o+{}], %x{};\n", 4 * i, i);
    }
    return text + "  ret;\n}\n";
  }

  static std::uint32_t Input(std::uint32_t word) {
    return (word + 1) * 2654435761u;
  }

  // The words of `thread`, zero before.
  std::vector<std::uint32_t> Expected(std::uint32_t thread) const {
    std::vector<std::uint32_t> words(kWords), x(kValues);
    bool p[kMasks];
    for (std::uint32_t i = 0; i < kValues; ++i) x[i] = thread * 77 + i;
    for (std::uint32_t i = 0; i < kMasks; ++i) p[i] = thread > i;
    for (const Step& s : steps_) {
      switch (s.kind) {
        case kAdd: x[s.to] = x[s.a] + x[s.b]; break;
        case kMultiply: x[s.to] = x[s.a] * x[s.b] + s.word; break;
        case kCompare: p[s.to % kMasks] = x[s.a] < x[s.b]; break;
        case kSelect: x[s.to] = p[s.b % kMasks] ? x[s.a] : s.word; break;
        case kInput: x[s.to] = Input(s.word); break;
        case kLoad: x[s.to] = words[s.word]; break;
        default: words[s.word] = x[s.a];
      }
    }
    std::copy(x.begin(), x.end(), words.begin());
    return words;
  }

 private:
  enum Kind : std::uint32_t {
    kAdd,
    kMultiply,
    kCompare,
    kSelect,
    kInput,
    kLoad,
    kStore,
    kKinds
  };
  struct Step {
    std::uint32_t kind, to, a, b, word;
  };

  std::uint32_t Below(std::uint32_t limit) {
    random_ = random_ * 1664525 + 1013904223;
    return (random_ >> 8) % limit;
  }

  std::uint32_t random_;
  std::vector<Step> steps_;
};

TEST(LargeExec, LongBlocks) {
  constexpr std::uint32_t kWords = LongBlock::kWords;
  for (std::uint32_t seed = 0; seed < 2; ++seed) {
    const LongBlock program(seed);
    SCOPED_TRACE("program " + std::to_string(seed));
    std::vector<std::uint32_t> inputs(kWords);
    for (std::uint32_t k = 0; k < kWords; ++k) inputs[k] = LongBlock::Input(k);
    CheckWords(program, kWords, inputs);
  }
}

// More values than registers, each quickly made of a few words, by a lane for
// itself or from its neighbours, and used again and again between others.
class HeldValues {
 public:
  static constexpr std::uint32_t kWords = 48, kValues = 320, kSums = 8;

  explicit HeldValues(std::uint32_t seed) : random_(seed * 7919 + 1) {
    for (std::uint32_t i = 0; i < kValues; ++i) {
      values_.push_back({Below(kKinds), Below(kWords), 1 + Below(24)});
    }
    for (int i = 0; i < 800; ++i) {
      steps_.push_back({Below(kSums), Below(kValues), Below(kValues)});
    }
  }

  std::string Ptx() const {
    std::string text =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
        "  .reg .b64 %o, %i;\n  .reg .b32 %t, %n, %w<48>, %v<320>, %s<8>;\n"
        "  .reg .pred %p;\n"
        "  ld.param.u64 %o, [out];\n  ld.param.u64 %i, [in];\n"
        "  mov.u32 %t, %tid.x;\n  mad.wide.u32 %o, %t, 32, %o;\n"
        "  mad.wide.u32 %i, %t, 4, %i;\n  mov.u32 %n, 0;\n";
    for (std::uint32_t i = 0; i < kSums; ++i) {
      text += fmt::format("  mov.u32 %s{0}, {0};\n", i);
    }
    text += "ROUND:\n";
    for (std::uint32_t i = 0; i < kWords; ++i) {
      text += fmt::format("  ld.volatile.global.u32 %w{}, [%i+{}];\n", i,
                          4 * kThreads * i);
    }
    for (std::uint32_t i = 0; i < kValues; ++i) {
      const Value& v = values_[i];
      switch (v.kind) {
        case kNeighbour:
          text += fmt::format("  shfl.sync.bfly.b32 %v{}, %w{}, {}, 31, -1;\n",
                              i, v.word, v.number & 15);
          break;
        case kPart:
          text += fmt::format("  bfe.u32 %v{}, %w{}, {}, 8;\n", i, v.word,
                              v.number);
          break;
        case kSigned:
          text +=
              fmt::format("  shr.s32 %v{}, %w{}, {};\n", i, v.word, v.number);
          break;
        default:
          text +=
              fmt::format("  xor.b32 %v{}, %w{}, {};\n", i, v.word, v.number);
      }
    }
    for (const Step& s : steps_) {
      text += fmt::format("  mad.lo.u32 %s{0}, %v{1}, %v{2}, %s{0};\n", s.sum,
                          s.a, s.b);
    }
    text +=
        "  add.u32 %n, %n, 1;\n  setp.lt.u32 %p, %n, 2;\n  @%p bra ROUND;\n";
    for (std::uint32_t i = 0; i < kSums; ++i) {
      text += fmt::format("  st.global.u32 [%o+{}], %s{};\n", 4 * i, i);
    }
    return text + "  ret;\n}\n";
  }

  static std::uint32_t Input(std::uint32_t word, std::uint32_t thread) {
    return (word * kThreads + thread + 1) * 2654435761u;
  }

  std::vector<std::uint32_t> Expected(std::uint32_t thread) const {
    std::vector<std::uint32_t> sums(kSums), made;
    for (std::uint32_t i = 0; i < kSums; ++i) sums[i] = i;
    for (const Value& v : values_) {
      const std::uint32_t own = Input(v.word, thread);
      switch (v.kind) {
        case kNeighbour:
          made.push_back(Input(v.word, thread ^ (v.number & 15)));
          break;
        case kPart: made.push_back(own >> v.number & 255); break;
        case kSigned:
          made.push_back(static_cast<std::uint32_t>(
              static_cast<std::int32_t>(own) >> v.number));
          break;
        default: made.push_back(own ^ v.number);
      }
    }
    for (int round = 0; round < 2; ++round) {
      for (const Step& s : steps_) sums[s.sum] += made[s.a] * made[s.b];
    }
    return sums;
  }

 private:
  enum Kind : std::uint32_t { kNeighbour, kPart, kSigned, kMixed, kKinds };
  struct Value {
    std::uint32_t kind, word, number;
  };
  struct Step {
    std::uint32_t sum, a, b;
  };

  std::uint32_t Below(std::uint32_t limit) {
    random_ = random_ * 1664525 + 1013904223;
    return (random_ >> 8) % limit;
  }

  std::uint32_t random_;
  std::vector<Value> values_;
  std::vector<Step> steps_;
};

TEST(LargeExec, HeldValues) {
  constexpr std::uint32_t kSums = HeldValues::kSums;
  constexpr std::uint32_t kWords = HeldValues::kWords;
  for (std::uint32_t seed = 0; seed < 2; ++seed) {
    const HeldValues program(seed);
    SCOPED_TRACE("program " + std::to_string(seed));
    std::vector<std::uint32_t> inputs(kWords * kThreads);
    for (std::uint32_t k = 0; k < inputs.size(); ++k) {
      inputs[k] = HeldValues::Input(k / kThreads, k % kThreads);
    }
    CheckWords(program, kSums, inputs);
  }
}

}  // namespace
}  // namespace cerberus::exec
