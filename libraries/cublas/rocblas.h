// rocBLAS under a handle of cuBLAS: which of its functions stands for one of
// cuBLAS' (rocblas.def), its arguments out of cuBLAS', its errors.
//
// A call is offered to it once the host's function has found it to be in order
// (Offer, handle.h). What it does not take, the host computes: functions that
// its version lacks, sizes above its integers, types that it has no code for.
#ifndef CERBERUS_LIBRARIES_CUBLAS_ROCBLAS_H_
#define CERBERUS_LIBRARIES_CUBLAS_ROCBLAS_H_

#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "libraries/common/rocm.h"
#include "libraries/common/stream_handles.h"
#include "libraries/cublas/handle.h"
#include "libraries/cublas/math.h"
#include "libraries/cublas/typed.h"

namespace cerberus::libraries::cublas {

// --- rocBLAS' interface (AMD, rocBLAS documentation, "rocBLAS Types")
namespace roc {
enum class Operation : int { kNone = 111, kTranspose = 112, kConjugate = 113 };
enum class Fill : int { kUpper = 121, kLower = 122, kFull = 123 };
enum class Diagonal : int { kNonUnit = 131, kUnit = 132 };
enum class Side : int { kLeft = 141, kRight = 142 };
enum class DataType : int {
  kF16 = 150,
  kF32 = 151,
  kF64 = 152,
  kF16C = 153,
  kF32C = 154,
  kF64C = 155,
  kI8 = 160,
  kU8 = 161,
  kI32 = 162,
  kI8C = 164,
  kBf16 = 168,
  kBf16C = 169,
  kInvalid = 255,
};
enum class Algorithm : int { kStandard = 0 };
enum class Flags : unsigned { kNone = 0 };
enum class Status : int {
  kSuccess = 0,
  kInvalidHandle = 1,
  kNotImplemented = 2,
  kInvalidPointer = 3,
  kInvalidSize = 4,
  kMemoryError = 5,
  kInternalError = 6,
  kPerformanceDegraded = 7,
  kSizeIncreased = 9,
  kSizeUnchanged = 10,
  kInvalidValue = 11,
  kContinue = 12,
  kExcludedFromBuild = 14,
  kArchitectureMismatch = 15,
};
enum class Stride : std::int64_t {};
struct Object;  // of rocBLAS
using Handle = Object*;
}  // namespace roc

// --- Which function
enum class How {
  kSame,    // cuBLAS' arguments as they stand
  kResult,  // the same, with a result of the host (RocblasArguments::Result)
  kNrm2Ex,
  kGetrf,  // of rocSOLVER, which is told how far apart pivots are
  kGetrs,
  kGetri,
  kScalars,  // the same; this and what follows ReadsScalars
  kTrmm,     // before rocBLAS 4 by another name
  kTrsm,     // but for what rocBLAS gets wrong
  kGemmEx,   // the result has a type and a step of its own
  kGemmBatchedEx,
  kGemmStridedEx,
};
constexpr bool IsOfSolver(How how) {
  return how >= How::kGetrf && how <= How::kGetri;
}
// Whether it reads scalars of the device when it is called, by a copy in the
// null stream.
constexpr bool ReadsScalars(How how) { return how >= How::kScalars; }
struct RocblasRow {
  std::string_view name;  // "Sgemm"
  const char* symbol;     // "sgemm"
  How how;
};
inline constexpr RocblasRow kRocblasRows[] = {
#define ROCBLAS(how, name, symbol) {#name, #symbol, How::how},
#include "libraries/cublas/rocblas.def"
#undef ROCBLAS
};
inline constexpr int kRocblasCount = std::size(kRocblasRows);
// The row of an exported function ("cublasSgemm_v2_64"), -1 if there is none.
constexpr int RocblasRowOf(std::string_view exported) {
  const auto drop = [&](std::string_view end) {
    if (exported.ends_with(end)) exported.remove_suffix(end.size());
  };
  exported.remove_prefix(std::string_view("cublas").size());
  drop("_64");
  drop("_v2");
  for (int i = 0; i < kRocblasCount; ++i) {
    if (kRocblasRows[i].name == exported) return i;
  }
  return -1;
}

// "rocblas_sgemm", "rocsolver_sgetrf_batched_64"
inline std::string SymbolOf(const RocblasRow& row, bool wide) {
  return (IsOfSolver(row.how) ? "rocsolver_" : "rocblas_") +
         std::string(row.symbol) + (wide ? "_64" : "");
}

// --- Arguments
// Turns cuBLAS' arguments into rocBLAS'; one that it lacks makes it unfit.
class RocblasArguments {
 public:
  explicit RocblasArguments(const Context& context) : context_(context) {}
  roc::Operation operator()(Operation op);
  roc::Fill operator()(Fill fill);
  roc::Side operator()(Side side);
  roc::Diagonal operator()(Diag diag);
  roc::DataType operator()(DataType type);
  roc::Stride operator()(long long step) { return roc::Stride{step}; }
  const void* operator()(const void* pointer) { return pointer; }
  // Sizes.
  int operator()(int size) { return size; }
  Index operator()(Index size) {
    is_wide_ |= size != static_cast<int>(size);
    return size;
  }
  // Results of 64 bits come from functions for such sizes alone.
  const void* operator()(Index* result) {
    is_wide_ = true;
    return result;
  }
  // A result that is the host's in that pointer mode comes by way of the
  // device: rocBLAS 5.5 copies it in the null stream, which does not wait for
  // one that is non-blocking.
  template <typename T>
  const void* Result(T* result) {
    (*this)(result);
    return Result(result, sizeof(T));
  }
  const void* Result(void* result, std::size_t bytes);
  // How a product is computed whose result has that type.
  roc::DataType ComputeOf(int compute, DataType type);
  // What it takes only if it is there.
  const void* Needed(const void* pointer) {
    fit_ &= pointer != nullptr;
    return pointer;
  }

