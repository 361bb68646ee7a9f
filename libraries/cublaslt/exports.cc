// The functions of cublaslt.def.
//
// There is one algorithm: heuristics find it for whatever can be computed, so
// that programs which try several have one to try. It needs no workspace, and
// on the GPU may use one.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include "libraries/common/driver.h"
#include "libraries/cublas/status.h"
#include "libraries/cublaslt/descriptors.h"
#include "libraries/cublaslt/matmul.h"
#include "libraries/cublaslt/rocm_matmul.h"

#define LT_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::cublaslt {
namespace {

using cublas::kAllocFailed;
using cublas::kInvalidValue;
using cublas::kNotInitialized;
using cublas::kNotSupported;
using cublas::kSuccess;

// A handle of cuBLAS is one of cuBLASLt as well, so that nothing is read
// through it.
using Handle = void*;
std::atomic<int> handles = 0;

#define LT_FIELD(Type, number, member) \
  {number, offsetof(Type, member), sizeof(Type::member), sizeof(Type::member)}
// Told in four bytes.
#define LT_MODE(number, index) \
  {number, offsetof(MatmulDesc, scale_modes) + (index), 4, 1}

constexpr Attribute kLayout[] = {
    LT_FIELD(Layout, 0, type),         LT_FIELD(Layout, 1, order),
    LT_FIELD(Layout, 2, rows),         LT_FIELD(Layout, 3, columns),
    LT_FIELD(Layout, 4, ld),           LT_FIELD(Layout, 5, batches),
    LT_FIELD(Layout, 6, batch_offset), LT_FIELD(Layout, 7, plane_offset),
    LT_FIELD(Layout, 8, batch_mode),
};
constexpr Attribute kDesc[] = {
    LT_FIELD(MatmulDesc, 0, compute),
    LT_FIELD(MatmulDesc, 1, scale),
    LT_FIELD(MatmulDesc, 2, pointer_mode),
    LT_FIELD(MatmulDesc, 3, a),
    LT_FIELD(MatmulDesc, 4, b),
    LT_FIELD(MatmulDesc, 5, c),
    LT_FIELD(MatmulDesc, 6, fill),
    LT_FIELD(MatmulDesc, 7, epilogue),
    LT_FIELD(MatmulDesc, 8, bias),
    LT_FIELD(MatmulDesc, 10, bias_stride),
    LT_FIELD(MatmulDesc, 11, aux),
    LT_FIELD(MatmulDesc, 12, aux_ld),
    LT_FIELD(MatmulDesc, 13, aux_stride),
    LT_FIELD(MatmulDesc, 14, alpha_stride),
    LT_FIELD(MatmulDesc, 15, sm_count),
    LT_FIELD(MatmulDesc, 17, scale_of_a),
    LT_FIELD(MatmulDesc, 18, scale_of_b),
    LT_FIELD(MatmulDesc, 19, scale_of_c),
    LT_FIELD(MatmulDesc, 20, scale_of_d),
    LT_FIELD(MatmulDesc, 21, amax_of_d),
    LT_FIELD(MatmulDesc, 22, aux_type),
    LT_FIELD(MatmulDesc, 23, scale_of_aux),
    LT_FIELD(MatmulDesc, 24, amax_of_aux),
    LT_FIELD(MatmulDesc, 25, fast_accumulation),
    LT_FIELD(MatmulDesc, 26, bias_type),
    LT_MODE(31, 0),
    LT_MODE(32, 1),
    LT_MODE(33, 2),
    LT_MODE(34, 3),
    LT_MODE(35, 4),
    LT_FIELD(MatmulDesc, 36, scales_out),
    LT_MODE(37, 5),
    LT_FIELD(MatmulDesc, 38, emulation),
};
constexpr Attribute kTransform[] = {
    LT_FIELD(TransformDesc, 0, scale),
    LT_FIELD(TransformDesc, 1, pointer_mode),
    LT_FIELD(TransformDesc, 2, a),
    LT_FIELD(TransformDesc, 3, b),
};
constexpr Attribute kPreference[] = {
    LT_FIELD(Preference, 0, search_mode),
    LT_FIELD(Preference, 1, workspace_bytes),
    LT_FIELD(Preference, 3, reductions),
    LT_FIELD(Preference, 5, alignments[0]),
    LT_FIELD(Preference, 6, alignments[1]),
    LT_FIELD(Preference, 7, alignments[2]),
    LT_FIELD(Preference, 8, alignments[3]),
    LT_FIELD(Preference, 9, waves),
    LT_FIELD(Preference, 12, implementations),
};
constexpr Attribute kEmulation[] = {
    LT_FIELD(EmulationDesc, 0, strategy),
    LT_FIELD(EmulationDesc, 1, special_values),
    LT_FIELD(EmulationDesc, 2, mantissa_control),
    LT_FIELD(EmulationDesc, 3, most_bits),
    LT_FIELD(EmulationDesc, 4, more_bits),
    LT_FIELD(EmulationDesc, 5, bits_used),
};
#undef LT_FIELD
#undef LT_MODE

Layout MakeLayout(DataType type, std::uint64_t rows, std::uint64_t columns,
                  std::int64_t ld) {
  Layout layout = {};
  layout.type = type;
  layout.rows = rows;
  layout.columns = columns;
  layout.ld = ld;
  layout.batches = 1;
  return layout;
}
MatmulDesc MakeDesc(ComputeType compute, DataType scale) {
  MatmulDesc desc = {};
  desc.compute = compute;
  desc.scale = scale;
  desc.fill = cublas::kFull;
  desc.epilogue = kDefault;
  desc.aux_type = desc.bias_type = -1;
  return desc;
}
TransformDesc MakeTransform(DataType scale) {
  TransformDesc desc = {};
  desc.scale = scale;
  return desc;
}
EmulationDesc MakeEmulation() {
  EmulationDesc desc = {};
  desc.special_values = 0xffff;
  return desc;
}
Preference MakePreference() {
  Preference preference = {};
  preference.implementations = ~std::uint64_t{0};
  preference.reductions = 7;
  return preference;
}

template <typename T>
Status InitIn(T* place, std::size_t size, const T& value) {
  if (place == nullptr) return kInvalidValue;
  if (size < sizeof(T)) return kAllocFailed;
  *place = value;
  return kSuccess;
}
template <typename T>
Status Create(T** place, const T& value) {
  if (place == nullptr) return kInvalidValue;
  *place = new (std::nothrow) T(value);
  return *place != nullptr ? kSuccess : kAllocFailed;
}

// Of a configuration: nothing but its id means anything here.
constexpr std::int32_t kConfigs = 9;

}  // namespace

