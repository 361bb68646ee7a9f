#include "tests/exec/lane_program.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <set>

namespace cerberus::exec {

Expr::Expr(Op op, std::uint32_t value)
    : node_(std::make_shared<Node>(Node{op, value, {}, {}, {}})) {}
Expr::Expr(Op op, const Expr& a, const Expr& b)
    : node_(std::make_shared<Node>(Node{op, 0, a.node_, b.node_, {}})) {}
Expr::Expr(const Expr& condition, const Expr& a, const Expr& b)
    : node_(std::make_shared<Node>(
          Node{Op::kSelect, 0, a.node_, b.node_, condition.node_})) {}

namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What a word of shared memory holds before a lane gives it away.
std::uint32_t FirstWord(std::uint32_t thread) { return thread * 0x9e3779b9u; }

bool UsesShared(const Program& program) {
  Program copy = program;
  bool uses = false;
  ForEachStmt(copy,
              [&](Stmt& stmt) { uses |= Has(stmt.spelling, "bar.warp"); });
  return uses;
}

// ---------------------------------------------------------------------------
// As PTX
// ---------------------------------------------------------------------------

// One function. Registers: %v<n> the variables, %w<n> the rounds a loop will
// have, %t<n> and %q<n> what is computed on the way, %at and %out the next
// word and the first one of the output, %own and %warp the words of shared
// memory of the thread and of its warp.
class Writer {
 public:
  Writer(const Program& program, bool shared)
      : program_(program), shared_(shared) {}

  std::string Function(std::size_t number) {
    Write(program_.functions[number]);
    return ".func (.param .align 8 .b8 result[16]) f" + std::to_string(number) +
           "(.param .b32 mix, .param .b32 argument, .param .b64 at,\n"
           "    .param .b64 in, .param .b64 out)\n{\n" +
           Registers() +
           "  ld.param.u32 %v0, [mix];\n  ld.param.u32 %v1, [argument];\n"
           "  ld.param.u64 %at, [at];\n  ld.param.u64 %in, [in];\n"
           "  ld.param.u64 %out, [out];\n" +
           Begin(text_) + text_ +
           "RETURN:\n  st.param.b64 [result], %at;\n"
           "  st.param.b32 [result+8], %v0;\n  ret;\n}\n";
  }

  std::string Kernel() {
    Write(program_.main);
    Finish();
    std::string filled =
        "  mul.lo.u32 %v0, %thread, 0x9e3779b9;\n"
        "  st.shared.u32 [%own], %v0;\n  bar.sync 0;\n";
    if (!shared_) filled = "";
    const std::string text =
        filled + "  add.u32 %v0, %i0, %lane;\n" + text_ + "  ret;\n}\n";
    return ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" +
           Registers() +
           "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
           "  mov.u32 %thread, %tid.x;\n"
           "  mad.wide.u32 %in, %thread, " +
           std::to_string(4 * kInputWords) +
           ", %in;\n  mad.wide.u32 %out, %thread, " +
           std::to_string(4 * kOutputWords) +
           ", %out;\n  add.u64 %at, %out, 8;\n" + Begin(text) + text;
  }

 private:
  std::string Registers() const {
    const auto some = [](const char* type, const char* name, std::size_t n) {
      return std::string("  .reg ") + type + " %" + name + "<" +
             std::to_string(n) + ">;\n";
    };
    return "  .reg .b64 %in, %out, %at, %bytes;\n"
           "  .reg .b32 %lane, %thread, %there, %own, %warp;\n" +
           some(".b32", "i", kInputWords) +
           some(".b32", "v",
                variables_.empty() ? 2 : *variables_.rbegin() + 2) +
           some(".b32", "w", loops_ + 1) + some(".b32", "t", temporaries_ + 1) +
           some(".b64", "l", temporaries_ + 1) +
           some(".pred", "q", predicates_ + 1);
  }

