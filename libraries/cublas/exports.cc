// The functions of cublas.def.
#include "libraries/cublas/api.h"
#include "libraries/cublas/batched.h"
#include "libraries/cublas/ex.h"
#include "libraries/cublas/level1.h"
#include "libraries/cublas/level2.h"
#include "libraries/cublas/level3.h"
#include "libraries/cublas/qr.h"
#include "libraries/cublas/rocblas.h"
#include "libraries/cublas/rows.h"

// cublas.h returns complex numbers by value, in C as here.
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"

namespace cerberus::libraries::cublas {

#include "libraries/cublas/row_types.h"

#define CUBLAS_PROVIDED(name, function, arguments)                             \
  Provide<RocblasRowOf(#name)>([&]() -> Status { return function arguments; }) \
      arguments
#define CUBLAS_EXPORT(types, name, function, parameters, arguments) \
  namespace types {                                                 \
  CUBLAS_API Status name parameters {                               \
    return Guarded(h, [&]() -> Status {                             \
      return CUBLAS_PROVIDED(name, function, arguments);            \
    });                                                             \
  }                                                                 \
  }
#define CUBLAS_EXPORT_OLD(types, name, function, parameters, arguments) \
  namespace types {                                                     \
  CUBLAS_API void name parameters {                                     \
    Old([&](Handle h) -> Status {                                       \
      return CUBLAS_PROVIDED(name, function, arguments);                \
    });                                                                 \
  }                                                                     \
  }
#define CUBLAS_EXPORT_OLD_RESULT(types, type, name, function, parameters, \
                                 arguments)                               \
  namespace types {                                                       \
  CUBLAS_API type name parameters {                                       \
    type result{};                                                        \
    Old([&](Handle h) -> Status {                                         \
      return CUBLAS_PROVIDED(name, function, arguments);                  \
    });                                                                   \
    return result;                                                        \
  }                                                                       \
  }
// Done when the call returns.
#define CUBLAS_EXPORT_XT(types, name, function, parameters, arguments)  \
  namespace types {                                                     \
  CUBLAS_API Status name parameters {                                   \
    return Guarded(h, [&]() -> Status {                                 \
      if (const Status bad = function arguments) return bad;            \
      return h->driver->synchronize(h->stream) == 0 ? kSuccess          \
                                                    : kExecutionFailed; \
    });                                                                 \
  }                                                                     \
  }
#define CUBLAS_HELPER(name)
#define CUBLAS_REFUSED(name) \
  CUBLAS_API Status name() { return kNotSupported; }
#include "libraries/cublas/cublas.def"

}  // namespace cerberus::libraries::cublas
