#include "cli/scale/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace cerberus::cli {

Result<Shard> ParseShard(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, bad_index] =
      std::from_chars(text.data(), end, shard.index);
  bool good = bad_index == std::errc() && slash != end && *slash == '/';
  if (good) {
    const auto [rest, bad_count] = std::from_chars(slash + 1, end, shard.count);
    good = bad_count == std::errc() && rest == end;
  }
  constexpr unsigned kMost = 10'000;
  if (!good || shard.index == 0 || shard.index > shard.count ||
      shard.count > kMost) {
    return Err(DiagCode::kUsage,
               fmt::format("'{}' is not a shard; expected I/N, as in 2/5, I "
                           "from 1 to N and N at most {}",
                           text, kMost));
  }
  return shard;
}

// A module belongs to the shard that its middle falls into.
std::vector<unsigned> ShardsOf(const std::vector<std::uint64_t>& sizes,
                               unsigned count) {
  const double all =
      std::max(1.0, static_cast<double>(std::accumulate(
                        sizes.begin(), sizes.end(), std::uint64_t{0})));
  std::vector<unsigned> shards;
  shards.reserve(sizes.size());
  double before = 0;
  for (const std::uint64_t size : sizes) {
    const double middle = before + static_cast<double>(size) / 2;
    const double at = middle / all * count;
    shards.push_back(1 + std::min(count - 1, static_cast<unsigned>(at)));
    before += static_cast<double>(size);
  }
  return shards;
}

}  // namespace cerberus::cli
