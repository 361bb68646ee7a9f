// Types and numbers of cuSOLVER's interface (NVIDIA, cuSOLVER documentation;
// its versions 11 and 12 have the same), handles, and what each exported
// function goes through.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_API_H_
#define CERBERUS_LIBRARIES_CUSOLVER_API_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "libraries/common/driver.h"
#include "libraries/common/work.h"
#include "libraries/cublas/typed.h"
#include "libraries/cusolver/lapack.h"

#define CUSOLVER_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::cusolver {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kInvalidValue = 3,
  kExecutionFailed = 6,
  kMatrixTypeNotSupported = 8,
  kNotSupported = 9,
  kIrsParamsNotInitialized = 12,
  kIrsParamsInvalid = 13,
  kIrsParamsInvalidPrecision = 14,
  kIrsParamsInvalidRefinement = 15,
  kIrsParamsInvalidIterations = 16,
  kIrsNotSupported = 21,
  kIrsInfosNotInitialized = 25,
  kInvalidWorkspace = 31,
};

enum EigMode : int { kNoVectors = 0, kWithVectors = 1 };
enum EigRange : int {
  kRangeAll = 1001,
  kRangeIndex = 1002,
  kRangeValue = 1003
};
enum EigComp : int { kCompNone = 10, kCompIdentity = 11, kCompGiven = 12 };

class Rocsolver;

// Of cusolverDn and of cusolverSp.
struct Context {
  const Driver* driver = nullptr;
  // What computes on the GPU; null: nothing, the host does.
  std::shared_ptr<Rocsolver> rocsolver;
  Stream stream = nullptr;
  int deterministic = 1;
  int math_mode = 1;
  int emulation_strategy = 0;
  int special_values = 0;
  int mantissa_control = 0;
  int max_mantissa_bits = 0;
  int mantissa_offset = 0;
};
using Handle = Context*;
// cusolverDnParams_t: which algorithms the program asks for, which change
// nothing.
using Params = struct DnParams*;

// Whether it was created and not destroyed since.
bool IsAlive(Handle handle);

// The call of a handle: a dead one and a lack of memory are its errors.
template <typename F>
Status Guarded(Handle handle, const F& call) {
  if (!IsAlive(handle)) return kNotInitialized;
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}

// One call: what it reads and writes, and its work.
class Call : public Work {
 public:
  explicit Call(Handle handle) : Work(*handle->driver, handle->stream) {}
};
// With `wait`, what the work writes to the host is there behind it.
template <typename F>
Status Queue(Call& call, F work, bool wait = false) {
  return call.Run(std::move(work), wait) ? kSuccess : kExecutionFailed;
}

// Where LAPACK's number goes, which the program may not want.
inline void Report(int* to, int info) {
  if (to != nullptr) *to = info;
}

inline bool IsMatrix(Index rows, Index columns, Index ld) {
  return rows >= 0 && columns >= 0 && ld >= std::max<Index>(1, rows);
}
inline bool IsSquare(Index n, Index ld) { return IsMatrix(n, n, ld); }
inline bool IsTriangle(Fill fill) { return fill == kLower || fill == kUpper; }
inline bool IsDiag(Diag diag) { return diag == kUnit || diag == kNonUnit; }
inline bool IsSide(Side side) { return side == kLeft || side == kRight; }
inline bool IsOperation(Operation op) { return op >= kN && op <= kC; }
inline bool IsMode(EigMode mode) {
  return mode == kNoVectors || mode == kWithVectors;
}

// Memory of the device's that is asked for. Nothing is kept there: work is the
// host's, which has its own.
inline constexpr int kWorkElements = 32;
inline constexpr std::size_t kWorkBytes = 256;
inline Status Ask(bool fine, int* elements) {
  if (!fine || elements == nullptr) return kInvalidValue;
  *elements = kWorkElements;
  return kSuccess;
}
inline Status Ask(bool fine, std::size_t* bytes) {
  if (!fine || bytes == nullptr) return kInvalidValue;
  *bytes = kWorkBytes;
  return kSuccess;
}
inline Status Ask(bool fine, std::size_t* device, std::size_t* host) {
  if (host == nullptr) return kInvalidValue;
  *host = 0;
  return Ask(fine, device);
}

// The type of a matrix that is told at run time: f.operator()<T>().
template <typename F>
Status WithType(DataType type, const F& f) {
  switch (type) {
    case cublas::kR32F: return f.template operator()<float>();
    case cublas::kR64F: return f.template operator()<double>();
    case cublas::kC32F: return f.template operator()<Complex32>();
    case cublas::kC64F: return f.template operator()<Complex64>();
    default: return kInvalidValue;
  }
}
// Whether a type is one of those, and all the others are the same.
template <typename... Others>
bool AreTypes(DataType type, Others... others) {
  const bool known = type == cublas::kR32F || type == cublas::kR64F ||
                     type == cublas::kC32F || type == cublas::kC64F;
  return known && ((others == type) && ...);
}
using cublas::IsComplexType;
inline DataType RealTypeOf(DataType type) {
  return type == cublas::kC32F   ? cublas::kR32F
         : type == cublas::kC64F ? cublas::kR64F
                                 : type;
}
inline DataType ComplexTypeOf(DataType type) {
  return type == cublas::kR32F   ? cublas::kC32F
         : type == cublas::kR64F ? cublas::kC64F
                                 : type;
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_API_H_
