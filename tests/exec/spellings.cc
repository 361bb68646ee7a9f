#include "tests/exec/spellings.h"

namespace cerberus::exec {

namespace {

bool HasHint(const ptx::InstForm& form) {
  for (ptx::ModGroup group :
       {ptx::ModGroup::kCache, ptx::ModGroup::kL1, ptx::ModGroup::kL2,
        ptx::ModGroup::kCacheHint, ptx::ModGroup::kL2Prefetch})
    if (form.mods.first(group) != 0) return true;
  return false;
}

}  // namespace

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
      // Hints change nothing: with one type they are executed often enough.
      ptx::InstForm form;
      std::string error;
      if ((opcode == "ld" || opcode == "st" || opcode == "suld" ||
           opcode == "sust") &&
          ptx::ResolveForm(spelling, -1, &form, &error) && HasHint(form) &&
          form.type() != ptx::Type::kB32 && form.type() != ptx::Type::kB64)
        return;
      out.push_back({row, std::string(spelling)});
    });
  }
  return out;
}

}  // namespace cerberus::exec