  bool fit() const { return fit_; }
  bool is_wide() const { return is_wide_; }
  // Of the host, to be copied to; null if there is none.
  void* result() const { return result_; }
  std::size_t result_bytes() const { return result_bytes_; }

 private:
  const Context& context_;
  bool fit_ = true;
  bool is_wide_ = false;
  void* result_ = nullptr;
  std::size_t result_bytes_ = 0;
};

// --- Handles
// rocBLAS' handles, by stream, under one of ours.
class Rocblas {
 public:
  // What to look for in place of one of NVIDIA's libraries ("cuBLAS").
  static RocmKind Kind(const char* nvidia);
  // For the current context's device; null if the host computes. False: the
  // environment insists on rocBLAS, and it cannot be had. `kind` stays.
  static bool Make(const Driver& driver, const RocmKind& kind,
                   std::shared_ptr<Rocblas>* made);
  ~Rocblas();
  Rocblas(const Rocblas&) = delete;
  Rocblas& operator=(const Rocblas&) = delete;

  // Within it the stream's handle is set to what ours is, and nobody else's: it
  // must not be used by two threads at once, as cuBLAS' may.
  class Use {
   public:
    Use(Rocblas& rocblas, const Context& context, PointerMode mode)
        : lock_(rocblas.mutex_), ready_(rocblas.Follow(context, mode)) {}
    bool ready() const { return ready_; }

   private:
    const std::lock_guard<std::mutex> lock_;
    const bool ready_;
  };
  // The one in use.
  roc::Handle handle() const { return handles_.last().handle; }
  // The row's function, for sizes of 64 bits or not; null: this version lacks
  // it.
  void* Find(int row, bool wide) const;
  // Device memory for one result.
  void* result() const { return reinterpret_cast<void*>(result_); }
  static constexpr std::size_t kResultBytes = 16;

 private:
  struct OfStream {
    roc::Handle handle = nullptr;
    void* stream = nullptr;
    // As rocBLAS was last told.
    int pointer_mode = -1, atomics = -1, math_mode = -1;
  };

