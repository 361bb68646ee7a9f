#include "rewriter/removable.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cerberus::rewriter {
namespace {

// The number of the region that holds all of the bytes; none if several do.
std::optional<std::size_t> RegionOf(
    const std::vector<ObjectFile::Region>& regions, const DeviceCode& code) {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (code.offset >= regions[i].offset &&
        code.offset - regions[i].offset < regions[i].size &&
        code.size <= regions[i].size - (code.offset - regions[i].offset)) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<RemovableCode> FindRemovable(const ObjectFile& file,
                                    const std::vector<DeviceCode>& codes,
                                    const std::set<std::uint64_t>& own_slots,
                                    std::string_view own_prefix,
                                    std::string_view what) {
  RemovableCode out;
  const auto keep = [&](std::string why) {
    out.kept.push_back(file.Error(DiagCode::kUnsupported,
                                  std::move(why) + "; it stays in the file"));
    out.kept.back().severity = Severity::kNote;
  };
  std::vector<DeviceCode> owned;
  std::vector<AddressRange> ranges;
  for (const DeviceCode& code : codes) {
    if (!code.has_wrapper || code.vaddr == 0) {
      keep(fmt::format("no wrapper leads to the {} at 0x{:x}", what,
                       code.offset));
      continue;
    }
    // By address; `codes` are by offset. A file that maps its segments in
    // another order, or twice, keeps all.
    if (!ranges.empty() && code.vaddr < ranges.back().end) {
      keep(
          fmt::format("the {}s are not in the order of their addresses", what));
      return out;
    }
    owned.push_back(code);
    ranges.push_back({code.vaddr, code.vaddr + code.size});
  }
  CERB_TRY(const std::vector<bool> referred,
           file.ReferredRanges(ranges, own_slots, own_prefix));
  const std::vector<ObjectFile::Region> regions = file.Regions();
  const std::uint8_t* bytes = file.bytes().data();
  std::optional<std::size_t> last_region;
  for (std::size_t i = 0; i < owned.size(); ++i) {
    const DeviceCode& code = owned[i];
    if (referred[i]) {
      keep(
          fmt::format("something else than its wrapper leads to the {} at "
                      "0x{:x}",
                      what, code.offset));
      continue;
    }
    const auto region = RegionOf(regions, code);
    if (!region) {
      keep(fmt::format("the {} at 0x{:x} is in several sections", what,
                       code.offset));
      continue;
    }
    if (!out.removed.empty() && last_region == region) {
      Removed& last = out.removed.back();
      if (std::all_of(bytes + last.offset + last.size, bytes + code.offset,
                      [](std::uint8_t b) { return b == 0; })) {
        last.size = code.offset + code.size - last.offset;
        continue;
      }
    }
    last_region = region;
    out.removed.push_back({code.offset, code.size});
  }
  return out;
}

}  // namespace cerberus::rewriter
