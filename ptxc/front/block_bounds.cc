#include "ptxc/front/block_bounds.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

namespace cerberus::ptx {
namespace {

constexpr std::string_view kPragma = "cerberus.max_threads ";
constexpr std::uint32_t kMostThreads = 1024;

}  // namespace

void AppendBlockBounds(const BlockBounds& bounds, std::string* ptx) {
  if (bounds.empty()) return;
  if (!ptx->ends_with('\n')) *ptx += '\n';
  for (const auto& [kernel, threads] : bounds) {
    *ptx += ".pragma \"" + std::string(kPragma) + kernel + ' ' +
            std::to_string(threads) + "\";\n";
  }
}

void ReadBlockBounds(const Module& module, BlockBounds* bounds) {
  for (std::string_view pragma : module.pragmas) {
    if (!pragma.starts_with(kPragma)) continue;
    pragma.remove_prefix(kPragma.size());
    const std::size_t blank = pragma.find(' ');
    if (blank == pragma.npos) continue;
    const std::string number(pragma.substr(blank + 1));
    std::uint32_t threads = 0;
    const char* end = number.data() + number.size();
    const auto [rest, error] = std::from_chars(number.data(), end, threads);
    if (error != std::errc() || rest != end || threads == 0 ||
        threads > kMostThreads) {
      continue;
    }
    const auto [at, added] =
        bounds->emplace(std::string(pragma.substr(0, blank)), threads);
    if (!added) at->second = std::min(at->second, threads);
  }
}

}  // namespace cerberus::ptx
