// PTX modules in a text that holds other things, too.
//
// Programs in languages that count a string's bytes (Rust, Go) have other
// strings right in front of one and behind it, modules among them. So nothing
// is parsed: a module begins with .version, braces are counted, and what
// stands between functions must be a directive.
#ifndef CERBERUS_IMAGES_PTX_TEXT_H_
#define CERBERUS_IMAGES_PTX_TEXT_H_

#include <string_view>
#include <vector>

namespace cerberus::images {

// From .version to the end of the last directive that can belong to it, each
// with a function at least. Comments in front and behind are left out. Takes
// time in proportion to the text, which ends at a NUL, if there is one.
std::vector<std::string_view> ModulesIn(std::string_view text);

// Whether a text begins with a module, behind comments and blanks; a part of it
// is enough.
bool BeginsModule(std::string_view text);

// The one module of a text that holds nothing else but comments and blanks;
// else empty.
std::string_view OnlyModule(std::string_view text);

}  // namespace cerberus::images

#endif  // CERBERUS_IMAGES_PTX_TEXT_H_
