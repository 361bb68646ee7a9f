#include "runtime-stub/module/segment.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "formats/segment_checksum.h"

namespace cerberus::stub {
namespace {

// The file whose bytes are mapped at an address, or "" (proc_pid_maps(5)).
std::string FileMappedAt(const void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  std::string file;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return file;
  char* line = nullptr;
  std::size_t capacity = 0;
  for (ssize_t size = 0; (size = getline(&line, &capacity, maps)) > 0;) {
    std::uintptr_t begin = 0, end = 0;
    int path = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n",
                    &begin, &end, &path) != 2 ||
        address < begin || address >= end) {
      continue;
    }
    file = std::string(line + path, static_cast<std::size_t>(size - path));
    while (file.ends_with('\n')) file.pop_back();
    break;
  }
  std::free(line);
  std::fclose(maps);
  return file;
}

std::string FileOf(const dl_phdr_info& object) {
  if (object.dlpi_name != nullptr && object.dlpi_name[0] != '\0') {
    // The file itself, also where it was loaded by a link in another folder:
    // its archives are beside the file.
    char* const real = realpath(object.dlpi_name, nullptr);
    std::string file = real != nullptr ? real : object.dlpi_name;
    std::free(real);
    return file;
  }
  // A program whose interpreter was started with it as argument, as by `ld.so
  // ./app`: the kernel gives that no base (getauxval(3)), and /proc/self/exe is
  // the interpreter.
  if (getauxval(AT_BASE) == 0) return FileMappedAt(object.dlpi_phdr);
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

// The PT_LOAD of an object that holds `address`, else an empty span.
ByteSpan LoadedPart(const dl_phdr_info& object, std::uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = object.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t start = object.dlpi_addr + part.p_vaddr;
    if (address >= start && address - start < part.p_memsz) {
      return {reinterpret_cast<const std::uint8_t*>(start), part.p_memsz};
    }
  }
  return {};
}

// The rest of `part` from `address` on, which lies in it.
ByteSpan From(ByteSpan part, std::uintptr_t address) {
  return part.subspan(address - reinterpret_cast<std::uintptr_t>(part.data()));
}

// Takes the bytes for a segment if magic, size and checksum say so.
std::optional<Segment> ReadSegment(const dl_phdr_info& object, ByteSpan part) {
  if (part.size() < sizeof(formats::SegmentHeader)) return std::nullopt;
  formats::SegmentHeader header;
  std::memcpy(&header, part.data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) !=
          formats::kSegmentMagic ||
      header.version != formats::kSegmentVersion ||
      header.header_size < sizeof(formats::SegmentHeader) ||
      header.covered_size < header.header_size ||
      header.covered_size > part.size()) {
    return std::nullopt;
  }
  const std::uint64_t records_end =
      std::uint64_t{header.records_offset} +
      std::uint64_t{header.record_count} * sizeof(formats::WrapperRecord);
  const std::uint64_t marker_end =
      std::uint64_t{header.marker_offset} + header.marker_size;
  if (records_end > header.covered_size || marker_end > header.covered_size) {
    return std::nullopt;
  }
  const ByteSpan covered = part.first(header.covered_size);
  if (formats::SegmentChecksum(covered) != header.checksum) {
    return std::nullopt;
  }
  return Segment{covered, FileOf(object),
                 covered.subspan(header.marker_offset, header.marker_size)};
}

// Calls `visit(segment, object)` for each segment of the object until it
// says true.
template <typename Visit>
bool VisitSegments(const dl_phdr_info& object, Visit visit) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = object.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    const ByteSpan bytes = {
        reinterpret_cast<const std::uint8_t*>(object.dlpi_addr + part.p_vaddr),
        part.p_filesz};
    if (std::optional<Segment> segment = ReadSegment(object, bytes)) {
      if (visit(*segment)) return true;
    }
  }
  return false;
}

std::size_t RecordCount(const Segment& segment) {
  return LoadLe<formats::SegmentHeader>(segment.bytes.data()).record_count;
}
const std::uint8_t* RecordAt(const Segment& segment, std::size_t i) {
  const auto header = LoadLe<formats::SegmentHeader>(segment.bytes.data());
  return segment.bytes.data() + header.records_offset +
         i * sizeof(formats::WrapperRecord);
}

