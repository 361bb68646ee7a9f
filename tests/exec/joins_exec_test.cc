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
#include <string_view>
#include <utility>
#include <vector>

#include "tests/exec/lane_program.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

constexpr std::array<std::uint32_t, 4> kBlocks = {32, 64, 96, 40};
constexpr std::array<const char*, 6> kOpcodes = {"shfl",  "vote",     "match",
                                                 "redux", "bar.warp", "elect"};

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// ---------------------------------------------------------------------------
// Instructions
// ---------------------------------------------------------------------------

bool IsChosen(std::string_view spelling) {
  const char* chosen = std::getenv("CERBERUS_TEST_JOINS_KINDS");
  if (chosen == nullptr) return true;
  std::string_view left = chosen;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(','), left.size());
    if (end > 0 && spelling.substr(0, end) == left.substr(0, end)) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

// The spellings of an opcode that wait for a mask, as the table of
// instructions has them.
std::vector<std::string> SpellingsOf(const char* opcode) {
  std::vector<std::string> all;
  for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
    if (Has(s.text, ".sync")) all.push_back(s.text);
  }
  return all;
}

// The oldest target from sm_70 on that has it.
const char* TargetOf(std::string_view spelling) {
  if (Has(spelling, "f32")) return "sm_100a";
  if (Has(spelling, "elect")) return "sm_90";
  if (Has(spelling, "redux")) return "sm_80";
  return "sm_70";
}

// The members above and below the lane.
Expr Above(const Expr& members) { return members & (Expr(~1u) << Lane()); }
Expr Below(const Expr& members) { return members & ((Expr(1) << Lane()) - 1); }

// An instruction for the lanes of a mask. `members`: those of the mask that
// are alive, which shfl and bar.warp read from; none: all that are there.
// `salt` makes it differ from others.
Stmt Sync(const std::string& spelling, const Expr& mask,
          const std::optional<Expr>& alive, std::uint32_t salt) {
  Stmt stmt{.kind = Stmt::Kind::kSync};
  stmt.spelling = spelling;
  stmt.mask = mask;
  const std::string& s = spelling;
  const Expr members = (alive ? *alive : mask) & There();
  const Expr above = Above(members), below = Below(members);
  const Expr next = Select(above != 0, Lowest(above), Lowest(members));
  const Expr noise = Mix() ^ (Lane() * 0x01010101 + salt * 0x9e3779b9u);
  // One lane of the mask that is unlike the others, or none.
  const Expr odd_one = salt % 3 == 0   ? Lane() == Lowest(members)
                       : salt % 3 == 1 ? Lane() == Highest(members)
                                       : Expr(0);
  if (Has(s, "shfl")) {
    stmt.value = noise;
    stmt.pair = salt % 2 == 0;
    const bool all =
        !alive && mask.op() == Expr::Op::kConst && mask.value() == ~0u;
    if (Has(s, ".idx")) {
      stmt.lane = all ? Lane() ^ 1 : next;
    } else if (Has(s, ".bfly")) {
      stmt.lane = all ? Expr(1) : Lane() ^ next;
    } else if (Has(s, ".up")) {
      stmt.control = 0;
      stmt.lane =
          all ? Expr(1) : Select(below != 0, Lane() - Highest(below), 0);
    } else {
      stmt.control = all ? 0x181f : 31;  // segments of 8
      stmt.lane = all ? Expr(1) : Select(above != 0, Lowest(above) - Lane(), 0);
    }
  } else if (Has(s, "vote")) {
    stmt.value = Has(s, ".ballot") ? noise & 4
                 : Has(s, ".all")  ? odd_one == 0
                                   : odd_one;
  } else if (Has(s, "match")) {
    stmt.pair = Has(s, ".all") && salt % 2 == 0;
    stmt.value = Has(s, ".all") ? odd_one + 7 : noise & 3;
    if (Has(s, "b64")) {
      stmt.high = Has(s, ".all") ? Expr(salt) : noise >> 3 & 1;
      if (salt % 4 < 2) std::swap(stmt.value, stmt.high);
    }
  } else if (Has(s, "redux")) {
    const Expr mine = Expr(1) << ((Lane() + salt) & 31);
    stmt.value = Has(s, ".and")                     ? mine ^ ~0u
                 : Has(s, ".or.") || Has(s, ".xor") ? mine
                                                    : noise;
  } else if (Has(s, "bar.warp")) {
    stmt.value = noise;
    stmt.lane = next;
  }
  return stmt;
}

// ---------------------------------------------------------------------------
// Shapes
// ---------------------------------------------------------------------------

