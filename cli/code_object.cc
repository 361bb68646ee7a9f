#include "cli/code_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "kpack/msgpack_value.h"

namespace cerberus::cli {
namespace {

using kpack::Document;
using kpack::Value;

// LLVM, User Guide for AMDGPU Backend: "ELF Header" and "Note Records".
constexpr Elf64_Half kMachineAmdgpu = 224;
constexpr Elf64_Word kNoteMetadata = 32;
constexpr std::string_view kNoteName("AMDGPU", 7);  // with its NUL
constexpr std::string_view kTriplePrefix = "amdgcn-amd-amdhsa--";

// Finds sections and notes, checked.
class ElfReader {
 public:
  ElfReader(ByteSpan bytes, const std::string& name)
      : bytes_(bytes), name_(name) {}

  Status Open() {
    if (!IsCodeObject(bytes_)) {
      return Err(Fail(0, "is not a code object of an AMD GPU"));
    }
    const auto header = LoadLe<Elf64_Ehdr>(bytes_.data());
    if (header.e_shnum == 0) return {};
    if (header.e_shentsize != sizeof(Elf64_Shdr)) {
      return Err(Fail(offsetof(Elf64_Ehdr, e_shentsize),
                      fmt::format("section headers of {} bytes, expected {}",
                                  header.e_shentsize, sizeof(Elf64_Shdr))));
    }
    CERB_TRY(const ByteSpan table,
             Slice(header.e_shoff,
                   std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)));
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(
          LoadLe<Elf64_Shdr>(table.data() + i * sizeof(Elf64_Shdr)));
    }
    if (header.e_shstrndx >= sections_.size()) {
      return Err(Fail(offsetof(Elf64_Ehdr, e_shstrndx),
                      fmt::format("section names in section {} of {}",
                                  header.e_shstrndx, sections_.size())));
    }
    const Elf64_Shdr& names = sections_[header.e_shstrndx];
    CERB_TRY(names_, Slice(names.sh_offset, names.sh_size));
    return {};
  }

  // Empty if there is none.
  Result<ByteSpan> FindSection(std::string_view wanted) const {
    for (const Elf64_Shdr& section : sections_) {
      if (NameOf(section) == wanted && section.sh_type != SHT_NOBITS) {
        return Slice(section.sh_offset, section.sh_size);
      }
    }
    return ByteSpan();
  }

  // The AMDGPU metadata note; empty if there is none.
  Result<ByteSpan> FindMetadata() const {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_NOTE) continue;
      CERB_TRY(const ByteSpan notes, Slice(section.sh_offset, section.sh_size));
      ByteReader reader(notes, name_, section.sh_offset);
      while (reader.remaining() >= sizeof(Elf64_Nhdr)) {
        CERB_TRY(const Elf64_Nhdr note, reader.Read<Elf64_Nhdr>());
        CERB_TRY(const ByteSpan owner, reader.Take(AlignUp(note.n_namesz, 4)));
        CERB_TRY(const ByteSpan content, reader.Take(note.n_descsz));
        if (note.n_type == kNoteMetadata &&
            AsText(owner).substr(0, kNoteName.size()) == kNoteName) {
          return content;
        }
        const std::uint64_t padding = AlignUp(note.n_descsz, 4) - note.n_descsz;
        if (padding > reader.remaining()) break;
        CERB_TRY_VOID(reader.Skip(padding));
      }
    }
    return ByteSpan();
  }

  Diag Fail(std::uint64_t offset, std::string message) const {
    Where where;
    where.file = name_;
    where.offset = static_cast<std::int64_t>(offset);
    return MakeDiag(DiagCode::kBadFormat, std::move(where), std::move(message));
  }

 private:
  Result<ByteSpan> Slice(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      return Err(Fail(offset, fmt::format("{} bytes run past the end (0x{:x})",
                                          size, bytes_.size())));
    }
    return bytes_.subspan(offset, size);
  }

  std::string_view NameOf(const Elf64_Shdr& section) const {
    if (section.sh_name >= names_.size()) return {};
    const std::string_view rest = AsText(names_).substr(section.sh_name);
    return rest.substr(0, rest.find('\0'));
  }

  ByteSpan bytes_;
  const std::string& name_;
  std::vector<Elf64_Shdr> sections_;
  ByteSpan names_;
};

