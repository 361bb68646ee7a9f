// A rocBLAS, and rocSOLVER, without a GPU: they write down how they are called,
// and have cuBLAS' functions on the host compute it, from arguments that are
// turned back. So the tests of cuBLAS run over them as they are.
//
// The functions are those of rocblas.def. Each jumps through a slot, as what it
// takes comes from cublas.def.
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "libraries/cublas/rocblas.h"
#include "libraries/cublas/rows.h"
#include "tests/unit/libraries/fake_rocm.h"

#define FAKE_API extern "C" __attribute__((visibility("default")))

// For sizes of 31 and of 64 bits.
#define ROCBLAS(how, name, symbol) \
  extern "C" __attribute__((visibility("hidden"))) void* slot_##name[2];
#include "libraries/cublas/rocblas.def"
#undef ROCBLAS

#define FAKE_kSame "rocblas_"
#define FAKE_kResult "rocblas_"
#define FAKE_kNrm2Ex "rocblas_"
#define FAKE_kScalars "rocblas_"
#define FAKE_kTrmm "rocblas_"
#define FAKE_kTrsm "rocblas_"
#define FAKE_kGemmEx "rocblas_"
#define FAKE_kGemmBatchedEx "rocblas_"
#define FAKE_kGemmStridedEx "rocblas_"
#define FAKE_kGetrf "rocsolver_"
#define FAKE_kGetrs "rocsolver_"
#define FAKE_kGetri "rocsolver_"
// Of a function with several rows the first one's slot is the one.
#define FAKE_JUMP(name, label, at)                            \
  __asm__(".ifndef " label "\n.globl " label "\n.type " label \
          ", @function\n" label ":\njmpq *slot_" name "+" at  \
          "(%rip)\n"                                          \
          ".endif");
