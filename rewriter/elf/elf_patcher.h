// The work of PlanElf(), whose essay is in patch_elf.cc. What leaves the file
// is in elf_cuts.cc, what is appended in elf_parts.cc.
#ifndef CERBERUS_REWRITER_ELF_ELF_PATCHER_H_
#define CERBERUS_REWRITER_ELF_ELF_PATCHER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/elf/patch_elf.h"

namespace cerberus::rewriter {

inline constexpr std::uint64_t kPage = 0x1000;
inline constexpr std::string_view kTableSection = ".cerberus.phdr";
inline constexpr std::string_view kOldSection = ".cerberus.old";
// Left for tools that add entries after us, as GNU ld does.
inline constexpr std::size_t kSpareDynamicEntries = 4;
inline constexpr std::size_t kSpareHeaders = 2;

// Something that stands in the new segment.
struct Part {
  std::string name;         // of its section
  std::string why;          // in the plan
  std::size_t section = 0;  // index of its section header, 0: a new one
  std::uint32_t type = SHT_PROGBITS;
  std::uint64_t flags = SHF_ALLOC;
  std::uint64_t align = 8;
  std::uint64_t phase = 0;  // the place is this modulo `align`
  Bytes bytes;
  std::uint64_t at = 0;  // from the start of the first new segment
};

// A new PT_LOAD; offset and address of all of them advance together.
struct NewSegment {
  std::uint32_t flags;
  std::uint64_t at;
  std::uint64_t size;
};

class ElfPatcher {
 public:
  ElfPatcher(const ElfFile& elf, const ElfChange& change)
      : elf_(elf),
        change_(change),
        header_(elf_.header()),
        segments_(elf_.segments()),
        dynamic_(elf_.dynamic()) {
    for (const ElfFile::Section& section : elf_.sections()) {
      sections_.push_back(section.header);
    }
  }

  Result<Plan> Run();

 private:
  Status CheckInput() const;
  void FindCuts();
  std::uint64_t CutGranule() const;
  bool CutSection(std::size_t index);
  void CutSections();
  void CutSegments();
  std::uint64_t AddString(std::string_view text);
  Elf64_Dyn Entry(std::int64_t tag, std::string_view text);
  void AddRunpath();
  void AddNeeded(const ElfChange::Needed& needed);
  Status ChangeVersions();
  Status ChangeDynamic();
  std::optional<std::set<std::size_t>> RoomFor(std::size_t entries) const;
  Status FindProgramHeader();
  void StartSegment(std::uint32_t flags, std::uint64_t gap);
  void AddPart(Part part);
  Part NewStrings(std::size_t index) const;  // .dynstr with the names added
  Part NewVersions() const;                  // .gnu.version_r
  Part CopyOf(std::size_t index) const;      // of a section
  Status Place();
  Status PlaceSegments();
  void AddHead();
  void UpdatePointers();
  void Point(Elf64_Phdr& segment, const Part& part, std::uint64_t size) const;
  void PointToNotes(Elf64_Phdr& segment);
  void UpdateSections();
  void FillTables();
  void DescribeOldSegments();
  void AppendSections();
  Status EditPointers();
  Status EditTables();
  Status EmitParts();

  Status EditIfChanged(std::uint64_t offset, const Bytes& bytes,
                       const std::string& why);
  void SetDynamic(std::int64_t tag, std::uint64_t value);
  Part* FindPart(std::size_t section);
  std::uint64_t VaddrOf(const Part& part) const {
    return plan_.segment_vaddr + part.at;
  }
  std::uint64_t OffsetOf(const Part& part) const {
    return plan_.append_offset + part.at;
  }
  std::size_t SectionAt(std::uint64_t vaddr, std::uint32_t type) const;

  const ElfFile& elf_;
  const ElfChange& change_;
  Plan plan_;

  // The tables as they will be.
  Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Dyn> dynamic_;

  Bytes strings_;  // the new .dynstr, empty: unchanged
  std::size_t versions_section_ = 0;
  Bytes versions_;              // the new .gnu.version_r, empty: unchanged
  bool copy_dynamic_ = false;   // .dynamic has no room
  bool table_moves_ = false;    // the program header table is a part
  std::size_t load_index_ = 0;  // of the first new PT_LOAD in segments_
  std::vector<NewSegment> new_segments_;
  std::set<std::size_t> evicted_;  // sections copied to make room
  std::vector<Part> parts_;        // [0] is the head
  std::vector<Removed> gone_;      // of change_.removed: what loses pages
  // Pieces of cut sections that stay, described by sections of their own.
  struct Kept {
    std::string name;
    Elf64_Shdr header;
  };
  std::vector<Kept> kept_;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_ELF_ELF_PATCHER_H_
