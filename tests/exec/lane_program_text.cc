// Programs of lanes as PTX.
#include <cstdio>
#include <map>
#include <set>

#include "tests/exec/lane_program.h"

namespace cerberus::exec {

namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

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

  void WriteIf(const Stmt& stmt) {
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
  }

  void WriteLoop(const Stmt& stmt) {
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
  }

  void WriteSwitch(const Stmt& stmt) {
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
  }

  void WriteCall(const Stmt& stmt) {
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
      case Stmt::Kind::kIf: WriteIf(stmt); break;
      case Stmt::Kind::kLoop: WriteLoop(stmt); break;
      case Stmt::Kind::kSwitch: WriteSwitch(stmt); break;
      case Stmt::Kind::kCall: WriteCall(stmt); break;
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

}  // namespace

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

}  // namespace cerberus::exec