Stmt If(const Expr& condition, Stmts body, Stmts otherwise = {}) {
  Stmt stmt{.kind = Stmt::Kind::kIf};
  stmt.condition = condition;
  stmt.body = std::move(body);
  stmt.otherwise = std::move(otherwise);
  return stmt;
}
// At least one round.
Stmt Loop(std::uint32_t variable, const Expr& rounds, Stmts body) {
  Stmt stmt{.kind = Stmt::Kind::kLoop};
  stmt.number = variable;
  stmt.value = rounds;
  stmt.body = std::move(body);
  return stmt;
}
Stmt While(std::uint32_t variable, const Expr& rounds, Stmts body) {
  Stmt stmt = Loop(variable, rounds, std::move(body));
  stmt.tests_first = true;
  return stmt;
}
Stmt Set(std::uint32_t variable, const Expr& value) {
  Stmt stmt{.kind = Stmt::Kind::kSet};
  stmt.number = variable;
  stmt.value = value;
  return stmt;
}
Stmt Work(std::uint32_t salt) { return Set(kMix, Mix() * 5 + salt); }
Stmt Call(std::uint32_t function, const Expr& argument = 0) {
  Stmt stmt{.kind = Stmt::Kind::kCall};
  stmt.number = function;
  stmt.value = argument;
  return stmt;
}
Stmt Switch(const Expr& which, std::vector<Stmts> cases) {
  Stmt stmt{.kind = Stmt::Kind::kSwitch};
  stmt.value = which;
  stmt.cases = std::move(cases);
  return stmt;
}
Stmt Plain(Stmt::Kind kind) { return Stmt{.kind = kind}; }
Stmt Exit() { return Plain(Stmt::Kind::kExit); }

// The instruction under test, of other operands each time; also another one.
class Maker {
 public:
  explicit Maker(std::string spelling) : spelling_(std::move(spelling)) {}
  Stmt operator()(const Expr& mask = ~0u,
                  const std::optional<Expr>& alive = std::nullopt) {
    return Sync(spelling_, mask, alive, salt_++);
  }
  Stmt Other(const Expr& mask = ~0u,
             const std::optional<Expr>& alive = std::nullopt) {
    const bool ballot = spelling_ == "vote.sync.ballot.b32";
    return Sync(ballot ? "match.any.sync.b32" : "vote.sync.ballot.b32", mask,
                alive, salt_++);
  }
  // The lanes for which it holds, as a variable.
  Stmt Ballot(std::uint32_t variable, const Expr& condition) {
    Stmt stmt = Sync("vote.sync.ballot.b32", ~0u, std::nullopt, 0);
    stmt.value = condition;
    stmt.number = variable;
    return stmt;
  }
  Stmts Row(int length, const Expr& mask = ~0u,
            const std::optional<Expr>& alive = std::nullopt) {
    Stmts row;
    for (int i = 0; i < length; ++i) row.push_back((*this)(mask, alive));
    return row;
  }

 private:
  const std::string spelling_;
  std::uint32_t salt_ = 0;
};

struct Shape {
  const char* name;
  void (*make)(Maker& s, Program& p);
};

// Variables of loops and masks.
constexpr std::uint32_t kI = 2, kJ = 3, kMask = 4;
const Expr kOdd = Lane() & 1;
const Expr kPair = Expr(3) << (Lane() & 30);
const Expr kQuad = Expr(15) << (Lane() & 28);

