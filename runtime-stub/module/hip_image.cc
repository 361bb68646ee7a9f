#include "runtime-stub/module/hip_image.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>

#include "formats/code_object.h"
#include "images/code_object.h"
#include "kpack/msgpack_value.h"

namespace cerberus::stub {
namespace {

using kpack::Document;
using kpack::Value;

// A kind of hidden argument that HIP before 6 does not know and takes for one
// of the program's: it reads a pointer to it behind the last that it is handed.
constexpr std::string_view kNewKind = "hidden_dynamic_lds_size";
// What stands in its place, in as many bytes of MessagePack with one more for
// the length: always 0, since HIP has no grids that begin elsewhere. Cerberus'
// kernels have their shared memory's size from the launch block.
constexpr std::array<std::uint8_t, 2> kOldKindHead = {0xd9, 22};  // str 8
constexpr std::string_view kOldKind = "hidden_global_offset_x";
static_assert(kOldKind.size() + kOldKindHead.size() == kNewKind.size() + 1);

// Calls `use` with what the metadata say of each kernel.
template <typename Use>
void ForEachKernel(ByteSpan code, const Use& use) {
  const auto maps = images::FindCodeObjectMaps(code, "code object");
  if (!maps) return;
  Document::Limits limits;
  limits.allow_trailing_bytes = true;
  const auto document = Document::Parse(maps->metadata, limits);
  if (!document) return;
  const Value kernels = document->root().Find(formats::kMetadataKernels);
  for (Value kernel = kernels.First(); kernel; kernel = kernels.Next(kernel)) {
    use(kernel);
  }
}

// ROCm before 5.3 copies a whole segment of arguments out of a buffer that ends
// with the last one which the metadata list. Those of version 5 are followed by
// up to 256 bytes, so that it reads what need not be there: here the segment
// ends where the list does.
void CutSegment(const Value& kernel, ByteSpan code, Bytes* cut) {
  constexpr std::uint8_t kUint16 = 0xcd;
  std::uint64_t end = 0;
  const Value args = kernel.Find(".args");
  for (Value arg = args.First(); arg; arg = args.Next(arg)) {
    end = std::max(end, arg.Find(".offset").AsUint().value_or(0) +
                            arg.Find(".size").AsUint().value_or(0));
  }
  end = AlignUp(end, 8);
  for (Value key = kernel.First(); key; key = kernel.Next(kernel.Next(key))) {
    const auto name = key.AsString();
    if (name != ".kernarg_segment_size") continue;
    const auto* value =
        reinterpret_cast<const std::uint8_t*>(name->data() + name->size());
    if (*value != kUint16 || end > *kernel.Next(key).AsUint()) return;
    std::uint8_t* to = cut->data() + (value - code.data());
    to[1] = static_cast<std::uint8_t>(end >> 8);
    to[2] = static_cast<std::uint8_t>(end);
  }
}

hipError_t LoadIntoHip5(hipModule_t* loaded, ByteSpan code) {
  static std::atomic<bool> wants_older{false};
  const Bytes known = ForHip5(code);
  if (!known.empty()) code = known;
  if (!wants_older.load(std::memory_order_relaxed)) {
    const hipError_t error = hip.hipModuleLoadData(loaded, code.data());
    if (error == hipSuccess) return error;
  }
  if (code.size() <= formats::kAbiVersionOffset ||
      code[formats::kAbiVersionOffset] != formats::kAbiVersion5) {
    return hip.hipModuleLoadData(loaded, code.data());
  }
  const hipError_t error =
      hip.hipModuleLoadData(loaded, ForHipBefore53(code).data());
  if (error == hipSuccess) wants_older = true;
  return error;
}

}  // namespace

// AMD's libraries of ROCm before 5.3 (Debian 12's are 5.2.3) know the code
// objects of version 5 by their metadata, hidden arguments included, but not by
// the ELF header's number, which is all that version 4 has otherwise
// (AMDGPUUsage, "ELF Header": the flags of both mean the same).
Bytes ForHipBefore53(ByteSpan code) {
  Bytes older(code.begin(), code.end());
  older[formats::kAbiVersionOffset] = formats::kAbiVersion4;
  ForEachKernel(code,
                [&](const Value& kernel) { CutSegment(kernel, code, &older); });
  return older;
}

Bytes ForHip5(ByteSpan code) {
  Bytes known;
  ForEachKernel(code, [&](const Value& kernel) {
    const Value args = kernel.Find(".args");
    for (Value arg = args.First(); arg; arg = args.Next(arg)) {
      const auto kind = arg.Find(".value_kind").AsString();
      if (kind != kNewKind) continue;
      if (known.empty()) known.assign(code.begin(), code.end());
      // Behind the byte that says how long it is.
      const auto* text = reinterpret_cast<const std::uint8_t*>(kind->data());
      const auto head = known.begin() + (text - code.data()) - 1;
      std::copy(kOldKind.begin(), kOldKind.end(),
                std::copy(kOldKindHead.begin(), kOldKindHead.end(), head));
    }
  });
  return known;
}

hipError_t LoadIntoHip(hipModule_t* loaded, ByteSpan code) {
  return hip.major == 5 ? LoadIntoHip5(loaded, code)
                        : hip.hipModuleLoadData(loaded, code.data());
}

}  // namespace cerberus::stub
