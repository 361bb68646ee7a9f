#include "cli/convert/code_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "formats/code_object.h"
#include "formats/kernel_forms.h"
#include "images/code_object.h"
#include "kpack/msgpack_value.h"
#include "support/targets/occupancy.h"
#include "support/targets/target_id.h"

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
    kernel.max_threads = kernel.max_group_size;
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
  const Value kernels = root.Find(formats::kInfoKernels);
  for (CodeObject::Kernel& kernel : object.kernels) {
    kernel.form_of = formats::KernelOfForm(kernel.name);
    const Value facts = kernels.Find(kernel.name);
    if (kernel.wave_size == 64 &&
        facts.Find(formats::kInfoWarpsPerWave).AsUint().value_or(1) == 1) {
      kernel.max_threads /= 2;
    }
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

// Further forms stand behind the kernel; without one they are kernels.
void OrderForms(std::vector<CodeObject::Kernel>& kernels) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    places.emplace(kernels[i].name, i);
  }
  for (CodeObject::Kernel& kernel : kernels) {
    if (places.count(kernel.form_of) == 0) kernel.form_of.clear();
  }
  // Where it belongs, whether it is a further form, and where it was.
  std::vector<std::tuple<std::size_t, bool, std::size_t>> order;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const bool first = kernels[i].form_of.empty();
    order.emplace_back(places.at(first ? kernels[i].name : kernels[i].form_of),
                       !first, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<CodeObject::Kernel> ordered;
  ordered.reserve(order.size());
  for (const auto& row : order) {
    ordered.push_back(std::move(kernels[std::get<2>(row)]));
  }
  kernels = std::move(ordered);
}

}  // namespace

void WriteKernelJson(const CodeObject::Kernel& kernel, JsonWriter& json) {
  json.Key("name").String(kernel.name);
  if (!kernel.form_of.empty()) json.Key("form_of").String(kernel.form_of);
  json.Key("max_threads").Uint(kernel.max_threads);
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
  if (kernel.waves_per_simd != 0) {
    json.Key("waves_per_simd").Uint(kernel.waves_per_simd);
  }
}

std::string CodeObject::Kernel::Describe() const {
  std::string text = fmt::format(
      "{}{}blocks to {}: wave{}, {} VGPRs, {} SGPRs, {} bytes LDS, {} bytes "
      "scratch, {} VGPRs and {} SGPRs spilled",
      form_of.empty() ? "" : name.substr(form_of.size()),
      form_of.empty() ? "" : ", ", max_threads, wave_size, vgprs, sgprs,
      lds_bytes, scratch_bytes, vgpr_spills, sgpr_spills);
  if (waves_per_simd != 0) {
    text += fmt::format(", {} wave{} a SIMD", waves_per_simd,
                        waves_per_simd == 1 ? "" : "s");
  }
  return text;
}

std::size_t CodeObject::KernelCount() const {
  return static_cast<std::size_t>(std::count_if(
      kernels.begin(), kernels.end(),
      [](const Kernel& kernel) { return kernel.form_of.empty(); }));
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
  OrderForms(object.kernels);
  const Result<TargetId> target = TargetId::Parse(object.target);
  for (CodeObject::Kernel& kernel : object.kernels) {
    const auto number = [](std::uint64_t value) {
      return static_cast<std::uint32_t>(
          std::min<std::uint64_t>(value, UINT16_MAX + 1));
    };
    kernel.waves_per_simd = WavesPerSimd(
        target ? target->processor : "",
        {number(kernel.wave_size), number(kernel.vgprs), number(kernel.sgprs),
         number(kernel.lds_bytes), number(kernel.max_group_size)});
  }
  return object;
}

}  // namespace cerberus::cli
