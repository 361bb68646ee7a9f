// Converting a PE file means adding a section behind all others. Sections
// follow one another in memory, so the new one has the next address, and no
// other changes its own. Base relocations, exception tables and all other
// directories lie in sections and stay as they are.
//
// The section header needs 40 bytes behind the table of sections, in front of
// the first section's bytes. Linkers align those to 512 bytes, which mostly
// leaves some. Where it does not, the headers move up over the program for DOS
// that linkers put in front of them ("This program cannot be run in DOS mode").
//
// The bytes of the new section go behind those of the others, and before what
// no section covers: COFF symbols, or an overlay, which programs find from the
// end of the file or from the end of the sections. What leads there moves with
// it. A signature is of the file as it was, and so leaves it.
//
// Device code leaves from the end of a section: it then has fewer bytes in the
// file than in memory, where the rest is zeros, and all addresses stay taken.
#include "rewriter/pe/patch_pe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "formats/segment.h"

namespace cerberus::rewriter {
namespace {

constexpr std::uint64_t kDosHeaderSize = 0x40;
constexpr std::uint64_t kDosSignatureField = 0x3c;
constexpr std::uint64_t kMaxSections = 96;  // "COFF File Header"
constexpr std::uint64_t kDebugEntrySize = 28, kDebugOffsetField = 24;

class PePatcher {
 public:
  PePatcher(const PeFile& pe, const ObjectChange& change)
      : pe_(pe),
        change_(change),
        file_header_(pe.file_header()),
        optional_(pe.optional_header()),
        certificates_(pe.directory(kPeCertificates)) {
    for (const PeFile::Section& section : pe.sections()) {
      sections_.push_back(section.header);
    }
  }

  Result<Plan> Run() {
    plan_.input_size = pe_.bytes().size();
    CERB_TRY_VOID(pe_.CheckLayout());
    CERB_TRY_VOID(RemoveCertificates());
    for (std::size_t i = 0; i < sections_.size(); ++i) CutSection(i);
    CutCertificates();
    std::sort(plan_.cuts.begin(), plan_.cuts.end(),
              [](const Plan::Cut& a, const Plan::Cut& b) {
                return a.offset < b.offset;
              });
    std::sort(
        gone_.begin(), gone_.end(),
        [](const Removed& a, const Removed& b) { return a.offset < b.offset; });
    CERB_TRY_VOID(AddSection());
    CERB_TRY_VOID(MoveOffsets());
    CERB_TRY_VOID(EditAll());
    CERB_TRY_VOID(EditHeaders());
    plan_.SortEdits();
    SetChecksum();
    return std::move(plan_);
  }

 private:
  tl::unexpected<Diag> Unsupported(std::string message) const {
    return Err(pe_.Error(DiagCode::kUnsupported, std::move(message)));
  }

  Status RemoveCertificates() {
    if (certificates_.rva == 0 || certificates_.size == 0) return {};
    const std::uint64_t end =
        std::uint64_t{certificates_.rva} + certificates_.size;
    if (certificates_.rva < pe_.sections_end() || end > plan_.input_size) {
      return Err(pe_.Error(
          DiagCode::kBadFormat,
          fmt::format("certificates at 0x{:x}+0x{:x} of the file, expected "
                      "them between its sections (0x{:x}) and its end (0x{:x})",
                      certificates_.rva, certificates_.size, pe_.sections_end(),
                      plan_.input_size)));
    }
    plan_.notes.push_back(
        pe_.Error(DiagCode::kUnsupported,
                  "its signature is left out, which does not hold for a "
                  "changed file; sign it again"));
    plan_.notes.back().severity = Severity::kWarning;
    return {};
  }

  void CutCertificates() {
    if (certificates_.size == 0 || certificates_.rva == 0) return;
    plan_.cuts.push_back({certificates_.rva, certificates_.size});
  }

