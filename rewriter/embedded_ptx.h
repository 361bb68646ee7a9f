// PTX text that stands in a program, for cuModuleLoadData.
//
// No wrapper leads to such text; it is found again by its content when the
// program hands it over (docs/kpack-format.md, content keys). It may end in a
// NUL or have other strings beside it, so the module in it is what counts.
#ifndef CERBERUS_REWRITER_EMBEDDED_PTX_H_
#define CERBERUS_REWRITER_EMBEDDED_PTX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/bytes.h"

namespace cerberus::rewriter {

struct EmbeddedPtx {
  std::uint64_t offset;
  std::string_view text;  // in the bytes searched
  // Of several files that GCC compiled for OpenMP or OpenACC (a program's own,
  // and its runtime's) the others: they stand behind one another, in the order
  // in which libgomp hands them to cuLinkAddData.
  std::vector<std::string_view> linked_with = {};

  std::size_t size() const;  // bytes of all
  // What is looked for when the program has linked it: all, with a line's end
  // between them.
  std::string Linked() const;
};

// Collects every module with kernels, and what GCC has linked with one.
class EmbeddedPtxFinder {
 public:
  static constexpr std::string_view kStart = ".version";

  explicit EmbeddedPtxFinder(ByteSpan bytes) : bytes_(bytes) {}
  // To be called with the offsets of kStart, in their order.
  void See(std::uint64_t offset);
  std::vector<EmbeddedPtx> Take() &&;

 private:
  // Those of a text at `offset`; `is_string`: a NUL ends it.
  void AddModules(std::string_view text, std::uint64_t offset, bool is_string);
  void EndRun();

  ByteSpan bytes_;
  std::uint64_t end_ = 0;  // of the last text
  std::vector<EmbeddedPtx> found_;
  EmbeddedPtx run_{};  // files of GCC's so far; no text, no run
  bool run_has_kernels_ = false;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_EMBEDDED_PTX_H_
