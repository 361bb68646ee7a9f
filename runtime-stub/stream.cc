#include "runtime-stub/stream.h"

#include <atomic>
#include <cstring>
#include <memory>

#include "runtime-stub/api.h"
#include "runtime-stub/dispatch.h"
#include "runtime-stub/error.h"
#include "runtime-stub/green_context.h"
#include "runtime-stub/hip_loader.h"
#include "runtime-stub/provider.h"
#include "runtime-stub/services.h"

namespace cerberus::stub {
namespace {

// Ids of the streams that are no objects come first.
constexpr std::uint64_t kLegacyStreamId = 1;
constexpr std::uint64_t kPerThreadStreamId = 2;
std::atomic<std::uint64_t> g_next_stream_id{3};

// CUstreamAttrID, of those that a stream has here.
constexpr int kAttributePriority = 8;
constexpr int kAttributeSynchronizationPolicy = 3;

// CU_EVENT_RECORD_EXTERNAL and CU_EVENT_WAIT_EXTERNAL.
constexpr unsigned kExternal = 1;

// Null for the streams that are no objects.
CUresult StreamOf(CUstream handle, Stream** out) {
  *out = nullptr;
  if (handle == nullptr || handle == LegacyStream() ||
      handle == PerThreadStream()) {
    return CUDA_SUCCESS;
  }
  auto* stream = reinterpret_cast<Stream*>(handle);
  if (stream->alive != Stream::kAlive) return CUDA_ERROR_INVALID_HANDLE;
  *out = stream;
  return CUDA_SUCCESS;
}

bool IsPerThread(CUstream handle) {
  return handle == PerThreadStream() ||
         (handle == nullptr && DefaultStream() == HipPerThreadStream());
}

CUresult CreateStream(Context* context, CUstream* out, unsigned flags,
                      int priority, bool with_priority) {
  if (out == nullptr || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto stream = std::make_unique<Stream>();
  hipError_t error = hipErrorNotSupported;
  if (context->green != nullptr) {
    error = CreateGreenStream(*context->green, &stream->hip_stream);
  } else if (with_priority) {
    error =
        hip.hipStreamCreateWithPriority(&stream->hip_stream, flags, priority);
  }
  if (error == hipErrorNotSupported) {
    error = hip.hipStreamCreateWithFlags(&stream->hip_stream, flags);
  }
  if (error != hipSuccess) return NoteResult(context, error);
  try {
    error = RegisterStream(context, stream->hip_stream);
  } catch (...) {
    hip.hipStreamDestroy(stream->hip_stream);
    throw;
  }
  if (error != hipSuccess) return NoteResult(context, error);
  stream->flags = flags;
  stream->priority = priority;
  stream->id = g_next_stream_id.fetch_add(1);
  stream->context = context;
  *out = stream.release()->handle();
  return CUDA_SUCCESS;
}

// HIP's callbacks get HIP's stream and error; CUDA's expect CUDA's.
struct PendingCallback {
  CUstreamCallback function;
  CUstream stream;
  void* user_data;
};
void RunCallback(hipStream_t, hipError_t status, void* data) {
  const std::unique_ptr<PendingCallback> call(
      static_cast<PendingCallback*>(data));
  // Which device the stream is of does not matter: CUDA shows what was
  // printed before the callback runs.
  for (int i = 0; i < DeviceCount(); ++i) FlushOutput(GetDevice(i));
  call->function(call->stream, FromHip(status), call->user_data);
}

struct PendingHostFunction {
  CUhostFn function;
  void* user_data;
};
void RunHostFunction(hipStream_t, hipError_t, void* data) {
  const std::unique_ptr<PendingHostFunction> call(
      static_cast<PendingHostFunction*>(data));
  call->function(call->user_data);
}

}  // namespace

CUresult HipStreamOf(CUstream handle, hipStream_t* out) {
  if (handle == nullptr) {
    *out = DefaultStream();
    return CUDA_SUCCESS;
  }
  if (handle == LegacyStream()) {
    *out = nullptr;
    return CUDA_SUCCESS;
  }
  if (handle == PerThreadStream()) {
    *out = HipPerThreadStream();
    return CUDA_SUCCESS;
  }
  const auto* stream = reinterpret_cast<const Stream*>(handle);
  if (__builtin_expect(stream->alive != Stream::kAlive, 0)) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *out = stream->hip_stream;
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  CERB_CONTEXT(context);
  return CreateStream(context, stream, flags, 0, false);
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags,
                                    int priority) {
  CERB_CONTEXT(context);
  return CreateStream(context, stream, flags, priority, true);
}
CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx handle,
                                unsigned flags, int priority) {
  CUcontext context = nullptr;
  if (CUresult r = cuCtxFromGreenCtx(&context, handle); r != CUDA_SUCCESS) {
    return r;
  }
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  Context* green = ContextOf(context);
  if (CUresult r = Activate(green); r != CUDA_SUCCESS) return r;
  return CreateStream(green, stream, flags, priority, true);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  if (Exiting()) return CUDA_ERROR_DEINITIALIZED;
  Stream* stream = nullptr;
  if (CUresult r = StreamOf(handle, &stream); r != CUDA_SUCCESS) return r;
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CERB_CONTEXT(context);
  UnregisterStream(stream->context, stream->hip_stream);
  const hipError_t error = hip.hipStreamDestroy(stream->hip_stream);
  stream->alive = 0;
  delete stream;
  return NoteResult(context, error);
}
CUresult cuStreamDestroy(CUstream handle) { return cuStreamDestroy_v2(handle); }

CUresult cuStreamQuery(CUstream handle) {
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  return NoteResult(context, hip.hipStreamQuery(stream));
}

CUresult cuStreamSynchronize(CUstream handle) {
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  const hipError_t error = hip.hipStreamSynchronize(stream);
  FlushOutput(context->device);
  return NoteResult(context, error);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags > kExternal) return CUDA_ERROR_INVALID_VALUE;
  return NoteResult(
      context,
      hip.hipStreamWaitEvent(stream, reinterpret_cast<hipEvent_t>(event), 0));
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback,
                             void* user_data, unsigned flags) {
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  auto call = std::make_unique<PendingCallback>(
      PendingCallback{callback, handle, user_data});
  const hipError_t error =
      hip.hipStreamAddCallback(stream, RunCallback, call.get(), 0);
  if (error == hipSuccess) call.release();
  return NoteResult(context, error);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* user_data) {
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  hipError_t error = hip.hipLaunchHostFunc(stream, function, user_data);
  if (error == hipErrorNotSupported) {
    // HIP before 5.3 has callbacks only, which do the same here.
    auto call = std::make_unique<PendingHostFunction>(
        PendingHostFunction{function, user_data});
    error = hip.hipStreamAddCallback(stream, RunHostFunction, call.get(), 0);
    if (error == hipSuccess) call.release();
  }
  return NoteResult(context, error);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = nullptr;
  if (CUresult r = StreamOf(handle, &stream); r != CUDA_SUCCESS) return r;
  *flags = stream != nullptr ? stream->flags : 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = nullptr;
  if (CUresult r = StreamOf(handle, &stream); r != CUDA_SUCCESS) return r;
  *priority = stream != nullptr ? stream->priority : 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = nullptr;
  if (CUresult r = StreamOf(handle, &stream); r != CUDA_SUCCESS) return r;
  *id = stream != nullptr     ? stream->id
        : IsPerThread(handle) ? kPerThreadStreamId
                              : kLegacyStreamId;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  Stream* stream = nullptr;
  if (CUresult r = StreamOf(handle, &stream); r != CUDA_SUCCESS) return r;
  *out = (stream != nullptr ? stream->context : context)->handle();
  return CUDA_SUCCESS;
}
CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUcontext context = nullptr;
  if (CUresult r = cuStreamGetCtx(handle, &context); r != CUDA_SUCCESS) {
    return r;
  }
  GreenContext* green = ContextOf(context)->green;
  *out = green != nullptr ? green->handle() : nullptr;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* out, CUgreenCtx* green) {
  if (CUresult r = cuStreamGetCtx(handle, out); r != CUDA_SUCCESS) return r;
  return green != nullptr ? cuStreamGetGreenCtx(handle, green) : CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  Stream* stream = nullptr;
  if (CUresult r = StreamOf(handle, &stream); r != CUDA_SUCCESS) return r;
  *out = (stream != nullptr ? stream->context : context)->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  *status = 0;
  const hipError_t error = hip.hipStreamIsCapturing(stream, status);
  return error == hipErrorNotSupported ? CUDA_SUCCESS
                                       : NoteResult(context, error);
}

