// What two archives hold that is not the same. How they store it is no
// difference.
#ifndef CERBERUS_KPACK_DIFF_H_
#define CERBERUS_KPACK_DIFF_H_

#include <string>
#include <vector>

#include "kpack/reader.h"
#include "support/result.h"

namespace cerberus::kpack {

struct Difference {
  const Entry* left = nullptr;  // null: only the right archive has it
  const Entry* right = nullptr;
  bool type = false;
  bool bytes = false;
  std::vector<std::string> metadata;  // keys, sorted
};

struct ArchiveDiff {
  // Of `group_name` and `gfx_arches` those that differ.
  std::vector<std::string> fields;
  std::vector<Difference> entries;  // sorted by key and target
  std::size_t same = 0;             // entries
  bool empty() const { return fields.empty() && entries.empty(); }
};

// Errors: what cannot be read of either.
Result<ArchiveDiff> Diff(const Archive& left, const Archive& right);

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_DIFF_H_
