// Lanes that meet by the mask of a `.sync` instruction, wherever each of them
// executes one of the same spelling: on the two sides of a branch, in other
// rounds of a loop, in other functions, beside lanes that exit.
//
// PTX ISA 9.0: shfl.sync, vote.sync, match.sync, redux.sync, bar.warp.sync and
// elect.sync of sm_70 and later; lane_program.h has the rule.
//
// Two tests: shapes of control flow by hand, and random programs. One case:
//   joins_exec_test --gtest_filter='*Shapes/optimised_sides'
//   CERBERUS_TEST_JOINS=17:1 joins_exec_test --gtest_filter='*Random*'
// CERBERUS_TEST_JOINS=FIRST:COUNT runs other random programs than the few that
// belong to the test, CERBERUS_TEST_JOINS_LEVEL=0, 1 or 2 those of one level
// (see Level). CERBERUS_TEST_JOINS_KINDS=shfl.sync.idx,vote keeps to the
// instructions that begin so; CERBERUS_TEST_JOINS_ALL takes every spelling of
// them with every shape; CERBERUS_TEST_JOINS_THREADS=32 blocks of that size
// alone. What fails is written to the folder CERBERUS_TEST_JOINS_DIR, or to
// that for temporary files; of random programs the first three, or as many as
// CERBERUS_TEST_JOINS_SHRINK says, also without all that can be left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/exec/join_programs.h"
#include "tests/exec/join_shapes.h"
#include "tests/exec/lane_program.h"
#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

constexpr std::array<std::uint32_t, 4> kBlocks = {32, 64, 96, 40};
constexpr std::uint32_t kI = 2;  // a loop's variable

// ---------------------------------------------------------------------------
// Running them
// ---------------------------------------------------------------------------

Inputs RandomInputs(std::uint64_t seed, std::uint32_t threads) {
  std::mt19937_64 random(seed);
  Inputs inputs(threads);
  for (auto& words : inputs) {
    for (std::uint32_t& word : words) {
      word = static_cast<std::uint32_t>(random());
    }
  }
  return inputs;
}

// A program of the tests has some thousand instructions.
Result<std::shared_ptr<emulator::Device>> NewDevice(std::uint64_t seed) {
  emulator::DeviceOptions options;
  options.random_schedule = seed % 3 != 0;
  options.random_schedule_seed = seed;
  options.instruction_limit = 2'000'000;
  return emulator::Device::Create(TestArch(), options);
}

std::string Hex(std::uint32_t word) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", word);
  return text;
}

// The words of all threads; an error if the program does not come to its end.
Result<std::vector<std::uint32_t>> RunOnDevice(PtxModule& module,
                                               const Inputs& inputs) {
  const std::size_t threads = inputs.size();
  Buffer in(module.device(), threads * 4 * kInputWords);
  Buffer out(module.device(), threads * 4 * kOutputWords);
  for (std::size_t t = 0; t < threads; ++t) {
    std::copy(inputs[t].begin(), inputs[t].end(),
              in.as<std::uint32_t>() + t * kInputWords);
  }
  std::uint32_t* words = out.as<std::uint32_t>();
  std::fill_n(words, threads * kOutputWords, kUnwritten);
  Launch launch;
  launch.block = {static_cast<std::uint32_t>(threads), 1, 1};
  launch.params = {in.address(), out.address()};
  CERB_TRY_VOID(module.Run("k", launch));
  return std::vector<std::uint32_t>(words, words + threads * kOutputWords);
}

