#include "standins/resources.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace cerberus::standins {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Module;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Range;
using ptx::Variable;
using ptx::VarSpace;

// ptxas gives a kernel that does nothing so many on sm_70 and later, and none
// more than 255.
constexpr std::uint32_t kLeastRegisters = 8, kMostRegisters = 255;
constexpr std::uint32_t kBarriers = 16;

// Operands with those that they are made of.
template <typename Visit>
void ForEachOperand(const Function& function, Range range, const Visit& visit) {
  for (std::uint32_t i = range.first; i < range.end(); ++i) {
    const Operand& operand = function.operands[i];
    visit(operand);
    if (operand.is_composite()) {
      ForEachOperand(function, operand.children(), visit);
    }
  }
}

struct Interval {
  std::uint32_t first = ptx::kNoId;
  std::uint32_t last = 0;
  bool used() const { return first != ptx::kNoId; }
};

std::uint32_t WordsOf(const ptx::Register& reg) {
  const int bits = ptx::BitsOf(reg.type) * reg.vector;
  if (ptx::KindOf(reg.type) == ptx::TypeKind::kPred) return 0;
  return static_cast<std::uint32_t>((bits + 31) / 32);
}

// The most words that live at a time: each register lives from its first to
// its last mention, and through a loop that it is carried into.
std::uint32_t LiveWords(const Function& function) {
  std::vector<Interval> live(function.registers.size());
  const auto mention = [&](std::uint32_t reg, std::uint32_t at) {
    if (reg >= live.size()) return;
    if (!live[reg].used()) live[reg].first = at;
    live[reg].last = at;
  };
  struct Loop {
    std::uint32_t begin, end;
  };
  std::vector<Loop> loops;
  for (std::uint32_t at = 0; at < function.instructions.size(); ++at) {
    const Instruction& instruction = function.instructions[at];
    mention(instruction.guard, at);
    ForEachOperand(
        function, instruction.operands(), [&](const Operand& operand) {
          if (operand.kind == OperandKind::kRegister ||
              (operand.kind == OperandKind::kAddress &&
               operand.base == OperandKind::kRegister)) {
            mention(operand.index, at);
          } else if (operand.kind == OperandKind::kLabel &&
                     operand.index < function.labels.size() &&
                     function.labels[operand.index].position <= at) {
            loops.push_back({function.labels[operand.index].position, at});
          }
        });
  }
  // Inner loops end first.
  for (const Loop& loop : loops) {
    for (Interval& interval : live) {
      if (interval.used() && interval.first < loop.begin &&
          interval.last >= loop.begin && interval.last < loop.end) {
        interval.last = loop.end;
      }
    }
  }
  std::vector<std::int64_t> change(function.instructions.size() + 1);
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (!live[i].used()) continue;
    const std::int64_t words = WordsOf(function.registers[i]);
    change[live[i].first] += words;
    change[live[i].last] -= words;  // may hold the instruction's result
  }
  std::int64_t now = 0, most = 0;
  for (const std::int64_t step : change) {
    now += step;
    most = std::max(most, now);
  }
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(most, kMostRegisters));
}

// bar.sync 1 and barrier.sync 1; not those of a warp or a cluster.
std::uint32_t BarriersOf(const Module& module, const Function& function,
                         const Instruction& instruction) {
  const std::string_view text = module.text.substr(instruction.offset, 24);
  if (!text.starts_with("bar.") && !text.starts_with("barrier.")) return 0;
  if (text.starts_with("bar.warp") || text.starts_with("barrier.cluster")) {
    return 0;
  }
  std::uint32_t barriers = 1;
  ForEachOperand(function, instruction.operands(), [&](const Operand& operand) {
    if (&operand != &function.operands[instruction.first_operand]) return;
    if (operand.kind == OperandKind::kInt && operand.value >= 0) {
      barriers = static_cast<std::uint32_t>(operand.value) + 1;
    } else if (operand.kind == OperandKind::kRegister) {
      barriers = kBarriers;
    }
  });
  return std::min(barriers, kBarriers);
}

class Collector {
 public:
  explicit Collector(const Module& module) : module_(module) {}

  void Add(const Function& function) {
    if (!functions_.insert(&function).second) return;
    out_.registers = std::max(out_.registers, LiveWords(function));
    for (const std::uint32_t id : function.variables) AddVariable(id);
    for (const Instruction& instruction : function.instructions) {
      out_.barriers =
          std::max(out_.barriers, BarriersOf(module_, function, instruction));
      ForEachOperand(function, instruction.operands(),
                     [&](const Operand& operand) {
                       if (operand.kind == OperandKind::kFunction) {
                         Add(module_.functions[operand.index]);
                       } else if (operand.kind == OperandKind::kVariable ||
                                  operand.base == OperandKind::kVariable) {
                         AddVariable(operand.index);
                       }
                     });
    }
  }
  const Resources& resources() const { return out_; }

 private:
  void AddVariable(std::uint32_t id) {
    if (id >= module_.variables.size() || !variables_.insert(id).second) return;
    const Variable& variable = module_.variables[id];
    if (variable.linkage == ptx::Linkage::kExtern) return;
    if (variable.space == VarSpace::kShared) {
      out_.shared_bytes = variable.EndFrom(out_.shared_bytes);
    } else if (variable.space == VarSpace::kLocal) {
      out_.stack_bytes = variable.EndFrom(out_.stack_bytes);
    }
  }

  const Module& module_;
  Resources out_;
  std::set<const Function*> functions_;
  std::set<std::uint32_t> variables_;
};

}  // namespace

Resources ResourcesOf(const Module& module, const Function& function) {
  Collector collector(module);
  collector.Add(function);
  Resources out = collector.resources();
  const std::uint32_t limit =
      function.tuning.maxnreg != 0 ? function.tuning.maxnreg : kMostRegisters;
  out.registers = std::clamp(out.registers, kLeastRegisters,
                             std::max(limit, kLeastRegisters));
  for (const std::uint32_t id : function.params) {
    out.param_bytes = module.variables[id].EndFrom(out.param_bytes);
  }
  return out;
}

std::uint64_t BytesIn(const Module& module, VarSpace space) {
  std::uint64_t bytes = 0;
  for (const Variable& variable : module.variables) {
    if (variable.space == space && variable.function == ptx::kNoId &&
        variable.linkage != ptx::Linkage::kExtern) {
      bytes = variable.EndFrom(bytes);
    }
  }
  return bytes;
}

}  // namespace cerberus::standins
