// What a library exports itself, not one that it needs.
#ifndef CERBERUS_TESTS_LIBRARIES_EXPORTED_H_
#define CERBERUS_TESTS_LIBRARIES_EXPORTED_H_

#include <dlfcn.h>

#include <string>

#include "formats/library_version.h"

namespace cerberus::libraries {

// The function of that name in the file; null if it exports none. It is the
// same under the version of NVIDIA's library, which is the file's name, under
// that which converted files ask for, and under none.
inline void* ExportedBy(void* library, const std::string& file,
                        const char* name) {
  void* const found = dlsym(library, name);
  const std::string own(formats::kOwnLibraryVersion);
  for (const std::string& version : {file, own}) {
    if (dlvsym(library, name, version.c_str()) != found) return nullptr;
  }
  return found;
}

}  // namespace cerberus::libraries

#endif  // CERBERUS_TESTS_LIBRARIES_EXPORTED_H_
