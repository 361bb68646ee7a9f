#include "kpack/checksum.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "kpack/format.h"
#include "kpack/format_v2.h"

namespace cerberus::kpack {
namespace {

std::uint64_t Of(ByteSpan header, ByteSpan table) {
  std::array<std::uint8_t, kHeaderBytes> bytes;
  std::copy_n(header.begin(), bytes.size(), bytes.begin());
  StoreLe(bytes.data() + kTableChecksumOffset, std::uint64_t{0});
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, bytes.data(), bytes.size());
  XXH3_64bits_update(&state, table.data(), table.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace

std::uint64_t Checksum(ByteSpan bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

// In archives of some other writers a blob stands where ours have the mark, so
// that anything may be there. Only a mark with one wrong byte is ours, damaged.
TableChecksum FindTableChecksum(ByteSpan header) {
  if (header.size() < kHeaderBytes) return TableChecksum::kNone;
  const int different = std::inner_product(
      kChecksumMark, kChecksumMark + sizeof kChecksumMark,
      header.begin() + kChecksumMarkOffset, 0, std::plus<>(),
      [](char mark, std::uint8_t found) {
        return static_cast<std::uint8_t>(mark) == found ? 0 : 1;
      });
  if (different == 0) return TableChecksum::kThere;
  return different == 1 ? TableChecksum::kDamaged : TableChecksum::kNone;
}

void StoreTableChecksum(std::uint8_t* header, ByteSpan table) {
  std::memcpy(header + kChecksumMarkOffset, kChecksumMark,
              sizeof kChecksumMark);
  StoreLe(header + kTableChecksumOffset,
          Of(ByteSpan(header, kHeaderBytes), table));
}

bool TableIsWhole(ByteSpan header, ByteSpan table) {
  return LoadLe<std::uint64_t>(header.data() + kTableChecksumOffset) ==
         Of(header, table);
}

namespace v2 {

std::uint64_t IndexChecksum(ByteSpan header, ByteSpan index) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, header.data(), kChecksumOffset);
  XXH3_64bits_update(&state, index.data(), index.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace v2
}  // namespace cerberus::kpack
