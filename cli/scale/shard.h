// Parts of a conversion that several machines do.
#ifndef CERBERUS_CLI_SCALE_SHARD_H_
#define CERBERUS_CLI_SCALE_SHARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "support/result.h"

namespace cerberus::cli {

struct Shard {
  unsigned index = 1;  // from 1
  unsigned count = 1;

  bool is_all() const { return count == 1; }
  bool is_last() const { return index == count; }
};

// "2/5".
Result<Shard> ParseShard(const std::string& text);

// The shard of each module. What a shard has stands together, in the order of
// the modules; each has a share of the sizes that differs from its fair one by
// no more than the largest module.
std::vector<unsigned> ShardsOf(const std::vector<std::uint64_t>& sizes,
                               unsigned count);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_SCALE_SHARD_H_
