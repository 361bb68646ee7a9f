// Any text through parser, checks and printer: nothing crashes, and what
// parses without errors prints to text that parses again to the same.
//
// Inputs are taken as they are; those that begin with '\x02' are a program
// for building a module from the instruction table, so that the fuzzer gets
// behind the mnemonics: two bytes choose a row and a spelling, the next ones
// spoil one character of the instruction.
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

std::string FromTable(std::string_view bytes) {
  std::vector<std::string> lines;
  const std::size_t rows = OpcodeTable().size();
  while (bytes.size() >= 6 && lines.size() < 64) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
    };
    const OpcodeRow& row = OpcodeTable()[(byte(0) * 256 + byte(1)) % rows];
    std::size_t wanted = byte(2) % 64;
    std::string spelling;
    ForEachSpelling(row, false, [&](std::string_view s) {
      if (wanted != 0 || spelling.empty()) spelling = s;
      if (wanted != 0) --wanted;
    });
    InstForm form;
    std::string error;
    if (!ResolveForm(spelling, -1, &form, &error)) std::abort();
    std::string line = testing::InstructionText(form, (byte(3) & 1) != 0);
    if ((byte(3) & 2) != 0)
      line[byte(4) % line.size()] = static_cast<char>(byte(5));
    lines.push_back(line);
    bytes.remove_prefix(6);
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
