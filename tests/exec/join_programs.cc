#include "tests/exec/join_programs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/exec/join_instructions.h"
#include "tests/exec/lane_program.h"

namespace cerberus::exec {

namespace {

// Makes programs whose lanes cannot wait for ever: what a set of lanes does
// together is a list of events, and each of them executes all of that list in
// this order, whatever the control flow around it. So all lanes agree on one
// order of all instructions that they have in common.
class ProgramMaker {
 public:
  ProgramMaker(std::uint64_t seed, Level level) : random_(seed), level_(level) {
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

  // In unlike rounds of one loop, which may end with that.
  Stmts InUnlikeRounds(const Events& events, Scope scope, int depth) {
    Stmts list;
    const std::size_t n = events.size();
    if (Once(3)) {
      const std::uint32_t when = NewVariable(), round = NewVariable();
      list.push_back(Set(when, Number(3)));
      scope.rounds.push_back(round);
      Stmts body = Realise(events, scope, depth);
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
                     Realise(Part(events, 0, period), scope, depth),
                     Once(2) ? Filler(scope) : Stmts{})};
    const Stmt loop = Loop(round, count + most, body);
    list.push_back(loop);
    return list;
  }

  Stmts InLoop(const Events& events, Scope scope, int depth) {
    const std::size_t n = events.size();
    const std::size_t period = Period(events);
    const std::uint32_t round = NewVariable();
    scope.rounds.push_back(round);
    Stmt loop = Loop(round, static_cast<std::uint32_t>(n / period),
                     Realise(Part(events, 0, period), scope, depth));
    loop.tests_first = Once(2);
    return {loop};
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
      case 5: return InUnlikeRounds(events, scope, depth - 1);
      case 6: return InLoop(events, scope, depth - 1);
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

}  // namespace

Program RandomProgram(std::uint64_t seed, Level level) {
  return ProgramMaker(seed, level).Make();
}

}  // namespace cerberus::exec
