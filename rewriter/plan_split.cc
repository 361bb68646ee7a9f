// What splitting changes in a HIP binary (docs/marker-format.md, "HIP").
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "kpack/marker.h"
#include "rewriter/patch_elf.h"
#include "rewriter/plan.h"

namespace cerberus::rewriter {
namespace {

// How clang names images for its wrappers; with -fgpu-rdc these names are in
// the dynamic table.
constexpr std::string_view kImageSymbol = "__hip_fatbin";

// The bytes of images that the wrappers alone lead to. Neighbours with
// nothing but zeros between them become one, so that whole pages go.
Result<std::vector<ElfChange::Removed>> RemovableImages(
    const Binary& binary, std::vector<std::string>& kept) {
  const HipCode& hip = binary.hip();
  const ElfFile& elf = binary.elf();
  std::set<std::uint64_t> own_slots;
  for (const HipWrapper& wrapper : hip.wrappers) {
    own_slots.insert(wrapper.data.vaddr);
  }
  std::vector<const LocatedHipImage*> images;
  for (const LocatedHipImage& image : hip.images) {
    if (image.wrappers.empty()) {
      kept.push_back(
          fmt::format("no wrapper leads to the image at 0x{:x}", image.offset));
    } else {
      images.push_back(&image);
    }
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  ranges.reserve(images.size());
  for (const LocatedHipImage* image : images) {
    ranges.emplace_back(image->vaddr, image->vaddr + image->image.bytes.size());
  }
  // By address; images are by offset. A file that maps its segments in
  // another order keeps all.
  if (!std::is_sorted(ranges.begin(), ranges.end())) {
    kept.emplace_back("images are not in the order of their addresses");
    return std::vector<ElfChange::Removed>();
  }
  CERB_TRY(const std::vector<bool> referred,
           elf.ReferredRanges(ranges, own_slots, kImageSymbol));

  const auto section_of = [&](std::uint64_t offset) -> std::size_t {
    for (std::size_t i = 1; i < elf.sections().size(); ++i) {
      const Elf64_Shdr& section = elf.sections()[i].header;
      if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
          offset >= section.sh_offset &&
          offset - section.sh_offset < section.sh_size) {
        return i;
      }
    }
    return 0;
  };
  std::vector<ElfChange::Removed> removed;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::uint64_t start = images[i]->offset;
    const std::uint64_t end = start + images[i]->image.bytes.size();
    if (referred[i]) {
      kept.push_back(
          fmt::format("something else than its wrapper leads to "
                      "the image at 0x{:x}",
                      start));
      continue;
    }
    const std::size_t section = section_of(start);
    if (section != section_of(end - 1)) {
      kept.push_back(
          fmt::format("the image at 0x{:x} is in several sections", start));
      continue;
    }
    if (!removed.empty()) {
      ElfChange::Removed& last = removed.back();
      const std::uint64_t gap = last.offset + last.size;
      const std::uint8_t* bytes = elf.bytes().data();
      if (section == section_of(last.offset) &&
          std::all_of(bytes + gap, bytes + start,
                      [](std::uint8_t b) { return b == 0; })) {
        last.size = end - last.offset;
        continue;
      }
    }
    removed.push_back({start, end - start});
  }
  return removed;
}

}  // namespace

Result<Plan> PlanSplit(const Binary& binary, const SplitOptions& options) {
  const ElfFile& elf = binary.elf();
  const HipCode& hip = binary.hip();
  if (binary.is_converted()) {
    return Err(elf.Error(DiagCode::kUnsupported,
                         "is already split or converted; split the original"));
  }
  if (hip.wrappers.empty()) {
    return Err(elf.Error(DiagCode::kNoDeviceCode, "holds no HIP device code"));
  }
  if (!binary.wrappers().empty()) {
    return Err(elf.Error(DiagCode::kUnsupported,
                         "holds device code of both CUDA and HIP"));
  }
  kpack::Marker marker;
  marker.search_paths = options.search_paths;
  marker.kernel_name = options.kernel_name;
  CERB_TRY(Bytes encoded, kpack::EncodeMarker(marker));

  ElfChange change;
  change.head_why = "marker";
  change.head_size = encoded.size();
  change.head = [&](std::uint64_t) { return encoded; };
  for (const HipWrapper& wrapper : hip.wrappers) {
    Bytes magic, number;
    AppendLe(magic, kHipSplitMagic);
    AppendLe(number, wrapper.index);
    change.edits.push_back(
        {wrapper.offset, std::move(magic),
         fmt::format("wrapper {} says that it is split", wrapper.index)});
    change.edits.push_back(
        {wrapper.offset + 16, std::move(number),
         fmt::format("the number of wrapper {}", wrapper.index)});
    change.pointers.push_back(
        {wrapper.data, 0,
         fmt::format("wrapper {} leads to the marker", wrapper.index)});
  }
  std::vector<std::string> kept;
  CERB_TRY(change.removed, RemovableImages(binary, kept));
  CERB_TRY(Plan plan, PlanElf(elf, change));
  for (std::string& why : kept) {
    plan.notes.push_back(
        elf.Error(DiagCode::kUnsupported, why + "; it stays in the file"));
    plan.notes.back().severity = Severity::kNote;
  }
  return plan;
}

}  // namespace cerberus::rewriter
