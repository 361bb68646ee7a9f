#include "rewriter/needle_scan.h"

#include <algorithm>
#include <cstddef>

namespace cerberus::rewriter {
namespace {

// Fits the second cache, with what the kernel needs to fill it.
constexpr std::size_t kBuffer = std::size_t{256} << 10;

// Compilers make vector instructions of a loop without an exit, so a block is
// asked for the first two bytes of either needle, and only one that has them
// is looked at byte by byte.
constexpr std::size_t kBlock = 512;

bool MayHold(const std::uint8_t* block, Needle first, Needle second) {
  const auto a0 = static_cast<std::uint8_t>(first);
  const auto a1 = static_cast<std::uint8_t>(first >> 8);
  const auto b0 = static_cast<std::uint8_t>(second);
  const auto b1 = static_cast<std::uint8_t>(second >> 8);
  std::uint8_t any = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint8_t x = block[i], y = block[i + 1];
    any |= static_cast<std::uint8_t>((x == a0) & (y == a1)) |
           static_cast<std::uint8_t>((x == b0) & (y == b1));
  }
  return any != 0;
}

// The first place before `count` where a needle begins, or `count`. Bytes up
// to `count` + 7 are there.
std::size_t Find(const std::uint8_t* bytes, std::size_t count, Needle first,
                 Needle second) {
  std::size_t at = 0;
  while (at < count) {
    const std::size_t size = std::min(kBlock, count - at);
    if (size == kBlock && !MayHold(bytes + at, first, second)) {
      at += size;
      continue;
    }
    for (const std::size_t end = at + size; at < end; ++at) {
      const auto word = LoadLe<std::uint64_t>(bytes + at);
      if (word == first || word == second) return at;
    }
  }
  return count;
}

}  // namespace

Status NeedleScan::Load(std::uint64_t from) {
  if (file_ == nullptr) {
    window_ = bytes_;
    return {};
  }
  const std::uint64_t size =
      std::min<std::uint64_t>(kBuffer, bytes_.size() - from);
  buffer_.resize(kBuffer);
  CERB_TRY_VOID(file_->ReadInto(from, std::span(buffer_).first(size)));
  window_ = ByteSpan(buffer_).first(size);
  window_at_ = from;
  return {};
}

Result<std::uint64_t> NeedleScan::Next(std::uint64_t from, std::uint64_t to) {
  constexpr std::uint64_t kRest = sizeof(Needle) - 1;
  const std::uint64_t size = bytes_.size();
  const std::uint64_t end = std::min(to, size < kRest ? 0 : size - kRest);
  while (from < end) {
    const std::uint64_t into = from - window_at_;
    if (from < window_at_ || into + kRest >= window_.size()) {
      CERB_TRY_VOID(Load(from));
      continue;
    }
    const std::size_t count =
        std::min<std::uint64_t>(window_.size() - kRest - into, end - from);
    const std::size_t found =
        Find(window_.data() + into, count, first_, second_);
    from += found;
    if (found != count) return from;
  }
  return to;
}

}  // namespace cerberus::rewriter
