#include "rewriter/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "formats/segment.h"
#include "formats/segment_checksum.h"
#include "kpack/marker.h"
#include "support/mapped_file.h"

namespace cerberus::rewriter {
namespace {

// The appended segment of a converted file.
struct Found {
  std::uint64_t vaddr = 0;
  std::uint64_t size = 0;  // in memory
  formats::SegmentHeader header{};
  ByteSpan bytes;  // of the whole segment
};

// Where it may be; its first bytes say whether it is there.
void FindSegment(const ElfFile& elf, Found& found) {
  const auto take = [&](const Elf64_Phdr& load, std::uint64_t vaddr) {
    found.bytes = elf.BytesAt(vaddr);
    found.vaddr = vaddr;
    found.size = load.p_vaddr + load.p_memsz - vaddr;
  };
  // strip may put the program header table in front of it, so the section
  // is asked first, where there is one.
  const ElfFile::Section* section = elf.FindSection(formats::kMarkerSection);
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    if (section == nullptr) {
      if (AsText(elf.BytesAt(segment.p_vaddr))
              .starts_with(formats::kSegmentMagic)) {
        take(segment, segment.p_vaddr);
      }
    } else if (section->header.sh_addr >= segment.p_vaddr &&
               section->header.sh_addr - segment.p_vaddr < segment.p_filesz) {
      take(segment, section->header.sh_addr);
    }
  }
}

void FindSegment(const PeFile& pe, Found& found) {
  const PeFile::Section* section = pe.FindSection(formats::kPeMarkerSection);
  if (section == nullptr) return;
  found.vaddr = pe.base() + section->header.rva;
  found.size = section->memory_size();
  found.bytes = pe.BytesAt(found.vaddr);
}

Result<Found> FindAppendedSegment(const Binary& binary) {
  const ObjectFile& object = binary.object();
  const auto fail = [&](std::string message, std::int64_t offset = -1) {
    return Err(object.Error(DiagCode::kBadFormat, std::move(message),
                            std::string(formats::kMarkerSection), offset));
  };
  Found found;
  if (binary.is_pe()) {
    FindSegment(binary.pe(), found);
  } else {
    FindSegment(binary.elf(), found);
  }
  if (!AsText(found.bytes).starts_with(formats::kSegmentMagic)) {
    return Err(object.Error(DiagCode::kUnsupported,
                            "is not a converted file: it has no marker"));
  }
  if (found.bytes.size() < sizeof(formats::SegmentHeader)) {
    return fail("the segment is cut short", 0);
  }
  found.header = LoadLe<formats::SegmentHeader>(found.bytes.data());
  const formats::SegmentHeader& header = found.header;
  if (header.version != formats::kSegmentVersion ||
      header.header_size != sizeof(formats::SegmentHeader)) {
    return fail(
        fmt::format("segment version {} with a header of {} bytes, "
                    "expected version {} with {}",
                    header.version, header.header_size,
                    formats::kSegmentVersion, sizeof(formats::SegmentHeader)),
        8);
  }
  if (header.covered_size < sizeof(formats::SegmentHeader) ||
      header.covered_size > found.bytes.size()) {
    return fail(fmt::format("checksum over {} bytes, the segment has {}",
                            header.covered_size, found.bytes.size()),
                16);
  }
  found.bytes = found.bytes.first(header.covered_size);
  if (formats::SegmentChecksum(found.bytes) != header.checksum) {
    return fail("the checksum does not match", 24);
  }
  const auto inside = [&](std::uint64_t at, std::uint64_t size) {
    return at <= header.covered_size && size <= header.covered_size - at;
  };
  if (!inside(header.records_offset, std::uint64_t{header.record_count} *
                                         sizeof(formats::WrapperRecord))) {
    return fail("the records run past the checksummed bytes", 32);
  }
  if (!inside(header.marker_offset, header.marker_size)) {
    return fail("the marker runs past the checksummed bytes", 40);
  }
  return found;
}

using WrapperAt = std::map<std::uint64_t, const Wrapper*>;

// Record `i`, at offset `at` of the segment. Its wrapper goes from
// `wrapper_at`.
Result<ConvertedInfo::Record> ReadRecord(const Binary& binary, ByteSpan segment,
                                         std::uint64_t segment_vaddr,
                                         std::uint32_t i, std::uint64_t at,
                                         WrapperAt* wrapper_at) {
  const auto fail = [&](std::string message) {
    return Err(binary.object().Error(
        DiagCode::kBadFormat, fmt::format("record {}: {}", i, message),
        std::string(formats::kMarkerSection), static_cast<std::int64_t>(at)));
  };
  const formats::WrapperRecord raw =
      LoadLe<formats::WrapperRecord>(segment.data() + at);
  const std::uint64_t vaddr = segment_vaddr + at;
  if (AsText({reinterpret_cast<const std::uint8_t*>(raw.magic), 4}) !=
          formats::kRecordMagic ||
      raw.version != formats::kRecordVersion) {
    return fail("bad magic or version");
  }
  if (vaddr + static_cast<std::uint64_t>(raw.to_segment) != segment_vaddr) {
    return fail("does not lead back to the segment");
  }
  ConvertedInfo::Record record;
  record.index = raw.index;
  record.flags = raw.flags;
  record.wrapper_vaddr = vaddr + static_cast<std::uint64_t>(raw.to_wrapper);
  record.fatbin_vaddr = vaddr + static_cast<std::uint64_t>(raw.to_fatbin);
  record.fatbin_size = raw.fatbin_size;
  const auto wrapper = wrapper_at->find(record.wrapper_vaddr);
  if (wrapper == wrapper_at->end()) {
    return fail(fmt::format("leads to 0x{:x}, where there is no wrapper",
                            record.wrapper_vaddr));
  }
  const std::uint64_t data = wrapper->second->data.value;
  record.repointed = data == vaddr;
  if (!record.repointed && data != record.fatbin_vaddr) {
    return fail(
        fmt::format("its wrapper leads to 0x{:x}, neither the "
                    "record nor the fatbin",
                    data));
  }
  if (!wrapper->second->fatbin) {
    if (!binary.object().IsLoaded(record.fatbin_vaddr, record.fatbin_size)) {
      return fail("its fatbin's addresses are not taken any more");
    }
  } else {
    const LocatedFatbin& fatbin = binary.fatbins()[*wrapper->second->fatbin];
    if (fatbin.vaddr != record.fatbin_vaddr ||
        fatbin.fatbin.bytes.size() != record.fatbin_size) {
      return fail("does not lead to its wrapper's fatbin");
    }
  }
  wrapper_at->erase(wrapper);
  return record;
}

Status CheckLayout(const Binary& binary) {
  return binary.is_pe() ? binary.pe().CheckLayout()
                        : binary.elf().CheckLayout();
}

Result<ConvertedInfo> Read(ByteSpan output, const MappedFile* file,
                           const std::string& name) {
  CERB_TRY(const Binary binary, Binary::WithWrappers(output, name, file));
  CERB_TRY(const Found found, FindAppendedSegment(binary));
  CERB_TRY_VOID(CheckLayout(binary));
  const formats::SegmentHeader& header = found.header;

  ConvertedInfo info;
  info.segment_vaddr = found.vaddr;
  info.segment_size = found.size;
  auto marker = kpack::DecodeMarker(
      found.bytes.subspan(header.marker_offset, header.marker_size));
  if (!marker) {
    Diag diag = std::move(marker).error();
    diag.where.file = name;
    return Err(std::move(diag));
  }
  info.search_paths = std::move(marker->search_paths);
  info.kernel_name = std::move(marker->kernel_name);
  info.converter_version = std::move(marker->version);
  info.launch_abi = static_cast<int>(marker->abi);

  WrapperAt wrapper_at;
  for (const Wrapper& wrapper : binary.wrappers()) {
    wrapper_at[wrapper.vaddr] = &wrapper;
  }
  for (std::uint32_t i = 0; i < header.record_count; ++i) {
    const std::uint64_t at = header.records_offset +
                             std::uint64_t{i} * sizeof(formats::WrapperRecord);
    CERB_TRY(const ConvertedInfo::Record record,
             ReadRecord(binary, found.bytes, info.segment_vaddr, i, at,
                        &wrapper_at));
    info.records.push_back(record);
  }
  if (!wrapper_at.empty()) {
    return Err(binary.object().Error(
        DiagCode::kBadFormat,
        fmt::format("{} wrappers have no record", wrapper_at.size()),
        std::string(formats::kMarkerSection)));
  }
  return info;
}

// Whether all bytes of a segment that are not cut are loaded to their address
// with the same permissions.
bool IsLoadedAsBefore(const Elf64_Phdr& segment, const Plan& plan,
                      const ElfFile& after) {
  std::uint64_t at = segment.p_offset;
  const std::uint64_t end = segment.p_offset + segment.p_filesz;
  const auto check = [&](std::uint64_t to) {
    if (at >= to) return true;
    const std::uint64_t vaddr = segment.p_vaddr + (at - segment.p_offset);
    return std::any_of(
        after.segments().begin(), after.segments().end(),
        [&](const Elf64_Phdr& other) {
          return other.p_type == PT_LOAD && other.p_flags == segment.p_flags &&
                 vaddr >= other.p_vaddr &&
                 vaddr - other.p_vaddr + (to - at) <= other.p_filesz &&
                 other.p_offset + (vaddr - other.p_vaddr) ==
                     plan.OutputOffset(at);
        });
  };
  for (const Plan::Cut& cut : plan.cuts) {
    if (cut.offset < at || cut.offset >= end) continue;
    if (!check(cut.offset)) return false;
    at = cut.offset + cut.size;
  }
  if (!check(end)) return false;
  // What has no bytes in the file ends where it did.
  std::uint64_t last = 0;
  for (const Elf64_Phdr& other : after.segments()) {
    if (other.p_type == PT_LOAD && other.p_vaddr >= segment.p_vaddr &&
        other.p_vaddr <
            segment.p_vaddr + std::max<std::uint64_t>(segment.p_memsz, 1)) {
      last = std::max(last, other.p_vaddr + other.p_memsz);
    }
  }
  return last == segment.p_vaddr + segment.p_memsz;
}

Status VerifySplit(const Binary& input, const Plan& plan, ByteSpan output,
                   const MappedFile* file, const std::string& name) {
  CERB_TRY(const Binary after, Binary::WithWrappers(output, name, file));
  CERB_TRY_VOID(CheckLayout(after));
  CERB_TRY(const SplitInfo info, ReadSplit(after));
  bool as_planned = info.marker_vaddr == plan.segment_vaddr &&
                    info.numbers.size() == input.hip().wrappers.size();
  for (std::size_t i = 0; as_planned && i < info.numbers.size(); ++i) {
    as_planned = info.numbers[i] == i &&
                 after.hip().wrappers[i].vaddr == input.hip().wrappers[i].vaddr;
  }
  if (as_planned) return {};
  return Err(after.object().Error(DiagCode::kInternal,
                                  "the wrappers are not the planned ones"));
}

// How much of a file is compared with its input.
enum class Extent : std::uint8_t {
  kAll,
  // The kernel has copied what does not change. What may have gone wrong is
  // the place or the length of what was written over it: looked at are the
  // edits and what stands around them.
  kAroundEdits,
};

// The output, held against the input and what the plan makes of it, in one
// pass in file order. `file` is what `output` is a view of, or null.
class Comparison {
 public:
  Comparison(const Binary& input, const Plan& plan, ByteSpan output,
             const MappedFile* file, const std::string& name, Extent extent)
      : input_(input),
        plan_(plan),
        output_(output),
        file_(file),
        name_(name),
        extent_(extent) {}

