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
#include "formats/segment_checksum.h"
#include "kpack/marker.h"
#include "rewriter/extract.h"
#include "rewriter/make_room.h"

namespace cerberus::rewriter {
namespace {

constexpr std::uint64_t kPage = 0x1000;
constexpr std::string_view kTableSection = ".cerberus.phdr";
// Left for tools that add entries after us, as GNU ld does.
constexpr std::size_t kSpareDynamicEntries = 4;

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
  ElfPatcher(const Binary& binary, const PlanOptions& options)
      : binary_(binary),
        elf_(binary.elf()),
        options_(options),
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
  void NameDriver(
      const std::function<std::uint64_t(std::string_view)>& add_string);
  void ChangeDynamic();
  Status FindProgramHeader();
  void StartSegment(std::uint32_t flags, std::uint64_t gap);
  void AddPart(Part part);
  Status Place();
  Status BuildHead();
  void FillRecords();
  void UpdatePointers();
  void AppendSections();
  Status EditWrappers();
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

  const Binary& binary_;
  const ElfFile& elf_;
  const PlanOptions& options_;
  Plan plan_;

  // The tables as they will be.
  Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Dyn> dynamic_;

  std::vector<Module> modules_;
  Bytes strings_;               // the new .dynstr, empty: unchanged
  bool copy_dynamic_ = false;   // .dynamic has no room
  bool table_moves_ = false;    // the program header table is a part
  std::size_t load_index_ = 0;  // of the first new PT_LOAD in segments_
  std::vector<NewSegment> new_segments_;
  std::set<std::size_t> evicted_;  // sections copied to make room
  std::vector<Part> parts_;        // [0] is the head: header, records, marker
};

Status ElfPatcher::CheckInput() const {
  if (binary_.is_converted()) {
    return Err(elf_.Error(DiagCode::kUnsupported,
                          "is already converted; convert the original"));
  }
  if (elf_.FindSegment(PT_DYNAMIC) == nullptr) {
    return Err(elf_.Error(DiagCode::kUnsupported,
                          "is statically linked, so it cannot load a CUDA "
                          "driver"));
  }
  CERB_TRY_VOID(elf_.CheckLayout());
  if (options_.search_paths.empty() || options_.kernel_name.empty()) {
    return Err(DiagCode::kUsage,
               "a conversion needs a search path and a kernel name");
  }
  for (const std::string& folder : options_.runpath) {
    // The loader takes ':' for a separator, and nothing can escape it.
    if (folder.empty() || folder.find(':') != std::string::npos ||
        folder.find('\0') != std::string::npos) {
      return Err(DiagCode::kUsage,
                 fmt::format("'{}' cannot stand in a search path", folder));
    }
  }
  return {};
}

void ElfPatcher::SetDynamic(std::int64_t tag, std::uint64_t value) {
  for (Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == tag) entry.d_un.d_val = value;
  }
}

// Has the loader load the stub at start; cudart's dlopen("libcuda.so.1") then
// finds it by its SONAME. Named by its full path, it is found also by a
// libcudart.so, which the loader does not search our path for, and after the
// search path was replaced (patchelf --set-rpath). A file that has to run on
// NVIDIA GPUs as well must start without the stub: there the plain name is
// added, and only where cudart could not find it otherwise.
void ElfPatcher::NameDriver(
    const std::function<std::uint64_t(std::string_view)>& add_string) {
  constexpr std::string_view kDriver = "libcuda.so.1";
  Elf64_Dyn entry{};
  entry.d_tag = DT_NEEDED;
  if (options_.keep_fatbin || options_.runpath.empty()) {
    if (!binary_.links_shared_cudart() || binary_.links_cuda_driver()) return;
    entry.d_un.d_val = add_string(kDriver);
    dynamic_.push_back(entry);
    return;
  }
  entry.d_un.d_val =
      add_string(fmt::format("{}/{}", options_.runpath.front(), kDriver));
  for (std::size_t i = 0; i < dynamic_.size(); ++i) {
    if (dynamic_[i].d_tag == DT_NEEDED &&
        elf_.DynamicString(elf_.dynamic()[i].d_un.d_val) == kDriver) {
      dynamic_[i] = entry;
      return;
    }
  }
  dynamic_.push_back(entry);
}

// Puts the folder of the CUDA driver in front of the search path, and names
// the driver.
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
  if (!options_.runpath.empty()) {
    // A DT_RUNPATH makes the loader ignore DT_RPATH, so a path is added only
    // where there is neither.
    auto index = elf_.FindDynamic(DT_RUNPATH);
    if (!index) index = elf_.FindDynamic(DT_RPATH);
    std::string path = fmt::format("{}", fmt::join(options_.runpath, ":"));
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
  NameDriver(add_string);
  // One DT_NULL must remain.
  copy_dynamic_ = dynamic_.size() + 1 > elf_.dynamic_capacity();
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
               segment.p_offset == property->p_offset &&
               segment.p_filesz == property->p_filesz;
      },
      "the PT_NOTE of .note.gnu.property is taken (PT_GNU_PROPERTY still "
      "leads to the note)");
  const std::size_t grow = segments_.size() + wanted - elf_.segments().size();
  const auto in_the_way = SectionsInTheWay(elf_, grow);
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