  // The registers that the text reads and that are the same all the time.
  static std::string Begin(const std::string& text) {
    std::string begin = "  mov.u32 %lane, %laneid;\n";
    const bool there = Has(text, "%there"), own = Has(text, "%own");
    if (there || own || Has(text, "%thread")) {
      begin += "  mov.u32 %thread, %tid.x;\n";
    }
    if (there || own) begin += "  and.b32 %warp, %thread, 0xffffffe0;\n";
    if (there) {
      begin +=
          "  mov.u32 %there, %ntid.x;\n"
          "  sub.u32 %there, %there, %warp;\n"
          "  shl.b32 %there, 1, %there;\n"
          "  sub.u32 %there, %there, 1;\n";
    }
    if (own) {
      begin +=
          "  mov.u32 %own, slots;\n"
          "  mad.lo.u32 %warp, %warp, 4, %own;\n"
          "  mad.lo.u32 %own, %thread, 4, %own;\n";
    }
    for (std::uint32_t i = 0; i < kInputWords; ++i) {
      const std::string input = "%i" + std::to_string(i);
      if (!Has(text, input)) continue;
      begin += "  ld.global.u32 " + input + ", [%in+" + std::to_string(4 * i) +
               "];\n";
    }
    return begin;
  }

  void Line(const std::string& line) { text_ += "  " + line + ";\n"; }
  void Label(const std::string& label) { text_ += label + ":\n"; }
  std::string NewLabel(const char* name) {
    return name + std::to_string(++labels_);
  }
  std::string Temporary() { return "%t" + std::to_string(temporaries_++); }
  std::string Predicate() { return "%q" + std::to_string(predicates_++); }
  std::string Variable(std::uint32_t number) {
    variables_.insert(number);
    return "%v" + std::to_string(number);
  }

  static const char* Compares(Expr::Op op) {
    return op == Expr::Op::kEq   ? "eq"
           : op == Expr::Op::kNe ? "ne"
           : op == Expr::Op::kLt ? "lt"
                                 : nullptr;
  }

  // A register or a number.
  std::string Word(const Expr& expr) {
    char number[16];
    switch (expr.op()) {
      case Expr::Op::kConst:
        std::snprintf(number, sizeof number,
                      expr.value() < 1000 ? "%u" : "0x%x", expr.value());
        return number;
      case Expr::Op::kLane: return "%lane";
      case Expr::Op::kThread: return "%thread";
      case Expr::Op::kThere: return "%there";
      case Expr::Op::kInput: return "%i" + std::to_string(expr.value());
      case Expr::Op::kVar: return Variable(expr.value());
      case Expr::Op::kLowest: {
        const std::string a = Word(expr.a()), result = Temporary();
        Line("brev.b32 " + result + ", " + a);
        Line("clz.b32 " + result + ", " + result);
        return result;
      }
      case Expr::Op::kHighest: {
        const std::string a = Word(expr.a()), result = Temporary();
        Line("bfind.u32 " + result + ", " + a);
        return result;
      }
      case Expr::Op::kSelect: {
        const std::string p = Condition(expr.condition()), a = Word(expr.a()),
                          b = Word(expr.b()), result = Temporary();
        Line("selp.b32 " + result + ", " + a + ", " + b + ", " + p);
        return result;
      }
      default: break;
    }
    if (Compares(expr.op()) != nullptr) {
      const std::string p = Condition(expr), result = Temporary();
      Line("selp.u32 " + result + ", 1, 0, " + p);
      return result;
    }
    static const std::map<Expr::Op, const char*> kNames = {
        {Expr::Op::kAdd, "add.u32"},    {Expr::Op::kSub, "sub.u32"},
        {Expr::Op::kMul, "mul.lo.u32"}, {Expr::Op::kAnd, "and.b32"},
        {Expr::Op::kOr, "or.b32"},      {Expr::Op::kXor, "xor.b32"},
        {Expr::Op::kShl, "shl.b32"},    {Expr::Op::kShr, "shr.u32"},
        {Expr::Op::kRem, "rem.u32"},    {Expr::Op::kMin, "min.u32"}};
    const std::string a = Word(expr.a()), b = Word(expr.b()),
                      result = Temporary();
    Line(std::string(kNames.at(expr.op())) + " " + result + ", " + a + ", " +
         b);
    return result;
  }

  // A predicate.
  std::string Condition(const Expr& expr) {
    const char* compares = Compares(expr.op());
    const std::string a = Word(compares != nullptr ? expr.a() : expr);
    const std::string b = compares != nullptr ? Word(expr.b()) : "0";
    const std::string result = Predicate();
    Line(std::string("setp.") + (compares != nullptr ? compares : "ne") +
         ".u32 " + result + ", " + a + ", " + b);
    return result;
  }

