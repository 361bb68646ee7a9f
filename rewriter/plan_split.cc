// What splitting changes in a HIP binary (docs/marker-format.md, "HIP").
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "kpack/marker.h"
#include "rewriter/elf/patch_elf.h"
#include "rewriter/payload.h"
#include "rewriter/pe/patch_pe.h"
#include "rewriter/plan.h"
#include "rewriter/removable.h"

namespace cerberus::rewriter {
namespace {

// How clang names images for its wrappers; with -fgpu-rdc these names are in
// the dynamic table.
constexpr std::string_view kImageSymbol = "__hip_fatbin";

Result<RemovableCode> RemovableImages(const Binary& binary) {
  const HipCode& hip = binary.hip();
  std::set<std::uint64_t> own_slots;
  for (const HipWrapper& wrapper : hip.wrappers) {
    own_slots.insert(wrapper.data.vaddr);
  }
  std::vector<DeviceCode> codes;
  codes.reserve(hip.images.size());
  for (const LocatedHipImage& image : hip.images) {
    codes.push_back({image.vaddr, image.offset, image.image.bytes.size(),
                     !image.wrappers.empty()});
  }
  return FindRemovable(binary.object(), codes, own_slots, kImageSymbol,
                       "image");
}

}  // namespace

Result<Plan> PlanSplit(const Binary& binary, const SplitOptions& options) {
  const ObjectFile& object = binary.object();
  const HipCode& hip = binary.hip();
  if (binary.is_converted()) {
    return Err(
        object.Error(DiagCode::kUnsupported,
                     "is already split or converted; split the original"));
  }
  if (hip.wrappers.empty()) {
    return Err(
        object.Error(DiagCode::kNoDeviceCode, "holds no HIP device code"));
  }
  if (!binary.wrappers().empty()) {
    return Err(object.Error(DiagCode::kUnsupported,
                            "holds device code of both CUDA and HIP"));
  }
  kpack::Marker marker;
  marker.search_paths = options.search_paths;
  marker.kernel_name = options.kernel_name;
  CERB_TRY(Bytes encoded, kpack::EncodeMarker(marker));

  ElfChange change;
  change.head_why = "marker";
  change.head_size = encoded.size();
  change.head = [&](std::uint64_t, const auto&) { return encoded; };
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
  CERB_TRY(RemovableCode removable, RemovableImages(binary));
  change.removed = std::move(removable.removed);
  CERB_TRY(Plan plan, binary.is_pe() ? PlanPe(binary.pe(), change)
                                     : PlanElf(binary.elf(), change));
  std::move(removable.kept.begin(), removable.kept.end(),
            std::back_inserter(plan.notes));
  if (auto warning =
          PayloadWarning(binary.path(), binary.bytes(), binary.elf());
      warning && !binary.is_pe()) {
    plan.notes.push_back(*std::move(warning));
  }
  return plan;
}

}  // namespace cerberus::rewriter
