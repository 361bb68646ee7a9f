// Streams, events and host functions in stream order.
#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

namespace {

constexpr int kLeastPriority = 1, kGreatestPriority = -1;

hipError_t MakeStream(hipStream_t* out, unsigned flags, int priority) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  if (out == nullptr || (flags & ~hipStreamNonBlocking) != 0) {
    return hipErrorInvalidValue;
  }
  priority = std::min(std::max(priority, kGreatestPriority), kLeastPriority);
  const Stream::Type type = (flags & hipStreamNonBlocking) != 0
                                ? Stream::Type::kNonBlocking
                                : Stream::Type::kBlocking;
  *out = Runtime::Get().AddStream(Stream::Create(gpu, type, flags, priority));
  return hipSuccess;
}

hipError_t Forbid(const std::shared_ptr<Stream>& stream) {
  if (!IsCapturing(stream)) return hipSuccess;
  stream->capture->Invalidate();
  return hipErrorStreamCaptureUnsupported;
}

// hipStreamWaitValue: how the word is compared (hipStreamWaitValueGte, Eq,
// And, Nor).
template <typename T>
bool Satisfied(T word, T value, unsigned flags) {
  using Signed = std::make_signed_t<T>;
  switch (flags) {
    case 0: return static_cast<Signed>(word - value) >= 0;
    case 1: return word == value;
    case 2: return (word & value) != 0;
    default: return static_cast<T>(~(word | value)) != 0;
  }
}

template <typename T>
hipError_t WaitWork(void* pointer, T value, unsigned flags, T mask,
                    const Gpu* gpu, Work* out) {
  if (flags > 3 || !Runtime::Get().Find(pointer)) return hipErrorInvalidValue;
  out->run = [pointer, value, flags, mask, gpu] {
    T* word = static_cast<T*>(pointer);
    while (!Satisfied<T>(__atomic_load_n(word, __ATOMIC_ACQUIRE) & mask,
                         value & mask, flags) &&
           gpu->sticky == hipSuccess) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  };
  return hipSuccess;
}

template <typename T>
hipError_t WriteWork(void* pointer, T value, Work* out) {
  if (!Runtime::Get().Find(pointer)) return hipErrorInvalidValue;
  out->kind = Work::Kind::kSet;
  out->run = [pointer, value] {
    __atomic_store_n(static_cast<T*>(pointer), value, __ATOMIC_RELEASE);
  };
  return hipSuccess;
}

hipError_t OperationWork(const hipStreamBatchMemOpParams& params,
                         const Gpu* gpu, Work* out) {
  const auto& op = params.value;
  const std::uint32_t low = static_cast<std::uint32_t>(op.value);
  switch (params.operation) {
    case hipStreamMemOpWaitValue32:
      return WaitWork(op.address, low, op.flags, ~0u, gpu, out);
    case hipStreamMemOpWaitValue64:
      return WaitWork<std::uint64_t>(op.address, op.value, op.flags,
                                     ~std::uint64_t{0}, gpu, out);
    case hipStreamMemOpWriteValue32: return WriteWork(op.address, low, out);
    case hipStreamMemOpWriteValue64:
      return WriteWork(op.address, op.value, out);
    case hipStreamMemOpBarrier:
    case hipStreamMemOpFlushRemoteWrites:
      out->run = [] {};  // one memory, and a stream runs in order
      return hipSuccess;
    default: return hipErrorInvalidValue;
  }
}

// Queues what `make` makes for the stream's device.
template <typename Make>
hipError_t SubmitTo(hipStream_t handle, Make make) {
  std::shared_ptr<Stream> stream;
  hipError_t error = CurrentStream(handle, &stream);
  Work work;
  if (error == hipSuccess) error = make(stream->gpu(), &work);
  if (error == hipSuccess) stream->Submit(std::move(work));
  return error;
}

template <typename T>
hipError_t WaitValue(hipStream_t handle, void* pointer, T value, unsigned flags,
                     T mask) {
  return SubmitTo(handle, [&](const Gpu* gpu, Work* out) {
    return WaitWork(pointer, value, flags, mask, gpu, out);
  });
}

template <typename T>
hipError_t WriteValue(hipStream_t handle, void* pointer, T value) {
  return SubmitTo(handle, [&](const Gpu*, Work* out) {
    return WriteWork(pointer, value, out);
  });
}

}  // namespace

