#include "runtime-stub/stream/capture.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "runtime-stub/api/error.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/stream/capture_into.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

constexpr int kInvalidated = 2;  // CU_STREAM_CAPTURE_STATUS_INVALIDATED

// Streams in which the program has begun a capture that it has not ended. One
// that is destroyed before stays, and costs others a question. And what
// captures, by HIP's numbers, have made.
struct Begun {
  std::mutex mutex;
  std::set<hipStream_t> streams;
  std::map<unsigned long long, std::vector<CUgraphNode>> nodes;
  // Of streams: what the edges to their next nodes say.
  std::map<hipStream_t, std::map<CUgraphNode, CUgraphEdgeData>> edges;
  std::atomic<bool> any{false};
};
NeverDestroyed<Begun> g_all_begun;
auto& g_begun = *g_all_begun;

// Captures by HIP's numbers, which all streams of one share: those into graphs
// of the program's, and those that a call has made invalid.
struct Captures {
  std::mutex mutex;
  std::set<unsigned long long> to_graph, broken;
  std::atomic<bool> any{false};  // in either
};
NeverDestroyed<Captures> g_all_captures;
auto& g_captures = *g_all_captures;

// Whether there can be anything to do here.
bool Concerned() {
  return hip.major == 5 || g_captures.any.load(std::memory_order_relaxed);
}

// 0: none.
unsigned long long CaptureOf(hipStream_t stream) {
  int status = 0;
  unsigned long long id = 0;
  return hip.hipStreamGetCaptureInfo(stream, &status, &id) == hipSuccess &&
                 status != 0
             ? id
             : 0;
}

// The graph may be one of the program's, which was captured into.
void DropCapture(hipStream_t stream) {
  hipGraph_t graph = nullptr;
  if (hip.hipStreamEndCapture(stream, &graph) == hipSuccess &&
      graph != nullptr && !IsKnownGraph(reinterpret_cast<CUgraph>(graph))) {
    (void)hip.hipGraphDestroy(graph);
  }
}

}  // namespace

bool Captures(hipStream_t stream) {
  if (__builtin_expect(!g_begun.any.load(std::memory_order_relaxed), 1)) {
    return false;
  }
  // Where HIP does not say, CaptureNode asks again: what is captured must not
  // be run.
  int status = 0;
  return hip.hipStreamIsCapturing(stream, &status) != hipSuccess || status != 0;
}
void NoteCaptureBegin(hipStream_t stream) {
  std::lock_guard<std::mutex> lock(g_begun.mutex);
  g_begun.streams.insert(stream);
  g_begun.any = true;
}
CapturedNodes::CapturedNodes(hipStream_t stream)
    : stream_(stream), capture_(CaptureOf(stream)) {
  std::lock_guard<std::mutex> lock(g_captures.mutex);
  keep_ = g_captures.to_graph.count(capture_) != 0;
}
CapturedNodes::~CapturedNodes() {
  if (IsCapturing(stream_)) return;
  (void)EndCaptureInto(capture_);
  std::vector<CUgraphNode> nodes;
  {
    std::lock_guard<std::mutex> lock(g_begun.mutex);
    g_begun.streams.erase(stream_);
    g_begun.edges.erase(stream_);
    g_begun.any = !g_begun.streams.empty();
    const auto at = g_begun.nodes.find(capture_);
    if (at == g_begun.nodes.end()) return;
    nodes = std::move(at->second);
    g_begun.nodes.erase(at);
  }
  if (keep_) return;
  for (CUgraphNode node : nodes) ForgetDeadNode(node);
}

bool CapturedNodes::EndForeign() const {
  if (!HasForeignNodes(capture_, stream_)) return false;
  DropCapture(stream_);
  return true;
}
CUgraph CapturedNodes::TakeOwnGraph() const { return EndCaptureInto(capture_); }

