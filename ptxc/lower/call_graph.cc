#include "ptxc/lower/call_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "ptxc/lower/services.h"
#include "ptxc/passes/lanes/lane_progress.h"
#include "support/demangle.h"

namespace cerberus::ptx {
namespace {

enum class FlushUse { kNone, kFlushes, kKeeps };

// What is subnormal in f32 is nearest to zero in f16; bf16 is rounded to as an
// integer where the mode flushes, but clamped to positive numbers in f32.
bool RoundsToHalves(const InstForm& form) {
  if (form.num_types < 2 || form.type(1) != Type::kF32 ||
      form.mods.rounding() != Rounding::kRn || form.mods.ftz() == Ftz::kOn) {
    return false;
  }
  const Type to = form.type(0);
  if (to == Type::kF16 || to == Type::kF16x2) return true;
  return (to == Type::kBF16 || to == Type::kBF16x2) &&
         form.mods.relu() != Relu::kOn && form.mods.sat() != Sat::kOn;
}

// Whether an instruction cares how the hardware treats f32 subnormals.
FlushUse FlushUseOf(const InstForm& form) {
  bool has_f32 = false;
  bool has_f64 = false;
  bool has_bf16 = false;
  for (int i = 0; i < form.num_types; ++i) {
    has_f32 |= form.type(i) == Type::kF32 || form.type(i) == Type::kF32x2;
    has_f64 |= form.type(i) == Type::kF64;
    has_bf16 |= form.type(i) == Type::kBF16 || form.type(i) == Type::kBF16x2;
  }
  if (!has_f32) {
    // bf16 is computed in f32, whose subnormals are bf16's.
    return has_bf16 && form.mods.ftz() != Ftz::kOn ? FlushUse::kKeeps
                                                   : FlushUse::kNone;
  }
  switch (form.opcode()) {
    case Opcode::kCvt:
      // From integers and from f16 no f32 subnormal can come.
      if (form.type(0) == Type::kF32 && form.type(1) != Type::kF32 &&
          !has_f64) {
        return FlushUse::kNone;
      }
      if (RoundsToHalves(form)) return FlushUse::kNone;
      break;
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kMul:
    case Opcode::kFma:
    case Opcode::kMad:
    case Opcode::kDiv:
    case Opcode::kRcp:
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kLg2:
    case Opcode::kEx2:
    case Opcode::kTanh:
    case Opcode::kRedux:
    case Opcode::kMin:
    case Opcode::kMax:
    case Opcode::kSetp:
    case Opcode::kSet:
    case Opcode::kSlct:
    case Opcode::kMultimemLdReduce:
    case Opcode::kMma:
    case Opcode::kMmaSp:
    case Opcode::kMmaSpOrdered:
    case Opcode::kWmmaMma: break;
    case Opcode::kAbs:
    case Opcode::kNeg:
      // Bit operations: without .ftz they need no mode.
      if (form.mods.ftz() != Ftz::kOn) return FlushUse::kNone;
      break;
    default: return FlushUse::kNone;
  }
  // Directed rounding is computed from results to nearest, which the mode
  // must not flush.
  if (form.mods.rounding() == Rounding::kRz ||
      form.mods.rounding() == Rounding::kRm ||
      form.mods.rounding() == Rounding::kRp) {
    return FlushUse::kKeeps;
  }
  return form.mods.ftz() == Ftz::kOn ? FlushUse::kFlushes : FlushUse::kKeeps;
}

// Names that modules share, and who defines them.
class SymbolTable {
 public:
  SymbolTable(const std::vector<const Module*>& modules,
              const std::vector<std::string>& names)
      : modules_(modules), names_(names) {}

  // A definition, or a declaration if `strength` is 0; `offset` is its place
  // in the module's text.
  Status Add(std::string_view name, Symbol symbol, std::uint64_t strength,
             std::uint32_t offset) {
    if (strength == 0) return {};
    const auto [at, is_new] = table_.try_emplace(name, Entry{symbol, strength});
    Entry& entry = at->second;
    if (is_new) return {};
    if (strength == kStrong && entry.strength == kStrong) {
      Diag diag =
          MakeDiag(DiagCode::kBadPtx,
                   fmt::format("'{}' is defined in {} too", Demangle(name),
                               names_[entry.symbol.module]));
      const Position at = modules_[symbol.module]->PositionOf(offset);
      diag.where.file = names_[symbol.module];
      diag.where.ptx_line = at.line;
      diag.where.ptx_column = at.column;
      return Err(std::move(diag));
    }
    if (strength > entry.strength) entry = {symbol, strength};
    return {};
  }
  Symbol Find(std::string_view name, Symbol otherwise) const {
    const auto at = table_.find(name);
    return at == table_.end() ? otherwise : at->second.symbol;
  }

