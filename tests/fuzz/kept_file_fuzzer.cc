// Reads the input as the file of a kept module, and behind right sums as what
// such a file holds: with the key that it begins with, and with another. What
// is taken is of a compiler that made files, and is written as it was read; its
// messages are read, too.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/jit_cache.h"
#include "cli/convert/compiler_messages.h"
#include "cli/exit_code.h"
#include "cli/scale/kept_file.h"

using namespace cerberus;
using cerberus::cache::JitCache;

namespace {

constexpr std::size_t kKeySize = 32;

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

bool Same(ByteSpan a, ByteSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void ReadCode(ByteSpan code) {
  const std::string key(AsText(code.first(std::min(code.size(), kKeySize))));
  if (const auto run = cli::ReadKeptFile(key, code)) {
    Require(cli::MadeFiles(run->exit_code) && run->signal == 0);
    Require(Same(cli::WriteKeptFile(key, *run), code));
    std::vector<Diag> diags;
    std::string time_trace;
    cli::ReadMessages(run->err, {}, &diags, &time_trace);
    for (const Diag& diag : diags) {
      Require(diag.ToString().size() >= diag.message.size());
    }
  }
  Require(!cli::ReadKeptFile(std::string(kKeySize, '-') + key, code));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const ByteSpan input(data, size);
  if (const auto code = JitCache::ReadFile(input)) {
    Require(Same(JitCache::WriteFileOf(*code), input));
    ReadCode(*code);
  }
  const Bytes file = JitCache::WriteFileOf(input);
  const auto code = JitCache::ReadFile(file);
  Require(code.has_value() && Same(*code, input));
  ReadCode(input);
  return 0;
}