#define ROCBLAS(how, name, symbol)          \
  void* slot_##name[2] = {};                \
  FAKE_JUMP(#name, FAKE_##how #symbol, "0") \
  FAKE_JUMP(#name, FAKE_##how #symbol "_64", "8")
#include "libraries/cublas/rocblas.def"
#undef ROCBLAS

namespace cerberus::libraries::tests {
namespace {

using cublas::Complex32;
using cublas::Complex64;
using cublas::Index;
using cublas::kRocblasCount;
using cublas::kRocblasRows;
using cublas::Real;
using cublas::RocblasRowOf;
using cublas::SymbolOf;
namespace roc = cublas::roc;
using roc::Status;

void** const kSlots[kRocblasCount] = {
#define ROCBLAS(how, name, symbol) slot_##name,
#include "libraries/cublas/rocblas.def"
#undef ROCBLAS
};

// --- cuBLAS on the host
void* Host() {
  static void* const library = dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL);
  return library;
}
template <typename... A>
int CallHost(const char* name, A... arguments) {
  return reinterpret_cast<int (*)(A...)>(dlsym(Host(), name))(arguments...);
}
// Arguments turned back. Numbers that are none of rocBLAS' become others that
// are none of cuBLAS', which refuses them.
struct Back {
  int operator()(roc::Operation op) { return static_cast<int>(op) - 111; }
  int operator()(roc::Fill fill) {
    return fill == roc::Fill::kUpper ? 1 : fill == roc::Fill::kLower ? 0 : 9;
  }
  int operator()(roc::Diagonal diag) { return static_cast<int>(diag) - 131; }
  int operator()(roc::Side side) { return static_cast<int>(side) - 141; }
  int operator()(roc::DataType type) {
    static const std::map<int, int> types = {
        {150, 2}, {151, 0}, {152, 1},  {153, 6}, {154, 4},  {155, 5},
        {160, 3}, {161, 8}, {162, 10}, {164, 7}, {168, 14}, {169, 15}};
    const auto found = types.find(static_cast<int>(type));
    return found == types.end() ? -1 : found->second;
  }
  int operator()(int size) { return size; }
  Index operator()(Index size) { return size; }
  long long operator()(long long step) { return step; }
  const void* operator()(const void* pointer) { return pointer; }
};
int ComputeBack(roc::DataType type) {
  switch (type) {
    case roc::DataType::kF16: return cublas::k16F;
    case roc::DataType::kF32:
    case roc::DataType::kF32C: return cublas::k32F;
    case roc::DataType::kF64:
    case roc::DataType::kF64C: return cublas::k64F;
    case roc::DataType::kI32: return cublas::k32I;
    default: return -1;
  }
}

// --- Handles, and what is written down
struct Blas {
  void* host = nullptr;
  void* hip_stream = nullptr;
  void* cuda_stream = nullptr;
  std::map<std::string, int> settings;
};
struct Recorder {
  std::mutex mutex;
  std::map<std::string, int> calls;
  std::map<void*, void*> streams;
  std::string last;
  void* hip_stream = nullptr;
  const void* handle = nullptr;
  std::map<std::string, int> settings;
  int answer = 0;
};
Recorder& All() {
  static auto& all = *new Recorder;
  return all;
}

// What cuBLAS says, as rocBLAS would.
Status As(int status) {
  switch (status) {
    case 0: return Status::kSuccess;
    case 7: return Status::kInvalidSize;
    case 15: return Status::kNotImplemented;
    default: return Status::kInternalError;
  }
}

// CUDA's stream of the handle's.
int Follow(Blas& blas) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  blas.cuda_stream = All().streams[blas.hip_stream];
  return CallHost("cublasSetStream_v2", blas.host, blas.cuda_stream);
}

// One call of a function whose name ends so: written down, then computed.
class Call {
 public:
  Call(Blas* blas, std::string symbol)
      : blas_(*blas), symbol_(std::move(symbol)) {}

  // `host` makes cuBLAS' call.
  template <typename F, typename... A>
  Status operator()(const F& host, A... arguments) const {
    const int answer = Note(&blas_, symbol_, arguments...);
    // A stream of HIP's may be another's than when the handle was told of it.
    Follow(blas_);
    return answer != 0 ? static_cast<Status>(answer) : As(host());
  }

 private:
  Blas& blas_;
  const std::string symbol_;
};

// A function that takes what cuBLAS' takes.
class SameAs {
 public:
  explicit SameAs(const char* name) : name_(name) {}
  template <typename... A>
  Status operator()(Blas* blas, A... arguments) const {
    const bool wide = std::string_view(name_).ends_with("_64");
    return Call(blas, SymbolOf(kRocblasRows[RocblasRowOf(name_)], wide))(
        [&] {
          Back back;
          return CallHost(name_, blas->host, back(arguments)...);
        },
        arguments...);
  }

 private:
  const char* name_;
};
bool TakesTheSame(cublas::How how) {
  return how == cublas::How::kSame || how == cublas::How::kResult ||
         how == cublas::How::kNrm2Ex || how == cublas::How::kScalars ||
         how == cublas::How::kTrmm || how == cublas::How::kTrsm;
}
template <typename F>
bool FillSlot(std::string_view name, F* function) {
  const int row = RocblasRowOf(name);
  if (row < 0 || !TakesTheSame(kRocblasRows[row].how)) return false;
  kSlots[row][name.ends_with("_64") ? 1 : 0] =
      reinterpret_cast<void*>(function);
  return true;
}

// cublas.def's types are rocBLAS' here.
using Handle = Blas*;
using Operation = roc::Operation;
using Fill = roc::Fill;
using Side = roc::Side;
using Diag = roc::Diagonal;
using DataType = roc::DataType;
#include "libraries/cublas/row_types.h"
#define CUBLAS_EXPORT(types, name, function, parameters, arguments)           \
  namespace types {                                                           \
  [[maybe_unused]] Status name parameters { return SameAs(#name) arguments; } \
  [[maybe_unused]] const bool filled_##name = FillSlot(#name, &name);         \
  }
#define CUBLAS_EXPORT_OLD(types, name, ...)
#define CUBLAS_EXPORT_OLD_RESULT(types, type, name, ...)
#define CUBLAS_EXPORT_XT(types, name, ...)
#define CUBLAS_HELPER(name)
#define CUBLAS_REFUSED(name)
#include "libraries/cublas/cublas.def"

// --- Products of types told at run time: the result goes where C is, or, of
// cuBLASLt's calls, elsewhere.
template <typename I>
bool IsOneOfOurs(const void* c, DataType tc, I ldc, const void* d, DataType td,
                 I ldd, int algorithm, int solution, unsigned flags) {
  return tc == td && (c != d || ldc == ldd) && algorithm == 0 &&
         solution == 0 && flags == 0;
}
// C to where D is, in the stream, for the host's functions, which have one
// place for both.
struct Strided {
  const void* first;
  Index ld;
  long long step;
};
void CopyResults(const Blas& blas, int type, Index m, Index n, const Strided& c,
                 const Strided& d, Index count) {
  if (c.first == d.first) return;
  const auto size = cublas::SizeOf(static_cast<cublas::DataType>(type));
  for (Index i = 0; i < count; ++i) {
    Copy2d copy = {};
    copy.source_kind = copy.target_kind = kUnified;
    copy.source_device = reinterpret_cast<std::uint64_t>(c.first) +
                         static_cast<std::size_t>(i * c.step) * size;
    copy.target_device = reinterpret_cast<std::uint64_t>(d.first) +
                         static_cast<std::size_t>(i * d.step) * size;
    copy.source_pitch = static_cast<std::size_t>(c.ld) * size;
    copy.target_pitch = static_cast<std::size_t>(d.ld) * size;
    copy.width = static_cast<std::size_t>(m) * size;
    copy.height = static_cast<std::size_t>(n);
    FindDriver()->copy_2d(&copy, static_cast<Stream>(blas.cuda_stream));
  }
}
template <typename I>
Status GemmEx(Blas* h, Operation opa, Operation opb, I m, I n, I k,
              const void* alpha, const void* a, DataType ta, I lda,
              const void* b, DataType tb, I ldb, const void* beta,
              const void* c, DataType tc, I ldc, void* d, DataType td, I ldd,
              DataType compute, int algorithm, int solution, unsigned flags) {
  constexpr bool kWide = std::is_same_v<I, Index>;
  if (!IsOneOfOurs(c, tc, ldc, d, td, ldd, algorithm, solution, flags)) {
    return Status::kInvalidValue;
  }
  return Call(h, kWide ? "rocblas_gemm_ex_64" : "rocblas_gemm_ex")(
      [&] {
        Back back;
        CopyResults(*h, back(tc), m, n, {c, ldc, 0}, {d, ldd, 0}, 1);
        return CallHost(kWide ? "cublasGemmEx_64" : "cublasGemmEx", h->host,
                        back(opa), back(opb), m, n, k, alpha, a, back(ta), lda,
                        b, back(tb), ldb, beta, d, back(tc), ldd,
                        ComputeBack(compute), -1);
      },
      opa, opb, m, n, k, alpha, a, ta, lda, b, tb, ldb, beta, c, tc, ldc, d, td,
      ldd, compute);
}
template <typename I>
Status GemmBatchedEx(Blas* h, Operation opa, Operation opb, I m, I n, I k,
                     const void* alpha, const void* a, DataType ta, I lda,
                     const void* b, DataType tb, I ldb, const void* beta,
                     const void* c, DataType tc, I ldc, void* d, DataType td,
                     I ldd, I count, DataType compute, int algorithm,
                     int solution, unsigned flags) {
  constexpr bool kWide = std::is_same_v<I, Index>;
  if (!IsOneOfOurs(c, tc, ldc, d, td, ldd, algorithm, solution, flags) ||
      c != d) {
    return Status::kInvalidValue;
  }
  return Call(h,
              kWide ? "rocblas_gemm_batched_ex_64" : "rocblas_gemm_batched_ex")(
      [&] {
        Back back;
        return CallHost(
            kWide ? "cublasGemmBatchedEx_64" : "cublasGemmBatchedEx", h->host,
            back(opa), back(opb), m, n, k, alpha, a, back(ta), lda, b, back(tb),
            ldb, beta, d, back(tc), ldc, count, ComputeBack(compute), -1);
      },
      opa, opb, m, n, k, alpha, a, ta, lda, b, tb, ldb, beta, c, tc, ldc, d, td,
      ldd, count, compute);
}
template <typename I>
Status GemmStridedEx(Blas* h, Operation opa, Operation opb, I m, I n, I k,
                     const void* alpha, const void* a, DataType ta, I lda,
                     long long step_a, const void* b, DataType tb, I ldb,
                     long long step_b, const void* beta, const void* c,
                     DataType tc, I ldc, long long step_c, void* d, DataType td,
                     I ldd, long long step_d, I count, DataType compute,
                     int algorithm, int solution, unsigned flags) {
  constexpr bool kWide = std::is_same_v<I, Index>;
  if (!IsOneOfOurs(c, tc, ldc, d, td, ldd, algorithm, solution, flags) ||
      (c == d && step_c != step_d)) {
    return Status::kInvalidValue;
  }
  return Call(h, kWide ? "rocblas_gemm_strided_batched_ex_64"
                       : "rocblas_gemm_strided_batched_ex")(
      [&] {
        Back back;
        CopyResults(*h, back(tc), m, n, {c, ldc, step_c}, {d, ldd, step_d},
                    count);
        return CallHost(kWide ? "cublasGemmStridedBatchedEx_64"
                              : "cublasGemmStridedBatchedEx",
                        h->host, back(opa), back(opb), m, n, k, alpha, a,
                        back(ta), lda, step_a, b, back(tb), ldb, step_b, beta,
                        d, back(tc), ldd, step_d, count, ComputeBack(compute),
                        -1);
      },
      opa, opb, m, n, k, alpha, a, ta, lda, step_a, b, tb, ldb, step_b, beta, c,
      tc, ldc, step_c, d, td, ldd, step_d, count, compute);
}

// --- rocSOLVER, whose pivots are a step apart that is not told to cuBLAS
template <char kLetter>
Status Getrf(Blas* h, int m, int n, const void* a, int lda, int* pivots,
             long long step, int* info, int count) {
  if (m != n || step != n) return Status::kInvalidSize;
  const char lower = kLetter + 'a' - 'A';
  return Call(h, std::string("rocsolver_") + lower + "getrf_batched")(
      [&] {
        const std::string name =
            std::string("cublas") + kLetter + "getrfBatched";
        return CallHost(name.c_str(), h->host, n, a, lda, pivots, info, count);
      },
      m, n, a, lda, pivots, step, info, count);
}
template <char kLetter>
Status Getrs(Blas* h, Operation op, int n, int columns, const void* a, int lda,
             const int* pivots, long long step, const void* b, int ldb,
             int count) {
  if (step != n) return Status::kInvalidSize;
  const char lower = kLetter + 'a' - 'A';
  return Call(h, std::string("rocsolver_") + lower + "getrs_batched")(
      [&] {
        const std::string name =
            std::string("cublas") + kLetter + "getrsBatched";
        int info = 0;
        return CallHost(name.c_str(), h->host, Back()(op), n, columns, a, lda,
                        pivots, b, ldb, &info, count);
      },
      op, n, columns, a, lda, pivots, step, b, ldb, count);
}
template <char kLetter>
Status Getri(Blas* h, int n, const void* a, int lda, const int* pivots,
             long long step, const void* c, int ldc, int* info, int count) {
  if (step != n) return Status::kInvalidSize;
  const char lower = kLetter + 'a' - 'A';
  return Call(h,
              std::string("rocsolver_") + lower + "getri_outofplace_batched")(
      [&] {
        const std::string name =
            std::string("cublas") + kLetter + "getriBatched";
        return CallHost(name.c_str(), h->host, n, a, lda, pivots, c, ldc, info,
                        count);
      },
      n, a, lda, pivots, step, c, ldc, info, count);
}

template <char kLetter>
void FillSolver() {
  const auto fill = [](const char* name, auto* function) {
    const std::string whole = std::string("cublas") + kLetter + name;
    kSlots[RocblasRowOf(whole)][0] = reinterpret_cast<void*>(function);
  };
  fill("getrfBatched", &Getrf<kLetter>);
  fill("getrsBatched", &Getrs<kLetter>);
  fill("getriBatched", &Getri<kLetter>);
}
const bool kFilled = [] {
  const auto fill = [](const char* name, auto* narrow, auto* wide) {
    kSlots[RocblasRowOf(name)][0] = reinterpret_cast<void*>(narrow);
    kSlots[RocblasRowOf(name)][1] = reinterpret_cast<void*>(wide);
  };
  fill("cublasGemmEx", &GemmEx<int>, &GemmEx<Index>);
  fill("cublasGemmBatchedEx", &GemmBatchedEx<int>, &GemmBatchedEx<Index>);
  fill("cublasGemmStridedBatchedEx", &GemmStridedEx<int>,
       &GemmStridedEx<Index>);
  FillSolver<'S'>();
  FillSolver<'D'>();
  FillSolver<'C'>();
  FillSolver<'Z'>();
  return true;
}();

// --- Handles
// Making a handle of the host's cuBLAS asks for one of rocBLAS, too: that one
// is refused, so that the host computes.
Status Create(Blas** handle) {
  thread_local bool within = false;
  if (within) return Status::kInternalError;
  within = true;
  auto* const made = new Blas;
  const int status = reinterpret_cast<int (*)(void**)>(
      dlsym(Host(), "cublasCreate_v2"))(&made->host);
  within = false;
  *handle = made;
  return As(status);
}

}  // namespace

int NoteCall(void* handle, const std::string& symbol, std::string text) {
  const auto& blas = *static_cast<const Blas*>(handle);
  const std::lock_guard<std::mutex> lock(All().mutex);
  ++All().calls[symbol];
  All().last = std::move(text);
  All().hip_stream = blas.hip_stream;
  All().handle = &blas;
  All().settings = blas.settings;
  return std::exchange(All().answer, 0);
}
void* StreamOf(void* handle) {
  Follow(*static_cast<Blas*>(handle));
  return static_cast<const Blas*>(handle)->cuda_stream;
}

FAKE_API Status rocblas_get_version_string(char* text, std::size_t size) {
  constexpr std::string_view kVersion = "1.2.3.";
  if (size <= kVersion.size()) return Status::kInvalidSize;
  text[kVersion.copy(text, size)] = '\0';
  return Status::kSuccess;
}
FAKE_API Status rocblas_create_handle(Blas** handle) { return Create(handle); }
FAKE_API Status rocblas_destroy_handle(Blas* blas) {
  const int status = CallHost("cublasDestroy_v2", blas->host);
  delete blas;
  return As(status);
}
FAKE_API Status rocblas_set_stream(Blas* blas, void* stream) {
  blas->hip_stream = stream;
  return As(Follow(*blas));
}
FAKE_API Status rocblas_set_pointer_mode(Blas* blas, int mode) {
  blas->settings["pointer_mode"] = mode;
  return As(CallHost("cublasSetPointerMode_v2", blas->host, mode));
}
FAKE_API Status rocblas_set_atomics_mode(Blas* blas, int mode) {
  blas->settings["atomics_mode"] = mode;
  return Status::kSuccess;
}
FAKE_API Status rocblas_set_math_mode(Blas* blas, int mode) {
  blas->settings["math_mode"] = mode;
  return Status::kSuccess;
}

FAKE_API void fake_rocblas_stream(void* hip, void* cuda) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  All().streams[hip] = cuda;
}
FAKE_API int fake_rocblas_calls(const char* symbol) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  return All().calls[symbol];
}
FAKE_API const char* fake_rocblas_last() { return All().last.c_str(); }
FAKE_API void fake_rocblas_answer(int status) { All().answer = status; }
FAKE_API void* fake_rocblas_hip_stream() { return All().hip_stream; }
FAKE_API const void* fake_rocblas_handle() { return All().handle; }
FAKE_API int fake_rocblas_setting(const char* name) {
  return All().settings[name];
}

}  // namespace cerberus::libraries::tests