  static constexpr std::uint64_t kStrong = ~std::uint64_t{0};

 private:
  struct Entry {
    Symbol symbol;
    std::uint64_t strength;
  };
  const std::vector<const Module*>& modules_;
  const std::vector<std::string>& names_;
  std::map<std::string_view, Entry> table_;
};

// 0: declared only, or not for other modules to see.
std::uint64_t StrengthOf(Linkage linkage, std::uint64_t size = 0) {
  switch (linkage) {
    case Linkage::kVisible: return SymbolTable::kStrong;
    case Linkage::kWeak: return 1;
    case Linkage::kCommon:
      return 1 + size;  // the largest is taken, as nvlink does
    default: return 0;
  }
}

}  // namespace

bool HasThreadCount(const Instruction& inst) {
  const Opcode opcode = inst.form->opcode();
  if (opcode != Opcode::kBar && opcode != Opcode::kBarrier) return false;
  // sync a {, b}; arrive a, b; red d, a {, b}, c.
  switch (inst.form->mods.bar()) {
    case Bar::kArrive: return true;
    case Bar::kRed: return inst.num_operands == 4;
    default: return inst.num_operands == 2;
  }
}

std::uint32_t BarrierNumbers(const Function& function,
                             const Instruction& inst) {
  const Opcode opcode = inst.form->opcode();
  if (opcode != Opcode::kBar && opcode != Opcode::kBarrier) return 0;
  const bool reduces = inst.form->mods.bar() == Bar::kRed;
  const Operand& number =
      function.operands[inst.first_operand + (reduces ? 1 : 0)];
  if (number.kind != OperandKind::kInt) return 0xfffe;
  return 1u << (number.bits & 15);
}

CallGraph::CallGraph(std::vector<const Module*> modules)
    : modules_(std::move(modules)) {
  for (std::uint32_t m = 0; m < modules_.size(); ++m) {
    first_function_.push_back(
        static_cast<std::uint32_t>(function_definitions_.size()));
    first_variable_.push_back(
        static_cast<std::uint32_t>(variable_definitions_.size()));
    for (std::uint32_t i = 0; i < modules_[m]->functions.size(); ++i) {
      function_definitions_.push_back({m, i});
    }
    for (std::uint32_t i = 0; i < modules_[m]->variables.size(); ++i) {
      variable_definitions_.push_back({m, i});
    }
  }
  states_.resize(function_definitions_.size());
}

Result<CallGraph> CallGraph::Build(std::vector<const Module*> modules,
                                   const std::vector<std::string>& names) {
  CallGraph graph(std::move(modules));
  CERB_TRY_VOID(graph.Resolve(names));
  graph.ResolveAliases();
  graph.FindCountedBarriers();
  graph.AnalyzeCalls();
  graph.InheritFromCallees();
  graph.InheritLaunches();
  graph.MarkRecursion();
  graph.FindCostlyCopies();
  graph.AnalyzeFlushing();
  return graph;
}

Status CallGraph::Resolve(const std::vector<std::string>& names) {
  if (modules_.size() < 2) return {};
  SymbolTable functions(modules_, names), variables(modules_, names);
  // Variables of module scope; dynamic shared memory is declared only.
  const auto shared = [](const Variable& variable) {
    return variable.function == kNoId && (variable.space == VarSpace::kGlobal ||
                                          variable.space == VarSpace::kConst ||
                                          variable.space == VarSpace::kShared);
  };
  for (const Symbol symbol : function_definitions_) {
    const Function& function = modules_[symbol.module]->functions[symbol.id];
    CERB_TRY_VOID(functions.Add(
        function.name, symbol,
        function.has_body ? StrengthOf(function.linkage) : 0, function.offset));
  }
  for (std::uint32_t m = 0; m < modules_.size(); ++m) {
    for (const Alias& alias : modules_[m]->aliases) {
      const Function& function = modules_[m]->functions[alias.alias_function];
      CERB_TRY_VOID(functions.Add(function.name, {m, alias.aliasee_function},
                                  StrengthOf(function.linkage),
                                  function.offset));
    }
  }
  for (const Symbol symbol : variable_definitions_) {
    const Variable& variable = modules_[symbol.module]->variables[symbol.id];
    if (!shared(variable)) continue;
    CERB_TRY_VOID(variables.Add(variable.name, symbol,
                                StrengthOf(variable.linkage, variable.size()),
                                variable.offset));
  }
  const auto is_shared = [](Linkage linkage) {
    return linkage == Linkage::kExtern || StrengthOf(linkage) != 0;
  };
  for (Symbol& symbol : function_definitions_) {
    const Function& function = modules_[symbol.module]->functions[symbol.id];
    if (is_shared(function.linkage)) {
      symbol = functions.Find(function.name, symbol);
    }
  }
  for (Symbol& symbol : variable_definitions_) {
    const Variable& variable = modules_[symbol.module]->variables[symbol.id];
    if (shared(variable) && is_shared(variable.linkage)) {
      symbol = variables.Find(variable.name, symbol);
    }
  }
  return {};
}

// An .alias has no body: whatever asks for it means the aliasee.
void CallGraph::ResolveAliases() {
  for (std::uint32_t m = 0; m < modules_.size(); ++m) {
    for (const Alias& alias : modules_[m]->aliases) {
      function_definitions_[Number({m, alias.alias_function})] =
          FunctionDefinition({m, alias.aliasee_function});
    }
  }
}

Symbol CallGraph::FunctionDefinition(Symbol function) const {
  return function_definitions_[Number(function)];
}

Symbol CallGraph::VariableDefinition(Symbol variable) const {
  return variable_definitions_[first_variable_[variable.module] + variable.id];
}

const FunctionState& CallGraph::State(Symbol function) const {
  return states_[Number(FunctionDefinition(function))];
}
FunctionState& CallGraph::State(Symbol function) {
  return states_[Number(FunctionDefinition(function))];
}

std::vector<bool> CallGraph::Below(const std::vector<Symbol>& roots) const {
  std::vector<bool> below(states_.size());
  std::vector<std::uint32_t> work;
  for (const Symbol root : roots) work.push_back(Number(root));
  while (!work.empty()) {
    const std::uint32_t number = work.back();
    work.pop_back();
    if (below[number]) continue;
    below[number] = true;
    work.insert(work.end(), states_[number].callees.begin(),
                states_[number].callees.end());
  }
  return below;
}

const Function& CallGraph::FunctionAt(std::uint32_t number) const {
  const std::uint32_t module = static_cast<std::uint32_t>(
      std::upper_bound(first_function_.begin(), first_function_.end(), number) -
      first_function_.begin() - 1);
  return modules_[module]->functions[number - first_function_[module]];
}

void CallGraph::FindCountedBarriers() {
  for (const Module* module : modules_) {
    for (const Function& function : module->functions) {
      for (const Instruction& inst : function.instructions) {
        if (inst.form && HasThreadCount(inst)) {
          counted_barriers_ |= BarrierNumbers(function, inst);
        }
      }
    }
  }
}

namespace {

// Copies of so much, beyond the first, would take longer to compile than calls
// take to run: some of LLVM's passes take time with the square of a function's
// blocks. A call, and what it saves, is little beside so long a function.
constexpr std::size_t kInstructionsToCopy = 10'000;
constexpr std::size_t kInstructionsToCall = 1000;
// More is not counted.
constexpr std::size_t kMostInstructions = 1'000'000'000;

// Whether an instruction takes lanes of a warp together by a mask, or may be
// what a loop waits with: in PTX for `sm`. What is older than lanes that make
// progress each does not count on it.
bool MeetsLanes(const InstForm& form, int sm) {
  if (sm < kFirstIndependent) return false;
  switch (form.opcode()) {
    case Opcode::kShfl:
    case Opcode::kVote:
    case Opcode::kMatch:
    case Opcode::kRedux:
    case Opcode::kBarWarp:
    case Opcode::kElect:
    case Opcode::kAtom:
    case Opcode::kNanosleep: return true;
    case Opcode::kLd:
    case Opcode::kMultimemLdReduce:
      return form.mods.sem() == Sem::kVolatile ||
             form.mods.sem() == Sem::kAcquire ||
             form.mods.sem() == Sem::kRelaxed;
    default: return false;
  }
}

bool ReducesInBlock(const Instruction& inst) {
  const Opcode opcode = inst.form->opcode();
  return (opcode == Opcode::kBar || opcode == Opcode::kBarrier) &&
         inst.form->mods.bar() == Bar::kRed;
}

}  // namespace

void CallGraph::AnalyzeCalls() {
  for (std::uint32_t number = 0; number < states_.size(); ++number) {
    const Symbol self = function_definitions_[number];
    if (Number(self) != number) continue;  // its definition is elsewhere
    const Function& function = FunctionAt(number);
    FunctionState& state = states_[number];
    for (const Instruction& inst : function.instructions) {
      if (!inst.form) continue;
      const bool is_call = inst.form->opcode() == Opcode::kCall;
      if (inst.form->opcode() == Opcode::kExit) state.may_exit = true;
      const bool counts = CountsThreads(function, inst);
      ends_matter_ |= counts && !HasThreadCount(inst);
      state.cleared.Add({counts, !counts && ReducesInBlock(inst),
                         inst.form->opcode() == Opcode::kTcgen05Alloc});
      state.meets_lanes |= MeetsLanes(*inst.form, modules_[self.module]->sm);
      for (unsigned i = 0; i < inst.num_operands; ++i) {
        const Operand& operand = function.operands[inst.first_operand + i];
        if (is_call && i == 1 && operand.kind != OperandKind::kFunction) {
          state.calls_indirectly = true;
        }
        // The graph's handle stands with the launch queue.
        state.launches |= operand.kind == OperandKind::kSpecial &&
                          static_cast<SpecialReg>(operand.index) ==
                              SpecialReg::kCurrentGraphExec;
        if (operand.kind != OperandKind::kFunction) continue;
        const Symbol callee{self.module, operand.index};
        const std::uint32_t called = Number(FunctionDefinition(callee));
        if (FunctionAt(called).is_entry) {
          // Not called: the host launches it later.
          states_[called].launched = true;
          continue;
        }
        if (is_call && i == 1 && !FunctionAt(called).has_body) {
          state.launches |=
              NeedsLaunchQueue(FindService(FunctionAt(called).name));
        }
        state.callees.push_back(called);
        if (!is_call || i != 1) State(callee).address_taken = true;
      }
    }
  }
  for (std::uint32_t m = 0; m < modules_.size(); ++m) {
    for (const Variable& variable : modules_[m]->variables) {
      for (const InitElement& element : variable.init) {
        if (element.kind != InitElement::Kind::kFunction) continue;
        const Symbol known{m, element.index};
        const std::uint32_t number = Number(FunctionDefinition(known));
        if (FunctionAt(number).is_entry) {
          states_[number].launched = true;
        } else {
          states_[number].address_taken = true;
        }
      }
    }
  }
}

// What holds for a function holds for its callers.
void CallGraph::InheritFromCallees() {
  ClearedShared pointed_at;
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionState& state : states_) {
      // Callers by pointers may have been looked at before.
      if (state.address_taken) {
        changed |= pointed_at.Add(state.cleared);
        if (state.may_exit && !exits_through_pointers_) {
          exits_through_pointers_ = changed = true;
        }
      }
      // A call through a pointer does not know which of the functions it
      // calls: all of them return the flag as soon as one does.
      if (exits_through_pointers_ && !state.may_exit &&
          (state.address_taken || state.calls_indirectly)) {
        state.may_exit = changed = true;
      }
      for (std::uint32_t callee : state.callees) {
        const FunctionState& below = states_[callee];
        if (below.may_exit && !state.may_exit) state.may_exit = changed = true;
        changed |= state.cleared.Add(below.cleared);
        if (below.meets_lanes && !state.meets_lanes) {
          state.meets_lanes = changed = true;
        }
      }
      if (state.calls_indirectly) changed |= state.cleared.Add(pointed_at);
    }
  }
}

