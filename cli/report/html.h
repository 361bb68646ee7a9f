// Text of strangers in HTML.
#ifndef CERBERUS_CLI_REPORT_HTML_H_
#define CERBERUS_CLI_REPORT_HTML_H_

#include <string>
#include <string_view>

namespace cerberus::cli {

// As text of an element or a quoted attribute. What is not UTF-8 becomes
// "\x{ff}" as people read it, and so do, by their numbers ("\u{202e}"),
// characters that nobody sees: controls, and those that turn the direction of
// what stands around them.
std::string HtmlText(std::string_view text);

// How many bytes from the beginning are whole characters, at most `most`.
std::size_t WholeCharacters(std::string_view text, std::size_t most);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_REPORT_HTML_H_
