// Small programs whose lanes wait for each other, written as PTX and run on
// the host.
//
// On the host each lane runs alone until it comes to a `.sync` instruction.
// That is done when all lanes of its mask that have not exited stand at one of
// the same spelling with the same mask (PTX ISA 9.0, "shfl.sync", "vote.sync",
// "match.sync", "redux.sync", "bar.warp.sync", "elect.sync"), wherever in the
// program each of them stands. A lane that waits can do nothing else, and
// whether one has exited or will come is settled by its own steps: so the
// order in which lanes run changes nothing of what they compute.
#ifndef CERBERUS_TESTS_EXEC_LANE_PROGRAM_H_
#define CERBERUS_TESTS_EXEC_LANE_PROGRAM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cerberus::exec {

inline constexpr std::uint32_t kInputWords = 4;    // of each thread
inline constexpr std::uint32_t kOutputWords = 96;  // of each thread
// What the output holds where a program wrote nothing.
inline constexpr std::uint32_t kUnwritten = 0xeeeeeeee;
// What an instruction's result is for lanes whose guard keeps them from it.
inline constexpr std::uint32_t kSkipped = 0x5eed;

// A word that each lane computes for itself. Comparisons give 1 or 0.
class Expr {
 public:
  enum class Op {
    kConst,
    kLane,
    kThread,
    kThere,
    kInput,
    kVar,
    kAdd,
    kSub,
    kMul,
    kAnd,
    kOr,
    kXor,
    kShl,
    kShr,
    kRem,
    kMin,
    kEq,
    kNe,
    kLt,
    kLowest,
    kHighest,  // the number of a bit; 32 and ~0 if there is none
    kSelect,   // condition != 0 ? a : b
  };
  Expr(std::uint32_t value) : Expr(Op::kConst, value) {}
  Expr(Op op, std::uint32_t value);
  Expr(Op op, const Expr& a, const Expr& b);
  Expr(const Expr& condition, const Expr& a, const Expr& b);

  Op op() const { return node_->op; }
  std::uint32_t value() const { return node_->value; }  // of constants, names
  Expr a() const { return Expr(node_->a); }
  Expr b() const { return Expr(node_->b); }
  Expr condition() const { return Expr(node_->condition); }

 private:
  struct Node {
    Op op;
    std::uint32_t value;
    std::shared_ptr<const Node> a, b, condition;
  };
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

inline Expr Lane() { return {Expr::Op::kLane, 0}; }
inline Expr Thread() { return {Expr::Op::kThread, 0}; }
// The lanes of this warp that the block has.
inline Expr There() { return {Expr::Op::kThere, 0}; }
inline Expr Input(std::uint32_t number) { return {Expr::Op::kInput, number}; }
inline Expr Var(std::uint32_t number) { return {Expr::Op::kVar, number}; }
#define LANE_PROGRAM_OPERATOR(sign, op)                     \
  inline Expr operator sign(const Expr& a, const Expr& b) { \
    return {Expr::Op::op, a, b};                            \
  }
LANE_PROGRAM_OPERATOR(+, kAdd)
LANE_PROGRAM_OPERATOR(-, kSub)
LANE_PROGRAM_OPERATOR(*, kMul)
LANE_PROGRAM_OPERATOR(&, kAnd)
LANE_PROGRAM_OPERATOR(|, kOr)
LANE_PROGRAM_OPERATOR(^, kXor)
LANE_PROGRAM_OPERATOR(<<, kShl)
LANE_PROGRAM_OPERATOR(>>, kShr)
LANE_PROGRAM_OPERATOR(%, kRem)
LANE_PROGRAM_OPERATOR(==, kEq)
LANE_PROGRAM_OPERATOR(!=, kNe)
LANE_PROGRAM_OPERATOR(<, kLt)
#undef LANE_PROGRAM_OPERATOR
inline Expr Min(const Expr& a, const Expr& b) { return {Expr::Op::kMin, a, b}; }
inline Expr Lowest(const Expr& a) { return {Expr::Op::kLowest, a, 0}; }
inline Expr Highest(const Expr& a) { return {Expr::Op::kHighest, a, 0}; }
inline Expr Select(const Expr& condition, const Expr& a, const Expr& b) {
  return {condition, a, b};
}

// Variable 0 is mixed from all that a lane got so far; functions get it and
// give it back. Variable 1 of a function is its argument.
inline constexpr std::uint32_t kMix = 0;
inline constexpr std::uint32_t kArgument = 1;
inline Expr Mix() { return Var(kMix); }

struct Stmt;
using Stmts = std::vector<Stmt>;

struct Stmt {
  enum class Kind {
    kSync,    // `spelling` in the lanes of `mask`; its results are written
              // to the thread's output and mixed; the first one also
              // becomes variable `number`, unless that is 0
    kSet,     // variable `number` = value
    kIf,      // condition: body, else otherwise
    kLoop,    // body for variable `number` from 0 to value - 1
    kSwitch,  // cases[value], by brx.idx
    kCall,    // function `number` with value; its result is mixed
    kReturn,
    kExit,
    kBreak,
    kBarrier,  // bar.sync 0
  };
  Kind kind;
  std::uint32_t number = 0;
  Expr value = 0;
  Expr condition = 1;
  Stmts body = {};
  Stmts otherwise = {};
  std::vector<Stmts> cases = {};
  bool tests_first = false;  // kLoop: it may have no round