// A call through a pointer may lead to whichever function has one.
void CallGraph::InheritLaunches() {
  bool pointed_at = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionState& state : states_) {
      if (!state.launches) {
        state.launches = (pointed_at && state.calls_indirectly) ||
                         std::any_of(state.callees.begin(), state.callees.end(),
                                     [this](std::uint32_t callee) {
                                       return states_[callee].launches;
                                     });
        changed |= state.launches;
      }
      if (state.launches && state.address_taken && !pointed_at) {
        pointed_at = changed = true;
      }
    }
  }
}

void CallGraph::MarkRecursion() {
  // A function is recursive if it can reach itself. Modules have few
  // functions with calls, so a search from each is cheap enough.
  std::vector<std::uint32_t> seen(states_.size(), kNoId);
  for (std::uint32_t start = 0; start < states_.size(); ++start) {
    if (states_[start].callees.empty()) continue;
    std::vector<std::uint32_t> work = states_[start].callees;
    while (!work.empty() && !states_[start].recursive) {
      const std::uint32_t id = work.back();
      work.pop_back();
      if (id == start) states_[start].recursive = true;
      if (seen[id] == start) continue;
      seen[id] = start;
      work.insert(work.end(), states_[id].callees.begin(),
                  states_[id].callees.end());
    }
  }
}

