#include "rewriter/elf/elf.h"

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
#ifndef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
    if (!reader.Slice(section.sh_offset, section.sh_size)) {
      return Err(Error(
          DiagCode::kBadFormat,
          fmt::format("section {} at 0x{:x}+0x{:x} runs past the end of the "
                      "file (0x{:x})",
                      i, section.sh_offset, section.sh_size, bytes_.size())));
    }
#endif
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

bool ElfFile::IsLoaded(std::uint64_t vaddr, std::uint64_t size) const {
  // Segments of one file follow one another; what was cut is the end of one.
  while (size > 0) {
    const auto holds =
        std::find_if(segments_.begin(), segments_.end(), [&](const auto& s) {
          return s.p_type == PT_LOAD && vaddr >= s.p_vaddr &&
                 vaddr - s.p_vaddr < s.p_memsz;
        });
    if (holds == segments_.end()) return false;
    const std::uint64_t taken =
        std::min(size, holds->p_memsz - (vaddr - holds->p_vaddr));
    vaddr += taken;
    size -= taken;
  }
  return true;
}

std::vector<ObjectFile::Region> ElfFile::Regions() const {
  std::vector<Region> regions;
  for (const Section& section : sections_) {
    const Elf64_Shdr& header = section.header;
    if (header.sh_type != SHT_PROGBITS || (header.sh_flags & SHF_ALLOC) == 0) {
      continue;
    }
    regions.push_back({section.name, header.sh_addr, header.sh_offset,
                       header.sh_size, (header.sh_flags & SHF_EXECINSTR) != 0,
                       (header.sh_flags & SHF_WRITE) != 0});
  }
  if (sections_.empty()) {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD) continue;
      regions.push_back({"", segment.p_vaddr, segment.p_offset,
                         segment.p_filesz, (segment.p_flags & PF_X) != 0,
                         (segment.p_flags & PF_W) != 0});
    }
  }
  std::sort(
      regions.begin(), regions.end(), [](const Region& a, const Region& b) {
        return std::pair(a.offset, a.vaddr) < std::pair(b.offset, b.vaddr);
      });
  return regions;
}

}  // namespace cerberus::rewriter
