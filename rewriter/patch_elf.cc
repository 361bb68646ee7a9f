// Converting an ELF file means telling the loader to map one more segment.
// The file's own segments stay where they are: a linker has spread absolute
// and relative addresses over all of them, and nothing records where.
//
// The new segment needs a place in the program header table, which linkers
// pack tightly behind the file header. In the order of preference:
//
//   1. PT_NULL entries that something left free.
//   2. The PT_NOTE of .note.gnu.property. The loader reads that note through
//      PT_GNU_PROPERTY as well, so the PT_NOTE is there twice. GNU ld writes
//      both into every executable.
//   3. The table grows in place, over the sections behind it, if those are
//      ones that the loader finds by a pointer we can change: .interp, notes,
//      .gnu.hash, .dynsym and the like. They are copied into the new segment.
//   4. The table itself moves into the new segment.
//
// 3 comes before 4 because GNU strip and objcopy always write the table
// behind the file header: a file whose table is elsewhere is laid out anew by
// them. 4 remains for files without section headers, where nothing says what
// stands behind the table.
//
// In the dynamic section the search path for the CUDA driver is added or
// extended. Names it needs go into a copy of .dynstr in the new segment; GNU
// ld leaves room for new entries, other linkers none, then .dynamic is copied
// as well, into a second, writable segment: the loader writes DT_DEBUG (and,
// before glibc 2.35, addresses) into it.
//
// Whole pages that nobody needs any more leave the file. The segment they were
// in becomes two; the first has no bytes for them, as for a .bss, so that the
// addresses stay taken. Their section becomes SHT_NOBITS.
//
// All that is appended is described by SHF_ALLOC sections. GNU strip and
// objcopy rebuild segments from sections and drop bytes that no section
// covers.
#include "rewriter/patch_elf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <utility>

#include "formats/segment.h"
#include "rewriter/make_room.h"

namespace cerberus::rewriter {
namespace {

constexpr std::uint64_t kPage = 0x1000;
constexpr std::string_view kTableSection = ".cerberus.phdr";
// Left for tools that add entries after us, as GNU ld does.
constexpr std::size_t kSpareDynamicEntries = 4;
constexpr std::size_t kSpareHeaders = 2;

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
  void AddNeeded(
      const std::function<std::uint64_t(std::string_view)>& add_string);
  void ChangeDynamic();
  std::optional<std::set<std::size_t>> RoomFor(std::size_t entries) const;
  Status FindProgramHeader();
  void StartSegment(std::uint32_t flags, std::uint64_t gap);
  void AddPart(Part part);
  Part NewStrings(std::size_t index) const;  // .dynstr with the names added
  Part CopyOf(std::size_t index) const;      // of a section
  Status Place();
  Status PlaceSegments();
  void AddHead();
  void UpdatePointers();
  void Point(Elf64_Phdr& segment, const Part& part, std::uint64_t size) const;
  void PointToNotes(Elf64_Phdr& segment);
  void UpdateSections();
  void FillTables();
  void AppendSections();
  Status EditPointers();
  Status EditTables();
  Status EmitParts();

  Status Edit(std::uint64_t offset, Bytes bytes, std::string why);
  // Edits the bytes from the first to the last that differ from the input's.
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

