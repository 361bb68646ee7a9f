// What a conversion changes in a CUDA binary (docs/marker-format.md).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "formats/segment.h"
#include "formats/segment_checksum.h"
#include "kpack/marker.h"
#include "rewriter/elf/patch_elf.h"
#include "rewriter/extract.h"
#include "rewriter/payload.h"
#include "rewriter/pe/patch_pe.h"
#include "rewriter/plan.h"
#include "rewriter/removable.h"

namespace cerberus::rewriter {
namespace {

// The libraries that the loader is to load at start. Of the driver, cudart's
// dlopen("libcuda.so.1") then finds it by its SONAME. Named by its full path,
// it is found also by a libcudart.so, which the loader does not search our
// path for, and after the search path was replaced (patchelf --set-rpath). A
// file that has to run on NVIDIA GPUs as well must start without the stub:
// there the plain name is added, and only where cudart could not find it
// otherwise.
void NameLibraries(const Binary& binary, const PlanOptions& options,
                   ElfChange& change) {
  constexpr std::string_view kDriver = "libcuda.so.1";
  if (options.keep_fatbin || options.runpath.empty()) {
    if (binary.links_shared_cudart() && !binary.links_cuda_driver()) {
      change.needed = {{std::string(kDriver), ""}};
    }
    return;
  }
  const std::string& folder = options.runpath.front();
  change.needed = {{fmt::format("{}/{}", folder, kDriver), kDriver}};
  // One that the file names already stays named, too: glibc's dl-version.c
  // looks for a library of the name in DT_VERNEED. But the loader may know
  // NVIDIA's by that name before, or find it in LD_LIBRARY_PATH.
  const auto named = binary.elf().NeededLibraries();
  for (const std::string& name : options.beside_stub) {
    std::string path = fmt::format("{}/{}", folder, name);
    if (std::find(named.begin(), named.end(), name) == named.end()) {
      change.needed.push_back({std::move(path), ""});
    } else {
      change.needed_first.push_back(std::move(path));
      change.ours_alone.push_back(name);
    }
  }
}

Result<Bytes> MarkerOf(const PlanOptions& options) {
  kpack::Marker marker;
  marker.search_paths = options.search_paths;
  marker.kernel_name = options.kernel_name;
  marker.version = options.converter_version;
  marker.abi = options.launch_abi;
  return kpack::EncodeMarker(marker);
}

std::uint64_t RecordOffset(const Wrapper& wrapper) {
  return sizeof(formats::SegmentHeader) +
         wrapper.index * sizeof(formats::WrapperRecord);
}

bool IsIn(const LocatedFatbin& fatbin, const std::vector<Removed>& gone) {
  return std::any_of(gone.begin(), gone.end(), [&](const Removed& piece) {
    return fatbin.offset >= piece.offset &&
           fatbin.offset - piece.offset < piece.size;
  });
}

// What the records say of modules, by wrapper.
using RecordFlags = std::vector<std::uint32_t>;

Result<RecordFlags> FlagsOf(const Binary& binary) {
  RecordFlags flags(binary.wrappers().size());
  CERB_TRY(const std::vector<Module> modules, ExtractModules(binary));
  for (const Module& module : modules) {
    if (!module.index) continue;
    std::uint32_t& of = flags[*module.index];
    if (module.is_empty_device_link) of |= formats::kRecordNoKernel;
    if (!module.has_ptx() && !module.is_device_link()) {
      of |= formats::kRecordNoPtx;
    }
  }
  return flags;
}

Result<RemovableCode> RemovableFatbins(const Binary& binary) {
  std::set<std::uint64_t> own_slots;
  for (const Wrapper& wrapper : binary.wrappers()) {
    own_slots.insert(wrapper.data.vaddr);
  }
  std::vector<DeviceCode> codes;
  codes.reserve(binary.fatbins().size());
  for (const LocatedFatbin& located : binary.fatbins()) {
    codes.push_back({located.vaddr, located.offset, located.fatbin.bytes.size(),
                     !located.wrappers.empty()});
  }
  return FindRemovable(binary.object(), codes, own_slots, "", "fatbin");
}

// Header, records and marker.
Bytes Head(const Binary& binary, const RecordFlags& flags, const Bytes& marker,
           std::uint64_t segment_vaddr, const std::vector<Removed>& gone) {
  const std::size_t count = binary.wrappers().size();
  formats::SegmentHeader header{};
  std::memcpy(header.magic, formats::kSegmentMagic.data(),
              formats::kSegmentMagic.size());
  header.version = formats::kSegmentVersion;
  header.header_size = sizeof(formats::SegmentHeader);
  header.records_offset = sizeof(formats::SegmentHeader);
  header.record_count = static_cast<std::uint32_t>(count);
  header.marker_offset = static_cast<std::uint32_t>(
      header.records_offset + count * sizeof(formats::WrapperRecord));
  header.marker_size = static_cast<std::uint32_t>(marker.size());
  header.covered_size = header.marker_offset + marker.size();
  Bytes head(header.covered_size);
  StoreLe(head.data(), header);
  std::copy(marker.begin(), marker.end(), head.begin() + header.marker_offset);
  for (const Wrapper& wrapper : binary.wrappers()) {
    const std::uint64_t at = RecordOffset(wrapper);
    const std::uint64_t vaddr = segment_vaddr + at;
    const LocatedFatbin& fatbin = binary.fatbins()[*wrapper.fatbin];
    formats::WrapperRecord record{};
    std::memcpy(record.magic, formats::kRecordMagic.data(),
                formats::kRecordMagic.size());
    record.version = formats::kRecordVersion;
    record.index = wrapper.index;
    record.flags = flags[wrapper.index];
    if (!IsIn(fatbin, gone)) {
      // Whoever asks finds out from the fatbin.
      record.flags &= ~std::uint32_t{formats::kRecordNoPtx};
    } else {
      record.flags |= formats::kRecordFatbinRemoved;
    }
    record.to_segment = -static_cast<std::int64_t>(at);
    record.to_wrapper = static_cast<std::int64_t>(wrapper.vaddr - vaddr);
    record.to_fatbin = static_cast<std::int64_t>(fatbin.vaddr - vaddr);
    record.fatbin_size = fatbin.fatbin.bytes.size();
    StoreLe(head.data() + at, record);
  }
  header.checksum = formats::SegmentChecksum(head);
  StoreLe(head.data(), header);
  return head;
}

}  // namespace

Result<Plan> PlanConversion(const Binary& binary, const PlanOptions& options) {
  const ObjectFile& object = binary.object();
  if (binary.is_converted()) {
    return Err(object.Error(DiagCode::kUnsupported,
                            "is already converted; convert the original"));
  }
  if (!binary.is_pe() && binary.elf().FindSegment(PT_DYNAMIC) == nullptr) {
    return Err(object.Error(DiagCode::kUnsupported,
                            "is statically linked, so it cannot load a CUDA "
                            "driver"));
  }
  if (options.search_paths.empty() || options.kernel_name.empty()) {
    return Err(DiagCode::kUsage,
               "a conversion needs a search path and a kernel name");
  }
  CERB_TRY(const RecordFlags flags, FlagsOf(binary));
  CERB_TRY(const Bytes marker, MarkerOf(options));

  ElfChange change;
  change.runpath = options.runpath;
  NameLibraries(binary, options, change);
  const std::size_t count = binary.wrappers().size();
  change.head_why = fmt::format("header, {} record{} and marker", count,
                                count == 1 ? "" : "s");
  change.head_size = sizeof(formats::SegmentHeader) +
                     count * sizeof(formats::WrapperRecord) + marker.size();
  change.head = [&](std::uint64_t vaddr, const std::vector<Removed>& gone) {
    return Head(binary, flags, marker, vaddr, gone);
  };
  if (!options.keep_fatbin) {
    for (const Wrapper& wrapper : binary.wrappers()) {
      change.pointers.push_back(
          {wrapper.data, RecordOffset(wrapper),
           fmt::format("wrapper {} leads to its record", wrapper.index)});
    }
  }
  RemovableCode removable;
  if (options.cut && !options.keep_fatbin) {
    CERB_TRY(removable, RemovableFatbins(binary));
  }
  change.removed = std::move(removable.removed);
  CERB_TRY(Plan plan, binary.is_pe() ? PlanPe(binary.pe(), change)
                                     : PlanElf(binary.elf(), change));
  std::move(removable.kept.begin(), removable.kept.end(),
            std::back_inserter(plan.notes));
  if (auto warning =
          PayloadWarning(binary.path(), binary.bytes(), binary.elf());
      warning && !binary.is_pe()) {
    plan.notes.push_back(*std::move(warning));
  }
  return plan;
}

}  // namespace cerberus::rewriter
