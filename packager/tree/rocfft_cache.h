// rocFFT's database of compiled kernels, SQLite, as rocFFT wrote it before
// there was one for each GPU: a table cache_v1 with a row for each kernel and
// target.
#ifndef CERBERUS_PACKAGER_TREE_ROCFFT_CACHE_H_
#define CERBERUS_PACKAGER_TREE_ROCFFT_CACHE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace cerberus::packager {

// "lib/rocfft/rocfft_kernel_cache.db".
bool IsRocfftCache(std::string_view path);

struct RocfftPruning {
  std::size_t kept = 0;     // rows
  std::size_t dropped = 0;  // for other targets
};

// Writes a new database, `to`, with the rows of `from` for targets that are of
// use to those asked for. The same rows give the same bytes. Errors: kBadFormat
// or kUnsupported if `from` is no such database, which then stays as it is; kIo
// if `to` cannot be written. Nothing is written beside `from`.
Result<RocfftPruning> PruneRocfftCache(
    const std::string& from, const std::string& to,
    const std::vector<std::string>& asked,
    const std::function<bool()>& cancelled = {});

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_TREE_ROCFFT_CACHE_H_
