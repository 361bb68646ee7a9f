// What is appended to the file, where it lies, and what leads to it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/segment.h"
#include "rewriter/elf/elf_patcher.h"
#include "rewriter/elf/make_room.h"

namespace cerberus::rewriter {

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

Part ElfPatcher::NewVersions() const {
  Part part = CopyOf(versions_section_);
  part.why = "copy of .gnu.version_r that asks for our libraries";
  part.bytes = versions_;
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
  if (!versions_.empty()) copied.insert(versions_section_);
  for (const std::size_t index : copied) {
    if (index == dynstr && !strings_.empty()) {
      AddPart(NewStrings(index));
    } else if (index == versions_section_ && !versions_.empty()) {
      AddPart(NewVersions());
    } else {
      AddPart(CopyOf(index));
    }
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

// What patchelf moves gets a segment of its own, and loses its only section
// when it moves again. GNU strip gives a segment without sections an offset
// that the loader does not take.
void ElfPatcher::DescribeOldSegments() {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Elf64_Phdr& segment = segments_[i];
    const bool is_new =
        i >= load_index_ && i < load_index_ + new_segments_.size();
    if (segment.p_type != PT_LOAD || segment.p_filesz == 0 || is_new) continue;
    const auto is_in = [&](const Elf64_Shdr& section) {
      return (section.sh_flags & SHF_ALLOC) != 0 &&
             section.sh_type != SHT_NOBITS && section.sh_size != 0 &&
             section.sh_addr < segment.p_vaddr + segment.p_filesz &&
             section.sh_addr + section.sh_size > segment.p_vaddr;
    };
    if (std::any_of(sections_.begin(), sections_.end(), is_in) ||
        std::any_of(kept_.begin(), kept_.end(),
                    [&](const Kept& kept) { return is_in(kept.header); })) {
      continue;
    }
    Elf64_Shdr section{};
    section.sh_type = SHT_PROGBITS;
    section.sh_flags = SHF_ALLOC;
    if ((segment.p_flags & PF_W) != 0) section.sh_flags |= SHF_WRITE;
    if ((segment.p_flags & PF_X) != 0) section.sh_flags |= SHF_EXECINSTR;
    section.sh_addr = segment.p_vaddr;
    section.sh_offset = segment.p_offset;
    section.sh_size = segment.p_filesz;
    section.sh_addralign = 1;
    kept_.push_back({std::string(kOldSection), section});
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
  if (sections_.size() + parts_.size() + kept_.size() >= SHN_LORESERVE) {
    plan_.notes.push_back(elf_.Error(
        DiagCode::kUnsupported,
        "has too many sections to describe the new segment; strip would "
        "break the result"));
    plan_.notes.back().severity = Severity::kWarning;
    return;
  }
  DescribeOldSegments();
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

}  // namespace cerberus::rewriter