  Bytes strings_;               // the new .dynstr, empty: unchanged
  bool copy_dynamic_ = false;   // .dynamic has no room
  bool table_moves_ = false;    // the program header table is a part
  std::size_t load_index_ = 0;  // of the first new PT_LOAD in segments_
  std::vector<NewSegment> new_segments_;
  std::set<std::size_t> evicted_;  // sections copied to make room
  std::vector<Part> parts_;        // [0] is the head
  // Pieces of cut sections that stay, described by sections of their own.
  struct Kept {
    std::string name;
    Elf64_Shdr header;
  };
  std::vector<Kept> kept_;
};

Status ElfPatcher::CheckInput() const {
  CERB_TRY_VOID(elf_.CheckLayout());
  for (const std::string& folder : change_.runpath) {
    // The loader takes ':' for a separator, and nothing can escape it.
    if (folder.empty() || folder.find(':') != std::string::npos ||
        folder.find('\0') != std::string::npos) {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' cannot stand in a search path", folder));
    }
  }
  return {};
}

// In what units the file is cut. Offsets and addresses of segments must agree
// modulo their alignment; what a linker chose for large pages may become a
// small page's, unless a section needs it.
std::uint64_t ElfPatcher::CutGranule() const {
  std::uint64_t largest = kPage, needed = 0;
  for (const Elf64_Phdr& segment : elf_.segments()) {
    if (segment.p_type == PT_LOAD) largest = std::max(largest, segment.p_align);
    if (segment.p_type == PT_TLS) needed = std::max(needed, segment.p_align);
  }
  for (const ElfFile::Section& section : elf_.sections()) {
    if (section.header.sh_flags & SHF_ALLOC) {
      needed = std::max(needed, section.header.sh_addralign);
    }
  }
  return elf_.sections().empty() || needed > kPage ? largest : kPage;
}

// Where whole pages can go: in a segment that is only read, behind its first
// page (it keeps a byte of file), and in nothing that another program header
// describes.
void ElfPatcher::FindCuts() {
  const std::uint64_t granule = CutGranule();
  const std::size_t names = header_.e_shstrndx;
  const bool sections_can_follow =
      sections_.empty() ||
      (names != SHN_UNDEF && names < sections_.size() &&
       sections_.size() + 2 * change_.removed.size() + 16 < SHN_LORESERVE);
  if (!sections_can_follow || (granule & (granule - 1)) != 0) return;
  for (const ElfChange::Removed& removed : change_.removed) {
    for (const Elf64_Phdr& segment : elf_.segments()) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0 ||
          removed.offset < segment.p_offset ||
          removed.offset + removed.size > segment.p_offset + segment.p_filesz) {
        continue;
      }
      const std::uint64_t start =
          AlignUp(std::max(removed.offset, segment.p_offset + 1), granule);
      const std::uint64_t end =
          (removed.offset + removed.size) & ~(granule - 1);
      const bool is_described = std::any_of(
          elf_.segments().begin(), elf_.segments().end(),
          [&](const Elf64_Phdr& other) {
            return other.p_type != PT_LOAD && other.p_type != PT_NULL &&
                   other.p_filesz != 0 && other.p_offset < end &&
                   other.p_offset + other.p_filesz > start;
          });
      if (start < end && !is_described) {
        plan_.cuts.push_back({start, end - start});
      }
      break;
    }
  }
}

// The section header of a section that loses pages. False if it keeps them.
bool ElfPatcher::CutSection(std::size_t index) {
  Elf64_Shdr& section = sections_[index];
  const std::uint64_t start = section.sh_offset;
  const std::uint64_t end = start + section.sh_size;
  const auto overlaps = [&](std::uint64_t offset, std::uint64_t size) {
    return offset < end && offset + size > start;
  };
  const auto cut = std::find_if(
      plan_.cuts.begin(), plan_.cuts.end(),
      [&](const Plan::Cut& c) { return overlaps(c.offset, c.size); });
  if (cut == plan_.cuts.end()) return false;
  // What stays of it: all but what was removed and the zeros between.
  std::vector<Elf64_Shdr> kept;
  std::uint64_t at = start;
  const auto keep = [&](std::uint64_t to) {
    const std::uint8_t* bytes = elf_.bytes().data();
    while (at < to && bytes[at] == 0) ++at;
    while (at < to && bytes[to - 1] == 0) --to;
    if (at >= to) return;
    Elf64_Shdr piece = section;
    piece.sh_addr += at - start;
    piece.sh_offset = plan_.OutputOffset(at);
    piece.sh_size = to - at;
    piece.sh_addralign = 1;
    kept.push_back(piece);
  };
  for (const ElfChange::Removed& removed : change_.removed) {
    if (!overlaps(removed.offset, removed.size)) continue;
    keep(removed.offset);
    at = std::min(removed.offset + removed.size, end);
  }
  keep(end);
  if (kept.empty()) {
    section.sh_type = SHT_NOBITS;
    section.sh_addr += cut->offset - start;
    section.sh_offset = plan_.OutputOffset(cut->offset);
    section.sh_size = cut->size;
  } else {
    section = kept.front();
    for (std::size_t i = 1; i < kept.size(); ++i) {
      kept_.push_back({elf_.sections()[index].name, kept[i]});
    }
  }
  return true;
}