  void Write(const Stmts& list) {
    for (const Stmt& stmt : list) Write(stmt);
  }

  void Write(const Stmt& stmt) {
    if (Has(program_.target, "debug")) {
      text_ += "  .loc 1 " + std::to_string(stmt.id + 1) + " 0\n";
    }
    switch (stmt.kind) {
      case Stmt::Kind::kSync: Sync(stmt); break;
      case Stmt::Kind::kSet: {
        const std::string word = Word(stmt.value);
        Line("mov.u32 " + Variable(stmt.number) + ", " + word);
        break;
      }
      case Stmt::Kind::kIf: {
        const std::string otherwise = NewLabel("ELSE"), end = NewLabel("END");
        const std::string p = Condition(stmt.condition);
        Line("@!" + p + " bra " + (stmt.otherwise.empty() ? end : otherwise));
        Write(stmt.body);
        if (!stmt.otherwise.empty()) {
          Line("bra " + end);
          Label(otherwise);
          Write(stmt.otherwise);
        }
        Label(end);
        break;
      }
      case Stmt::Kind::kLoop: {
        const std::string head = NewLabel("LOOP"), end = NewLabel("DONE");
        const std::string rounds = "%w" + std::to_string(loops_++);
        const std::string word = Word(stmt.value), i = Variable(stmt.number);
        Line("mov.u32 " + rounds + ", " + word);
        Line("mov.u32 " + i + ", 0");
        Label(head);
        const std::string p = Predicate();
        if (stmt.tests_first) {
          Line("setp.ge.u32 " + p + ", " + i + ", " + rounds);
          Line("@" + p + " bra " + end);
        }
        breaks_.push_back(end);
        Write(stmt.body);
        breaks_.pop_back();
        Line("add.u32 " + i + ", " + i + ", 1");
        if (stmt.tests_first) {
          Line("bra " + head);
        } else {
          Line("setp.lt.u32 " + p + ", " + i + ", " + rounds);
          Line("@" + p + " bra " + head);
        }
        Label(end);
        break;
      }
      case Stmt::Kind::kSwitch: {
        const std::string table = NewLabel("TABLE"), end = NewLabel("END");
        const std::string word = Word(stmt.value);
        std::string targets;
        for (std::size_t i = 0; i < stmt.cases.size(); ++i) {
          targets += (i == 0 ? "" : ", ") + table + "_" + std::to_string(i);
        }
        text_ += table + ": .branchtargets " + targets + ";\n";
        const std::string index = Temporary();
        Line("mov.u32 " + index + ", " + word);
        Line("brx.idx " + index + ", " + table);
        for (std::size_t i = 0; i < stmt.cases.size(); ++i) {
          Label(table + "_" + std::to_string(i));
          Write(stmt.cases[i]);
          if (i + 1 < stmt.cases.size()) Line("bra " + end);
        }
        Label(end);
        break;
      }
      case Stmt::Kind::kCall: {
        const std::string word = Word(stmt.value);
        text_ +=
            "  {\n  .param .align 8 .b8 r[16];\n  .param .b32 a, b;\n"
            "  .param .b64 c, d, e;\n"
            "  st.param.b32 [a], %v0;\n  st.param.b32 [b], " +
            word +
            ";\n"
            "  st.param.b64 [c], %at;\n  st.param.b64 [d], %in;\n"
            "  st.param.b64 [e], %out;\n  call (r), f" +
            std::to_string(stmt.number) +
            ", (a, b, c, d, e);\n"
            "  ld.param.b64 %at, [r];\n  ld.param.b32 %v0, [r+8];\n  }\n";
        break;
      }
      case Stmt::Kind::kReturn: Line("bra RETURN"); break;
      case Stmt::Kind::kExit:
        Finish();
        Line("exit");
        break;
      case Stmt::Kind::kBreak: Line("bra " + breaks_.back()); break;
      case Stmt::Kind::kBarrier: Line("bar.sync 0"); break;
    }
  }

  void Finish() {
    const std::string count = Temporary();
    Line("sub.u64 %bytes, %at, %out");
    Line("cvt.u32.u64 " + count + ", %bytes");
    Line("shr.u32 " + count + ", " + count + ", 2");
    Line("sub.u32 " + count + ", " + count + ", 2");
    Line("st.global.u32 [%out], " + count);
    Line("st.global.u32 [%out+4], %v0");
  }

