// Makes random programs of the instructions that have a reference.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ptxc/front/opcode_table.h"
#include "tests/exec/chain_program.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

// ---------------------------------------------------------------------------
// Making programs
// ---------------------------------------------------------------------------

ValueTest Copy(std::string body, const std::vector<std::string_view>& outputs,
               const std::vector<std::string_view>& inputs,
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

WarpInstruction OfWarp(std::string body,
                       const std::vector<std::string_view>& outputs,
                       const std::vector<std::string_view>& inputs,
                       WarpFunction function) {
  return {Copy(std::move(body), outputs, inputs, {}), std::move(function)};
}

// The same output for every lane.
std::vector<Outputs> ToAll(std::span<const int> lanes, const Outputs& outputs) {
  return std::vector<Outputs>(lanes.size(), outputs);
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

}  // namespace

// The instructions that programs are made of.
class Instructions {
 public:
  Instructions() {
    std::set<std::string_view> elsewhere = {
#define EXECUTED_ELSEWHERE(opcode, test) opcode,
#include "tests/exec/executed_elsewhere.def"
    };
    for (const ptx::OpcodeRow& row : ptx::OpcodeTable()) {
      if (!row.is_supported() || elsewhere.count(row.name) != 0 ||
          TakesMemory(row)) {
        continue;
      }
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

namespace {

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
    if (Once(6) && !step->warp && !IsScoped(*step->test)) {
      step->guard = Register(kClasses[0]);
      step->negated = Once(2);
    }
  }

  static bool MayBeConstant(const ValueTest& test, const PtxType& type) {
    return test.body.empty() && type.elements == 1 &&
           (type.is_int() || type.kind == PtxType::Kind::kBits ||
            type.name == "f32" || type.name == "f64");
  }

  Instructions& instructions_;
  std::mt19937_64 random_;
  bool warps_;  // with instructions of whole warps
  std::vector<Operand> last_;
  int next_id_ = 0;
};

}  // namespace

ProgramMaker::ProgramMaker()
    : instructions_(std::make_unique<Instructions>()) {}
ProgramMaker::~ProgramMaker() = default;
Steps ProgramMaker::Make(std::uint64_t seed) {
  return Maker(*instructions_, seed).Program();
}

bool IsScoped(const ValueTest& test) {
  return test.body.find(';') != std::string::npos &&
         test.body.find(';') != test.body.rfind(';');
}

}  // namespace cerberus::exec
