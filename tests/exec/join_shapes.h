// Shapes of control flow in which lanes meet by a mask.
#ifndef CERBERUS_TESTS_EXEC_JOIN_SHAPES_H_
#define CERBERUS_TESTS_EXEC_JOIN_SHAPES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tests/exec/join_instructions.h"
#include "tests/exec/lane_program.h"

namespace cerberus::exec {

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

std::span<const Shape> Shapes();

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_JOIN_SHAPES_H_
