// docs/ptx-support.md from what the tests executed.
//
//   ptx_support_table RECORD            prints the document
//   ptx_support_table RECORD DOCUMENT   compares it with the one printed, and
//                                       fails if something was not executed
//
// RECORD is the folder that CERBERUS_EXECUTED named (executed.h).
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/exec/executed.h"
#include "tests/exec/support_table.h"

int main(int argc, char** argv) {
  using namespace cerberus::exec;
  if (argc != 2 && argc != 3) {
    std::fputs("usage: ptx_support_table RECORD [DOCUMENT]\n", stderr);
    return 2;
  }
  const Executed executed = ReadExecuted(argv[1]);
  std::ifstream list(CERBERUS_REAL_MNEMONICS);
  std::vector<std::string> real;
  for (std::string line; std::getline(list, line);) {
    if (!line.empty() && line[0] != '#') real.push_back(line);
  }
  const std::string text = SupportTable(executed, real);
  if (argc == 2) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  const std::vector<std::string> missing = NotExecuted(executed, real);
  for (const std::string& line : missing)
    std::fprintf(stderr, "not executed: %s\n", line.c_str());
  std::ifstream in(argv[2]);
  const std::string document(std::istreambuf_iterator<char>(in), {});
  const bool same = document == text;
  if (!same) {
    std::fprintf(stderr, "%s is out of date: ptx_support_table %s > %s\n",
                 argv[2], argv[1], argv[2]);
  }
  return missing.empty() && same && !real.empty() ? 0 : 1;
}
