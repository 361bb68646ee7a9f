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

// Collects every NUL-terminated text that has .version, .target and .entry.
class EmbeddedPtxFinder {
 public:
  static constexpr std::string_view kStart = ".version";

  explicit EmbeddedPtxFinder(ByteSpan bytes) : bytes_(bytes) {}
  // To be called with the offsets of kStart, in their order.
  void See(std::uint64_t offset);
  std::vector<EmbeddedPtx> Take() && { return std::move(found_); }

 private:
  ByteSpan bytes_;
  std::uint64_t end_ = 0;  // of the last text
  std::vector<EmbeddedPtx> found_;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_EMBEDDED_PTX_H_
