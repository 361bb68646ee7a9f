// The archives that a converted file names.
#ifndef CERBERUS_CLI_ARCHIVES_H_
#define CERBERUS_CLI_ARCHIVES_H_

#include <string>
#include <vector>

namespace cerberus::cli {

// The files that a marker's search paths lead to, for any target, sorted.
// `binary` is the file that holds the marker.
std::vector<std::string> FindArchives(
    const std::vector<std::string>& search_paths, const std::string& binary);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_ARCHIVES_H_
