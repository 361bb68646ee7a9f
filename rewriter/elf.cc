#include "rewriter/elf.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cerberus::rewriter {
namespace {

constexpr std::size_t kMaxSections = 1 << 20;

std::string_view MachineName(unsigned machine) {
  switch (machine) {
    case EM_386: return "x86";
    case EM_ARM: return "Arm";
    case EM_AARCH64: return "AArch64";
    case EM_PPC64: return "PowerPC64";
    case EM_RISCV: return "RISC-V";
    case EM_CUDA: return "NVIDIA CUDA";
    case EM_AMDGPU: return "AMD GPU";
    default: return "";
  }
}

std::string_view CutAtNul(ByteSpan bytes) {
  const std::string_view text = AsText(bytes);
  return text.substr(0, text.find('\0'));
}

}  // namespace

Diag ElfFile::Error(DiagCode code, std::string message, std::string section,
                    std::int64_t offset) const {
  Where where;
  where.file = name_;
  where.section = std::move(section);
  where.offset = offset;
  return MakeDiag(code, std::move(where), std::move(message));
}

Result<ElfFile> ElfFile::Parse(ByteSpan bytes, const std::string& name) {
  ElfFile file;
  file.bytes_ = bytes;
  file.name_ = name;
  CERB_TRY_VOID(file.ReadHeader());
  CERB_TRY_VOID(file.ReadSegments());
  CERB_TRY_VOID(file.ReadSections());
  CERB_TRY_VOID(file.ReadDynamic());
  return file;
}

Status ElfFile::ReadHeader() {
  const auto unsupported = [&](std::string message) {
    return Err(Error(DiagCode::kUnsupported, std::move(message)));
  };
  if (bytes_.size() < SELFMAG ||
      std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) {
    return Err(Error(DiagCode::kBadFormat, "is not an ELF file"));
  }
  if (bytes_.size() < EI_NIDENT) {
    return Err(
        Error(DiagCode::kBadFormat,
              fmt::format("ELF file is cut short: {} bytes", bytes_.size())));
  }
  if (bytes_[EI_CLASS] == ELFCLASS32) {
    return unsupported("is a 32-bit ELF file, expected 64-bit x86-64");
  }
  if (bytes_[EI_CLASS] != ELFCLASS64 || bytes_[EI_DATA] != ELFDATA2LSB) {
    return unsupported(fmt::format(
        "is an ELF file of class {} and byte order {}, expected 64-bit "
        "little-endian x86-64",
        bytes_[EI_CLASS], bytes_[EI_DATA]));
  }
  if (bytes_.size() < sizeof(Elf64_Ehdr)) {
    return Err(Error(DiagCode::kBadFormat,
                     fmt::format("ELF file is cut short: {} bytes, its header "
                                 "takes {}",
                                 bytes_.size(), sizeof(Elf64_Ehdr))));
  }
  header_ = LoadLe<Elf64_Ehdr>(bytes_.data());
  if (header_.e_machine != EM_X86_64) {
    const std::string_view machine = MachineName(header_.e_machine);
    return unsupported(fmt::format(
        "is an ELF file for {}, expected x86-64",
        machine.empty() ? fmt::format("machine {}", header_.e_machine)
                        : std::string(machine)));
  }
  if (header_.e_type == ET_REL) {
    return unsupported("is an object file; link it first");
  }
  if (header_.e_type != ET_EXEC && header_.e_type != ET_DYN) {
    return unsupported(fmt::format(
        "is an ELF file of type {}, expected an executable or a shared "
        "object",
        header_.e_type));
  }
  return {};
}

