// Who leads where in an ELF file: relocations, dynamic symbols, machine code.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rewriter/elf/elf.h"
#include "rewriter/references.h"

namespace cerberus::rewriter {

Diag ElfFile::TableError(std::string_view what, std::uint64_t vaddr,
                         std::uint64_t size) const {
  return Error(DiagCode::kBadFormat,
               fmt::format("{} 0x{:x}+0x{:x} is not in a loaded segment's file "
                           "part",
                           what, vaddr, size),
               ".dynamic");
}

template <typename See>
Status ElfFile::WalkRelocations(See see) const {
  // x86-64 uses DT_RELA; linkers make DT_REL where asked (lld's -z rel), and
  // loaders other than glibc's read it.
  struct Table {
    std::int64_t tag, size_tag;
    const char* name;
    std::uint64_t entry;
  };
  constexpr Table kTables[] = {
      {DT_RELA, DT_RELASZ, "DT_RELA", sizeof(Elf64_Rela)},
      {DT_REL, DT_RELSZ, "DT_REL", sizeof(Elf64_Rel)}};
  for (const Table& row : kTables) {
    const std::uint64_t vaddr = DynamicValue(row.tag).value_or(0);
    const std::uint64_t size = DynamicValue(row.size_tag).value_or(0);
    if (vaddr == 0 || size == 0) continue;
    const auto table = OffsetOf(vaddr, size);
    if (!table) return Err(TableError(row.name, vaddr, size));
    for (std::uint64_t at = *table; at + row.entry <= *table + size;
         at += row.entry) {
      const auto entry = LoadLe<Elf64_Rel>(bytes_.data() + at);
      Relocation relocation{
          entry.r_offset, at,
          static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info)),
          static_cast<std::uint32_t>(ELF64_R_SYM(entry.r_info)), std::nullopt};
      if (row.tag == DT_RELA) {
        relocation.addend =
            LoadLe<std::uint64_t>(bytes_.data() + at + sizeof(Elf64_Rel));
      }
      CERB_TRY_VOID(see(relocation));
    }
  }

  const std::uint64_t relr = DynamicValue(DT_RELR).value_or(0);
  const std::uint64_t relr_size = DynamicValue(DT_RELRSZ).value_or(0);
  if (relr == 0 || relr_size == 0) return {};
  const auto table = OffsetOf(relr, relr_size);
  if (!table) return Err(TableError("DT_RELR", relr, relr_size));
  const auto see_relr = [&](std::uint64_t vaddr) {
    return see(Relocation{vaddr, 0, R_X86_64_RELATIVE, 0, std::nullopt});
  };
  // gABI, "RELR": an even word is an address to relocate; an odd one is a
  // bitmap of the 63 words that follow the last place.
  std::uint64_t next = 0;
  for (std::uint64_t at = *table; at + 8 <= *table + relr_size; at += 8) {
    const std::uint64_t word = LoadLe<std::uint64_t>(bytes_.data() + at);
    if ((word & 1) == 0) {
      CERB_TRY_VOID(see_relr(word));
      next = word + 8;
      continue;
    }
    for (unsigned bit = 1; bit < 64; ++bit) {
      if (((word >> bit) & 1) == 0) continue;
      CERB_TRY_VOID(see_relr(next + 8 * std::uint64_t{bit - 1}));
    }
    next += std::uint64_t{63} * 8;
  }
  return {};
}

Result<std::uint64_t> ElfFile::SymbolValue(std::uint32_t index) const {
  const std::uint64_t symbols = DynamicValue(DT_SYMTAB).value_or(0);
  const auto vaddr =
      CheckedAdd(symbols, std::uint64_t{index} * sizeof(Elf64_Sym));
  const auto offset =
      vaddr ? OffsetOf(*vaddr, sizeof(Elf64_Sym)) : std::nullopt;
  if (!offset) {
    return Err(
        TableError("the symbol of a relocation", symbols, sizeof(Elf64_Sym)));
  }
  return std::uint64_t{LoadLe<Elf64_Sym>(bytes_.data() + *offset).st_value};
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
  const auto see = [&](const Relocation& relocation) -> Status {
    PointerSlot* slot = find(relocation.vaddr);
    if (slot == nullptr) return {};
    slot->rela_offset = relocation.offset;
    const std::uint64_t addend = relocation.addend.value_or(slot->in_place);
    if (relocation.type == R_X86_64_RELATIVE) {
      slot->fill = relocation.addend ? PointerSlot::Fill::kRelative
                                     : PointerSlot::Fill::kRelr;
      slot->value = addend;
      return {};
    }
    if (relocation.type != R_X86_64_64) {
      return Err(
          Error(DiagCode::kUnsupported,
                fmt::format("relocation type {} fills the pointer at 0x{:x}, "
                            "expected R_X86_64_RELATIVE or R_X86_64_64",
                            relocation.type, relocation.vaddr),
                "", static_cast<std::int64_t>(relocation.offset)));
    }
    CERB_TRY(const std::uint64_t symbol, SymbolValue(relocation.symbol));
    slot->fill = relocation.addend ? PointerSlot::Fill::kSymbol
                                   : PointerSlot::Fill::kRelSymbol;
    slot->value = symbol + addend;
    return {};
  };
  CERB_TRY_VOID(WalkRelocations(see));
  return slots;
}

