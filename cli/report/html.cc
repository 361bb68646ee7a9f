#include "cli/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace cerberus::cli {
namespace {

struct Decoded {
  char32_t code = 0;
  std::size_t size = 0;  // 0: no character begins here
};

bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// One character of UTF-8 (RFC 3629): the shortest form only, no surrogates.
Decoded Decode(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  std::size_t size = 0;
  char32_t code = 0, least = 0;
  if ((first & 0xe0) == 0xc0) {
    size = 2, code = first & 0x1f, least = 0x80;
  } else if ((first & 0xf0) == 0xe0) {
    size = 3, code = first & 0x0f, least = 0x800;
  } else if ((first & 0xf8) == 0xf0) {
    size = 4, code = first & 0x07, least = 0x10000;
  }
  if (size == 0 || text.size() < size) return {};
  for (std::size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  if (code < least || code > 0x10ffff) return {};
  if (code >= 0xd800 && code < 0xe000) return {};
  return {code, size};
}

// Unicode's general categories Cc, Zl and Zp, of Cf those that hide or reorder
// (UAX #9, explicit formatting; zero width; tags), and noncharacters.
struct Range {
  char32_t first, last;
};
constexpr Range kUnseen[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x34f, 0x34f},
    {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},  {0x2028, 0x202e},
    {0x2060, 0x206f}, {0xfdd0, 0xfdef}, {0xfe00, 0xfe0f},  {0xfeff, 0xfeff},
    {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff}};

bool IsUnseen(char32_t code) {
  return (code & 0xfffe) == 0xfffe ||
         std::any_of(std::begin(kUnseen), std::end(kUnseen),
                     [code](const Range& range) {
                       return range.first <= code && code <= range.last;
                     });
}

}  // namespace

std::string HtmlText(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const Decoded next = Decode(text);
    if (next.size == 0) {
      out += fmt::format("\\x{{{:02x}}}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    switch (next.code) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        if (IsUnseen(next.code)) {
          out +=
              fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(next.code));
        } else {
          out += text.substr(0, next.size);
        }
    }
    text.remove_prefix(next.size);
  }
  return out;
}

std::size_t WholeCharacters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  std::size_t at = most;
  // A character has four bytes at most; what is longer is no UTF-8.
  for (int i = 0; i < 3 && at != 0 && IsContinuation(text[at]); ++i) --at;
  return IsContinuation(text[at]) ? most : at;
}

}  // namespace cerberus::cli