  Status Run() {
    if (output_.size() != plan_.output_size()) {
      return Fail(output_.size(),
                  fmt::format("has {} bytes, planned were {}", output_.size(),
                              plan_.output_size()));
    }
    auto edit = plan_.edits.begin();
    for (const Plan::Piece& piece : plan_.pieces()) {
      const std::uint64_t end = piece.offset + piece.size;
      std::uint64_t at = piece.offset;  // compared up to here
      for (; edit != plan_.edits.end() && edit->offset < end; ++edit) {
        if (edit->offset < at || edit->bytes.size() > end - edit->offset) {
          return Fail(edit->offset, "the plan's edits overlap");
        }
        CERB_TRY_VOID(CompareInput(piece, at, edit->offset));
        CERB_TRY_VOID(
            Compare(plan_.OutputOffset(edit->offset), edit->bytes, edit->why));
        at = edit->offset + edit->bytes.size();
      }
      CERB_TRY_VOID(CompareInput(piece, at, end));
    }
    if (edit != plan_.edits.end()) {
      return Fail(edit->offset, "the plan edits what is not there");
    }
    for (std::uint64_t at = plan_.gap_offset(); at < plan_.append_offset;
         ++at) {
      if (output_[at] != 0) return Fail(at, "the padding is not zero");
    }
    return Compare(plan_.append_offset, plan_.appended, "the appended segment");
  }