CUresult CaptureNode(hipStream_t stream, const NodeAdder& add) {
  constexpr unsigned kSetDependencies = 1;
  if (IsCaptureBroken(stream)) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  int status = 0;
  unsigned long long id = 0;
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* before = nullptr;
  std::size_t count = 0;
  hipError_t error = hip.hipStreamGetCaptureInfo_v2(stream, &status, &id,
                                                    &graph, &before, &count);
  if (error != hipSuccess) return FromHip(error);
  if (status == kInvalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (status == 0 || graph == nullptr) return CUDA_ERROR_UNKNOWN;
  // The list is HIP's, and changes with the graph.
  const std::vector<hipGraphNode_t> after(before, before + count);
  CUgraphNode node = nullptr;
  auto to = reinterpret_cast<CUgraph>(graph);
  auto behind = reinterpret_cast<const CUgraphNode*>(after.data());
  ToProgram(id, &to, &behind, count);
  const std::vector<CUgraphNode> from(behind, behind + count);
  const CUresult result = add(&node, to, from.data(), count);
  if (result != CUDA_SUCCESS) return result;
  std::map<CUgraphNode, CUgraphEdgeData> edges;
  {
    std::lock_guard<std::mutex> lock(g_begun.mutex);
    g_begun.nodes[id].push_back(node);
    if (const auto at = g_begun.edges.find(stream); at != g_begun.edges.end()) {
      edges = std::move(at->second);
      g_begun.edges.erase(at);
    }
  }
  for (const CUgraphNode one : from) {
    const auto at = edges.find(one);
    if (at != edges.end()) NoteEdges(&one, node, &at->second, 1);
  }
  error = AddToHip(id, graph, after, &node);
  if (error != hipSuccess) return FromHip(error);
  return FromHip(hip.hipStreamUpdateCaptureDependencies(stream, Native(&node),
                                                        1, kSetDependencies));
}

void NoteEdgesToCome(hipStream_t stream, const CUgraphNode* from,
                     const CUgraphEdgeData* edges, std::size_t count) {
  std::lock_guard<std::mutex> lock(g_begun.mutex);
  for (std::size_t i = 0; edges != nullptr && i < count; ++i) {
    g_begun.edges[stream][from[i]] = edges[i];
  }
}

void NoteCaptureToGraph(hipStream_t stream) {
  const unsigned long long id = CaptureOf(stream);
  std::lock_guard<std::mutex> lock(g_captures.mutex);
  g_captures.to_graph.insert(id);
  g_captures.any = true;
}

bool BreaksCapture(hipStream_t stream) {
  if (!Concerned() || !IsCapturing(stream)) return false;
  const unsigned long long id = CaptureOf(stream);
  std::lock_guard<std::mutex> lock(g_captures.mutex);
  if (hip.major != 5 && g_captures.to_graph.count(id) == 0) return false;
  g_captures.broken.insert(id);
  return true;
}

bool IsCaptureBroken(hipStream_t stream) {
  if (!Concerned()) return false;
  const unsigned long long id = CaptureOf(stream);
  std::lock_guard<std::mutex> lock(g_captures.mutex);
  return g_captures.broken.count(id) != 0;
}

int CaptureStatus(hipStream_t stream, int status) {
  return status != 0 && IsCaptureBroken(stream) ? kInvalidated : status;
}

bool EndBrokenCapture(hipStream_t stream) {
  if (!Concerned()) return false;
  const unsigned long long id = CaptureOf(stream);
  {
    std::lock_guard<std::mutex> lock(g_captures.mutex);
    g_captures.to_graph.erase(id);
    const bool broken = g_captures.broken.erase(id) != 0;
    g_captures.any = !g_captures.to_graph.empty() || !g_captures.broken.empty();
    if (!broken) return false;
  }
  DropCapture(stream);
  return true;
}

void LeaveCapture(hipStream_t stream) {
  constexpr int kRelaxed = 2;
  int status = 0;
  if (hip.hipStreamIsCapturing(stream, &status) == hipSuccess &&
      status == kInvalidated &&
      hip.hipStreamBeginCapture(stream, kRelaxed) == hipSuccess) {
    DropCapture(stream);
  }
}

hipError_t AllocateZeros(void** memory, std::size_t bytes, std::size_t zeros) {
  const std::vector<char> nothing(zeros);
  const RelaxedCapture relaxed;
  hipError_t error = hip.hipMalloc(memory, bytes);
  if (error != hipSuccess || zeros == 0) return error;
  error = Upload(*memory, nothing.data(), zeros);
  if (error != hipSuccess) (void)hip.hipFree(*memory);
  return error;
}

hipError_t CopyNow(void* to, const void* from, std::size_t bytes,
                   hipMemcpyKind kind) {
  if (!g_begun.any.load(std::memory_order_relaxed)) {
    return hip.hipMemcpy(to, from, bytes, kind);
  }
  // HIP keeps the null stream still while another one captures, and 5.7 waits
  // for no stream then; it may be asked for an event.
  constexpr unsigned kNonBlocking = 1, kNoTime = 2;
  const RelaxedCapture relaxed;
  hipStream_t stream = nullptr;
  hipEvent_t end = nullptr;
  hipError_t error = hip.hipStreamCreateWithFlags(&stream, kNonBlocking);
  if (error != hipSuccess) return error;
  error = hip.hipEventCreateWithFlags(&end, kNoTime);
  if (error == hipSuccess) {
    error = hip.hipMemcpyAsync(to, from, bytes, kind, stream);
    if (error == hipSuccess) error = hip.hipEventRecord(end, stream);
    if (error == hipSuccess) {
      while ((error = hip.hipEventQuery(end)) == hipErrorNotReady) {
        std::this_thread::yield();
      }
    }
    (void)hip.hipEventDestroy(end);
  }
  const hipError_t destroyed = hip.hipStreamDestroy(stream);
  return error == hipSuccess ? destroyed : error;
}

hipError_t Upload(void* to, const void* from, std::size_t bytes) {
  return CopyNow(to, from, bytes, hipMemcpyHostToDevice);
}

}  // namespace cerberus::stub