namespace cerberus::emulator::hip {

hipError_t MemOpsWork(const hipStreamBatchMemOpParams* list, std::size_t count,
                      const Gpu* gpu, Work* out) {
  if (list == nullptr || count == 0 || count > 256) return hipErrorInvalidValue;
  std::vector<Work> steps(count);
  for (std::size_t i = 0; i < count; ++i) {
    const hipError_t error = OperationWork(list[i], gpu, &steps[i]);
    if (error != hipSuccess) return error;
  }
  *out = {Work::Kind::kMemOps,
          [steps = std::move(steps)] {
            for (const Work& step : steps) step.run();
          },
          false,
          std::make_shared<const NodeParams>(
              NodeParams{MemOps(list, list + count)})};
  return hipSuccess;
}

}  // namespace cerberus::emulator::hip

HIP_API hipError_t hipStreamCreate(hipStream_t* stream) {
  return Return(MakeStream(stream, hipStreamDefault, 0));
}
HIP_API hipError_t hipStreamCreateWithFlags(hipStream_t* stream,
                                            unsigned flags) {
  return Return(MakeStream(stream, flags, 0));
}
HIP_API hipError_t hipStreamCreateWithPriority(hipStream_t* stream,
                                               unsigned flags, int priority) {
  return Return(MakeStream(stream, flags, priority));
}
HIP_API hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream,
                                                std::uint32_t size,
                                                const std::uint32_t* mask) {
  if (size == 0 || mask == nullptr) return Return(hipErrorInvalidValue);
  return Return(MakeStream(stream, hipStreamDefault, 0));
}
HIP_API hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamDestroy(hipStream_t handle) {
  if (handle == nullptr || handle == kHipStreamLegacy ||
      handle == kHipStreamPerThread) {
    return Return(hipErrorInvalidHandle);
  }
  std::shared_ptr<Stream> stream = Runtime::Get().RemoveStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  if (IsCapturing(stream)) stream->capture->Leave(stream.get());
  stream->Retire();
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamSynchronize(hipStream_t handle) {
  std::shared_ptr<Stream> stream;
  hipError_t error = CurrentStream(handle, &stream);
  if (error == hipSuccess) error = Forbid(stream);
  if (error != hipSuccess) return Return(error);
  stream->Synchronize();
  return Return(stream->gpu()->sticky);
}

HIP_API hipError_t hipStreamQuery(hipStream_t handle) {
  std::shared_ptr<Stream> stream;
  hipError_t error = CurrentStream(handle, &stream);
  if (error == hipSuccess) error = Forbid(stream);
  if (error != hipSuccess) return Return(error);
  if (!stream->Idle()) return Return(hipErrorNotReady);
  return Return(stream->gpu()->sticky);
}

HIP_API hipError_t hipStreamGetFlags(hipStream_t handle, unsigned* flags) {
  if (flags == nullptr) return Return(hipErrorInvalidValue);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  *flags = stream->flags();
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamGetPriority(hipStream_t handle, int* priority) {
  if (priority == nullptr) return Return(hipErrorInvalidValue);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  *priority = stream->priority();
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t* device) {
  if (device == nullptr) return Return(hipErrorInvalidValue);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  *device = stream->gpu()->ordinal;
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamGetId(hipStream_t handle, unsigned long long* id) {
  if (id == nullptr) return Return(hipErrorInvalidValue);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  *id = stream->id();
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event,
                                      unsigned flags) {
  std::shared_ptr<Stream> stream;
  hipError_t error = CurrentStream(handle, &stream);
  if (error != hipSuccess) return Return(error);
  std::shared_ptr<Event> found = Runtime::Get().FindEvent(event);
  if (!found) return Return(hipErrorInvalidHandle);
  if (flags > 1) return Return(hipErrorInvalidValue);
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> nodes;
  std::shared_ptr<Event::Record> record;
  {
    std::lock_guard<std::mutex> lock(found->mutex);
    capture = found->capture.lock();
    nodes = found->captured_nodes;
    record = found->record;
  }
  if (capture) {
    if (IsCapturing(stream) && stream->capture != capture) {
      return Return(hipErrorStreamCaptureMerge);
    }
    capture->Join(stream.get(), nodes);
    std::lock_guard<std::mutex> lock(stream->gpu()->order);
    stream->capture = capture;
    return Return(hipSuccess);
  }
  if (IsCapturing(stream)) return Return(hipErrorStreamCaptureIsolation);
  // An event that was never recorded is complete.
  if (record) stream->WaitFor(record->fence);
  if (found->shared != nullptr) {
    // What another process records completes no fence of ours.
    Work work;
    work.run = [found, number = found->shared->asked.load(),
                on = stream->gpu()] { AwaitShared(*found, number, on); };
    stream->Submit(std::move(work));
  }
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamAddCallback(hipStream_t handle,
                                        hipStreamCallback_t callback,
                                        void* data, unsigned flags) {
  std::shared_ptr<Stream> stream;
  hipError_t error = CurrentStream(handle, &stream);
  if (error == hipSuccess) error = Forbid(stream);
  if (error != hipSuccess) return Return(error);
  if (callback == nullptr || flags != 0) return Return(hipErrorInvalidValue);
  Gpu* gpu = stream->gpu();
  Work work;
  work.kind = Work::Kind::kHost;
  work.also_after_error = true;
  work.run = [handle, callback, data, gpu] {
    callback(handle, gpu->sticky, data);
  };
  stream->Submit(std::move(work));
  return Return(hipSuccess);
}

HIP_API hipError_t hipLaunchHostFunc(hipStream_t handle, hipHostFn_t function,
                                     void* data) {
  std::shared_ptr<Stream> stream;
  hipError_t error = CurrentStream(handle, &stream);
  if (error != hipSuccess) return Return(error);
  if (function == nullptr) return Return(hipErrorInvalidValue);
  Work work;
  work.kind = Work::Kind::kHost;
  work.run = [function, data] { function(data); };
  work.params = std::make_shared<const NodeParams>(
      NodeParams{hipHostNodeParams{function, data}});
  stream->Submit(std::move(work));
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamWaitValue32(hipStream_t stream, void* pointer,
                                        std::uint32_t value, unsigned flags,
                                        std::uint32_t mask) {
  return Return(WaitValue(stream, pointer, value, flags, mask));
}
HIP_API hipError_t hipStreamWaitValue64(hipStream_t stream, void* pointer,
                                        std::uint64_t value, unsigned flags,
                                        std::uint64_t mask) {
  return Return(WaitValue(stream, pointer, value, flags, mask));
}
HIP_API hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer,
                                         std::uint32_t value, unsigned) {
  return Return(WriteValue(stream, pointer, value));
}
HIP_API hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer,
                                         std::uint64_t value, unsigned) {
  return Return(WriteValue(stream, pointer, value));
}

HIP_API hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count,
                                       hipStreamBatchMemOpParams* list,
                                       unsigned flags) {
  if (flags != 0) return Return(hipErrorInvalidValue);
  return Return(SubmitTo(stream, [&](const Gpu* gpu, Work* out) {
    return MemOpsWork(list, count, gpu, out);
  }));
}

// Of the attributes of launches, streams have the priority and the policy of
// waiting.
HIP_API hipError_t hipStreamGetAttribute(hipStream_t handle,
                                         std::uint32_t attribute,
                                         hipLaunchAttributeValue* value) {
  std::shared_ptr<Stream> stream;
  const hipError_t error = CurrentStream(handle, &stream);
  if (error != hipSuccess) return Return(error);
  if (value == nullptr) return Return(hipErrorInvalidValue);
  switch (attribute) {
    case hipLaunchAttributePriority:
      value->priority = stream->priority();
      return Return(hipSuccess);
    case hipLaunchAttributeSynchronizationPolicy:
      value->syncPolicy = 1;  // automatic
      return Return(hipSuccess);
    default: return Return(hipErrorInvalidValue);
  }
}

HIP_API hipError_t hipStreamSetAttribute(hipStream_t handle,
                                         std::uint32_t attribute,
                                         const hipLaunchAttributeValue* value) {
  std::shared_ptr<Stream> stream;
  const hipError_t error = CurrentStream(handle, &stream);
  if (error != hipSuccess) return Return(error);
  // How the host waits is the host's business here.
  if (value == nullptr ||
      attribute != hipLaunchAttributeSynchronizationPolicy) {
    return Return(hipErrorInvalidValue);
  }
  return Return(hipSuccess);
}
