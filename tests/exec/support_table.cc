#include "tests/exec/support_table.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "ptxc/front/opcode_table.h"

namespace cerberus::exec {

const std::vector<std::string> kTestedTargets = {
    "gfx1030", "gfx1100", "gfx1201", "gfx90a", "gfx942", "gfx950"};

namespace {

using ptx::OpcodeRow;

// An opcode's types in one mnemonic ("f32.f16"), and one of its modifiers
// beside them, or "".
using Pair = std::pair<std::string, std::string>;

std::vector<std::string_view> Suffixes(std::string_view mnemonic,
                                       std::string_view opcode) {
  std::vector<std::string_view> words;
  std::string_view rest = mnemonic.substr(opcode.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t dot = rest.find('.');
    words.push_back(rest.substr(0, dot));
    rest = dot == std::string_view::npos ? "" : rest.substr(dot);
  }
  return words;
}

std::set<Pair> PairsOf(std::string_view mnemonic, std::string_view opcode) {
  std::string types;
  std::vector<std::string_view> modifiers = {""};
  for (std::string_view word : Suffixes(mnemonic, opcode)) {
    if (ptx::TypeFromName(word) != ptx::Type::kNone)
      types.append(types.empty() ? "" : ".").append(word);
    else modifiers.push_back(word);
  }
  std::set<Pair> pairs;
  for (std::string_view modifier : modifiers)
    pairs.emplace(types, std::string(modifier));
  return pairs;
}

// The pairs that a row allows, and by target those executed.
struct RowRecord {
  std::set<Pair> all;
  std::map<std::string, std::set<Pair>> executed;
};

// A mnemonic that several rows spell is one instruction if they require as
// many operands, and then counts for each of them.
RowRecord RecordOf(const OpcodeRow& row, const Executed& executed) {
  std::map<std::string, std::set<std::string_view>> counting;
  for (const auto& [target, forms] : executed) {
    for (const auto& [index, mnemonic] : forms) {
      const OpcodeRow& other =
          ptx::OpcodeTable()[static_cast<std::size_t>(index)];
      if (other.opcode == row.opcode &&
          ptx::CountOperands(other).min == ptx::CountOperands(row).min)
        counting[target].insert(mnemonic);
    }
  }
  RowRecord record;
  ptx::ForEachSpelling(row, false, [&](std::string_view spelling) {
    const std::set<Pair> pairs = PairsOf(spelling, row.name);
    for (const auto& [target, mnemonics] : counting) {
      if (mnemonics.contains(spelling))
        record.executed[target].insert(pairs.begin(), pairs.end());
    }
    record.all.insert(pairs.begin(), pairs.end());
  });
  return record;
}

std::set<std::string_view> MnemonicsOf(const Executed& executed,
                                       const std::string& target) {
  std::set<std::string_view> mnemonics;
  const auto forms = executed.find(target);
  if (forms == executed.end()) return mnemonics;
  for (const ExecutedForm& form : forms->second) mnemonics.insert(form.second);
  return mnemonics;
}

// What no row spells stays, so that it is missed.
std::vector<std::string_view> LoweredOf(const std::vector<std::string>& real) {
  std::vector<std::string_view> lowered;
  for (std::string_view mnemonic : real) {
    ptx::InstForm form;
    std::string error;
    if (!ptx::ResolveForm(mnemonic, -1, &form, &error) ||
        form.row->is_supported())
      lowered.push_back(mnemonic);
  }
  return lowered;
}

// Markdown would take a bar for the end of a cell.
std::string Cell(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string Version(int version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

}  // namespace

std::string SupportTable(const Executed& executed,
                         const std::vector<std::string>& real) {
  std::vector<const OpcodeRow*> rows;
  for (const OpcodeRow& row : ptx::OpcodeTable()) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(),
            [](const OpcodeRow* a, const OpcodeRow* b) {
              return std::tie(a->name, a->index) < std::tie(b->name, b->index);
            });
  std::size_t supported = 0, pairs = 0;
  std::map<std::string, std::size_t> executed_pairs;
  std::string table;
  for (const OpcodeRow* row : rows) {
    table += "| `" + std::string(row->name) + (row->syntax.empty() ? "" : " ") +
             Cell(row->syntax) + "` | " + Version(row->ptx_version) + " | " +
             (row->min_sm == 0
                  ? "any"
                  : std::to_string(row->min_sm) + std::string(row->arch)) +
             " | ";
    if (!row->is_supported()) {
      table += "not compiled: " + std::string(row->notes) + " |";
      for (std::size_t i = 0; i <= kTestedTargets.size(); ++i) table += " |";
      table += "\n";
      continue;
    }
    RowRecord record = RecordOf(*row, executed);
    table += std::string(row->notes) + " | " +
             std::to_string(record.all.size()) + " |";
    for (const std::string& target : kTestedTargets) {
      const std::size_t count = record.executed[target].size();
      table += " " + std::to_string(count) + " |";
      executed_pairs[target] += count;
    }
    table += "\n";
    ++supported;
    pairs += record.all.size();
  }
  const std::vector<std::string_view> lowered = LoweredOf(real);
  std::string text =
      "# PTX instructions\n\n"
      "Made by `tests/ptx_support_table` from `ptxc/front/ptx_opcodes.def` and "
      "from "
      "what the tests\nexecuted on the emulator; a test compares (see "
      "[testing.md](testing.md)).\n\n"
      "A form is one line of the manual's syntax, with all types and "
      "modifiers it allows;\nwords in capitals are sets of them, named at the "
      "head of each family in\n`ptxc/front/ptx_opcodes.def`. Every form of PTX "
      "ISA "
      "9.0 and what\n[limits.md](limits.md#instructions) says of 9.1 to 9.5 is "
      "read; " +
      std::to_string(supported) + " of " + std::to_string(rows.size()) +
      " are compiled. A kernel\nthat uses another one is not converted, and "
      "the reason is reported with its name and\nline.\n\n"
      "The last columns count the pairs of a type and a modifier that the "
      "form allows and,\nfor each target, those of them that stand in kernels, "
      "or functions of their modules,\nwhich tests have run to the end on the "
      "emulator and whose results they have\ncompared. In all, and of the "
      "mnemonics of 639 real programs (`tests/ptx/mnemonics.txt`)\nwhose forms "
      "are compiled:\n\n| target | pairs executed, of " +
      std::to_string(pairs) + " | mnemonics of programs executed, of " +
      std::to_string(lowered.size()) + " |\n| --- | --- | --- |\n";
  for (const std::string& target : kTestedTargets) {
    const std::set<std::string_view> mine = MnemonicsOf(executed, target);
    text += "| " + target + " | " + std::to_string(executed_pairs[target]) +
            " | " +
            std::to_string(std::count_if(
                lowered.begin(), lowered.end(),
                [&](std::string_view text) { return mine.contains(text); })) +
            " |\n";
  }
  text += "\n| form | PTX | sm | remarks | pairs |";
  for (const std::string& target : kTestedTargets) text += " " + target + " |";
  text += "\n| --- | --- | --- | --- | --- |";
  for (std::size_t i = 0; i < kTestedTargets.size(); ++i) text += " --- |";
  return text + "\n" + table;
}

std::vector<std::string> NotExecuted(const Executed& executed,
                                     const std::vector<std::string>& real) {
  std::vector<std::string> missing;
  for (const OpcodeRow& row : ptx::OpcodeTable()) {
    if (!row.is_supported()) continue;
    RowRecord record = RecordOf(row, executed);
    for (const std::string& target : kTestedTargets) {
      for (const Pair& pair : record.all) {
        if (record.executed[target].contains(pair)) continue;
        missing.push_back(target + ": " + std::string(row.name) + " " +
                          std::string(row.syntax) + ": " + pair.first +
                          " with '" + pair.second + "'");
      }
    }
  }
  for (const std::string& target : kTestedTargets) {
    const std::set<std::string_view> mine = MnemonicsOf(executed, target);
    for (std::string_view mnemonic : LoweredOf(real)) {
      if (!mine.contains(mnemonic))
        missing.push_back(target + ": " + std::string(mnemonic));
    }
  }
  return missing;
}

}  // namespace cerberus::exec
