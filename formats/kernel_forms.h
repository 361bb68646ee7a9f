// docs/launch-abi.md, "Forms of a kernel", in C++: a kernel may be in a code
// object several times, each form a symbol with the kernel's name in front.
#ifndef CERBERUS_FORMATS_KERNEL_FORMS_H_
#define CERBERUS_FORMATS_KERNEL_FORMS_H_

#include <string_view>

namespace cerberus::formats {

// Its shared memory in a window of device memory.
inline constexpr char kWindowSuffix[] = ".window";
// Two warps in each wave.
inline constexpr char kPackedSuffix[] = ".packed";
// A number instead: for blocks of at most so many threads.

// The name of the kernel that a symbol is a further form of; "" if it is none.
// No name of PTX has a dot (PTX ISA 9.0, 4.4, "Identifiers").
inline std::string_view KernelOfForm(std::string_view symbol) {
  const std::string_view name = symbol.substr(0, symbol.find('.'));
  std::string_view rest = symbol.substr(name.size());
  while (!rest.empty()) {
    const std::string_view suffix = rest.substr(0, rest.find('.', 1));
    if (suffix != kWindowSuffix && suffix != kPackedSuffix &&
        (suffix.size() == 1 ||
         suffix.find_first_not_of("0123456789", 1) != suffix.npos)) {
      return {};
    }
    rest.remove_prefix(suffix.size());
  }
  return name.size() == symbol.size() ? std::string_view() : name;
}

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_KERNEL_FORMS_H_
