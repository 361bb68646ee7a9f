// Random programs: instructions that feed each other, in branches and loops
// that lanes take differently, with constants among their operands and, in
// half of them, instructions of whole warps. Each is
// computed on the host, an instruction at a time, by the same references that
// value_exec_test.cc holds against single instructions; what only goes wrong
// where the compiler merges, moves or folds instructions shows here.
//
// CERBERUS_TEST_CHAINS=FIRST:COUNT runs other programs than the few that
// belong to the test; CERBERUS_TEST_CHAINS_DIR keeps their PTX in a folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ptxc/front/opcode_table.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"

namespace cerberus::exec {
namespace {

// A last wave that is half full, also where waves have 64 lanes.
constexpr std::uint32_t kLanes = 160;
constexpr std::uint64_t kProgramsOfModule = 8;
constexpr std::uint64_t kProgramsOfTest = 48;

// The registers of a program: these many of each class, in this order.
struct RegisterClass {
  const char* type;
  const char* prefix;
  int bits;
  int first;
  int count;
};
constexpr std::array<RegisterClass, 4> kClasses = {{{".pred", "%p", 1, 0, 5},
                                                    {".b16", "%h", 16, 5, 6},
                                                    {".b32", "%r", 32, 11, 8},
                                                    {".b64", "%l", 64, 19, 6}}};
constexpr int kRegisters = 25;

const RegisterClass& ClassOf(int reg) {
  std::size_t i = 0;
  while (reg >= kClasses[i].first + kClasses[i].count) ++i;
  return kClasses[i];
}
std::string NameOf(int reg) {
  const RegisterClass& those = ClassOf(reg);
  return those.prefix + std::to_string(reg - those.first);
}
// The class whose registers a value of the type fills; null if none is.
const RegisterClass* ClassFor(const PtxType& type) {
  for (const RegisterClass& those : kClasses) {
    if (those.bits == type.bits) return &those;
  }
  return nullptr;
}

struct Operand {
  int reg = -1;  // < 0: a constant
  Value value = 0;
};

// What an instruction of a whole warp computes: of the lanes that execute it,
// and their inputs, the outputs of each; none where the manual leaves it open.
using Outputs = std::vector<std::optional<Value>>;
using WarpFunction = std::function<std::vector<Outputs>(
    std::span<const int> lanes, std::span<const std::vector<Value>> inputs)>;

struct Step {
  enum class Kind { kInstruction, kIf, kLoop } kind = Kind::kInstruction;
  int id = 0;
  // kInstruction; `warp` is set where lanes work together, and then "%mask" in
  // the test's body stands for the lanes that come there.
  std::shared_ptr<const ValueTest> test;
  WarpFunction warp;
  std::vector<int> outputs;
  std::vector<Operand> inputs;
  // The predicate of a guarded instruction (or < 0) and of a branch.
  int guard = -1;
  bool negated = false;
  // kLoop: runs `count` times, or the low two bits of a register if >= 0.
  int count = 0;
  int counter = -1;
  std::vector<Step> body;
  std::vector<Step> otherwise;
};
using Steps = std::vector<Step>;

// ---------------------------------------------------------------------------
// Making programs
// ---------------------------------------------------------------------------

ValueTest Copy(std::string body, std::vector<std::string_view> outputs,
               std::vector<std::string_view> inputs,
               std::function<std::vector<Value>(std::span<const Value>)> fn) {
  ValueTest test;
  test.spelling = std::make_shared<Spelling>("mov");
  test.body = std::move(body);
  for (std::string_view name : outputs) test.outputs.push_back(*FindType(name));
  for (std::string_view name : inputs) test.inputs.push_back(*FindType(name));
  test.expect = [fn = std::move(fn)](std::span<const Value> in) {
    std::vector<Want> wants;
    for (Value v : fn(in)) wants.push_back({.bits = v});
    return wants;
  };
  return test;
}

// Halves put together and taken apart, and values that go through memory.
std::vector<ValueTest> Copies() {
  using In = std::span<const Value>;
  using Out = std::vector<Value>;
  const auto same = [](In in) { return Out{in[0]}; };
  return {
      Copy("mov.b64 %d0, {%a0, %a1};", {"b64"}, {"b32", "b32"},
           [](In in) { return Out{in[0] | in[1] << 32}; }),
      Copy("mov.b32 %d0, {%a0, %a1};", {"b32"}, {"b16", "b16"},
           [](In in) { return Out{in[0] | in[1] << 16}; }),
      Copy("mov.b64 {%d0, %d1}, %a0;", {"b32", "b32"}, {"b64"},
           [](In in) { return Out{Truncate(in[0], 32), in[0] >> 32}; }),
      Copy("mov.b32 {%d0, %d1}, %a0;", {"b16", "b16"}, {"b32"},
           [](In in) { return Out{Truncate(in[0], 16), in[0] >> 16}; }),
      Copy("mov.b64 %d0, {%a0, %a1, %a2, %a3};", {"b64"},
           {"b16", "b16", "b16", "b16"},
           [](In in) {
             return Out{in[0] | in[1] << 16 | in[2] << 32 | in[3] << 48};
           }),
      Copy("mov.b32 %d0, %a0;", {"b32"}, {"b32"}, same),
      Copy("mov.pred %d0, %a0;", {"pred"}, {"pred"}, same),
      Copy("st.local.b32 [mem], %a0; ld.local.b32 %d0, [mem];", {"b32"},
           {"b32"}, same),
      Copy("st.shared.b64 [%mine], %a0; ld.shared.b64 %d0, [%mine];", {"b64"},
           {"b64"}, same),
      Copy("st.local.b64 [mem+8], %a0; ld.local.s16 %d0, [mem+10];", {"b32"},
           {"b64"},
           [](In in) {
             return Out{
                 Truncate(static_cast<Value>(SignExtend(in[0] >> 16, 16)), 32)};
           }),
  };
}

struct WarpInstruction {
  ValueTest test;  // without an expectation
  WarpFunction function;
};

WarpInstruction OfWarp(std::string body, std::vector<std::string_view> outputs,
                       std::vector<std::string_view> inputs,
                       WarpFunction function) {
  return {Copy(std::move(body), std::move(outputs), std::move(inputs), {}),
          std::move(function)};
}

// The same output for every lane.
std::vector<Outputs> ToAll(std::span<const int> lanes, Outputs outputs) {
  return std::vector<Outputs>(lanes.size(), std::move(outputs));
}

Value MaskOf(std::span<const int> lanes) {
  Value mask = 0;
  for (int lane : lanes) mask |= Value{1} << lane;
  return mask;
}

// PTX ISA 9.0, "shfl.sync": `control` is operand c.
WarpInstruction Shuffle(const std::string& mode, std::uint32_t control) {
  char c[16];
  std::snprintf(c, sizeof c, "0x%x", control);
  return OfWarp(
      "shfl.sync." + mode + ".b32 %d0|%d1, %a0, %a1, " + c + ", %mask;",
      {"b32", "pred"}, {"b32", "b32"},
      [mode, control](std::span<const int> lanes,
                      std::span<const std::vector<Value>> in) {
        std::vector<Outputs> out;
        for (std::size_t i = 0; i < lanes.size(); ++i) {
          const int lane = lanes[i];
          const int b = static_cast<int>(Low(in[i][1]) & 31);
          const int segment = static_cast<int>(control >> 8 & 31);
          const int limit =
              (lane & segment) | (static_cast<int>(control & 31) & ~segment);
          int from = mode == "up"     ? lane - b
                     : mode == "down" ? lane + b
                     : mode == "bfly" ? lane ^ b
                                      : (lane & segment) | (b & ~segment);
          const bool inside = mode == "up" ? from >= limit : from <= limit;
          if (!inside) from = lane;
          const auto source = std::find(lanes.begin(), lanes.end(), from);
          std::optional<Value> value;
          if (source != lanes.end()) {
            value = in[static_cast<std::size_t>(source - lanes.begin())][0];
          }
          out.push_back({value, Value{inside}});
        }
        return out;
      });
}

WarpInstruction Reduction(const std::string& what,
                          Value (*combine)(Value, Value)) {
  return OfWarp("redux.sync." + what + " %d0, %a0, %mask;", {"b32"}, {"b32"},
                [combine](std::span<const int> lanes,
                          std::span<const std::vector<Value>> in) {
                  Value result = in[0][0];
                  for (const std::vector<Value>& other : in.subspan(1)) {
                    result = Truncate(combine(result, other[0]), 32);
                  }
                  return ToAll(lanes, {result});
                });
}

WarpInstruction Vote(const std::string& mode, const char* type,
                     Value (*of)(Value yes, Value mask)) {
  return OfWarp(
      "vote.sync." + mode + " %d0, %a0, %mask;", {type}, {"pred"},
      [of](std::span<const int> lanes, std::span<const std::vector<Value>> in) {
        Value yes = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
          if (in[i][0] != 0) yes |= Value{1} << lanes[i];
        }
        return ToAll(lanes, {of(yes, MaskOf(lanes))});
      });
}

WarpInstruction MatchAny(const char* type) {
  return OfWarp(
      std::string("match.any.sync.") + type + " %d0, %a0, %mask;", {"b32"},
      {type},
      [](std::span<const int> lanes, std::span<const std::vector<Value>> in) {
        std::vector<Outputs> out;
        for (const std::vector<Value>& mine : in) {
          Value same = 0;
          for (std::size_t i = 0; i < in.size(); ++i) {
            if (in[i][0] == mine[0]) same |= Value{1} << lanes[i];
          }
          out.push_back({same});
        }
        return out;
      });
}

std::vector<WarpInstruction> WarpInstructions() {
  std::vector<WarpInstruction> all;
  for (const char* mode : {"up", "down", "bfly", "idx"}) {
    const std::uint32_t end = std::string_view(mode) == "up" ? 0 : 31;
    for (std::uint32_t width : {32u, 8u, 2u}) {
      all.push_back(Shuffle(mode, (32 - width) << 8 | end));
    }
  }
  constexpr Value kSign = 0x80000000u;
  const auto reduce = [&](const char* what, Value (*combine)(Value, Value)) {
    all.push_back(Reduction(what, combine));
  };
  reduce("add.u32", [](Value a, Value b) { return a + b; });
  reduce("add.s32", [](Value a, Value b) { return a + b; });
  reduce("and.b32", [](Value a, Value b) { return a & b; });
  reduce("or.b32", [](Value a, Value b) { return a | b; });
  reduce("xor.b32", [](Value a, Value b) { return a ^ b; });
  reduce("max.u32", [](Value a, Value b) { return std::max(a, b); });
  reduce("min.u32", [](Value a, Value b) { return std::min(a, b); });
  // Signed numbers are ordered as unsigned ones with the sign turned round.
  reduce("max.s32", [](Value a, Value b) {
    return std::max(a ^ kSign, b ^ kSign) ^ kSign;
  });
  reduce("min.s32", [](Value a, Value b) {
    return std::min(a ^ kSign, b ^ kSign) ^ kSign;
  });
  all.push_back(
      Vote("ballot.b32", "b32", [](Value yes, Value) { return yes; }));
  all.push_back(Vote("all.pred", "pred",
                     [](Value yes, Value mask) { return Value{yes == mask}; }));
  all.push_back(Vote("any.pred", "pred",
                     [](Value yes, Value) { return Value{yes != 0}; }));
  all.push_back(Vote("uni.pred", "pred", [](Value yes, Value mask) {
    return Value{yes == mask || yes == 0};
  }));
  all.push_back(MatchAny("b32"));
  all.push_back(MatchAny("b64"));
  all.push_back(OfWarp(
      "match.all.sync.b32 %d0|%d1, %a0, %mask;", {"b32", "pred"}, {"b32"},
      [](std::span<const int> lanes, std::span<const std::vector<Value>> in) {
        bool same = true;
        for (const std::vector<Value>& other : in) same &= other == in[0];
        return ToAll(lanes, {same ? MaskOf(lanes) : 0, Value{same}});
      }));
  return all;
}

// The instructions that programs are made of.
class Instructions {
 public:
  Instructions() {
    std::set<std::string_view> elsewhere = {
#define EXECUTED_ELSEWHERE(opcode, test) opcode,
#include "tests/exec/executed_elsewhere.def"
    };
    for (const ptx::OpcodeRow& row : ptx::OpcodeTable()) {
      if (!row.is_supported() || elsewhere.count(row.name) != 0) continue;
      rows_.push_back({&row, {}});
    }
    for (ValueTest& test : Copies()) {
      copies_.push_back(std::make_shared<ValueTest>(std::move(test)));
    }
    warp_ = WarpInstructions();
  }

