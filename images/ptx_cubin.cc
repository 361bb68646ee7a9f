#include "images/ptx_cubin.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "images/fatbin.h"
#include "ptxc/front/kernel_names.h"

namespace cerberus::images {
namespace {

constexpr std::string_view kPtxSection = ".cerberus.ptx";
constexpr std::uint16_t kMachineCuda = 190;  // EM_CUDA
constexpr std::uint8_t kEntrySymbol = 0x10;  // st_other of a kernel

// ELF's marks of a cubin, as ptxas 12.9 sets them: one form up to sm_90, which
// older tools read too, another one from sm_100 on.
struct CubinMarks {
  std::uint8_t os_abi;
  std::uint8_t abi_version;
  std::uint32_t flags;
};
CubinMarks MarksOf(const CubinTraits& traits) {
  const bool chip_only = traits.suffix == 'a';
  if (traits.sm >= 100) {
    return {0x41, 8, 0x06000002 | traits.sm << 8 | (chip_only ? 8u : 0u)};
  }
  return {0x33, 7,
          0x500 | traits.sm << 16 | traits.sm | (chip_only ? 0x800u : 0u)};
}

// A string table, and where each string stands in it.
class Strings {
 public:
  std::uint32_t Add(std::string_view text) {
    const std::size_t at = bytes_.size();
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.push_back(0);
    return static_cast<std::uint32_t>(at);
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_ = {0};
};

void AppendRecord(Bytes& out, const void* record, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(record);
  out.insert(out.end(), bytes, bytes + size);
}

Elf64_Ehdr HeaderOf(const CubinTraits& traits, std::uint64_t sections_offset,
                    std::size_t sections, std::uint16_t names) {
  const CubinMarks marks = MarksOf(traits);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = marks.os_abi;
  header.e_ident[EI_ABIVERSION] = marks.abi_version;
  header.e_type = traits.relocatable ? ET_REL : ET_EXEC;
  header.e_machine = kMachineCuda;
  header.e_version = EV_CURRENT;
  header.e_shoff = sections_offset;
  header.e_flags = marks.flags;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<std::uint16_t>(sections);
  header.e_shstrndx = names;
  return header;
}

}  // namespace

Bytes MakePtxCubin(std::string_view ptx, const CubinTraits& traits) {
  ptx = ptx.substr(0, ptx.find('\0'));
  std::vector<std::string> kernels = ptx::KernelNames(ptx);
  // A section's number has 16 bits, and the last 256 mean other things.
  kernels.resize(std::min<std::size_t>(kernels.size(), 0xfe00));

  Strings section_names;
  Strings symbol_names;
  std::vector<Elf64_Shdr> sections(1);
  Bytes body(sizeof(Elf64_Ehdr));
  const auto add_section = [&](std::string_view name, std::uint32_t type,
                               std::uint64_t flags, std::uint64_t alignment,
                               ByteSpan content) {
    Elf64_Shdr section = {};
    section.sh_name = section_names.Add(name);
    section.sh_type = type;
    section.sh_flags = flags;
    section.sh_addralign = alignment;
    body.resize(AlignUp(body.size(), alignment));
    section.sh_offset = body.size();
    section.sh_size = content.size();
    body.insert(body.end(), content.begin(), content.end());
    sections.push_back(section);
    return static_cast<std::uint16_t>(sections.size() - 1);
  };

  Bytes text(ptx.begin(), ptx.end());
  text.push_back(0);
  add_section(kPtxSection, SHT_PROGBITS, 0, 1, text);
  // Tools look for the kernels among the symbols and for a section of each,
  // which says in the highest byte of sh_info how many registers it takes.
  constexpr std::uint32_t kRegisters = 32u << 24;
  constexpr std::uint8_t kNoCode[16] = {};
  Bytes symbols(sizeof(Elf64_Sym));
  for (const std::string& kernel : kernels) {
    Elf64_Sym symbol = {};
    symbol.st_name = symbol_names.Add(kernel);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = kEntrySymbol;
    symbol.st_shndx = add_section(".text." + kernel, SHT_PROGBITS,
                                  SHF_ALLOC | SHF_EXECINSTR, 16, kNoCode);
    symbol.st_size = sizeof kNoCode;
    sections[symbol.st_shndx].sh_info =
        kRegisters | static_cast<std::uint32_t>(symbols.size() / sizeof symbol);
    AppendRecord(symbols, &symbol, sizeof symbol);
  }
  const std::uint16_t strings =
      add_section(".strtab", SHT_STRTAB, 0, 1, symbol_names.bytes());
  const std::uint16_t table = add_section(".symtab", SHT_SYMTAB, 0, 8, symbols);
  for (Elf64_Shdr& section : sections) {
    if (section.sh_info != 0) section.sh_link = table;
  }
  sections[table].sh_link = strings;
  sections[table].sh_info = 1;  // the first global one
  sections[table].sh_entsize = sizeof(Elf64_Sym);
  const std::uint32_t own_name = section_names.Add(".shstrtab");
  const Bytes all_names = section_names.bytes();
  const std::uint16_t names = add_section("", SHT_STRTAB, 0, 1, all_names);
  sections[names].sh_name = own_name;
  body.resize(AlignUp(body.size(), 8));

  const Elf64_Ehdr header =
      HeaderOf(traits, body.size(), sections.size(), names);
  std::memcpy(body.data(), &header, sizeof header);
  for (const Elf64_Shdr& section : sections) {
    AppendRecord(body, &section, sizeof section);
  }
  return body;
}

bool BeginsCubin(ByteSpan start) {
  if (start.size() < sizeof(Elf64_Ehdr)) return false;
  const auto header = LoadLe<Elf64_Ehdr>(start.data());
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == kMachineCuda;
}

std::string_view PtxOfCubin(ByteSpan cubin) {
  if (!BeginsCubin(cubin)) return {};
  const auto header = LoadLe<Elf64_Ehdr>(cubin.data());
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return {};
  const ByteReader reader(cubin);
  const auto section = [&](unsigned index) -> Elf64_Shdr {
    const Result<ByteSpan> bytes =
        reader.Slice(header.e_shoff + std::uint64_t{index} * sizeof(Elf64_Shdr),
                     sizeof(Elf64_Shdr));
    return bytes ? LoadLe<Elf64_Shdr>(bytes->data()) : Elf64_Shdr{};
  };
  const auto content = [&](const Elf64_Shdr& of) -> std::string_view {
    const Result<ByteSpan> bytes = reader.Slice(of.sh_offset, of.sh_size);
    return bytes ? AsText(*bytes) : std::string_view();
  };
  const std::string_view names = content(section(header.e_shstrndx));
  // MakePtxCubin puts it first.
  const Elf64_Shdr first = section(1);
  if (first.sh_name >= names.size()) return {};
  const std::string_view name = names.substr(first.sh_name);
  if (name.substr(0, name.find('\0')) != kPtxSection) return {};
  const std::string_view text = content(first);
  return text.substr(0, text.find('\0'));
}

CubinTraits TraitsOfPtx(std::string_view ptx) {
  CubinTraits traits;
  const std::size_t at = ptx.find("sm_", ptx.find(".target"));
  if (at == std::string_view::npos) return traits;
  const char* end = ptx.data() + ptx.size();
  const auto [rest, error] =
      std::from_chars(ptx.data() + at + 3, end, traits.sm);
  if (error == std::errc() && rest != end && (*rest == 'a' || *rest == 'f')) {
    traits.suffix = *rest;
  }
  return traits;
}

}  // namespace cerberus::images
