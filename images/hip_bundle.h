// Compressed offload bundles, as clang writes them with --offload-compress.
#ifndef CERBERUS_IMAGES_HIP_BUNDLE_H_
#define CERBERUS_IMAGES_HIP_BUNDLE_H_

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::rewriter {

bool IsCompressedBundle(ByteSpan image);
// The bundle within. `image` may be longer than the compressed one.
Result<Bytes> DecompressBundle(ByteSpan image);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_IMAGES_HIP_BUNDLE_H_