// Each function behind those that it calls, but for recursive ones.
std::vector<std::uint32_t> CallGraph::CalleesFirst() const {
  std::vector<std::uint32_t> order, work;
  std::vector<std::size_t> next(states_.size());
  std::vector<bool> seen(states_.size());
  for (std::uint32_t start = 0; start < states_.size(); ++start) {
    if (seen[start]) continue;
    seen[start] = true;
    work = {start};
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      if (next[at] == states_[at].callees.size()) {
        order.push_back(at);
        work.pop_back();
        continue;
      }
      const std::uint32_t callee = states_[at].callees[next[at]++];
      if (!seen[callee]) work.push_back(callee);
      seen[callee] = true;
    }
  }
  return order;
}

void CallGraph::FindCostlyCopies() {
  std::vector<std::size_t> places(states_.size());
  for (const FunctionState& state : states_) {
    for (const std::uint32_t callee : state.callees) ++places[callee];
  }
  // With what is copied into them.
  std::vector<std::size_t> sizes(states_.size());
  for (const std::uint32_t number : CalleesFirst()) {
    FunctionState& state = states_[number];
    std::size_t size = FunctionAt(number).instructions.size();
    for (const std::uint32_t callee : state.callees) {
      size = std::min(size + sizes[callee], kMostInstructions);
    }
    state.copies_cost = size >= kInstructionsToCall && places[number] > 1 &&
                        (places[number] - 1) * size >= kInstructionsToCopy;
    const bool stays = state.recursive || state.address_taken ||
                       (state.copies_cost && !state.meets_lanes);
    if (!stays) sizes[number] = size;
  }
}

