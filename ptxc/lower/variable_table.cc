#include "ptxc/lower/variable_table.h"

#include <algorithm>
#include <string_view>

namespace cerberus::ptx {
namespace {

bool HoldsAddresses(const Variable& variable) {
  return std::ranges::any_of(variable.init, [](const InitElement& element) {
    return element.kind == InitElement::Kind::kVariable ||
           element.kind == InitElement::Kind::kFunction;
  });
}

// Whether code objects would not have a copy each in any case.
bool IsShared(const Module& module, const Variable& variable) {
  if (variable.linkage == Linkage::kExtern) return false;
  if (variable.space != VarSpace::kGlobal &&
      variable.space != VarSpace::kConst && variable.space != VarSpace::kTex) {
    return false;
  }
  // A copy would hold the address of another.
  if (HoldsAddresses(variable)) return true;
  const bool of_kernel = variable.function != kNoId &&
                         module.functions[variable.function].is_entry;
  return !of_kernel && !MayBeRepeated(variable);
}

}  // namespace

VariableTable::VariableTable(const std::vector<const Module*>& modules,
                             const CallGraph& graph) {
  // Whether its value, or that of a variable it names, is an address of code.
  std::vector<std::vector<bool>> leads_to_code;
  for (const Module* module : modules) {
    places_.emplace_back(module->variables.size(), kNowhere);
    leads_to_code.emplace_back(module->variables.size());
  }
  const auto leads = [&](std::uint32_t m, const InitElement& element) {
    if (element.kind == InitElement::Kind::kFunction) return true;
    if (element.kind != InitElement::Kind::kVariable) return false;
    const Symbol named = graph.VariableDefinition({m, element.index});
    return static_cast<bool>(leads_to_code[named.module][named.id]);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t m = 0; m < modules.size(); ++m) {
      const std::vector<Variable>& variables = modules[m]->variables;
      for (std::uint32_t id = 0; id < variables.size(); ++id) {
        if (leads_to_code[m][id] ||
            std::ranges::none_of(variables[id].init, [&](const auto& element) {
              return leads(m, element);
            })) {
          continue;
        }
        leads_to_code[m][id] = changed = true;
      }
    }
  }
  // Those of functions last: their names give way.
  for (const bool of_functions : {false, true}) {
    for (std::uint32_t m = 0; m < modules.size(); ++m) {
      const Module& module = *modules[m];
      for (std::uint32_t id = 0; id < module.variables.size(); ++id) {
        const Symbol self{m, id};
        const Variable& variable = module.variables[id];
        if ((variable.function != kNoId) != of_functions ||
            leads_to_code[m][id] || !IsShared(module, variable) ||
            graph.VariableDefinition(self) != self) {
          continue;
        }
        places_[m][id] = static_cast<std::uint32_t>(all_.size());
        all_.push_back(self);
      }
    }
  }
}

bool MayBeRepeated(const Variable& variable) {
  if (variable.linkage != Linkage::kLocal || !variable.has_init) return false;
  for (const std::string_view prefix : {"$", "__unnamed_", "__cudart_"}) {
    if (variable.name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace cerberus::ptx
