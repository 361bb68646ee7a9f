#include "tests/exec/join_shapes.h"

#include <cstdint>

#include "tests/exec/lane_program.h"

namespace cerberus::exec {

namespace {

// Variables of loops and masks.
constexpr std::uint32_t kI = 2, kJ = 3, kMask = 4;

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
    // ---- rows, which are one place to wait in where all lanes are at one
    {"row_in_unlike_rounds",
     [](Maker& s, Program& p) {
       p.main = {
           Loop(kI, 4, {If((Lane() + Var(kI)) & 1, s.Row(3, kQuad)), Work(1)})};
     }},
    {"row_of_others_in_unlike_rounds",
     [](Maker& s, Program& p) {
       p.main = {Loop(kI, 4,
                      {If((Lane() ^ Var(kI)) & 1,
                          {s(), s.Other(), Work(2), s(), s.Other()})})};
     }},
    {"row_with_work_between",
     [](Maker& s, Program& p) {
       p.main = {Loop(
           kI, 2,
           {If((Lane() ^ Var(kI)) & 1,
               {s(), If(Lane() % 3 == 0, {Work(1)}, {Work(2)}), s(),
                Loop(kJ, Lane() % 5 + 1, {Work(3)}), s()})})};
     }},
    {"row_with_a_loop",
     [](Maker& s, Program& p) {
       // The odd one's last round is one of the even one behind the loop.
       p.main = {Loop(
           kI, 2,
           {If((Lane() >> 1 ^ Var(kI)) & 1,
               {s(kPair),
                Loop(kJ, Select(kOdd, 3, 2), {s.Other(kPair), Work(3)}),
                If(kOdd == 0, {Work(1), s.Other(kPair)})})})};
     }},
    {"row_that_some_enter_behind",
     [](Maker& s, Program& p) {
       // Rounds 1 and 2 of odd lanes are rounds 0 and 1 of even ones.
       p.main = {Set(kMask, kQuad), Loop(kI, 3,
                      {If(Var(kI) - kOdd < 2,
                          {If(Var(kI) == kOdd + 1, {s(Var(kMask))}),
                           s.Other(Var(kMask)), Work(1)})})};
     }},
    {"row_with_others_aside",
     [](Maker& s, Program& p) {
       // Odd lanes meet those of another four, in another round.
       const Expr across = Expr(0x22) << (Lane() & 24);
       p.main = {Loop(kI, 2,
                      {If((Lane() >> 2 ^ Var(kI)) & 1,
                          {s(kPair),
                           If((Lane() & 3) == 1, {s.Other(across)}, {Work(1)}),
                           s(kPair)})})};
     }},
    {"row_that_some_leave",
     [](Maker& s, Program& p) {
       p.functions = {{s(), If(Var(kArgument), {Plain(Stmt::Kind::kReturn)}),
                       s(), s()}};
       p.main = {If(kOdd, {Call(0, 1), Work(1), s(), s()}, {Call(0, 0)})};
     }},
    {"row_across_masks",
     [](Maker& s, Program& p) {
       // 0, 1 and 2, 3 and 4, …, in rounds of their fours.
       const Expr across =
           Select(Lane() % 31 == 0, Expr(1) << Lane(),
                  Expr(3) << (((Lane() + 1) & 30) - 1));
       p.main = {Loop(kI, 2,
                      {If((Lane() >> 2 ^ Var(kI)) & 1,
                          {s(kPair), s.Other(across), Work(1), s(kPair)})})};
     }},
    {"rows_in_turn",
     [](Maker& s, Program& p) {
       p.main = {Loop(kI, 4,
                      {If((Lane() ^ Var(kI)) & 1,
                          {s(), s(), If(Lane() == 9, {Work(1)}), s()})}),
                 Work(2), s(), s()};
     }},
    {"rows_by_the_round",
     [](Maker& s, Program& p) {
       // The rounds of odd and even lanes lead to the first of them not alike.
       p.main = {Loop(kI, 8,
                      {If((Lane() ^ Var(kI)) & 1,
                          {If(Var(kI) % 3 == 0, s.Row(2), {s(), Work(1), s()}),
                           Work(2)})})};
     }},
    {"rows_by_the_warp",
     [](Maker& s, Program& p) {
       p.main = {Loop(kI, 4,
                      {If((Lane() ^ Var(kI)) & 1,
                          {If(Thread() >> 5 & 1, s.Row(2), s.Row(3)),
                           Work(2)})})};
     }},
    {"rows_of_masks_of_their_own",
     [](Maker& s, Program& p) {
       // Even lanes meet odd ones that are at the other row.
       const Expr own = Expr(1) << Lane();
       const Expr first = Select(kOdd, own, kPair);
       const Expr second = Select(kOdd, kPair, own);
       p.main = {Set(kMask, first), s(Var(kMask)), s(Var(kMask)),
                 Set(kMask, second), s(Var(kMask)), Work(1), s(Var(kMask))};
     }},
    {"row_of_masks_in_turn",
     [](Maker& s, Program& p) {
       const Expr own = Expr(1) << Lane();
       p.main = {Loop(kI, 4,
                      {Set(kMask, Select((Lane() ^ Var(kI)) & 1, own, kPair)),
                       s(Var(kMask)), s(Var(kMask)), Work(1)})};
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

}  // namespace

std::span<const Shape> Shapes() { return kShapes; }

}  // namespace cerberus::exec
