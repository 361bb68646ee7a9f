#include "tests/exec/join_instructions.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/exec/lane_program.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {

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

std::vector<std::string> SpellingsOf(const char* opcode) {
  std::vector<std::string> all;
  for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
    if (Has(s.text, ".sync")) all.push_back(s.text);
  }
  return all;
}

const char* TargetOf(std::string_view spelling) {
  if (Has(spelling, "f32")) return "sm_100a";
  if (Has(spelling, "elect")) return "sm_90";
  if (Has(spelling, "redux")) return "sm_80";
  return "sm_70";
}

namespace {

// The members above and below the lane.
Expr Above(const Expr& members) { return members & (Expr(~1u) << Lane()); }
Expr Below(const Expr& members) { return members & ((Expr(1) << Lane()) - 1); }

}  // namespace

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

Stmt If(const Expr& condition, Stmts body, Stmts otherwise) {
  Stmt stmt{.kind = Stmt::Kind::kIf};
  stmt.condition = condition;
  stmt.body = std::move(body);
  stmt.otherwise = std::move(otherwise);
  return stmt;
}
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
Stmt Call(std::uint32_t function, const Expr& argument) {
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

}  // namespace cerberus::exec
