// Prints docs/ptx-support.md.
#include <cstdio>

#include "ptxc/support_table.h"

int main() {
  const std::string text = cerberus::ptx::SupportTable();
  std::fwrite(text.data(), 1, text.size(), stdout);
}