// "" or what went wrong.
std::string Compare(PtxModule& module, const Program& program,
                    const Expected& expected, const Inputs& inputs) {
  const std::size_t threads = inputs.size();
  const std::string of_block = "block of " + std::to_string(threads) + ", ";
  const Result<std::vector<std::uint32_t>> words = RunOnDevice(module, inputs);
  if (!words) return of_block + words.error().ToString();
  for (std::size_t t = 0; t < threads; ++t) {
    // The results first: the count and the mix follow from them.
    for (std::size_t n = 0; n < kOutputWords; ++n) {
      const std::size_t i = (n + 2) % kOutputWords;
      const std::uint32_t got = (*words)[t * kOutputWords + i];
      const std::uint32_t want = expected.words[t][i];
      if (got == want) continue;
      std::string what = i == 0   ? "number of results"
                         : i == 1 ? "mix"
                                  : "result " + std::to_string(i - 2);
      if (i >= 2 && i - 2 < expected.sources[t].size() && program.writes_all) {
        what +=
            " (statement " + std::to_string(expected.sources[t][i - 2]) + ")";
      }
      return of_block + "thread " + std::to_string(t) + ", " + what + ": got " +
             Hex(got) + ", want " + Hex(want);
    }
  }
  return "";
}

// Where the text was put.
std::string Keep(const std::string& name, const std::string& text) {
  const char* folder = std::getenv("CERBERUS_TEST_JOINS_DIR");
  std::string path = folder != nullptr ? folder : ::testing::TempDir();
  if (!path.empty() && path.back() != '/') path += '/';
  path += "joins_" + TestArch() + "_" + name + ".ptx";
  std::ofstream(path) << text;
  return path;
}

bool HasBlock(std::uint32_t threads) {
  const char* only = std::getenv("CERBERUS_TEST_JOINS_THREADS");
  return only == nullptr ||
         static_cast<std::uint32_t>(std::atoi(only)) == threads;
}

// ---------------------------------------------------------------------------
// The host itself
// ---------------------------------------------------------------------------

Expected OnHost(Program program, std::uint32_t threads = 32) {
  Number(&program);
  return RunOnHost(program, Inputs(threads));
}
Stmt Named(const char* spelling, const Expr& mask, const Expr& value,
           const Expr& lane = 0) {
  Stmt stmt = Sync(spelling, mask, std::nullopt, 2);
  stmt.value = value;
  stmt.lane = lane;
  stmt.pair = false;
  return stmt;
}
constexpr char kBarWarp[] = "bar.warp.sync";

// A shuffle, a vote and words in shared memory on the two sides of a branch.
Program OnSides() {
  Program p;
  const Expr other = Lane() ^ 1;
  p.main = {If(
      kOdd,
      {Named(kIdx, ~0u, Lane() + 100, other), Named(kBallot, ~0u, Lane() < 5),
       Named(kBarWarp, ~0u, Lane() + 300, other)},
      {Named(kIdx, ~0u, Lane() + 200, other), Named(kBallot, ~0u, Lane() < 9),
       Named(kBarWarp, ~0u, Lane() + 400, other)})};
  Number(&p);
  return p;
}
void ExpectMetOnSides(const std::uint32_t* words, std::uint32_t lane) {
  EXPECT_EQ(words[0], 3u) << lane;
  EXPECT_EQ(words[2], (lane ^ 1) + (lane % 2 == 0 ? 100 : 200)) << lane;
  EXPECT_EQ(words[3], 0x15fu) << lane;  // 1, 3 and 0, 2, 4, 6, 8
  EXPECT_EQ(words[4], (lane ^ 1) + (lane % 2 == 0 ? 300 : 400)) << lane;
  EXPECT_EQ(words[5], kUnwritten) << lane;
}

TEST(JoinsHost, LanesMeetOnSides) {
  const Expected expected = OnHost(OnSides());
  ASSERT_EQ(expected.undefined, "");
  EXPECT_EQ(expected.met_elsewhere, 4u);
  for (std::uint32_t l = 0; l < 32; ++l) {
    ExpectMetOnSides(expected.words[l].data(), l);
  }
}

