#include "tests/exec/spellings.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

namespace cerberus::exec {

namespace {

// Suffixes that order an access or hint at how to cache it, but leave what
// it does to memory as it is. Their combinations are what makes thousands of
// spellings out of a few hundred operations.
constexpr ptx::ModGroup kOrderAndHints[] = {
    ptx::ModGroup::kSem,       ptx::ModGroup::kScope,
    ptx::ModGroup::kCache,     ptx::ModGroup::kNonCoherent,
    ptx::ModGroup::kL1,        ptx::ModGroup::kL2,
    ptx::ModGroup::kCacheHint, ptx::ModGroup::kL2Prefetch,
    ptx::ModGroup::kCollector};

bool OrdersOrHints(std::string_view suffix) {
  static const std::set<std::string_view> all = [] {
    std::set<std::string_view> names;
    for (ptx::ModGroup group : kOrderAndHints) {
      for (std::uint8_t value = 1;; ++value) {
        const std::string_view name = ptx::ModifierName(group, value);
        if (name.empty()) break;
        names.insert(name);
      }
    }
    return names;
  }();
  return all.contains(suffix);
}

std::vector<std::string_view> Words(std::string_view spelling) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t dot = spelling.find('.');
    words.push_back(spelling.substr(0, dot));
    if (dot == std::string_view::npos) return words;
    spelling.remove_prefix(dot + 1);
  }
}

// Chooses spellings one after the other, so that each operation occurs (a
// spelling without its order and hints), and each order and hint beside each
// other word.
class Chooser {
 public:
  bool IsNeeded(std::string_view spelling) {
    const std::vector<std::string_view> words = Words(spelling);
    bool needed = false;
    std::string operation;
    for (std::string_view word : words) {
      if (OrdersOrHints(word)) {
        for (std::string_view other : words) {
          needed |= pairs_.emplace(word, other).second;
        }
      } else {
        operation.append(word).append(".");
      }
    }
    return operations_.insert(operation).second || needed;
  }

 private:
  std::set<std::string> operations_;
  std::set<std::pair<std::string, std::string>> pairs_;
};

const std::vector<std::string>& RealMnemonics() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> lines;
    std::ifstream in(CERBERUS_REAL_MNEMONICS);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }();
  return all;
}

}  // namespace

bool LoweredSpelling::Has(std::string_view word) const {
  for (std::string_view mine : Words(text)) {
    if (mine == word) return true;
  }
  return false;
}

std::vector<LoweredSpelling> LoweredSpellingsOf(std::string_view opcode) {
  std::vector<LoweredSpelling> out;
  const std::string_view word = opcode.substr(0, opcode.find('.'));
  for (const ptx::OpcodeRow* row : ptx::RowsOf(word)) {
    if (!row->is_supported() || row->name != opcode) continue;
    Chooser chooser;
    std::set<std::string> chosen;
    ptx::ForEachSpelling(*row, false, [&](std::string_view spelling) {
      if (chooser.IsNeeded(spelling)) chosen.emplace(spelling);
    });
    for (const std::string& mnemonic : RealMnemonics()) {
      ptx::InstForm form;
      std::string error;
      if (mnemonic.starts_with(word) &&
          ptx::ResolveForm(mnemonic, -1, &form, &error) && form.row == row) {
        chosen.insert(mnemonic);
      }
    }
    for (const std::string& text : chosen) out.push_back({row, text});
  }
  return out;
}

bool TakesMemory(const ptx::OpcodeRow& row) {
  return std::ranges::any_of(row.specs, [](const ptx::OperandSpec& spec) {
    return (spec.classes & (ptx::kOpAddress | ptx::kOpTexture)) != 0;
  });
}

}  // namespace cerberus::exec
