// The spellings that the instruction table says are lowered.
#ifndef CERBERUS_TESTS_EXEC_SPELLINGS_H_
#define CERBERUS_TESTS_EXEC_SPELLINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "ptxc/opcode_table.h"

namespace cerberus::exec {

struct LoweredSpelling {
  const ptx::OpcodeRow* row;
  std::string text;  // "shfl.sync.up.b32"
  std::string operands() const { return std::string(row->operands); }
  bool Has(std::string_view word) const;  // ".up" as a whole word
};

// Every spelling of an opcode's lowered rows, hints one at a time and, on
// loads and stores, with .b32 and .b64 only.
std::vector<LoweredSpelling> LoweredSpellingsOf(std::string_view opcode);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_SPELLINGS_H_
