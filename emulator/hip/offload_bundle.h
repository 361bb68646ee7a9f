// What a HIP program hands to hipModuleLoadData or registers at its start: a
// code object, or a bundle of them for several targets.
#ifndef CERBERUS_EMULATOR_HIP_OFFLOAD_BUNDLE_H_
#define CERBERUS_EMULATOR_HIP_OFFLOAD_BUNDLE_H_

#include <string_view>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::emulator::hip {

// The code object for `target` that is `image` or lies within it; if the
// image is a compressed bundle, within `*unpacked`.
// Errors: kUnsupported if no object is for this target (the message lists
// what is there); kBadFormat for anything else.
Result<ByteSpan> SelectCodeObject(ByteSpan image, std::string_view target,
                                  Bytes* unpacked);

// The same where HIP passes an address and no size: the image's own headers
// say how far it reaches, and are believed.
Result<ByteSpan> SelectCodeObject(const void* image, std::string_view target,
                                  Bytes* unpacked);

}  // namespace cerberus::emulator::hip

#endif  // CERBERUS_EMULATOR_HIP_OFFLOAD_BUNDLE_H_
