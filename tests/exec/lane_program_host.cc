// Programs of lanes on the host, a lane at a time.
#include <algorithm>
#include <bit>
#include <map>

#include "tests/exec/lane_program.h"

namespace cerberus::exec {

namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What a word of shared memory holds before a lane gives it away.
std::uint32_t FirstWord(std::uint32_t thread) { return thread * 0x9e3779b9u; }

// ---------------------------------------------------------------------------
// On the host
// ---------------------------------------------------------------------------

// The program's end says nothing: `why`.
struct Undefined {
  std::string why;
  std::uint32_t culprit = 0;
};

using Clock = std::array<std::uint32_t, 32>;

// The statements of a list from `at` on. `loop`: they are its body; `call`:
// that of a function, which was called with `caller`'s variables.
struct Frame {
  const Stmts* list;
  std::size_t at = 0;
  const Stmt* loop = nullptr;
  std::uint32_t rounds = 0;
  std::uint32_t round = 0;
  bool call = false;
  std::map<std::uint32_t, std::uint32_t> caller = {};
};

struct LaneState {
  std::uint32_t number = 0;  // in the warp
  std::uint32_t thread = 0;
  const std::array<std::uint32_t, kInputWords>* inputs = nullptr;
  std::uint32_t there = 0;
  std::vector<Frame> frames;
  std::map<std::uint32_t, std::uint32_t> variables;
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> sources;
  Clock clock = {};
  bool exited = false;
  // Where it waits, with which mask; `second`: at bar.warp, behind the load.
  const Stmt* waits = nullptr;
  std::uint32_t mask = 0;
  bool second = false;
  std::uint32_t taken = 0;  // by that load
};

class Warp {
 public:
  Warp(const Program& program, const Inputs& inputs, std::uint32_t first,
       bool backwards)
      : program_(program), backwards_(backwards) {
    const std::uint32_t count = std::min<std::uint32_t>(
        32, static_cast<std::uint32_t>(inputs.size()) - first);
    lanes_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      LaneState& lane = lanes_[i];
      lane.number = i;
      lane.thread = first + i;
      lane.inputs = &inputs[first + i];
      lane.there = count == 32 ? ~0u : (1u << count) - 1;
      lane.variables[kMix] = (*lane.inputs)[0] + i;
      lane.frames.push_back({&program.main});
      lane.clock[i] = 1;
      slots_[i].value = FirstWord(lane.thread);
    }
  }

  void Run() {
    std::vector<LaneState*> order;
    for (LaneState& lane : lanes_) order.push_back(&lane);
    if (backwards_) std::reverse(order.begin(), order.end());
    for (;;) {
      for (LaneState* lane : order) {
        if (lane->waits == nullptr && !lane->exited) RunLane(*lane);
      }
      bool all_exited = true, opened = false;
      for (LaneState* lane : order) {
        all_exited &= lane->exited;
        if (lane->waits != nullptr) opened |= TryToMeet(*lane);
        // Those that met go on alone.
        if (opened && backwards_) break;
      }
      if (all_exited) return;
      if (opened) continue;
      for (const LaneState& lane : lanes_) {
        if (lane.waits != nullptr) {
          throw Undefined{"lanes wait for ever", lane.waits->id};
        }
      }
    }
  }

  void Write(Expected* expected) const {
    for (const LaneState& lane : lanes_) {
      std::array<std::uint32_t, kOutputWords> words;
      words.fill(kUnwritten);
      words[0] = program_.writes_all
                     ? static_cast<std::uint32_t>(lane.words.size())
                     : 0;
      words[1] = lane.variables.at(kMix);
      if (program_.writes_all) {
        std::copy(lane.words.begin(), lane.words.end(), words.begin() + 2);
      }
      expected->words.push_back(words);
      expected->sources.push_back(lane.sources);
    }
    expected->met_elsewhere += met_elsewhere_;
  }

 private:
  struct Slot {
    std::uint32_t value = 0;
    std::uint32_t writer = 0;
    std::uint32_t written = 0;  // by the writer's clock; 0: at the beginning
    Clock read = {};
  };