  tl::unexpected<Diag> Fail(std::uint64_t offset, std::string message) const {
    Where where;
    where.file = name_;
    where.offset = static_cast<std::int64_t>(offset);
    return Err(DiagCode::kInternal, std::move(where), std::move(message));
  }

 private:
  Status Compare(std::uint64_t at, ByteSpan expected,
                 std::string_view what) const {
    const ByteSpan actual = output_.subspan(at, expected.size());
    if (std::equal(actual.begin(), actual.end(), expected.begin())) return {};
    const auto diff =
        std::mismatch(actual.begin(), actual.end(), expected.begin()).first -
        actual.begin();
    return Fail(at + static_cast<std::uint64_t>(diff),
                fmt::format("{} differs: found 0x{:02x}, expected 0x{:02x}",
                            what, actual[static_cast<std::size_t>(diff)],
                            expected[static_cast<std::size_t>(diff)]));
  }
  Status CompareCopied(std::uint64_t at, ByteSpan input) const {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::string_view kWhat = "a byte outside the plan";
    if (extent_ == Extent::kAroundEdits && input.size() > 2 * kPage) {
      CERB_TRY_VOID(Compare(at, input.first(kPage), kWhat));
      at += input.size() - kPage;
      return Compare(at, input.last(kPage), kWhat);
    }
    // In pieces, so that of a large file little is in memory at a time.
    constexpr std::uint64_t kPiece = 4 << 20;
    while (!input.empty()) {
      const ByteSpan piece =
          input.first(std::min<std::uint64_t>(kPiece, input.size()));
      CERB_TRY_VOID(Compare(at, piece, kWhat));
      input_.LetGo();
      if (file_ != nullptr) file_->LetGo(at, piece.size());
      input = input.subspan(piece.size());
      at += piece.size();
    }
    return {};
  }
  // Bytes of the input that are where they were, but for what was cut.
  Status CompareInput(const Plan::Piece& piece, std::uint64_t from,
                      std::uint64_t to) const {
    return CompareCopied(piece.output_offset + (from - piece.offset),
                         input_.bytes().subspan(from, to - from));
  }

