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
  const Elf64_Phdr* load = nullptr;
  formats::SegmentHeader header{};
  ByteSpan bytes;  // of the whole segment
};

Result<Found> FindAppendedSegment(const ElfFile& elf) {
  const auto fail = [&](std::string message, std::int64_t offset = -1) {
    return Err(elf.Error(DiagCode::kBadFormat, std::move(message),
                         std::string(formats::kMarkerSection), offset));
  };
  Found found;
  // strip may put the program header table in front of it, so the section
  // is asked first, where there is one.
  if (const ElfFile::Section* section =
          elf.FindSection(formats::kMarkerSection)) {
    found.bytes = elf.BytesAt(section->header.sh_addr);
    for (const Elf64_Phdr& segment : elf.segments()) {
      if (segment.p_type == PT_LOAD &&
          section->header.sh_addr >= segment.p_vaddr &&
          section->header.sh_addr - segment.p_vaddr < segment.p_filesz) {
        found.load = &segment;
      }
    }
  } else {
    for (const Elf64_Phdr& segment : elf.segments()) {
      if (segment.p_type != PT_LOAD) continue;
      const ByteSpan bytes =
          elf.bytes().subspan(segment.p_offset, segment.p_filesz);
      if (AsText(bytes).substr(0, formats::kSegmentMagic.size()) ==
          formats::kSegmentMagic) {
        found.load = &segment;
        found.bytes = bytes;
      }
    }
  }
  if (found.load == nullptr ||
      AsText(found.bytes).substr(0, formats::kSegmentMagic.size()) !=
          formats::kSegmentMagic) {
    return Err(elf.Error(DiagCode::kUnsupported,
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
    return Err(binary.elf().Error(
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
  if ((record.flags & formats::kRecordFatbinRemoved) == 0) {
    const LocatedFatbin& fatbin = binary.fatbins()[wrapper->second->fatbin];
    if (fatbin.vaddr != record.fatbin_vaddr ||
        fatbin.fatbin.bytes.size() != record.fatbin_size) {
      return fail("does not lead to its wrapper's fatbin");
    }
  }
  wrapper_at->erase(wrapper);
  return record;
}

Result<ConvertedInfo> Read(ByteSpan output, const MappedFile* file,
                           const std::string& name) {
  CERB_TRY(const Binary binary, Binary::WithWrappers(output, name, file));
  const ElfFile& elf = binary.elf();
  CERB_TRY(const Found found, FindAppendedSegment(elf));
  CERB_TRY_VOID(elf.CheckLayout());
  const formats::SegmentHeader& header = found.header;

  ConvertedInfo info;
  info.segment_vaddr = found.load->p_vaddr +
                       static_cast<std::uint64_t>(
                           found.bytes.data() - elf.bytes().data() -
                           static_cast<std::ptrdiff_t>(found.load->p_offset));
  info.segment_size =
      found.load->p_vaddr + found.load->p_memsz - info.segment_vaddr;
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
    return Err(
        elf.Error(DiagCode::kBadFormat,
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
  CERB_TRY_VOID(after.elf().CheckLayout());
  CERB_TRY(const SplitInfo info, ReadSplit(after));
  bool as_planned = info.marker_vaddr == plan.segment_vaddr &&
                    info.numbers.size() == input.hip().wrappers.size();
  for (std::size_t i = 0; as_planned && i < info.numbers.size(); ++i) {
    as_planned = info.numbers[i] == i &&
                 after.hip().wrappers[i].vaddr == input.hip().wrappers[i].vaddr;
  }
  if (as_planned) return {};
  return Err(after.elf().Error(DiagCode::kInternal,
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
    const std::uint64_t size = input_.bytes().size();
    for (const Plan::Edit& edit : plan_.edits) {
      if (edit.offset < at_ || edit.offset > size ||
          edit.bytes.size() > size - edit.offset) {
        return Fail(edit.offset, "the plan's edits overlap");
      }
      CERB_TRY_VOID(CompareInput(edit.offset));
      CERB_TRY_VOID(
          Compare(plan_.OutputOffset(edit.offset), edit.bytes, edit.why));
      at_ = edit.offset + edit.bytes.size();
    }
    CERB_TRY_VOID(CompareInput(size));
    for (std::uint64_t at = plan_.kept_size(); at < plan_.append_offset; ++at) {
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
  // All of the input up to an offset, but for what is cut.
  Status CompareInput(std::uint64_t to) {
    for (;;) {
      const bool is_cut = cut_ != plan_.cuts.end() && cut_->offset <= to;
      const std::uint64_t end = is_cut ? cut_->offset : to;
      if (end < at_) return Fail(end, "the plan's edits overlap");
      CERB_TRY_VOID(CompareCopied(plan_.OutputOffset(at_),
                                  input_.bytes().subspan(at_, end - at_)));
      at_ = end;
      if (!is_cut) return {};
      at_ += cut_++->size;
      if (at_ > to) return Fail(to, "the plan edits what it cuts");
    }
  }

  const Binary& input_;
  const Plan& plan_;
  ByteSpan output_;
  const MappedFile* file_;
  const std::string& name_;
  const Extent extent_;
  std::uint64_t at_ = 0;  // of the input, compared up to here
  decltype(plan_.cuts.begin()) cut_ = plan_.cuts.begin();
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

// `file` is what `output` is a view of, or null.
Status Verify(const Binary& input, const Plan& plan, ByteSpan output,
              const MappedFile* file, const std::string& name, Extent extent) {
  Comparison comparison(input, plan, output, file, name, extent);
  CERB_TRY_VOID(comparison.Run());
  CERB_TRY(const ElfFile after, ElfFile::Parse(output, name));
  CERB_TRY_VOID(VerifySegments(input, plan, after));
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
  const ElfFile& elf = binary.elf();
  SplitInfo info;
  for (const HipWrapper& wrapper : binary.hip().wrappers) {
    const auto fail = [&](std::string message) {
      return Err(elf.Error(
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
    auto marker = kpack::DecodeMarker(elf.BytesAt(vaddr));
    if (!marker) {
      return fail(fmt::format("leads to 0x{:x}, where there is no marker: {}",
                              vaddr, marker.error().message));
    }
    info.search_paths = std::move(marker->search_paths);
    info.kernel_name = std::move(marker->kernel_name);
  }
  if (info.numbers.empty()) {
    return Err(elf.Error(DiagCode::kUnsupported,
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