  void Sync(const Stmt& stmt) {
    const std::string& s = stmt.spelling;
    text_ += "  // statement " + std::to_string(stmt.id) + "\n";
    const std::string mask = Word(stmt.mask);
    const bool all = stmt.condition.op() == Expr::Op::kConst;
    const std::string guard = all ? "" : "@" + Condition(stmt.condition) + " ";
    const std::string d = Temporary(), p = Predicate();
    if (!all) {
      Line("mov.u32 " + d + ", " + std::to_string(kSkipped));
      Line("setp.ne.u32 " + p + ", 0, 0");
    }
    std::string result = d;  // what is written
    const std::string both = stmt.pair ? d + "|" + p : d;
    if (Has(s, "shfl")) {
      const std::string a = Word(stmt.value), b = Word(stmt.lane);
      Line(guard + s + " " + both + ", " + a + ", " + b + ", " +
           std::to_string(stmt.control) + ", " + mask);
    } else if (Has(s, "vote")) {
      const std::string a = Condition(stmt.value);
      const bool ballot = Has(s, "ballot");
      Line(guard + s + " " + (ballot ? d : p) + ", " + a + ", " + mask);
      if (!ballot) Line(guard + "selp.u32 " + d + ", 1, 0, " + p);
    } else if (Has(s, "match")) {
      std::string a = Word(stmt.value);
      if (Has(s, "b64")) {
        const std::string low = a, high = Word(stmt.high);
        a = "%l" + d.substr(2);
        Line("mov.b64 " + a + ", {" + low + ", " + high + "}");
      }
      Line(guard + s + " " + both + ", " + a + ", " + mask);
    } else if (Has(s, "redux")) {
      const std::string a = Temporary(), word = Word(stmt.value);
      Line("mov.b32 " + a + ", " + word);
      if (Has(s, "f32")) {  // one of ±[1, 2)
        Line("and.b32 " + a + ", " + a + ", 0x807fffff");
        Line("or.b32 " + a + ", " + a + ", 0x3f800000");
      }
      Line(guard + s + " " + d + ", " + a + ", " + mask);
    } else if (Has(s, "bar.warp")) {
      const std::string a = Word(stmt.value), b = Word(stmt.lane);
      const std::string other = Temporary();
      Line("mad.lo.u32 " + other + ", " + b + ", 4, %warp");
      Line(guard + "st.shared.u32 [%own], " + a);
      Line(guard + s + " " + mask);
      Line(guard + "ld.shared.u32 " + d + ", [" + other + "]");
      Line(guard + s + " " + mask);
    } else {
      Line(guard + s + " " + d + "|" + p + ", " + mask);
    }
    Result(d);
    if (stmt.number != 0) Line("mov.u32 " + Variable(stmt.number) + ", " + d);
    if (stmt.pair || Has(s, "elect")) {
      const std::string word = Temporary();
      Line("selp.u32 " + word + ", 1, 0, " + p);
      Result(word);
    }
  }

  void Result(const std::string& word) {
    Line("mad.lo.u32 %v0, %v0, 31, " + word);
    if (!program_.writes_all) return;
    Line("st.global.u32 [%at], " + word);
    Line("add.u64 %at, %at, 4");
  }

  const Program& program_;
  const bool shared_;
  std::string text_;
  std::set<std::uint32_t> variables_;
  std::vector<std::string> breaks_;
  std::size_t temporaries_ = 0;
  std::size_t predicates_ = 0;
  std::size_t loops_ = 0;
  int labels_ = 0;
};

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

void Number(Program* program) {
  std::uint32_t next = 0;
  ForEachStmt(*program, [&](Stmt& stmt) { stmt.id = next++; });
}

std::string PtxOf(const Program& program) {
  const bool shared = UsesShared(program);
  std::string text =
      ".version 9.0\n.target " + program.target + "\n.address_size 64\n";
  if (Has(program.target, "debug")) text += ".file 1 \"lanes.cu\"\n";
  if (shared) text += ".shared .align 4 .b8 slots[4096];\n";
  // Functions call those before them.
  std::string rest = Writer(program, shared).Kernel();
  for (std::size_t i = program.functions.size(); i-- > 0;) {
    if (!Has(rest, "call (r), f" + std::to_string(i) + ",")) continue;
    rest = Writer(program, shared).Function(i) + rest;
  }
  return text + rest;
}

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