  Rocblas(const Driver& driver, const RocmLibrary& library);
  bool Follow(const Context& context, PointerMode mode);
  const Driver& driver_;
  const RocmLibrary& library_;
  std::uint64_t result_ = 0;
  roc::Status (*set_pointer_mode_)(roc::Handle, int);
  roc::Status (*set_atomics_)(roc::Handle, int);
  roc::Status (*set_math_mode_)(roc::Handle, int);  // since rocBLAS 4
  std::mutex mutex_;
  StreamHandles<OfStream, roc::Status> handles_;
};

// --- Calls
// False: it did nothing, and the host has to. Else what cuBLAS says.
bool IsTaken(roc::Status status, Status* out);
// Once for each function, under CERBERUS_LOG=info.
void SayHostComputes(int row);

// A call by a row, of arguments that RocblasArguments made.
class RocblasCall {
 public:
  RocblasCall(int row, const Context& context, const RocblasArguments& of,
              Status* status)
      : row_(row), context_(context), of_(of), status_(status) {}

  template <typename... A>
  bool operator()(A... arguments) const {
    if (!of_.fit()) return false;
    Rocblas& rocblas = *context_.rocblas;
    if (ReadsScalars(kRocblasRows[row_].how) &&
        context_.pointer_mode == kDevicePointers && !WaitForScalars()) {
      return false;
    }
    const bool of_host = of_.result() != nullptr;
    const Rocblas::Use use(rocblas, context_,
                           of_host ? kDevicePointers : context_.pointer_mode);
    if (!use.ready()) return false;
    const bool taken = of_.is_wide() ? Call(rocblas, arguments...)
                                     : Call(rocblas, Narrow(arguments)...);
    if (taken && of_host && *status_ == kSuccess) *status_ = CopyResult();
    return taken;
  }

 private:
  // False: it cannot be waited for them.
  bool WaitForScalars() const;
  Status CopyResult() const;

  template <typename T>
  static T Narrow(T argument) {
    return argument;
  }
  static int Narrow(Index size) { return static_cast<int>(size); }

  template <typename... A>
  bool Call(const Rocblas& rocblas, A... arguments) const {
    void* const function = rocblas.Find(row_, of_.is_wide());
    if (function == nullptr) return false;
    return IsTaken(reinterpret_cast<roc::Status (*)(roc::Handle, A...)>(
                       function)(rocblas.handle(), arguments...),
                   status_);
  }

