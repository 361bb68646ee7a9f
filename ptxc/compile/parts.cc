#include "ptxc/compile/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ptxc/compile/part_kernels.h"

namespace cerberus::ptx {
namespace {

// PTX instructions, of about 30 bytes each: a tenth of a second's work, of
// which setting up LLVM for a part is a fiftieth.
constexpr std::size_t kInstructionsOfPart = 3000;

bool IsMemory(const Variable& variable) {
  return variable.space == VarSpace::kGlobal ||
         variable.space == VarSpace::kConst;
}

// Whether a function or variable might have to be the same one in two parts.
bool SharesMore(const std::vector<const Module*>& modules,
                const CallGraph& graph) {
  for (std::uint32_t m = 0; m < modules.size(); ++m) {
    const Module& module = *modules[m];
    for (std::uint32_t id = 0; id < module.functions.size(); ++id) {
      const FunctionState& state = graph.State({m, id});
      if (state.address_taken || state.calls_indirectly) return true;
    }
    for (const Variable& variable : module.variables) {
      if (variable.space == VarSpace::kTex) return true;
      if (variable.function != kNoId && IsMemory(variable) &&
          !module.functions[variable.function].is_entry) {
        return true;
      }
    }
  }
  return false;
}

// Whether an instruction calls through a pointer, or takes the address of a
// function or kernel.
bool TakesCode(const Function& function) {
  return std::ranges::any_of(
      function.instructions, [&](const Instruction& inst) {
        if (inst.form == nullptr) return false;
        const bool is_call = inst.form->opcode() == Opcode::kCall;
        for (unsigned i = 0; i < inst.num_operands; ++i) {
          const bool is_function =
              function.operands[inst.first_operand + i].kind ==
              OperandKind::kFunction;
          const bool is_called = is_call && i == 1;
          if (is_function != is_called) return true;
        }
        return false;
      });
}

// A part is full when it has so many instructions.
std::vector<ProgramPart> Cut(const std::vector<const Module*>& modules,
                             const CallGraph& graph, std::size_t full) {
  std::vector<std::size_t> sizes;  // by number
  for (const Module* module : modules) {
    for (const Function& function : module->functions) {
      sizes.push_back(function.instructions.size());
    }
  }
  std::vector<ProgramPart> parts;
  std::size_t size = 0;
  for (const Symbol kernel : KernelsOf(modules, graph)) {
    if (parts.empty() || size >= full) {
      parts.push_back({false, std::vector<bool>(sizes.size()),
                       ProgramPart::Variables::kElsewhere});
      size = 0;
    }
    const std::vector<bool> below = graph.Below({kernel});
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (!below[i]) continue;
      size += sizes[i];
      parts.back().functions[i] = true;
    }
  }
  if (parts.size() < 2 || SharesMore(modules, graph)) return {ProgramPart{}};
  parts.push_back(
      {false, std::vector<bool>(sizes.size()), ProgramPart::Variables::kAll});
  return parts;
}

}  // namespace

std::vector<Symbol> KernelsOf(const std::vector<const Module*>& modules,
                              const CallGraph& graph) {
  std::vector<Symbol> kernels;
  for (std::uint32_t m = 0; m < modules.size(); ++m) {
    for (std::uint32_t id = 0; id < modules[m]->functions.size(); ++id) {
      const Function& function = modules[m]->functions[id];
      const Symbol self{m, id};
      if (function.is_entry && function.has_body &&
          graph.FunctionDefinition(self) == self) {
        kernels.push_back(self);
      }
    }
  }
  return kernels;
}

std::vector<ProgramPart> CutIntoParts(const std::vector<const Module*>& modules,
                                      const CallGraph& graph) {
  return Cut(modules, graph, kInstructionsOfPart);
}

std::vector<ProgramPart> CutIntoKernels(
    const std::vector<const Module*>& modules, const CallGraph& graph) {
  return Cut(modules, graph, 1);
}

Result<ProgramPart> PartOfKernel(const std::vector<const Module*>& modules,
                                 const CallGraph& graph,
                                 std::string_view name) {
  for (const Symbol kernel : KernelsOf(modules, graph)) {
    if (modules[kernel.module]->functions[kernel.id].name != name) continue;
    ProgramPart part{false, graph.Below({kernel}),
                     ProgramPart::Variables::kUsed};
    for (std::uint32_t m = 0; m < modules.size(); ++m) {
      for (std::uint32_t id = 0; id < modules[m]->functions.size(); ++id) {
        if (part.Takes(graph.Number({m, id})) &&
            TakesCode(modules[m]->functions[id])) {
          return Err(DiagCode::kUnsupportedPtx,
                     fmt::format("kernel '{}' takes addresses of code, which "
                                 "have to be the same for other kernels",
                                 name));
        }
      }
    }
    return part;
  }
  return Err(DiagCode::kUnsupportedPtx,
             fmt::format("there is no kernel '{}'", name));
}

bool CanRepeat(const std::vector<const Module*>& modules,
               const CallGraph& graph, Symbol kernel) {
  const Module& module = *modules[kernel.module];
  const bool has_memory = std::any_of(
      module.functions[kernel.id].variables.begin(),
      module.functions[kernel.id].variables.end(),
      [&](std::uint32_t id) { return IsMemory(module.variables[id]); });
  return !has_memory && !SharesMore(modules, graph);
}

}  // namespace cerberus::ptx
