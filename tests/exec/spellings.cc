#include "tests/exec/spellings.h"

namespace cerberus::exec {

bool LoweredSpelling::Has(std::string_view word) const {
  std::string_view rest = text;
  while (true) {
    const std::size_t dot = rest.find('.');
    if (rest.substr(0, dot) == word) return true;
    if (dot == std::string_view::npos) return false;
    rest.remove_prefix(dot + 1);
  }
}

std::vector<LoweredSpelling> LoweredSpellingsOf(std::string_view opcode) {
  std::vector<LoweredSpelling> out;
  const std::string_view word = opcode.substr(0, opcode.find('.'));
  for (const ptx::OpcodeRow* row : ptx::RowsOf(word)) {
    if (!row->is_supported() || row->name != opcode) continue;
    ptx::ForEachSpelling(*row, false, [&](std::string_view spelling) {
      out.push_back({row, std::string(spelling)});
    });
  }
  return out;
}

}  // namespace cerberus::exec
