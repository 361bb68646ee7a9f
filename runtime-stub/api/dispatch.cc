#include "runtime-stub/api/dispatch.h"

#include <array>
#include <cstring>
#include <iterator>
#include <new>

#include "runtime-stub/api/api.h"
#include "runtime-stub/api/guard.h"
#include "runtime-stub/api/trace.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

thread_local hipStream_t t_default_stream = nullptr;

CUresult RefuseCall(const char* symbol, const char* reason) {
  Log(LogLevel::kError, "%s is not supported (%s)", symbol, reason);
  return CUDA_ERROR_NOT_SUPPORTED;
}

// A per-thread variant is its base function under a PerThreadStreamScope.
template <auto Function>
struct PerThread;
template <typename... Args, CUresult (*Function)(Args...)>
struct PerThread<Function> {
  static CUresult Call(Args... args) {
    PerThreadStreamScope scope;
    return Guarded<Function>::Call(args...);
  }
};

// One function per unsupported symbol, so that a refusal can name it. The
// arguments are not looked at.
#define CERB_REFUSE_FORWARD(symbol, note)
#define CERB_REFUSE_IMPL(symbol, note)
#define CERB_REFUSE_UNSUPPORTED(symbol, note) \
  CUresult Refuse_##symbol() { return RefuseCall(#symbol, note); }
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  CERB_REFUSE_##status(symbol, note)
#define CUDA_API_PER_THREAD(symbol, base, name, version, status) \
  CERB_REFUSE_##status(symbol, "see " #base)
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API

}  // namespace

