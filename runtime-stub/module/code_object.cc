#include "runtime-stub/module/code_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/code_object.h"
#include "formats/kernel_forms.h"
#include "formats/launch_abi.h"
#include "images/code_object.h"
#include "kpack/msgpack_value.h"

namespace cerberus::stub {
namespace {

using kpack::Document;
using kpack::Value;

// CUDA allows 32,764 bytes of parameters; hidden arguments come on top. The
// stub builds the buffer on the stack.
constexpr std::uint32_t kMaxKernargBytes = 64 * 1024;

Diag Bad(std::string message) {
  return MakeDiag(DiagCode::kBadFormat, "code object: " + std::move(message));
}

std::uint32_t Number(Value map, std::string_view key, std::uint32_t missing) {
  const auto value = map.Find(key).AsUint();
  return value && *value <= UINT32_MAX ? static_cast<std::uint32_t>(*value)
                                       : missing;
}

std::string Text(Value value) {
  const auto text = value.AsString();
  return text ? std::string(*text) : std::string();
}

Result<KernelInfo> ReadKernel(Value map) {
  KernelInfo kernel;
  kernel.name = Text(map.Find(".name"));
  if (kernel.name.empty()) return Err(Bad("a kernel without a name"));
  kernel.kernarg_size = Number(map, ".kernarg_segment_size", 0);
  kernel.static_shared = Number(map, ".group_segment_fixed_size", 0);
  kernel.local_bytes = Number(map, ".private_segment_fixed_size", 0);
  kernel.registers = Number(map, ".vgpr_count", 0);
  kernel.max_threads =
      Number(map, ".max_flat_workgroup_size", kernel.max_threads);
  kernel.wave_size = Number(map, ".wavefront_size", kernel.wave_size);
  if (kernel.kernarg_size > kMaxKernargBytes) {
    return Err(
        Bad(fmt::format("kernel {}: {} bytes of arguments, at most {} "
                        "are expected",
                        kernel.name, kernel.kernarg_size, kMaxKernargBytes)));
  }
  const Value args = map.Find(".args");
  for (Value arg = args.First(); arg; arg = args.Next(arg)) {
    const std::string kind = Text(arg.Find(".value_kind"));
    if (kind.compare(0, 7, "hidden_") == 0) continue;
    const std::uint32_t offset = Number(arg, ".offset", UINT32_MAX);
    const std::uint32_t size = Number(arg, ".size", UINT32_MAX);
    if (offset > kernel.kernarg_size || size > kernel.kernarg_size - offset) {
      return Err(
          Bad(fmt::format("kernel {}: an argument runs past the {} "
                          "bytes of all arguments",
                          kernel.name, kernel.kernarg_size)));
    }
    if (Text(arg.Find(".name")) == formats::kLaunchBlockName) {
      if (size != sizeof(formats::LaunchBlock)) {
        return Err(
            Bad(fmt::format("kernel {}: launch block of {} bytes, "
                            "expected {}",
                            kernel.name, size, sizeof(formats::LaunchBlock))));
      }
      kernel.launch_block = offset;
    } else if (Text(arg.Find(".name")) == formats::kWindowBlockName) {
      if (size != sizeof(formats::WindowBlock)) {
        return Err(
            Bad(fmt::format("kernel {}: window block of {} bytes, "
                            "expected {}",
                            kernel.name, size, sizeof(formats::WindowBlock))));
      }
      kernel.window = offset;
    } else {
      kernel.params.push_back({offset, size});
    }
  }
  return kernel;
}

std::array<std::uint32_t, 3> Triple(Value list) {
  std::array<std::uint32_t, 3> out = {0, 0, 0};
  std::size_t i = 0;
  for (Value v = list.First(); v && i < out.size(); v = list.Next(v)) {
    out[i++] = static_cast<std::uint32_t>(v.AsUint().value_or(0));
  }
  return out;
}

// A block as PTX limits it: only the number of threads counts.
std::uint64_t Threads(const std::array<std::uint32_t, 3>& block) {
  std::uint64_t threads = 1;
  for (std::uint32_t side : block) threads *= side != 0 ? side : 1;
  return threads;
}

// Threads of a block where each warp has a wave of 64.
constexpr std::uint32_t kMostOfHalfWaves = 512;

// Other forms are found through the first one only. `kernels` are sorted, so
// that they stand behind it.
void AttachForms(std::vector<KernelInfo>* kernels) {
  std::vector<KernelInfo> kept;
  for (KernelInfo& kernel : *kernels) {
    const std::string_view of = formats::KernelOfForm(kernel.name);
    const auto first = std::lower_bound(
        kept.begin(), kept.end(), of,
        [](const KernelInfo& k, std::string_view n) { return k.name < n; });
    if (of.empty() || first == kept.end() || first->name != of ||
        first->forms.size() + 1 == KernelInfo::kForms) {
      kept.push_back(std::move(kernel));
      continue;
    }
    if (kernel.max_threads > first->max_threads) {
      first->max_threads = kernel.max_threads;
      first->declares_max_threads = kernel.declares_max_threads;
    }
    kernel.form = static_cast<unsigned>(first->forms.size() + 1);
    first->forms.push_back(std::make_shared<KernelInfo>(std::move(kernel)));
  }
  *kernels = std::move(kept);
}

void ReadClusters(Value facts, KernelInfo* kernel) {
  if (const Value blocks = facts.Find(formats::kInfoCluster)) {
    kernel->required_cluster = Triple(blocks);
  }
  kernel->max_cluster = Number(facts, formats::kInfoMaxCluster, 0);
  kernel->explicit_cluster =
      Number(facts, formats::kInfoExplicitCluster, 0) != 0;
  kernel->blocks_are_clusters =
      Number(facts, formats::kInfoBlocksAreClusters, 0) != 0;
  if (facts.Find(formats::kInfoClusters)) {
    kernel->clusters = Number(facts, formats::kInfoClusters, 0) != 0;
  }
}

void ReadInfo(Value map, CodeObjectInfo* out) {
  out->abi = Number(map, formats::kInfoAbi, 0);
  out->sm = Number(map, formats::kInfoSm, 0);
  const Value failed = map.Find(formats::kInfoFailed);
  for (Value key = failed.First(); key; key = failed.Next(failed.Next(key))) {
    out->failed.push_back({Text(key), Text(failed.Next(key))});
  }
  const Value managed = map.Find(formats::kInfoManaged);
  for (Value name = managed.First(); name; name = managed.Next(name)) {
    out->managed.push_back(Text(name));
  }
  const Value kernels = map.Find(formats::kInfoKernels);
  for (KernelInfo& kernel : out->kernels) {
    kernel.const_bytes = Number(map, formats::kInfoConst, 0);
    const Value facts = kernels.Find(kernel.name);
    if (!facts) continue;
    if (kernel.wave_size == 64 &&
        Number(facts, formats::kInfoWarpsPerWave, 1) == 1) {
      kernel.half_waves = true;
      kernel.max_threads = std::min(kernel.max_threads / 2, kMostOfHalfWaves);
    }
    kernel.launches = Number(facts, formats::kInfoLaunches, 0) != 0;
    kernel.handle = Number(facts, formats::kInfoHandle, 0) != 0;
    ReadClusters(facts, &kernel);
    kernel.own_shared = std::min(Number(facts, formats::kInfoOwnShared, 0),
                                 kernel.static_shared);
    // The metadata knows only what is left in the hardware's.
    if (kernel.window) {
      const std::uint32_t bytes = Number(facts, formats::kInfoWindow, 0);
      kernel.tensor_memory =
          std::min(Number(facts, formats::kInfoTensor, 0), bytes);
      kernel.static_shared = bytes - kernel.tensor_memory;
      kernel.own_shared = 0;
    }
    if (const Value block = facts.Find(formats::kInfoReqntid)) {
      kernel.required_block = Triple(block);
    }
    if (const Value block = facts.Find(formats::kInfoMaxntid)) {
      const std::uint64_t threads = Threads(Triple(block));
      if (threads <= kernel.max_threads) {
        kernel.max_threads = static_cast<std::uint32_t>(threads);
        kernel.declares_max_threads = true;
      }
    }
  }
  for (KernelInfo& kernel : out->kernels) {
    kernel.form_threads = kernel.max_threads;
  }
  AttachForms(&out->kernels);
}

}  // namespace

std::uint32_t KernelInfo::explicit_size() const {
  std::uint32_t size = 0;
  for (const KernelParam& param : params) {
    size = std::max(size, param.offset + param.size);
  }
  if (launch_block) {
    size = std::max<std::uint32_t>(
        size, *launch_block + sizeof(formats::LaunchBlock));
  }
  return size;
}

std::uint32_t KernelInfo::SharedLimit(std::uint32_t hardware_limit) const {
  const bool in_window =
      window || std::any_of(forms.begin(), forms.end(),
                            [](const auto& form) { return form->window; });
  return in_window ? std::max(hardware_limit, formats::kWindowSharedLimit)
                   : hardware_limit;
}

const KernelInfo& KernelInfo::FormFor(std::uint64_t threads,
                                      std::uint64_t dynamic_shared,
                                      std::uint32_t limit, bool several) const {
  if (forms.empty()) return *this;
  const bool fits = static_shared + dynamic_shared <= limit;
  const bool concerned =
      several && std::any_of(forms.begin(), forms.end(), [](const auto& form) {
        return form->clusters == true;
      });
  const auto takes = [&](const KernelInfo& form) {
    return threads <= form.form_threads && (fits || form.window) &&
           (!concerned || form.clusters == true);
  };
  const auto rank = [](const KernelInfo& form) {
    return std::make_pair(form.window.has_value(), form.form_threads);
  };
  const KernelInfo* best = takes(*this) ? this : nullptr;
  for (const auto& form : forms) {
    if (takes(*form) && (best == nullptr || rank(*form) < rank(*best))) {
      best = form.get();
    }
  }
  return best != nullptr ? *best : *this;
}

WorkGroup KernelInfo::WorkGroupOf(std::uint32_t x, std::uint32_t y,
                                  std::uint32_t z) const {
  if (!half_waves) return {x, y, z};
  return {(x * y * z + 31) / 32 * 64, 1, 1};
}

const KernelInfo* CodeObjectInfo::FindKernel(std::string_view name) const {
  const auto at = std::lower_bound(
      kernels.begin(), kernels.end(), name,
      [](const KernelInfo& k, std::string_view n) { return k.name < n; });
  return at != kernels.end() && at->name == name ? &*at : nullptr;
}

const CodeObjectInfo::Failed* CodeObjectInfo::FindFailed(
    std::string_view name) const {
  for (const Failed& row : failed) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Result<CodeObjectInfo> ReadCodeObject(ByteSpan bytes) {
  CERB_TRY(const images::CodeObjectMaps maps,
           images::FindCodeObjectMaps(bytes, "code object"));
  if (maps.metadata.empty()) return Err(Bad("no AMDGPU metadata note"));
  Document::Limits limits;
  limits.allow_trailing_bytes = true;
  CERB_TRY(Document document, Document::Parse(maps.metadata, limits));
  CodeObjectInfo info;
  const Value kernels = document.root().Find(formats::kMetadataKernels);
  for (Value map = kernels.First(); map; map = kernels.Next(map)) {
    CERB_TRY(KernelInfo kernel, ReadKernel(map));
    info.kernels.push_back(std::move(kernel));
  }
  std::sort(
      info.kernels.begin(), info.kernels.end(),
      [](const KernelInfo& a, const KernelInfo& b) { return a.name < b.name; });
  if (!maps.info.empty()) {
    CERB_TRY(Document facts, Document::Parse(maps.info, limits));
    ReadInfo(facts.root(), &info);
  }
  return info;
}

Result<std::uint64_t> ElfSize(const void* start) {
  Elf64_Ehdr header;
  std::memcpy(&header, start, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return Err(Bad("not a 64-bit little-endian ELF file"));
  }
  std::uint64_t end = sizeof header;
  const auto grow = [&end](std::uint64_t offset, std::uint64_t size) {
    const auto sum = CheckedAdd(offset, size);
    if (sum) end = std::max(end, *sum);
    return sum.has_value();
  };
  const auto* base = static_cast<const std::uint8_t*>(start);
  bool fits =
      grow(header.e_shoff,
           std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)) &&
      grow(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (std::uint32_t i = 0; fits && i < header.e_shnum; ++i) {
    const auto row =
        LoadLe<Elf64_Shdr>(base + header.e_shoff + i * sizeof(Elf64_Shdr));
    if (row.sh_type != SHT_NOBITS) fits = grow(row.sh_offset, row.sh_size);
  }
  for (std::uint32_t i = 0; fits && i < header.e_phnum; ++i) {
    const auto row =
        LoadLe<Elf64_Phdr>(base + header.e_phoff + i * sizeof(Elf64_Phdr));
    fits = grow(row.p_offset, row.p_filesz);
  }
  if (!fits) return Err(Bad("sizes in the ELF header wrap around"));
  return end;
}

}  // namespace cerberus::stub