Status ElfFile::ReadSegments() {
  std::uint64_t count = header_.e_phnum;
  if (count == PN_XNUM) {
    return Err(
        Error(DiagCode::kUnsupported, "has 65535 program headers or more"));
  }
  if (count == 0) {
    return Err(Error(DiagCode::kBadFormat,
                     "has no program headers, so nothing can load it"));
  }
  if (header_.e_phentsize != sizeof(Elf64_Phdr)) {
    return Err(Error(DiagCode::kBadFormat,
                     fmt::format("program headers of {} bytes, expected {}",
                                 header_.e_phentsize, sizeof(Elf64_Phdr))));
  }
  ByteReader reader(bytes_);
  const auto table = reader.Slice(header_.e_phoff, count * sizeof(Elf64_Phdr));
  if (!table) {
    return Err(Error(DiagCode::kBadFormat,
                     fmt::format("is cut short: {} program headers at 0x{:x} "
                                 "run past its end (0x{:x})",
                                 count, header_.e_phoff, bytes_.size())));
  }
  const Elf64_Phdr* last_load = nullptr;
  segments_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Phdr& segment = segments_.emplace_back(
        LoadLe<Elf64_Phdr>(table->data() + i * sizeof(Elf64_Phdr)));
    const auto file_end = CheckedAdd(segment.p_offset, segment.p_filesz);
    const auto memory_end = CheckedAdd(segment.p_vaddr, segment.p_memsz);
    if (segment.p_type == PT_NULL) continue;
    // PT_TLS and PT_GNU_RELRO of mold and lld may describe no file bytes at
    // an offset that is not in the file; only bytes that are there count.
    if (!file_end || (segment.p_filesz > 0 && *file_end > bytes_.size() &&
                      segment.p_type != PT_GNU_RELRO)) {
      return Err(Error(
          DiagCode::kBadFormat,
          fmt::format("is cut short: program header {} needs 0x{:x}+0x{:x} "
                      "of the file, which ends at 0x{:x}",
                      i, segment.p_offset, segment.p_filesz, bytes_.size())));
    }
    if (!memory_end) {
      return Err(Error(DiagCode::kBadFormat,
                       fmt::format("program header {} wraps around the "
                                   "address space",
                                   i)));
    }
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz > segment.p_memsz) {
      return Err(Error(DiagCode::kBadFormat,
                       fmt::format("program header {} has more bytes in the "
                                   "file (0x{:x}) than in memory (0x{:x})",
                                   i, segment.p_filesz, segment.p_memsz)));
    }
    if (last_load != nullptr && segment.p_vaddr < last_load->p_vaddr) {
      return Err(Error(DiagCode::kBadFormat,
                       fmt::format("program header {} is out of the order "
                                   "of addresses",
                                   i)));
    }
    last_load = &segment;
  }
  if (last_load == nullptr) {
    return Err(Error(DiagCode::kBadFormat, "has no segment to load"));
  }
  return {};
}

Status ElfFile::ReadSections() {
  if (header_.e_shoff == 0) return {};  // legal: the loader needs none
  if (header_.e_shentsize != sizeof(Elf64_Shdr)) {
    return Err(Error(DiagCode::kBadFormat,
                     fmt::format("section headers of {} bytes, expected {}",
                                 header_.e_shentsize, sizeof(Elf64_Shdr))));
  }
  ByteReader reader(bytes_);
  const auto cut = [&](std::uint64_t count) {
    return Err(Error(DiagCode::kBadFormat,
                     fmt::format("is cut short: {} section headers at 0x{:x} "
                                 "run past its end (0x{:x})",
                                 count, header_.e_shoff, bytes_.size())));
  };
  const auto first = reader.Slice(header_.e_shoff, sizeof(Elf64_Shdr));
  if (!first) return cut(1);
  // gABI: with 0xff00 sections or more, the counts stand in header 0.
  const Elf64_Shdr zero = LoadLe<Elf64_Shdr>(first->data());
  const std::uint64_t count =
      header_.e_shnum != 0 ? header_.e_shnum : zero.sh_size;
  const std::uint64_t names_index =
      header_.e_shstrndx == SHN_XINDEX ? zero.sh_link : header_.e_shstrndx;
  if (count == 0) return {};
  if (count > kMaxSections) {
    return Err(Error(DiagCode::kBadFormat,
                     fmt::format("claims {} section headers", count)));
  }
  const auto table = reader.Slice(header_.e_shoff, count * sizeof(Elf64_Shdr));
  if (!table) return cut(count);
  sections_.resize(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    Elf64_Shdr& section = sections_[i].header;
    section = LoadLe<Elf64_Shdr>(table->data() + i * sizeof(Elf64_Shdr));
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (!reader.Slice(section.sh_offset, section.sh_size)) {
      return Err(Error(
          DiagCode::kBadFormat,
          fmt::format("section {} at 0x{:x}+0x{:x} runs past the end of the "
                      "file (0x{:x})",
                      i, section.sh_offset, section.sh_size, bytes_.size())));
    }
  }
  if (names_index == SHN_UNDEF) return {};
  if (names_index >= count ||
      sections_[names_index].header.sh_type != SHT_STRTAB) {
    return Err(Error(
        DiagCode::kBadFormat,
        fmt::format("section {} cannot hold the section names", names_index)));
  }
  const ByteSpan names = SectionBytes(sections_[names_index]);
  for (Section& section : sections_) {
    if (section.header.sh_name >= names.size()) continue;
    section.name = CutAtNul(names.subspan(section.header.sh_name));
  }
  return {};
}

