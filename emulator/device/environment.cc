// What the environment says of devices, for all faces.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "emulator/emulator.h"

namespace cerberus::emulator {

std::vector<std::string> TargetsFromEnvironment() {
  const char* text = std::getenv("CERBERUS_EMU_TARGETS");
  if (text == nullptr || *text == '\0') text = "gfx1100";
  std::vector<std::string> targets;
  const std::string list = text;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    if (comma > at) targets.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return targets;
}

std::uint64_t TotalMemory() {
  static const std::uint64_t total = [] {
    const char* text = std::getenv("CERBERUS_EMU_MEMORY");
    if (text != nullptr) {
      const std::uint64_t bytes = std::strtoull(text, nullptr, 0);
      if (bytes != 0) return bytes;
    }
    const std::uint64_t pages =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    const std::uint64_t bytes =
        pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
    return std::max<std::uint64_t>(bytes >> 30, 1) << 30;
  }();
  return total;
}

void Report(const std::string& message) {
  const std::string line = "cerberus: emulator: " + message + "\n";
  // One write: lines of several threads stay whole.
  [[maybe_unused]] const ssize_t n = write(2, line.data(), line.size());
}

}  // namespace cerberus::emulator
