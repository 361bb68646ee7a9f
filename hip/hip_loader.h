// HIP, found at run time.
//
//   std::string why;
//   if (LoadHip(path, HipBinding::kNow, &why)) hip.hipMalloc(&pointer, bytes);
//
// `hip` holds every function of hip_api.def. Optional ones are looked up at
// their first call; those that the library lacks answer hipErrorNotSupported.
// Once loaded, a library stays for the life of the process.
#ifndef CERBERUS_HIP_HIP_LOADER_H_
#define CERBERUS_HIP_HIP_LOADER_H_

#include <atomic>
#include <string>

#include "hip/hip_abi.h"

namespace cerberus {

// A pointer to a function of HIP. The first call may replace it, in several
// threads at once.
template <typename F>
class HipFunction;
template <typename... Args>
class HipFunction<hipError_t(Args...)> {
 public:
  using Pointer = hipError_t (*)(Args...);

  HipFunction() = default;
  HipFunction(const HipFunction& other) : HipFunction() { *this = other; }
  HipFunction& operator=(const HipFunction& other) {
    return *this = other.pointer_.load(std::memory_order_relaxed);
  }
  HipFunction& operator=(Pointer pointer) {
    pointer_.store(pointer, std::memory_order_relaxed);
    return *this;
  }
  bool set() const { return pointer_.load(std::memory_order_relaxed); }
  hipError_t operator()(Args... args) const {
    return pointer_.load(std::memory_order_relaxed)(args...);
  }

 private:
  std::atomic<Pointer> pointer_{nullptr};
};

struct Hip {
#define HIP_FN(need, name, parameters) HipFunction<hipError_t parameters> name;
#include "hip/hip_api.def"
#undef HIP_FN
  void* library = nullptr;
  int major = 0;     // of HIP's version: 5, 6, 7
  std::string path;  // as opened
  bool is_before_5_3 = false;
  bool has_cooperative_launch = false;
  bool has_address_range_handles = false;
};
extern Hip& hip;

// How the library's own symbols are bound: all at once, so that one which does
// not fit the rest of the system is not used, or, for one that comes with us,
// when they are called, which is a part of a short program's start.
enum class HipBinding { kNow, kLazy };

// Opens a library by name or path and fills `hip`. On failure `hip` is
// unchanged, and `why` says what was wrong.
bool LoadHip(const std::string& path, HipBinding binding, std::string* why);

// The names under which AMD's runtime is looked for, best first.
const char* const* AmdRuntimeNames();  // nullptr-terminated

// What kind of memory a pointer leads to, in every version's numbers.
enum class MemoryKind { kUnregistered, kHost, kDevice, kManaged };
MemoryKind KindOf(const hipPointerAttribute_t& attributes, int hip_major);

// The device's target id ("gfx942:sramecc+:xnack-"), or "".
std::string ArchNameOf(int hip_device);

}  // namespace cerberus

#endif  // CERBERUS_HIP_HIP_LOADER_H_
