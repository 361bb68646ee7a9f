// A checked reader of ELF files: 64-bit, little-endian, x86-64, linked.
//
// Nothing in the file is believed: every table lies inside the file or the
// file is refused. Section headers are optional, as for the loader; what the
// loader goes by (program headers, dynamic section) is read from there.
// Formats: System V gABI, chapters 4 and 5; x86-64 psABI, chapter 4.
#ifndef CERBERUS_REWRITER_ELF_ELF_H_
#define CERBERUS_REWRITER_ELF_ELF_H_

#include <elf.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rewriter/object_file.h"
#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::rewriter {

class ElfFile : public ObjectFile {
 public:
  struct Section {
    std::string name;
    Elf64_Shdr header;
  };

  ElfFile() = default;  // holds nothing
  // `bytes` must outlive the result. `name` is for messages.
  static Result<ElfFile> Parse(ByteSpan bytes, const std::string& name);

  const Elf64_Ehdr& header() const { return header_; }
  bool is_position_independent() const { return header_.e_type == ET_DYN; }
  // An executable rather than a library: it names an interpreter, or its
  // flags say PIE (a library may name an interpreter too, as libc.so does,
  // but then it can be started like a program).
  bool is_executable() const;

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const Elf64_Phdr* FindSegment(std::uint32_t type) const;

  // Empty if the file has no section headers.
  const std::vector<Section>& sections() const { return sections_; }
  const Section* FindSection(std::string_view name) const;
  // The bytes of a section in the file; empty for SHT_NOBITS.
  ByteSpan SectionBytes(const Section& section) const;

  // Entries before the first DT_NULL.
  const std::vector<Elf64_Dyn>& dynamic() const { return dynamic_; }
  std::uint64_t dynamic_offset() const { return dynamic_offset_; }
  // Entries that fit, terminators included.
  std::size_t dynamic_capacity() const { return dynamic_capacity_; }
  std::optional<std::uint64_t> DynamicValue(std::int64_t tag) const;
  // Index into dynamic().
  std::optional<std::size_t> FindDynamic(std::int64_t tag) const;
  // DT_STRTAB as far as DT_STRSZ says.
  ByteSpan dynamic_strings() const { return dynamic_strings_; }
  Result<std::string_view> DynamicString(std::uint64_t offset) const;
  std::vector<std::string_view> NeededLibraries() const;

  bool has_sections() const override { return !sections_.empty(); }
  std::vector<Region> Regions() const override;
  bool IsSection(const Region& region, std::string_view name) const override {
    return region.name == name;
  }
  std::optional<std::uint64_t> OffsetOf(std::uint64_t vaddr,
                                        std::uint64_t size = 1) const override;
  std::optional<std::uint64_t> VaddrOf(std::uint64_t offset) const override;
  ByteSpan BytesAt(std::uint64_t vaddr) const override;
  bool IsLoaded(std::uint64_t vaddr, std::uint64_t size) const override;

  // What every loader, kernel and tool relies on: segments that do not
  // overlap, at offsets that match their addresses; headers that are loaded
  // where the file says they are.
  Status CheckLayout() const;

  Result<std::vector<PointerSlot>> ResolvePointers(
      const std::vector<std::uint64_t>& vaddrs) const override;
  Result<std::vector<bool>> ReferredRanges(
      const std::vector<AddressRange>& ranges,
      const std::set<std::uint64_t>& own_slots,
      std::string_view own_prefix) const override;

 private:
  Status ReadHeader();
  Status ReadSegments();
  Status ReadSections();
  Status ReadDynamic();
  // Calls see(Relocation) → Status for each entry of DT_RELA, DT_REL and
  // DT_RELR.
  struct Relocation {
    std::uint64_t vaddr;   // of the slot
    std::uint64_t offset;  // of the entry, in the file; 0: DT_RELR
    std::uint32_t type;
    std::uint32_t symbol;
    // None: it stands in place.
    std::optional<std::uint64_t> addend;
  };
  template <typename See>
  Status WalkRelocations(See see) const;
  // Of a symbol of the dynamic table.
  Result<std::uint64_t> SymbolValue(std::uint32_t index) const;
  // The dynamic symbols; none if they cannot be counted.
  std::optional<ByteSpan> DynamicSymbols() const;
  Diag TableError(std::string_view what, std::uint64_t vaddr,
                  std::uint64_t size) const;

  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Section> sections_;
  std::vector<Elf64_Dyn> dynamic_;
  std::uint64_t dynamic_offset_ = 0;
  std::size_t dynamic_capacity_ = 0;
  ByteSpan dynamic_strings_;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_ELF_ELF_H_
