#include "code_object_builder.h"

#include <elf.h>

#include <cstring>
#include <string_view>

#include "kpack/msgpack_writer.h"

namespace cerberus::stub {
namespace {

using kpack::MsgpackWriter;

void Pair(MsgpackWriter& out, std::string_view key, std::uint64_t value) {
  out.String(key);
  out.Uint(value);
}

void Argument(MsgpackWriter& out, std::uint64_t offset, std::uint64_t size,
              std::string_view kind, std::string_view name) {
  out.Map(name.empty() ? 3 : 4);
  if (!name.empty()) {
    out.String(".name");
    out.String(name);
  }
  Pair(out, ".offset", offset);
  Pair(out, ".size", size);
  out.String(".value_kind");
  out.String(kind);
}

Bytes Metadata(const std::vector<TestKernel>& kernels) {
  MsgpackWriter out;
  out.Map(1);
  out.String("amdhsa.kernels");
  out.Array(kernels.size());
  for (const TestKernel& kernel : kernels) {
    out.Map(9);
    out.String(".args");
    // One hidden argument behind the explicit ones, as compilers emit.
    out.Array(kernel.params.size() + (kernel.launch_block >= 0 ? 1 : 0) +
              (kernel.window_block >= 0 ? 1 : 0) + 1);
    for (const auto& [offset, size] : kernel.params) {
      Argument(out, offset, size, "by_value", "");
    }
    if (kernel.window_block >= 0) {
      Argument(out, static_cast<std::uint64_t>(kernel.window_block), 16,
               "by_value", "__cerberus_window");
    }
    if (kernel.launch_block >= 0) {
      Argument(out, static_cast<std::uint64_t>(kernel.launch_block), 48,
               "by_value", "__cerberus_launch");
    }
    const std::uint32_t end =
        kernel.hidden_end != 0 ? kernel.hidden_end : kernel.kernarg_size;
    Argument(out, end - 4, 4, kernel.hidden, "");
    Pair(out, ".group_segment_fixed_size", kernel.static_shared);
    Pair(out, ".kernarg_segment_size", kernel.kernarg_size);
    Pair(out, ".max_flat_workgroup_size", kernel.max_flat);
    out.String(".name");
    out.String(kernel.name);
    Pair(out, ".private_segment_fixed_size", kernel.local_bytes);
    out.String(".symbol");
    out.String(kernel.name + ".kd");
    Pair(out, ".vgpr_count", kernel.vgprs);
    Pair(out, ".wavefront_size", kernel.wave_size);
  }
  return std::move(out).Take();
}

void Triple(MsgpackWriter& out, std::string_view key,
            const std::vector<std::uint32_t>& values) {
  out.String(key);
  out.Array(values.size());
  for (std::uint32_t value : values) out.Uint(value);
}

Bytes Info(const TestCodeObject& object) {
  MsgpackWriter out;
  out.Map(4);
  Pair(out, "abi", static_cast<std::uint64_t>(object.abi));
  Pair(out, "sm", object.sm);
  out.String("kernels");
  out.Map(object.kernels.size());
  for (const TestKernel& kernel : object.kernels) {
    out.String(kernel.name);
    out.Map(
        (kernel.maxntid.empty() ? 0 : 1) + (kernel.reqntid.empty() ? 0 : 1) +
        (kernel.warps_per_wave == 0 ? 0 : 1) +
        (kernel.own_shared == 0 ? 0 : 1) + (kernel.window_block < 0 ? 0 : 1) +
        (kernel.tensor_bytes == 0 ? 0 : 1));
    if (kernel.own_shared != 0) Pair(out, "own_shared", kernel.own_shared);
    if (kernel.window_block >= 0) Pair(out, "window", kernel.window_bytes);
    if (kernel.tensor_bytes != 0) Pair(out, "tensor", kernel.tensor_bytes);
    if (!kernel.maxntid.empty()) Triple(out, "maxntid", kernel.maxntid);
    if (!kernel.reqntid.empty()) Triple(out, "reqntid", kernel.reqntid);
    if (kernel.warps_per_wave != 0) {
      Pair(out, "warps_per_wave",
           static_cast<std::uint64_t>(kernel.warps_per_wave));
    }
  }
  out.String("failed");
  out.Map(object.failed.size());
  for (const auto& [name, reason] : object.failed) {
    out.String(name);
    out.String(reason);
  }
  return std::move(out).Take();
}

void Append(Bytes& out, ByteSpan bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

Bytes Note(ByteSpan content) {
  Bytes out;
  AppendLe(out, std::uint32_t{7});  // "AMDGPU" and its NUL
  AppendLe(out, static_cast<std::uint32_t>(content.size()));
  AppendLe(out, std::uint32_t{32});  // NT_AMDGPU_METADATA
  Append(out, AsBytes(std::string_view("AMDGPU\0\0", 8)));
  Append(out, content);
  while (out.size() % 4 != 0) out.push_back(0);
  return out;
}

}  // namespace

Bytes TestCodeObject::Build() const {
  const Bytes note = Note(Metadata(kernels));
  const Bytes info = abi >= 0 ? Info(*this) : Bytes();
  constexpr std::string_view kNames("\0.note\0.cerberus.info\0.shstrtab\0", 32);

  Bytes out(sizeof(Elf64_Ehdr));
  const auto section = [&out](std::uint32_t name, std::uint32_t type,
                              ByteSpan content) {
    while (out.size() % 8 != 0) out.push_back(0);
    Elf64_Shdr row = {};
    row.sh_name = name;
    row.sh_type = type;
    row.sh_offset = out.size();
    row.sh_size = content.size();
    Append(out, content);
    return row;
  };
  const Elf64_Shdr rows[] = {
      Elf64_Shdr{},
      section(1, SHT_NOTE, note),
      section(7, info.empty() ? SHT_NULL : SHT_PROGBITS, info),
      section(22, SHT_STRTAB, AsBytes(kNames)),
  };
  while (out.size() % 8 != 0) out.push_back(0);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = out.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = std::size(rows);
  header.e_shstrndx = std::size(rows) - 1;
  for (const Elf64_Shdr& row : rows) AppendLe(out, row);
  if (info.empty()) {
    // The name must not lead anywhere either.
    const std::size_t at = header.e_shoff + 2 * sizeof(Elf64_Shdr);
    StoreLe(out.data() + at, Elf64_Shdr{});
  }
  StoreLe(out.data(), header);
  return out;
}

TestKernel SimpleKernel(const std::string& name) {
  TestKernel kernel;
  kernel.name = name;
  kernel.params = {{0, 8}};
  kernel.launch_block = 8;
  kernel.kernarg_size = 8 + 48 + 64;
  return kernel;
}

}  // namespace cerberus::stub
