// Text as JSON has it.
#ifndef CERBERUS_SUPPORT_JSON_TEXT_H_
#define CERBERUS_SUPPORT_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace cerberus {

// Between quotation marks. Bytes that are not UTF-8 become U+FFFD.
std::string JsonQuoted(std::string_view text);

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_JSON_TEXT_H_
