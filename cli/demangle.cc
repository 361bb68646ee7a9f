#include "cli/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace cerberus::cli {

std::string Demangle(const std::string& name) {
  // "f" alone would be the type float.
  if (!name.starts_with("_Z")) return name;
  struct Free {
    void operator()(char* text) const { std::free(text); }
  };
  int status = 0;
  const std::unique_ptr<char, Free> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status));
  return status == 0 && text != nullptr ? text.get() : name;
}

}  // namespace cerberus::cli