  std::uint32_t Value(const Expr& expr, const LaneState& lane) const {
    const auto a = [&] { return Value(expr.a(), lane); };
    const auto b = [&] { return Value(expr.b(), lane); };
    switch (expr.op()) {
      case Expr::Op::kConst: return expr.value();
      case Expr::Op::kLane: return lane.number;
      case Expr::Op::kThread: return lane.thread;
      case Expr::Op::kThere: return lane.there;
      case Expr::Op::kInput: return (*lane.inputs)[expr.value()];
      case Expr::Op::kVar: {
        const auto found = lane.variables.find(expr.value());
        if (found == lane.variables.end()) {
          throw Undefined{"a variable has no value"};
        }
        return found->second;
      }
      case Expr::Op::kAdd: return a() + b();
      case Expr::Op::kSub: return a() - b();
      case Expr::Op::kMul: return a() * b();
      case Expr::Op::kAnd: return a() & b();
      case Expr::Op::kOr: return a() | b();
      case Expr::Op::kXor: return a() ^ b();
      case Expr::Op::kShl: return b() > 31 ? 0 : a() << b();
      case Expr::Op::kShr: return b() > 31 ? 0 : a() >> b();
      case Expr::Op::kRem:
        if (b() == 0) throw Undefined{"division by zero"};
        return a() % b();
      case Expr::Op::kMin: return std::min(a(), b());
      case Expr::Op::kEq: return a() == b();
      case Expr::Op::kNe: return a() != b();
      case Expr::Op::kLt: return a() < b();
      case Expr::Op::kLowest:
        return static_cast<std::uint32_t>(std::countr_zero(a()));
      case Expr::Op::kHighest:
        return 31u - static_cast<std::uint32_t>(std::countl_zero(a()));
      case Expr::Op::kSelect:
        return Value(expr.condition(), lane) != 0 ? a() : b();
    }
    return 0;
  }