void ElfPatcher::CutSections() {
  for (std::size_t i = 1; i < sections_.size(); ++i) {
    Elf64_Shdr& section = sections_[i];
    const bool has_bytes =
        section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
    if (has_bytes && CutSection(i)) continue;
    section.sh_offset = plan_.OutputOffset(section.sh_offset);
  }
}

void ElfPatcher::CutSegments() {
  std::vector<Elf64_Phdr> segments;
  for (const Elf64_Phdr& whole : elf_.segments()) {
    Elf64_Phdr piece = whole;
    piece.p_offset = plan_.OutputOffset(whole.p_offset);
    if (whole.p_type != PT_LOAD) {
      segments.push_back(piece);
      continue;
    }
    piece.p_align = std::min(whole.p_align, CutGranule());
    std::uint64_t done = 0;  // of the segment
    for (const Plan::Cut& cut : plan_.cuts) {
      if (cut.offset < whole.p_offset ||
          cut.offset >= whole.p_offset + whole.p_filesz) {
        continue;
      }
      const std::uint64_t from = cut.offset - whole.p_offset;
      piece.p_filesz = from - done;
      done = from + cut.size;
      const std::uint64_t start = piece.p_vaddr - whole.p_vaddr;
      piece.p_memsz = done - start;
      if (done == whole.p_filesz) piece.p_memsz = whole.p_memsz - start;
      segments.push_back(piece);
      piece.p_offset = plan_.OutputOffset(cut.offset + cut.size);
      piece.p_vaddr = whole.p_vaddr + done;
      piece.p_paddr = whole.p_paddr + done;
      piece.p_filesz = whole.p_filesz - done;
      piece.p_memsz = whole.p_memsz - done;
    }
    if (done == 0 || done < whole.p_filesz) segments.push_back(piece);
  }
  segments_ = std::move(segments);
}

void ElfPatcher::SetDynamic(std::int64_t tag, std::uint64_t value) {
  for (Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == tag) entry.d_un.d_val = value;
  }
}

void ElfPatcher::AddNeeded(
    const std::function<std::uint64_t(std::string_view)>& add_string) {
  if (!change_.needed) return;
  Elf64_Dyn entry{};
  entry.d_tag = DT_NEEDED;
  entry.d_un.d_val = add_string(change_.needed->name);
  for (std::size_t i = 0; i < dynamic_.size(); ++i) {
    if (dynamic_[i].d_tag == DT_NEEDED && !change_.needed->instead_of.empty() &&
        elf_.DynamicString(elf_.dynamic()[i].d_un.d_val) ==
            change_.needed->instead_of) {
      dynamic_[i] = entry;
      return;
    }
  }
  dynamic_.push_back(entry);
}

// Puts folders in front of the search path, and a library among those needed.
void ElfPatcher::ChangeDynamic() {
  const auto add_string = [&](std::string_view text) {
    if (strings_.empty()) {
      const ByteSpan old = elf_.dynamic_strings();
      strings_.assign(old.begin(), old.end());
      if (strings_.empty() || strings_.back() != 0) strings_.push_back(0);
    }
    const std::uint64_t offset = strings_.size();
    strings_.insert(strings_.end(), text.begin(), text.end());
    strings_.push_back(0);
    return offset;
  };
  if (!change_.runpath.empty()) {
    // A DT_RUNPATH makes the loader ignore DT_RPATH, so a path is added only
    // where there is neither.
    auto index = elf_.FindDynamic(DT_RUNPATH);
    if (!index) index = elf_.FindDynamic(DT_RPATH);
    std::string path = fmt::format("{}", fmt::join(change_.runpath, ":"));
    if (index) {
      const auto old = elf_.DynamicString(elf_.dynamic()[*index].d_un.d_val);
      if (old && !old->empty()) path += ":" + std::string(*old);
      dynamic_[*index].d_un.d_val = add_string(path);
    } else {
      Elf64_Dyn entry{};
      entry.d_tag = DT_RUNPATH;
      entry.d_un.d_val = add_string(path);
      dynamic_.push_back(entry);
    }
  }
  AddNeeded(add_string);
  // One DT_NULL must remain.
  copy_dynamic_ = dynamic_.size() > elf_.dynamic().size() &&
                  dynamic_.size() + 1 > elf_.dynamic_capacity();
}