  const Binary& input_;
  const Plan& plan_;
  ByteSpan output_;
  const MappedFile* file_;
  const std::string& name_;
  const Extent extent_;
};

// What must stay as it was although it stands in a table that changed. It
// does unless the input's tables overlap each other.
Status VerifySegments(const Binary& input, const Plan& plan,
                      const ElfFile& after) {
  const auto bad = [&](std::string message) {
    return Err(after.Error(DiagCode::kBadFormat, std::move(message)));
  };
  const auto first_load = [](const ElfFile& elf) {
    return elf.FindSegment(PT_LOAD)->p_vaddr;
  };
  if (first_load(after) != first_load(input.elf())) {
    return bad("the lowest address changed");
  }
  // Whether a segment is there, as it was but for its place in the file.
  const auto has = [&](Elf64_Phdr segment) {
    segment.p_offset = plan.OutputOffset(segment.p_offset);
    return std::any_of(after.segments().begin(), after.segments().end(),
                       [&](const Elf64_Phdr& other) {
                         return std::memcmp(&other, &segment, sizeof segment) ==
                                0;
                       });
  };
  for (const Elf64_Phdr& segment : input.elf().segments()) {
    if (segment.p_type != PT_LOAD && segment.p_type != PT_TLS &&
        segment.p_type != PT_GNU_RELRO && segment.p_type != PT_GNU_STACK &&
        segment.p_type != PT_GNU_EH_FRAME) {
      continue;
    }
    const bool kept = segment.p_type == PT_LOAD && !plan.cuts.empty()
                          ? IsLoadedAsBefore(segment, plan, after)
                          : has(segment);
    if (!kept) {
      return bad(fmt::format("the segment at 0x{:x} of type 0x{:x} changed",
                             segment.p_vaddr, segment.p_type));
    }
  }
  return {};
}

// The same of a PE file: sections with their addresses, bytes and rights, and
// all directories but that of certificates.
Status VerifySections(const PeFile& before, const Plan& plan,
                      const PeFile& after) {
  const auto bad = [&](std::string message) {
    return Err(after.Error(DiagCode::kBadFormat, std::move(message)));
  };
  if (after.base() != before.base() ||
      after.sections().size() != before.sections().size() + 1) {
    return bad("its base or the number of its sections is not as planned");
  }
  for (std::size_t i = 0; i < before.sections().size(); ++i) {
    const PeSectionHeader& was = before.sections()[i].header;
    const PeSectionHeader& is = after.sections()[i].header;
    const bool is_there =
        is.raw_size == was.raw_size ||
        std::any_of(
            plan.cuts.begin(), plan.cuts.end(), [&](const Plan::Cut& cut) {
              return cut.offset == std::uint64_t{was.raw_offset} + is.raw_size;
            });
    const bool is_placed =
        is.raw_size == 0 || is.raw_offset == plan.OutputOffset(was.raw_offset);
    if (is.rva != was.rva || is.characteristics != was.characteristics ||
        after.sections()[i].memory_size() !=
            before.sections()[i].memory_size() ||
        !is_there || !is_placed) {
      return bad(fmt::format("section {} changed", before.sections()[i].name));
    }
  }
  for (std::uint32_t i = 0;
       i < before.optional_header().directory_count && i < 16; ++i) {
    const PeDirectory was = before.directory(i), is = after.directory(i);
    if (i != kPeCertificates && (is.rva != was.rva || is.size != was.size)) {
      return bad(fmt::format("directory {} changed", i));
    }
  }
  return {};
}

// `file` is what `output` is a view of, or null.
Status Verify(const Binary& input, const Plan& plan, ByteSpan output,
              const MappedFile* file, const std::string& name, Extent extent) {
  Comparison comparison(input, plan, output, file, name, extent);
  CERB_TRY_VOID(comparison.Run());
  if (input.is_pe()) {
    CERB_TRY(const PeFile after, PeFile::Parse(output, name));
    CERB_TRY_VOID(VerifySections(input.pe(), plan, after));
  } else {
    CERB_TRY(const ElfFile after, ElfFile::Parse(output, name));
    CERB_TRY_VOID(VerifySegments(input, plan, after));
  }
  if (!input.hip().wrappers.empty()) {
    return VerifySplit(input, plan, output, file, name);
  }
  CERB_TRY(const ConvertedInfo info, Read(output, file, name));
  if (info.segment_vaddr != plan.segment_vaddr ||
      info.records.size() != input.wrappers().size()) {
    return comparison.Fail(plan.append_offset,
                           "the segment is not the planned one");
  }
  return {};
}

}  // namespace

