// PTX text that stands in a program as a string, for cuModuleLoadData.
//
// No wrapper leads to such text; it is found again by its content when the
// program hands it over (docs/kpack-format.md, content keys). So the bytes
// from the string's first to its NUL are what counts.
#ifndef CERBERUS_REWRITER_EMBEDDED_PTX_H_
#define CERBERUS_REWRITER_EMBEDDED_PTX_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "support/bytes.h"

namespace cerberus::rewriter {

struct EmbeddedPtx {
  std::uint64_t offset;
  std::string_view text;  // in the bytes searched
};

// Every NUL-terminated text that has .version, .target and .entry, none of it
// inside the ranges [first, second) to leave out (fatbins, which are read
// otherwise). In the order of the bytes.
std::vector<EmbeddedPtx> FindEmbeddedPtx(
    ByteSpan bytes,
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& leave_out);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_EMBEDDED_PTX_H_