std::size_t ElfPatcher::SectionAt(std::uint64_t vaddr,
                                  std::uint32_t type) const {
  for (std::size_t i = 1; i < sections_.size(); ++i) {
    if (sections_[i].sh_type == type && sections_[i].sh_addr == vaddr &&
        (sections_[i].sh_flags & SHF_ALLOC) != 0) {
      return i;
    }
  }
  return 0;
}

// The sections that must give way so that the table can grow in place. Tools
// that come after us add entries, too, and patchelf takes the sections in the
// order of their numbers for that of their addresses: what it would overwrite
// is copied as well, unless that is much.
std::optional<std::set<std::size_t>> ElfPatcher::RoomFor(
    std::size_t entries) const {
  if (entries == 0) return std::nullopt;
  constexpr std::uint64_t kMuch = 1 << 20;
  const std::uint64_t first_cut =
      plan_.cuts.empty() ? elf_.bytes().size() : plan_.cuts.front().offset;
  const auto room_for = [&](std::size_t n) {
    auto sections = SectionsInTheWay(elf_, n);
    const std::uint64_t end = elf_.header().e_phoff +
                              (elf_.segments().size() + n) * sizeof(Elf64_Phdr);
    if (end > first_cut) sections.reset();
    return sections;
  };
  const auto size_of = [&](const std::set<std::size_t>& sections) {
    std::uint64_t size = 0;
    for (const std::size_t i : sections) {
      size += elf_.sections()[i].header.sh_size;
    }
    return size;
  };
  auto exact = room_for(entries);
  if (!exact) return std::nullopt;
  for (std::size_t spare = kSpareHeaders; spare > 0; --spare) {
    const auto more = room_for(entries + spare);
    if (more && size_of(*more) <= size_of(*exact) + kMuch) return more;
  }
  return exact;
}

Status ElfPatcher::FindProgramHeader() {
  std::size_t wanted = copy_dynamic_ ? 2 : 1;
  std::vector<std::string> tactics;
  const Elf64_Phdr* property = elf_.FindSegment(PT_GNU_PROPERTY);
  const auto take = [&](const auto& is_free, std::string_view what) {
    const std::size_t before = segments_.size();
    for (std::size_t i = 0; i < segments_.size();) {
      if (segments_.size() + wanted > elf_.segments().size() &&
          is_free(segments_[i])) {
        segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    if (segments_.size() < before) tactics.emplace_back(what);
  };
  take([](const Elf64_Phdr& segment) { return segment.p_type == PT_NULL; },
       "an unused program header is taken");
  take(
      [&](const Elf64_Phdr& segment) {
        return segment.p_type == PT_NOTE && property != nullptr &&
               segment.p_vaddr == property->p_vaddr &&
               segment.p_filesz == property->p_filesz;
      },
      "the PT_NOTE of .note.gnu.property is taken (PT_GNU_PROPERTY still "
      "leads to the note)");
  const std::size_t grow = segments_.size() + wanted - elf_.segments().size();
  auto in_the_way = RoomFor(grow);
  if (grow > 0 && in_the_way) {
    evicted_ = *in_the_way;
    std::string names;
    for (const std::size_t i : evicted_) {
      names += (names.empty() ? "" : ", ") + elf_.sections()[i].name;
    }
    tactics.push_back("the program header table grows in place");
    if (!names.empty()) {
      tactics.back() += " over " + names + ", copied to the new segment";
    }
  } else if (grow > 0) {
    table_moves_ = true;
    ++wanted;
    tactics.push_back("the program header table moves to a new segment");
  }
  plan_.tactic = fmt::format("{}", fmt::join(tactics, "; "));

  // The loader wants PT_LOAD entries in the order of their addresses.
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].p_type == PT_LOAD) load_index_ = i + 1;
  }
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(load_index_),
                   wanted, load);
  if (segments_.size() >= PN_XNUM) {
    return Err(elf_.Error(DiagCode::kUnsupported,
                          "has no room for another program header"));
  }
  header_.e_phnum = static_cast<Elf64_Half>(segments_.size());
  return {};
}

Part* ElfPatcher::FindPart(std::size_t section) {
  for (Part& part : parts_) {
    if (section != 0 && part.section == section) return &part;
  }
  return nullptr;
}