Status ElfFile::ReadDynamic() {
  const Elf64_Phdr* segment = FindSegment(PT_DYNAMIC);
  if (segment == nullptr) return {};
  dynamic_offset_ = segment->p_offset;
  dynamic_capacity_ = segment->p_filesz / sizeof(Elf64_Dyn);
  bool ended = false;
  for (std::size_t i = 0; i < dynamic_capacity_; ++i) {
    const Elf64_Dyn entry = LoadLe<Elf64_Dyn>(bytes_.data() + dynamic_offset_ +
                                              i * sizeof(Elf64_Dyn));
    if (entry.d_tag == DT_NULL) {
      ended = true;
      break;
    }
    dynamic_.push_back(entry);
  }
  if (!ended) {
    return Err(Error(DiagCode::kBadFormat,
                     "the dynamic section does not end in DT_NULL",
                     ".dynamic"));
  }
  const auto table = DynamicValue(DT_STRTAB);
  const auto size = DynamicValue(DT_STRSZ);
  if (!table || !size) return {};
  const auto offset = OffsetOf(*table, *size);
  if (*size == 0 || !offset) {
    return Err(Error(DiagCode::kBadFormat,
                     fmt::format("DT_STRTAB 0x{:x}+0x{:x} is not in a loaded "
                                 "segment's file part",
                                 *table, *size),
                     ".dynamic"));
  }
  dynamic_strings_ = bytes_.subspan(*offset, *size);
  return {};
}

Status ElfFile::CheckLayout() const {
  const auto fail = [&](std::string message) {
    return Err(Error(DiagCode::kBadFormat, std::move(message)));
  };
  const std::uint64_t table = header_.e_phoff;
  const std::uint64_t table_size = segments_.size() * sizeof(Elf64_Phdr);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Elf64_Phdr& segment = segments_[i];
    if (segment.p_type == PT_LOAD) {
      const std::uint64_t page = 0xfff;
      if ((segment.p_vaddr & page) != (segment.p_offset & page)) {
        return fail(
            fmt::format("program header {}: address 0x{:x} and "
                        "offset 0x{:x} differ within the page",
                        i, segment.p_vaddr, segment.p_offset));
      }
      if (segment.p_vaddr < end) {
        return fail(
            fmt::format("program header {} overlaps the one before", i));
      }
      end = segment.p_vaddr + segment.p_memsz;
    }
    if (segment.p_type == PT_PHDR) {
      // lld may leave it as large as the table was before an entry went.
      if (segment.p_offset != table || segment.p_filesz < table_size) {
        return fail("PT_PHDR does not describe the program header table");
      }
      if (OffsetOf(segment.p_vaddr, table_size) != table) {
        return fail(
            "the program header table is not loaded where PT_PHDR "
            "says");
      }
    }
    if (segment.p_type == PT_INTERP || segment.p_type == PT_DYNAMIC) {
      if (OffsetOf(segment.p_vaddr, segment.p_filesz) != segment.p_offset) {
        return fail(
            fmt::format("program header {} is not loaded where it "
                        "says",
                        i));
      }
    }
  }
  return {};
}

