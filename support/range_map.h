// The byte ranges that a conversion may change, and why.
//
// The rewriter plans every edit here before it writes one byte; `verify`
// holds the result against the plan: every changed byte lies in a planned
// range, all others equal the input's.
#ifndef CERBERUS_SUPPORT_RANGE_MAP_H_
#define CERBERUS_SUPPORT_RANGE_MAP_H_

#include <cstdint>
#include <map>
#include <string>

#include "support/result.h"

namespace cerberus {

class RangeMap {
 public:
  struct Range {
    std::uint64_t size;
    std::string why;
  };

  // Errors: the range is empty, wraps, or overlaps one already there.
  Status Add(std::uint64_t offset, std::uint64_t size, std::string why);
  bool Contains(std::uint64_t offset) const;
  std::uint64_t TotalBytes() const;
  // Sorted by offset.
  const std::map<std::uint64_t, Range>& ranges() const { return ranges_; }

 private:
  std::map<std::uint64_t, Range> ranges_;
};

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_RANGE_MAP_H_
