// AOTriton: lib/aotriton.images/amd-gfx942/flash/attn_fwd/….aks2. Folders are
// named for a processor or for a family, "amd-gfx11xx".
#include "packager/databases/databases.h"

namespace cerberus::packager {

std::string AotritonTarget(std::string_view path) {
  constexpr std::string_view kPrefix = "amd-";
  const std::string_view below = Below(path, "aotriton.images");
  const std::string_view folder = below.substr(0, below.find('/'));
  if (folder.size() == below.size() ||
      folder.substr(0, kPrefix.size()) != kPrefix) {
    return "";
  }
  const std::string_view name = folder.substr(kPrefix.size());
  const std::size_t digits = name.find_last_not_of('x') + 1;
  if (digits < name.size() && digits >= 4 && name.substr(0, 3) == "gfx" &&
      name.find_first_not_of("0123456789", 3) >= digits) {
    return std::string(name);
  }
  const std::string target = TargetAt(name);
  return target.size() == name.size() ? target : "";
}

}  // namespace cerberus::packager
