// The checksum in the header of an appended segment.
#ifndef CERBERUS_FORMATS_SEGMENT_CHECKSUM_H_
#define CERBERUS_FORMATS_SEGMENT_CHECKSUM_H_

#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "formats/segment.h"

namespace cerberus::formats {

// XXH3-64 of `covered`, which starts with the header, its checksum field
// taken as 0.
inline std::uint64_t SegmentChecksum(std::span<const std::uint8_t> covered) {
  SegmentHeader header;
  std::memcpy(&header, covered.data(), sizeof header);
  header.checksum = 0;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &header, sizeof header);
  XXH3_64bits_update(&state, covered.data() + sizeof header,
                     covered.size() - sizeof header);
  return XXH3_64bits_digest(&state);
}

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_SEGMENT_CHECKSUM_H_
