// Any text through parser, checks and printer: nothing crashes, and what
// parses without errors prints to text that parses again to the same.
//
// Inputs are taken as they are; those that begin with '\x02' are a program
// for building a module from the instruction table, so that the fuzzer gets
// behind the mnemonics: its bytes choose rows, modifiers and operands, and
// spoil a character of some instructions.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ptxc/parser.h"
#include "ptxc/printer.h"
#include "ptxc/sema.h"
#include "../unit/ptxc/ptx_text.h"

namespace {

using namespace cerberus::ptx;  // NOLINT: the whole file is about it

void Run(const std::string& text) {
  ParseOutcome first = Parse(text, nullptr);
  Check(*first.module, nullptr);
  if (first.errors != 0) return;
  const std::string printed = Print(*first.module);
  ParseOutcome second = Parse(printed, nullptr);
  if (second.errors != 0 || Print(*second.module) != printed) std::abort();
}

// Bytes handed out one by one; zeros once they are used up.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::size_t Below(std::size_t limit) {
    if (bytes_.empty() || limit == 0) return 0;
    std::size_t value = static_cast<unsigned char>(bytes_[0]);
    bytes_.remove_prefix(1);
    if (limit > 256 && !bytes_.empty()) {
      value = value * 256 + static_cast<unsigned char>(bytes_[0]);
      bytes_.remove_prefix(1);
    }
    return value % limit;
  }

 private:
  std::string_view bytes_;
};

// A spelling that the row's syntax spans. Every one of them must resolve.
std::string SpellingOf(const OpcodeRow& row, Choices& choices) {
  std::string spelling(row.name.substr(0, row.name.find('.')));
  for (const SyntaxItem& item : row.items) {
    const std::size_t chosen =
        choices.Below(item.choices.size() + (item.optional ? 1 : 0));
    if (chosen == item.choices.size()) continue;
    spelling.append(".").append(item.choices[chosen].spelling);
    if (spelling.back() == '*')
      spelling.replace(spelling.size() - 1, 1, "n8k16");
  }
  return spelling;
}

std::string FromTable(std::string_view bytes) {
  std::vector<std::string> lines;
  Choices choices(bytes);
  while (!choices.empty() && lines.size() < 64) {
    const OpcodeRow& row = OpcodeTable()[choices.Below(OpcodeTable().size())];
    const std::string spelling = SpellingOf(row, choices);
    InstForm form;
    std::string error;
    if (!ResolveForm(spelling, -1, &form, &error)) std::abort();
    std::string line = testing::InstructionText(form, choices.Below(2) != 0);
    if (choices.Below(4) == 0)
      line[choices.Below(line.size())] =
          static_cast<char>(choices.Below(256));
    lines.push_back(line);
  }
  return testing::ModuleWith(lines);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.empty() && bytes[0] == '\x02')
    Run(FromTable(bytes.substr(1)));
  else
    Run(std::string(bytes));
  return 0;
}
