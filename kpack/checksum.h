// Checksums of an archive, version 1 (docs/kpack-format.md, "Checksums"): one
// over header and table of contents, in the header, and one over each blob as
// it is stored, in its entries' metadata. They find damage, not malice.
#ifndef CERBERUS_KPACK_CHECKSUM_H_
#define CERBERUS_KPACK_CHECKSUM_H_

#include <cstdint>

#include "support/bytes.h"

namespace cerberus::kpack {

// XXH3, 64 bits, seed 0.
std::uint64_t Checksum(ByteSpan bytes);

// What the header says of the table's checksum.
enum class TableChecksum : std::uint8_t { kNone, kThere, kDamaged };

// `header` may be shorter than a whole one: then there is none.
TableChecksum FindTableChecksum(ByteSpan header);
// Puts the mark and the checksum into a whole header, whose other fields are
// final.
void StoreTableChecksum(std::uint8_t* header, ByteSpan table);
// Whether header and table are as they were written.
bool TableIsWhole(ByteSpan header, ByteSpan table);

namespace v2 {
// Of the header's bytes before the checksum, and of the index.
std::uint64_t IndexChecksum(ByteSpan header, ByteSpan index);
}  // namespace v2

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_CHECKSUM_H_
