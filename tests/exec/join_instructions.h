// Instructions that wait for the lanes of a mask, and statements to put around
// them.
#ifndef CERBERUS_TESTS_EXEC_JOIN_INSTRUCTIONS_H_
#define CERBERUS_TESTS_EXEC_JOIN_INSTRUCTIONS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/exec/lane_program.h"

namespace cerberus::exec {

constexpr std::array<const char*, 6> kOpcodes = {"shfl",  "vote",     "match",
                                                 "redux", "bar.warp", "elect"};

inline bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// CERBERUS_TEST_JOINS_KINDS names it.
bool IsChosen(std::string_view spelling);

// The spellings of an opcode that wait for a mask, as the table of
// instructions has them.
std::vector<std::string> SpellingsOf(const char* opcode);

// The oldest target from sm_70 on that has it.
const char* TargetOf(std::string_view spelling);

// An instruction for the lanes of a mask. `alive`: those of the mask that
// are alive, which shfl and bar.warp read from; none: all that are there.
// `salt` makes it differ from others.
Stmt Sync(const std::string& spelling, const Expr& mask,
          const std::optional<Expr>& alive, std::uint32_t salt);

constexpr char kIdx[] = "shfl.sync.idx.b32";
constexpr char kBallot[] = "vote.sync.ballot.b32";

// Lanes with odd numbers; the two, and the four, that a lane is one of.
inline const Expr kOdd = Lane() & 1;
inline const Expr kPair = Expr(3) << (Lane() & 30);
inline const Expr kQuad = Expr(15) << (Lane() & 28);

Stmt If(const Expr& condition, Stmts body, Stmts otherwise = {});
// At least one round.
Stmt Loop(std::uint32_t variable, const Expr& rounds, Stmts body);
Stmt While(std::uint32_t variable, const Expr& rounds, Stmts body);
Stmt Set(std::uint32_t variable, const Expr& value);
Stmt Work(std::uint32_t salt);
Stmt Call(std::uint32_t function, const Expr& argument = 0);
Stmt Switch(const Expr& which, std::vector<Stmts> cases);
Stmt Plain(Stmt::Kind kind);
Stmt Exit();

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_JOIN_INSTRUCTIONS_H_