void CallGraph::AnalyzeFlushing() {
  // The hardware's mode holds for a whole call tree, so functions that call
  // each other decide together; one f32 operation without .ftz among them
  // and flushing is written out for the others.
  std::vector<std::uint32_t> group(states_.size());
  std::iota(group.begin(), group.end(), 0u);
  const auto find = [&](std::uint32_t id) {
    while (group[id] != id) id = group[id] = group[group[id]];
    return id;
  };
  std::uint32_t indirect = kNoId;
  for (std::uint32_t id = 0; id < states_.size(); ++id) {
    for (std::uint32_t callee : states_[id].callees) {
      group[find(id)] = find(callee);
    }
    if (states_[id].calls_indirectly || states_[id].address_taken) {
      if (indirect == kNoId) indirect = id;
      group[find(id)] = find(indirect);
    }
  }
  std::vector<bool> flushes(states_.size());
  std::vector<bool> keeps(states_.size());
  for (std::uint32_t id = 0; id < states_.size(); ++id) {
    for (const Instruction& inst : FunctionAt(id).instructions) {
      if (!inst.form) continue;
      const FlushUse use = FlushUseOf(*inst.form);
      if (use == FlushUse::kFlushes) flushes[find(id)] = true;
      if (use == FlushUse::kKeeps) keeps[find(id)] = true;
    }
  }
  for (std::uint32_t id = 0; id < states_.size(); ++id) {
    states_[id].flush_f32 = flushes[find(id)] && !keeps[find(id)];
  }
}

void CallGraph::PropagateFailures() {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t id = 0; id < states_.size(); ++id) {
      FunctionState& state = states_[id];
      if (state.failed) continue;
      for (std::uint32_t callee : state.callees) {
        if (!states_[callee].failed) continue;
        state.failed = changed = true;
        state.reason =
            fmt::format("calls '{}': {}", Demangle(FunctionAt(callee).name),
                        states_[callee].reason);
        break;
      }
    }
  }
}

}  // namespace cerberus::ptx
