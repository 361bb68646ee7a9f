#include "rewriter/pe/pe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "formats/segment.h"
#include "rewriter/references.h"

namespace cerberus::rewriter {
namespace {

constexpr std::uint16_t kMachineX64 = 0x8664;
constexpr std::uint16_t kMagicPe32Plus = 0x20b;
constexpr std::uint32_t kMaxDirectories = 16;
constexpr std::uint64_t kSymbolSize = 18;
constexpr std::uint16_t kRelocationNone = 0, kRelocation64 = 10;

std::string_view MachineName(unsigned machine) {
  switch (machine) {
    case 0x014c: return "x86";
    case 0x01c4: return "Arm";
    case 0xaa64: return "AArch64";
    case 0x0200: return "Itanium";
    default: return "";
  }
}

bool IsPowerOfTwo(std::uint32_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

}  // namespace

std::uint32_t PeFile::Section::loaded_size() const {
  return header.virtual_size == 0
             ? header.raw_size
             : std::min(header.raw_size, header.virtual_size);
}

std::uint32_t PeFile::Section::memory_size() const {
  return header.virtual_size == 0 ? header.raw_size : header.virtual_size;
}

Result<PeFile> PeFile::Parse(ByteSpan bytes, const std::string& name) {
  PeFile file;
  file.bytes_ = bytes;
  file.name_ = name;
  CERB_TRY_VOID(file.ReadHeaders());
  CERB_TRY_VOID(file.ReadSections());
  return file;
}

Status PeFile::ReadHeaders() {
  constexpr std::uint64_t kSignatureField = 0x3c;
  const auto unsupported = [&](std::string message) {
    return Err(Error(DiagCode::kUnsupported, std::move(message)));
  };
  const auto bad = [&](std::string message) {
    return Err(Error(DiagCode::kBadFormat, std::move(message)));
  };
  const ByteReader reader(bytes_);
  if (bytes_.size() < kSignatureField + 4) {
    return bad(
        fmt::format("PE file is cut short: {} bytes, its first header "
                    "takes {}",
                    bytes_.size(), kSignatureField + 4));
  }
  signature_offset_ = LoadLe<std::uint32_t>(bytes_.data() + kSignatureField);
  const std::uint64_t fixed = 4 + sizeof(PeFileHeader);
  const auto header = reader.Slice(signature_offset_, fixed);
  if (!header || AsText(header->first(4)) != std::string_view("PE\0\0", 4)) {
    return bad(
        fmt::format("is no PE file: no PE header at 0x{:x}, where the "
                    "DOS header leads to",
                    signature_offset_));
  }
  file_header_ = LoadLe<PeFileHeader>(header->data() + 4);
  if (file_header_.machine != kMachineX64) {
    const std::string_view machine = MachineName(file_header_.machine);
    return unsupported(fmt::format(
        "is a PE file for {}, expected x86-64",
        machine.empty() ? fmt::format("machine 0x{:x}", file_header_.machine)
                        : std::string(machine)));
  }
  const std::uint64_t at = signature_offset_ + fixed;
  const auto optional = reader.Slice(at, file_header_.optional_size);
  if (!optional || optional->size() < sizeof(PeOptionalHeader)) {
    return bad(
        fmt::format("an optional header of {} bytes at 0x{:x}, expected "
                    "{} or more",
                    file_header_.optional_size, at, sizeof(PeOptionalHeader)));
  }
  optional_header_ = LoadLe<PeOptionalHeader>(optional->data());
  if (optional_header_.magic != kMagicPe32Plus) {
    return bad(fmt::format("an optional header of type 0x{:x}, expected 0x{:x}",
                           optional_header_.magic, kMagicPe32Plus));
  }
  if (!CheckedAdd(base(), optional_header_.image_size)) {
    return bad("wraps around the address space");
  }
  const std::uint64_t count =
      std::min(optional_header_.directory_count, kMaxDirectories);
  if (sizeof(PeOptionalHeader) + count * sizeof(PeDirectory) >
      optional->size()) {
    return bad(
        fmt::format("{} directories do not fit into an optional header "
                    "of {} bytes",
                    count, optional->size()));
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    directories_.push_back(LoadLe<PeDirectory>(
        optional->data() + sizeof(PeOptionalHeader) + i * sizeof(PeDirectory)));
  }
  sections_offset_ = at + file_header_.optional_size;
  return {};
}

Status PeFile::ReadSections() {
  const auto bad = [&](std::string message) {
    return Err(Error(DiagCode::kBadFormat, std::move(message)));
  };
  const std::uint64_t count = file_header_.section_count;
  const auto table = ByteReader(bytes_).Slice(sections_offset_,
                                              count * sizeof(PeSectionHeader));
  if (!table) {
    return bad(
        fmt::format("is cut short: {} section headers at 0x{:x} run "
                    "past its end (0x{:x})",
                    count, sections_offset_, bytes_.size()));
  }
  std::uint64_t end = 0;  // of the addresses so far
  for (std::uint64_t i = 0; i < count; ++i) {
    Section section;
    section.header =
        LoadLe<PeSectionHeader>(table->data() + i * sizeof(PeSectionHeader));
    const PeSectionHeader& header = section.header;
    const std::string_view name(header.name, sizeof header.name);
    section.name = LongName(name.substr(0, name.find('\0')));
#ifndef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
    if (header.raw_size != 0 &&
        std::uint64_t{header.raw_offset} + header.raw_size > bytes_.size()) {
      return bad(fmt::format(
          "is cut short: section {} needs 0x{:x}+0x{:x} of "
          "the file, which ends at 0x{:x}",
          section.name, header.raw_offset, header.raw_size, bytes_.size()));
    }
#endif
    if (header.rva < end) {
      return bad(
          fmt::format("section {} overlaps the one before", section.name));
    }
    end = std::uint64_t{header.rva} + section.memory_size();
    if (!CheckedAdd(base(), end)) {
      return bad(fmt::format("section {} wraps around the address space",
                             section.name));
    }
    sections_.push_back(std::move(section));
  }
  return {};
}

// "/123" is an offset into the strings behind the COFF symbols.
std::string PeFile::LongName(std::string_view short_name) const {
  if (short_name.size() < 2 || short_name[0] != '/' ||
      file_header_.symbols_offset == 0) {
    return std::string(short_name);
  }
  std::uint32_t at = 0;
  const char* end = short_name.data() + short_name.size();
  if (std::from_chars(short_name.data() + 1, end, at).ptr != end) {
    return std::string(short_name);
  }
  const std::uint64_t strings = file_header_.symbols_offset +
                                file_header_.symbol_count * kSymbolSize + at;
  if (strings >= bytes_.size()) return std::string(short_name);
  const std::string_view text = AsText(bytes_.subspan(strings));
  return std::string(text.substr(0, text.substr(0, 256).find('\0')));
}

PeDirectory PeFile::directory(std::uint32_t index) const {
  return index < directories_.size() ? directories_[index] : PeDirectory{};
}

bool PeFile::is_relocatable() const {
  return (file_header_.characteristics & kPeRelocsStripped) == 0 &&
         directory(kPeRelocations).size != 0;
}

const PeFile::Section* PeFile::FindSection(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

std::uint64_t PeFile::sections_end() const {
  std::uint64_t end = optional_header_.headers_size;
  for (const Section& section : sections_) {
    if (section.header.raw_size == 0) continue;
    end = std::max(end, std::uint64_t{section.header.raw_offset} +
                            section.header.raw_size);
  }
  return std::min<std::uint64_t>(end, bytes_.size());
}

Status PeFile::CheckLayout() const {
  const auto fail = [&](std::string message) {
    return Err(Error(DiagCode::kUnsupported, std::move(message)));
  };
  const std::uint32_t in_file = optional_header_.file_alignment;
  const std::uint32_t in_memory = optional_header_.section_alignment;
  if (!IsPowerOfTwo(in_file) || !IsPowerOfTwo(in_memory) || in_file < 512 ||
      in_file > 0x10000 || in_memory < 0x1000 || in_memory > 0x1000000) {
    return fail(
        fmt::format("sections are aligned to {} bytes in the file and "
                    "{} when loaded, expected 512 to 65536 and 4096 or "
                    "more",
                    in_file, in_memory));
  }
  if (sections_.empty()) return fail("has no sections");
  std::uint64_t next = AlignUp(optional_header_.headers_size, in_memory);
  for (const Section& section : sections_) {
    const PeSectionHeader& header = section.header;
    if (header.rva != next) {
      return fail(
          fmt::format("section {} begins at 0x{:x}, expected 0x{:x}, "
                      "behind the one before",
                      section.name, header.rva, next));
    }
    if (header.raw_size != 0 && header.raw_offset % 512 != 0) {
      return fail(
          fmt::format("section {} begins at 0x{:x} of the file, "
                      "expected a multiple of 512",
                      section.name, header.raw_offset));
    }
    next = AlignUp(next + section.memory_size(), in_memory);
  }
  std::vector<const Section*> in_order;
  for (const Section& section : sections_) {
    if (section.header.raw_size != 0) in_order.push_back(&section);
  }
  std::sort(in_order.begin(), in_order.end(), [](const auto* a, const auto* b) {
    return a->header.raw_offset < b->header.raw_offset;
  });
  for (std::size_t i = 1; i < in_order.size(); ++i) {
    const PeSectionHeader& before = in_order[i - 1]->header;
    if (in_order[i]->header.raw_offset - before.raw_offset < before.raw_size) {
      return fail(
          fmt::format("section {} has bytes of the file in common with "
                      "{}",
                      in_order[i]->name, in_order[i - 1]->name));
    }
  }
  return {};
}

std::vector<ObjectFile::Region> PeFile::Regions() const {
  std::vector<Region> regions;
  for (const Section& section : sections_) {
    if (section.loaded_size() == 0) continue;
    const std::uint32_t flags = section.header.characteristics;
    regions.push_back({section.name, base() + section.header.rva,
                       section.header.raw_offset, section.loaded_size(),
                       (flags & kPeExecute) != 0, (flags & kPeWrite) != 0});
  }
  std::sort(
      regions.begin(), regions.end(), [](const Region& a, const Region& b) {
        return std::pair(a.offset, a.vaddr) < std::pair(b.offset, b.vaddr);
      });
  return regions;
}

// Linkers cut names to eight characters.
bool PeFile::IsSection(const Region& region, std::string_view name) const {
  if (name == formats::kMarkerSection) name = formats::kPeMarkerSection;
  return region.name == name || region.name == name.substr(0, 8);
}

const PeFile::Section* PeFile::SectionAt(std::uint64_t vaddr) const {
  if (vaddr < base()) return nullptr;
  const std::uint64_t rva = vaddr - base();
  for (const Section& section : sections_) {
    if (rva >= section.header.rva &&
        rva - section.header.rva < section.memory_size()) {
      return &section;
    }
  }
  return nullptr;
}

std::optional<std::uint64_t> PeFile::OffsetOf(std::uint64_t vaddr,
                                              std::uint64_t size) const {
  const Section* section = SectionAt(vaddr);
  if (section == nullptr) return std::nullopt;
  const std::uint64_t into = vaddr - base() - section->header.rva;
  const std::uint64_t loaded = section->loaded_size();
  if (into > loaded || size > loaded - into) return std::nullopt;
  return section->header.raw_offset + into;
}

std::optional<std::uint64_t> PeFile::VaddrOf(std::uint64_t offset) const {
  for (const Section& section : sections_) {
    if (offset >= section.header.raw_offset &&
        offset - section.header.raw_offset < section.loaded_size()) {
      return base() + section.header.rva + (offset - section.header.raw_offset);
    }
  }
  return std::nullopt;
}

ByteSpan PeFile::BytesAt(std::uint64_t vaddr) const {
  const Section* section = SectionAt(vaddr);
  if (section == nullptr) return {};
  const std::uint64_t into = vaddr - base() - section->header.rva;
  if (into >= section->loaded_size()) return {};
  return bytes_.subspan(section->header.raw_offset + into,
                        section->loaded_size() - into);
}

bool PeFile::IsLoaded(std::uint64_t vaddr, std::uint64_t size) const {
  const Section* section = SectionAt(vaddr);
  return section != nullptr &&
         size <=
             section->memory_size() - (vaddr - base() - section->header.rva);
}

template <typename See>
Status PeFile::WalkRelocations(See see) const {
  if (!is_relocatable()) return {};
  const PeDirectory table = directory(kPeRelocations);
  const auto start = OffsetOf(base() + table.rva, table.size);
  const auto bad = [&](std::string message) {
    return Err(Error(DiagCode::kBadFormat, std::move(message)));
  };
  if (!start) {
    return bad(
        fmt::format("base relocations at 0x{:x}+0x{:x} are in no "
                    "section",
                    table.rva, table.size));
  }
  const ByteSpan bytes = bytes_.subspan(*start, table.size);
  for (std::uint64_t at = 0; at + 8 <= bytes.size();) {
    const auto page = LoadLe<std::uint32_t>(bytes.data() + at);
    const auto size = LoadLe<std::uint32_t>(bytes.data() + at + 4);
    if (size == 0 && page == 0) break;  // padding
    if (size < 8 || size > bytes.size() - at) {
      return bad(
          fmt::format("a block of base relocations of {} bytes at "
                      "0x{:x}, where {} are left",
                      size, table.rva + at, bytes.size() - at));
    }
    for (std::uint64_t entry = at + 8; entry + 2 <= at + size; entry += 2) {
      const auto word = LoadLe<std::uint16_t>(bytes.data() + entry);
      const unsigned type = word >> 12;
      if (type == kRelocationNone) continue;
      if (type != kRelocation64) {
        return bad(fmt::format("a base relocation of type {}, expected {}",
                               type, kRelocation64));
      }
      see(base() + page + (word & 0xfff));
    }
    at += size;
  }
  return {};
}

// Addresses of what other files can ask for by name or number.
template <typename See>
Status PeFile::WalkExports(See see) const {
  const PeDirectory directory_entry = directory(kPeExports);
  if (directory_entry.size == 0) return {};
  constexpr std::uint64_t kCountField = 20, kTableField = 28, kSize = 40;
  const auto header = OffsetOf(base() + directory_entry.rva, kSize);
  if (!header) {
    return Err(Error(DiagCode::kBadFormat,
                     fmt::format("the export directory at 0x{:x} is in no "
                                 "section",
                                 directory_entry.rva)));
  }
  const auto count =
      LoadLe<std::uint32_t>(bytes_.data() + *header + kCountField);
  const auto table =
      LoadLe<std::uint32_t>(bytes_.data() + *header + kTableField);
  if (count == 0) return {};
  const auto at = OffsetOf(base() + table, std::uint64_t{count} * 4);
  if (!at) {
    return Err(Error(
        DiagCode::kBadFormat,
        fmt::format("{} exports at 0x{:x} are in no section", count, table)));
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    see(base() + LoadLe<std::uint32_t>(bytes_.data() + *at + i * 4));
  }
  return {};
}

Result<std::vector<PointerSlot>> PeFile::ResolvePointers(
    const std::vector<std::uint64_t>& vaddrs) const {
  std::vector<PointerSlot> slots;
  slots.reserve(vaddrs.size());
  for (const std::uint64_t vaddr : vaddrs) {
    const auto offset = OffsetOf(vaddr, 8);
    if (!offset) {
      return Err(Error(DiagCode::kBadFormat,
                       fmt::format("pointer at address 0x{:x} is not in a "
                                   "section's file part",
                                   vaddr)));
    }
    PointerSlot slot;
    slot.vaddr = vaddr;
    slot.offset = *offset;
    slot.in_place = LoadLe<std::uint64_t>(bytes_.data() + *offset);
    slot.value = slot.in_place;
    slots.push_back(slot);
  }
  return slots;
}

Result<std::vector<bool>> PeFile::ReferredRanges(
    const std::vector<AddressRange>& ranges,
    const std::set<std::uint64_t>& own_slots,
    std::string_view /*own_prefix*/) const {
  References references(ranges, own_slots);
  CERB_TRY_VOID(
      WalkExports([&](std::uint64_t vaddr) { references.See(vaddr); }));
  CERB_TRY_VOID(WalkRelocations([&](std::uint64_t vaddr) {
    references.See(vaddr);  // written to
    const auto offset = OffsetOf(vaddr, 8);
    if (offset && !references.IsOwn(vaddr)) {
      references.See(LoadLe<std::uint64_t>(bytes_.data() + *offset));
    }
  }));
  // Compilers index arrays from the base of the image.
  References::Bases bases{{base()}, {}};
  if (!is_relocatable()) bases = {{base(), 0}, {0}};
  for (const Region& region : Regions()) {
    if (region.is_executable) {
      references.SeeCode(*this, region, bases);
    } else if (!is_relocatable()) {
      references.SeePlainData(*this, region);
    }
  }
  return std::move(references).Take();
}

}  // namespace cerberus::rewriter