// The slots have C names, for the jumps below.
#define CERB_TARGET_FORWARD(symbol) Guarded<&api::symbol>::Call
#define CERB_TARGET_IMPL(symbol) Guarded<&api::symbol>::Call
#define CERB_TARGET_UNSUPPORTED(symbol) Refuse_##symbol
#define CERB_TARGET_PT_FORWARD(symbol, base) PerThread<&api::base>::Call
#define CERB_TARGET_PT_IMPL(symbol, base) PerThread<&api::base>::Call
#define CERB_TARGET_PT_UNSUPPORTED(symbol, base) Refuse_##symbol
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  extern "C" [[gnu::visibility("hidden")]] void* cerberus_slot_##symbol;  \
  void* cerberus_slot_##symbol =                                          \
      reinterpret_cast<void*>(CERB_TARGET_##status(symbol));
#define CUDA_API_PER_THREAD(symbol, base, name, version, status)         \
  extern "C" [[gnu::visibility("hidden")]] void* cerberus_slot_##symbol; \
  void* cerberus_slot_##symbol =                                         \
      reinterpret_cast<void*>(CERB_TARGET_PT_##status(symbol, base));
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API

// The exported symbols. A jump leaves registers and stack as they are, so it
// serves every signature, ours and a real driver's.
#if !defined(__x86_64__)
#error "write the jump for this processor"
#endif
#define CERB_EXPORT(symbol)                            \
  asm(".pushsection .text.cuda_api,\"ax\",@progbits\n" \
      ".globl " #symbol                                \
      "\n"                                             \
      ".type " #symbol                                 \
      ",@function\n"                                   \
      ".p2align 3\n" #symbol                           \
      ":\n"                                            \
      "jmp *cerberus_slot_" #symbol                    \
      "(%rip)\n"                                       \
      ".size " #symbol ",.-" #symbol                   \
      "\n"                                             \
      ".popsection\n");
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  CERB_EXPORT(symbol)
#define CUDA_API_PER_THREAD(symbol, base, name, version, status) \
  CERB_EXPORT(symbol)
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API

namespace {

#define CERB_STATUS_FORWARD ApiStatus::kForward
#define CERB_STATUS_IMPL ApiStatus::kImpl
#define CERB_STATUS_UNSUPPORTED ApiStatus::kUnsupported
constexpr ApiRow kRows[] = {
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  {#symbol, #name,                                                        \
   version, CERB_STATUS_##status,                                         \
   false,   &cerberus_slot_##symbol},
#define CUDA_API_PER_THREAD(symbol, base, name, version, status) \
  {#symbol, #name,                                               \
   version, CERB_STATUS_##status,                                \
   true,    &cerberus_slot_##symbol},
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API
};

// A hash table of the rows by name, made by the compiler: a cudart looks up
// 440 names when it starts. A bucket's rows are linked.
class NameTable {
 public:
  static constexpr std::uint16_t kEnd = 0xffff;

  constexpr NameTable() {
    first_.fill(kEnd);
    for (std::size_t i = std::size(kRows); i-- > 0;) {
      std::uint16_t& first = first_[Bucket(kRows[i].name)];
      next_[i] = first;
      first = static_cast<std::uint16_t>(i);
    }
  }
  std::uint16_t First(const char* name) const { return first_[Bucket(name)]; }
  std::uint16_t Next(std::uint16_t row) const { return next_[row]; }

 private:
  static constexpr std::size_t kBuckets = 2048;

  // FNV-1a
  static constexpr std::size_t Bucket(const char* name) {
    std::uint32_t hash = 2166136261;
    for (; *name != '\0'; ++name) {
      hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619;
    }
    return (hash ^ hash >> 16) % kBuckets;
  }

  std::array<std::uint16_t, kBuckets> first_ = {};
  std::array<std::uint16_t, std::size(kRows)> next_ = {};
};
constexpr NameTable kNames;

}  // namespace

std::span<const ApiRow> ApiTable() { return kRows; }

// Every slot leads through its recorder if a trace is asked for. It has to be
// before the first call, since programs keep what cuGetProcAddress gives them.
namespace {

template <auto Function, const char* Name>
struct Traced;
template <typename... Args, CUresult (*Function)(Args...), const char* Name>
struct Traced<Function, Name> {
  static CUresult Call(Args... args) {
    TraceEvent event(Name);
    (event.Argument(args), ...);
    const CUresult result = Function(args...);
    event.End(result);
    return result;
  }
};

#define CUDA_API(symbol, name, version, status, context, signature, note) \
  constexpr char kTraceName_##symbol[] = #symbol;
#define CUDA_API_PER_THREAD(symbol, base, name, version, status) \
  constexpr char kTraceName_##symbol[] = #symbol;
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API

[[gnu::constructor]] void InstallTrace() {
  if (!TraceEnabled()) return;
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  cerberus_slot_##symbol = reinterpret_cast<void*>(                       \
      Traced<&CERB_TARGET_##status(symbol), kTraceName_##symbol>::Call);
#define CUDA_API_PER_THREAD(symbol, base, name, version, status)             \
  cerberus_slot_##symbol =                                                   \
      reinterpret_cast<void*>(Traced<&CERB_TARGET_PT_##status(symbol, base), \
                                     kTraceName_##symbol>::Call);
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API
}

}  // namespace

namespace {

// Given also to callers that ask as for CUDA 2.0, though CUDA's headers have
// them since 2.2 and 9.0: NVIDIA's numba-cuda-mlir asks so, and launches
// nothing without them.
constexpr const char* kGivenToAll[] = {"cuFuncGetAttribute",
                                       "cuFuncSetAttribute"};

bool GivenTo(const ApiRow& row, int version) {
  if (row.version <= version) return true;
  for (const char* symbol : kGivenToAll) {
    if (std::strcmp(row.symbol, symbol) == 0) return true;
  }
  return false;
}

}  // namespace

ProcLookup FindProc(const char* name, int version, bool per_thread,
                    void** function) {
  *function = nullptr;
  const ApiRow* best = nullptr;
  bool known = false;
  for (std::uint16_t at = kNames.First(name); at != NameTable::kEnd;
       at = kNames.Next(at)) {
    const ApiRow& row = kRows[at];
    if (row.per_thread && !per_thread) continue;
    if (std::strcmp(row.name, name) != 0) continue;
    known = true;
    if (!GivenTo(row, version)) continue;
    const bool better = best == nullptr || (row.per_thread != best->per_thread
                                                ? row.per_thread
                                                : row.version > best->version);
    if (better) best = &row;
  }
  if (!known) return ProcLookup::kUnknownName;
  if (best == nullptr) return ProcLookup::kVersionTooOld;
  // An older implemented ABI must not stand in for a newer one that is not:
  // the caller would use it with the newer one's arguments.
  if (best->status == ApiStatus::kUnsupported) return ProcLookup::kUnknownName;
  *function = *best->slot;
  return ProcLookup::kFound;
}

CUresult ErrorOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    Log(LogLevel::kError, "out of host memory");
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "unexpected: %s", error.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

hipStream_t DefaultStream() { return t_default_stream; }

PerThreadStreamScope::PerThreadStreamScope() : outer_(t_default_stream) {
  t_default_stream = HipPerThreadStream();
}
PerThreadStreamScope::~PerThreadStreamScope() { t_default_stream = outer_; }

}  // namespace cerberus::stub