// Header, records and marker, sized now and filled when addresses are known.
Status ElfPatcher::BuildHead() {
  CERB_TRY(modules_, ExtractModules(binary_));
  kpack::Marker marker;
  marker.search_paths = options_.search_paths;
  marker.kernel_name = options_.kernel_name;
  marker.version = options_.converter_version;
  marker.abi = options_.launch_abi;
  CERB_TRY(const Bytes encoded, kpack::EncodeMarker(marker));

  const std::size_t count = binary_.wrappers().size();
  Part head;
  head.name = formats::kMarkerSection;
  head.why = fmt::format("header, {} record{} and marker", count,
                         count == 1 ? "" : "s");
  head.align = kPage;
  formats::SegmentHeader header{};
  std::memcpy(header.magic, formats::kSegmentMagic.data(),
              formats::kSegmentMagic.size());
  header.version = formats::kSegmentVersion;
  header.header_size = sizeof(formats::SegmentHeader);
  header.records_offset = sizeof(formats::SegmentHeader);
  header.record_count = static_cast<std::uint32_t>(count);
  header.marker_offset = static_cast<std::uint32_t>(
      header.records_offset + count * sizeof(formats::WrapperRecord));
  header.marker_size = static_cast<std::uint32_t>(encoded.size());
  header.covered_size = header.marker_offset + encoded.size();
  head.bytes.resize(header.covered_size);
  StoreLe(head.bytes.data(), header);
  std::copy(encoded.begin(), encoded.end(),
            head.bytes.begin() + header.marker_offset);
  AddPart(std::move(head));
  return {};
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

// Gives every part its place, and the segments their addresses.
Status ElfPatcher::Place() {
  StartSegment(PF_R, 0);
  CERB_TRY_VOID(BuildHead());
  // Sections with higher numbers at higher addresses, as every tool likes.
  const std::size_t dynstr =
      SectionAt(elf_.DynamicValue(DT_STRTAB).value_or(0), SHT_STRTAB);
  std::set<std::size_t> copied = evicted_;
  if (!strings_.empty()) copied.insert(dynstr);
  for (const std::size_t index : copied) {
    Part part;
    part.section = index;
    if (index == dynstr && !strings_.empty()) {
      part.name = ".dynstr";
      part.why = "copy of .dynstr with the names added";
      part.type = SHT_STRTAB;
      part.align = 1;
      part.bytes = strings_;
    } else {
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
    }
    AddPart(std::move(part));
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
  if (end > limit || plan_.input_size > limit) {
    return Err(elf_.Error(DiagCode::kUnsupported,
                          fmt::format("uses addresses up to 0x{:x}, no room "
                                      "for a segment behind them",
                                      end)));
  }
  plan_.append_offset = AlignUp(plan_.input_size, kPage);
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

void ElfPatcher::FillRecords() {
  Bytes& head = parts_[0].bytes;
  std::set<std::uint32_t> empty;
  for (const Module& module : modules_) {
    if (module.is_empty_device_link && module.index) {
      empty.insert(*module.index);
    }
  }
  for (const Wrapper& wrapper : binary_.wrappers()) {
    const std::uint64_t at = sizeof(formats::SegmentHeader) +
                             wrapper.index * sizeof(formats::WrapperRecord);
    const std::uint64_t vaddr = plan_.segment_vaddr + at;
    const LocatedFatbin& fatbin = binary_.fatbins()[wrapper.fatbin];
    formats::WrapperRecord record{};
    std::memcpy(record.magic, formats::kRecordMagic.data(),
                formats::kRecordMagic.size());
    record.version = formats::kRecordVersion;
    record.index = wrapper.index;
    record.flags = empty.contains(wrapper.index) ? formats::kRecordNoKernel : 0;
    record.to_segment = -static_cast<std::int64_t>(at);
    record.to_wrapper = static_cast<std::int64_t>(wrapper.vaddr - vaddr);
    record.to_fatbin = static_cast<std::int64_t>(fatbin.vaddr - vaddr);
    record.fatbin_size = fatbin.fatbin.bytes.size();
    StoreLe(head.data() + at, record);
  }
  formats::SegmentHeader header = LoadLe<formats::SegmentHeader>(head.data());
  header.checksum = formats::SegmentChecksum(head);
  StoreLe(head.data(), header);
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

  const auto point = [&](Elf64_Phdr& segment, const Part& part,
                         std::uint64_t into, std::uint64_t size) {
    segment.p_offset = OffsetOf(part) + into;
    segment.p_vaddr = segment.p_paddr = VaddrOf(part) + into;
    segment.p_filesz = segment.p_memsz = size;
  };
  for (Elf64_Phdr& segment : segments_) {
    switch (segment.p_type) {
      case PT_PHDR:
        segment.p_filesz = segment.p_memsz =
            segments_.size() * sizeof(Elf64_Phdr);
        break;
      case PT_INTERP:
      case PT_NOTE:
      case PT_GNU_PROPERTY: {
        // A segment of several notes keeps its span: the notes were copied
        // in order, each with its alignment.
        const Part* first = nullptr;
        const Part* last = nullptr;
        for (const std::size_t i : evicted_) {
          const Elf64_Shdr& old = elf_.sections()[i].header;
          if (old.sh_offset < segment.p_offset ||
              old.sh_offset + old.sh_size >
                  segment.p_offset + segment.p_filesz) {
            continue;
          }
          const Part* part = FindPart(i);
          if (first == nullptr) first = part;
          last = part;
        }
        if (first != nullptr) {
          point(segment, *first, 0, last->at + last->bytes.size() - first->at);
        }
        break;
      }
      default: break;
    }
  }

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

  for (Part& part : parts_) {
    if (part.name == ".dynamic" && copy_dynamic_) {
      for (Elf64_Phdr& segment : segments_) {
        if (segment.p_type == PT_DYNAMIC) {
          point(segment, part, 0, part.bytes.size());
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
        point(segment, part, 0, part.bytes.size());
      }
    }
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      StoreLe(part.bytes.data() + i * sizeof(Elf64_Phdr), segments_[i]);
    }
  }
}

// The section header table and the section names, copied behind the segment
// with what is new.
void ElfPatcher::AppendSections() {
  const std::uint64_t names_index = header_.e_shstrndx;
  if (sections_.empty() || names_index == SHN_UNDEF ||
      names_index >= sections_.size()) {
    return;
  }
  if (sections_.size() + parts_.size() >= SHN_LORESERVE) {
    plan_.notes.push_back(elf_.Error(
        DiagCode::kUnsupported,
        "has too many sections to describe the new segment; strip would "
        "break the result"));
    plan_.notes.back().severity = Severity::kWarning;
    return;
  }
  const ByteSpan old_names = elf_.SectionBytes(elf_.sections()[names_index]);
  Bytes names(old_names.begin(), old_names.end());
  for (const Part& part : parts_) {
    if (part.section != 0) continue;
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_type = part.type;
    section.sh_flags = part.flags;
    section.sh_addr = VaddrOf(part);
    section.sh_offset = OffsetOf(part);
    section.sh_size = part.bytes.size();
    section.sh_addralign = part.align;
    sections_.push_back(section);
    names.insert(names.end(), part.name.begin(), part.name.end());
    names.push_back(0);
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
  CERB_TRY_VOID(plan_.ranges.Add(offset, bytes.size(), why));
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

Status ElfPatcher::EditWrappers() {
  if (options_.keep_fatbin) return {};
  for (const Wrapper& wrapper : binary_.wrappers()) {
    const PointerSlot& slot = wrapper.data;
    const std::uint64_t record = plan_.segment_vaddr +
                                 sizeof(formats::SegmentHeader) +
                                 wrapper.index * sizeof(formats::WrapperRecord);
    Bytes address;
    AppendLe(address, record);
    const std::string why =
        fmt::format("wrapper {} leads to its record", wrapper.index);
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
        AppendLe(relocation, record);
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
    CERB_TRY_VOID(EditIfChanged(header_.e_phoff, table, "program headers"));
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
  if (plan_.append_offset > plan_.input_size) {
    CERB_TRY_VOID(plan_.ranges.Add(plan_.input_size,
                                   plan_.append_offset - plan_.input_size,
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
  ChangeDynamic();
  CERB_TRY_VOID(FindProgramHeader());
  CERB_TRY_VOID(Place());
  FillRecords();
  UpdatePointers();
  CERB_TRY_VOID(EmitParts());
  CERB_TRY_VOID(EditWrappers());
  CERB_TRY_VOID(EditTables());
  std::sort(plan_.edits.begin(), plan_.edits.end(),
            [](const Plan::Edit& a, const Plan::Edit& b) {
              return a.offset < b.offset;
            });
  return std::move(plan_);
}

}  // namespace

Result<Plan> PlanElf(const Binary& binary, const PlanOptions& options) {
  return ElfPatcher(binary, options).Run();
}

}  // namespace cerberus::rewriter
