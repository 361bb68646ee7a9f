// Names and messages of strangers' files, on a terminal and in lines that
// scripts read.
#ifndef CERBERUS_CLI_PRINTABLE_H_
#define CERBERUS_CLI_PRINTABLE_H_

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace cerberus::cli {

// A file name may hold anything; what is printed stays one line and sends no
// escape codes to the terminal: control characters, those of eight bits too
// (U+0080 to U+009F), read "\x1b".
std::string Printable(std::string_view text);

// A line on stdout.
template <typename... Args>
void PrintLine(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("{}\n",
             Printable(fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_PRINTABLE_H_
