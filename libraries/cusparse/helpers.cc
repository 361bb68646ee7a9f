// Handles, what they are set to, names of errors, and what else computes
// nothing. CERBERUS_CUSPARSE_MAJOR comes from the build, one library for each.
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "libraries/cusparse/handle.h"
#include "libraries/cusparse/rocsparse.h"

namespace cerberus::libraries::cusparse {
namespace {

// The newest of each that NVIDIA's documentation is followed to.
constexpr int kVersion[] = {CERBERUS_CUSPARSE_MAJOR,
                            CERBERUS_CUSPARSE_MAJOR == 11 ? 7 : 9,
                            CERBERUS_CUSPARSE_MAJOR == 11 ? 5 : 4};

struct Handles {
  std::mutex mutex;
  std::set<Handle> alive;
};
// Never destroyed: programs make calls in their own destructors.
Handles& All() {
  static auto& handles = *new Handles;
  return handles;
}

template <typename T>
Status Get(Handle handle, T Context::* member, T* value) {
  if (!IsAlive(handle)) return kNotInitialized;
  if (value == nullptr) return kInvalidValue;
  *value = handle->*member;
  return kSuccess;
}
template <typename T>
Status Set(Handle handle, T Context::* member, T value) {
  if (!IsAlive(handle)) return kNotInitialized;
  handle->*member = value;
  return kSuccess;
}
template <typename T>
Status Set(MatDescr* descriptor, T MatDescr::* member, T value, int largest) {
  if (descriptor == nullptr || value < 0 || value > largest) {
    return kInvalidValue;
  }
  descriptor->*member = value;
  return kSuccess;
}

}  // namespace

bool IsAlive(Handle handle) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  return handle != nullptr && All().alive.count(handle) != 0;
}

// For `cerberus doctor`.
CUSPARSE_API const char* cusparseCerberusProvider() {
  static const std::string text = Rocsparse::Describe();
  return text.c_str();
}

CUSPARSE_API Status cusparseCreate(Handle* handle) {
  if (handle == nullptr) return kInvalidValue;
  const Driver* driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kNotInitialized;
  std::shared_ptr<Rocsparse> rocsparse;
  if (!Rocsparse::Make(*driver, &rocsparse)) return kNotInitialized;
  auto* made = new (std::nothrow) Context;
  if (made == nullptr) return kAllocFailed;
  made->driver = driver;
  made->rocsparse = std::move(rocsparse);
  const std::lock_guard<std::mutex> lock(All().mutex);
  All().alive.insert(made);
  *handle = made;
  return kSuccess;
}
CUSPARSE_API Status cusparseDestroy(Handle handle) {
  {
    const std::lock_guard<std::mutex> lock(All().mutex);
    if (All().alive.erase(handle) == 0) return kNotInitialized;
  }
  delete handle;
  return kSuccess;
}
CUSPARSE_API Status cusparseGetVersion(Handle handle, int* version) {
  if (!IsAlive(handle)) return kNotInitialized;
  if (version == nullptr) return kInvalidValue;
  *version = kVersion[0] * 1000 + kVersion[1] * 100 + kVersion[2];
  return kSuccess;
}
CUSPARSE_API Status cusparseGetProperty(int property, int* value) {
  if (value == nullptr || property < 0 || property > 2) return kInvalidValue;
  *value = kVersion[property];
  return kSuccess;
}
CUSPARSE_API Status cusparseSetStream(Handle handle, Stream stream) {
  return Set(handle, &Context::stream, stream);
}
CUSPARSE_API Status cusparseGetStream(Handle handle, Stream* stream) {
  return Get(handle, &Context::stream, stream);
}
CUSPARSE_API Status cusparseSetPointerMode(Handle handle, PointerMode mode) {
  if (mode != cublas::kHostPointers && mode != cublas::kDevicePointers) {
    return kInvalidValue;
  }
  return Set(handle, &Context::pointer_mode, mode);
}
CUSPARSE_API Status cusparseGetPointerMode(Handle handle, PointerMode* mode) {
  return Get(handle, &Context::pointer_mode, mode);
}

