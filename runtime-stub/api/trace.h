// CERBERUS_TRACE=FILE: every driver call as an event of Chrome's trace
// format, which Perfetto reads.
//
// With the variable set, the slots of all functions lead through a recorder
// that dispatch.cc makes from the table; without it nothing is in their way.
#ifndef CERBERUS_RUNTIME_STUB_API_TRACE_H_
#define CERBERUS_RUNTIME_STUB_API_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

// Read once, before the first call.
bool TraceEnabled();

// One call. Its text is kept on the stack: recording allocates nothing.
class TraceEvent {
 public:
  explicit TraceEvent(const char* name);
  template <typename T>
  void Argument(T value) {
    if constexpr (std::is_same_v<T, const char*>) {
      Text(value);
    } else if constexpr (std::is_same_v<T, CUfunction> ||
                         std::is_same_v<T, CUkernel>) {
      KernelName(value);
    } else if constexpr (std::is_pointer_v<T>) {
      Pointer(reinterpret_cast<const void*>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      Number(static_cast<double>(value));
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      if constexpr (std::is_signed_v<T>) {
        Integer(static_cast<std::int64_t>(value));
      } else if constexpr (std::is_same_v<T, CUdeviceptr>) {
        Pointer(reinterpret_cast<const void*>(value));
      } else {
        Unsigned(static_cast<std::uint64_t>(value));
      }
    } else {
      Text("(structure)");
    }
  }
  // Writes the event.
  void End(CUresult result);

 private:
  void Text(const char* text);
  void KernelName(const void* handle);
  void Pointer(const void* pointer);
  void Number(double value);
  void Integer(std::int64_t value);
  void Unsigned(std::uint64_t value);
  [[gnu::format(printf, 2, 3)]] void Field(const char* format, ...);

  std::uint64_t begin_;
  int arguments_ = 0;
  std::size_t used_ = 0;
  char text_[2048];
};

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_API_TRACE_H_