  const WarpInstruction& ChooseOfWarp(std::mt19937_64& random) const {
    return warp_[random() % warp_.size()];
  }

  // One whose operands all fit a class of registers, of any row or, if there
  // is one, of the row that the last came from.
  std::shared_ptr<const ValueTest> Choose(std::mt19937_64& random) {
    if (random() % 8 == 0) return copies_[random() % copies_.size()];
    for (;;) {
      if (random() % 3 != 0) row_ = random() % rows_.size();
      const ptx::OpcodeRow& row = *rows_[row_].first;
      std::vector<std::string>& spellings = rows_[row_].second;
      if (spellings.empty()) {
        ptx::ForEachSpelling(row, false, [&](std::string_view spelling) {
          spellings.emplace_back(spelling);
        });
      }
      const std::string& text = spellings[random() % spellings.size()];
      std::vector<ValueTest> tests = ReferencesFor(text, row.operands);
      if (tests.empty()) continue;
      ValueTest& test = tests[random() % tests.size()];
      if (Fits(test)) return std::make_shared<ValueTest>(std::move(test));
      row_ = random() % rows_.size();
    }
  }

 private:
  static bool Fits(const ValueTest& test) {
    const Spelling& s = *test.spelling;
    // Results with a tolerance say nothing about what is computed from them.
    if (s.Has("approx") || s.Has("full")) return false;
    // mad.f32 without a rounding modifier is of sm_1x alone.
    if (s.opcode() == "mad" && s.Has("f32") &&
        s.OneOf({"rn", "rz", "rm", "rp"}).empty()) {
      return false;
    }
    for (const auto* list : {&test.outputs, &test.inputs}) {
      for (const PtxType& type : *list) {
        if (ClassFor(type) == nullptr) return false;
      }
    }
    return true;
  }

