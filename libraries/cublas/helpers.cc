// Handles and what they are set to; copies of vectors and matrices; the state
// behind cublas.h.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "libraries/cublas/api.h"
#include "libraries/cublas/math.h"
#include "libraries/cublas/rocblas.h"
#include "libraries/cublas/status.h"

namespace cerberus::libraries::cublas {
namespace {

struct Handles {
  std::mutex mutex;
  std::set<Handle> alive;
};
// Never destroyed: programs make calls in their own destructors.
Handles& All() {
  static auto& handles = *new Handles;
  return handles;
}

const RocmKind& Kind() {
  static const RocmKind kind = Rocblas::Kind("cuBLAS");
  return kind;
}

Status Make(Handle* handle) {
  if (handle == nullptr) return kInvalidValue;
  const Driver* driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kNotInitialized;
  auto* made = new (std::nothrow) Context;
  if (made == nullptr) return kAllocFailed;
  made->driver = driver;
  if (!Rocblas::Make(*driver, Kind(), &made->rocblas)) {
    delete made;
    return kNotInitialized;
  }
  const std::lock_guard<std::mutex> lock(All().mutex);
  All().alive.insert(made);
  *handle = made;
  return kSuccess;
}
Status Destroy(Handle handle) {
  {
    const std::lock_guard<std::mutex> lock(All().mutex);
    if (All().alive.erase(handle) == 0) return kNotInitialized;
  }
  delete handle;
  return kSuccess;
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

struct Old {
  std::mutex mutex;
  Handle handle = nullptr;
  Status status = kSuccess;
};
Old& OldState() {
  static auto& state = *new Old;
  return state;
}

// Elements `step` apart on both sides. Waits unless there is a stream for it.
Status CopyVector(Index n, Index size, const void* x, Index incx, void* y,
                  Index incy, const Stream* stream) {
  if (n < 0 || size <= 0 || incx <= 0 || incy <= 0) return kInvalidValue;
  if (n == 0) return kSuccess;
  const Driver* driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kNotInitialized;
  Copy2d copy = {};
  copy.source_kind = copy.target_kind = kUnified;
  copy.source_device = reinterpret_cast<std::uint64_t>(x);
  copy.target_device = reinterpret_cast<std::uint64_t>(y);
  copy.source_pitch = static_cast<std::size_t>(incx * size);
  copy.target_pitch = static_cast<std::size_t>(incy * size);
  copy.width = static_cast<std::size_t>(size);
  copy.height = static_cast<std::size_t>(n);
  const Stream in = stream != nullptr ? *stream : nullptr;
  const bool done = incx == 1 && incy == 1
                        ? driver->copy(copy.target_device, copy.source_device,
                                       copy.width * copy.height, in) == 0
                        : driver->copy_2d(&copy, in) == 0;
  if (!done) return kMappingError;
  if (stream == nullptr && driver->synchronize(in) != 0) {
    return kExecutionFailed;
  }
  return kSuccess;
}
Status CopyMatrix(Index rows, Index columns, Index size, const void* a,
                  Index lda, void* b, Index ldb, const Stream* stream) {
  if (rows < 0 || columns < 0 || size <= 0 || lda <= 0 || ldb <= 0 ||
      lda < rows || ldb < rows) {
    return kInvalidValue;
  }
  if (rows == 0 || columns == 0) return kSuccess;
  const Driver* driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kNotInitialized;
  Copy2d copy = {};
  copy.source_kind = copy.target_kind = kUnified;
  copy.source_device = reinterpret_cast<std::uint64_t>(a);
  copy.target_device = reinterpret_cast<std::uint64_t>(b);
  copy.source_pitch = static_cast<std::size_t>(lda * size);
  copy.target_pitch = static_cast<std::size_t>(ldb * size);
  copy.width = static_cast<std::size_t>(rows * size);
  copy.height = static_cast<std::size_t>(columns);
  const Stream in = stream != nullptr ? *stream : nullptr;
  if (driver->copy_2d(&copy, in) != 0) return kMappingError;
  if (stream == nullptr && driver->synchronize(in) != 0) {
    return kExecutionFailed;
  }
  return kSuccess;
}

}  // namespace

bool IsAlive(Handle handle) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  return handle != nullptr && All().alive.count(handle) != 0;
}

Handle OldHandle() {
  const std::lock_guard<std::mutex> lock(OldState().mutex);
  return OldState().handle;
}
void KeepOldStatus(Status status) {
  const std::lock_guard<std::mutex> lock(OldState().mutex);
  if (status != kSuccess) OldState().status = status;
}

Operation OperationOf(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'N': return kN;
    case 'T': return kT;
    case 'C': return kC;
    default: return static_cast<Operation>(-1);
  }
}
Fill FillOf(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'L': return kLower;
    case 'U': return kUpper;
    default: return static_cast<Fill>(-1);
  }
}
Side SideOf(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'L': return kLeft;
    case 'R': return kRight;
    default: return static_cast<Side>(-1);
  }
}
Diag DiagOf(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'N': return kNonUnit;
    case 'U': return kUnit;
    default: return static_cast<Diag>(-1);
  }
}

