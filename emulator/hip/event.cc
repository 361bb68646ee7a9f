// Events.
#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"

namespace cerberus::emulator::hip {

void AwaitShared(const Event& event, std::uint64_t number, const Gpu* gpu) {
  while (!event.shared->Reached(number) && gpu->sticky == hipSuccess) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace cerberus::emulator::hip

using namespace cerberus::emulator::hip;

namespace {

hipError_t Record(hipEvent_t handle, hipStream_t stream_handle) {
  std::shared_ptr<Stream> stream;
  hipError_t error = CurrentStream(stream_handle, &stream);
  if (error != hipSuccess) return error;
  std::shared_ptr<Event> event = Runtime::Get().FindEvent(handle);
  if (!event) return hipErrorInvalidHandle;
  if (event->gpu != stream->gpu()) return hipErrorInvalidHandle;
  if (IsCapturing(stream)) {
    std::lock_guard<std::mutex> lock(event->mutex);
    event->capture = stream->capture;
    event->captured_nodes = stream->capture->Front(stream.get());
    return hipSuccess;
  }
  if (event->shared != nullptr) {
    Work work;
    work.kind = Work::Kind::kEvent;
    work.also_after_error = true;
    work.run = [event, number = event->shared->Ask()] {
      event->shared->Reach(number);
    };
    stream->Submit(std::move(work));
    return hipSuccess;
  }
  std::shared_ptr<Event::Record> record = std::make_shared<Event::Record>();
  Work work;
  work.kind = Work::Kind::kEvent;
  work.also_after_error = true;
  work.run = [record] { record->time = std::chrono::steady_clock::now(); };
  // The record must be there before anyone can ask for it, its fence with
  // it: submit and publish under the event's lock.
  std::lock_guard<std::mutex> lock(event->mutex);
  record->fence = stream->Submit(std::move(work));
  event->record = record;
  event->capture.reset();
  return hipSuccess;
}

std::shared_ptr<Event::Record> RecordOf(Event& event) {
  std::lock_guard<std::mutex> lock(event.mutex);
  return event.record;
}

bool Captured(Event& event) {
  std::lock_guard<std::mutex> lock(event.mutex);
  return !event.capture.expired();
}

}  // namespace

HIP_API hipError_t hipEventCreateWithFlags(hipEvent_t* out, unsigned flags) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  constexpr unsigned kKnown = hipEventBlockingSync | hipEventDisableTiming |
                              hipEventInterprocess | 0xf0000000u;
  if (out == nullptr || (flags & ~kKnown) != 0) {
    return Return(hipErrorInvalidValue);
  }
  std::shared_ptr<Event> event = std::make_shared<Event>();
  event->flags = flags;
  event->gpu = gpu;
  if ((flags & hipEventInterprocess) != 0) {
    // Time is no part of what processes share.
    if ((flags & hipEventDisableTiming) == 0) {
      return Return(hipErrorInvalidValue);
    }
    if (!ShareEvent(event.get())) return Return(hipErrorOutOfMemory);
  }
  *out = Runtime::Get().AddEvent(std::move(event));
  return Return(hipSuccess);
}
HIP_API hipError_t hipEventCreate(hipEvent_t* out) {
  return hipEventCreateWithFlags(out, 0);
}
HIP_API hipError_t hipEventDestroy(hipEvent_t event) {
  return Return(Runtime::Get().RemoveEvent(event) ? hipSuccess
                                                  : hipErrorInvalidHandle);
}
HIP_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return Return(Record(event, stream));
}
HIP_API hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream,
                                           unsigned flags) {
  if (flags > 1) return Return(hipErrorInvalidValue);
  return Return(Record(event, stream));
}

HIP_API hipError_t hipEventQuery(hipEvent_t handle) {
  std::shared_ptr<Event> event = Runtime::Get().FindEvent(handle);
  if (!event) return Return(hipErrorInvalidHandle);
  if (Captured(*event)) return Return(hipErrorCapturedEvent);
  if (event->shared != nullptr &&
      !event->shared->Reached(event->shared->asked)) {
    return Return(hipErrorNotReady);
  }
  std::shared_ptr<Event::Record> record = RecordOf(*event);
  if (record && !record->fence->done()) return Return(hipErrorNotReady);
  return Return(event->gpu->sticky);
}

HIP_API hipError_t hipEventSynchronize(hipEvent_t handle) {
  std::shared_ptr<Event> event = Runtime::Get().FindEvent(handle);
  if (!event) return Return(hipErrorInvalidHandle);
  if (Captured(*event)) return Return(hipErrorCapturedEvent);
  if (event->shared != nullptr) {
    AwaitShared(*event, event->shared->asked, event->gpu);
  }
  std::shared_ptr<Event::Record> record = RecordOf(*event);
  if (record) record->fence->Wait();
  return Return(event->gpu->sticky);
}

HIP_API hipError_t hipEventElapsedTime(float* ms, hipEvent_t start,
                                       hipEvent_t stop) {
  if (ms == nullptr) return Return(hipErrorInvalidValue);
  std::shared_ptr<Event> first = Runtime::Get().FindEvent(start);
  std::shared_ptr<Event> second = Runtime::Get().FindEvent(stop);
  if (!first || !second) return Return(hipErrorInvalidHandle);
  std::shared_ptr<Event::Record> a = RecordOf(*first), b = RecordOf(*second);
  if (!a || !b || ((first->flags | second->flags) & hipEventDisableTiming)) {
    return Return(hipErrorInvalidHandle);
  }
  if (!a->fence->done() || !b->fence->done()) {
    return Return(hipErrorNotReady);
  }
  *ms = std::chrono::duration<float, std::milli>(b->time - a->time).count();
  return Return(hipSuccess);
}