  std::vector<std::pair<const ptx::OpcodeRow*, std::vector<std::string>>> rows_;
  std::vector<std::shared_ptr<const ValueTest>> copies_;
  std::vector<WarpInstruction> warp_;
  std::size_t row_ = 0;
};

class Maker {
 public:
  Maker(Instructions& instructions, std::uint64_t seed)
      : instructions_(instructions),
        random_(seed * 0x9e3779b97f4a7c15 + 1),
        warps_(Once(2)) {}

  Steps Program() { return Block(12 + Below(24), 0); }

 private:
  std::size_t Below(std::size_t limit) { return random_() % limit; }
  bool Once(std::size_t in) { return Below(in) == 0; }
  int Register(const RegisterClass& those) {
    return those.first +
           static_cast<int>(Below(static_cast<std::size_t>(those.count)));
  }

  Steps Block(std::size_t length, int depth) {
    Steps steps;
    for (std::size_t i = 0; i < length; ++i) {
      Step step;
      step.id = next_id_++;
      if (depth < 3 && Once(7)) {
        step.kind = Once(3) ? Step::Kind::kLoop : Step::Kind::kIf;
        step.body = Block(1 + Below(6), depth + 1);
        if (step.kind == Step::Kind::kIf) {
          step.guard = Register(kClasses[0]);
          step.negated = Once(2);
          if (Once(2)) step.otherwise = Block(1 + Below(4), depth + 1);
        } else if (Once(2)) {
          step.counter = Register(kClasses[2]);
        } else {
          step.count = 1 + static_cast<int>(Below(4));
        }
      } else {
        Instruction(&step);
      }
      steps.push_back(std::move(step));
    }
    return steps;
  }