  const int row_;
  const Context& context_;
  const RocblasArguments& of_;
  Status* const status_;
};

// The arguments of cuBLAS' function as rocBLAS has them: `pass` them on.
template <How kHow>
struct Put {
  template <typename Pass, typename... A>
  static bool To(const Pass& pass, RocblasArguments& of, const A&... a) {
    return pass(of(a)...);
  }
};
template <>
struct Put<How::kResult> {
  template <typename Pass, typename I, typename T>
  static bool To(const Pass& pass, RocblasArguments& of, I n, const void* x,
                 I incx, T* result) {
    return pass(of(n), x, of(incx), of.Result(result));
  }
};
template <>
struct Put<How::kNrm2Ex> {
  template <typename Pass, typename I>
  static bool To(const Pass& pass, RocblasArguments& of, I n, const void* x,
                 DataType tx, I incx, void* result, DataType tr,
                 DataType execution) {
    return pass(of(n), x, of(tx), of(incx), of.Result(result, SizeOf(tr)),
                of(tr), of(execution));
  }
};
// Of complex systems turned and conjugated rocBLAS (to 6.4's at least) divides
// by the diagonal as it stands, where it solves blocks of the left side by
// substitution: beyond 64 rows or columns, as far as a few hundred.
template <>
struct Put<How::kTrsm> {
  template <typename Pass, typename I, typename T, typename... A>
  static bool To(const Pass& pass, RocblasArguments& of, Side side, Fill fill,
                 Operation op, Diag diag, I m, I n, const T* alpha,
                 const A&... a) {
    if (kIsComplex<T> && side == kLeft && op == kC && diag == kNonUnit &&
        m > 32 && m < 512 && n <= 128 && (m > 64 || n > 64)) {
      return false;
    }
    return pass(of(side), of(fill), of(op), of(diag), of(m), of(n), alpha,
                of(a)...);
  }
};
template <>
struct Put<How::kGemmEx> {
  template <typename Pass, typename I>
  static bool To(const Pass& pass, RocblasArguments& of, Operation opa,
                 Operation opb, I m, I n, I k, const void* alpha, const void* a,
                 DataType ta, I lda, const void* b, DataType tb, I ldb,
                 const void* beta, const void* c, DataType tc, I ldc,
                 int compute = k32F, int = 0) {
    return pass(of(opa), of(opb), of(m), of(n), of(k), alpha, a, of(ta),
                of(lda), b, of(tb), of(ldb), beta, c, of(tc), of(ldc), c,
                of(tc), of(ldc), of.ComputeOf(compute, tc),
                roc::Algorithm::kStandard, int{0}, roc::Flags::kNone);
  }
};
template <>
struct Put<How::kGemmBatchedEx> {
  template <typename Pass, typename I>
  static bool To(const Pass& pass, RocblasArguments& of, Operation opa,
                 Operation opb, I m, I n, I k, const void* alpha, const void* a,
                 DataType ta, I lda, const void* b, DataType tb, I ldb,
                 const void* beta, const void* c, DataType tc, I ldc, I count,
                 int compute, int) {
    return pass(of(opa), of(opb), of(m), of(n), of(k), alpha, a, of(ta),
                of(lda), b, of(tb), of(ldb), beta, c, of(tc), of(ldc), c,
                of(tc), of(ldc), of(count), of.ComputeOf(compute, tc),
                roc::Algorithm::kStandard, int{0}, roc::Flags::kNone);
  }
};
template <>
struct Put<How::kGemmStridedEx> {
  template <typename Pass, typename I>
  static bool To(const Pass& pass, RocblasArguments& of, Operation opa,
                 Operation opb, I m, I n, I k, const void* alpha, const void* a,
                 DataType ta, I lda, long long step_a, const void* b,
                 DataType tb, I ldb, long long step_b, const void* beta,
                 const void* c, DataType tc, I ldc, long long step_c, I count,
                 int compute, int) {
    return pass(of(opa), of(opb), of(m), of(n), of(k), alpha, a, of(ta),
                of(lda), of(step_a), b, of(tb), of(ldb), of(step_b), beta, c,
                of(tc), of(ldc), of(step_c), c, of(tc), of(ldc), of(step_c),
                of(count), of.ComputeOf(compute, tc), roc::Algorithm::kStandard,
                int{0}, roc::Flags::kNone);
  }
};
template <>
struct Put<How::kGetrf> {
  template <typename Pass>
  static bool To(const Pass& pass, RocblasArguments& of, int n, const void* a,
                 int lda, const int* pivots, const int* info, int count) {
    return pass(n, n, a, lda, of.Needed(pivots), roc::Stride{n}, of(info),
                count);
  }
};
template <>
struct Put<How::kGetrs> {
  template <typename Pass>
  static bool To(const Pass& pass, RocblasArguments& of, Operation op, int n,
                 int columns, const void* a, int lda, const int* pivots,
                 const void* b, int ldb, const int*, int count) {
    return pass(of(op), n, columns, a, lda, of.Needed(pivots), roc::Stride{n},
                b, ldb, count);
  }
};
template <>
struct Put<How::kGetri> {
  template <typename Pass>
  static bool To(const Pass& pass, RocblasArguments& of, int n, const void* a,
                 int lda, const int* pivots, const void* c, int ldc,
                 const int* info, int count) {
    return pass(n, a, lda, of.Needed(pivots), roc::Stride{n}, c, ldc, of(info),
                count);
  }
};

// A function of cuBLAS: `host` computes it, unless rocBLAS has it by the row
// and takes it. It is called with the function's arguments.
template <int kRow, typename F>
class Provided {
 public:
  explicit Provided(const F& host) : host_(host) {}

  template <typename... A>
  Status operator()(Handle h, const A&... arguments) const {
    if constexpr (kRow >= 0) {
      if (h->rocblas != nullptr) {
        const auto take = [&](Status* status) {
          RocblasArguments of(*h);
          const RocblasCall call(kRow, *h, of, status);
          return Put<kRocblasRows[kRow].how>::To(call, of, arguments...);
        };
        const Offer offer(take);
        const Status status = host_();
        if (!offer.refused()) return status;
        SayHostComputes(kRow);
      }
    }
    return host_();
  }

 private:
  const F& host_;
};
template <int kRow, typename F>
Provided<kRow, F> Provide(const F& host) {
  return Provided<kRow, F>(host);
}

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_ROCBLAS_H_