std::optional<WrapperRecord> ReadRecord(const dl_phdr_info& object,
                                        const Segment& segment,
                                        const std::uint8_t* at) {
  const auto record = LoadLe<formats::WrapperRecord>(at);
  if (std::string_view(record.magic, sizeof record.magic) !=
          formats::kRecordMagic ||
      record.version != formats::kRecordVersion) {
    return std::nullopt;
  }
  WrapperRecord out;
  out.segment = segment;
  out.index = record.index;
  out.no_kernel = (record.flags & formats::kRecordNoKernel) != 0;
  out.fatbin_removed = (record.flags & formats::kRecordFatbinRemoved) != 0;
  out.no_ptx = (record.flags & formats::kRecordNoPtx) != 0;
  const std::uintptr_t fatbin =
      reinterpret_cast<std::uintptr_t>(at) + record.to_fatbin;
  const ByteSpan part = LoadedPart(object, fatbin);
  if (!out.fatbin_removed && !part.empty()) {
    const ByteSpan rest = From(part, fatbin);
    if (record.fatbin_size <= rest.size()) {
      out.fatbin = rest.first(record.fatbin_size);
    }
  }
  return out;
}

// Runs `visit(object)` over the loaded objects until it says true. Nothing is
// thrown through the C library: the stub brings an unwinder of its own.
template <typename Visit>
void ForEachObject(Visit visit) {
  struct State {
    Visit& visit;
    std::exception_ptr thrown;
  } state = {visit, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        State& state = *static_cast<State*>(data);
        try {
          return state.visit(*object) ? 1 : 0;
        } catch (const std::exception&) {
          state.thrown = std::current_exception();
          return 1;
        }
      },
      &state);
  if (state.thrown) std::rethrow_exception(state.thrown);
}

}  // namespace

std::optional<WrapperRecord> FindRecord(const formats::FatbinWrapper* wrapper) {
  std::optional<WrapperRecord> found;
  const auto data = reinterpret_cast<std::uintptr_t>(wrapper->data);
  const auto self = reinterpret_cast<std::uintptr_t>(wrapper);
  ForEachObject([&](const dl_phdr_info& object) {
    const bool points_here = !LoadedPart(object, data).empty();
    const bool lies_here = !LoadedPart(object, self).empty();
    if (!points_here && !lies_here) return false;
    VisitSegments(object, [&](const Segment& segment) {
      for (std::size_t i = 0; i < RecordCount(segment); ++i) {
        const std::uint8_t* at = RecordAt(segment, i);
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        if (address == data ||
            address + LoadLe<formats::WrapperRecord>(at).to_wrapper == self) {
          found = ReadRecord(object, segment, at);
          return found.has_value();
        }
      }
      return false;
    });
    return found.has_value();
  });
  return found;
}

std::vector<Segment> AllSegments() {
  std::vector<Segment> out;
  ForEachObject([&](const dl_phdr_info& object) {
    VisitSegments(object, [&](const Segment& segment) {
      out.push_back(segment);
      return false;
    });
    return false;
  });
  return out;
}

bool ProcessHasConvertedWrapper() {
  bool found = false;
  ForEachObject([&](const dl_phdr_info& object) {
    VisitSegments(object, [&](const Segment& segment) {
      for (std::size_t i = 0; i < RecordCount(segment); ++i) {
        const std::uint8_t* at = RecordAt(segment, i);
        const std::uintptr_t wrapper =
            reinterpret_cast<std::uintptr_t>(at) +
            LoadLe<formats::WrapperRecord>(at).to_wrapper;
        if (LoadedPart(object, wrapper).size() <
            sizeof(formats::FatbinWrapper)) {
          continue;
        }
        formats::FatbinWrapper value;
        std::memcpy(&value, reinterpret_cast<const void*>(wrapper),
                    sizeof value);
        found = found || value.data == at;
      }
      return found;
    });
    return found;
  });
  return found;
}

}  // namespace cerberus::stub