TEST(JoinsHost, LanesMeetInOtherRoundsAndWaitForNoneThatExited) {
  Program p;
  p.main = {
      Loop(kI, 2,
           {If((Lane() + Var(kI)) % 2 == 0, {Named(kBallot, ~0u, Lane() < 4)}),
            If(Lane() == 2, {Exit()})})};
  const Expected expected = OnHost(p, 40);
  ASSERT_EQ(expected.undefined, "");
  for (std::uint32_t t = 0; t < 40; ++t) {
    EXPECT_EQ(expected.words[t][0], 1u);
    EXPECT_EQ(expected.words[t][2], 15u) << t;
  }
  // Lane 2 exits before it would vote.
  std::swap(p.main[0].body[0], p.main[0].body[1]);
  const Expected without = OnHost(p, 40);
  ASSERT_EQ(without.undefined, "");
  EXPECT_EQ(without.words[1][2], 11u);
  EXPECT_EQ(without.words[2][0], 0u);
  EXPECT_EQ(without.words[39][2], 11u);
}

TEST(JoinsHost, TellsWhatIsUndefined) {
  const auto why = [](Stmts main) {
    Program p;
    p.main = std::move(main);
    return OnHost(p).undefined;
  };
  const Stmt ballot = Named(kBallot, ~0u, 1);
  EXPECT_EQ(why({If(kOdd, {ballot})}), "");
  // Each side waits for the other one at something else.
  EXPECT_EQ(why({If(kOdd, {ballot}, {Named("vote.sync.any.pred", ~0u, 1)})}),
            "lanes wait for ever (statement 2)");
  EXPECT_EQ(why({If(kOdd, {ballot},
                    {Named(kBallot, 0x55555555, 1), Named(kIdx, ~0u, 1)})}),
            "lanes wait for ever (statement 3)");
  EXPECT_EQ(why({Named(kBallot, 0x7fffffff, 1)}),
            "a lane is not in its mask (statement 0)");
  EXPECT_EQ(why({If(kOdd, {Exit()}), Named(kIdx, ~0u, 7, 1)}),
            "shfl of a lane that takes no part (statement 2)");
  // Nothing orders the words of lanes 0 and 2.
  EXPECT_EQ(why({If(Lane() < 2, {Named(kBarWarp, 3, Lane(), 0)},
                    {Named(kBarWarp, 0xfffffffc, Lane(), 0)})}),
            "a word is read and written at once (statement 2)");
}

// The smallest programs, with numbers that no reference computed.
TEST(JoinsExec, LanesMeetOnSides) {
  for (const char* target : {"sm_70", "sm_90, debug"}) {
    Program program = OnSides();
    program.target = target;
    const std::string text = PtxOf(program);
    auto module = PtxModule::Compile(text);
    ASSERT_TRUE(module) << module.error().ToString();
    const auto words = RunOnDevice(**module, Inputs(64));
    ASSERT_TRUE(words) << words.error().ToString() << text;
    for (std::uint32_t t = 0; t < 64; ++t) {
      ExpectMetOnSides(words->data() + t * kOutputWords, t % 32);
    }
  }
}