  void Instruction(Step* step) {
    // The same operands once more, as far as they fit: what might be merged.
    const bool again = Once(4);
    if (warps_ && Once(4)) {
      const WarpInstruction& chosen = instructions_.ChooseOfWarp(random_);
      step->test = std::make_shared<ValueTest>(chosen.test);
      step->warp = chosen.function;
    } else {
      step->test = instructions_.Choose(random_);
    }
    std::set<int> taken;
    for (const PtxType& type : step->test->outputs) {
      int reg = Register(*ClassFor(type));
      while (!taken.insert(reg).second) reg = Register(*ClassFor(type));
      step->outputs.push_back(reg);
    }
    for (std::size_t i = 0; i < step->test->inputs.size(); ++i) {
      const PtxType& type = step->test->inputs[i];
      const RegisterClass* those = ClassFor(type);
      Operand operand;
      if (again && i < last_.size() && last_[i].reg >= 0 &&
          &ClassOf(last_[i].reg) == those) {
        operand.reg = last_[i].reg;
      } else if (MayBeConstant(*step->test, type) && Once(5)) {
        const std::vector<Value> edges = EdgeValues(type);
        operand.value = edges[Below(edges.size())];
      } else {
        operand.reg = Register(*those);
      }
      step->inputs.push_back(operand);
    }
    last_ = step->inputs;
    if (Once(6) && !step->warp && !Scoped(*step->test)) {
      step->guard = Register(kClasses[0]);
      step->negated = Once(2);
    }
  }

  static bool MayBeConstant(const ValueTest& test, const PtxType& type) {
    return test.body.empty() && type.elements == 1 &&
           (type.is_int() || type.kind == PtxType::Kind::kBits ||
            type.name == "f32" || type.name == "f64");
  }

 public:
  // More than one instruction, or declarations.
  static bool Scoped(const ValueTest& test) {
    return test.body.find(';') != std::string::npos &&
           test.body.find(';') != test.body.rfind(';');
  }

 private:
  Instructions& instructions_;
  std::mt19937_64 random_;
  bool warps_;  // with instructions of whole warps
  std::vector<Operand> last_;
  int next_id_ = 0;
};

// ---------------------------------------------------------------------------
// As PTX
// ---------------------------------------------------------------------------

std::string Constant(const PtxType& type, Value value) {
  char text[40];
  const char* format = type.name == "f32"   ? "0f%08llx"
                       : type.name == "f64" ? "0d%016llx"
                                            : "0x%llx";
  std::snprintf(
      text, sizeof text, format,
      static_cast<unsigned long long>(Low(Truncate(value, type.bits))));
  return text;
}

// `mask`: the register, or number, of the lanes that come here.
std::string InstructionText(const Step& step, const std::string& mask) {
  const ValueTest& test = *step.test;
  std::string body = test.body;
  if (body.empty()) {
    body = test.spelling->text() + " %d0";
    for (std::size_t i = 0; i < test.inputs.size(); ++i) {
      body += ", %a" + std::to_string(i);
    }
    body += ";";
  }
  if (const std::size_t at = body.find("%mask"); at != std::string::npos) {
    body.replace(at, 5, mask);
  }
  std::string text;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool name = body[i] == '%' && i + 2 < body.size() &&
                      (body[i + 1] == 'd' || body[i + 1] == 'a') &&
                      body[i + 2] >= '0' && body[i + 2] <= '9';
    if (!name) {
      text += body[i];
      continue;
    }
    const std::size_t n = static_cast<std::size_t>(body[i + 2] - '0');
    if (body[i + 1] == 'd') {
      text += NameOf(step.outputs[n]);
    } else if (step.inputs[n].reg >= 0) {
      text += NameOf(step.inputs[n].reg);
    } else {
      text += Constant(test.inputs[n], step.inputs[n].value);
    }
    i += 2;
  }
  return Maker::Scoped(test) ? "{ " + text + " }" : text;
}

