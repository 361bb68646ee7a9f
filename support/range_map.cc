#include "support/range_map.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "support/bytes.h"

namespace cerberus {

Status RangeMap::Add(std::uint64_t offset, std::uint64_t size,
                     std::string why) {
  const auto end = CheckedAdd(offset, size);
  if (size == 0 || !end) {
    return Err(DiagCode::kInternal,
               fmt::format("range 0x{:x}+{} for {} is empty or wraps", offset,
                           size, why));
  }
  const auto next = ranges_.lower_bound(offset);
  const auto overlap = [&](const auto& it) {
    return Err(
        DiagCode::kInternal,
        fmt::format("range 0x{:x}+{} for {} overlaps 0x{:x}+{} for {}", offset,
                    size, why, it->first, it->second.size, it->second.why));
  };
  if (next != ranges_.end() && next->first < *end) return overlap(next);
  if (next != ranges_.begin()) {
    const auto prev = std::prev(next);
    if (prev->first + prev->second.size > offset) return overlap(prev);
  }
  ranges_.emplace(offset, Range{size, std::move(why)});
  return {};
}

bool RangeMap::Contains(std::uint64_t offset) const {
  auto it = ranges_.upper_bound(offset);
  if (it == ranges_.begin()) return false;
  --it;
  return offset - it->first < it->second.size;
}

std::uint64_t RangeMap::TotalBytes() const {
  std::uint64_t total = 0;
  for (const auto& [offset, range] : ranges_) total += range.size;
  return total;
}

}  // namespace cerberus
