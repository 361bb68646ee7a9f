// What a library exports itself, not one that it needs.
#ifndef CERBERUS_TESTS_LIBRARIES_EXPORTED_H_
#define CERBERUS_TESTS_LIBRARIES_EXPORTED_H_

#include <dlfcn.h>

#include <string>

namespace cerberus::libraries {

// The function of that name in the file; null if it exports none. It has the
// file's base version, which fits all that a program's link may ask for, and
// which dlvsym does not look for.
inline void* ExportedBy(void* library, const std::string& file,
                        const char* name) {
  void* const found = dlsym(library, name);
  Dl_info info = {};
  if (found == nullptr || dladdr(found, &info) == 0) return nullptr;
  return std::string(info.dli_fname).ends_with(file) ? found : nullptr;
}

}  // namespace cerberus::libraries

#endif  // CERBERUS_TESTS_LIBRARIES_EXPORTED_H_
