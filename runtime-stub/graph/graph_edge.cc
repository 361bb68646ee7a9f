// Edges of graphs, and what programs say of them.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_record.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// By the nodes that an edge leads from and to; plain ones are not there.
struct Edges {
  std::mutex mutex;
  std::map<std::pair<CUgraphNode, CUgraphNode>, CUgraphEdgeData> data;
  std::atomic<bool> any{false};  // ever
  std::atomic<bool> any_lost{false};
};
NeverDestroyed<Edges> g_all_edges;
auto& g_edges = *g_all_edges;

bool IsPlain(const CUgraphEdgeData& edge) {
  return edge.from_port == 0 && edge.type == 0;
}
CUgraphEdgeData DataOf(CUgraphNode from, CUgraphNode to) {
  if (!g_edges.any.load(std::memory_order_relaxed)) return {};
  std::lock_guard<std::mutex> lock(g_edges.mutex);
  const auto at = g_edges.data.find({from, to});
  return at == g_edges.data.end() ? CUgraphEdgeData{} : at->second;
}

// After a query: what the edges say, which a query that does not ask for it
// must not hide.
template <typename Data>
CUresult ReadEdges(CUgraphEdgeData* edges, std::size_t count, Data data_of) {
  for (std::size_t i = 0; i < count; ++i) {
    const CUgraphEdgeData data = data_of(i);
    if (edges != nullptr) {
      edges[i] = data;
    } else if (!IsPlain(data)) {
      return CUDA_ERROR_LOSSY_QUERY;
    }
  }
  return CUDA_SUCCESS;
}

// The nodes that HIP's function finds beside one, and what the edges to them
// say.
template <typename Query, typename Data>
CUresult Neighbours(const Query& query, CUgraphNode node, CUgraphNode* nodes,
                    CUgraphEdgeData* edges, std::size_t* count, Data data_of) {
  if (node == nullptr || count == nullptr ||
      (edges != nullptr && nodes == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  const CUresult result =
      NoteResult(context, query(Native(node), Native(nodes), count));
  return result != CUDA_SUCCESS || nodes == nullptr
             ? result
             : ReadEdges(edges, *count, data_of);
}

}  // namespace

CUresult CheckEdges(const CUgraphNode* from, const CUgraphEdgeData* edges,
                    std::size_t count) {
  constexpr unsigned char kPorts = 3, kProgrammatic = 1;
  for (std::size_t i = 0; edges != nullptr && i < count; ++i) {
    const CUgraphEdgeData& edge = edges[i];
    const bool zeros =
        edge.to_port == 0 &&
        std::all_of(std::begin(edge.reserved), std::end(edge.reserved),
                    [](unsigned char byte) { return byte == 0; });
    // A programmatic edge begins at a port, and only such a one at the first.
    if (!zeros || edge.type > kProgrammatic || edge.from_port >= kPorts ||
        (edge.type == kProgrammatic && edge.from_port == 0) ||
        (edge.type == 0 && edge.from_port == 1)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (!IsPlain(edge) &&
        (from == nullptr || RecordedType(from[i]) != kKernelNode)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

void NoteEdges(const CUgraphNode* from, CUgraphNode to,
               const CUgraphEdgeData* edges, std::size_t count) {
  for (std::size_t i = 0; edges != nullptr && i < count; ++i) {
    if (IsPlain(edges[i])) continue;
    std::lock_guard<std::mutex> lock(g_edges.mutex);
    g_edges.data[{from[i], to}] = edges[i];
    g_edges.any = true;
  }
}

void NoteLostEdges() {
  if (!hip.is_before_5_3) return;
  g_edges.any_lost = true;
  NoteSteppedNode();
}
bool AnyLostEdges() { return g_edges.any_lost; }

void ForgetEdges(CUgraphNode node) {
  if (!g_edges.any.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> lock(g_edges.mutex);
  std::erase_if(g_edges.data, [node](const auto& entry) {
    return entry.first.first == node || entry.first.second == node;
  });
}

void CopyEdges(const std::map<CUgraphNode, CUgraphNode>& copies) {
  if (!g_edges.any.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> lock(g_edges.mutex);
  const auto data = g_edges.data;
  for (const auto& [edge, said] : data) {
    const auto from = copies.find(edge.first), to = copies.find(edge.second);
    if (from != copies.end() && to != copies.end()) {
      g_edges.data[{from->second, to->second}] = said;
    }
  }
}

namespace api {

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes,
                                       CUgraphEdgeData* edges,
                                       std::size_t* count) {
  return Neighbours(hip.hipGraphNodeGetDependencies, node, nodes, edges, count,
                    [=](std::size_t i) { return DataOf(nodes[i], node); });
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes,
                                    std::size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes,
                                         CUgraphEdgeData* edges,
                                         std::size_t* count) {
  return Neighbours(hip.hipGraphNodeGetDependentNodes, node, nodes, edges,
                    count,
                    [=](std::size_t i) { return DataOf(node, nodes[i]); });
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes,
                                      std::size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* edges, std::size_t* count) {
  if (graph == nullptr || count == nullptr ||
      (edges != nullptr && (from == nullptr || to == nullptr))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  const CUresult result = NoteResult(
      context,
      hip.hipGraphGetEdges(Native(graph), Native(from), Native(to), count));
  if (result != CUDA_SUCCESS || from == nullptr || to == nullptr) return result;
  return ReadEdges(edges, *count,
                   [=](std::size_t i) { return DataOf(from[i], to[i]); });
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                         std::size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                   const CUgraphNode* to,
                                   const CUgraphEdgeData* edges,
                                   std::size_t count) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (count == 0) return CUDA_SUCCESS;
  if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CheckEdges(from, edges, count);
  if (result != CUDA_SUCCESS) return result;
  result =
      NoteResult(context, hip.hipGraphAddDependencies(
                              Native(graph), Native(from), Native(to), count));
  for (std::size_t i = 0;
       result == CUDA_SUCCESS && edges != nullptr && i < count; ++i) {
    NoteEdges(&from[i], to[i], &edges[i], 1);
  }
  return result;
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                const CUgraphNode* to, std::size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}
// An edge goes that says what is given; null: a plain one.
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                      const CUgraphNode* to,
                                      const CUgraphEdgeData* edges,
                                      std::size_t count) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (count == 0) return CUDA_SUCCESS;
  if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const CUgraphEdgeData said = DataOf(from[i], to[i]);
    const CUgraphEdgeData given =
        edges != nullptr ? edges[i] : CUgraphEdgeData{};
    if (said.from_port != given.from_port || said.type != given.type) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  const CUresult result =
      NoteResult(context, hip.hipGraphRemoveDependencies(
                              Native(graph), Native(from), Native(to), count));
  if (result != CUDA_SUCCESS) return result;
  NoteLostEdges();
  std::lock_guard<std::mutex> lock(g_edges.mutex);
  for (std::size_t i = 0; i < count; ++i) {
    g_edges.data.erase({from[i], to[i]});
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                   const CUgraphNode* to, std::size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

}  // namespace api
}  // namespace cerberus::stub