// CERBERUS_CUBLAS_MAJOR comes from the build, one library for each.
// For `cerberus doctor`.
CUBLAS_API const char* cublasCerberusProvider() {
  static const std::string text = DescribeProvider(Kind());
  return text.c_str();
}
CUBLAS_API Status cublasCreate_v2(Handle* handle) { return Make(handle); }
CUBLAS_API Status cublasDestroy_v2(Handle handle) { return Destroy(handle); }
CUBLAS_API Status cublasGetVersion_v2(Handle, int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = CERBERUS_CUBLAS_MAJOR * 10000;
  return kSuccess;
}
CUBLAS_API Status cublasGetProperty(int property, int* value) {
  if (value == nullptr || property < 0 || property > 2) return kInvalidValue;
  *value = property == 0 ? CERBERUS_CUBLAS_MAJOR : 0;
  return kSuccess;
}
CUBLAS_API std::size_t cublasGetCudartVersion() {
  return CERBERUS_CUBLAS_MAJOR * 1000;
}
CUBLAS_API Status cublasSetStream_v2(Handle h, Stream stream) {
  return Set(h, &Context::stream, stream);
}
CUBLAS_API Status cublasGetStream_v2(Handle h, Stream* stream) {
  return Get(h, &Context::stream, stream);
}
// Memory of the program's for what calls keep; nothing is kept here.
CUBLAS_API Status cublasSetWorkspace_v2(Handle h, void* memory, std::size_t) {
  if (!IsAlive(h)) return kNotInitialized;
  // NVIDIA's wants it aligned so.
  return reinterpret_cast<std::uintptr_t>(memory) % 256 == 0 ? kSuccess
                                                             : kInvalidValue;
}
CUBLAS_API Status cublasGetPointerMode_v2(Handle h, PointerMode* mode) {
  return Get(h, &Context::pointer_mode, mode);
}
CUBLAS_API Status cublasSetPointerMode_v2(Handle h, PointerMode mode) {
  if (mode != kHostPointers && mode != kDevicePointers) return kInvalidValue;
  return Set(h, &Context::pointer_mode, mode);
}

// What is kept and told again; it changes no result here, since sums are of
// full precision and their order is always the same.
#define CUBLAS_SETTING(Name, member)                        \
  CUBLAS_API Status cublasGet##Name(Handle h, int* value) { \
    return Get(h, &Context::member, value);                 \
  }                                                         \
  CUBLAS_API Status cublasSet##Name(Handle h, int value) {  \
    return Set(h, &Context::member, value);                 \
  }