// A matrix product takes a whole warp, of which halves come from joins of their
// own in rounds of their own.
TEST(JoinsExec, HalvesMeetInFrontOfMatrixProducts) {
  const auto shuffles = [](const std::string& some, const std::string& others,
                           int lane) {
    std::string text;
    for (const std::string& guard : {some, others}) {
      text += "  @" + guard + " shfl.sync.bfly.b32 %x, %x, " +
              std::to_string(lane) + ", 31, %half;\n";
    }
    return text;
  };
  const std::string text = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %all, %none, %odd, %even, %high_odd, %high_even;
  .reg .b32 %lane, %half, %bits, %x, %ones;
  .reg .f32 %d<4>, %zero;
  .reg .b64 %out, %at;
  mov.u32 %lane, %laneid;
  and.b32 %bits, %lane, 16;
  shl.b32 %half, 65535, %bits;
  and.b32 %bits, %lane, 1;
  setp.ne.u32 %odd, %bits, 0;
  not.pred %even, %odd;
  and.b32 %bits, %lane, 17;
  setp.eq.u32 %high_odd, %bits, 17;
  setp.eq.u32 %high_even, %bits, 16;
  setp.ge.u32 %all, %lane, 0;
  mov.u32 %x, %lane;
  mov.b32 %ones, 0x3c003c00;
  mov.f32 %zero, 0f00000000;
)" + shuffles("%odd", "%even", 1) +
                           shuffles("%high_odd", "%high_even", 1) + R"(
  shfl.sync.bfly.b32 %x, %x, 2, 31, %half;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3},
    {%ones, %ones}, {%ones}, {%zero, %zero, %zero, %zero};
)" + shuffles("%odd", "%even", 4) +
                           R"(
  ld.param.u64 %out, [out];
  mul.wide.u32 %at, %lane, 384;
  add.u64 %out, %out, %at;
  st.global.f32 [%out], %d0;
  st.global.u32 [%out+4], %x;
  ret;
}
)";
  auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  const auto words = RunOnDevice(**module, Inputs(32));
  ASSERT_TRUE(words) << words.error().ToString() << text;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t* of_lane = words->data() + lane * kOutputWords;
    EXPECT_EQ(of_lane[0], 0x41000000u) << lane;  // 8: a row times a column
    EXPECT_EQ(of_lane[1], lane ^ (lane < 16 ? 7 : 6)) << lane;
  }
}

// ---------------------------------------------------------------------------
// Every shape with instructions of every opcode
// ---------------------------------------------------------------------------

struct Case {
  const Shape* shape;
  bool debug;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Shape& shape : Shapes()) {
    for (bool debug : {false, true}) cases.push_back({&shape, debug});
  }
  return cases;
}

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.shape->name << (one.debug ? ", for a debugger" : "");
}

class Joins : public ::testing::TestWithParam<Case> {};

// Of three of the opcodes one spelling, others for each shape, and for a
// debugger the other three.
TEST_P(Joins, Shapes) {
  const auto [shape, debug] = GetParam();
  const auto number = static_cast<std::size_t>(shape - Shapes().data());
  auto device = NewDevice(0);
  ASSERT_TRUE(device) << device.error().ToString();
  std::uint32_t failed = 0, all = 0;
  const bool every = std::getenv("CERBERUS_TEST_JOINS_ALL") != nullptr ||
                     std::getenv("CERBERUS_TEST_JOINS_KINDS") != nullptr;
  for (std::size_t k = 0; k < kOpcodes.size(); ++k) {
    const std::vector<std::string> spellings = SpellingsOf(kOpcodes[k]);
    ASSERT_FALSE(spellings.empty()) << kOpcodes[k];
    for (std::size_t i = 0; i < spellings.size(); ++i) {
      const std::string& spelling = spellings[i];
      const bool turn =
          (k + number + debug) % 2 == 0 && i == number % spellings.size();
      if (!(every ? IsChosen(spelling) : turn)) continue;
      Program program;
      Maker maker(spelling);
      shape->make(maker, program);
      Number(&program);
      program.target = TargetOf(spelling);
      if (debug) program.target += ", debug";
      const std::string text = PtxOf(program);
      std::string wrong;
      auto module = PtxModule::Compile(text, *device);
      if (!module) {
        wrong = module.error().ToString();
      } else if (!(*module)->warnings().empty()) {
        wrong = (*module)->warnings();
      }
      for (std::uint32_t threads : kBlocks) {
        if (!wrong.empty() || !HasBlock(threads)) continue;
        const Inputs inputs = RandomInputs(number, threads);
        const Expected expected = RunOnHost(program, inputs);
        ASSERT_EQ(expected.undefined, "") << spelling << "\n" << text;
        ASSERT_EQ(expected.words, RunOnHost(program, inputs, true).words);
        wrong = Compare(**module, program, expected, inputs);
      }
      ++all;
      if (wrong.empty()) continue;
      ++failed;
      ADD_FAILURE() << spelling << ": " << wrong << "\n"
                    << Keep(std::string(debug ? "debug_" : "optimised_") +
                                shape->name + "_" + spelling,
                            text);
    }
  }
  if (failed != 0) {
    ADD_FAILURE() << failed << " of " << all << " instructions failed";
  }
}

