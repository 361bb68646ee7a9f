// Decodes the input as a marker; one that decodes survives a round trip.
#include <cstdint>

#include "kpack/marker.h"

using cerberus::ByteSpan;
using cerberus::kpack::DecodeMarker;
using cerberus::kpack::EncodeMarker;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto marker = DecodeMarker(ByteSpan(data, size));
  if (!marker) return 0;
  const auto bytes = EncodeMarker(*marker);
  if (!bytes) return 0;  // no kernel name, or too large once re-encoded
  const auto again = DecodeMarker(*bytes);
  if (!again || again->search_paths != marker->search_paths ||
      again->kernel_name != marker->kernel_name) {
    __builtin_trap();
  }
  return 0;
}
