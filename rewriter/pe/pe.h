// A checked reader of PE files (PE32+): 64-bit Windows programs and DLLs for
// x86-64.
//
// Nothing in the file is believed: headers, sections and directories lie inside
// it or the file is refused. Addresses are those that stand in the file: its
// preferred base plus what the format calls an RVA.
// Format: Microsoft, "PE Format" (2024), sections "COFF File Header" to "The
// .reloc Section".
#ifndef CERBERUS_REWRITER_PE_PE_H_
#define CERBERUS_REWRITER_PE_PE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/object_file.h"
#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::rewriter {

struct PeFileHeader {
  std::uint16_t machine;
  std::uint16_t section_count;
  std::uint32_t time;
  std::uint32_t symbols_offset;  // COFF symbols, which MinGW leaves
  std::uint32_t symbol_count;
  std::uint16_t optional_size;
  std::uint16_t characteristics;
};
static_assert(sizeof(PeFileHeader) == 20);

// The optional header of PE32+, which is not optional, without directories.
struct PeOptionalHeader {
  std::uint16_t magic;
  std::uint16_t linker_version;
  std::uint32_t code_size;
  std::uint32_t data_size;
  std::uint32_t bss_size;
  std::uint32_t entry_point;
  std::uint32_t code_base;
  std::uint64_t image_base;
  std::uint32_t section_alignment;
  std::uint32_t file_alignment;
  std::uint16_t versions[6];
  std::uint32_t zero;
  std::uint32_t image_size;
  std::uint32_t headers_size;
  std::uint32_t checksum;
  std::uint16_t subsystem;
  std::uint16_t dll_characteristics;
  std::uint64_t stack_and_heap[4];
  std::uint32_t loader_flags;
  std::uint32_t directory_count;
};
static_assert(sizeof(PeOptionalHeader) == 112);

struct PeDirectory {
  std::uint32_t rva;
  std::uint32_t size;
};

enum PeDirectoryIndex : std::uint32_t {
  kPeExports = 0,
  kPeCertificates = 4,  // its "RVA" is an offset in the file
  kPeRelocations = 5,
  kPeDebug = 6,
};

struct PeSectionHeader {
  char name[8];
  std::uint32_t virtual_size;
  std::uint32_t rva;
  std::uint32_t raw_size;
  std::uint32_t raw_offset;
  std::uint32_t relocations_offset;
  std::uint32_t lines_offset;
  std::uint16_t relocation_count;
  std::uint16_t line_count;
  std::uint32_t characteristics;
};
static_assert(sizeof(PeSectionHeader) == 40);

enum PeCharacteristic : std::uint32_t {
  kPeRelocsStripped = 0x0001,
  kPeIsDll = 0x2000,
  kPeInitializedData = 0x00000040,
  kPeExecute = 0x20000000,
  kPeRead = 0x40000000,
  kPeWrite = 0x80000000,
};

class PeFile : public ObjectFile {
 public:
  struct Section {
    std::string name;  // in full, where the file has it
    PeSectionHeader header;

    // Bytes of the file that are loaded; the rest is padding, or zeros.
    std::uint32_t loaded_size() const;
    // Addresses that are taken.
    std::uint32_t memory_size() const;
  };

  PeFile() = default;  // holds nothing
  // `bytes` must outlive the result. `name` is for messages.
  static Result<PeFile> Parse(ByteSpan bytes, const std::string& name);

  // Where "PE\0\0" stands, and the table of sections.
  std::uint64_t signature_offset() const { return signature_offset_; }
  std::uint64_t sections_offset() const { return sections_offset_; }
  const PeFileHeader& file_header() const { return file_header_; }
  const PeOptionalHeader& optional_header() const { return optional_header_; }
  std::uint64_t base() const { return optional_header_.image_base; }
  bool is_dll() const { return (file_header_.characteristics & kPeIsDll) != 0; }
  // Whether the loader may move it from its preferred base.
  bool is_relocatable() const;
  const std::vector<Section>& sections() const { return sections_; }
  const Section* FindSection(std::string_view name) const;
  // {0, 0} if the file has none.
  PeDirectory directory(std::uint32_t index) const;
  // End of what sections have in the file.
  std::uint64_t sections_end() const;

  // What the loader of Windows asks for, so that a section can be added:
  // alignments, sections that follow one another without a gap.
  Status CheckLayout() const;

  bool has_sections() const override { return true; }
  std::vector<Region> Regions() const override;
  bool IsSection(const Region& region, std::string_view name) const override;
  std::optional<std::uint64_t> OffsetOf(std::uint64_t vaddr,
                                        std::uint64_t size = 1) const override;
  std::optional<std::uint64_t> VaddrOf(std::uint64_t offset) const override;
  ByteSpan BytesAt(std::uint64_t vaddr) const override;
  bool IsLoaded(std::uint64_t vaddr, std::uint64_t size) const override;
  Result<std::vector<PointerSlot>> ResolvePointers(
      const std::vector<std::uint64_t>& vaddrs) const override;
  Result<std::vector<bool>> ReferredRanges(
      const std::vector<AddressRange>& ranges,
      const std::set<std::uint64_t>& own_slots,
      std::string_view own_prefix) const override;

 private:
  Status ReadHeaders();
  Status ReadSections();
  std::string LongName(std::string_view short_name) const;
  const Section* SectionAt(std::uint64_t vaddr) const;
  // Calls see(address of a 64-bit pointer) for each that the loader moves.
  template <typename See>
  Status WalkRelocations(See see) const;
  template <typename See>
  Status WalkExports(See see) const;

  std::uint64_t signature_offset_ = 0;
  std::uint64_t sections_offset_ = 0;
  PeFileHeader file_header_{};
  PeOptionalHeader optional_header_{};
  std::vector<PeDirectory> directories_;
  std::vector<Section> sections_;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_PE_PE_H_
