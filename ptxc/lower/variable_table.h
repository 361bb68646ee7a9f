// Variables that several code objects of a program share: kernels that are
// compiled one by one have to see the same ones.
//
// They lie in a code object of their own, with a table of their addresses.
// Code for kernels reads an address at its variable's place in the table, which
// follows from the PTX alone (docs/launch-abi.md, "Variables of kernels that
// are compiled apart").
#ifndef CERBERUS_PTXC_LOWER_VARIABLE_TABLE_H_
#define CERBERUS_PTXC_LOWER_VARIABLE_TABLE_H_

#include <cstdint>
#include <vector>

#include "ptxc/front/ast.h"
#include "ptxc/lower/call_graph.h"

namespace cerberus::ptx {

class VariableTable {
 public:
  static constexpr std::uint32_t kNowhere = ~0u;

  VariableTable(const std::vector<const Module*>& modules,
                const CallGraph& graph);

  // Of a definition; kNowhere: each code object has its own, or, of one that
  // leads to code, there can be one code object only.
  std::uint32_t PlaceOf(Symbol variable) const {
    return places_[variable.module][variable.id];
  }
  // By their places.
  const std::vector<Symbol>& all() const { return all_; }

 private:
  std::vector<std::vector<std::uint32_t>> places_;  // by module and id
  std::vector<Symbol> all_;
};

// A constant of the compiler's own, of a name that no program can give:
// strings, and tables of the mathematical library. Nobody asks for it or writes
// it, so that each kernel may have a copy.
bool MayBeRepeated(const Variable& variable);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_LOWER_VARIABLE_TABLE_H_
