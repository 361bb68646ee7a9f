// Streams: HIP's, with what CUDA asks about them.
#ifndef CERBERUS_RUNTIME_STUB_STREAM_H_
#define CERBERUS_RUNTIME_STUB_STREAM_H_

#include <cstdint>

#include "runtime-stub/context.h"
#include "runtime-stub/cuda_abi.h"
#include "runtime-stub/hip_abi.h"

namespace cerberus::stub {

struct Stream {
  // Distinguishes a stream from what a program passes by mistake.
  static constexpr std::uint32_t kAlive = 0x4d525453;  // "STRM"

  std::uint32_t alive = kAlive;
  unsigned flags = 0;
  int priority = 0;
  int sync_policy = 1;  // CU_SYNC_POLICY_AUTO
  std::uint64_t id = 0;
  Context* context = nullptr;
  hipStream_t hip_stream = nullptr;

  CUstream handle() { return reinterpret_cast<CUstream>(this); }
};

// HIP's stream for a CUDA handle: null and CU_STREAM_LEGACY are the device's
// null stream, unless the call is a per-thread variant (then null is the
// thread's own), CU_STREAM_PER_THREAD is HIP's. Errors:
// CUDA_ERROR_INVALID_HANDLE.
CUresult HipStreamOf(CUstream stream, hipStream_t* out);

// Declares `name`, the HIP stream of `stream`, or returns the error.
#define CERB_STREAM(name, stream)                       \
  hipStream_t name = nullptr;                           \
  if (CUresult cerb_stream_result =                     \
          ::cerberus::stub::HipStreamOf(stream, &name); \
      cerb_stream_result != CUDA_SUCCESS)               \
  return cerb_stream_result

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_STREAM_H_
