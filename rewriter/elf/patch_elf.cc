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
#include "rewriter/elf/patch_elf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "formats/library_version.h"
#include "formats/segment.h"
#include "rewriter/elf/elf_patcher.h"
#include "rewriter/elf/make_room.h"
#include "rewriter/elf/version_needs.h"

namespace cerberus::rewriter {

void ElfPatcher::SetDynamic(std::int64_t tag, std::uint64_t value) {
  for (Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == tag) entry.d_un.d_val = value;
  }
}

std::uint64_t ElfPatcher::AddString(std::string_view text) {
  if (strings_.empty()) {
    const ByteSpan old = elf_.dynamic_strings();
    strings_.assign(old.begin(), old.end());
    if (strings_.empty() || strings_.back() != 0) strings_.push_back(0);
  }
  const std::uint64_t offset = strings_.size();
  strings_.insert(strings_.end(), text.begin(), text.end());
  strings_.push_back(0);
  return offset;
}

Elf64_Dyn ElfPatcher::Entry(std::int64_t tag, std::string_view text) {
  Elf64_Dyn entry{};
  entry.d_tag = tag;
  entry.d_un.d_val = AddString(text);
  return entry;
}

void ElfPatcher::AddNeeded(const ElfChange::Needed& needed) {
  const Elf64_Dyn entry = Entry(DT_NEEDED, needed.name);
  for (std::size_t i = 0; i < elf_.dynamic().size(); ++i) {
    const Elf64_Dyn& old = elf_.dynamic()[i];
    if (old.d_tag == DT_NEEDED && !needed.instead_of.empty() &&
        elf_.DynamicString(old.d_un.d_val) == needed.instead_of) {
      dynamic_[i] = entry;
      return;
    }
  }
  dynamic_.push_back(entry);
}

// Puts folders in front of the search path.
void ElfPatcher::AddRunpath() {
  if (change_.runpath.empty()) return;
  // A DT_RUNPATH makes the loader ignore DT_RPATH, so a path is added only
  // where there is neither.
  auto index = elf_.FindDynamic(DT_RUNPATH);
  if (!index) index = elf_.FindDynamic(DT_RPATH);
  std::string path = fmt::format("{}", fmt::join(change_.runpath, ":"));
  if (index) {
    const auto old = elf_.DynamicString(elf_.dynamic()[*index].d_un.d_val);
    if (old && !old->empty()) path += ":" + std::string(*old);
    dynamic_[*index].d_un.d_val = AddString(path);
  } else {
    dynamic_.push_back(Entry(DT_RUNPATH, path));
  }
}

// A library of NVIDIA's may be in the process before the file is, and its
// functions before ours in the order in which the loader looks: they have no
// such version. A file without section headers keeps its versions.
Status ElfPatcher::ChangeVersions() {
  const auto vaddr = elf_.DynamicValue(DT_VERNEED);
  if (change_.ours_alone.empty() || !vaddr) return {};
  const std::size_t index = SectionAt(*vaddr, SHT_GNU_verneed);
  if (index == 0) return {};
  const ByteSpan table = elf_.SectionBytes(elf_.sections()[index]);
  CERB_TRY(const std::vector<VersionNeed> needs, ReadVersionNeeds(elf_, table));
  std::uint64_t name = 0;
  for (const VersionNeed& need : needs) {
    if (std::find(change_.ours_alone.begin(), change_.ours_alone.end(),
                  need.library) == change_.ours_alone.end()) {
      continue;
    }
    if (versions_.empty()) {
      versions_.assign(table.begin(), table.end());
      versions_section_ = index;
      name = AddString(formats::kOwnLibraryVersion);
    }
    AskForVersion(versions_, need.at, formats::kOwnLibraryVersion, name);
  }
  return {};
}

// The search path, libraries among those needed, and their versions.
Status ElfPatcher::ChangeDynamic() {
  AddRunpath();
  for (const ElfChange::Needed& needed : change_.needed) AddNeeded(needed);
  std::vector<Elf64_Dyn> first;
  first.reserve(change_.needed_first.size());
  for (const std::string& name : change_.needed_first) {
    first.push_back(Entry(DT_NEEDED, name));
  }
  dynamic_.insert(dynamic_.begin(), first.begin(), first.end());
  CERB_TRY_VOID(ChangeVersions());
  // One DT_NULL must remain.
  copy_dynamic_ = dynamic_.size() > elf_.dynamic().size() &&
                  dynamic_.size() + 1 > elf_.dynamic_capacity();
  return {};
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

Status ElfPatcher::EditIfChanged(std::uint64_t offset, const Bytes& bytes,
                                 const std::string& why) {
  return plan_.AddEditIfChanged(elf_.bytes(), offset, bytes, why);
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
        CERB_TRY_VOID(plan_.AddEdit(slot.offset, address, why));
        break;
      case PointerSlot::Fill::kRelative:
        CERB_TRY_VOID(plan_.AddEdit(
            slot.rela_offset + offsetof(Elf64_Rela, r_addend), address, why));
        // Some linkers write the addend in place as well. The loader does
        // not read it there, but tools that do must not see two truths.
        if (slot.in_place != 0) {
          CERB_TRY_VOID(plan_.AddEdit(slot.offset, address, why));
        }
        break;
      case PointerSlot::Fill::kRelSymbol: {
        Bytes info;
        AppendLe(info, std::uint64_t{ELF64_R_INFO(
                           0ul, std::uint64_t{R_X86_64_RELATIVE})});
        CERB_TRY_VOID(
            plan_.AddEdit(slot.rela_offset + offsetof(Elf64_Rel, r_info),
                          std::move(info), why));
        CERB_TRY_VOID(plan_.AddEdit(slot.offset, address, why));
        break;
      }
      case PointerSlot::Fill::kSymbol: {
        Bytes relocation;
        AppendLe(relocation, std::uint64_t{ELF64_R_INFO(
                                 0ul, std::uint64_t{R_X86_64_RELATIVE})});
        AppendLe(relocation, target);
        CERB_TRY_VOID(
            plan_.AddEdit(slot.rela_offset + offsetof(Elf64_Rela, r_info),
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
  plan_.input_size = plan_.insert_at = elf_.bytes().size();
  CERB_TRY_VOID(CheckInput());
  FindCuts();
  if (!plan_.cuts.empty()) {
    CutSections();
    CutSegments();
    header_.e_phoff = plan_.OutputOffset(header_.e_phoff);
  }
  CERB_TRY_VOID(ChangeDynamic());
  CERB_TRY_VOID(FindProgramHeader());
  CERB_TRY_VOID(Place());
  parts_[0].bytes = change_.head(plan_.segment_vaddr, gone_);
  UpdatePointers();
  CERB_TRY_VOID(EmitParts());
  CERB_TRY_VOID(EditPointers());
  for (const Plan::Edit& edit : change_.edits) {
    CERB_TRY_VOID(plan_.AddEdit(edit.offset, edit.bytes, edit.why));
  }
  CERB_TRY_VOID(EditTables());
  plan_.SortEdits();
  return std::move(plan_);
}

Result<Plan> PlanElf(const ElfFile& elf, const ElfChange& change) {
  return ElfPatcher(elf, change).Run();
}

}  // namespace cerberus::rewriter
