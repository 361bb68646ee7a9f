#include "support/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace cerberus {

std::string Demangle(std::string_view name) {
  std::string mangled(name);
  // "f" alone would be the type float.
  if (!name.starts_with("_Z")) return mangled;
  struct Free {
    void operator()(char* text) const { std::free(text); }
  };
  int status = 0;
  const std::unique_ptr<char, Free> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status));
  return status == 0 && text != nullptr ? text.get() : mangled;
}

}  // namespace cerberus
