#include "images/code_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/code_object.h"

namespace cerberus::images {
namespace {

constexpr std::uint64_t kAlign = formats::kMetadataNoteAlign;

bool IsElf64(ByteSpan bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) return false;
  const auto header = LoadLe<Elf64_Ehdr>(bytes.data());
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB;
}

// Finds sections and notes, checked.
class ElfReader {
 public:
  ElfReader(ByteSpan bytes, const std::string& name)
      : bytes_(bytes), name_(name) {}

  Status Open() {
    if (!IsElf64(bytes_)) {
      return Err(Fail(0,
                      "is not a code object of an AMD GPU, nor any 64-bit "
                      "little-endian ELF file"));
    }
    const auto header = LoadLe<Elf64_Ehdr>(bytes_.data());
    if (header.e_machine != formats::kElfMachineAmdGpu) {
      return Err(Fail(
          offsetof(Elf64_Ehdr, e_machine),
          fmt::format("is not a code object of an AMD GPU: ELF machine {}, "
                      "expected {}",
                      header.e_machine, formats::kElfMachineAmdGpu)));
    }
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

  // The metadata note, of a file without sections by its segments; empty if
  // there is none.
  Result<ByteSpan> FindMetadata() const {
    bool has_section = false;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_NOTE) continue;
      has_section = true;
      CERB_TRY(const ByteSpan found,
               MetadataIn(section.sh_offset, section.sh_size));
      if (!found.empty()) return found;
    }
    if (has_section) return ByteSpan();
    const auto header = LoadLe<Elf64_Ehdr>(bytes_.data());
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
      CERB_TRY(
          const ByteSpan row,
          Slice(header.e_phoff + i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr)));
      const auto segment = LoadLe<Elf64_Phdr>(row.data());
      if (segment.p_type != PT_NOTE) continue;
      CERB_TRY(const ByteSpan found,
               MetadataIn(segment.p_offset, segment.p_filesz));
      if (!found.empty()) return found;
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
  Result<ByteSpan> MetadataIn(std::uint64_t offset, std::uint64_t size) const {
    CERB_TRY(const ByteSpan notes, Slice(offset, size));
    ByteReader reader(notes, name_, offset);
    while (reader.remaining() >= sizeof(Elf64_Nhdr)) {
      CERB_TRY(const Elf64_Nhdr note, reader.Read<Elf64_Nhdr>());
      CERB_TRY(const ByteSpan owner,
               reader.Take(AlignUp(note.n_namesz, kAlign)));
      CERB_TRY(const ByteSpan content, reader.Take(note.n_descsz));
      const std::string_view text = AsText(owner);
      if (note.n_type == formats::kMetadataNoteType &&
          text.substr(0, text.find('\0')) == formats::kMetadataNoteName) {
        return content;
      }
      const std::uint64_t padding =
          AlignUp(note.n_descsz, kAlign) - note.n_descsz;
      if (padding > reader.remaining()) break;
      CERB_TRY_VOID(reader.Skip(padding));
    }
    return ByteSpan();
  }

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

}  // namespace

bool IsCodeObject(ByteSpan bytes) {
  return IsElf64(bytes) && LoadLe<Elf64_Ehdr>(bytes.data()).e_machine ==
                               formats::kElfMachineAmdGpu;
}

Result<CodeObjectMaps> FindCodeObjectMaps(ByteSpan bytes,
                                          const std::string& name) {
  ElfReader elf(bytes, name);
  CERB_TRY_VOID(elf.Open());
  CodeObjectMaps maps;
  CERB_TRY(maps.metadata, elf.FindMetadata());
  CERB_TRY(maps.info, elf.FindSection(formats::kInfoSection));
  return maps;
}

}  // namespace cerberus::images