std::uint64_t UintOf(Value map, std::string_view key) {
  return map.Find(key).AsUint().value_or(0);
}

void ReadMetadata(Value root, CodeObject& object) {
  std::string_view target = root.Find("amdhsa.target").AsString().value_or("");
  if (target.substr(0, kTriplePrefix.size()) == kTriplePrefix) {
    target.remove_prefix(kTriplePrefix.size());
  }
  object.target = target;
  const Value kernels = root.Find("amdhsa.kernels");
  if (!kernels.is_array()) return;
  for (Value k = kernels.First(); k; k = kernels.Next(k)) {
    CodeObject::Kernel kernel;
    kernel.name = k.Find(".name").AsString().value_or("");
    kernel.kernarg_bytes = UintOf(k, ".kernarg_segment_size");
    kernel.lds_bytes = UintOf(k, ".group_segment_fixed_size");
    kernel.scratch_bytes = UintOf(k, ".private_segment_fixed_size");
    kernel.vgprs = UintOf(k, ".vgpr_count");
    kernel.sgprs = UintOf(k, ".sgpr_count");
    kernel.wave_size = UintOf(k, ".wavefront_size");
    object.kernels.push_back(std::move(kernel));
  }
}

void ReadInfo(Value root, CodeObject& object) {
  object.abi = root.Find("abi").AsInt().value_or(-1);
  object.ptxc = root.Find("ptxc").AsString().value_or("");
  object.sm = root.Find("sm").AsInt().value_or(0);
  const Value version = root.Find("ptx");
  if (version.is_array() && version.size() == 2) {
    const Value major = version.First();
    object.ptx_version = fmt::format("{}.{}", major.AsUint().value_or(0),
                                     version.Next(major).AsUint().value_or(0));
  }
  const Value failed = root.Find("failed");
  if (!failed.is_map()) return;
  for (Value kernel = failed.First(); kernel;) {
    const Value reason = failed.Next(kernel);
    object.failed.emplace(kernel.AsString().value_or(""),
                          reason.AsString().value_or(""));
    kernel = failed.Next(reason);
  }
}

}  // namespace

bool IsCodeObject(ByteSpan bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) return false;
  const auto header = LoadLe<Elf64_Ehdr>(bytes.data());
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_machine == kMachineAmdgpu;
}

Result<CodeObject> ReadCodeObject(ByteSpan bytes, const std::string& name) {
  ElfReader elf(bytes, name);
  CERB_TRY_VOID(elf.Open());
  CodeObject object;
  const auto read_map = [&](ByteSpan map, const char* what,
                            void (*read)(Value, CodeObject&)) -> Status {
    if (map.empty()) return {};
    Document::Limits limits;
    limits.allow_trailing_bytes = true;  // sections are padded
    Result<Document> document = Document::Parse(map, limits);
    const auto at = static_cast<std::uint64_t>(map.data() - bytes.data());
    if (!document) {
      return Err(
          elf.Fail(at, fmt::format("{}: {}", what, document.error().message)));
    }
    if (!document->root().is_map()) {
      return Err(elf.Fail(at, fmt::format("{} is not a map", what)));
    }
    read(document->root(), object);
    return {};
  };
  CERB_TRY(const ByteSpan metadata, elf.FindMetadata());
  CERB_TRY_VOID(read_map(metadata, "AMDGPU metadata", ReadMetadata));
  CERB_TRY(const ByteSpan info, elf.FindSection(".cerberus.info"));
  CERB_TRY_VOID(read_map(info, ".cerberus.info", ReadInfo));
  return object;
}

}  // namespace cerberus::cli
