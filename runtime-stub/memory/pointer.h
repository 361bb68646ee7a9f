// A pointer says where it belongs: host and all devices have one address
// space.
#ifndef CERBERUS_RUNTIME_STUB_MEMORY_POINTER_H_
#define CERBERUS_RUNTIME_STUB_MEMORY_POINTER_H_

#include <cstddef>

#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/device/context.h"

namespace cerberus::stub {

// The current context, else the primary one of the device that has the
// memory; to be used (UseContext).
CUresult UsePointer(CUdeviceptr address, Context** context);

// Whether nothing is known against touching these bytes: false, if they begin
// in a range that was reserved, and run out of what is mapped there.
bool IsMapped(const void* pointer, std::size_t bytes);

// How far behind the begin of what is mapped there.
std::size_t OffsetInMapping(CUdeviceptr address);
inline constexpr std::size_t kNotMapped = ~std::size_t{0};

// Declares `context`, the one for work on that memory, or returns the error.
#define CERB_POINTER(context, address)                     \
  ::cerberus::stub::Context* context = nullptr;            \
  if (CUresult cerb_pointer_result =                       \
          ::cerberus::stub::UsePointer(address, &context); \
      cerb_pointer_result != CUDA_SUCCESS)                 \
  return cerb_pointer_result

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MEMORY_POINTER_H_