CUBLAS_SETTING(AtomicsMode, atomics)
CUBLAS_SETTING(MathMode, math_mode)
// Not documented: cuSOLVER of CUDA 13 sets 1, and does nothing if that fails.
CUBLAS_SETTING(EnvironmentMode, environment_mode)
CUBLAS_SETTING(EmulationStrategy, emulation_strategy)
CUBLAS_SETTING(EmulationSpecialValuesSupport, special_values)
CUBLAS_SETTING(FixedPointEmulationMantissaControl, mantissa_control)
CUBLAS_SETTING(FixedPointEmulationMaxMantissaBitCount, max_mantissa_bits)
CUBLAS_SETTING(FixedPointEmulationMantissaBitOffset, mantissa_offset)
#undef CUBLAS_SETTING
CUBLAS_API Status cublasGetSmCountTarget(Handle h, int* count) {
  return Get(h, &Context::sm_count_target, count);
}
CUBLAS_API Status cublasSetSmCountTarget(Handle h, int count) {
  return count < 0 ? kInvalidValue : Set(h, &Context::sm_count_target, count);
}
CUBLAS_API Status
cublasGetFixedPointEmulationMantissaBitCountPointer(Handle h, int** pointer) {
  return Get(h, &Context::mantissa_pointer, pointer);
}
CUBLAS_API Status
cublasSetFixedPointEmulationMantissaBitCountPointer(Handle h, int* pointer) {
  return Set(h, &Context::mantissa_pointer, pointer);
}

namespace {
using LogCallback = void (*)(const char*);
LogCallback log_callback = nullptr;
}  // namespace
CUBLAS_API Status cublasLoggerConfigure(int, int, int, const char*) {
  return kSuccess;
}
CUBLAS_API Status cublasSetLoggerCallback(LogCallback callback) {
  log_callback = callback;
  return kSuccess;
}
CUBLAS_API Status cublasGetLoggerCallback(LogCallback* callback) {
  if (callback == nullptr) return kInvalidValue;
  *callback = log_callback;
  return kSuccess;
}

CUBLAS_API const char* cublasGetStatusName(Status status) {
  return StatusName(status);
}
CUBLAS_API const char* cublasGetStatusString(Status status) {
  return StatusText(status);
}
CUBLAS_API void cublasXerbla(const char* name, int info) {
  std::fprintf(stderr,
               "On entry to %s parameter number %d had an illegal value\n",
               name, info);
}

#define CUBLAS_COPIES(I, suffix)                                            \
  CUBLAS_API Status cublasSetVector##suffix(I n, I size, const void* x,     \
                                            I incx, void* y, I incy) {      \
    return CopyVector(n, size, x, incx, y, incy, nullptr);                  \
  }                                                                         \
  CUBLAS_API Status cublasGetVector##suffix(I n, I size, const void* x,     \
                                            I incx, void* y, I incy) {      \
    return CopyVector(n, size, x, incx, y, incy, nullptr);                  \
  }                                                                         \
  CUBLAS_API Status cublasSetVectorAsync##suffix(                           \
      I n, I size, const void* x, I incx, void* y, I incy, Stream stream) { \
    return CopyVector(n, size, x, incx, y, incy, &stream);                  \
  }                                                                         \
  CUBLAS_API Status cublasGetVectorAsync##suffix(                           \
      I n, I size, const void* x, I incx, void* y, I incy, Stream stream) { \
    return CopyVector(n, size, x, incx, y, incy, &stream);                  \
  }                                                                         \
  CUBLAS_API Status cublasSetMatrix##suffix(                                \
      I rows, I columns, I size, const void* a, I lda, void* b, I ldb) {    \
    return CopyMatrix(rows, columns, size, a, lda, b, ldb, nullptr);        \
  }                                                                         \
  CUBLAS_API Status cublasGetMatrix##suffix(                                \
      I rows, I columns, I size, const void* a, I lda, void* b, I ldb) {    \
    return CopyMatrix(rows, columns, size, a, lda, b, ldb, nullptr);        \
  }                                                                         \
  CUBLAS_API Status cublasSetMatrixAsync##suffix(                           \
      I rows, I columns, I size, const void* a, I lda, void* b, I ldb,      \
      Stream stream) {                                                      \
    return CopyMatrix(rows, columns, size, a, lda, b, ldb, &stream);        \
  }                                                                         \
  CUBLAS_API Status cublasGetMatrixAsync##suffix(                           \
      I rows, I columns, I size, const void* a, I lda, void* b, I ldb,      \
      Stream stream) {                                                      \
    return CopyMatrix(rows, columns, size, a, lda, b, ldb, &stream);        \
  }