// Sized now, and filled when its address is known.
void ElfPatcher::AddHead() {
  Part head;
  head.name = formats::kMarkerSection;
  head.why = change_.head_why;
  head.align = kPage;
  head.bytes.resize(change_.head_size);
  AddPart(std::move(head));
}

void ElfPatcher::StartSegment(std::uint32_t flags, std::uint64_t gap) {
  NewSegment segment{flags, 0, 0};
  if (!new_segments_.empty()) {
    const NewSegment& last = new_segments_.back();
    segment.at = AlignUp(last.at + last.size, kPage) + gap;
  }
  new_segments_.push_back(segment);
}

void ElfPatcher::AddPart(Part part) {
  NewSegment& segment = new_segments_.back();
  const std::uint64_t end = segment.at + segment.size;
  part.at = end + ((part.phase - end) & (part.align - 1));
  segment.size = part.at + part.bytes.size() - segment.at;
  parts_.push_back(std::move(part));
}

Part ElfPatcher::NewStrings(std::size_t index) const {
  Part part;
  part.section = index;
  part.name = ".dynstr";
  part.why = "copy of .dynstr with the names added";
  part.type = SHT_STRTAB;
  part.align = 1;
  part.bytes = strings_;
  return part;
}

Part ElfPatcher::CopyOf(std::size_t index) const {
  Part part;
  part.section = index;
  const ElfFile::Section& section = elf_.sections()[index];
  const ByteSpan bytes = elf_.SectionBytes(section);
  part.name = section.name;
  part.why = fmt::format(
      "copy of {}, whose place the program headers "
      "take",
      section.name);
  // Keeps the gaps between sections that belong together (notes of one
  // segment) as they were.
  part.align = std::max<std::uint64_t>(section.header.sh_addralign, 64);
  if ((part.align & (part.align - 1)) != 0 || part.align > kPage) {
    part.align = 64;
  }
  part.phase = section.header.sh_addr % part.align;
  part.bytes.assign(bytes.begin(), bytes.end());
  return part;
}

// Gives every part its place, and the segments their addresses.
Status ElfPatcher::Place() {
  StartSegment(PF_R, 0);
  AddHead();
  // Sections with higher numbers at higher addresses, as every tool likes.
  const std::size_t dynstr =
      SectionAt(elf_.DynamicValue(DT_STRTAB).value_or(0), SHT_STRTAB);
  std::set<std::size_t> copied = evicted_;
  if (!strings_.empty()) copied.insert(dynstr);
  for (const std::size_t index : copied) {
    AddPart(index == dynstr && !strings_.empty() ? NewStrings(index)
                                                 : CopyOf(index));
  }
  if (copy_dynamic_) {
    StartSegment(PF_R | PF_W, 0);
    Part part;
    part.name = ".dynamic";
    part.why = "copy of .dynamic, which had no room";
    part.section =
        SectionAt(elf_.FindSegment(PT_DYNAMIC)->p_vaddr, SHT_DYNAMIC);
    part.type = SHT_DYNAMIC;
    part.flags |= SHF_WRITE;
    part.bytes.resize((dynamic_.size() + 1 + kSpareDynamicEntries) *
                      sizeof(Elf64_Dyn));
    AddPart(std::move(part));
  }
  if (table_moves_) {
    // GNU strip writes the table in front of the segment's first section: a
    // page of address space is left for it.
    StartSegment(PF_R, kPage);
    Part part;
    part.name = kTableSection;
    part.why = "the program header table";
    part.bytes.resize(segments_.size() * sizeof(Elf64_Phdr));
    AddPart(std::move(part));
  }
  plan_.segment_size = new_segments_[0].size;

  return PlaceSegments();
}

