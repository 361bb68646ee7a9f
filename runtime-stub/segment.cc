#include "runtime-stub/segment.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstring>
#include <exception>
#include <utility>

namespace cerberus::stub {
namespace {

// The layouts of docs/marker-format.md.
struct SegmentHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_size;
  std::uint64_t covered_size;
  std::uint64_t checksum;
  std::uint32_t records_offset;
  std::uint32_t record_count;
  std::uint32_t marker_offset;
  std::uint32_t marker_size;
  std::uint32_t link_map_offset;
  std::uint8_t zero[12];
};
static_assert(sizeof(SegmentHeader) == 64);
constexpr char kSegmentMagic[] = "CERBSEG1";
constexpr std::uint32_t kSegmentVersion = 1;

struct Record {
  char magic[4];
  std::uint32_t version;
  std::uint32_t index;
  std::uint32_t flags;
  std::int64_t to_segment;
  std::int64_t to_wrapper;
  std::int64_t to_fatbin;
  std::uint64_t fatbin_size;
};
static_assert(sizeof(Record) == 48);
constexpr char kRecordMagic[] = "CBWR";
constexpr std::uint32_t kRecordVersion = 1;
constexpr std::uint32_t kFlagNoKernel = 1;
constexpr std::uint32_t kFlagFatbinRemoved = 2;

std::string FileOf(const dl_phdr_info& object) {
  if (object.dlpi_name != nullptr && object.dlpi_name[0] != '\0') {
    return object.dlpi_name;
  }
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
  if (part.size() < sizeof(SegmentHeader)) return std::nullopt;
  SegmentHeader header;
  std::memcpy(&header, part.data(), sizeof header);
  if (std::memcmp(header.magic, kSegmentMagic, sizeof header.magic) != 0 ||
      header.version != kSegmentVersion ||
      header.header_size < sizeof(SegmentHeader) ||
      header.covered_size < header.header_size ||
      header.covered_size > part.size()) {
    return std::nullopt;
  }
  const std::uint64_t records_end =
      std::uint64_t{header.records_offset} +
      std::uint64_t{header.record_count} * sizeof(Record);
  const std::uint64_t marker_end =
      std::uint64_t{header.marker_offset} + header.marker_size;
  if (records_end > header.covered_size || marker_end > header.covered_size) {
    return std::nullopt;
  }
  const ByteSpan covered = part.first(header.covered_size);
  const std::uint64_t stored = std::exchange(header.checksum, 0);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &header, sizeof header);
  XXH3_64bits_update(&state, covered.data() + sizeof header,
                     covered.size() - sizeof header);
  if (XXH3_64bits_digest(&state) != stored) return std::nullopt;
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
  return LoadLe<SegmentHeader>(segment.bytes.data()).record_count;
}
const std::uint8_t* RecordAt(const Segment& segment, std::size_t i) {
  const auto header = LoadLe<SegmentHeader>(segment.bytes.data());
  return segment.bytes.data() + header.records_offset + i * sizeof(Record);
}

std::optional<WrapperRecord> ReadRecord(const dl_phdr_info& object,
                                        const Segment& segment,
                                        const std::uint8_t* at) {
  const Record record = LoadLe<Record>(at);
  if (std::memcmp(record.magic, kRecordMagic, sizeof record.magic) != 0 ||
      record.version != kRecordVersion) {
    return std::nullopt;
  }
  WrapperRecord out;
  out.segment = segment;
  out.index = record.index;
  out.no_kernel = (record.flags & kFlagNoKernel) != 0;
  out.fatbin_removed = (record.flags & kFlagFatbinRemoved) != 0;
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

std::optional<WrapperRecord> FindRecord(const FatbinWrapper* wrapper) {
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
            address + LoadLe<Record>(at).to_wrapper == self) {
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
        const std::uintptr_t wrapper = reinterpret_cast<std::uintptr_t>(at) +
                                       LoadLe<Record>(at).to_wrapper;
        if (LoadedPart(object, wrapper).size() < sizeof(FatbinWrapper)) {
          continue;
        }
        FatbinWrapper value;
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
