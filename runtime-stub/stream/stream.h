// Streams: HIP's, with what CUDA asks about them.
#ifndef CERBERUS_RUNTIME_STUB_STREAM_STREAM_H_
#define CERBERUS_RUNTIME_STUB_STREAM_STREAM_H_

#include <cstdint>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/device/context.h"

namespace cerberus::stub {

struct Stream {
  // Distinguishes a stream from what a program passes by mistake.
  static constexpr std::uint32_t kAlive = 0x4d525453;  // "STRM"

  std::uint32_t alive = kAlive;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  Context* context = nullptr;
  hipStream_t hip_stream = nullptr;
  StreamAttributes attributes;  // guarded by the context's mutex

  CUstream handle() { return reinterpret_cast<CUstream>(this); }
};

// The stream and its context, to be used (UseContext). Streams that are no
// objects, for which `stream` becomes null, are those of the current context:
// without one they mean nothing. Errors: CUDA_ERROR_INVALID_HANDLE.
CUresult FindStream(CUstream handle, Context** context, Stream** stream);

// The same with HIP's stream: null and CU_STREAM_LEGACY are the device's null
// stream, unless the call is a per-thread variant (then null is the thread's
// own), CU_STREAM_PER_THREAD is HIP's.
CUresult UseStream(CUstream handle, Context** context, hipStream_t* stream);

// Whether a launch, a stream or a node can have the attribute with that value.
bool IsSoundAttribute(int id, const CUlaunchAttributeValue& value);

// HIP's for a handle that stands for no object.
hipStream_t HipDefaultStream(CUstream handle);

// Declares `context` and `stream`, HIP's, of the handle, or returns the error.
#define CERB_STREAM(context, stream, handle)                      \
  ::cerberus::stub::Context* context = nullptr;                   \
  hipStream_t stream = nullptr;                                   \
  if (CUresult cerb_stream_result =                               \
          ::cerberus::stub::UseStream(handle, &context, &stream); \
      cerb_stream_result != CUDA_SUCCESS)                         \
  return cerb_stream_result

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_STREAM_STREAM_H_
