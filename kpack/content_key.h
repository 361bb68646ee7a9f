// Names made from content: the archives' content keys, and cache keys.
#ifndef CERBERUS_KPACK_CONTENT_KEY_H_
#define CERBERUS_KPACK_CONTENT_KEY_H_

#include <string>
#include <string_view>

#include "support/bytes.h"

namespace cerberus::kpack {

// XXH3-128 of the bytes as 32 lower-case hex digits, high half first (xxHash's
// canonical form). Not a cryptographic hash.
std::string Hash128Hex(ByteSpan bytes);

// "ptx:<32 hex digits>" for PTX text as it stands in a fatbin, unpacked. Some
// containers pad the text with NULs and some count its terminator, so trailing
// NULs are not part of the name (docs/kpack-format.md).
std::string ContentKey(std::string_view ptx);

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_CONTENT_KEY_H_