// Managed memory is visible to all streams at all times here.
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr pointer,
                                std::size_t bytes, unsigned flags) {
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  const hipError_t error = hip.hipStreamAttachMemAsync(
      stream, reinterpret_cast<void*>(pointer), bytes, flags);
  return error == hipErrorNotSupported ? CUDA_SUCCESS
                                       : NoteResult(context, error);
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id,
                              CUstreamAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  Stream* stream = nullptr;
  if (CUresult r = StreamOf(handle, &stream); r != CUDA_SUCCESS) return r;
  std::memset(value, 0, sizeof *value);
  if (id == kAttributePriority) {
    value->priority = stream != nullptr ? stream->priority : 0;
  } else if (id == kAttributeSynchronizationPolicy) {
    value->syncPolicy =
        stream != nullptr ? stream->sync_policy : Stream().sync_policy;
  }
  return CUDA_SUCCESS;
}

// Attributes are hints (cache policy, how to wait); none changes results. HIP
// fixes a stream's priority when it is made.
CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id,
                              const CUstreamAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  Stream* stream = nullptr;
  if (CUresult r = StreamOf(handle, &stream); r != CUDA_SUCCESS) return r;
  if (stream != nullptr && id == kAttributeSynchronizationPolicy) {
    stream->sync_policy = value->syncPolicy;
  }
  return CUDA_SUCCESS;
}
CUresult cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle) {
  CERB_CONTEXT(context);
  Stream* to = nullptr;
  Stream* from = nullptr;
  if (CUresult r = StreamOf(to_handle, &to); r != CUDA_SUCCESS) return r;
  if (CUresult r = StreamOf(from_handle, &from); r != CUDA_SUCCESS) return r;
  if (to != nullptr && from != nullptr) to->sync_policy = from->sync_policy;
  return CUDA_SUCCESS;
}