bool ElfFile::is_executable() const {
  if (header_.e_type == ET_EXEC) return true;
  if (FindSegment(PT_INTERP) != nullptr) return true;
  const auto flags = DynamicValue(DT_FLAGS_1);
  return flags && (*flags & DF_1_PIE) != 0;
}

const Elf64_Phdr* ElfFile::FindSegment(std::uint32_t type) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == type) return &segment;
  }
  return nullptr;
}

const ElfFile::Section* ElfFile::FindSection(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name && section.header.sh_type != SHT_NULL) {
      return &section;
    }
  }
  return nullptr;
}

ByteSpan ElfFile::SectionBytes(const Section& section) const {
  const Elf64_Shdr& header = section.header;
  if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL) return {};
  return bytes_.subspan(header.sh_offset, header.sh_size);
}

std::optional<std::size_t> ElfFile::FindDynamic(std::int64_t tag) const {
  for (std::size_t i = 0; i < dynamic_.size(); ++i) {
    if (dynamic_[i].d_tag == tag) return i;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ElfFile::DynamicValue(std::int64_t tag) const {
  const auto index = FindDynamic(tag);
  if (!index) return std::nullopt;
  return dynamic_[*index].d_un.d_val;
}

Result<std::string_view> ElfFile::DynamicString(std::uint64_t offset) const {
  if (offset >= dynamic_strings_.size()) {
    return Err(Error(DiagCode::kBadFormat,
                     fmt::format("string offset 0x{:x} lies past the end of "
                                 "the table (0x{:x})",
                                 offset, dynamic_strings_.size()),
                     ".dynstr"));
  }
  return CutAtNul(dynamic_strings_.subspan(offset));
}

std::vector<std::string_view> ElfFile::NeededLibraries() const {
  std::vector<std::string_view> names;
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag != DT_NEEDED) continue;
    const auto name = DynamicString(entry.d_un.d_val);
    if (name) names.push_back(*name);
  }
  return names;
}

std::optional<std::uint64_t> ElfFile::OffsetOf(std::uint64_t vaddr,
                                               std::uint64_t size) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || vaddr < segment.p_vaddr) continue;
    const std::uint64_t into = vaddr - segment.p_vaddr;
    if (into <= segment.p_filesz && size <= segment.p_filesz - into) {
      return segment.p_offset + into;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ElfFile::VaddrOf(std::uint64_t offset) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_LOAD && offset >= segment.p_offset &&
        offset - segment.p_offset < segment.p_filesz) {
      return segment.p_vaddr + (offset - segment.p_offset);
    }
  }
  return std::nullopt;
}

ByteSpan ElfFile::BytesAt(std::uint64_t vaddr) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || vaddr < segment.p_vaddr) continue;
    const std::uint64_t into = vaddr - segment.p_vaddr;
    if (into < segment.p_filesz) {
      return bytes_.subspan(segment.p_offset + into, segment.p_filesz - into);
    }
  }
  return {};
}

Diag ElfFile::TableError(std::string_view what, std::uint64_t vaddr,
                         std::uint64_t size) const {
  return Error(DiagCode::kBadFormat,
               fmt::format("{} 0x{:x}+0x{:x} is not in a loaded segment's file "
                           "part",
                           what, vaddr, size),
               ".dynamic");
}

