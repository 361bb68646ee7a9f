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

Result<ConvertedInfo> Read(ByteSpan output, const MappedFile* file,
                           const std::string& name) {
  CERB_TRY(const Binary binary, Binary::FromBytes(output, name, file));
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

  std::map<std::uint64_t, const Wrapper*> wrapper_at;
  for (const Wrapper& wrapper : binary.wrappers()) {
    wrapper_at[wrapper.vaddr] = &wrapper;
  }
  for (std::uint32_t i = 0; i < header.record_count; ++i) {
    const std::uint64_t at = header.records_offset +
                             std::uint64_t{i} * sizeof(formats::WrapperRecord);
    const auto fail = [&](std::string message) {
      return Err(elf.Error(
          DiagCode::kBadFormat, fmt::format("record {}: {}", i, message),
          std::string(formats::kMarkerSection), static_cast<std::int64_t>(at)));
    };
    const formats::WrapperRecord raw =
        LoadLe<formats::WrapperRecord>(found.bytes.data() + at);
    const std::uint64_t vaddr = info.segment_vaddr + at;
    if (AsText({reinterpret_cast<const std::uint8_t*>(raw.magic), 4}) !=
            formats::kRecordMagic ||
        raw.version != formats::kRecordVersion) {
      return fail("bad magic or version");
    }
    if (vaddr + static_cast<std::uint64_t>(raw.to_segment) !=
        info.segment_vaddr) {
      return fail("does not lead back to the segment");
    }
    ConvertedInfo::Record record;
    record.index = raw.index;
    record.flags = raw.flags;
    record.wrapper_vaddr = vaddr + static_cast<std::uint64_t>(raw.to_wrapper);
    record.fatbin_vaddr = vaddr + static_cast<std::uint64_t>(raw.to_fatbin);
    record.fatbin_size = raw.fatbin_size;
    const auto wrapper = wrapper_at.find(record.wrapper_vaddr);
    if (wrapper == wrapper_at.end()) {
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
    wrapper_at.erase(wrapper);
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
  CERB_TRY(const Binary after, Binary::FromBytes(output, name, file));
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

// `file` is what `output` is a view of, or null.
Status Verify(const Binary& input, const Plan& plan, ByteSpan output,
              const MappedFile* file, const std::string& name) {
  const auto fail = [&](std::uint64_t offset, std::string message) {
    Where where;
    where.file = name;
    where.offset = static_cast<std::int64_t>(offset);
    return Err(DiagCode::kInternal, std::move(where), std::move(message));
  };
  if (output.size() != plan.output_size()) {
    return fail(output.size(), fmt::format("has {} bytes, planned were {}",
                                           output.size(), plan.output_size()));
  }
  // One pass in file order: input up to the next edit or cut, then the edit.
  const ByteSpan old = input.bytes();
  const auto compare_all = [&](std::uint64_t at, ByteSpan expected,
                               std::string_view what) -> Status {
    const ByteSpan actual = output.subspan(at, expected.size());
    if (std::equal(actual.begin(), actual.end(), expected.begin())) return {};
    const auto diff =
        std::mismatch(actual.begin(), actual.end(), expected.begin()).first -
        actual.begin();
    return fail(at + static_cast<std::uint64_t>(diff),
                fmt::format("{} differs: found 0x{:02x}, expected 0x{:02x}",
                            what, actual[static_cast<std::size_t>(diff)],
                            expected[static_cast<std::size_t>(diff)]));
  };
  // In pieces, so that of a large file little is in memory at a time.
  const auto compare = [&](std::uint64_t at, ByteSpan expected,
                           std::string_view what) -> Status {
    constexpr std::uint64_t kPiece = 8 << 20;
    while (expected.size() > kPiece) {
      for (const MappedFile* f : {file, input.file()}) {
        if (f != nullptr) f->Expect(at, kPiece);
      }
      CERB_TRY_VOID(compare_all(at, expected.first(kPiece), what));
      for (const MappedFile* f : {file, input.file()}) {
        if (f != nullptr) f->LetGo(at, kPiece);
      }
      expected = expected.subspan(kPiece);
      at += kPiece;
    }
    return compare_all(at, expected, what);
  };
  std::uint64_t at = 0;
  auto cut = plan.cuts.begin();
  // All of the input up to an offset, but for what is cut.
  const auto compare_input = [&](std::uint64_t to) -> Status {
    for (;;) {
      const bool is_cut = cut != plan.cuts.end() && cut->offset <= to;
      const std::uint64_t end = is_cut ? cut->offset : to;
      if (end < at) return fail(end, "the plan's edits overlap");
      CERB_TRY_VOID(compare(plan.OutputOffset(at), old.subspan(at, end - at),
                            "a byte outside the plan"));
      at = end;
      if (!is_cut) return {};
      at += cut++->size;
      if (at > to) return fail(to, "the plan edits what it cuts");
    }
  };
  for (const Plan::Edit& edit : plan.edits) {
    if (edit.offset < at || edit.offset > old.size() ||
        edit.bytes.size() > old.size() - edit.offset) {
      return fail(edit.offset, "the plan's edits overlap");
    }
    CERB_TRY_VOID(compare_input(edit.offset));
    CERB_TRY_VOID(
        compare(plan.OutputOffset(edit.offset), edit.bytes, edit.why));
    at = edit.offset + edit.bytes.size();
  }
  CERB_TRY_VOID(compare_input(old.size()));
  for (at = plan.kept_size(); at < plan.append_offset; ++at) {
    if (output[at] != 0) return fail(at, "the padding is not zero");
  }
  CERB_TRY_VOID(
      compare(plan.append_offset, plan.appended, "the appended segment"));

  // What must stay as it was although it stands in a table that changed. It
  // does unless the input's tables overlap each other.
  CERB_TRY(const ElfFile after, ElfFile::Parse(output, name));
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
  if (!input.hip().wrappers.empty()) {
    return VerifySplit(input, plan, output, file, name);
  }
  CERB_TRY(const ConvertedInfo info, Read(output, file, name));
  if (info.segment_vaddr != plan.segment_vaddr ||
      info.records.size() != input.wrappers().size()) {
    return fail(plan.append_offset, "the segment is not the planned one");
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
  return Verify(input, plan, output, nullptr, name);
}

Status VerifyConversion(const Binary& input, const Plan& plan,
                        const OutputFile& output) {
  CERB_TRY(const MappedFile file, output.Map());
  return Verify(input, plan, file.bytes(), &file, output.path());
}

Status VerifyConversionFile(const Binary& input, const Plan& plan,
                            const std::string& path) {
  CERB_TRY(const MappedFile file, MappedFile::Open(path));
  return Verify(input, plan, file.bytes(), &file, path);
}

}  // namespace cerberus::rewriter
