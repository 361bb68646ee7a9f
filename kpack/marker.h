// The MessagePack map that tells a binary where its archives are
// (docs/marker-format.md). Upstream's reader ignores the key `cerberus`.
#ifndef CERBERUS_KPACK_MARKER_H_
#define CERBERUS_KPACK_MARKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::kpack {

// Upstream reads a marker in place with this bound.
inline constexpr std::size_t kMaxMarkerBytes = 64 * 1024;

struct Marker {
  // Relative to the folder of the file that holds the marker, or absolute;
  // "@GFXARCH@" stands for the target id. Never empty.
  std::vector<std::string> search_paths;
  // First half of the keys "<kernel_name>#<index>".
  std::string kernel_name;
  // From the map `cerberus`; empty and -1 in markers of other writers.
  std::string version;
  std::int64_t abi = -1;
};

// Errors: what upstream would refuse (no path, no name, too large).
Result<Bytes> EncodeMarker(const Marker& marker);

// `bytes` may run on behind the map. Error offsets count from its start.
Result<Marker> DecodeMarker(ByteSpan bytes);

// "<kernel_name>#<index>".
std::string ModuleKey(const std::string& kernel_name, std::uint32_t index);

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_MARKER_H_