template <typename SeeRela, typename SeeRelr>
Status ElfFile::WalkRelocations(SeeRela see_rela, SeeRelr see_relr) const {
  const std::uint64_t rela = DynamicValue(DT_RELA).value_or(0);
  const std::uint64_t rela_size = DynamicValue(DT_RELASZ).value_or(0);
  if (rela != 0 && rela_size != 0) {
    const auto table = OffsetOf(rela, rela_size);
    if (!table) return Err(TableError("DT_RELA", rela, rela_size));
    for (std::uint64_t at = *table;
         at + sizeof(Elf64_Rela) <= *table + rela_size;
         at += sizeof(Elf64_Rela)) {
      CERB_TRY_VOID(see_rela(LoadLe<Elf64_Rela>(bytes_.data() + at), at));
    }
  }

  const std::uint64_t relr = DynamicValue(DT_RELR).value_or(0);
  const std::uint64_t relr_size = DynamicValue(DT_RELRSZ).value_or(0);
  if (relr != 0 && relr_size != 0) {
    const auto table = OffsetOf(relr, relr_size);
    if (!table) return Err(TableError("DT_RELR", relr, relr_size));
    // gABI, "RELR": an even word is an address to relocate; an odd one is a
    // bitmap of the 63 words that follow the last place.
    std::uint64_t next = 0;
    for (std::uint64_t at = *table; at + 8 <= *table + relr_size; at += 8) {
      const std::uint64_t word = LoadLe<std::uint64_t>(bytes_.data() + at);
      if ((word & 1) == 0) {
        see_relr(word);
        next = word + 8;
        continue;
      }
      for (unsigned bit = 1; bit < 64; ++bit) {
        if ((word >> bit) & 1) see_relr(next + 8 * std::uint64_t{bit - 1});
      }
      next += std::uint64_t{63} * 8;
    }
  }
  return {};
}

Result<std::vector<PointerSlot>> ElfFile::ResolvePointers(
    const std::vector<std::uint64_t>& vaddrs) const {
  std::vector<PointerSlot> slots(vaddrs.size());
  for (std::size_t i = 0; i < vaddrs.size(); ++i) {
    const auto offset = OffsetOf(vaddrs[i], 8);
    if (!offset) {
      return Err(Error(DiagCode::kBadFormat,
                       fmt::format("pointer at address 0x{:x} is not in a "
                                   "loaded segment's file part",
                                   vaddrs[i])));
    }
    slots[i].vaddr = vaddrs[i];
    slots[i].offset = *offset;
    slots[i].in_place = LoadLe<std::uint64_t>(bytes_.data() + *offset);
    slots[i].value = slots[i].in_place;
  }
  if (vaddrs.empty()) return slots;
  const auto find = [&](std::uint64_t vaddr) -> PointerSlot* {
    if (vaddr < vaddrs.front() || vaddr > vaddrs.back()) return nullptr;
    const auto it = std::lower_bound(vaddrs.begin(), vaddrs.end(), vaddr);
    if (it == vaddrs.end() || *it != vaddr) return nullptr;
    return &slots[static_cast<std::size_t>(it - vaddrs.begin())];
  };
  const std::uint64_t rela = DynamicValue(DT_RELA).value_or(0);
  const std::uint64_t symbols = DynamicValue(DT_SYMTAB).value_or(0);
  const auto see_rela = [&](const Elf64_Rela& entry,
                            std::uint64_t at) -> Status {
    PointerSlot* slot = find(entry.r_offset);
    if (slot == nullptr) return {};
    slot->rela_offset = at;
    if (ELF64_R_TYPE(entry.r_info) == R_X86_64_RELATIVE) {
      slot->fill = PointerSlot::Fill::kRelative;
      slot->value = static_cast<std::uint64_t>(entry.r_addend);
      return {};
    }
    if (ELF64_R_TYPE(entry.r_info) != R_X86_64_64) {
      return Err(
          Error(DiagCode::kUnsupported,
                fmt::format("relocation type {} fills the pointer at 0x{:x}, "
                            "expected R_X86_64_RELATIVE or R_X86_64_64",
                            ELF64_R_TYPE(entry.r_info), entry.r_offset),
                ".rela.dyn",
                static_cast<std::int64_t>(at - OffsetOf(rela).value_or(0))));
    }
    const auto symbol_vaddr = CheckedAdd(
        symbols, std::uint64_t{ELF64_R_SYM(entry.r_info)} * sizeof(Elf64_Sym));
    const auto symbol_offset = symbol_vaddr
                                   ? OffsetOf(*symbol_vaddr, sizeof(Elf64_Sym))
                                   : std::nullopt;
    if (!symbol_offset) {
      return Err(TableError("the symbol of a relocation in DT_RELA", symbols,
                            sizeof(Elf64_Sym)));
    }
    const Elf64_Sym symbol = LoadLe<Elf64_Sym>(bytes_.data() + *symbol_offset);
    slot->fill = PointerSlot::Fill::kSymbol;
    slot->value = symbol.st_value + static_cast<std::uint64_t>(entry.r_addend);
    return {};
  };
  CERB_TRY_VOID(WalkRelocations(see_rela, [&](std::uint64_t vaddr) {
    if (PointerSlot* slot = find(vaddr)) {
      slot->fill = PointerSlot::Fill::kRelr;
    }
  }));
  return slots;
}