const Shape kShapes[] = {
    // ---- in one place: all lanes, or groups of them, are together
    {"together", [](Maker& s, Program& p) { p.main = s.Row(3); }},
    {"quads_together", [](Maker& s, Program& p) { p.main = s.Row(2, kQuad); }},
    {"strides_together",
     [](Maker& s, Program& p) {
       p.main = s.Row(2, Expr(0x11111111) << (Lane() & 3));
     }},
    {"unlike_groups_together",
     [](Maker& s, Program& p) {
       p.main = s.Row(2, Select(Lane() < 16, 0xffff, kPair));
     }},
    {"loop_together",
     [](Maker& s, Program& p) { p.main = {Loop(kI, 3, {s()})}; }},
    // ---- the two sides of a branch
    {"sides", [](Maker& s, Program& p) { p.main = {If(kOdd, {s()}, {s()})}; }},
    {"sides_by_input",
     [](Maker& s, Program& p) {
       p.main = {If(Input(1) & 8, {s()}, {s()}), Work(3), s()};
     }},
    {"sides_of_halves",
     [](Maker& s, Program& p) { p.main = {If(Lane() < 16, {s()}, {s()})}; }},
    {"one_lane_aside",
     [](Maker& s, Program& p) { p.main = {If(Lane() == 5, {s()}, {s()})}; }},
    {"sides_with_masks_of_their_own",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {s(0xaaaaaaaa)}, {s(0x55555555)})};
     }},
    {"halves_on_sides",
     [](Maker& s, Program& p) {
       const Expr half = Expr(0xffff) << (Lane() & 16);
       p.main = {If(kOdd, {s(half)}, {s(half)})};
     }},
    {"constant_halves_on_sides",
     [](Maker& s, Program& p) {
       p.main = {If(Lane() < 16, {If(kOdd, {s(0xffff)}, {s(0xffff)})},
                    {If(kOdd, {s(0xffff0000)}, {s(0xffff0000)})})};
     }},
    {"pairs_on_sides",
     [](Maker& s, Program& p) { p.main = {If(kOdd, {s(kPair)}, {s(kPair)})}; }},
    {"quads_on_sides",
     [](Maker& s, Program& p) { p.main = {If(kOdd, {s(kQuad)}, {s(kQuad)})}; }},
    {"one_side",
     [](Maker& s, Program& p) {
       p.main = {If(Lane() < 16, {s(0xffff), Loop(kI, 2, {s(0xffff)})}), s()};
     }},
    {"row_on_sides",
     [](Maker& s, Program& p) { p.main = {If(kOdd, s.Row(3), s.Row(3))}; }},
    {"row_of_others_on_sides",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {s(), s.Other(), s()},
                    {Work(1), s(), Work(2), s.Other(), s()})};
     }},
    {"others_at_once",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {Loop(kI, 3, {s(0xaaaaaaaa)})},
                    {Loop(kI, 2, {s.Other(0x55555555)})}),
                 s()};
     }},
    {"mask_from_a_vote",
     [](Maker& s, Program& p) {
       const Expr m = Var(kMask), others = m ^ ~0u;
       p.main = {s.Ballot(kMask, Input(1) & 2),
                 If(Input(1) & 2, {If(kOdd, {s(m)}, {s(m)})},
                    {If(Lane() & 2, {s(others)}, {s(others)})})};
     }},
    {"barrier_between",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {s()}, {s()}), Plain(Stmt::Kind::kBarrier),
                 If(Lane() & 2, {s()}, {s()})};
     }},
    // ---- nested branches
    {"four_ways",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {If(Lane() & 2, {s()}, {s()})},
                    {If(Lane() & 2, {s()}, {s()})})};
     }},
    {"ways_of_unlike_depth",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {s()},
                    {If(Lane() & 2, {Work(1), s()},
                        {If(Lane() & 4, {s()}, {s(), Work(2)})})})};
     }},
    {"sides_within_a_side",
     [](Maker& s, Program& p) {
       p.main = {If(Lane() < 8, {If(kOdd, {s(0xff)}, {s(0xff)})},
                    {If(kOdd, {s(0xffffff00)}, {s(0xffffff00)})}),
                 s()};
     }},
    {"switch",
     [](Maker& s, Program& p) {
       p.main = {Switch(Lane() & 3, {{s()}, {Work(1), s()}, {s()}, {s()}})};
     }},
    {"switch_with_rows",
     [](Maker& s, Program& p) {
       p.main = {Switch(Lane() % 3,
                        {s.Row(2), {Loop(kI, 2, {s()})}, {s(), Work(1), s()}})};
     }},
    {"switch_of_own_masks",
     [](Maker& s, Program& p) {
       p.main = {
           Switch(Lane() & 3, {{s(0x11111111)},
                               {s(0x22222222)},
                               {s(0x44444444)},
                               {s(0x88888888)}}),
           Switch(
               Lane() >> 3,
               {{s(0xffff)}, {s(0xffff)}, {s(0xffff0000)}, {s(0xffff0000)}})};
     }},
    // ---- loops
    {"loop_around_sides",
     [](Maker& s, Program& p) {
       p.main = {Loop(kI, 4, {If(Lane() >> Var(kI) & 1, {s()}, {s()})})};
     }},
    {"loops_on_sides",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {Loop(kI, 3, {s()})}, {Loop(kI, 3, {s()})})};
     }},
    {"loops_of_pairs",
     [](Maker& s, Program& p) {
       const Expr rounds = (Lane() >> 1) % 3 + 1;
       p.main = {If(kOdd, {Loop(kI, rounds, {s(kPair)})},
                    {Loop(kI, rounds, {s(kPair), Work(1)})})};
     }},
    {"whiles_of_quads",
     [](Maker& s, Program& p) {
       const Expr rounds = (Lane() >> 2) & 3;
       p.main = {If(Lane() & 2, {While(kI, rounds, {s(kQuad)})},
                    {While(kI, rounds, {s(kQuad)})})};
     }},
    {"loops_of_unlike_bodies",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {Loop(kI, 4, {s()})}, {Loop(kI, 2, s.Row(2))})};
     }},
    {"loop_and_row",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {Loop(kI, 4, {s()})}, s.Row(4))};
     }},
    {"loops_in_loops",
     [](Maker& s, Program& p) {
       const Expr rounds = (Lane() >> 1) % 3 + 1;
       p.main = {If(kOdd,
                    {Loop(kI, rounds, {Loop(kJ, 2, {s(kPair)}), Work(1)})},
                    {Loop(kI, 2, {Loop(kJ, rounds, {s(kPair)})})})};
     }},
    {"rounds_of_two",
     [](Maker& s, Program& p) {
       p.main = {Loop(kI, 2, {If((Lane() ^ Var(kI)) & 1, {s()}), Work(1)})};
     }},
    {"rounds_of_four",
     [](Maker& s, Program& p) {
       p.main = {Loop(kI, 4, {If((Lane() & 3) == Var(kI), {s()})})};
     }},
    {"rounds_of_pairs",
     [](Maker& s, Program& p) {
       p.main = {Loop(kI, 6, {If((Lane() * 3 + Var(kI)) % 6 < 3, {s(kPair)})})};
     }},
    {"left_by_a_sync",
     [](Maker& s, Program& p) {
       p.main = {
           While(kI, 6,
                 {If(Var(kI) == Lane() % 5, {s(), Plain(Stmt::Kind::kBreak)}),
                  Work(1)}),
           s()};
     }},
    {"sides_in_rounds_that_lanes_leave",
     [](Maker& s, Program& p) {
       const Expr group = Select(Lane() < 16, 0xffff, 0xffff0000);
       const Expr rounds = Select(Lane() < 16, 2, 4);
       p.main = {Loop(kI, rounds, {If(kOdd, {s(group)}, {s(group)})}), s()};
     }},
    // ---- lanes that exit
    {"exited_before",
     [](Maker& s, Program& p) {
       const Expr alive = 0x7efdfbf7;  // all but 3, 10, 17, 24, 31
       p.main = {If(Lane() % 7 == 3, {Exit()}),
                 If(kOdd, {s(~0u, alive)}, {s(~0u, alive)})};
     }},
    {"one_side_exited_before",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {Work(1), Exit()}), s(~0u, 0x55555555),
                 If(Lane() & 2, {s(~0u, 0x55555555)}, {s(~0u, 0x55555555)})};
     }},
    {"exit_while_others_wait",
     [](Maker& s, Program& p) {
       const Expr alive = 0xdddddddd;
       p.main = {If(kOdd,
                    {If((Lane() & 3) == 1, {Work(1), Exit()}), s(~0u, alive)},
                    {s(~0u, alive)})};
     }},
    {"exit_after_long_work",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {Loop(kI, Lane() + 9, {Work(7)}), Exit()},
                    {s(~0u, 0x55555555)}),
                 s(~0u, 0x55555555)};
     }},
    {"exit_round_by_round",
     [](Maker& s, Program& p) {
       const Expr alive = (Expr(0xff) << (Var(kI) + 1) & 0xff) * 0x01010101;
       p.main = {Loop(kI, 7,
                      {If(Lane() % 8 == Var(kI), {Exit()}),
                       If(kOdd, {s(~0u, alive)}, {s(~0u, alive)})})};
     }},
    {"exit_in_a_later_round",
     [](Maker& s, Program& p) {
       const Expr second = Lane() >> 1 & 1;
       p.main = {Loop(kI, 2,
                      {If(Var(kI) == second, {If(Lane() == 6, {Exit()}),
                                              s(~0u, 0xffffffbf)})})};
     }},
    {"exit_behind_on_a_side",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {s(), Exit()}), s(), Work(1)};
     }},
    {"exit_in_a_function",
     [](Maker& s, Program& p) {
       const Expr alive = 0x77777777;
       p.functions = {{If(Var(kArgument) == 3, {Exit()}), s(~0u, alive)}};
       p.main = {If(kOdd, {Call(0, Lane() & 3)}, {s(~0u, alive)}),
                 s(~0u, alive)};
     }},
    {"exit_of_one_of_each_pair",
     [](Maker& s, Program& p) {
       const Expr alive = Select(Lane() & 4, kPair & 0x55555555, kPair);
       p.main = {If(kOdd, {s(kPair), If(Lane() & 4, {Exit()}), s(kPair, alive)},
                    {s(kPair), s(kPair, alive)})};
     }},
    // ---- functions
    {"function_and_inline",
     [](Maker& s, Program& p) {
       p.functions = {{s()}};
       p.main = {If(kOdd, {Call(0)}, {s()})};
     }},
    {"function_on_both_sides",
     [](Maker& s, Program& p) {
       p.functions = {{s()}};
       p.main = {If(kOdd, {Work(1), Call(0)}, {Call(0), Work(2)})};
     }},
    {"functions_on_sides",
     [](Maker& s, Program& p) {
       p.functions = {{s(), Work(1)}, {Work(2), s()}};
       p.main = {If(kOdd, {Call(0)}, {Call(1)}), Call(0)};
     }},
    {"function_in_a_function",
     [](Maker& s, Program& p) {
       p.functions = {{s()}, {Work(1), Call(0), Work(2)}};
       p.main = {If(kOdd, {Call(1)}, {s()})};
     }},
    {"sides_in_a_function",
     [](Maker& s, Program& p) {
       p.functions = {{If(Var(kArgument), {s()}, {s()})}};
       p.main = {Call(0, kOdd), Call(0, Lane() & 2)};
     }},
    {"function_in_a_loop_and_row",
     [](Maker& s, Program& p) {
       p.functions = {{s()}};
       p.main = {If(kOdd, {Loop(kI, 3, {Call(0)})}, {s(), Call(0), s()})};
     }},
    {"early_return",
     [](Maker& s, Program& p) {
       p.functions = {{If(Var(kArgument), {s(), Plain(Stmt::Kind::kReturn)}),
                       Work(1), s()}};
       p.main = {Call(0, kOdd), s()};
     }},
    // ---- warps of one block that go other ways
    {"warps_go_other_ways",
     [](Maker& s, Program& p) {
       p.main = {If(Thread() >> 5 & 1, {If(kOdd, {s()}, s.Row(1)), s()},
                    {Loop(kI, 2, {If(Lane() & 2, {s()}, {s()})})})};
     }},
    {"warps_with_unlike_rounds",
     [](Maker& s, Program& p) {
       p.main = {Loop(kI, (Thread() >> 5) + 1, {If(kOdd, {s()}, {s()})})};
     }},
    // ---- places behind each other: some meet in the first, some in the next
    {"ifs_behind_each_other",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, {s()}), Work(1), If(kOdd == 0, {s()})};
     }},
    {"guarded",
     [](Maker& s, Program& p) {
       Stmt first = s(), second = s();
       first.condition = kOdd != 0;
       second.condition = kOdd == 0;
       p.main = {first, second};
     }},
    {"loops_behind_each_other",
     [](Maker& s, Program& p) {
       const Expr first = Lane() % 5;
       p.main = {While(kI, first, {s()}), Work(1),
                 While(kI, Expr(5) - first, {s()})};
     }},
    {"loop_row_loop",
     [](Maker& s, Program& p) {
       p.main = {While(kI, Select(kOdd, 2, 0), {s()}), s(),
                 While(kI, Select(kOdd, 0, 2), {s()})};
     }},
    {"loop_and_function_behind",
     [](Maker& s, Program& p) {
       p.functions = {{s()}};
       const Expr first = (Lane() >> 1) % 3;
       p.main = {While(kI, Select(kOdd, first, 0), {s(kPair)}),
                 While(kI, Select(kOdd, Expr(2) - first, 2), {s(kPair)}),
                 Call(0)};
     }},
    {"two_and_one_twice",
     [](Maker& s, Program& p) {
       p.main = {If(kOdd, s.Row(2), s.Row(1)), Work(1),
                 If(kOdd, s.Row(1), s.Row(2))};
     }},
    {"masks_in_turn",
     [](Maker& s, Program& p) {
       const Expr m = Var(kMask), others = m ^ ~0u;
       p.main = {s.Ballot(kMask, kOdd), If(kOdd, {s()}, {s(others)}), Work(1),
                 If(kOdd, {s(m)}, {s()})};
     }},
    {"loop_and_switch_in_a_loop",
     [](Maker& s, Program& p) {
       const Expr first = Input(1) % 3;
       p.main = {While(kI, first, {s(kQuad)}),
                 While(kI, Expr(2) - first,
                       {Switch((Lane() >> 1) % 4, {{s(kQuad)},
                                                   {s(kQuad)},
                                                   {s(kQuad)},
                                                   {s(kQuad)}})}),
                 s()};
     }},
    {"some_of_a_switch",
     [](Maker& s, Program& p) {
       p.main = {Switch(Lane() & 3, {{s()}, {Work(1)}, {s()}, {Work(2)}}),
                 Switch(Lane() & 3, {{Work(1)}, {s()}, {}, {s()}})};
     }},
    {"chain",
     [](Maker& s, Program& p) {
       const Expr up = Expr(3) << (Lane() - 1), down = Expr(3) << Lane();
       p.main = {If(Lane() != 0, {s(up)}),
                 If(There() >> Lane() >> 1 & 1, {s(down)})};
     }},
};

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
constexpr char kIdx[] = "shfl.sync.idx.b32";
constexpr char kBallot[] = "vote.sync.ballot.b32";
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