std::optional<ByteSpan> ElfFile::DynamicSymbols() const {
  for (const Section& section : sections_) {
    if (section.header.sh_type == SHT_DYNSYM) return SectionBytes(section);
  }
  const auto table = DynamicValue(DT_SYMTAB);
  if (!table) return ByteSpan();
  // Without sections, the hash tables say how many there are.
  std::uint64_t count = 0;
  const auto hash = DynamicValue(DT_HASH);
  const ByteSpan old = hash ? BytesAt(*hash) : ByteSpan();
  if (old.size() >= 8) {
    count = LoadLe<std::uint32_t>(old.data() + 4);
  } else if (const auto gnu = DynamicValue(DT_GNU_HASH)) {
    // Buckets hold the first symbol of a chain, whose last word is odd; what
    // stands before the first hashed symbol is not defined here.
    const ByteSpan words = BytesAt(*gnu);
    const auto word = [&](std::uint64_t i) -> std::optional<std::uint32_t> {
      if (i >= words.size() / 4) return std::nullopt;
      return LoadLe<std::uint32_t>(words.data() + i * 4);
    };
    const auto buckets = word(0), first = word(1), bloom = word(2);
    if (!buckets || !first || !bloom) return std::nullopt;
    const std::uint64_t bucket_at = 4 + std::uint64_t{*bloom} * 2;
    const std::uint64_t chain_at = bucket_at + *buckets;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < *buckets; ++i) {
      const auto start = word(bucket_at + i);
      if (!start) return std::nullopt;
      last = std::max<std::uint64_t>(last, *start);
    }
    count = *first;
    if (last >= *first && last != 0) {
      for (bool ended = false; !ended; ++last) {
        const auto link = word(chain_at + (last - *first));
        if (!link) return std::nullopt;
        ended = (*link & 1) != 0;
      }
      count = last;
    }
  }
  const ByteSpan symbols = BytesAt(*table);
  if (count == 0 || symbols.size() / sizeof(Elf64_Sym) < count) {
    return std::nullopt;
  }
  return symbols.first(count * sizeof(Elf64_Sym));
}

Result<std::vector<bool>> ElfFile::ReferredRanges(
    const std::vector<AddressRange>& ranges,
    const std::set<std::uint64_t>& own_slots,
    std::string_view own_prefix) const {
  References references(ranges, own_slots);
  const std::optional<ByteSpan> symbols = DynamicSymbols();
  if (!symbols) {
    references.SeeAll();
    return std::move(references).Take();
  }
  const auto value_of = [&](std::uint64_t index) -> std::uint64_t {
    if (index >= symbols->size() / sizeof(Elf64_Sym)) return 0;
    const auto symbol =
        LoadLe<Elf64_Sym>(symbols->data() + index * sizeof(Elf64_Sym));
    return symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
  };
  for (std::uint64_t i = 0; i < symbols->size() / sizeof(Elf64_Sym); ++i) {
    const auto name = DynamicString(
        LoadLe<Elf64_Sym>(symbols->data() + i * sizeof(Elf64_Sym)).st_name);
    if (!own_prefix.empty() && name && name->starts_with(own_prefix)) continue;
    references.See(value_of(i));
  }
  CERB_TRY_VOID(WalkRelocations([&](const Relocation& relocation) -> Status {
    references.See(relocation.vaddr);  // written to
    if (references.IsOwn(relocation.vaddr)) return {};
    std::uint64_t addend = relocation.addend.value_or(0);
    if (!relocation.addend) {
      if (const auto offset = OffsetOf(relocation.vaddr, 8)) {
        addend = LoadLe<std::uint64_t>(bytes_.data() + *offset);
      }
    }
    // A relative one has symbol 0, whose value is 0.
    references.See(value_of(relocation.symbol) + addend);
    return {};
  }));
  References::Bases bases;
  if (!is_position_independent()) bases = {{0}, {0}};
  for (const char* name : {".got", ".got.plt"}) {
    if (const Section* got = FindSection(name)) {
      bases.wide.push_back(got->header.sh_addr);
    }
  }
  if (const auto got = DynamicValue(DT_PLTGOT)) bases.wide.push_back(*got);
  for (const Region& region : Regions()) {
    if (region.is_executable) references.SeeCode(*this, region, bases);
    if (!is_position_independent() && !region.is_executable) {
      references.SeePlainData(*this, region);
    }
  }
  return std::move(references).Take();
}

}  // namespace cerberus::rewriter
