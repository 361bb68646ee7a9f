#include "tests/exec/lane_program.h"

namespace cerberus::exec {

Expr::Expr(Op op, std::uint32_t value)
    : node_(std::make_shared<Node>(Node{op, value, {}, {}, {}})) {}
Expr::Expr(Op op, const Expr& a, const Expr& b)
    : node_(std::make_shared<Node>(Node{op, 0, a.node_, b.node_, {}})) {}
Expr::Expr(const Expr& condition, const Expr& a, const Expr& b)
    : node_(std::make_shared<Node>(
          Node{Op::kSelect, 0, a.node_, b.node_, condition.node_})) {}

void Number(Program* program) {
  std::uint32_t next = 0;
  ForEachStmt(*program, [&](Stmt& stmt) { stmt.id = next++; });
}

}  // namespace cerberus::exec
