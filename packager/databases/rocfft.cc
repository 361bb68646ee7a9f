// rocFFT: lib/rocfft/rocfft_kernel_cache_gfx942.db, SQLite. Before rocFFT wrote
// one for each GPU there was rocfft_kernel_cache.db for all, which
// packager/tree/rocfft_cache.h takes rows from.
#include "packager/databases/databases.h"

namespace cerberus::packager {

std::string RocfftTarget(std::string_view path) {
  constexpr std::string_view kStart = "rocfft_kernel_cache_", kEnd = ".db";
  std::string_view name = FileName(path);
  if (name.substr(0, kStart.size()) != kStart || !EndsWith(name, kEnd)) {
    return "";
  }
  name.remove_prefix(kStart.size());
  name.remove_suffix(kEnd.size());
  const std::string target = TargetAt(name);
  return target.size() == name.size() ? target : "";
}

}  // namespace cerberus::packager
