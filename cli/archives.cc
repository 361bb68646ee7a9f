#include "cli/archives.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cli/paths.h"
#include "kpack/resolve.h"

namespace cerberus::cli {

std::vector<std::string> FindArchives(
    const std::vector<std::string>& search_paths, const std::string& binary) {
  constexpr std::string_view kArchPlaceholder = "@GFXARCH@";
  namespace fs = std::filesystem;
  std::vector<std::string> archives;
  for (const std::string& search_path : search_paths) {
    const std::string pattern =
        kpack::ExpandSearchPath(search_path, binary, kArchPlaceholder);
    const std::string name = BaseName(pattern);
    const std::size_t at = name.find(kArchPlaceholder);
    const std::string prefix = name.substr(0, at);
    const std::string suffix =
        at == std::string::npos ? ""
                                : name.substr(at + kArchPlaceholder.size());
    std::error_code error;
    for (const auto& file : fs::directory_iterator(FolderOf(pattern), error)) {
      const std::string found = file.path().filename().string();
      if (found.size() >= prefix.size() + suffix.size() &&
          found.rfind(prefix, 0) == 0 &&
          found.compare(found.size() - suffix.size(), std::string::npos,
                        suffix) == 0) {
        archives.push_back(FolderOf(pattern) + "/" + found);
      }
    }
  }
  std::sort(archives.begin(), archives.end());
  return archives;
}

}  // namespace cerberus::cli