  // What may go of a section's bytes: its end, as far as it is device code
  // that nothing needs and zeros.
  void CutSection(std::size_t index) {
    PeSectionHeader& section = sections_[index];
    const std::uint64_t start = section.raw_offset;
    const std::uint64_t end = start + section.raw_size;
    std::uint64_t kept_end = end;
    const std::uint8_t* bytes = pe_.bytes().data();
    std::vector<Removed> gone;
    for (auto piece = change_.removed.rbegin(); piece != change_.removed.rend();
         ++piece) {
      if (piece->offset < start || piece->offset >= end) continue;
      const std::uint64_t piece_end = piece->offset + piece->size;
      while (kept_end > piece_end && bytes[kept_end - 1] == 0) --kept_end;
      if (kept_end > piece_end) break;
      kept_end = piece->offset;
      gone.push_back(*piece);
    }
    if (gone.empty()) return;
    const std::uint64_t raw_size = std::min(
        AlignUp(kept_end - start, optional_.file_alignment), end - start);
    const std::uint64_t from = start + raw_size;
    // Whoever reads the records believes that a fatbin is there or not.
    std::erase_if(gone, [&](const Removed& piece) {
      return piece.offset + piece.size <= from;
    });
    if (from == end || gone.empty()) return;
    if (from > kept_end) rest_.push_back({kept_end, from - kept_end});
    if (section.virtual_size == 0) section.virtual_size = section.raw_size;
    section.raw_size = static_cast<std::uint32_t>(raw_size);
    plan_.cuts.push_back({from, end - from});
    gone_.insert(gone_.end(), gone.begin(), gone.end());
  }

  Status AddSection() {
    if (sections_.size() >= kMaxSections) {
      return Unsupported(
          fmt::format("has {} sections, and the loader takes no "
                      "more",
                      sections_.size()));
    }
    const std::uint32_t in_file = optional_.file_alignment;
    const std::uint32_t in_memory = optional_.section_alignment;
    const PeFile::Section& last = pe_.sections().back();
    const std::uint64_t rva =
        AlignUp(std::uint64_t{last.header.rva} + last.memory_size(), in_memory);
    const std::uint64_t raw_size = AlignUp(change_.head_size, in_file);
    const std::uint64_t image_size =
        AlignUp(rva + change_.head_size, in_memory);
    plan_.insert_at = pe_.sections_end();
    plan_.append_offset = AlignUp(plan_.gap_offset(), in_file);
    constexpr std::uint64_t kLimit = std::uint64_t{1} << 32;
    if (image_size >= kLimit ||
        plan_.append_offset + raw_size + plan_.input_size >= kLimit) {
      return Unsupported("has no room for a section below 4 GiB");
    }
    plan_.segment_vaddr = pe_.base() + rva;
    plan_.segment_size = change_.head_size;
    plan_.appended = change_.head(plan_.segment_vaddr, gone_);
    plan_.appended.resize(raw_size);
    CERB_TRY_VOID(plan_.ranges.Add(plan_.append_offset, raw_size,
                                   "new section: " + change_.head_why));
    if (plan_.append_offset > plan_.gap_offset()) {
      CERB_TRY_VOID(plan_.ranges.Add(plan_.gap_offset(),
                                     plan_.append_offset - plan_.gap_offset(),
                                     "padding to the file's alignment"));
    }

    std::uint64_t cut = 0;
    for (PeSectionHeader& section : sections_) {
      const PeSectionHeader& before =
          pe_.sections()[static_cast<std::size_t>(&section - sections_.data())]
              .header;
      cut += before.raw_size - section.raw_size;
      if (before.raw_size == 0) continue;
      section.raw_offset =
          section.raw_size == 0 ? 0 : Moved(section.raw_offset);
    }
    PeSectionHeader section{};
    std::memcpy(section.name, formats::kPeMarkerSection.data(),
                formats::kPeMarkerSection.size());
    section.virtual_size = static_cast<std::uint32_t>(change_.head_size);
    section.rva = static_cast<std::uint32_t>(rva);
    section.raw_size = static_cast<std::uint32_t>(raw_size);
    section.raw_offset = static_cast<std::uint32_t>(plan_.append_offset);
    section.characteristics = kPeInitializedData | kPeRead;
    sections_.push_back(section);
    ++file_header_.section_count;
    optional_.image_size = static_cast<std::uint32_t>(image_size);
    optional_.data_size += section.raw_size;
    optional_.data_size -= static_cast<std::uint32_t>(
        std::min<std::uint64_t>(cut, optional_.data_size));
    return {};
  }