CUBLAS_COPIES(int, )
CUBLAS_COPIES(Index, _64)
#undef CUBLAS_COPIES

// --- cublas.h
CUBLAS_API Status cublasInit() {
  const std::lock_guard<std::mutex> lock(OldState().mutex);
  if (OldState().handle != nullptr) return kSuccess;
  return Make(&OldState().handle);
}
CUBLAS_API Status cublasShutdown() {
  const std::lock_guard<std::mutex> lock(OldState().mutex);
  if (OldState().handle == nullptr) return kNotInitialized;
  const Status status = Destroy(OldState().handle);
  OldState().handle = nullptr;
  return status;
}
// Says it once.
CUBLAS_API Status cublasGetError() {
  const std::lock_guard<std::mutex> lock(OldState().mutex);
  return std::exchange(OldState().status, kSuccess);
}
CUBLAS_API Status cublasGetVersion(int* version) {
  return cublasGetVersion_v2(nullptr, version);
}
CUBLAS_API Status cublasAlloc(int n, int size, void** pointer) {
  if (n <= 0 || size <= 0 || pointer == nullptr) return kInvalidValue;
  const Handle handle = OldHandle();
  if (!IsAlive(handle)) return kNotInitialized;
  std::uint64_t address = 0;
  const std::size_t bytes =
      static_cast<std::size_t>(n) * static_cast<std::size_t>(size);
  if (handle->driver->allocate(&address, bytes) != 0) return kAllocFailed;
  *pointer = reinterpret_cast<void*>(address);
  return kSuccess;
}
CUBLAS_API Status cublasFree(void* pointer) {
  const Handle handle = OldHandle();
  if (!IsAlive(handle)) return kNotInitialized;
  return handle->driver->free(reinterpret_cast<std::uint64_t>(pointer)) == 0
             ? kSuccess
             : kInternalError;
}
CUBLAS_API Status cublasSetKernelStream(Stream stream) {
  return cublasSetStream_v2(OldHandle(), stream);
}

// --- cublasXt.h: one device does it all.
CUBLAS_API Status cublasXtCreate(Handle* handle) { return Make(handle); }
CUBLAS_API Status cublasXtDestroy(Handle handle) { return Destroy(handle); }
CUBLAS_API Status cublasXtDeviceSelect(Handle h, int count, int* devices) {
  if (!IsAlive(h)) return kNotInitialized;
  return count <= 0 || devices == nullptr ? kInvalidValue : kSuccess;
}
CUBLAS_API Status cublasXtGetNumBoards(int count, int*, int* boards) {
  if (boards == nullptr) return kInvalidValue;
  *boards = count;
  return kSuccess;
}
CUBLAS_API Status cublasXtMaxBoards(int* boards) {
  if (boards == nullptr) return kInvalidValue;
  *boards = 1;
  return kSuccess;
}
CUBLAS_API Status cublasXtGetBlockDim(Handle h, int* size) {
  return Get(h, &Context::xt_block, size);
}
CUBLAS_API Status cublasXtSetBlockDim(Handle h, int size) {
  if (size <= 0) return kInvalidValue;
  return Set(h, &Context::xt_block, size);
}
CUBLAS_API Status cublasXtGetPinningMemMode(Handle h, int* mode) {
  return Get(h, &Context::xt_pinning, mode);
}
CUBLAS_API Status cublasXtSetPinningMemMode(Handle h, int mode) {
  return Set(h, &Context::xt_pinning, mode);
}
// Hints of how much the host should do.
CUBLAS_API Status cublasXtSetCpuRatio(Handle h, int, int, float) {
  return IsAlive(h) ? kSuccess : kNotInitialized;
}
CUBLAS_API Status cublasXtSetCpuRoutine(Handle h, int, int, void*) {
  return IsAlive(h) ? kSuccess : kNotInitialized;
}

}  // namespace cerberus::libraries::cublas