Result<std::vector<bool>> ElfFile::ReferredRanges(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges,
    const std::set<std::uint64_t>& own_slots,
    std::string_view own_prefix) const {
  std::vector<bool> referred(ranges.size());
  const auto see = [&](std::uint64_t value) {
    const auto behind = std::upper_bound(
        ranges.begin(), ranges.end(), value,
        [](std::uint64_t v, const auto& range) { return v < range.first; });
    if (behind == ranges.begin()) return;
    const auto it = behind - 1;
    if (value < it->second) {
      referred[static_cast<std::size_t>(it - ranges.begin())] = true;
    }
  };
  ByteSpan symbols;
  for (const Section& section : sections_) {
    if (section.header.sh_type == SHT_DYNSYM) symbols = SectionBytes(section);
  }
  if (const auto table = DynamicValue(DT_SYMTAB); table && symbols.empty()) {
    // Without sections, the old hash table says how many there are.
    const auto hash = DynamicValue(DT_HASH);
    const ByteSpan header = hash ? BytesAt(*hash) : ByteSpan();
    const std::uint64_t count =
        header.size() < 8 ? 0 : LoadLe<std::uint32_t>(header.data() + 4);
    symbols = BytesAt(*table);
    if (count == 0 || symbols.size() / sizeof(Elf64_Sym) < count) {
      referred.assign(ranges.size(), true);
      return referred;
    }
    symbols = symbols.first(count * sizeof(Elf64_Sym));
  }
  const auto value_of = [&](std::uint64_t index) -> std::uint64_t {
    if (index >= symbols.size() / sizeof(Elf64_Sym)) return 0;
    const auto symbol =
        LoadLe<Elf64_Sym>(symbols.data() + index * sizeof(Elf64_Sym));
    return symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
  };
  for (std::uint64_t i = 0; i < symbols.size() / sizeof(Elf64_Sym); ++i) {
    const auto name = DynamicString(
        LoadLe<Elf64_Sym>(symbols.data() + i * sizeof(Elf64_Sym)).st_name);
    if (name && name->substr(0, own_prefix.size()) == own_prefix) continue;
    see(value_of(i));
  }
  const auto see_rela = [&](const Elf64_Rela& entry, std::uint64_t) -> Status {
    if (own_slots.contains(entry.r_offset)) return {};
    // A relative one has symbol 0, whose value is 0.
    see(value_of(ELF64_R_SYM(entry.r_info)) +
        static_cast<std::uint64_t>(entry.r_addend));
    return {};
  };
  CERB_TRY_VOID(WalkRelocations(see_rela, [&](std::uint64_t vaddr) {
    const auto offset = OffsetOf(vaddr, 8);
    if (offset && !own_slots.contains(vaddr)) {
      see(LoadLe<std::uint64_t>(bytes_.data() + *offset));
    }
  }));
  return referred;
}

}  // namespace cerberus::rewriter
