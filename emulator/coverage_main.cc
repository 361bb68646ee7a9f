// Prints the mnemonics of targets and what the emulator does with them:
//   cerberus-emu-coverage [--missing] TARGET...
#include <cstdio>
#include <cstring>

#include "emulator/emulator.h"

int main(int argc, char** argv) {
  bool missing = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--missing") == 0) {
      missing = true;
      continue;
    }
    const auto list = cerberus::emulator::ListMnemonics(argv[i]);
    if (!list) {
      std::fprintf(stderr, "%s\n", list.error().ToString().c_str());
      return 1;
    }
    std::size_t executed = 0, out = 0;
    for (const auto& m : *list) {
      if (m.executed) ++executed;
      else if (!m.reason.empty()) ++out;
      else if (missing) std::printf("%s\n", m.mnemonic.c_str());
    }
    std::printf("%s: %zu mnemonics, %zu executed, %zu out of scope\n",
                argv[i], list->size(), executed, out);
  }
  return 0;
}
