// A MessagePack value as JSON text, for metadata that is shown to others.
#ifndef CERBERUS_KPACK_JSON_TEXT_H_
#define CERBERUS_KPACK_JSON_TEXT_H_

#include <string>

#include "kpack/msgpack_value.h"

namespace cerberus::kpack {

// On one line, without spaces. What JSON cannot say: binaries and extensions
// become strings of hex digits, numbers that are not finite null, a key that
// is no string the text of its JSON; bytes that are not UTF-8 become U+FFFD.
std::string JsonText(Value value);

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_JSON_TEXT_H_