// For `cerberus doctor`.
LT_API const char* cublasLtCerberusProvider() {
  static const std::string text = DescribeMatmulProvider();
  return text.c_str();
}

LT_API Status cublasLtCreate(Handle* handle) {
  if (handle == nullptr) return kInvalidValue;
  const Driver* driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver) || !HasProvider(*driver)) {
    return kNotInitialized;
  }
  *handle = new (std::nothrow) int(0);
  if (*handle == nullptr) return kAllocFailed;
  ++handles;
  return kSuccess;
}
LT_API Status cublasLtDestroy(Handle handle) {
  if (handle == nullptr) return kSuccess;
  delete static_cast<int*>(handle);
  if (--handles == 0) ForgetHandles();
  return kSuccess;
}
LT_API std::size_t cublasLtGetVersion() {
  return CERBERUS_CUBLAS_MAJOR * 10000;
}
LT_API std::size_t cublasLtGetCudartVersion() {
  return CERBERUS_CUBLAS_MAJOR * 1000;
}
LT_API Status cublasLtGetProperty(int property, int* value) {
  if (value == nullptr || property < 0 || property > 2) return kInvalidValue;
  *value = property == 0 ? CERBERUS_CUBLAS_MAJOR : 0;
  return kSuccess;
}
LT_API const char* cublasLtGetStatusName(Status status) {
  return cublas::StatusName(status);
}
LT_API const char* cublasLtGetStatusString(Status status) {
  return cublas::StatusText(status);
}

