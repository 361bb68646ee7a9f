// Cubins made for tests, record by record from docs/fatbin-format.md.
#ifndef CERBERUS_TESTS_UNIT_IMAGES_CUBIN_BUILDER_H_
#define CERBERUS_TESTS_UNIT_IMAGES_CUBIN_BUILDER_H_

#include <elf.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/bytes.h"

namespace cerberus::testing_cubin {

enum class RegistersIn { kNone, kInfo, kSection, kBoth };

// Kernels with as many registers each.
inline Bytes Cubin(
    const std::vector<std::pair<std::string, std::uint32_t>>& kernels,
    RegistersIn place) {
  const bool in_info =
      place == RegistersIn::kInfo || place == RegistersIn::kBoth;
  const bool in_section =
      place == RegistersIn::kSection || place == RegistersIn::kBoth;
  const auto append = [](Bytes& out, const auto& record) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&record);
    out.insert(out.end(), bytes, bytes + sizeof record);
  };
  enum : std::uint16_t { kStrings = 1, kSymbols, kInfo, kFirstText };
  Bytes strings = {0}, symbols, info, texts;
  append(symbols, Elf64_Sym{});
  // Attributes of other formats and kinds stand in between.
  for (const std::uint8_t byte : {0x01, 0x50, 0x00, 0x00,  //
                                  0x04, 0x11, 0x08, 0x00,  // frame size
                                  0x01, 0x00, 0x00, 0x00,  //
                                  0xff, 0x00, 0x00, 0x00}) {
    info.push_back(byte);
  }
  std::vector<Elf64_Shdr> text_headers;
  std::uint32_t number = 0;
  for (const auto& [name, registers] : kernels) {
    ++number;
    Elf64_Sym symbol = {};
    symbol.st_name = static_cast<std::uint32_t>(strings.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = 0x10;
    symbol.st_shndx = static_cast<std::uint16_t>(kFirstText + number - 1);
    append(symbols, symbol);
    strings.insert(strings.end(), name.begin(), name.end());
    strings.push_back(0);
    if (in_info) {
      AppendLe(info, std::uint32_t{0x00082f04});
      AppendLe(info, number);
      AppendLe(info, registers);
    }
    Elf64_Shdr text = {};
    text.sh_type = SHT_PROGBITS;
    text.sh_info = number | (in_section ? registers << 24 : 0);
    text_headers.push_back(text);
  }

  Bytes out(sizeof(Elf64_Ehdr));
  std::vector<Elf64_Shdr> sections(1);
  const auto add = [&](std::uint32_t type, std::uint32_t link,
                       const Bytes& content) {
    Elf64_Shdr section = {};
    section.sh_type = type;
    section.sh_link = link;
    section.sh_offset = out.size();
    section.sh_size = content.size();
    out.insert(out.end(), content.begin(), content.end());
    sections.push_back(section);
  };
  add(SHT_STRTAB, 0, strings);
  add(SHT_SYMTAB, kStrings, symbols);
  add(SHT_LOPROC, kSymbols, info);
  sections.insert(sections.end(), text_headers.begin(), text_headers.end());
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 190;
  header.e_shoff = out.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<std::uint16_t>(sections.size());
  std::memcpy(out.data(), &header, sizeof header);
  for (const Elf64_Shdr& section : sections) append(out, section);
  return out;
}

}  // namespace cerberus::testing_cubin

#endif  // CERBERUS_TESTS_UNIT_IMAGES_CUBIN_BUILDER_H_