bool HasWarps(const Steps& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    return step.warp || HasWarps(step.body) || HasWarps(step.otherwise);
  });
}

std::string Text(const Steps& steps, const std::string& mask) {
  std::string text;
  for (const Step& step : steps) {
    const std::string id = std::to_string(step.id);
    const std::string predicate =
        step.guard < 0 ? "" : (step.negated ? "!" : "") + NameOf(step.guard);
    const std::string guard = predicate.empty() ? "" : "@" + predicate + " ";
    const bool warps = HasWarps(step.body) || HasWarps(step.otherwise);
    switch (step.kind) {
      case Step::Kind::kInstruction:
        text += "  " + guard + InstructionText(step, mask) + "\n";
        break;
      case Step::Kind::kIf:
        if (warps) {
          text += "  vote.sync.ballot.b32 %m" + id + ", " + predicate + ", " +
                  mask + ";\n  xor.b32 %e" + id + ", %m" + id + ", " + mask +
                  ";\n";
        }
        text += "  " + guard + "bra THEN" + id + ";\n" +
                Text(step.otherwise, "%e" + id) + "  bra END" + id + ";\nTHEN" +
                id + ":\n" + Text(step.body, "%m" + id) + "END" + id + ":\n";
        break;
      case Step::Kind::kLoop:
        if (warps) text += "  mov.b32 %m" + id + ", " + mask + ";\n";
        text += "  and.b32 %n" + id + ", " +
                (step.counter >= 0 ? NameOf(step.counter) + ", 3"
                                   : std::to_string(step.count) + ", 7") +
                ";\nHEAD" + id + ":\n  setp.eq.u32 %t, %n" + id + ", 0;\n";
        if (warps) {
          text += "  vote.sync.ballot.b32 %m" + id + ", !%t, %m" + id + ";\n";
        }
        text += "  @%t bra END" + id + ";\n" + Text(step.body, "%m" + id) +
                "  sub.u32 %n" + id + ", %n" + id + ", 1;\n  bra HEAD" + id +
                ";\nEND" + id + ":\n";
        break;
    }
  }
  return text;
}

// Counters of loops, masks of lanes.
void AddCounters(const Steps& steps, std::string* text) {
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::kInstruction) {
      const std::string id = std::to_string(step.id);
      *text += "  .reg .b32 %n" + id + ", %m" + id + ", %e" + id + ";\n";
    }
    AddCounters(step.body, text);
    AddCounters(step.otherwise, text);
  }
}

// Loads all registers from the lane's slots of 8 bytes, runs, stores them.
std::string KernelText(const std::string& name, const Steps& steps) {
  std::string text = ".visible .entry " + name +
                     "(.param .u64 in, .param .u64 out)\n{\n"
                     "  .reg .pred %t;\n  .reg .b32 %mine, %x;\n"
                     "  .reg .b64 %at, %to;\n"
                     "  .local .align 8 .b8 mem[16];\n"
                     "  .shared .align 8 .b8 all[" +
                     std::to_string(8 * kLanes) + "];\n";
  for (const RegisterClass& those : kClasses) {
    text += std::string("  .reg ") + those.type + " " + those.prefix + "<" +
            std::to_string(those.count) + ">;\n";
  }
  AddCounters(steps, &text);
  const std::string stride = std::to_string(8 * kRegisters);
  text +=
      "  mov.u32 %x, %tid.x;\n  ld.param.u64 %at, [in];\n"
      "  ld.param.u64 %to, [out];\n"
      "  mad.wide.u32 %at, %x, " +
      stride +
      ", %at;\n"
      "  mad.wide.u32 %to, %x, " +
      stride +
      ", %to;\n"
      "  mov.u32 %mine, all;\n  mad.lo.u32 %mine, %x, 8, %mine;\n";
  std::string stores;
  for (int reg = 0; reg < kRegisters; ++reg) {
    const std::string at = "+" + std::to_string(8 * reg) + "]";
    const RegisterClass& those = ClassOf(reg);
    if (those.bits == 1) {
      text += "  ld.global.b32 %x, [%at" + at + ";\n  setp.ne.u32 " +
              NameOf(reg) + ", %x, 0;\n";
      stores += "  selp.b32 %x, 1, 0, " + NameOf(reg) +
                ";\n  st.global.b32 [%to" + at + ", %x;\n";
    } else {
      text += std::string("  ld.global") + those.type + " " + NameOf(reg) +
              ", [%at" + at + ";\n";
      stores += std::string("  st.global") + those.type + " [%to" + at + ", " +
                NameOf(reg) + ";\n";
    }
  }
  return text + Text(steps, "0xffffffff") + stores + "  ret;\n}\n";
}

