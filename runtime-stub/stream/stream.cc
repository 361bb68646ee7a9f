#include "runtime-stub/stream/stream.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/dispatch.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/api/handle.h"
#include "runtime-stub/device/green_context.h"
#include "runtime-stub/device/provider.h"
#include "runtime-stub/launch/services.h"
#include "runtime-stub/stream/capture.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// Ids of the streams that are no objects come first.
constexpr std::uint64_t kLegacyStreamId = 1;
constexpr std::uint64_t kPerThreadStreamId = 2;
std::atomic<std::uint64_t> g_next_stream_id{3};

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

// Declares `context`, the handle's, and `stream`, null for the streams that
// are no objects, or returns the error.
#define CERB_STREAM_OBJECT(context, stream, handle)                        \
  Context* context = nullptr;                                              \
  Stream* stream = nullptr;                                                \
  if (CUresult cerb_stream_result = FindStream(handle, &context, &stream); \
      cerb_stream_result != CUDA_SUCCESS)                                  \
  return cerb_stream_result

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

// HIP before 5.3 launches no kernels into its stream of a thread. There it is
// one of the stub's own, of each context that the thread works in; when the
// thread ends it is there for others.
using Streams = std::multimap<Context*, CUstream>;
std::mutex g_idle_mutex;
NeverDestroyed<Streams> g_idle_streams;
struct ThreadStreams {
  Streams streams;
  ~ThreadStreams() {
    std::lock_guard<std::mutex> lock(g_idle_mutex);
    (*g_idle_streams).merge(streams);
  }
};
thread_local ThreadStreams t_streams;

bool HasStream(Context* context, hipStream_t stream) {
  std::lock_guard<std::mutex> lock(context->mutex);
  const auto& all = context->streams;
  return std::find(all.begin(), all.end(), stream) != all.end();
}

CUresult ThreadStream(Context* context, Stream** out) {
  Streams& mine = t_streams.streams;
  auto at = mine.find(context);
  if (at == mine.end()) {
    std::lock_guard<std::mutex> lock(g_idle_mutex);
    if (auto idle = (*g_idle_streams).extract(context)) {
      at = mine.insert(std::move(idle));
    }
  }
  if (at == mine.end()) at = mine.emplace(context, nullptr);
  CUresult result = StreamOf(at->second, out);
  // None yet, or a reset has ended it.
  if (*out == nullptr || !HasStream(context, (*out)->hip_stream)) {
    result = CreateStream(context, &at->second, 0, 0, false);
    if (result == CUDA_SUCCESS) result = StreamOf(at->second, out);
  }
  return result;
}

bool IsStreamAttribute(int id) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return true;
    default: return false;
  }
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

CUresult FindStream(CUstream handle, Context** context, Stream** stream) {
  if (CUresult r = StreamOf(handle, stream); r != CUDA_SUCCESS) return r;
  if (*stream == nullptr) {
    const CUresult result = CurrentContext(context);
    return result == CUDA_SUCCESS && hip.is_before_5_3 && IsPerThread(handle)
               ? ThreadStream(*context, stream)
               : result;
  }
  *context = (*stream)->context;
  return UseContext(*context);
}

CUresult UseStream(CUstream handle, Context** context, hipStream_t* out) {
  Stream* stream = nullptr;
  const CUresult result = FindStream(handle, context, &stream);
  *out = stream != nullptr ? stream->hip_stream : HipDefaultStream(handle);
  return result;
}

bool IsSoundAttribute(int id, const CUlaunchAttributeValue& value) {
  constexpr int kStreaming = 1, kPersisting = 2;  // CUaccessProperty
  constexpr int kFirstPolicy = 1, kLastPolicy = 4;
  const CUaccessPolicyWindow& window = value.accessPolicyWindow;
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return window.hitRatio >= 0 && window.hitRatio <= 1 &&
             window.hitProp >= 0 && window.hitProp <= kPersisting &&
             window.missProp >= 0 && window.missProp <= kStreaming;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return value.syncPolicy >= kFirstPolicy &&
             value.syncPolicy <= kLastPolicy;
    default: return true;
  }
}

hipStream_t HipDefaultStream(CUstream handle) {
  if (handle == PerThreadStream()) return HipPerThreadStream();
  return handle == LegacyStream() ? nullptr : DefaultStream();
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
  CERB_STREAM_OBJECT(context, stream, handle);
  if (stream == nullptr || stream->handle() != handle) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  UnregisterStream(context, stream->hip_stream);
  const hipError_t error = hip.hipStreamDestroy(stream->hip_stream);
  stream->alive = 0;
  delete stream;
  return NoteResult(context, error);
}
CUresult cuStreamDestroy(CUstream handle) { return cuStreamDestroy_v2(handle); }