// Where the new segments lie, in the file and when loaded.
Status ElfPatcher::PlaceSegments() {
  std::uint64_t first_vaddr = 0, first_offset = 0, end = 0;
  bool first = true;
  for (const Elf64_Phdr& segment : elf_.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    if (first) {
      first_vaddr = segment.p_vaddr;
      first_offset = segment.p_offset;
      first = false;
    }
    end = std::max(end, segment.p_vaddr + segment.p_memsz);
  }
  // User space ends at 2^47 (psABI, "Virtual address space").
  const std::uint64_t limit = std::uint64_t{1} << 46;
  if (end > limit || plan_.kept_size() > limit) {
    return Err(elf_.Error(DiagCode::kUnsupported,
                          fmt::format("uses addresses up to 0x{:x}, no room "
                                      "for a segment behind them",
                                      end)));
  }
  plan_.append_offset = AlignUp(plan_.kept_size(), kPage);
  plan_.segment_vaddr = AlignUp(end, kPage);
  if (table_moves_ && elf_.is_executable() && first_vaddr >= first_offset) {
    // Linux before 5.18 tells the loader that the table is at base +
    // e_phoff, so its offset must equal its distance from the base.
    const std::uint64_t base = first_vaddr - first_offset;
    plan_.append_offset = AlignUp(
        std::max(plan_.append_offset, plan_.segment_vaddr - base), kPage);
    plan_.segment_vaddr = plan_.append_offset + base;
  }
  return {};
}

void ElfPatcher::Point(Elf64_Phdr& segment, const Part& part,
                       std::uint64_t size) const {
  segment.p_offset = OffsetOf(part);
  segment.p_vaddr = segment.p_paddr = VaddrOf(part);
  segment.p_filesz = segment.p_memsz = size;
}

// A segment of several notes keeps its span: the notes were copied in order,
// each with its alignment.
void ElfPatcher::PointToNotes(Elf64_Phdr& segment) {
  const Part* first = nullptr;
  const Part* last = nullptr;
  for (const std::size_t i : evicted_) {
    const Elf64_Shdr& old = elf_.sections()[i].header;
    const std::uint64_t offset = plan_.OutputOffset(old.sh_offset);
    if (offset < segment.p_offset ||
        offset + old.sh_size > segment.p_offset + segment.p_filesz) {
      continue;
    }
    const Part* part = FindPart(i);
    if (first == nullptr) first = part;
    last = part;
  }
  if (first != nullptr) {
    Point(segment, *first, last->at + last->bytes.size() - first->at);
  }
}

// Where sections lie that were copied, and what .dynamic says of them.
void ElfPatcher::UpdateSections() {
  struct TagOfType {
    std::uint32_t type;
    std::int64_t tag;
  };
  constexpr TagOfType kTags[] = {
      {SHT_GNU_HASH, DT_GNU_HASH}, {SHT_HASH, DT_HASH},
      {SHT_DYNSYM, DT_SYMTAB},     {SHT_STRTAB, DT_STRTAB},
      {SHT_GNU_versym, DT_VERSYM}, {SHT_GNU_verneed, DT_VERNEED},
      {SHT_GNU_verdef, DT_VERDEF},
  };
  for (const Part& part : parts_) {
    const std::uint32_t type =
        part.section == 0 ? part.type : sections_[part.section].sh_type;
    for (const TagOfType& row : kTags) {
      if (row.type == type) SetDynamic(row.tag, VaddrOf(part));
    }
    if (part.section == 0) continue;
    Elf64_Shdr& section = sections_[part.section];
    section.sh_addr = VaddrOf(part);
    section.sh_offset = OffsetOf(part);
    section.sh_size = part.bytes.size();
    section.sh_flags |= part.flags;
  }
  if (!strings_.empty()) SetDynamic(DT_STRSZ, strings_.size());
}

// The bytes of .dynamic and of the program header table, if they are new.
void ElfPatcher::FillTables() {
  for (Part& part : parts_) {
    if (part.name == ".dynamic" && copy_dynamic_) {
      for (Elf64_Phdr& segment : segments_) {
        if (segment.p_type == PT_DYNAMIC) {
          Point(segment, part, part.bytes.size());
        }
      }
      for (std::size_t i = 0; i < dynamic_.size(); ++i) {
        StoreLe(part.bytes.data() + i * sizeof(Elf64_Dyn), dynamic_[i]);
      }
    }
  }
  for (Part& part : parts_) {
    if (!table_moves_ || part.name != kTableSection) continue;
    header_.e_phoff = OffsetOf(part);
    for (Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_PHDR) {
        Point(segment, part, part.bytes.size());
      }
    }
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      StoreLe(part.bytes.data() + i * sizeof(Elf64_Phdr), segments_[i]);
    }
  }
}

