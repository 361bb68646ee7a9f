#include "runtime-stub/stream/capture_into.h"

#include <atomic>
#include <map>
#include <mutex>

#include "hip/hip_loader.h"
#include "runtime-stub/graph/graph.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

struct Into {
  CUgraph graph = nullptr;
  std::map<CUgraphNode, CUgraphNode> program, hip;  // by HIP's, the program's
};
struct Captures {
  std::mutex mutex;
  std::map<unsigned long long, Into> all;  // by HIP's numbers
  std::atomic<bool> any{false};
};
NeverDestroyed<Captures> g_all_captures;
auto& g_captures = *g_all_captures;

// Calls `use` with the capture, if it is such a one.
template <typename Use>
hipError_t With(unsigned long long capture, Use use) {
  if (!g_captures.any.load(std::memory_order_relaxed)) return hipSuccess;
  std::lock_guard<std::mutex> lock(g_captures.mutex);
  const auto at = g_captures.all.find(capture);
  return at != g_captures.all.end() ? use(at->second) : hipSuccess;
}

hipError_t Add(Into* into, hipGraph_t graph, const hipGraphNode_t* after,
               std::size_t count, CUgraphNode* node) {
  hipGraphNode_t made = nullptr;
  const hipError_t error = hip.hipGraphAddEmptyNode(&made, graph, after, count);
  if (error != hipSuccess) return error;
  const auto own = reinterpret_cast<CUgraphNode>(made);
  into->program[own] = *node;
  into->hip[*node] = own;
  *node = own;
  return hipSuccess;
}

}  // namespace

hipError_t BeginCaptureInto(hipStream_t stream, CUgraph graph,
                            const CUgraphNode* after, std::size_t count,
                            int mode) {
  constexpr unsigned kSetDependencies = 1;
  hipError_t error = hip.hipStreamBeginCapture(stream, mode);
  if (error != hipSuccess) return error;
  int status = 0;
  unsigned long long id = 0;
  hipGraph_t own = nullptr;
  error = hip.hipStreamGetCaptureInfo_v2(stream, &status, &id, &own, nullptr,
                                         nullptr);
  if (error == hipSuccess) {
    {
      std::lock_guard<std::mutex> lock(g_captures.mutex);
      g_captures.all[id].graph = graph;
      g_captures.any = true;
    }
    std::vector<CUgraphNode> nodes(after, after + count);
    error = ToHip(id, own, &nodes);
    if (error == hipSuccess && count != 0) {
      error = hip.hipStreamUpdateCaptureDependencies(
          stream, Native(nodes.data()), count, kSetDependencies);
    }
  }
  if (error != hipSuccess) {
    (void)EndCaptureInto(id);
    if (hip.hipStreamEndCapture(stream, &own) == hipSuccess && own != nullptr) {
      (void)hip.hipGraphDestroy(own);
    }
  }
  return error;
}

CUgraph EndCaptureInto(unsigned long long capture) {
  CUgraph graph = nullptr;
  (void)With(capture, [&](const Into& into) {
    graph = into.graph;
    return hipSuccess;
  });
  if (graph == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(g_captures.mutex);
  g_captures.all.erase(capture);
  g_captures.any = !g_captures.all.empty();
  return graph;
}

bool HasForeignNodes(unsigned long long capture, hipStream_t stream) {
  bool foreign = false;
  (void)With(capture, [&](const Into& into) {
    int status = 0;
    hipGraph_t own = nullptr;
    std::size_t count = 0;
    unsigned long long id = 0;
    hipError_t error = hip.hipStreamGetCaptureInfo_v2(stream, &status, &id,
                                                      &own, nullptr, nullptr);
    if (error == hipSuccess) error = hip.hipGraphGetNodes(own, nullptr, &count);
    foreign = error == hipSuccess && count > into.program.size();
    return error;
  });
  if (foreign) {
    Log(LogLevel::kError,
        "HIP before 6 cannot capture a library of AMD's into a graph that is "
        "there");
  }
  return foreign;
}

void ToProgram(unsigned long long capture, CUgraph* graph,
               const CUgraphNode** nodes, std::size_t count) {
  static thread_local std::vector<CUgraphNode> told;
  (void)With(capture, [&](Into& into) {
    if (graph != nullptr) *graph = into.graph;
    if (nodes == nullptr || *nodes == nullptr) return hipSuccess;
    told.clear();
    for (std::size_t i = 0; i < count; ++i) {
      told.push_back(into.program[(*nodes)[i]]);
    }
    *nodes = told.data();
    return hipSuccess;
  });
}

hipError_t ToHip(unsigned long long capture, hipGraph_t graph,
                 std::vector<CUgraphNode>* nodes) {
  return With(capture, [&](Into& into) {
    for (CUgraphNode& node : *nodes) {
      if (const auto at = into.hip.find(node); at != into.hip.end()) {
        node = at->second;
        continue;
      }
      const hipError_t error = Add(&into, graph, nullptr, 0, &node);
      if (error != hipSuccess) return error;
    }
    return hipSuccess;
  });
}

hipError_t AddToHip(unsigned long long capture, hipGraph_t graph,
                    const std::vector<hipGraphNode_t>& after,
                    CUgraphNode* node) {
  return With(capture, [&](Into& into) {
    return Add(&into, graph, after.data(), after.size(), node);
  });
}

}  // namespace cerberus::stub
