#include "cli/code_object.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "formats/code_object.h"
#include "images/code_object.h"
#include "kpack/msgpack_value.h"

namespace cerberus::cli {
namespace {

using kpack::Document;
using kpack::Value;

std::uint64_t UintOf(Value map, std::string_view key) {
  return map.Find(key).AsUint().value_or(0);
}

void ReadMetadata(Value root, CodeObject& object) {
  std::string_view target =
      root.Find(formats::kMetadataTarget).AsString().value_or("");
  if (target.substr(0, formats::kMetadataTargetPrefix.size()) ==
      formats::kMetadataTargetPrefix) {
    target.remove_prefix(formats::kMetadataTargetPrefix.size());
  }
  object.target = target;
  const Value kernels = root.Find(formats::kMetadataKernels);
  if (!kernels.is_array()) return;
  for (Value k = kernels.First(); k; k = kernels.Next(k)) {
    CodeObject::Kernel kernel;
    kernel.name = k.Find(".name").AsString().value_or("");
    kernel.kernarg_bytes = UintOf(k, ".kernarg_segment_size");
    kernel.lds_bytes = UintOf(k, ".group_segment_fixed_size");
    kernel.scratch_bytes = UintOf(k, ".private_segment_fixed_size");
    kernel.vgprs = UintOf(k, ".vgpr_count");
    kernel.sgprs = UintOf(k, ".sgpr_count");
    kernel.agprs = UintOf(k, ".agpr_count");
    kernel.vgpr_spills = UintOf(k, ".vgpr_spill_count");
    kernel.sgpr_spills = UintOf(k, ".sgpr_spill_count");
    kernel.max_group_size = UintOf(k, ".max_flat_workgroup_size");
    kernel.wave_size = UintOf(k, ".wavefront_size");
    object.kernels.push_back(std::move(kernel));
  }
}

void ReadInfo(Value root, CodeObject& object) {
  object.abi = root.Find(formats::kInfoAbi).AsInt().value_or(-1);
  object.ptxc = root.Find(formats::kInfoPtxc).AsString().value_or("");
  object.sm = root.Find(formats::kInfoSm).AsInt().value_or(0);
  const Value version = root.Find(formats::kInfoPtx);
  if (version.is_array() && version.size() == 2) {
    const Value major = version.First();
    object.ptx_version = fmt::format("{}.{}", major.AsUint().value_or(0),
                                     version.Next(major).AsUint().value_or(0));
  }
  const Value failed = root.Find(formats::kInfoFailed);
  if (!failed.is_map()) return;
  for (Value kernel = failed.First(); kernel;) {
    const Value reason = failed.Next(kernel);
    object.failed.emplace(kernel.AsString().value_or(""),
                          reason.AsString().value_or(""));
    kernel = failed.Next(reason);
  }
}

}  // namespace

void WriteKernelJson(const CodeObject::Kernel& kernel, JsonWriter& json) {
  json.Key("name").String(kernel.name);
  json.Key("wave_size").Uint(kernel.wave_size);
  json.Key("vgprs").Uint(kernel.vgprs);
  json.Key("agprs").Uint(kernel.agprs);
  json.Key("sgprs").Uint(kernel.sgprs);
  json.Key("vgpr_spills").Uint(kernel.vgpr_spills);
  json.Key("sgpr_spills").Uint(kernel.sgpr_spills);
  json.Key("lds_bytes").Uint(kernel.lds_bytes);
  json.Key("scratch_bytes").Uint(kernel.scratch_bytes);
  json.Key("kernarg_bytes").Uint(kernel.kernarg_bytes);
  json.Key("max_group_size").Uint(kernel.max_group_size);
}

Result<CodeObject> ReadCodeObject(ByteSpan bytes, const std::string& name) {
  CERB_TRY(const images::CodeObjectMaps maps,
           images::FindCodeObjectMaps(bytes, name));
  CodeObject object;
  const auto read_map = [&](ByteSpan map, const char* what,
                            void (*read)(Value, CodeObject&)) -> Status {
    if (map.empty()) return {};
    Document::Limits limits;
    limits.allow_trailing_bytes = true;  // sections are padded
    Result<Document> document = Document::Parse(map, limits);
    const auto fail = [&](std::string message) {
      Where where;
      where.file = name;
      where.offset = map.data() - bytes.data();
      return Err(
          MakeDiag(DiagCode::kBadFormat, std::move(where), std::move(message)));
    };
    if (!document) {
      return fail(fmt::format("{}: {}", what, document.error().message));
    }
    if (!document->root().is_map()) {
      return fail(fmt::format("{} is not a map", what));
    }
    read(document->root(), object);
    return {};
  };
  CERB_TRY_VOID(read_map(maps.metadata, "AMDGPU metadata", ReadMetadata));
  CERB_TRY_VOID(read_map(maps.info, formats::kInfoSection, ReadInfo));
  return object;
}

}  // namespace cerberus::cli