Result<SplitInfo> ReadSplit(const Binary& binary) {
  const ObjectFile& object = binary.object();
  SplitInfo info;
  for (const HipWrapper& wrapper : binary.hip().wrappers) {
    const auto fail = [&](std::string message) {
      return Err(object.Error(
          DiagCode::kBadFormat,
          fmt::format("wrapper {} {}", wrapper.index, std::move(message))));
    };
    if (!wrapper.is_split) return fail("is not split");
    const std::uint64_t vaddr = wrapper.data.value;
    if (!info.numbers.empty() && vaddr != info.marker_vaddr) {
      return fail(fmt::format("leads to 0x{:x}, the first one to 0x{:x}", vaddr,
                              info.marker_vaddr));
    }
    info.numbers.push_back(wrapper.number);
    if (info.numbers.size() > 1) continue;
    info.marker_vaddr = vaddr;
    auto marker = kpack::DecodeMarker(object.BytesAt(vaddr));
    if (!marker) {
      return fail(fmt::format("leads to 0x{:x}, where there is no marker: {}",
                              vaddr, marker.error().message));
    }
    info.search_paths = std::move(marker->search_paths);
    info.kernel_name = std::move(marker->kernel_name);
  }
  if (info.numbers.empty()) {
    return Err(object.Error(DiagCode::kUnsupported,
                            "is not a split file: it has no HIP wrapper"));
  }
  return info;
}

Result<ConvertedInfo> ReadConverted(ByteSpan output, const std::string& name) {
  return Read(output, nullptr, name);
}

Result<ConvertedInfo> ReadConvertedFile(const std::string& path) {
  CERB_TRY(const MappedFile file, MappedFile::Open(path));
  return Read(file.bytes(), &file, path);
}

Status VerifyConversion(const Binary& input, const Plan& plan, ByteSpan output,
                        const std::string& name) {
  return Verify(input, plan, output, nullptr, name, Extent::kAll);
}

Status VerifyWritten(const Binary& input, const Plan& plan,
                     const OutputFile& output) {
  CERB_TRY(const MappedFile file, output.Map());
  return Verify(input, plan, file.bytes(), &file, output.path(),
                Extent::kAroundEdits);
}

Status VerifyConversionFile(const Binary& input, const Plan& plan,
                            const std::string& path) {
  CERB_TRY(const MappedFile file, MappedFile::Open(path));
  return Verify(input, plan, file.bytes(), &file, path, Extent::kAll);
}

}  // namespace cerberus::rewriter