  void RunLane(LaneState& lane) {
    while (lane.waits == nullptr && !lane.exited) {
      if (++steps_ > 200'000) throw Undefined{"it runs too long"};
      Frame& frame = lane.frames.back();
      if (frame.at < frame.list->size()) {
        Execute((*frame.list)[frame.at++], lane);
      } else if (frame.loop != nullptr &&
                 ++lane.variables[frame.loop->number] < frame.rounds) {
        frame.at = 0;
        ++frame.round;
      } else if (lane.frames.size() == 1) {
        lane.exited = true;
      } else {
        Leave(lane);
      }
    }
  }

  static void Leave(LaneState& lane) {
    Frame& frame = lane.frames.back();
    if (frame.call) {
      const std::uint32_t mix = lane.variables[kMix];
      lane.variables = std::move(frame.caller);
      lane.variables[kMix] = mix;
    }
    lane.frames.pop_back();
  }

  void Execute(const Stmt& stmt, LaneState& lane) {
    switch (stmt.kind) {
      case Stmt::Kind::kSync:
        if (Value(stmt.condition, lane) == 0) {
          Results(stmt, lane, kSkipped, 0);
          return;
        }
        lane.mask = Value(stmt.mask, lane);
        if ((lane.mask >> lane.number & 1) == 0) {
          throw Undefined{"a lane is not in its mask", stmt.id};
        }
        if (Has(stmt.spelling, "bar.warp")) {
          Store(stmt, lane, Value(stmt.value, lane));
        }
        lane.waits = &stmt;
        return;
      case Stmt::Kind::kSet:
        lane.variables[stmt.number] = Value(stmt.value, lane);
        return;
      case Stmt::Kind::kIf:
        lane.frames.push_back(
            {Value(stmt.condition, lane) != 0 ? &stmt.body : &stmt.otherwise});
        return;
      case Stmt::Kind::kLoop: {
        const std::uint32_t rounds = Value(stmt.value, lane);
        lane.variables[stmt.number] = 0;
        if (rounds == 0 && stmt.tests_first) return;
        lane.frames.push_back({&stmt.body, 0, &stmt, rounds, 0});
        return;
      }
      case Stmt::Kind::kSwitch: {
        const std::uint32_t which = Value(stmt.value, lane);
        if (which >= stmt.cases.size()) throw Undefined{"a case too many"};
        lane.frames.push_back({&stmt.cases[which]});
        return;
      }
      case Stmt::Kind::kCall: {
        const std::uint32_t argument = Value(stmt.value, lane);
        Frame frame = {&program_.functions[stmt.number]};
        frame.call = true;
        frame.caller = std::move(lane.variables);
        lane.variables = {{kMix, frame.caller[kMix]}, {kArgument, argument}};
        lane.frames.push_back(std::move(frame));
        return;
      }
      case Stmt::Kind::kReturn:
        while (!lane.frames.back().call) Leave(lane);
        Leave(lane);
        return;
      case Stmt::Kind::kExit: lane.exited = true; return;
      case Stmt::Kind::kBreak:
        while (lane.frames.back().loop == nullptr) Leave(lane);
        Leave(lane);
        return;
      case Stmt::Kind::kBarrier:
        lane.mask = ~0u;
        lane.waits = &stmt;
        return;
    }
  }

  // The predicate, of those that give one, is `second`.
  void Results(const Stmt& stmt, LaneState& lane, std::uint32_t word,
               std::uint32_t second) {
    Result(stmt, lane, word);
    if (stmt.number != 0) lane.variables[stmt.number] = word;
    if (stmt.pair || Has(stmt.spelling, "elect")) Result(stmt, lane, second);
  }

  void Result(const Stmt& stmt, LaneState& lane, std::uint32_t word) {
    std::uint32_t& mix = lane.variables[kMix];
    mix = mix * 31 + word;
    lane.words.push_back(word);
    lane.sources.push_back(stmt.id);
    if (lane.words.size() + 2 > kOutputWords) {
      throw Undefined{"it writes too much"};
    }
  }

  // Whether the lane with that clock is behind what another did then.
  static bool Behind(const LaneState& lane, std::uint32_t other,
                     std::uint32_t then) {
    return lane.clock[other] >= then;
  }
  void Store(const Stmt& stmt, LaneState& lane, std::uint32_t value) {
    Slot& slot = slots_[lane.number];
    for (std::uint32_t other = 0; other < 32; ++other) {
      if (!Behind(lane, other, slot.read[other])) {
        throw Undefined{"a word is read and written at once", stmt.id};
      }
    }
    slot.value = value;
    slot.written = lane.clock[lane.number];
  }
  std::uint32_t Load(const Stmt& stmt, LaneState& lane) {
    const std::uint32_t from = Value(stmt.lane, lane);
    if (from >= lanes_.size()) throw Undefined{"no such lane", stmt.id};
    Slot& slot = slots_[from];
    if (!Behind(lane, from, slot.written)) {
      throw Undefined{"a word is read and written at once", stmt.id};
    }
    slot.read[lane.number] = lane.clock[lane.number];
    return slot.value;
  }

  // Some may be written in other orders: vote.ballot.sync.
  static std::vector<char> Sorted(const std::string& spelling) {
    std::vector<char> letters(spelling.begin(), spelling.end());
    std::sort(letters.begin(), letters.end());
    return letters;
  }

  // Whether two lanes wait for the same.
  static bool Together(const LaneState& a, const LaneState& b) {
    if (b.waits == nullptr || a.mask != b.mask ||
        a.waits->kind != b.waits->kind) {
      return false;
    }
    // bar.sync is the same for all lanes of a warp.
    return a.waits->kind == Stmt::Kind::kBarrier
               ? a.waits == b.waits
               : Sorted(a.waits->spelling) == Sorted(b.waits->spelling);
  }

  // The statements that a lane is in, and in which rounds of loops.
  static std::vector<std::pair<const Stmt*, std::uint32_t>> Place(
      const LaneState& lane) {
    std::vector<std::pair<const Stmt*, std::uint32_t>> place;
    for (const Frame& frame : lane.frames) {
      place.push_back({frame.list->data() + frame.at, frame.round});
    }
    return place;
  }

  bool TryToMeet(LaneState& first) {
    std::vector<LaneState*> members;
    for (LaneState& lane : lanes_) {
      if ((first.mask >> lane.number & 1) == 0 || lane.exited) continue;
      if (!Together(first, lane)) return false;
      members.push_back(&lane);
    }
    met_elsewhere_ += std::any_of(
        members.begin(), members.end(),
        [&](const LaneState* lane) { return Place(*lane) != Place(first); });
    Meet(members);
    return true;
  }

  void Meet(const std::vector<LaneState*>& members) {
    const Stmt& any = *members.front()->waits;
    if (any.kind == Stmt::Kind::kBarrier || Has(any.spelling, "bar.warp")) {
      Clock all = {};
      for (LaneState* lane : members) {
        for (std::size_t i = 0; i < 32; ++i) {
          all[i] = std::max(all[i], lane->clock[i]);
        }
      }
      for (LaneState* lane : members) {
        lane->clock = all;
        ++lane->clock[lane->number];
      }
    }
    if (any.kind == Stmt::Kind::kSync && !Has(any.spelling, "bar.warp")) {
      Compute(members);
    }
    for (LaneState* lane : members) {
      const Stmt& stmt = *lane->waits;
      if (Has(stmt.spelling, "bar.warp")) {
        if (!lane->second) {
          lane->taken = Load(stmt, *lane);
          lane->second = true;
          continue;
        }
        Results(stmt, *lane, lane->taken, 0);
        lane->second = false;
      }
      lane->waits = nullptr;
    }
  }

  void Compute(const std::vector<LaneState*>& members) {
    const std::string& s = members.front()->waits->spelling;
    std::uint32_t lanes = 0;  // that take part
    std::vector<std::uint64_t> values;
    for (LaneState* lane : members) {
      lanes |= 1u << lane->number;
      const Stmt& stmt = *lane->waits;
      std::uint64_t value = Value(stmt.value, *lane);
      if (Has(s, "b64")) {
        value |= std::uint64_t{Value(stmt.high, *lane)} << 32;
      }
      if (Has(s, "f32")) value = (value & 0x807fffff) | 0x3f800000;
      values.push_back(value);
    }
    std::uint32_t word = 0;  // the same for all
    if (Has(s, "vote")) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (values[i] != 0) word |= 1u << members[i]->number;
      }
      if (Has(s, ".all")) word = word == lanes;
      if (Has(s, ".any")) word = word != 0;
      if (Has(s, ".uni")) word = word == lanes || word == 0;
    } else if (Has(s, "redux")) {
      word = static_cast<std::uint32_t>(values[0]);
      for (std::size_t i = 1; i < values.size(); ++i) {
        word = Reduce(s, word, static_cast<std::uint32_t>(values[i]));
      }
      if (Has(s, ".abs")) word &= 0x7fffffff;
    } else if (Has(s, "elect")) {
      // The manual wants one of them, always the same.
      word = static_cast<std::uint32_t>(std::countr_zero(lanes));
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
      LaneState& lane = *members[i];
      const Stmt& stmt = *lane.waits;
      bool p = false;
      if (Has(s, "shfl")) {
        const auto [from, inside] = Source(stmt, lane);
        if ((lanes >> from & 1) == 0) {
          throw Undefined{"shfl of a lane that takes no part", stmt.id};
        }
        word = static_cast<std::uint32_t>(values[static_cast<std::size_t>(
            std::popcount(lanes & ((1u << from) - 1)))]);
        p = inside;
      } else if (Has(s, "match")) {
        word = 0;
        for (std::size_t j = 0; j < members.size(); ++j) {
          if (values[j] == values[i]) word |= 1u << members[j]->number;
        }
        p = word == lanes;
        if (Has(s, ".all") && !p) word = 0;
      } else if (Has(s, "elect")) {
        p = lane.number == word;
      }
      Results(stmt, lane, word, p);
    }
  }

  static std::uint32_t Reduce(std::string_view s, std::uint32_t a,
                              std::uint32_t b) {
    if (Has(s, ".add")) return a + b;
    if (Has(s, ".and")) return a & b;
    if (Has(s, ".or.")) return a | b;
    if (Has(s, ".xor")) return a ^ b;
    if (Has(s, ".abs")) {
      a &= 0x7fffffff;
      b &= 0x7fffffff;
    }
    // Of numbers with a sign, those turned so that they are in order.
    std::uint32_t x = a, y = b;
    if (Has(s, "s32")) {
      x ^= 0x80000000;
      y ^= 0x80000000;
    } else if (Has(s, "f32")) {
      x = x >> 31 != 0 ? ~x : x | 0x80000000;
      y = y >> 31 != 0 ? ~y : y | 0x80000000;
    }
    return (Has(s, ".min") ? x < y : y < x) ? a : b;
  }

  // PTX ISA, "shfl.sync": the source lane, and whether it is in the segment.
  std::pair<std::uint32_t, bool> Source(const Stmt& stmt,
                                        const LaneState& lane) const {
    const std::string& s = stmt.spelling;
    const int b = static_cast<int>(Value(stmt.lane, lane) & 31);
    const int l = static_cast<int>(lane.number);
    const int segment = static_cast<int>(stmt.control >> 8 & 31);
    const int end =
        (l & segment) | (static_cast<int>(stmt.control & 31) & ~segment);
    const int from = Has(s, ".up")     ? l - b
                     : Has(s, ".down") ? l + b
                     : Has(s, ".bfly") ? l ^ b
                                       : (l & segment) | (b & ~segment);
    const bool inside = Has(s, ".up") ? from >= end : from <= end;
    return {static_cast<std::uint32_t>(inside ? from : l), inside};
  }

  const Program& program_;
  const bool backwards_;
  std::vector<LaneState> lanes_;
  std::array<Slot, 32> slots_ = {};
  std::uint64_t steps_ = 0;
  std::uint32_t met_elsewhere_ = 0;
};

}  // namespace

Expected RunOnHost(const Program& program, const Inputs& inputs,
                   bool backwards) {
  Expected expected;
  const auto threads = static_cast<std::uint32_t>(inputs.size());
  for (std::uint32_t first = 0; first < threads; first += 32) {
    Warp warp(program, inputs, first, backwards);
    try {
      warp.Run();
    } catch (const Undefined& undefined) {
      expected.undefined = undefined.why + " (statement " +
                           std::to_string(undefined.culprit) + ")";
      expected.culprit = undefined.culprit;
      return expected;
    }
    warp.Write(&expected);
  }
  return expected;
}

}  // namespace cerberus::exec