// ---------------------------------------------------------------------------
// Every shape with instructions of every opcode
// ---------------------------------------------------------------------------

struct Case {
  const Shape* shape;
  bool debug;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Shape& shape : kShapes) {
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
  const auto number = static_cast<std::size_t>(shape - kShapes);
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

// ---------------------------------------------------------------------------
// Random programs
// ---------------------------------------------------------------------------

// How far apart lanes that meet may stand.
enum class Level {
  kTogether,  // all lanes that are alive execute each instruction at once
  kSides,     // on the sides of a branch, in rounds of one loop: behind the
              // place where all are together again, each has had as many
  kBehind,    // also in places behind each other
};

constexpr std::uint64_t kProgramsOfTest = 24;
constexpr std::array<std::uint32_t, 6> kRandomBlocks = {32, 64,  96,
                                                        40, 128, 17};

// Makes programs whose lanes cannot wait for ever: what a set of lanes does
// together is a list of events, and each of them executes all of that list in
// this order, whatever the control flow around it. So all lanes agree on one
// order of all instructions that they have in common.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, Level level)
      : random_(seed), level_(level) {
    std::vector<std::string> all;
    for (const char* opcode : kOpcodes) {
      for (const std::string& s : SpellingsOf(opcode)) {
        if (IsChosen(s)) all.push_back(s);
      }
    }
    // As many of each opcode.
    for (int i = 0; i < 3; ++i) {
      const char* opcode = kOpcodes[Below(kOpcodes.size())];
      std::vector<std::string> those;
      for (const std::string& s : all) {
        if (s.starts_with(opcode)) those.push_back(s);
      }
      if (those.empty()) those = all;
      kinds_.push_back(those[Below(those.size())]);
    }
  }

  Program Make() {
    Scope scope;
    program_.main = Block(&scope, 3, /*top=*/true);
    if (level_ != Level::kTogether && Once(4)) {
      const Events events = MakeEvents();
      Stmts side = Realise(events, scope, 2);
      side.push_back(Exit());
      Append(&program_.main, {If(Condition(scope), side)});
      Append(&program_.main, Realise(events, scope, 2));
    }
    static constexpr std::array<const char*, 5> kTargets = {
        "sm_70", "sm_75", "sm_80", "sm_90", "sm_100a"};
    std::size_t oldest = 0;
    for (std::size_t i = 0; i < kTargets.size(); ++i) {
      for (const std::string& kind : kinds_) {
        if (std::string_view(TargetOf(kind)) == kTargets[i]) {
          oldest = std::max(oldest, i);
        }
      }
    }
    program_.target = kTargets[oldest + Below(kTargets.size() - oldest)];
    if (Once(4)) program_.target += ", debug";
    program_.writes_all = !Once(3);
    return std::move(program_);
  }

 private:
  // What all lanes of a scope execute, each with those of its group.
  struct Event {
    std::string spelling;
    int grouping;
  };
  using Events = std::vector<Event>;

  // Lanes that do things together: `mask` names them, the same word in each
  // of them, and perhaps others that have exited.
  struct Scope {
    Expr mask = ~0u;
    std::uint32_t dead = 0;  // those of them known to have exited
    std::vector<std::uint32_t> rounds = {};  // variables of loops around
    bool function = false;
  };

  std::uint32_t Below(std::size_t limit) {
    return static_cast<std::uint32_t>(random_() % limit);
  }
  bool Once(std::size_t in) { return Below(in) == 0; }
  std::uint32_t Word() { return static_cast<std::uint32_t>(random_()); }
  std::uint32_t NewVariable() { return next_variable_++; }
  static void Append(Stmts* list, Stmts more) {
    std::move(more.begin(), more.end(), std::back_inserter(*list));
  }

  static bool IsConst(const Expr& expr) {
    return expr.op() == Expr::Op::kConst;
  }
  static Expr Both(const Expr& a, const Expr& b) {
    if (IsConst(a) && IsConst(b)) return a.value() & b.value();
    if (IsConst(a) && a.value() == ~0u) return b;
    if (IsConst(b) && b.value() == ~0u) return a;
    return a & b;
  }

  // The lanes of the lane's group.
  static Expr Group(int grouping) {
    switch (grouping) {
      case 1: return kPair;
      case 2: return kQuad;
      case 3: return Expr(0xffff) << (Lane() & 16);
      case 4: return Expr(0x55555555) << kOdd;
      case 5: return Expr(0x11111111) << (Lane() & 3);
      case 6:
        return Select(Expr(0x12c3a5f7) >> Lane() & 1, 0x12c3a5f7, ~0x12c3a5f7u);
      default: return ~0u;
    }
  }

  Events MakeEvents() {
    Events events(1 + Below(3));
    for (Event& event : events) {
      event = {kinds_[Below(kinds_.size())],
               Once(2) ? 0 : static_cast<int>(Below(7))};
    }
    // Often a row of the same, which loops may take.
    if (Once(2)) {
      const std::size_t size = events.size();
      for (std::size_t i = 0, n = size * (1 + Below(3)); i < n; ++i) {
        events.push_back(events[i % size]);
      }
    }
    return events;
  }

  // True for some lanes.
  Expr Condition(const Scope& scope) {
    switch (Below(9)) {
      case 0:
      case 1: return Lane() >> Below(5) & 1;
      case 2: return Lane() < 1 + Below(31);
      case 3: return Input(1 + Below(3)) & (1u << Below(32));
      case 4: return (Mix() & (1u << Below(32))) != 0;
      case 5: return Expr(Word()) >> Lane() & 1;
      case 6: return Thread() & (1u << Below(7));
      case 7: return Lane() == Below(32);
      default:
        if (scope.rounds.empty()) return Lane() % 3 == 0;
        return (Lane() + Var(scope.rounds[Below(scope.rounds.size())])) & 1;
    }
  }
  // One of `limit` numbers for each lane.
  Expr Number(std::uint32_t limit) {
    switch (Below(4)) {
      case 0: return Lane() % limit;
      case 1: return (Lane() >> (1 + Below(3))) % limit;
      case 2: return Input(1 + Below(3)) % limit;
      default: return (Mix() >> 7) % limit;
    }
  }

  Stmts Filler(const Scope& scope) {
    Stmts work = {Work(Word() & 0xff)};
    switch (Below(4)) {
      case 0: return {If(Condition(scope), work, Once(2) ? work : Stmts{})};
      case 1: return {Loop(NewVariable(), Number(4) + 1, work)};
      default: return work;
    }
  }

  Stmt One(const Event& event, const Scope& scope) {
    ++instructions_;
    const Expr mask = Both(scope.mask, Group(event.grouping));
    std::optional<Expr> alive;
    if (scope.dead != 0) alive = Both(mask, ~scope.dead);
    return Sync(event.spelling, mask, alive, Word() & 0xff);
  }

  // Lanes leave, and so meet no longer with those that wait for them.
  Stmt LeaveSome(Scope* scope) {
    if (Once(2)) return If(Condition(*scope), {Exit()});
    const std::uint32_t which = Word() & Word() & Word();
    scope->dead |= which;
    return If(Expr(which) >> Lane() & 1, {Exit()});
  }

  // The events, for all lanes of the scope. Level 1 and above.
  Stmts Realise(const Events& events, Scope scope, int depth) {
    Stmts list;
    if (events.empty()) return Filler(scope);
    const std::size_t n = events.size();
    const bool full = instructions_ > 40;
    switch (depth == 0 || full || level_ == Level::kTogether ? 0 : Below(10)) {
      case 1:
      case 2:
      case 3:  // both sides
        return {If(Condition(scope), Realise(events, scope, depth - 1),
                   Realise(events, scope, depth - 1))};
      case 4: {
        std::vector<Stmts> cases(2 + Below(3));
        for (Stmts& one : cases) one = Realise(events, scope, depth - 1);
        const auto count = static_cast<std::uint32_t>(cases.size());
        return {Switch(Number(count), cases)};
      }
      case 5: {  // in unlike rounds of one loop, which may end with that
        if (Once(3)) {
          const std::uint32_t when = NewVariable(), round = NewVariable();
          list.push_back(Set(when, Number(3)));
          scope.rounds.push_back(round);
          Stmts body = Realise(events, scope, depth - 1);
          body.push_back(Plain(Stmt::Kind::kBreak));
          body = {If(Var(round) == Var(when), body)};
          Append(&body, Filler(scope));
          list.push_back(While(round, 3, body));
          return list;
        }
        const std::size_t period = Period(events);
        const auto count = static_cast<std::uint32_t>(n / period);
        const std::uint32_t late = NewVariable(), round = NewVariable();
        const std::uint32_t most = 1 + Below(2);
        list.push_back(Set(late, Number(most + 1)));
        scope.rounds.push_back(round);
        Stmts body = {If(Var(round) - Var(late) < count,
                         Realise(Part(events, 0, period), scope, depth - 1),
                         Once(2) ? Filler(scope) : Stmts{})};
        const Stmt loop = Loop(round, count + most, body);
        list.push_back(loop);
        return list;
      }
      case 6: {  // a loop
        const std::size_t period = Period(events);
        const std::uint32_t round = NewVariable();
        scope.rounds.push_back(round);
        Stmt loop = Loop(round, static_cast<std::uint32_t>(n / period),
                         Realise(Part(events, 0, period), scope, depth - 1));
        loop.tests_first = Once(2);
        return {loop};
      }
      case 7: {  // a function, perhaps on one side alone
        const Stmt call = InFunction(events, scope, depth - 1);
        if (Once(3)) return {call};
        const bool again = Once(2);
        return {If(Condition(scope), {call},
                   again ? Stmts{Work(Word() & 0xff), call}
                         : Realise(events, scope, depth - 1))};
      }
      case 8: {
        if (level_ != Level::kBehind) break;
        return Behind(events, scope, depth - 1);
      }
      case 9: {
        if (!Once(3)) break;
        list.push_back(LeaveSome(&scope));
        Append(&list, Realise(events, scope, depth - 1));
        return list;
      }
      default: break;
    }
    // One after the other, or the first of them and then the others.
    const std::size_t first =
        depth == 0 || full || n == 1 || Once(3) ? n : 1 + Below(n - 1);
    for (std::size_t i = 0; i < first; ++i) {
      if (Once(3)) Append(&list, Filler(scope));
      list.push_back(One(events[i], scope));
    }
    if (first < n) {
      Append(&list, Realise(Part(events, first, n), scope, depth - 1));
    }
    return list;
  }

  // Some lanes have executed more events than others where all are together,
  // and fewer behind it.
  Stmts Behind(const Events& events, Scope scope, int depth) {
    const std::size_t n = events.size(), period = Period(events);
    const auto upto = [&](std::size_t begin, std::size_t end) {
      return Realise(Part(events, begin, end), scope, depth);
    };
    Stmts list;
    if (Once(2)) {
      const std::uint32_t side = NewVariable();
      list.push_back(Set(side, Condition(scope) != 0));
      const std::size_t some = Below(n + 1), others = Below(n + 1);
      list.push_back(If(Var(side), upto(0, some), upto(0, others)));
      if (Once(2)) Append(&list, Filler(scope));
      list.push_back(If(Var(side), upto(some, n), upto(others, n)));
      return list;
    }
    if (n == 1 && Once(2)) {
      const std::uint32_t side = NewVariable();
      list.push_back(Set(side, Condition(scope) != 0));
      Stmt first = One(events[0], scope), second = One(events[0], scope);
      first.condition = Var(side) != 0;
      second.condition = Var(side) == 0;
      return {list[0], first, second};
    }
    // Loops behind each other.
    const auto count = static_cast<std::uint32_t>(n / period);
    const std::uint32_t first = NewVariable();
    list.push_back(Set(first, Number(count + 1)));
    for (const Expr& rounds : {Var(first), Expr(count) - Var(first)}) {
      const std::uint32_t round = NewVariable();
      list.push_back(While(round, rounds, upto(0, period)));
      if (Once(2)) Append(&list, Filler(scope));
    }
    return list;
  }

  static Events Part(const Events& events, std::size_t begin, std::size_t end) {
    return {events.begin() + static_cast<std::ptrdiff_t>(begin),
            events.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  // How many of the events come again and again.
  static std::size_t Period(const Events& events) {
    for (std::size_t period = 1; period < events.size(); ++period) {
      bool again = events.size() % period == 0;
      for (std::size_t i = period; again && i < events.size(); ++i) {
        again = events[i].spelling == events[i - period].spelling &&
                events[i].grouping == events[i - period].grouping;
      }
      if (again) return period;
    }
    return events.size();
  }

  Stmt InFunction(const Events& events, const Scope& scope, int depth) {
    Scope inside = {.dead = scope.dead};
    inside.mask = IsConst(scope.mask) ? scope.mask : Var(kArgument);
    inside.function = true;
    Stmts body;
    if (Once(3)) {
      Stmts side = Realise(events, inside, depth);
      side.push_back(Plain(Stmt::Kind::kReturn));
      body = {If(Condition(inside), side)};
    }
    Append(&body, Realise(events, inside, depth));
    const auto number = static_cast<std::uint32_t>(program_.functions.size());
    program_.functions.push_back(body);
    return Call(number, IsConst(scope.mask) ? Expr(0) : scope.mask);
  }

  // What the lanes of a scope do. `top`: all threads of the block come here.
  Stmts Block(Scope* scope, int depth, bool top) {
    Stmts list;
    for (std::size_t i = 0, n = 1 + Below(3); i < n; ++i) {
      if (Once(3)) Append(&list, Filler(*scope));
      Append(&list, Unit(scope, depth, top));
    }
    return list;
  }

  Stmts Unit(Scope* scope, int depth, bool top) {
    switch (depth == 0 ? 0 : Below(13)) {
      case 1: {
        const std::uint32_t round = NewVariable();
        Scope inside = *scope;
        inside.rounds.push_back(round);
        const Stmt loop = Loop(round, 2, Block(&inside, depth - 1, top));
        scope->dead |= inside.dead;
        return {loop};
      }
      case 2:
        if (top) return {Plain(Stmt::Kind::kBarrier)};
        break;
      case 3:
      case 4:
        if (level_ != Level::kTogether) return Parts(scope, depth);
        break;
      case 5: {
        // Groups have unlike numbers of rounds.
        if (level_ == Level::kTogether) break;
        const int k = 1 + static_cast<int>(Below(3));
        const std::uint32_t round = NewVariable();
        Scope inside = *scope;
        inside.mask = Both(scope->mask, Group(k));
        inside.rounds.push_back(round);
        const std::uint32_t shift = k == 3 ? 4 : static_cast<std::uint32_t>(k);
        Stmt loop = While(round, (Lane() >> shift) % 3,
                          Block(&inside, depth - 1, false));
        scope->dead |= inside.dead;
        return {loop};
      }
      case 6:
        if (Once(2)) return {LeaveSome(scope)};
        break;
      case 8:
        if (level_ != Level::kTogether) return SidesWithTheirOwn(scope, depth);
        break;
      case 7:
        if (level_ == Level::kBehind && IsConst(scope->mask) &&
            scope->mask.value() == ~0u && Once(2)) {
          return Chain(*scope);
        }
        break;
      default: break;
    }
    return Realise(MakeEvents(), *scope, level_ == Level::kTogether ? 0 : 3);
  }

  // The lanes part, and each part does things of its own.
  Stmts Parts(Scope* scope, int depth) {
    Scope some = *scope, others = *scope;
    Stmts list;
    const Expr condition = Divide(*scope, &list, &some, &others);
    Stmts body = Block(&some, depth - 1, false), otherwise;
    if (!Once(4)) otherwise = Block(&others, depth - 1, false);
    list.push_back(If(condition, body, otherwise));
    scope->dead |= some.dead | others.dead;
    return list;
  }

  // The same between what they do together with the others.
  Stmts SidesWithTheirOwn(Scope* scope, int depth) {
    Scope some = *scope, others = *scope;
    Stmts list;
    const Expr condition = Divide(*scope, &list, &some, &others);
    const Events events = MakeEvents();
    std::vector<Stmts> sides;
    for (Scope* own : {&some, &others}) {
      const std::size_t first = Below(events.size() + 1);
      Stmts side = Realise(Part(events, 0, first), *scope, 1);
      Append(&side, Block(own, depth - 1, false));
      Append(&side, Realise(Part(events, first, events.size()), *scope, 1));
      sides.push_back(std::move(side));
    }
    list.push_back(If(condition, sides[0], sides[1]));
    scope->dead |= some.dead | others.dead;
    return list;
  }

  // Into two: which they are is known, or told by a vote.
  Expr Divide(const Scope& scope, Stmts* list, Scope* some, Scope* others) {
    if (Once(2) || !IsChosen(kBallot)) {
      const std::uint32_t which = Once(2) ? 0x0000ffff : Word();
      some->mask = Both(scope.mask, which);
      others->mask = Both(scope.mask, ~which);
      return Expr(which) >> Lane() & 1;
    }
    const std::uint32_t side = NewVariable(), voted = NewVariable();
    list->push_back(Set(side, Condition(scope) != 0));
    Stmt vote = Sync(kBallot, scope.mask, std::nullopt, 0);
    vote.value = Var(side);
    vote.number = voted;
    list->push_back(vote);
    some->mask = Var(voted);
    others->mask = Both(scope.mask, Var(voted) ^ ~0u);
    return Var(side);
  }

  // Each lane meets the one below and then the one above.
  Stmts Chain(const Scope& scope) {
    const std::string& kind = kinds_[Below(kinds_.size())];
    const Expr up = Expr(3) << (Lane() - 1), down = Expr(3) << Lane();
    const auto alive = [&](const Expr& mask) {
      return std::optional<Expr>(Both(mask, ~scope.dead));
    };
    return {If(Lane() != 0, {Sync(kind, up, alive(up), Word() & 0xff)}),
            If(There() >> Lane() >> 1 & 1,
               {Sync(kind, down, alive(down), Word() & 0xff)})};
  }

  std::mt19937_64 random_;
  const Level level_;
  std::vector<std::string> kinds_;
  Program program_;
  std::uint32_t next_variable_ = 5;
  int instructions_ = 0;
};

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
    trial.program = RandomProgram(random(), level).Make();
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
