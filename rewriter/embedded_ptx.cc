#include "rewriter/embedded_ptx.h"

namespace cerberus::rewriter {
namespace {

bool IsText(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7f) || (byte >= '\t' && byte <= '\r');
}

}  // namespace

void EmbeddedPtxFinder::See(std::uint64_t offset) {
  if (offset < end_) return;
  const std::string_view all = AsText(bytes_);
  std::size_t begin = offset;
  while (begin > 0 && IsText(all[begin - 1])) --begin;
  end_ = offset;
  while (end_ < all.size() && IsText(all[end_])) ++end_;
  const std::string_view text = all.substr(begin, end_ - begin);
  const bool terminated = end_ < all.size() && all[end_] == '\0';
  if (terminated && text.find(".target") != std::string_view::npos &&
      text.find(".entry") != std::string_view::npos) {
    found_.push_back({begin, text});
  }
}

}  // namespace cerberus::rewriter
