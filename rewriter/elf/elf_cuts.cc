// What leaves the file: pages that nobody needs any more.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/segment.h"
#include "rewriter/elf/elf_patcher.h"
#include "rewriter/elf/make_room.h"

namespace cerberus::rewriter {

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

// Where whole pages can go: behind a segment's first page (it keeps a byte of
// file), and in nothing that another program header describes.
void ElfPatcher::FindCuts() {
  const std::uint64_t granule = CutGranule();
  const std::size_t names = header_.e_shstrndx;
  const bool sections_can_follow =
      sections_.empty() ||
      (names != SHN_UNDEF && names < sections_.size() &&
       sections_.size() + 2 * change_.removed.size() + 16 < SHN_LORESERVE);
  if (!sections_can_follow || (granule & (granule - 1)) != 0) return;
  for (const Removed& removed : change_.removed) {
    for (const Elf64_Phdr& segment : elf_.segments()) {
      if (segment.p_type != PT_LOAD || removed.offset < segment.p_offset ||
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
        gone_.push_back(removed);
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
  auto cut = std::find_if(
      plan_.cuts.begin(), plan_.cuts.end(),
      [&](const Plan::Cut& c) { return overlaps(c.offset, c.size); });
  if (cut == plan_.cuts.end()) return false;
  // What stays of it: all but what was removed and zeros alone.
  std::vector<Elf64_Shdr> kept;
  std::uint64_t at = start;
  const auto piece_of = [&](std::uint64_t from, std::uint64_t size) {
    Elf64_Shdr piece = section;
    piece.sh_addr += from - start;
    piece.sh_offset = plan_.OutputOffset(from);
    piece.sh_size = size;
    return piece;
  };
  const auto keep = [&](std::uint64_t to) {
    const std::uint8_t* bytes = elf_.bytes().data();
    if (std::all_of(bytes + at, bytes + std::max(at, to),
                    [](std::uint8_t b) { return b == 0; })) {
      return;
    }
    kept.push_back(piece_of(at, to - at));
    kept.back().sh_addralign = 1;
  };
  for (const Removed& removed : gone_) {
    if (!overlaps(removed.offset, removed.size)) continue;
    keep(removed.offset);
    at = std::min(removed.offset + removed.size, end);
  }
  keep(end);
  // The addresses of what was cut stay taken, also when strip lays segments
  // out anew.
  for (; cut != plan_.cuts.end() && overlaps(cut->offset, cut->size); ++cut) {
    kept.push_back(piece_of(cut->offset, cut->size));
    kept.back().sh_type = SHT_NOBITS;
  }
  section = kept.front();
  for (std::size_t i = 1; i < kept.size(); ++i) {
    kept_.push_back({elf_.sections()[index].name, kept[i]});
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

}  // namespace cerberus::rewriter
