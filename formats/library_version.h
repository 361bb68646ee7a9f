// The version that converted files ask of the libraries which answer for
// NVIDIA's, docs/marker-format.md.
#ifndef CERBERUS_FORMATS_LIBRARY_VERSION_H_
#define CERBERUS_FORMATS_LIBRARY_VERSION_H_

#include <string_view>

namespace cerberus::formats {

// libraries/CMakeLists.txt has it, too.
inline constexpr std::string_view kOwnLibraryVersion = "CERBERUS_1";

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_LIBRARY_VERSION_H_
