#include "emulator/hip/offload_bundle.h"

#include <algorithm>
#include <string>
#include <vector>

#include "images/hip_bundle.h"
#include "support/targets/target_id.h"

namespace cerberus::emulator::hip {
namespace {

// More than any code object is: how far an image without a size may reach.
constexpr std::uint64_t kMaxImage = std::uint64_t{1} << 32;

Result<ByteSpan> FromBundle(ByteSpan image, std::string_view target) {
  CERB_TRY(TargetId wanted, TargetId::Parse(target));
  // The best entry: named by the earliest of the device's load order; else
  // one for the same processor with features the device leaves open.
  const std::vector<std::string> order = wanted.LoadOrder();
  std::size_t best_rank = order.size() + 1;
  ByteSpan best;
  std::string present;

  CERB_TRY(const std::vector<images::BundleEntry> entries,
           images::ParseBundle(image));
  for (const images::BundleEntry& row : entries) {
    const std::string_view entry = row.target;
    if (entry.empty() || row.object.empty()) continue;
    present += present.empty() ? "" : ", ";
    present += entry;
    Result<TargetId> parsed = TargetId::Parse(entry);
    if (!parsed) continue;
    const std::size_t rank = static_cast<std::size_t>(
        std::find(order.begin(), order.end(), parsed->ToString()) -
        order.begin());
    if (rank == order.size() &&
        (!wanted.features.empty() || parsed->processor != wanted.processor)) {
      continue;
    }
    if (rank < best_rank) {
      best_rank = rank;
      best = row.object;
    }
  }
  if (best.empty()) {
    return Err(DiagCode::kUnsupported,
               "no code object for " + std::string(target) +
                   " among those of the program (" + present + ")");
  }
  return best;
}

}  // namespace

Result<ByteSpan> SelectCodeObject(ByteSpan image, std::string_view target,
                                  Bytes* unpacked) {
  if (images::IsCompressedBundle(image)) {
    CERB_TRY(*unpacked, images::DecompressBundle(image));
    image = *unpacked;
    if (!images::IsBundle(image)) {
      return Err(DiagCode::kBadFormat,
                 "compressed offload bundle holds no offload bundle");
    }
  }
  if (images::IsBundle(image)) return FromBundle(image, target);
  if (images::IsHipImage(image)) return images::ElfExtent(image);
  return Err(DiagCode::kBadFormat,
             "module image is neither a code object nor an offload bundle");
}

Result<ByteSpan> SelectCodeObject(const void* image, std::string_view target,
                                  Bytes* unpacked) {
  return SelectCodeObject(
      ByteSpan(static_cast<const std::uint8_t*>(image), kMaxImage), target,
      unpacked);
}

}  // namespace cerberus::emulator::hip