LT_API Status cublasLtMatrixLayoutInit_internal(Layout* layout,
                                                std::size_t size, DataType type,
                                                std::uint64_t rows,
                                                std::uint64_t columns,
                                                std::int64_t ld) {
  return InitIn(layout, size, MakeLayout(type, rows, columns, ld));
}
LT_API Status cublasLtMatrixLayoutCreate(Layout** layout, DataType type,
                                         std::uint64_t rows,
                                         std::uint64_t columns,
                                         std::int64_t ld) {
  return Create(layout, MakeLayout(type, rows, columns, ld));
}
LT_API Status cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return kSuccess;
}
LT_API Status cublasLtMatmulDescInit_internal(MatmulDesc* desc,
                                              std::size_t size,
                                              ComputeType compute,
                                              DataType scale) {
  return InitIn(desc, size, MakeDesc(compute, scale));
}
LT_API Status cublasLtMatmulDescCreate(MatmulDesc** desc, ComputeType compute,
                                       DataType scale) {
  return Create(desc, MakeDesc(compute, scale));
}
LT_API Status cublasLtMatmulDescDestroy(MatmulDesc* desc) {
  delete desc;
  return kSuccess;
}
LT_API Status cublasLtMatrixTransformDescInit_internal(TransformDesc* desc,
                                                       std::size_t size,
                                                       DataType scale) {
  return InitIn(desc, size, MakeTransform(scale));
}
LT_API Status cublasLtMatrixTransformDescCreate(TransformDesc** desc,
                                                DataType scale) {
  return Create(desc, MakeTransform(scale));
}
LT_API Status cublasLtMatrixTransformDescDestroy(TransformDesc* desc) {
  delete desc;
  return kSuccess;
}
LT_API Status cublasLtEmulationDescInit_internal(EmulationDesc* desc,
                                                 std::size_t size) {
  return InitIn(desc, size, MakeEmulation());
}
LT_API Status cublasLtEmulationDescCreate(EmulationDesc** desc) {
  return Create(desc, MakeEmulation());
}
LT_API Status cublasLtEmulationDescDestroy(EmulationDesc* desc) {
  delete desc;
  return kSuccess;
}
LT_API Status cublasLtMatmulPreferenceInit_internal(Preference* preference,
                                                    std::size_t size) {
  return InitIn(preference, size, MakePreference());
}
LT_API Status cublasLtMatmulPreferenceCreate(Preference** preference) {
  return Create(preference, MakePreference());
}
LT_API Status cublasLtMatmulPreferenceDestroy(Preference* preference) {
  delete preference;
  return kSuccess;
}

#define LT_ATTRIBUTES(name, Type, table)                                     \
  LT_API Status cublasLt##name##SetAttribute(                                \
      Type* descriptor, std::int32_t number, const void* buffer,             \
      std::size_t size) {                                                    \
    return SetAttribute(table, std::size(table), descriptor, number, buffer, \
                        size);                                               \
  }                                                                          \
  LT_API Status cublasLt##name##GetAttribute(                                \
      const Type* descriptor, std::int32_t number, void* buffer,             \
      std::size_t size, std::size_t* written) {                              \
    return GetAttribute(table, std::size(table), descriptor, number, buffer, \
                        size, written);                                      \
  }
LT_ATTRIBUTES(MatrixLayout, Layout, kLayout)
LT_ATTRIBUTES(MatmulDesc, MatmulDesc, kDesc)
LT_ATTRIBUTES(MatrixTransformDesc, TransformDesc, kTransform)
LT_ATTRIBUTES(MatmulPreference, Preference, kPreference)
LT_ATTRIBUTES(EmulationDesc, EmulationDesc, kEmulation)
#undef LT_ATTRIBUTES

