#include "libraries/common/rocm_code.h"

#include <elf.h>

#include <cstring>
#include <string_view>

#include "images/hip_bundle.h"
#include "support/mapped_file.h"

namespace cerberus::libraries {
namespace {

// Clang's name for the section (LLVM, clang/lib/CodeGen/CGCUDANV.cpp).
constexpr std::string_view kSection = ".hip_fatbin";

// The bytes of the section; none if there is none.
Result<ByteSpan> FindSection(ByteSpan file) {
  ByteReader reader(file, "library");
  CERB_TRY(const auto header, reader.Read<Elf64_Ehdr>());
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr)) {
    return Err(DiagCode::kBadFormat,
               "library: no ELF file for 64 bits with sections");
  }
  const auto section = [&](std::uint64_t i) -> Result<Elf64_Shdr> {
    CERB_TRY(const ByteSpan table,
             reader.Slice(header.e_shoff,
                          header.e_shnum * std::uint64_t{sizeof(Elf64_Shdr)}));
    ByteReader entries(table, "section table", header.e_shoff);
    CERB_TRY_VOID(entries.Seek(i * sizeof(Elf64_Shdr)));
    return entries.Read<Elf64_Shdr>();
  };
  CERB_TRY(const Elf64_Shdr names, section(header.e_shstrndx));
  CERB_TRY(const ByteSpan text, reader.Slice(names.sh_offset, names.sh_size));
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    CERB_TRY(const Elf64_Shdr found, section(i));
    if (found.sh_name > text.size()) continue;
    const std::string_view rest = AsText(text.subspan(found.sh_name));
    if (rest.substr(0, rest.find('\0')) != kSection) continue;
    return reader.Slice(found.sh_offset, found.sh_size);
  }
  return ByteSpan();
}

}  // namespace

Result<std::vector<std::string>> TargetsOfLibrary(ByteSpan file) {
  CERB_TRY(ByteSpan code, FindSection(file));
  std::vector<std::string> targets;
  if (code.empty()) return targets;
  Bytes unpacked;
  if (images::IsCompressedBundle(code)) {
    CERB_TRY(unpacked, images::DecompressBundle(code));
    code = unpacked;
  }
  CERB_TRY(const std::vector<images::BundleEntry> entries,
           images::ParseBundle(code));
  for (const images::BundleEntry& entry : entries) {
    if (entry.target.empty()) continue;
    targets.emplace_back(entry.target.substr(0, entry.target.find(':')));
  }
  return targets;
}

Result<std::vector<std::string>> TargetsOfLibraryFile(const std::string& path) {
  CERB_TRY(const MappedFile file, MappedFile::Open(path));
  return TargetsOfLibrary(file.bytes());
}

}  // namespace cerberus::libraries
