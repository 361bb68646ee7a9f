#include "rewriter/references.h"

#include <algorithm>

namespace cerberus::rewriter {
namespace {

// Little of a large file is in memory at a time.
constexpr std::uint64_t kMuch = 4 << 20;

}  // namespace

const AddressRange* References::Find(std::uint64_t vaddr) const {
  const auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), vaddr,
                       [](std::uint64_t v, const AddressRange& range) {
                         return v < range.first;
                       });
  if (behind == ranges_.begin()) return nullptr;
  const AddressRange* range = &*(behind - 1);
  return vaddr < range->end ? range : nullptr;
}

void References::See(std::uint64_t vaddr) {
  if (const AddressRange* range = Find(vaddr)) Mark(range);
}

void References::SeeStart(std::uint64_t vaddr) {
  const AddressRange* range = Find(vaddr);
  if (range != nullptr && range->first == vaddr) Mark(range);
}

void References::SeeCode(const ObjectFile& file,
                         const ObjectFile::Region& region, const Bases& bases) {
  if (ranges_.empty()) return;
  const std::uint8_t* code = file.bytes().data() + region.offset;
  const std::uint64_t low = ranges_.front().first;
  const std::uint64_t span = ranges_.back().end - low;
  const auto may_be = [&](std::uint64_t v) { return v - low < span; };
  std::uint64_t let_go_at = kMuch;
  for (std::uint64_t at = 1; at + 4 <= region.size; ++at) {
    if (at >= let_go_at) {
      file.LetGo();
      let_go_at = at + kMuch;
    }
    // In a file with one segment for all, device code is not machine code.
    if (const std::uint64_t vaddr = region.vaddr + at; may_be(vaddr)) {
      if (const AddressRange* inside = Find(vaddr)) {
        at += inside->end - vaddr - 1;
        continue;
      }
    }
    const auto operand = LoadLe<std::uint32_t>(code + at);
    for (const std::uint64_t base : bases.narrow) {
      if (may_be(base + operand)) SeeStart(base + operand);
    }
    for (const std::uint64_t base : bases.wide) {
      if (at + 8 > region.size) break;
      const auto wide = LoadLe<std::uint64_t>(code + at);
      if (may_be(base + wide)) SeeStart(base + wide);
    }
    if ((code[at - 1] & 0xc7) != 0x05) continue;
    const std::uint64_t target = region.vaddr + at + 4 +
                                 static_cast<std::uint64_t>(std::int64_t{
                                     static_cast<std::int32_t>(operand)});
    if (!may_be(target) && !may_be(target + 4)) continue;
    // REX.W, and REX.R for the upper eight registers.
    if (at >= 3 && code[at - 2] == 0x8d && (code[at - 3] & 0xfb) == 0x48) {
      See(target);
    }
    // The address counts from the end of the instruction, which an immediate
    // of 1, 2 or 4 bytes may be part of.
    for (const std::uint64_t immediate : {0, 1, 2, 4}) {
      SeeStart(target + immediate);
    }
  }
}

void References::SeePlainData(const ObjectFile& file,
                              const ObjectFile::Region& region) {
  std::uint64_t let_go_at = kMuch;
  for (std::uint64_t at = (0 - region.vaddr) & 7; at + 8 <= region.size;
       at += 8) {
    if (at >= let_go_at) {
      file.LetGo();
      let_go_at = at + kMuch;
    }
    const std::uint64_t vaddr = region.vaddr + at;
    if (const AddressRange* inside = Find(vaddr)) {
      at += (inside->end - vaddr - 1) & ~std::uint64_t{7};
      continue;
    }
    if (IsOwn(vaddr)) continue;
    See(LoadLe<std::uint64_t>(file.bytes().data() + region.offset + at));
  }
}

}  // namespace cerberus::rewriter
