#include "ptxc/support_table.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "ptxc/opcode_table.h"

namespace cerberus::ptx {
namespace {

struct Summary {
  int forms = 0;
  int supported = 0;
  int ptx_version = 0;  // the earliest of its forms
  int min_sm = 0;
  std::vector<std::string_view> reasons;  // of the forms left out
  std::vector<std::string_view> notes;    // of the others
};

void AddOnce(std::vector<std::string_view>& list, std::string_view text) {
  if (!text.empty() &&
      std::find(list.begin(), list.end(), text) == list.end())
    list.push_back(text);
}

std::string Join(const std::vector<std::string_view>& list) {
  std::string text;
  for (std::string_view item : list)
    text += (text.empty() ? "" : "; ") + std::string(item);
  return text;
}

}  // namespace

std::string SupportTable() {
  std::vector<Summary> opcodes(static_cast<std::size_t>(kNumOpcodes));
  int forms = 0, supported = 0, whole = 0;
  for (const OpcodeRow& row : OpcodeTable()) {
    Summary& s = opcodes[static_cast<std::size_t>(row.opcode)];
    if (s.forms == 0 || row.ptx_version < s.ptx_version)
      s.ptx_version = row.ptx_version;
    if (s.forms == 0 || row.min_sm < s.min_sm) s.min_sm = row.min_sm;
    ++s.forms;
    ++forms;
    if (row.is_supported()) {
      ++s.supported;
      ++supported;
      AddOnce(s.notes, row.notes);
    } else {
      AddOnce(s.reasons, row.notes);
    }
  }
  for (const Summary& s : opcodes) whole += s.supported == s.forms;
  std::string text =
      "# PTX instructions\n\n"
      "Made from `ptxc/ptx_opcodes.def` by `ptx_support_table`; a test "
      "compares the two.\n\n"
      "A form is one line of the manual's syntax, with all types and "
      "modifiers it allows.\nEvery instruction of PTX ISA 9.0 parses; " +
      std::to_string(whole) + " of " + std::to_string(kNumOpcodes) +
      " are compiled in all their forms,\n" + std::to_string(supported) +
      " of " + std::to_string(forms) +
      " forms in all. A kernel that uses another one is not converted, and "
      "the reason is\nreported with its name and line.\n\n"
      "| instruction | forms compiled | since PTX | target | remarks |\n"
      "| --- | --- | --- | --- | --- |\n";
  std::vector<std::size_t> order(opcodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [](std::size_t a, std::size_t b) {
    return OpcodeName(static_cast<Opcode>(a)) <
           OpcodeName(static_cast<Opcode>(b));
  });
  for (std::size_t i : order) {
    const Summary& s = opcodes[i];
    text += "| `" + std::string(OpcodeName(static_cast<Opcode>(i))) + "` | ";
    if (s.supported == s.forms)
      text += "all";
    else if (s.supported == 0)
      text += "none";
    else
      text += std::to_string(s.supported) + " of " + std::to_string(s.forms);
    text += " | " + std::to_string(s.ptx_version / 10) + "." +
            std::to_string(s.ptx_version % 10) + " | " +
            (s.min_sm == 0 ? "any" : "sm_" + std::to_string(s.min_sm)) +
            " | ";
    text += Join(s.notes);
    if (!s.reasons.empty())
      text += (s.notes.empty() ? "" : "; ") +
              std::string(s.supported == 0 ? "" : "the rest: ") +
              Join(s.reasons);
    text += " |\n";
  }
  return text;
}

}  // namespace cerberus::ptx
