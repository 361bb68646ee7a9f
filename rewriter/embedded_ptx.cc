#include "rewriter/embedded_ptx.h"

#include <algorithm>

namespace cerberus::rewriter {
namespace {

bool IsText(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7f) || (byte >= '\t' && byte <= '\r');
}

}  // namespace

std::vector<EmbeddedPtx> FindEmbeddedPtx(
    ByteSpan bytes,
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& leave_out) {
  constexpr std::string_view kFirstDirective = ".version";
  const std::string_view all = AsText(bytes);
  std::vector<EmbeddedPtx> found;
  std::size_t at = 0;
  while ((at = all.find(kFirstDirective, at)) != std::string_view::npos) {
    const auto inside = std::find_if(
        leave_out.begin(), leave_out.end(), [&](const auto& range) {
          return at >= range.first && at < range.second;
        });
    if (inside != leave_out.end()) {
      at = inside->second;
      continue;
    }
    std::size_t begin = at;
    while (begin > 0 && IsText(all[begin - 1])) --begin;
    std::size_t end = at;
    while (end < all.size() && IsText(all[end])) ++end;
    const std::string_view text = all.substr(begin, end - begin);
    const bool terminated = end < all.size() && all[end] == '\0';
    if (terminated && text.find(".target") != std::string_view::npos &&
        text.find(".entry") != std::string_view::npos) {
      found.push_back({begin, text});
    }
    at = end;
  }
  return found;
}

}  // namespace cerberus::rewriter
