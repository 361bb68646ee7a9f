// HIP's own objects under CUDA's handles: events, memory and semaphores of
// other interfaces. Which context each belongs to is remembered here, since a
// program may hand one to a thread that has none.
#ifndef CERBERUS_RUNTIME_STUB_API_HANDLE_H_
#define CERBERUS_RUNTIME_STUB_API_HANDLE_H_

#include <cstdint>

#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/device/context.h"

namespace cerberus::stub {

enum class HandleKind : std::uint8_t {
  kEvent,
  kExternalMemory,
  kExternalSemaphore
};

void RememberHandle(HandleKind kind, const void* handle, Context* context);
void ForgetHandle(const void* handle);

// The handle's context, to be used (UseContext). Errors:
// CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_HANDLE.
CUresult UseHandle(HandleKind kind, const void* handle, Context** context);

// Remembers what HIP has just made, or undoes it for want of memory.
template <typename Handle, typename Destroy>
void RememberNewHandle(HandleKind kind, Handle handle, Context* context,
                       Destroy destroy) {
  try {
    RememberHandle(kind, handle, context);
  } catch (...) {
    destroy(handle);
    throw;
  }
}

// Declares `context`, that of the handle, or returns the error.
#define CERB_HANDLE(context, kind, handle)                       \
  ::cerberus::stub::Context* context = nullptr;                  \
  if (CUresult cerb_handle_result = ::cerberus::stub::UseHandle( \
          ::cerberus::stub::HandleKind::kind, handle, &context); \
      cerb_handle_result != CUDA_SUCCESS)                        \
  return cerb_handle_result

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_API_HANDLE_H_
