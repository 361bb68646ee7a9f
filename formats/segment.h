// The bytes of the appended segment's header and records, as
// docs/marker-format.md lays them out.
#ifndef CERBERUS_FORMATS_SEGMENT_H_
#define CERBERUS_FORMATS_SEGMENT_H_

#include <cstdint>
#include <string_view>

namespace cerberus::formats {

inline constexpr std::string_view kSegmentMagic = "CERBSEG1";
inline constexpr std::string_view kRecordMagic = "CBWR";
inline constexpr std::string_view kMarkerSection = ".rocm_kpack_ref";
inline constexpr std::string_view kPeMarkerSection = ".kpackrf";
inline constexpr std::uint32_t kSegmentVersion = 1;
inline constexpr std::uint32_t kRecordVersion = 1;

struct SegmentHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_size;
  std::uint64_t covered_size;  // bytes under the checksum
  std::uint64_t checksum;      // XXH3-64 of them, this field taken as 0
  std::uint32_t records_offset;
  std::uint32_t record_count;
  std::uint32_t marker_offset;
  std::uint32_t marker_size;
  std::uint32_t link_map_offset;
  std::uint8_t zero[12];
};
static_assert(sizeof(SegmentHeader) == 64);

enum RecordFlag : std::uint32_t {
  kRecordNoKernel = 1,       // an empty device link
  kRecordFatbinRemoved = 2,  // the fatbin's bytes left the file
  kRecordNoPtx = 4,          // … and held no PTX: nothing was converted
};

struct WrapperRecord {
  char magic[4];
  std::uint32_t version;
  std::uint32_t index;
  std::uint32_t flags;
  std::int64_t to_segment;  // all three: target minus this record
  std::int64_t to_wrapper;
  std::int64_t to_fatbin;
  std::uint64_t fatbin_size;
};
static_assert(sizeof(WrapperRecord) == 48);

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_SEGMENT_H_