// --- events: HIP's own objects under CUDA's name ---

CUresult cuEventCreate(CUevent* out, unsigned flags) {
  constexpr unsigned kKnown =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (out == nullptr || (flags & ~kKnown) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_CONTEXT(context);
  return NoteResult(context, hip.hipEventCreateWithFlags(
                                 reinterpret_cast<hipEvent_t*>(out), flags));
}

CUresult cuEventDestroy_v2(CUevent event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CERB_CONTEXT(context);
  return NoteResult(context,
                    hip.hipEventDestroy(reinterpret_cast<hipEvent_t>(event)));
}
CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

CUresult cuEventRecord(CUevent event, CUstream handle) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  return NoteResult(
      context, hip.hipEventRecord(reinterpret_cast<hipEvent_t>(event), stream));
}
// With CU_EVENT_RECORD_EXTERNAL a capture makes a node of it, which outside of
// the graph is seen as a record.
CUresult cuEventRecordWithFlags(CUevent event, CUstream handle,
                                unsigned flags) {
  if (flags == 0) return cuEventRecord(event, handle);
  if (flags != kExternal) return CUDA_ERROR_INVALID_VALUE;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CERB_CONTEXT(context);
  CERB_STREAM(stream, handle);
  const hipError_t error = hip.hipEventRecordWithFlags(
      reinterpret_cast<hipEvent_t>(event), stream, kExternal);
  return error == hipErrorNotSupported ? cuEventRecord(event, handle)
                                       : NoteResult(context, error);
}

CUresult cuEventQuery(CUevent event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CERB_CONTEXT(context);
  return NoteResult(context,
                    hip.hipEventQuery(reinterpret_cast<hipEvent_t>(event)));
}

CUresult cuEventSynchronize(CUevent event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CERB_CONTEXT(context);
  const hipError_t error =
      hip.hipEventSynchronize(reinterpret_cast<hipEvent_t>(event));
  FlushOutput(context->device);
  return NoteResult(context, error);
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start,
                               CUevent end) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CERB_CONTEXT(context);
  return NoteResult(
      context,
      hip.hipEventElapsedTime(milliseconds, reinterpret_cast<hipEvent_t>(start),
                              reinterpret_cast<hipEvent_t>(end)));
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // namespace api
}  // namespace cerberus::stub
