// Green contexts: contexts whose streams use a part of a device's
// multiprocessors, by HIP's masks of compute units.
#ifndef CERBERUS_RUNTIME_STUB_DEVICE_GREEN_CONTEXT_H_
#define CERBERUS_RUNTIME_STUB_DEVICE_GREEN_CONTEXT_H_

#include <bitset>
#include <cstddef>
#include <cstdint>

#include "runtime-stub/device/context.h"

namespace cerberus::stub {

// Which multiprocessors, as HIP counts them. AMD's largest GPU has 304.
inline constexpr std::size_t kMostMultiprocessors = 512;
using Multiprocessors = std::bitset<kMostMultiprocessors>;

struct GreenContext {
  Context* context = nullptr;
  Multiprocessors multiprocessors;

  // cudart takes the handle of a green context and that of its context for
  // one.
  CUgreenCtx handle() const {
    return reinterpret_cast<CUgreenCtx>(context->handle());
  }
};

// Whether it is a green context's. Quick while there are none.
bool IsGreen(CUcontext handle);

// A stream of the context that keeps to its multiprocessors.
hipError_t CreateGreenStream(const GreenContext& green, hipStream_t* stream);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_DEVICE_GREEN_CONTEXT_H_
