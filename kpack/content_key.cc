#include "kpack/content_key.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace cerberus::kpack {

std::string Hash128Hex(ByteSpan bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string ContentKey(std::string_view ptx) {
  while (!ptx.empty() && ptx.back() == '\0') ptx.remove_suffix(1);
  return "ptx:" + Hash128Hex(AsBytes(ptx));
}

}  // namespace cerberus::kpack