  std::uint32_t Moved(std::uint32_t offset) const {
    return static_cast<std::uint32_t>(plan_.OutputOffset(offset));
  }

  // Offsets in the file that are not those of sections.
  Status MoveOffsets() {
    if (file_header_.symbols_offset != 0) {
      file_header_.symbols_offset = Moved(file_header_.symbols_offset);
    }
    const PeDirectory debug = pe_.directory(kPeDebug);
    if (debug.size == 0) return {};
    const auto table = pe_.OffsetOf(pe_.base() + debug.rva, debug.size);
    if (!table) {
      return Err(pe_.Error(DiagCode::kBadFormat,
                           fmt::format("the debug directory at 0x{:x} is in no "
                                       "section",
                                       debug.rva)));
    }
    for (std::uint64_t at = 0; at + kDebugEntrySize <= debug.size;
         at += kDebugEntrySize) {
      const std::uint64_t field = *table + at + kDebugOffsetField;
      const auto offset = LoadLe<std::uint32_t>(pe_.bytes().data() + field);
      if (offset == 0 || offset > plan_.input_size) continue;
      Bytes moved;
      AppendLe(moved, Moved(offset));
      CERB_TRY_VOID(plan_.AddEditIfChanged(
          pe_.bytes(), field, moved, "where debug information is in the file"));
    }
    return {};
  }

  Status EditAll() {
    for (const ObjectChange::Pointer& pointer : change_.pointers) {
      Bytes address;
      AppendLe(address, plan_.segment_vaddr + pointer.into_head);
      CERB_TRY_VOID(
          plan_.AddEdit(pointer.slot.offset, std::move(address), pointer.why));
    }
    for (const Removed& rest : rest_) {
      CERB_TRY_VOID(
          plan_.AddEditIfChanged(pe_.bytes(), rest.offset, Bytes(rest.size),
                                 "the rest of what is cut behind it"));
    }
    for (const Plan::Edit& edit : change_.edits) {
      CERB_TRY_VOID(plan_.AddEdit(edit.offset, edit.bytes, edit.why));
    }
    return {};
  }