  // kSync. shfl: value, b = `lane`, c = `control`. vote: value != 0. match,
  // redux: value; for 64 bits {value, high}. bar.warp: a word, value, is given
  // through shared memory and that of `lane` is taken, between two of them.
  // Only lanes with `condition` execute it.
  std::string spelling = {};
  Expr mask = ~0u;
  Expr lane = 0;
  Expr high = 0;
  std::uint32_t control = 31;
  bool pair = false;     // also the predicate
  std::uint32_t id = 0;  // as comments in PTX and messages say
};

struct Program {
  Stmts main;
  std::vector<Stmts> functions;
  std::string target = "sm_90";  // with what follows: "sm_90, debug"
  bool writes_all = true;        // every result; else only what they mix to
};

// Calls with each statement, in the order in which they are written.
template <typename Visitor>
void ForEachStmt(Stmts& list, const Visitor& visit) {
  for (Stmt& stmt : list) {
    visit(stmt);
    ForEachStmt(stmt.body, visit);
    ForEachStmt(stmt.otherwise, visit);
    for (Stmts& one : stmt.cases) ForEachStmt(one, visit);
  }
}
template <typename Visitor>
void ForEachStmt(Program& program, const Visitor& visit) {
  for (Stmts& function : program.functions) ForEachStmt(function, visit);
  ForEachStmt(program.main, visit);
}

// Gives each statement its `id`.
void Number(Program* program);

// The kernel k(in, out). Thread t has kInputWords at in, and kOutputWords at
// out: how many results it wrote, its mix, the results.
std::string PtxOf(const Program& program);

using Inputs = std::vector<std::array<std::uint32_t, kInputWords>>;

struct Expected {
  // Why the program says nothing of what it computes: "" if it does.
  std::string undefined;
  std::uint32_t culprit = 0;                                   // the statement
  std::vector<std::array<std::uint32_t, kOutputWords>> words;  // of threads
  // The statements that the words came from, from the third on.
  std::vector<std::vector<std::uint32_t>> sources;
  // Lanes that met others at another statement or in another round of it.
  std::uint32_t met_elsewhere = 0;
};

// Of a block with as many threads as there are inputs. `backwards`: of the
// lanes that can run, the last one runs first; it makes no difference.
Expected RunOnHost(const Program& program, const Inputs& inputs,
                   bool backwards = false);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_LANE_PROGRAM_H_
