// The spellings that the instruction table says are lowered.
#ifndef CERBERUS_TESTS_EXEC_SPELLINGS_H_
#define CERBERUS_TESTS_EXEC_SPELLINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "ptxc/front/opcode_table.h"

namespace cerberus::exec {

struct LoweredSpelling {
  const ptx::OpcodeRow* row;
  std::string text;  // "shfl.sync.up.b32"
  std::string operands() const { return std::string(row->operands); }
  bool Has(std::string_view word) const;  // ".up" as a whole word
};

// The spellings of an opcode's lowered rows: every combination of types and
// of the suffixes that say what is done, and in pairs with each of these every
// memory order, scope and cache hint. Besides, what of tests/ptx/mnemonics.txt
// is of these rows.
std::vector<LoweredSpelling> LoweredSpellingsOf(std::string_view opcode);

// An operand is an address, or a texture or tensor: such rows have tests of
// their own, and no reference that computes with values.
bool TakesMemory(const ptx::OpcodeRow& row);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_SPELLINGS_H_