constexpr char kHeader[] = ".version 9.0\n.target sm_100a\n.address_size 64\n";

// ---------------------------------------------------------------------------
// On the host
// ---------------------------------------------------------------------------

// A lane's registers. Where the manual leaves bits open (the payload of a NaN)
// nothing is known of what follows from them.
struct Lane {
  int id = 0;  // in its warp
  std::array<Value, kRegisters> values = {};
  std::array<bool, kRegisters> open = {};
};
using Lanes = std::vector<Lane*>;

// A branch went by something open: nothing is known of the warp any more.
struct Lost {};

bool HasNan(const PtxType& type, Value value) {
  if (!type.is_float()) return false;
  const FloatFormat& format = FormatOf(type);
  const int bits = type.element_bits();
  for (int e = 0; e < type.elements; ++e) {
    if (format.IsNan(Low(Truncate(value >> (e * bits), bits)))) return true;
  }
  return false;
}

// The inputs; none if one of them is open.
std::optional<std::vector<Value>> InputsOf(const Step& step, const Lane& lane) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const Operand& operand = step.inputs[i];
    const auto reg = static_cast<std::size_t>(operand.reg);
    if (operand.reg >= 0 && lane.open[reg]) return std::nullopt;
    inputs.push_back(
        Truncate(operand.reg >= 0 ? lane.values[reg] : operand.value,
                 step.test->inputs[i].bits));
  }
  return inputs;
}

void SetOutput(const Step& step, std::size_t k, std::optional<Value> value,
               Lane* lane) {
  const auto reg = static_cast<std::size_t>(step.outputs[k]);
  lane->open[reg] = !value;
  if (value) lane->values[reg] = Truncate(*value, step.test->outputs[k].bits);
}

void RunInstruction(const Step& step, Lane* lane) {
  const ValueTest& test = *step.test;
  const std::optional<std::vector<Value>> inputs = InputsOf(step, *lane);
  std::vector<Want> wants;
  if (inputs) wants = test.expect(*inputs);
  for (std::size_t k = 0; k < step.outputs.size(); ++k) {
    const bool known = inputs && wants[k].match == Want::Match::kExact &&
                       !HasNan(test.outputs[k], wants[k].bits);
    SetOutput(step, k, known ? std::optional(wants[k].bits) : std::nullopt,
              lane);
  }
}

void RunOfWarp(const Step& step, const Lanes& lanes) {
  std::vector<int> ids;
  std::vector<std::vector<Value>> inputs;
  for (Lane* lane : lanes) {
    std::optional<std::vector<Value>> of_lane = InputsOf(step, *lane);
    if (!of_lane) throw Lost();
    ids.push_back(lane->id);
    inputs.push_back(*std::move(of_lane));
  }
  const std::vector<Outputs> outputs = step.warp(ids, inputs);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
      SetOutput(step, k, outputs[i][k], lanes[i]);
    }
  }
}

// Whether the lane passes the step's predicate; none if that is open.
std::optional<bool> Passes(const Step& step, const Lane& lane) {
  if (step.guard < 0) return true;
  const auto guard = static_cast<std::size_t>(step.guard);
  if (lane.open[guard]) return std::nullopt;
  return (lane.values[guard] != 0) != step.negated;
}

// `lanes`: those of one warp that come here together.
void Run(const Steps& steps, const Lanes& lanes) {
  if (lanes.empty()) return;
  for (const Step& step : steps) {
    switch (step.kind) {
      case Step::Kind::kInstruction: {
        if (step.warp) {
          RunOfWarp(step, lanes);
          break;
        }
        for (Lane* lane : lanes) {
          const std::optional<bool> passes = Passes(step, *lane);
          if (passes == std::optional(true)) RunInstruction(step, lane);
          if (passes) continue;
          for (std::size_t k = 0; k < step.outputs.size(); ++k) {
            SetOutput(step, k, std::nullopt, lane);
          }
        }
        break;
      }
      case Step::Kind::kIf: {
        Lanes taken, others;
        for (Lane* lane : lanes) {
          const std::optional<bool> passes = Passes(step, *lane);
          if (!passes) throw Lost();
          (*passes ? taken : others).push_back(lane);
        }
        Run(step.body, taken);
        Run(step.otherwise, others);
        break;
      }
      case Step::Kind::kLoop: {
        std::map<const Lane*, int> left;
        for (Lane* lane : lanes) {
          left[lane] = step.count;
          if (step.counter < 0) continue;
          const auto counter = static_cast<std::size_t>(step.counter);
          if (lane->open[counter]) throw Lost();
          left[lane] = static_cast<int>(Low(lane->values[counter]) & 3);
        }
        for (Lanes inside = lanes;;) {
          std::erase_if(inside, [&](Lane* lane) { return left[lane]-- == 0; });
          if (inside.empty()) break;
          Run(step.body, inside);
        }
        break;
      }
    }
  }
}