// Whatever led to a part that was copied leads to the copy.
void ElfPatcher::UpdatePointers() {
  for (std::size_t i = 0; i < new_segments_.size(); ++i) {
    Elf64_Phdr& load = segments_[load_index_ + i];
    load.p_flags = new_segments_[i].flags;
    load.p_offset = plan_.append_offset + new_segments_[i].at;
    load.p_vaddr = load.p_paddr = plan_.segment_vaddr + new_segments_[i].at;
    load.p_filesz = load.p_memsz = new_segments_[i].size;
    load.p_align = kPage;
  }

  for (Elf64_Phdr& segment : segments_) {
    switch (segment.p_type) {
      case PT_PHDR:
        segment.p_filesz = segment.p_memsz =
            segments_.size() * sizeof(Elf64_Phdr);
        break;
      case PT_INTERP:
      case PT_NOTE:
      case PT_GNU_PROPERTY: PointToNotes(segment); break;
      default: break;
    }
  }

  UpdateSections();
  FillTables();
}

// The section header table and the section names, copied behind the segment
// with what is new.
void ElfPatcher::AppendSections() {
  const std::uint64_t names_index = header_.e_shstrndx;
  if (sections_.empty() || names_index == SHN_UNDEF ||
      names_index >= sections_.size()) {
    return;
  }
  if (sections_.size() + parts_.size() + kept_.size() >= SHN_LORESERVE) {
    plan_.notes.push_back(elf_.Error(
        DiagCode::kUnsupported,
        "has too many sections to describe the new segment; strip would "
        "break the result"));
    plan_.notes.back().severity = Severity::kWarning;
    return;
  }
  const ByteSpan old_names = elf_.SectionBytes(elf_.sections()[names_index]);
  Bytes names(old_names.begin(), old_names.end());
  const auto add = [&](Elf64_Shdr section, std::string_view name) {
    section.sh_name = static_cast<Elf64_Word>(names.size());
    sections_.push_back(section);
    names.insert(names.end(), name.begin(), name.end());
    names.push_back(0);
  };
  for (const Kept& kept : kept_) add(kept.header, kept.name);
  for (const Part& part : parts_) {
    if (part.section != 0) continue;
    Elf64_Shdr section{};
    section.sh_type = part.type;
    section.sh_flags = part.flags;
    section.sh_addr = VaddrOf(part);
    section.sh_offset = OffsetOf(part);
    section.sh_size = part.bytes.size();
    section.sh_addralign = part.align;
    add(section, part.name);
  }
  const std::uint64_t names_at = plan_.appended.size();
  sections_[names_index].sh_offset = plan_.append_offset + names_at;
  sections_[names_index].sh_size = names.size();
  plan_.appended.insert(plan_.appended.end(), names.begin(), names.end());
  plan_.appended.resize(AlignUp(plan_.appended.size(), 8));
  header_.e_shoff = plan_.append_offset + plan_.appended.size();
  header_.e_shnum = static_cast<Elf64_Half>(sections_.size());
  for (const Elf64_Shdr& section : sections_) {
    AppendLe(plan_.appended, section);
  }
}

Status ElfPatcher::Edit(std::uint64_t offset, Bytes bytes, std::string why) {
  CERB_TRY_VOID(
      plan_.ranges.Add(plan_.OutputOffset(offset), bytes.size(), why));
  plan_.edits.push_back({offset, std::move(bytes), std::move(why)});
  return {};
}

Status ElfPatcher::EditIfChanged(std::uint64_t offset, const Bytes& bytes,
                                 const std::string& why) {
  const std::uint8_t* old = elf_.bytes().data() + offset;
  std::size_t from = 0, to = bytes.size();
  while (from < to && bytes[from] == old[from]) ++from;
  while (to > from && bytes[to - 1] == old[to - 1]) --to;
  if (from == to) return {};
  return Edit(offset + from,
              Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                    bytes.begin() + static_cast<std::ptrdiff_t>(to)),
              why);
}

