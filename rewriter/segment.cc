#include "formats/segment.h"

#include <xxhash.h>

namespace cerberus::rewriter {

std::uint64_t SegmentChecksum(ByteSpan covered) {
  SegmentHeader header = LoadLe<SegmentHeader>(covered.data());
  header.checksum = 0;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &header, sizeof header);
  XXH3_64bits_update(&state, covered.data() + sizeof header,
                     covered.size() - sizeof header);
  return XXH3_64bits_digest(&state);
}

}  // namespace cerberus::rewriter