INSTANTIATE_TEST_SUITE_P(, Joins, ::testing::ValuesIn(Cases()),
                         [](const ::testing::TestParamInfo<Case>& info) {
                           return std::string(info.param.debug ? "debug_"
                                                               : "optimised_") +
                                  info.param.shape->name;
                         });

constexpr std::uint64_t kProgramsOfTest = 24;
constexpr std::array<std::uint32_t, 6> kRandomBlocks = {32, 64,  96,
                                                        40, 128, 17};

// A lane that reads from one that has exited, or that races with it, reads
// from itself instead.
void ReadOwn(Program* program, std::uint32_t id) {
  ForEachStmt(*program, [&](Stmt& stmt) {
    if (stmt.id != id || stmt.kind != Stmt::Kind::kSync) return;
    const bool absolute =
        Has(stmt.spelling, ".idx") || Has(stmt.spelling, "bar.warp");
    stmt.lane = absolute ? Lane() : Expr(0);
    if (Has(stmt.spelling, ".idx")) stmt.control = 31;
  });
}

// What became of a program.
struct Outcome {
  enum class Kind { kRight, kRefused, kHung, kWrong } kind = Kind::kRight;
  std::string text = {};
};

struct Trial {
  Program program;
  Inputs inputs;
  Expected expected;
  std::uint64_t seed = 0;
  int thrown_away = 0;  // before it: they say nothing of what they compute
};

// What a seed stands for.
Trial MakeTrial(std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15 + 7);
  Level level = seed % 8 == 0   ? Level::kTogether
                : seed % 2 == 0 ? Level::kBehind
                                : Level::kSides;
  if (const char* text = std::getenv("CERBERUS_TEST_JOINS_LEVEL")) {
    level = static_cast<Level>(std::atoi(text));
  }
  Trial trial;
  trial.seed = seed;
  for (;; ++trial.thrown_away) {
    trial.program = RandomProgram(random(), level);
    Number(&trial.program);
    std::uint32_t threads = kRandomBlocks[random() % kRandomBlocks.size()];
    if (const char* only = std::getenv("CERBERUS_TEST_JOINS_THREADS")) {
      threads = static_cast<std::uint32_t>(std::atoi(only));
    }
    trial.inputs = RandomInputs(random(), threads);
    for (int tries = 0; tries < 12; ++tries) {
      trial.expected = RunOnHost(trial.program, trial.inputs);
      if (trial.expected.undefined.empty()) return trial;
      ReadOwn(&trial.program, trial.expected.culprit);
    }
  }
}

Outcome RunAlone(const Trial& trial) {
  using Kind = Outcome::Kind;
  auto device = NewDevice(trial.seed);
  if (!device) return {Kind::kRefused, device.error().ToString()};
  auto module = PtxModule::Compile(PtxOf(trial.program), *device);
  if (!module) return {Kind::kRefused, module.error().ToString()};
  if (!(*module)->warnings().empty()) {
    return {Kind::kRefused, (*module)->warnings()};
  }
  const std::string wrong =
      Compare(**module, trial.program, trial.expected, trial.inputs);
  return {wrong.empty()                ? Kind::kRight
          : Has(wrong, "no end after") ? Kind::kHung
                                       : Kind::kWrong,
          wrong};
}

// Leaves out what can be left out with the program failing in the same way.
class Shrinker {
 public:
  Shrinker(Trial* trial, Outcome::Kind kind) : trial_(*trial), kind_(kind) {}

  void Run() {
    for (int before = -1; before != shorter_ && !IsLate();) {
      before = shorter_;
      Shrink(&trial_.program.main);
      for (Stmts& function : trial_.program.functions) Shrink(&function);
    }
  }

 private:
  // Programs that hang take their time.
  bool IsLate() const { return std::chrono::steady_clock::now() > end_; }