CUresult cuStreamQuery(CUstream handle) {
  CERB_STREAM(context, stream, handle);
  if (BreaksCapture(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return NoteResult(context, hip.hipStreamQuery(stream));
}

CUresult cuStreamSynchronize(CUstream handle) {
  CERB_STREAM(context, stream, handle);
  if (BreaksCapture(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const hipError_t error = hip.hipStreamSynchronize(stream);
  FlushOutput(context->device);
  return NoteResult(context, error);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  CERB_STREAM(context, stream, handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags > kExternal) return CUDA_ERROR_INVALID_VALUE;
  if (flags == kExternal && Captures(stream)) {
    return CaptureNode(stream, [event](auto... at) {
      return api::cuGraphAddEventWaitNode(at..., event);
    });
  }
  return NoteResult(
      context,
      hip.hipStreamWaitEvent(stream, reinterpret_cast<hipEvent_t>(event), 0));
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback,
                             void* user_data, unsigned flags) {
  CERB_STREAM(context, stream, handle);
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  auto call = std::make_unique<PendingCallback>(
      PendingCallback{callback, handle, user_data});
  const hipError_t error =
      hip.hipStreamAddCallback(stream, RunCallback, call.get(), 0);
  if (error == hipSuccess) call.release();
  return NoteResult(context, error);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* user_data) {
  CERB_STREAM(context, stream, handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (Captures(stream)) {
    const CUDA_HOST_NODE_PARAMS params = {function, user_data};
    return CaptureNode(stream, [&params](auto... at) {
      return api::cuGraphAddHostNode(at..., &params);
    });
  }
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

// How the thread that calls host functions waits for work is HIP's choice.
CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function,
                             void* user_data, unsigned sync_mode) {
  constexpr unsigned kBlocking = 0, kSpinWait = 1;
  if (sync_mode != kBlocking && sync_mode != kSpinWait) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return cuLaunchHostFunc(stream, function, user_data);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM_OBJECT(context, stream, handle);
  *flags = stream != nullptr ? stream->flags : 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM_OBJECT(context, stream, handle);
  *priority = stream != nullptr ? stream->priority : 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM_OBJECT(context, stream, handle);
  *id = stream != nullptr     ? stream->id
        : IsPerThread(handle) ? kPerThreadStreamId
                              : kLegacyStreamId;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM_OBJECT(context, stream, handle);
  *out = context->handle();
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
  CERB_STREAM_OBJECT(context, stream, handle);
  *out = context->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_STREAM(context, stream, handle);
  *status = 0;
  const hipError_t error = hip.hipStreamIsCapturing(stream, status);
  *status = CaptureStatus(stream, *status);
  return error == hipErrorNotSupported ? CUDA_SUCCESS
                                       : NoteResult(context, error);
}

// Managed memory is visible to all streams at all times here.
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr pointer,
                                std::size_t bytes, unsigned flags) {
  CERB_STREAM(context, stream, handle);
  const hipError_t error = hip.hipStreamAttachMemAsync(
      stream, reinterpret_cast<void*>(pointer), bytes, flags);
  return error == hipErrorNotSupported ? CUDA_SUCCESS
                                       : NoteResult(context, error);
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id,
                              CUstreamAttrValue* value) {
  if (value == nullptr || !IsStreamAttribute(id)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_STREAM_OBJECT(context, stream, handle);
  std::memset(value, 0, sizeof *value);
  std::lock_guard<std::mutex> lock(context->mutex);
  const StreamAttributes& attributes =
      stream != nullptr ? stream->attributes : context->attributes;
  const auto at = attributes.find(id);
  if (at != attributes.end()) {
    *value = at->second;
  } else if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
    value->priority = stream != nullptr ? stream->priority : 0;
  } else if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) {
    value->syncPolicy = 1;  // CU_SYNC_POLICY_AUTO
  }
  return CUDA_SUCCESS;
}

// Attributes are hints (cache policy, how to wait); none changes results. HIP
// fixes a stream's priority when it is made.
CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id,
                              const CUstreamAttrValue* value) {
  if (value == nullptr || !IsStreamAttribute(id) ||
      !IsSoundAttribute(id, *value)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_STREAM_OBJECT(context, stream, handle);
  if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) return CUDA_SUCCESS;
  std::lock_guard<std::mutex> lock(context->mutex);
  (stream != nullptr ? stream->attributes : context->attributes)[id] = *value;
  return CUDA_SUCCESS;
}
CUresult cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle) {
  CERB_STREAM_OBJECT(from_context, from, from_handle);
  CERB_STREAM_OBJECT(context, to, to_handle);
  if (from_context != context) return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard<std::mutex> lock(context->mutex);
  const StreamAttributes attributes =
      from != nullptr ? from->attributes : context->attributes;
  (to != nullptr ? to->attributes : context->attributes) = attributes;
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
  hipEvent_t event = nullptr;
  const hipError_t error = hip.hipEventCreateWithFlags(&event, flags);
  if (error != hipSuccess) return NoteResult(context, error);
  RememberNewHandle(HandleKind::kEvent, event, context,
                    [](hipEvent_t made) { hip.hipEventDestroy(made); });
  *out = reinterpret_cast<CUevent>(event);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  CERB_HANDLE(context, kEvent, event);
  ForgetHandle(event);
  return NoteResult(context,
                    hip.hipEventDestroy(reinterpret_cast<hipEvent_t>(event)));
}
CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

CUresult cuEventRecord(CUevent event, CUstream handle) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CERB_STREAM(context, stream, handle);
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
  CERB_STREAM(context, stream, handle);
  if (Captures(stream)) {
    return CaptureNode(stream, [event](auto... at) {
      return api::cuGraphAddEventRecordNode(at..., event);
    });
  }
  const hipError_t error = hip.hipEventRecordWithFlags(
      reinterpret_cast<hipEvent_t>(event), stream, kExternal);
  return error == hipErrorNotSupported ? cuEventRecord(event, handle)
                                       : NoteResult(context, error);
}

CUresult cuEventQuery(CUevent event) {
  CERB_HANDLE(context, kEvent, event);
  return NoteResult(context,
                    hip.hipEventQuery(reinterpret_cast<hipEvent_t>(event)));
}

CUresult cuEventSynchronize(CUevent event) {
  CERB_HANDLE(context, kEvent, event);
  const hipError_t error =
      hip.hipEventSynchronize(reinterpret_cast<hipEvent_t>(event));
  FlushOutput(context->device);
  return NoteResult(context, error);
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start,
                               CUevent end) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_HANDLE(end_context, kEvent, end);
  CERB_HANDLE(context, kEvent, start);
  if (context->device != end_context->device) return CUDA_ERROR_INVALID_HANDLE;
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