CUSPARSE_API const char* cusparseGetErrorName(Status status) {
  switch (status) {
    case kSuccess: return "CUSPARSE_STATUS_SUCCESS";
    case kNotInitialized: return "CUSPARSE_STATUS_NOT_INITIALIZED";
    case kAllocFailed: return "CUSPARSE_STATUS_ALLOC_FAILED";
    case kInvalidValue: return "CUSPARSE_STATUS_INVALID_VALUE";
    case kArchMismatch: return "CUSPARSE_STATUS_ARCH_MISMATCH";
    case kMappingError: return "CUSPARSE_STATUS_MAPPING_ERROR";
    case kExecutionFailed: return "CUSPARSE_STATUS_EXECUTION_FAILED";
    case kInternalError: return "CUSPARSE_STATUS_INTERNAL_ERROR";
    case kMatrixTypeNotSupported:
      return "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED";
    case kZeroPivot: return "CUSPARSE_STATUS_ZERO_PIVOT";
    case kNotSupported: return "CUSPARSE_STATUS_NOT_SUPPORTED";
    case kInsufficientResources:
      return "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES";
  }
  return "unrecognized error code";
}
CUSPARSE_API const char* cusparseGetErrorString(Status status) {
  switch (status) {
    case kSuccess: return "success";
    case kNotInitialized: return "initialization error";
    case kAllocFailed: return "out of memory";
    case kInvalidValue: return "invalid value";
    case kArchMismatch: return "architecture mismatch";
    case kMappingError: return "texture memory mapping error";
    case kExecutionFailed: return "kernel launch failure";
    case kInternalError: return "internal error";
    case kMatrixTypeNotSupported: return "matrix type not supported";
    case kZeroPivot: return "zero pivot";
    case kNotSupported: return "operation not supported";
    case kInsufficientResources: return "insufficient resources";
  }
  return "unrecognized error code";
}

// Nothing is logged.
CUSPARSE_API Status cusparseLoggerSetCallback(void (*)(int, const char*,
                                                       const char*)) {
  return kSuccess;
}
CUSPARSE_API Status cusparseLoggerSetFile(std::FILE*) { return kSuccess; }
CUSPARSE_API Status cusparseLoggerOpenFile(const char*) { return kSuccess; }
CUSPARSE_API Status cusparseLoggerSetLevel(int) { return kSuccess; }
CUSPARSE_API Status cusparseLoggerSetMask(int) { return kSuccess; }
CUSPARSE_API Status cusparseLoggerForceDisable() { return kSuccess; }

CUSPARSE_API Status cusparseCreateMatDescr(MatDescr** descriptor) {
  return Create(descriptor);
}
CUSPARSE_API Status cusparseDestroyMatDescr(MatDescr* descriptor) {
  return Destroy(descriptor);
}
CUSPARSE_API Status cusparseSetMatType(MatDescr* descriptor, MatrixType type) {
  return Set(descriptor, &MatDescr::type, type, kTriangular);
}
CUSPARSE_API MatrixType cusparseGetMatType(const MatDescr* descriptor) {
  return descriptor->type;
}
CUSPARSE_API Status cusparseSetMatFillMode(MatDescr* descriptor, Fill fill) {
  return Set(descriptor, &MatDescr::fill, fill, cublas::kUpper);
}
CUSPARSE_API Fill cusparseGetMatFillMode(const MatDescr* descriptor) {
  return descriptor->fill;
}
CUSPARSE_API Status cusparseSetMatDiagType(MatDescr* descriptor, Diag diag) {
  return Set(descriptor, &MatDescr::diag, diag, cublas::kUnit);
}
CUSPARSE_API Diag cusparseGetMatDiagType(const MatDescr* descriptor) {
  return descriptor->diag;
}
CUSPARSE_API Status cusparseSetMatIndexBase(MatDescr* descriptor,
                                            IndexBase base) {
  return Set(descriptor, &MatDescr::base, base, kOneBased);
}
CUSPARSE_API IndexBase cusparseGetMatIndexBase(const MatDescr* descriptor) {
  return descriptor->base;
}

// What is not answered says so.
#define CUSPARSE_ANSWERED(name)
#define CUSPARSE_SDCZ(name)
#define CUSPARSE_SD(name)
#define CUSPARSE_HSD(name)
#define CUSPARSE_REFUSED(name) \
  CUSPARSE_API Status name() { return kNotSupported; }
#include "libraries/cusparse/cusparse.def"

}  // namespace cerberus::libraries::cusparse
