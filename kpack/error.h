// A diagnostic that also knows its code of the C API. It becomes a plain
// Diag wherever a Result<T> is returned.
#ifndef CERBERUS_KPACK_ERROR_H_
#define CERBERUS_KPACK_ERROR_H_

#include <string>
#include <utility>

#include "support/result.h"

namespace cerberus::kpack {

// The numbers of kpack_error_t (include/rocm_kpack/kpack.h), which is C and
// would bring its names into every user of the C++ side.
enum class KpackCode : int {
  kInvalidArgument = 1,
  kFileNotFound = 2,
  kInvalidFormat = 3,
  kUnsupportedVersion = 4,
  kKernelNotFound = 5,
  kDecompressionFailed = 6,
  kOutOfMemory = 7,
  kNotImplemented = 8,
  kIoError = 9,
  kMsgpackParseFailed = 10,
  kPathDiscoveryFailed = 11,
  kInvalidMetadata = 12,
  kArchiveNotFound = 13,
  kArchNotFound = 14,
};

struct KpackDiag : Diag {
  KpackDiag(KpackCode code, Diag diag)
      : Diag(std::move(diag)), kpack_code(code) {}
  KpackCode kpack_code;
};

template <typename T>
using KpackResult = tl::expected<T, KpackDiag>;
using KpackStatus = tl::expected<void, KpackDiag>;

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_ERROR_H_
