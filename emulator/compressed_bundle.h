// Compressed offload bundles, as clang writes them with --offload-compress.
#ifndef CERBERUS_EMULATOR_COMPRESSED_BUNDLE_H_
#define CERBERUS_EMULATOR_COMPRESSED_BUNDLE_H_

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::emulator::hip {

bool IsCompressedBundle(ByteSpan image);
// The bundle within. `image` may be longer than the compressed one.
Result<Bytes> DecompressBundle(ByteSpan image);

}  // namespace cerberus::emulator::hip

#endif  // CERBERUS_EMULATOR_COMPRESSED_BUNDLE_H_
