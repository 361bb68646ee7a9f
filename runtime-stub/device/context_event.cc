// cuCtxRecordEvent and cuCtxWaitEvent: an event of all streams of a context
// at once. HIP knows events of one stream.
#include <algorithm>
#include <mutex>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/provider.h"
#include "runtime-stub/stream/stream.h"

namespace cerberus::stub {
namespace {

constexpr unsigned kDisableTiming = 2;
constexpr unsigned kNonBlocking = 1;

// What is given to `to` from now on waits for what `from` has by now.
hipError_t Follow(hipStream_t to, hipStream_t from) {
  hipEvent_t event = nullptr;
  hipError_t error = hip.hipEventCreateWithFlags(&event, kDisableTiming);
  if (error != hipSuccess) return error;
  error = hip.hipEventRecord(event, from);
  if (error == hipSuccess) error = hip.hipStreamWaitEvent(to, event, 0);
  hip.hipEventDestroy(event);
  return error;
}

// A stream of the stub's own, made once.
hipError_t Make(hipStream_t* stream) {
  if (*stream != nullptr) return hipSuccess;
  return hip.hipStreamCreateWithFlags(stream, kNonBlocking);
}

// All streams of the context that can be named: those that were created, the
// null stream, and the calling thread's own. Needs its mutex.
std::vector<hipStream_t> StreamsOf(const Context& context) {
  std::vector<hipStream_t> streams = context.streams;
  streams.push_back(nullptr);
  streams.push_back(HipPerThreadStream());
  return streams;
}

// Makes `handle`'s device HIP's for the scope; the next call chooses its own.
CUresult Choose(CUcontext handle, Context** out) {
  *out = ContextOf(handle);
  return *out != nullptr ? Activate(*out) : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

hipError_t RegisterStream(Context* context, hipStream_t stream) {
  std::lock_guard<std::mutex> lock(context->mutex);
  context->streams.push_back(stream);
  return context->gate != nullptr ? Follow(stream, context->gate) : hipSuccess;
}

void UnregisterStream(Context* context, hipStream_t stream) {
  std::lock_guard<std::mutex> lock(context->mutex);
  auto& streams = context->streams;
  streams.erase(std::remove(streams.begin(), streams.end(), stream),
                streams.end());
}

void ForgetStreams(Context* context) {
  std::lock_guard<std::mutex> lock(context->mutex);
  context->streams.clear();
  context->recorder = context->gate = nullptr;
}

namespace api {

CUresult cuCtxRecordEvent(CUcontext handle, CUevent event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Context* context = nullptr;
  if (CUresult r = Choose(handle, &context); r != CUDA_SUCCESS) return r;
  std::lock_guard<std::mutex> lock(context->mutex);
  hipError_t error = Make(&context->recorder);
  for (hipStream_t stream : StreamsOf(*context)) {
    if (error == hipSuccess) error = Follow(context->recorder, stream);
  }
  if (error == hipSuccess) {
    error = hip.hipEventRecord(reinterpret_cast<hipEvent_t>(event),
                               context->recorder);
  }
  return NoteResult(context, error);
}

// Streams that are made later wait too: for the gate.
CUresult cuCtxWaitEvent(CUcontext handle, CUevent event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Context* context = nullptr;
  if (CUresult r = Choose(handle, &context); r != CUDA_SUCCESS) return r;
  std::lock_guard<std::mutex> lock(context->mutex);
  hipError_t error = Make(&context->gate);
  std::vector<hipStream_t> streams = StreamsOf(*context);
  streams.push_back(context->gate);
  for (hipStream_t stream : streams) {
    if (error != hipSuccess) break;
    error =
        hip.hipStreamWaitEvent(stream, reinterpret_cast<hipEvent_t>(event), 0);
  }
  return NoteResult(context, error);
}

}  // namespace api
}  // namespace cerberus::stub
