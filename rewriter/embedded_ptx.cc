#include "rewriter/embedded_ptx.h"

#include "images/ptx_text.h"

namespace cerberus::rewriter {
namespace {

// How each file begins that GCC's nvptx back end writes.
constexpr std::string_view kStartOfGcc = "// BEGIN PREAMBLE";
// NULs between two of them: one, and those that align the next.
constexpr std::size_t kMostPadding = 64;

bool IsText(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7f) || (byte >= '\t' && byte <= '\r');
}

bool HasKernels(std::string_view text) {
  return text.find(".entry") != std::string_view::npos;
}

}  // namespace

std::size_t EmbeddedPtx::size() const {
  std::size_t bytes = text.size();
  for (const std::string_view other : linked_with) bytes += other.size();
  return bytes;
}

std::string EmbeddedPtx::Linked() const {
  std::string all(text);
  for (const std::string_view other : linked_with) {
    all += '\n';
    all += other;
  }
  return all;
}

void EmbeddedPtxFinder::See(std::uint64_t offset) {
  if (offset < end_) return;
  const std::string_view all = AsText(bytes_);
  std::size_t begin = offset;
  while (begin > 0 && IsText(all[begin - 1])) --begin;
  const std::uint64_t last_end = end_;
  end_ = offset;
  while (end_ < all.size() && IsText(all[end_])) ++end_;
  const std::string_view text = all.substr(begin, end_ - begin);
#ifndef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
  const bool is_string = end_ < all.size() && all[end_] == '\0';
#else
  const bool is_string = all[end_] == '\0';
#endif
  if (!is_string || text.substr(0, kStartOfGcc.size()) != kStartOfGcc) {
    EndRun();
    return AddModules(text, begin, is_string);
  }
  if (text.find(".target") == std::string_view::npos) return EndRun();
  const bool goes_on =
      !run_.text.empty() && begin - last_end <= kMostPadding &&
      all.substr(last_end, begin - last_end).find_first_not_of('\0') ==
          std::string_view::npos;
  if (goes_on) {
    run_.linked_with.push_back(text);
  } else {
    EndRun();
    run_ = {begin, text};
  }
  run_has_kernels_ |= HasKernels(text);
}

void EmbeddedPtxFinder::AddModules(std::string_view text, std::uint64_t offset,
                                   bool is_string) {
  const std::vector<std::string_view> modules = images::ModulesIn(text);
  for (const std::string_view module : modules) {
    if (!HasKernels(module)) continue;
    found_.push_back(
        {offset + static_cast<std::uint64_t>(module.data() - text.data()),
         module});
  }
  // What is written in an unknown way is taken as it stands.
  if (modules.empty() && is_string && HasKernels(text) &&
      text.find(".target") != std::string_view::npos) {
    found_.push_back({offset, text});
  }
}

void EmbeddedPtxFinder::EndRun() {
  if (run_has_kernels_) found_.push_back(std::move(run_));
  run_ = {};
  run_has_kernels_ = false;
}

std::vector<EmbeddedPtx> EmbeddedPtxFinder::Take() && {
  EndRun();
  return std::move(found_);
}

}  // namespace cerberus::rewriter