  bool Fails() {
    Number(&trial_.program);
    trial_.expected = RunOnHost(trial_.program, trial_.inputs);
    if (!trial_.expected.undefined.empty()) return false;
    const bool fails = RunAlone(trial_).kind == kind_;
    shorter_ += fails;
    return fails;
  }

  void Shrink(Stmts* list) {
    for (std::size_t i = list->size(); i-- > 0 && !IsLate();) {
      const Stmts before = *list;
      const auto at = list->begin() + static_cast<std::ptrdiff_t>(i);
      const Stmt stmt = *at;
      list->erase(at);
      if (Fails()) continue;
      // What it holds in its place.
      std::vector<Stmts> parts = {stmt.body, stmt.otherwise};
      parts.insert(parts.end(), stmt.cases.begin(), stmt.cases.end());
      bool replaced = false;
      for (const Stmts& part : parts) {
        if (part.empty() || replaced) continue;
        *list = before;
        list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
        list->insert(list->begin() + static_cast<std::ptrdiff_t>(i),
                     part.begin(), part.end());
        replaced = Fails();
        if (replaced) i += part.size();
      }
      if (replaced) continue;
      *list = before;
      Stmt& same = (*list)[i];
      if (same.kind == Stmt::Kind::kLoop) {
        for (std::uint32_t rounds : {1u, 2u}) {
          same.value = rounds;
          if (Fails()) break;
          same.value = stmt.value;
        }
      }
      if (same.kind == Stmt::Kind::kSync) {
        same.pair = false;
        if (stmt.pair && !Fails()) same.pair = true;
      }
      Shrink(&same.body);
      Shrink(&same.otherwise);
      for (Stmts& one : same.cases) Shrink(&one);
    }
  }

  Trial& trial_;
  const Outcome::Kind kind_;
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int shorter_ = 0;
};

TEST(JoinsExec, RandomPrograms) {
  unsigned long long first = 1, count = kProgramsOfTest;
  if (const char* text = std::getenv("CERBERUS_TEST_JOINS")) {
    std::sscanf(text, "%llu:%llu", &first, &count);
  }
  int shrunk = 3;
  if (const char* text = std::getenv("CERBERUS_TEST_JOINS_SHRINK")) {
    shrunk = std::atoi(text);
  }
  std::uint64_t elsewhere = 0;
  int thrown_away = 0;
  std::map<Outcome::Kind, int> outcomes;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Trial trial = MakeTrial(seed);
    elsewhere += trial.expected.met_elsewhere != 0;
    thrown_away += trial.thrown_away;
    ASSERT_EQ(trial.expected.words,
              RunOnHost(trial.program, trial.inputs, true).words)
        << "program " << seed;
    const Outcome outcome = RunAlone(trial);
    ++outcomes[outcome.kind];
    if (outcome.kind == Outcome::Kind::kRight) continue;
    const std::string name = "random_" + std::to_string(seed);
    std::string text = "program " + std::to_string(seed) +
                       (trial.expected.met_elsewhere != 0
                            ? ": "
                            : " (whose lanes meet in one place): ") +
                       outcome.text + "\n" + Keep(name, PtxOf(trial.program));
    if (shrunk-- > 0) {
      Shrinker(&trial, outcome.kind).Run();
      Number(&trial.program);
      trial.expected = RunOnHost(trial.program, trial.inputs);
      const std::string ptx = PtxOf(trial.program);
      text += "\nshrunk: " + RunAlone(trial).text + "\n" +
              Keep(name + "_shrunk", ptx) + "\n" + ptx;
    }
    ADD_FAILURE() << text;
  }
  std::printf(
      "%llu programs, in %llu of which lanes meet others elsewhere; "
      "%d thrown away\n%d wrong, %d without an end, %d refused\n",
      count, static_cast<unsigned long long>(elsewhere), thrown_away,
      outcomes[Outcome::Kind::kWrong], outcomes[Outcome::Kind::kHung],
      outcomes[Outcome::Kind::kRefused]);
}

}  // namespace
}  // namespace cerberus::exec
