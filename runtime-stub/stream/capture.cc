#include "runtime-stub/stream/capture.h"

#include <atomic>
#include <mutex>
#include <set>

#include "runtime-stub/graph/graph.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

constexpr int kInvalidated = 2;  // CU_STREAM_CAPTURE_STATUS_INVALIDATED

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

}  // namespace cerberus::stub
