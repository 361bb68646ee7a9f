// Stream capture.
#include <atomic>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

namespace {

hipError_t Begin(hipStream_t handle, std::uint32_t mode,
                 std::shared_ptr<Graph> graph, std::vector<GraphNode*> front) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  if (mode > 2) return hipErrorInvalidValue;
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return hipErrorInvalidHandle;
  if (stream->type() == Stream::Type::kLegacy) {
    return hipErrorStreamCaptureUnsupported;
  }
  static std::atomic<std::uint64_t> next_id{1};
  std::lock_guard<std::mutex> lock(stream->gpu()->order);
  if (stream->capture) return hipErrorIllegalState;
  stream->capture = std::make_shared<Capture>(
      stream.get(), mode, next_id++, std::move(graph), std::move(front));
  return hipSuccess;
}

}  // namespace

HIP_API hipError_t hipStreamBeginCapture(hipStream_t handle,
                                         std::uint32_t mode) {
  return Return(Begin(handle, mode, nullptr, {}));
}

// The stream's work comes behind `nodes` of a graph that is there already.
HIP_API hipError_t hipStreamBeginCaptureToGraph(
    hipStream_t stream, hipGraph_t handle, const hipGraphNode_t* nodes,
    const void* /*edges*/, std::size_t count, std::uint32_t mode) {
  if (ApiMajor() < 6) return Return(hipErrorNotSupported);
  std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph || (nodes == nullptr && count != 0)) {
    return Return(hipErrorInvalidValue);
  }
  std::vector<GraphNode*> front;
  for (std::size_t i = 0; i < count; ++i) front.push_back(NodeOf(nodes[i]));
  return Return(Begin(stream, mode, std::move(graph), std::move(front)));
}

HIP_API hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t* out) {
  if (out == nullptr) return Return(hipErrorInvalidValue);
  *out = nullptr;
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  std::shared_ptr<Capture> capture;
  {
    std::lock_guard<std::mutex> lock(stream->gpu()->order);
    capture = stream->capture;
  }
  if (!capture) return Return(hipErrorIllegalState);
  if (capture->origin() != stream.get()) {
    return Return(hipErrorStreamCaptureUnmatched);
  }
  const bool unjoined = capture->Unjoined();
  for (const std::unique_ptr<Gpu>& gpu : Runtime::Get().gpus()) {
    std::lock_guard<std::mutex> lock(gpu->order);
    for (Stream* each : gpu->streams) {
      if (each->capture == capture) each->capture.reset();
    }
  }
  const bool whole = !capture->invalid() && !unjoined;
  const hipGraph_t graph = EndOfCapture(*capture, whole);
  if (capture->invalid()) return Return(hipErrorStreamCaptureInvalidated);
  if (unjoined) return Return(hipErrorStreamCaptureUnjoined);
  *out = graph;
  return Return(hipSuccess);
}

namespace {

// hipStreamCaptureStatus: 0 none, 1 active, 2 invalidated.
std::uint32_t StatusOf(const std::shared_ptr<Capture>& capture) {
  return !capture ? 0 : capture->invalid() ? 2 : 1;
}

std::shared_ptr<Capture> CaptureOf(const std::shared_ptr<Stream>& stream) {
  std::lock_guard<std::mutex> lock(stream->gpu()->order);
  return stream->capture;
}

}  // namespace

HIP_API hipError_t hipStreamIsCapturing(hipStream_t handle,
                                        std::uint32_t* status) {
  if (status == nullptr) return Return(hipErrorInvalidValue);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  *status = StatusOf(CaptureOf(stream));
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamGetCaptureInfo(hipStream_t handle,
                                           std::uint32_t* status,
                                           unsigned long long* id) {
  if (status == nullptr) return Return(hipErrorInvalidValue);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  std::shared_ptr<Capture> capture = CaptureOf(stream);
  *status = StatusOf(capture);
  if (capture && id != nullptr) *id = capture->id();
  return Return(hipSuccess);
}

// The graph may be added to while it is captured; the nodes are those that
// the stream's next work will depend on. Both stay valid until the thread's
// next call.
HIP_API hipError_t hipStreamGetCaptureInfo_v2(
    hipStream_t handle, std::uint32_t* status, unsigned long long* id,
    hipGraph_t* graph, const hipGraphNode_t** nodes, std::size_t* count) {
  const hipError_t error = hipStreamGetCaptureInfo(handle, status, id);
  if (error != hipSuccess || *status != 1) return Return(error);
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  std::shared_ptr<Capture> capture = CaptureOf(stream);
  static thread_local std::vector<hipGraphNode_t> front;
  front.clear();
  for (GraphNode* node : capture->Front(stream.get())) {
    front.push_back(HandleOf(node));
  }
  if (graph != nullptr) *graph = HandleOfCapture(*capture);
  if (nodes != nullptr) *nodes = front.data();
  if (count != nullptr) *count = front.size();
  return Return(hipSuccess);
}

// Flags: 0 adds the nodes to those the next work depends on, 1 replaces them.
HIP_API hipError_t hipStreamUpdateCaptureDependencies(
    hipStream_t handle, const hipGraphNode_t* nodes, std::size_t count,
    unsigned flags) {
  if (flags > 1 || (nodes == nullptr && count != 0)) {
    return Return(hipErrorInvalidValue);
  }
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return Return(hipErrorInvalidHandle);
  std::shared_ptr<Capture> capture = CaptureOf(stream);
  if (!capture) return Return(hipErrorIllegalState);
  std::vector<GraphNode*> after;
  for (std::size_t i = 0; i < count; ++i) after.push_back(NodeOf(nodes[i]));
  if (flags == 1) capture->ClearFront(stream.get());
  capture->Join(stream.get(), after);
  return Return(hipSuccess);
}

HIP_API hipError_t hipThreadExchangeStreamCaptureMode(std::uint32_t* mode) {
  static thread_local std::uint32_t current = 0;
  if (mode == nullptr || *mode > 2) return Return(hipErrorInvalidValue);
  std::swap(*mode, current);
  return Return(hipSuccess);
}
