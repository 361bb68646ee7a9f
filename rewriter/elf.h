// A checked reader of ELF files: 64-bit, little-endian, x86-64, linked.
//
// Nothing in the file is believed: every table lies inside the file or the
// file is refused. Section headers are optional, as for the loader; what the
// loader goes by (program headers, dynamic section) is read from there.
// Formats: System V gABI, chapters 4 and 5; x86-64 psABI, chapter 4.
#ifndef CERBERUS_REWRITER_ELF_H_
#define CERBERUS_REWRITER_ELF_H_

#include <elf.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::rewriter {

// A pointer that stands in the file, and how the loader fills it in.
struct PointerSlot {
  enum class Fill : std::uint8_t {
    kInPlace,   // not position independent: the bytes are the address
    kRelative,  // R_X86_64_RELATIVE: base plus the relocation's addend
    kSymbol,    // R_X86_64_64: a symbol's value plus the addend
    kRelr,      // DT_RELR: base plus the bytes in place
  };
  Fill fill = Fill::kInPlace;
  std::uint64_t vaddr = 0;        // of the slot
  std::uint64_t offset = 0;       // of the slot, in the file
  std::uint64_t rela_offset = 0;  // of its Elf64_Rela, in the file, or 0
  std::uint64_t in_place = 0;     // the bytes that stand there
  std::uint64_t value = 0;        // address it leads to, 0: null
};

class ElfFile {
 public:
  struct Section {
    std::string name;
    Elf64_Shdr header;
  };

  ElfFile() = default;  // holds nothing
  // `bytes` must outlive the result. `name` is for messages.
  static Result<ElfFile> Parse(ByteSpan bytes, const std::string& name);

  ByteSpan bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
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

  // Where `size` bytes at an address stand in the file; none if they are
  // not all inside the file part of one PT_LOAD.
  std::optional<std::uint64_t> OffsetOf(std::uint64_t vaddr,
                                        std::uint64_t size = 1) const;
  std::optional<std::uint64_t> VaddrOf(std::uint64_t offset) const;
  // File bytes from an address to the end of its segment; empty if none.
  ByteSpan BytesAt(std::uint64_t vaddr) const;

  // What every loader, kernel and tool relies on: segments that do not
  // overlap, at offsets that match their addresses; headers that are loaded
  // where the file says they are.
  Status CheckLayout() const;

  // Finds out how each of the 8-byte slots at the addresses is filled, in
  // one pass over the relocations. `vaddrs` must be sorted. Errors: a slot
  // outside the file, a relocation of a type that cannot stand there, a
  // broken relocation table.
  Result<std::vector<PointerSlot>> ResolvePointers(
      const std::vector<std::uint64_t>& vaddrs) const;

  // Of each of the ranges of addresses (sorted, disjoint; first and behind
  // last) whether something leads there that the loader knows of: a symbol of
  // the dynamic table whose name does not begin with `own_prefix`, or a pointer
  // that it fills in, but for the slots at the addresses in `own_slots`. True
  // for all where the symbols cannot be counted.
  Result<std::vector<bool>> ReferredRanges(
      const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges,
      const std::set<std::uint64_t>& own_slots,
      std::string_view own_prefix) const;

  // Message about this file: "app: .dynamic+0x10: …".
  Diag Error(DiagCode code, std::string message, std::string section = "",
             std::int64_t offset = -1) const;

 private:
  Status ReadHeader();
  Status ReadSegments();
  Status ReadSections();
  Status ReadDynamic();
  // Calls see_rela(Elf64_Rela, its offset in the file) → Status for each entry
  // of DT_RELA, and see_relr(address of the slot) for each of DT_RELR.
  template <typename SeeRela, typename SeeRelr>
  Status WalkRelocations(SeeRela see_rela, SeeRelr see_relr) const;
  Diag TableError(std::string_view what, std::uint64_t vaddr,
                  std::uint64_t size) const;

  ByteSpan bytes_;
  std::string name_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Section> sections_;
  std::vector<Elf64_Dyn> dynamic_;
  std::uint64_t dynamic_offset_ = 0;
  std::size_t dynamic_capacity_ = 0;
  ByteSpan dynamic_strings_;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_ELF_H_