LT_API Status cublasLtMatmul(Handle handle, const MatmulDesc* desc,
                             const void* alpha, const void* a,
                             const Layout* of_a, const void* b,
                             const Layout* of_b, const void* beta,
                             const void* c, const Layout* of_c, void* d,
                             const Layout* of_d, const Algorithm*,
                             void* workspace, std::size_t workspace_bytes,
                             Stream stream) {
  const Driver* driver = FindDriver();
  if (handle == nullptr || driver == nullptr) return kNotInitialized;
  if (!desc || !of_a || !of_b || !of_c || !of_d) return kInvalidValue;
  const Layouts layouts = {*of_a, *of_b, *of_c, *of_d};
  const Operands operands = {alpha, a, b, beta, c, d};
  Status status = CheckMatmul(*desc, layouts);
  if (status == kSuccess) status = CheckOperands(*desc, operands);
  if (status != kSuccess) return status;
  try {
    if (RocmMatmul(*driver, stream, *desc, layouts, operands,
                   {workspace, workspace_bytes}, &status)) {
      return status;
    }
    return Matmul(*driver, stream, *desc, layouts, operands);
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}
LT_API Status cublasLtMatrixTransform(Handle handle, const TransformDesc* desc,
                                      const void* alpha, const void* a,
                                      const Layout* of_a, const void* beta,
                                      const void* b, const Layout* of_b,
                                      void* c, const Layout* of_c,
                                      Stream stream) {
  const Driver* driver = FindDriver();
  if (handle == nullptr || driver == nullptr) return kNotInitialized;
  if (!desc || !of_a || !of_c) return kInvalidValue;
  const Layouts layouts = {*of_a, of_b ? *of_b : *of_a, *of_c, *of_c};
  const Operands operands = {alpha, a, b, beta, nullptr, c};
  Status status = CheckTransform(*desc, layouts, operands);
  if (status != kSuccess) return status;
  try {
    if (RocmTransform(*driver, stream, *desc, layouts, operands, &status)) {
      return status;
    }
    return Transform(*driver, stream, *desc, layouts, operands);
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}

LT_API Status cublasLtMatmulAlgoGetHeuristic(
    Handle handle, const MatmulDesc* desc, const Layout* a, const Layout* b,
    const Layout* c, const Layout* d, const Preference* preference,
    int requested, HeuristicResult* results, int* found) {
  if (handle == nullptr) return kNotInitialized;
  if (!desc || !a || !b || !c || !d || !preference || !results || !found ||
      requested < 1) {
    return kInvalidValue;
  }
  *found = 0;
  if (const Status bad = CheckMatmul(*desc, {*a, *b, *c, *d})) return bad;
  results[0] = {};
  results[0].state = kSuccess;
  if (const Driver* driver = FindDriver()) {
    const std::size_t bytes = RocmWorkspace(*driver, *desc, {*a, *b, *c, *d});
    if (bytes <= preference->workspace_bytes)
      results[0].workspace_bytes = bytes;
  }
  results[0].waves = 1;
  *found = 1;
  return kSuccess;
}
LT_API Status cublasLtMatmulAlgoGetIds(Handle handle, ComputeType, DataType,
                                       DataType, DataType, DataType, DataType,
                                       int requested, int* ids, int* found) {
  if (handle == nullptr) return kNotInitialized;
  if (requested < 1 || ids == nullptr || found == nullptr) return kInvalidValue;
  ids[0] = 0;
  *found = 1;
  return kSuccess;
}
LT_API Status cublasLtMatmulAlgoInit(Handle handle, ComputeType, DataType,
                                     DataType, DataType, DataType, DataType,
                                     int id, Algorithm* algorithm) {
  if (handle == nullptr) return kNotInitialized;
  if (id != 0 || algorithm == nullptr) return kInvalidValue;
  *algorithm = {};
  return kSuccess;
}
LT_API Status cublasLtMatmulAlgoCheck(Handle handle, const MatmulDesc* desc,
                                      const Layout* a, const Layout* b,
                                      const Layout* c, const Layout* d,
                                      const Algorithm* algorithm,
                                      HeuristicResult* result) {
  if (handle == nullptr) return kNotInitialized;
  if (!desc || !a || !b || !c || !d || !algorithm || !result) {
    return kInvalidValue;
  }
  if (const Status bad = CheckMatmul(*desc, {*a, *b, *c, *d})) return bad;
  const Algorithm checked = *algorithm;  // which may be in the result
  *result = {};
  result->algorithm = checked;
  result->state = kSuccess;
  result->waves = 1;
  return kSuccess;
}

// What the algorithm can do.
LT_API Status cublasLtMatmulAlgoCapGetAttribute(const Algorithm* algorithm,
                                                std::int32_t number,
                                                void* buffer, std::size_t size,
                                                std::size_t* written) {
  if (algorithm == nullptr) return kInvalidValue;
  std::uint64_t value = 0;
  std::size_t bytes = 4;
  switch (number) {
    case 3:   // strided batches
    case 4:   // D need not be C
    case 5:   // triangles
    case 10:  // orders by rows
    case 21:  // batches by arrays of pointers
      value = 1;
      break;
    case 6:  // no tiles or stages to choose
    case 13: bytes = 0; break;
    case 11:  // pointer modes, all five
      value = 31;
      break;
    case 12: value = 0xffffffff; break;  // epilogues
    case 15:  // how it is computed: fused multiply-adds of any type
      value = 1;
      bytes = 8;
      break;
    case 16:
    case 17:
    case 18:
    case 19: value = 1; break;  // alignments
    case 0:                     // split k
    case 1:                     // reductions
    case 2:                     // swizzling
    case 7:                     // further options
    case 14: break;             // negative steps
    default: return kInvalidValue;
  }
  if (written != nullptr) *written = bytes;
  if (size == 0 || buffer == nullptr) {
    return written != nullptr ? kSuccess : kInvalidValue;
  }
  if (size < bytes) return kInvalidValue;
  std::memcpy(buffer, &value, bytes);
  return kSuccess;
}
LT_API Status cublasLtMatmulAlgoConfigSetAttribute(Algorithm* algorithm,
                                                   std::int32_t number,
                                                   const void* buffer,
                                                   std::size_t size) {
  if (!algorithm || !buffer || number < 1 || number >= kConfigs ||
      (size != 4 && size != 2)) {
    return kInvalidValue;
  }
  std::memcpy(&algorithm->config[number], buffer, size);
  return kSuccess;
}
LT_API Status cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm,
                                                   std::int32_t number,
                                                   void* buffer,
                                                   std::size_t size,
                                                   std::size_t* written) {
  if (!algorithm || number < 0 || number >= kConfigs) return kInvalidValue;
  // CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID and CLUSTER_SHAPE_ID have two bytes.
  const std::size_t bytes = number >= 7 ? 2 : 4;
  if (written != nullptr) *written = bytes;
  if (size == 0 || buffer == nullptr) {
    return written != nullptr ? kSuccess : kInvalidValue;
  }
  if (size < bytes) return kInvalidValue;
  std::memcpy(buffer, &algorithm->config[number], bytes);
  return kSuccess;
}

LT_API Status cublasLtHeuristicsCacheGetCapacity(std::size_t* capacity) {
  if (capacity == nullptr) return kInvalidValue;
  *capacity = 0;
  return kSuccess;
}
LT_API Status cublasLtHeuristicsCacheSetCapacity(std::size_t) {
  return kSuccess;
}
LT_API unsigned cublasLtDisableCpuInstructionsSetMask(unsigned) { return 0; }

// Nothing is logged.
LT_API Status cublasLtLoggerSetCallback(void*) { return kSuccess; }
LT_API Status cublasLtLoggerSetFile(std::FILE*) { return kSuccess; }
LT_API Status cublasLtLoggerOpenFile(const char*) { return kSuccess; }
LT_API Status cublasLtLoggerSetLevel(int) { return kSuccess; }
LT_API Status cublasLtLoggerSetMask(int) { return kSuccess; }
LT_API Status cublasLtLoggerForceDisable() { return kSuccess; }

#define CUBLASLT_ANSWERED(name)
#define CUBLASLT_REFUSED(name) \
  LT_API Status name() { return kNotSupported; }
#include "libraries/cublaslt/cublaslt.def"

}  // namespace cerberus::libraries::cublaslt