  Status EditHeaders() {
    // The first byte that belongs to a section.
    std::uint64_t limit = optional_.headers_size;
    for (const PeFile::Section& section : pe_.sections()) {
      if (section.header.raw_size != 0) {
        limit = std::min<std::uint64_t>(limit, section.header.raw_offset);
      }
    }
    limit = std::min<std::uint64_t>(limit, plan_.input_size);
    const std::uint64_t start = pe_.signature_offset();
    const std::uint64_t old_end =
        pe_.sections_offset() + pe_.sections().size() * sizeof(PeSectionHeader);
    if (old_end > limit) {
      return Unsupported("its headers run into its sections");
    }
    const std::uint8_t* bytes = pe_.bytes().data();
    std::uint64_t room_end = old_end;
    while (room_end < limit && bytes[room_end] == 0) ++room_end;
    std::uint64_t up = 0;  // by how much the headers move
    plan_.tactic = "a section header behind the others";
    if (room_end - old_end < sizeof(PeSectionHeader)) {
      const std::uint64_t wanted =
          sizeof(PeSectionHeader) - (room_end - old_end);
      up = AlignUp(wanted, 8);
      if (start < kDosHeaderSize + up) {
        return Unsupported(fmt::format(
            "has no room for another section header: {} bytes are free, {} "
            "are needed",
            room_end - old_end + (start - std::min(start, kDosHeaderSize)),
            sizeof(PeSectionHeader)));
      }
      plan_.tactic = "the headers move up over the program for DOS";
    }

    Bytes headers(bytes, bytes + room_end);
    std::memmove(headers.data() + start - up, headers.data() + start,
                 old_end - start);
    std::fill(headers.begin() + static_cast<std::ptrdiff_t>(old_end - up),
              headers.begin() + static_cast<std::ptrdiff_t>(old_end),
              std::uint8_t{0});
    const auto at = [&](std::uint64_t offset) {
      return headers.data() + offset - up;
    };
    StoreLe(headers.data() + kDosSignatureField,
            static_cast<std::uint32_t>(start - up));
    StoreLe(at(start + 4), file_header_);
    const std::uint64_t optional = start + 4 + sizeof(PeFileHeader);
    StoreLe(at(optional), optional_);
    if (certificates_.size != 0) {
      StoreLe(at(optional + sizeof(PeOptionalHeader) +
                 kPeCertificates * sizeof(PeDirectory)),
              PeDirectory{});
    }
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      StoreLe(at(pe_.sections_offset() + i * sizeof(PeSectionHeader)),
              sections_[i]);
    }
    checksum_offset_ = optional - up + offsetof(PeOptionalHeader, checksum);
    return plan_.AddEditIfChanged(pe_.bytes(), 0, headers, "headers");
  }

  // The sum that the loader checks for drivers, and tools for everything: of
  // all words of the file, this field taken as 0, and of its size. Files
  // without one have 0 there.
  void SetChecksum() {
    if (optional_.checksum == 0) return;
    std::uint64_t sum[2] = {0, 0};  // of bytes at even and odd offsets
    const auto add = [&](std::uint64_t offset, ByteSpan bytes) {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        sum[(offset + i) & 1] += bytes[i];
      }
    };
    const auto subtract = [&](std::uint64_t offset, ByteSpan bytes) {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        sum[(offset + i) & 1] -= bytes[i];
      }
    };
    for (const Plan::Piece& piece : plan_.pieces()) {
      add(piece.output_offset, pe_.bytes().subspan(piece.offset, piece.size));
    }
    add(plan_.append_offset, plan_.appended);
    Plan::Edit* headers = nullptr;
    for (Plan::Edit& edit : plan_.edits) {
      const std::uint64_t at = plan_.OutputOffset(edit.offset);
      subtract(at, pe_.bytes().subspan(edit.offset, edit.bytes.size()));
      add(at, edit.bytes);
      if (edit.offset <= checksum_offset_ &&
          checksum_offset_ + 4 <= edit.offset + edit.bytes.size()) {
        headers = &edit;
      }
    }
    std::uint8_t* field =
        headers->bytes.data() + (checksum_offset_ - headers->offset);
    subtract(checksum_offset_, {field, 4});
    std::uint64_t total = sum[0] + (sum[1] << 8);
    while (total >> 16 != 0) total = (total & 0xffff) + (total >> 16);
    StoreLe(field, static_cast<std::uint32_t>(total + plan_.output_size()));
  }

  const PeFile& pe_;
  const ObjectChange& change_;
  Plan plan_;
  std::vector<Removed> gone_;
  std::vector<Removed> rest_;  // of it, too little to be cut

  // The headers as they will be.
  PeFileHeader file_header_;
  PeOptionalHeader optional_;
  const PeDirectory certificates_;
  std::vector<PeSectionHeader> sections_;
  std::uint64_t checksum_offset_ = 0;  // in the output
};

}  // namespace

Result<Plan> PlanPe(const PeFile& pe, const ObjectChange& change) {
  return PePatcher(pe, change).Run();
}

}  // namespace cerberus::rewriter