// Half edge values, mostly small numbers of the class's floating-point type,
// half any bits.
std::vector<Lane> FirstValues(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Lane> lanes(kLanes);
  const std::array<std::vector<Value>, 4> edges = {
      EdgeValues(*FindType("pred")), EdgeValues(*FindType("f16")),
      EdgeValues(*FindType("f32")), EdgeValues(*FindType("f64"))};
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = lanes[i];
    lane.id = static_cast<int>(i % 32);
    for (int reg = 0; reg < kRegisters; ++reg) {
      const RegisterClass& those = ClassOf(reg);
      const auto& list =
          edges[static_cast<std::size_t>(&those - kClasses.data())];
      Value value = random();
      if (random() % 2 == 0) value = list[random() % list.size()];
      if (random() % 4 == 0) value = random() % 70;
      lane.values[static_cast<std::size_t>(reg)] = Truncate(value, those.bits);
    }
  }
  return lanes;
}

// ---------------------------------------------------------------------------
// Both
// ---------------------------------------------------------------------------

// False if nothing is known of what it computes.
bool RunWarp(const Steps& steps, std::span<Lane> warp) {
  Lanes lanes;
  for (Lane& lane : warp) lanes.push_back(&lane);
  try {
    Run(steps, lanes);
  } catch (Lost) {
    return false;
  }
  return true;
}

// What differs, "" if nothing does; `compared` counts registers of lanes.
std::string Compare(PtxModule& module, const std::string& kernel,
                    const Steps& steps, std::uint64_t seed,
                    std::size_t* compared) {
  std::vector<Lane> lanes = FirstValues(seed);
  Buffer in(module.device(), 8 * kRegisters * kLanes);
  Buffer out(module.device(), 8 * kRegisters * kLanes);
  std::uint64_t* slot = in.as<std::uint64_t>();
  for (const Lane& lane : lanes) {
    for (Value value : lane.values) *slot++ = Low(value);
  }
  Launch launch;
  launch.block = {kLanes, 1, 1};
  launch.params = {in.address(), out.address()};
  const Status status = module.Run(kernel, launch);
  if (!status) return status.error().ToString();
  for (std::size_t i = 0; i < kLanes; ++i) {
    Lane& lane = lanes[i];
    if (i % 32 == 0 && !RunWarp(steps, std::span(lanes).subspan(i, 32))) {
      i += 31;
      continue;
    }
    for (int reg = 0; reg < kRegisters; ++reg) {
      const auto r = static_cast<std::size_t>(reg);
      if (lane.open[r]) continue;
      ++*compared;
      const Value got = Truncate(out.as<std::uint64_t>()[i * kRegisters + r],
                                 ClassOf(reg).bits);
      if (got == lane.values[r]) continue;
      char text[120];
      std::snprintf(
          text, sizeof text, "thread %zu, %s: got 0x%llx, want 0x%llx", i,
          NameOf(reg).c_str(), static_cast<unsigned long long>(Low(got)),
          static_cast<unsigned long long>(Low(lane.values[r])));
      return text;
    }
  }
  return "";
}

std::string RunAlone(const Steps& steps, std::uint64_t seed) {
  Result<std::unique_ptr<PtxModule>> module =
      PtxModule::Compile(kHeader + KernelText("k", steps));
  if (!module) return module.error().ToString();
  std::size_t compared = 0;
  return Compare(**module, "k", steps, seed, &compared);
}

// Leaves out what can be left out with the program still failing.
void Shrink(Steps* all, Steps* list, std::uint64_t seed) {
  for (std::size_t i = list->size(); i-- > 0;) {
    const Step step = (*list)[i];
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
    if (!RunAlone(*all, seed).empty()) continue;
    list->insert(list->begin() + static_cast<std::ptrdiff_t>(i), step);
    Shrink(all, &(*list)[i].body, seed);
    Shrink(all, &(*list)[i].otherwise, seed);
  }
}

std::pair<std::uint64_t, std::uint64_t> Seeds() {
  unsigned long long first = 1, count = kProgramsOfTest;
  if (const char* text = std::getenv("CERBERUS_TEST_CHAINS")) {
    std::sscanf(text, "%llu:%llu", &first, &count);
  }
  return {first, count};
}

TEST(ChainExec, RandomPrograms) {
  Instructions instructions;
  const auto [first, count] = Seeds();
  std::size_t compared = 0;
  for (std::uint64_t at = first; at < first + count; at += kProgramsOfModule) {
    std::string text = kHeader;
    std::vector<Steps> programs;
    for (std::uint64_t seed = at; seed < at + kProgramsOfModule; ++seed) {
      programs.push_back(Maker(instructions, seed).Program());
      text += KernelText("k" + std::to_string(seed), programs.back());
    }
    if (const char* folder = std::getenv("CERBERUS_TEST_CHAINS_DIR")) {
      std::ofstream(std::string(folder) + "/" + std::to_string(at) + ".ptx")
          << text;
    }
    Result<std::unique_ptr<PtxModule>> module = PtxModule::Compile(text);
    for (std::uint64_t i = 0; i < kProgramsOfModule; ++i) {
      Steps& program = programs[i];
      const std::uint64_t seed = at + i;
      const std::string wrong =
          module ? Compare(**module, "k" + std::to_string(seed), program, seed,
                           &compared)
                 : RunAlone(program, seed);
      if (wrong.empty()) continue;
      Shrink(&program, &program, seed);
      ADD_FAILURE() << "program " << seed << ": " << wrong
                    << "\nshrunk: " << RunAlone(program, seed) << "\n"
                    << Text(program, "0xffffffff");
    }
  }
  // Most of what is computed is known to the last bit.
  EXPECT_GT(compared, count * kLanes * kRegisters / 4);
  RecordProperty("compared", std::to_string(compared));
}

