// Which device code can leave a file: what wrappers lead to, and nothing else.
#ifndef CERBERUS_REWRITER_REMOVABLE_H_
#define CERBERUS_REWRITER_REMOVABLE_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/object_file.h"
#include "support/result.h"

namespace cerberus::rewriter {

// Bytes of the file that nothing needs any more: disjoint, and in a file with
// section headers each in one section.
struct Removed {
  std::uint64_t offset;
  std::uint64_t size;
};

struct DeviceCode {
  std::uint64_t vaddr;
  std::uint64_t offset;
  std::uint64_t size;
  bool has_wrapper;
};

struct RemovableCode {
  std::vector<Removed> removed;  // sorted
  std::vector<Diag> kept;        // notes: what stays, and why
};

// `codes` in the order of the file; neighbours with nothing but zeros between
// them become one piece, so that whole pages go. `own_slots` are the pointers
// that the wrappers have, symbols that begin with `own_prefix` those of the
// compiler. `what` names a piece of code in notes: "image".
Result<RemovableCode> FindRemovable(const ObjectFile& file,
                                    const std::vector<DeviceCode>& codes,
                                    const std::set<std::uint64_t>& own_slots,
                                    std::string_view own_prefix,
                                    std::string_view what);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_REMOVABLE_H_