Status ElfPatcher::EditPointers() {
  for (const ElfChange::Pointer& pointer : change_.pointers) {
    const PointerSlot& slot = pointer.slot;
    const std::uint64_t target = plan_.segment_vaddr + pointer.into_head;
    const std::string& why = pointer.why;
    Bytes address;
    AppendLe(address, target);
    switch (slot.fill) {
      case PointerSlot::Fill::kInPlace:
      case PointerSlot::Fill::kRelr:
        CERB_TRY_VOID(Edit(slot.offset, address, why));
        break;
      case PointerSlot::Fill::kRelative:
        CERB_TRY_VOID(Edit(slot.rela_offset + offsetof(Elf64_Rela, r_addend),
                           address, why));
        // Some linkers write the addend in place as well. The loader does
        // not read it there, but tools that do must not see two truths.
        if (slot.in_place != 0) {
          CERB_TRY_VOID(Edit(slot.offset, address, why));
        }
        break;
      case PointerSlot::Fill::kSymbol: {
        Bytes relocation;
        AppendLe(relocation, std::uint64_t{ELF64_R_INFO(
                                 0ul, std::uint64_t{R_X86_64_RELATIVE})});
        AppendLe(relocation, target);
        CERB_TRY_VOID(Edit(slot.rela_offset + offsetof(Elf64_Rela, r_info),
                           std::move(relocation), why));
        break;
      }
    }
  }
  return {};
}

Status ElfPatcher::EditTables() {
  Bytes header(sizeof(Elf64_Ehdr));
  StoreLe(header.data(), header_);
  CERB_TRY_VOID(
      EditIfChanged(0, header, "ELF header: where the tables are now"));
  if (!table_moves_) {
    Bytes table;
    for (const Elf64_Phdr& segment : segments_) AppendLe(table, segment);
    CERB_TRY_VOID(
        EditIfChanged(elf_.header().e_phoff, table, "program headers"));
  }
  if (!copy_dynamic_) {
    Bytes table;
    for (const Elf64_Dyn& entry : dynamic_) AppendLe(table, entry);
    CERB_TRY_VOID(EditIfChanged(elf_.dynamic_offset(), table, ".dynamic"));
  }
  return {};
}

Status ElfPatcher::EmitParts() {
  plan_.appended.clear();
  for (const Part& part : parts_) {
    plan_.appended.resize(part.at);
    plan_.appended.insert(plan_.appended.end(), part.bytes.begin(),
                          part.bytes.end());
  }
  const std::uint64_t parts_size = plan_.appended.size();
  AppendSections();
  if (plan_.append_offset > plan_.kept_size()) {
    CERB_TRY_VOID(plan_.ranges.Add(plan_.kept_size(),
                                   plan_.append_offset - plan_.kept_size(),
                                   "padding to a page"));
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::uint64_t end = i + 1 < parts_.size()
                                  ? parts_[i + 1].at
                                  : parts_[i].at + parts_[i].bytes.size();
    CERB_TRY_VOID(
        plan_.ranges.Add(OffsetOf(parts_[i]), end - parts_[i].at,
                         fmt::format("new segment: {}", parts_[i].why)));
  }
  const std::uint64_t rest = plan_.appended.size() - parts_size;
  if (rest > 0) {
    CERB_TRY_VOID(
        plan_.ranges.Add(plan_.append_offset + parts_size, rest,
                         "section names and headers, which had to grow"));
  }
  return {};
}

Result<Plan> ElfPatcher::Run() {
  plan_.input_size = elf_.bytes().size();
  CERB_TRY_VOID(CheckInput());
  FindCuts();
  if (!plan_.cuts.empty()) {
    CutSections();
    CutSegments();
    header_.e_phoff = plan_.OutputOffset(header_.e_phoff);
  }
  ChangeDynamic();
  CERB_TRY_VOID(FindProgramHeader());
  CERB_TRY_VOID(Place());
  parts_[0].bytes = change_.head(plan_.segment_vaddr);
  UpdatePointers();
  CERB_TRY_VOID(EmitParts());
  CERB_TRY_VOID(EditPointers());
  for (const Plan::Edit& edit : change_.edits) {
    CERB_TRY_VOID(Edit(edit.offset, edit.bytes, edit.why));
  }
  CERB_TRY_VOID(EditTables());
  std::sort(plan_.edits.begin(), plan_.edits.end(),
            [](const Plan::Edit& a, const Plan::Edit& b) {
              return a.offset < b.offset;
            });
  return std::move(plan_);
}

}  // namespace

Result<Plan> PlanElf(const ElfFile& elf, const ElfChange& change) {
  return ElfPatcher(elf, change).Run();
}

}  // namespace cerberus::rewriter