// What random programs found: a body between %l0, which comes from memory, and
// %l1, its input and what it must compute.
struct Found {
  const char* body;
  std::uint64_t input;
  std::uint64_t want;
};
constexpr Found kFound[] = {
    // An integer of few significant bits, too large for f16.
    {"setp.ne.u64 %p0, %l0, 0; selp.b32 %r0, 0x3f800000, 0, %p0;"
     "cvt.rm.f16.s32 %h0, %r0; cvt.u64.u16 %l1, %h0;",
     1, 0x7bff},
    // Between two subnormal numbers, found from the negative side.
    {"rcp.rn.f64 %l1, %l0;", 0xffdffffffffffffe, 0x8008000000000001},
    // Rounded to f32 on the way to bf16.
    {"cvt.u32.u64 %r0, %l0; cvt.rn.bf16.u32 %h0, %r0; cvt.u64.u16 %l1, %h0;",
     0xcf7fffff, 0x4f4f},
    // A constant half that is not the other.
    {"cvt.u32.u64 %r0, %l0; max.s16x2 %r1, %r0, 0x3f800000;"
     "cvt.u64.u32 %l1, %r1;",
     0x0001fff0, 0x3f800000},
    // bf16 subnormals beside f32 arithmetic that flushes.
    {"cvt.u32.u64 %r0, %l0; mov.f32 %r1, 0f3f800000; add.ftz.f32 %r1, %r1, "
     "%r1; mul.rn.bf16x2 %r1, %r0, 0x3f803f80; cvt.u64.u32 %l1, %r1;",
     0x00010002, 0x00010002},
    // A part of what two comparisons gave (passes/packed_selects.h).
    {"cvt.u32.u64 %r0, %l0; set.num.bf16x2.bf16x2 %r1, %r0, %r0;"
     "and.b32 %r1, %r1, 0xff00ffff; cvt.u64.u32 %l1, %r1;",
     0x7fc03f80, 0x00003f80},
    {"cvt.u32.u64 %r0, %l0; set.gt.f16x2.f16x2 %r1, %r0, 0;"
     "xor.b32 %r1, %r1, 0x80000001; cvt.u64.u32 %l1, %r1;",
     0x3c000000, 0xbc000001},
    // A half that is all ones (passes/known_ones.h).
    {"mov.u32 %r0, %tid.x; mad.wide.u32 %at, %r0, 16, %at;"
     "ld.volatile.global.b64 %l0, [%at]; or.b64 %l1, -64, %l0;"
     "ld.volatile.global.b64 %l0, [%at]; st.volatile.global.b64 [%at+8], %l1;"
     "or.b64 %l1, %l1, %l0;",
     1, 0xffffffffffffffc1},
    // A constant of v_fmamk_f16 that LLVM's disassembler crashed on.
    {"mov.u32 %r0, %tid.x; cvt.u16.u32 %h1, %r0; cvt.u16.u64 %h0, %l0;"
     "add.u16 %h0, %h0, %h1; add.u16 %h1, %h0, 1;"
     "fma.rn.f16 %h0, %h0, 0f377f0000, %h1; add.u16 %h0, %h0, %h1;"
     "cvt.u64.u16 %l1, %h0;",
     0x7800, 0xf002},
};

TEST(ChainExec, WhatRandomProgramsFound) {
  for (const Found& found : kFound) {
    const std::string text =
        std::string(kHeader) +
        ".visible .entry k(.param .u64 at)\n{\n  .reg .pred %p<2>;\n"
        "  .reg .b16 %h<2>;\n  .reg .b32 %r<2>;\n  .reg .b64 %at, %l<2>;\n"
        "  ld.param.u64 %at, [at];\n  ld.global.b64 %l0, [%at];\n  " +
        found.body + "\n  st.global.b64 [%at+8], %l1;\n  ret;\n}\n";
    SCOPED_TRACE(found.body);
    Result<std::unique_ptr<PtxModule>> module = PtxModule::Compile(text);
    ASSERT_TRUE(module) << module.error().ToString();
    Buffer memory((*module)->device(), 16);
    memory.as<std::uint64_t>()[0] = found.input;
    Launch launch;
    launch.params = {memory.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(memory.as<std::uint64_t>()[1], found.want);
  }
}

}  // namespace
}  // namespace cerberus::exec
