#include "rewriter/elf/make_room.h"

#include <algorithm>
#include <cstdint>

namespace cerberus::rewriter {
namespace {

struct TagOfType {
  std::uint32_t type;
  std::int64_t tag;
};

// Sections that the dynamic section leads to.
constexpr TagOfType kMovable[] = {
    {SHT_GNU_HASH, DT_GNU_HASH}, {SHT_HASH, DT_HASH},
    {SHT_DYNSYM, DT_SYMTAB},     {SHT_STRTAB, DT_STRTAB},
    {SHT_GNU_versym, DT_VERSYM}, {SHT_GNU_verneed, DT_VERNEED},
    {SHT_GNU_verdef, DT_VERDEF},
};

// All tags whose value is an address.
constexpr std::int64_t kAddressTags[] = {
    DT_PLTGOT,     DT_HASH,     DT_STRTAB,        DT_SYMTAB, DT_RELA,
    DT_INIT,       DT_FINI,     DT_REL,           DT_JMPREL, DT_INIT_ARRAY,
    DT_FINI_ARRAY, DT_GNU_HASH, DT_PREINIT_ARRAY, DT_RELR,   DT_VERSYM,
    DT_VERNEED,    DT_VERDEF,
};

bool HasBytes(const Elf64_Shdr& section) {
  return section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS &&
         section.sh_size != 0;
}

bool Inside(const Elf64_Shdr& section, const Elf64_Phdr& segment) {
  return section.sh_offset >= segment.p_offset &&
         section.sh_offset + section.sh_size <=
             segment.p_offset + segment.p_filesz;
}

// Adds a section to those to be copied, with those that must go with it.
// False if something may refer to it in a way we do not see.
bool Take(const ElfFile& elf, std::size_t index, std::set<std::size_t>* taken) {
  const Elf64_Shdr& section = elf.sections()[index].header;
  if ((section.sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) !=
      SHF_ALLOC) {
    return false;
  }
  taken->insert(index);
  if (section.sh_type == SHT_PROGBITS) {
    const Elf64_Phdr* interp = elf.FindSegment(PT_INTERP);
    return interp != nullptr && interp->p_offset == section.sh_offset &&
           interp->p_filesz == section.sh_size;
  }
  if (section.sh_type == SHT_NOTE) {
    // All notes of a segment move together, so that it stays one piece.
    bool found = false;
    for (const Elf64_Phdr& segment : elf.segments()) {
      if (segment.p_type != PT_NOTE || !Inside(section, segment)) continue;
      found = true;
      for (std::size_t i = 1; i < elf.sections().size(); ++i) {
        const Elf64_Shdr& other = elf.sections()[i].header;
        if (!HasBytes(other) || !Inside(other, segment)) continue;
        if (other.sh_type != SHT_NOTE) return false;
        taken->insert(i);
      }
    }
    return found;
  }
  return std::any_of(std::begin(kMovable), std::end(kMovable),
                     [&](const TagOfType& row) {
                       return row.type == section.sh_type &&
                              elf.DynamicValue(row.tag) == section.sh_addr;
                     });
}

}  // namespace

std::optional<std::set<std::size_t>> SectionsInTheWay(const ElfFile& elf,
                                                      std::size_t entries) {
  // Without section headers nothing says what stands behind the table.
  if (elf.sections().empty()) return std::nullopt;
  const std::uint64_t table = elf.header().e_phoff;
  const std::uint64_t start =
      table + elf.segments().size() * sizeof(Elf64_Phdr);
  const std::uint64_t end = start + entries * sizeof(Elf64_Phdr);
  const auto overlaps = [&](std::uint64_t offset, std::uint64_t size) {
    return size != 0 && offset < end && offset + size > start;
  };
  // The loader reads the table from memory.
  const auto vaddr = elf.VaddrOf(table);
  if (!vaddr || elf.OffsetOf(*vaddr, end - table) != table) {
    return std::nullopt;
  }
  if (overlaps(elf.header().e_shoff,
               elf.sections().size() * sizeof(Elf64_Shdr))) {
    return std::nullopt;
  }

  std::set<std::size_t> taken;
  for (std::size_t i = 1; i < elf.sections().size(); ++i) {
    const Elf64_Shdr& section = elf.sections()[i].header;
    if (HasBytes(section) && !taken.contains(i) &&
        overlaps(section.sh_offset, section.sh_size) && !Take(elf, i, &taken)) {
      return std::nullopt;
    }
  }
  // What leads there must lead to a section that is copied.
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (!overlaps(segment.p_offset, segment.p_filesz) ||
        segment.p_type == PT_PHDR || segment.p_type == PT_NULL) {
      continue;
    }
    if (segment.p_type == PT_LOAD) {
      if (segment.p_offset <= table) continue;
      return std::nullopt;
    }
    if (std::none_of(taken.begin(), taken.end(), [&](std::size_t i) {
          return Inside(elf.sections()[i].header, segment);
        })) {
      return std::nullopt;
    }
  }
  for (const std::int64_t tag : kAddressTags) {
    const auto address = elf.DynamicValue(tag);
    if (!address || *address < *vaddr + (start - table) ||
        *address >= *vaddr + (end - table)) {
      continue;
    }
    if (std::none_of(taken.begin(), taken.end(), [&](std::size_t i) {
          return elf.sections()[i].header.sh_addr == *address;
        })) {
      return std::nullopt;
    }
  }
  return taken;
}

}  // namespace cerberus::rewriter
