// Edges of graphs.
#include <cstdint>
#include <cstring>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "support/log.h"

namespace cerberus::stub {

CUresult CheckEdges(const CUgraphEdgeData* edges, std::size_t count) {
  constexpr std::size_t kEdgeBytes = 8;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(edges);
  for (std::size_t i = 0; edges != nullptr && i < count * kEdgeBytes; ++i) {
    if (bytes[i] == 0) continue;
    Log(LogLevel::kError,
        "graph edges with data (programmatic dependent launch) are not "
        "supported");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}
void ClearEdges(CUgraphEdgeData* edges, const std::size_t* count) {
  constexpr std::size_t kEdgeBytes = 8;
  if (edges != nullptr && count != nullptr) {
    std::memset(static_cast<void*>(edges), 0, *count * kEdgeBytes);
  }
}

namespace api {

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes,
                                    std::size_t* count) {
  if (node == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipGraphNodeGetDependencies(
                                 Native(node), Native(nodes), count));
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes,
                                       CUgraphEdgeData* edges,
                                       std::size_t* count) {
  const CUresult result = cuGraphNodeGetDependencies(node, nodes, count);
  if (result == CUDA_SUCCESS) ClearEdges(edges, count);
  return result;
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                const CUgraphNode* to, std::size_t count) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (count == 0) return CUDA_SUCCESS;
  if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return NoteResult(context,
                    hip.hipGraphAddDependencies(Native(graph), Native(from),
                                                Native(to), count));
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                   const CUgraphNode* to,
                                   const CUgraphEdgeData* edges,
                                   std::size_t count) {
  if (CUresult r = CheckEdges(edges, count); r != CUDA_SUCCESS) return r;
  return cuGraphAddDependencies(graph, from, to, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes,
                                      std::size_t* count) {
  if (node == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipGraphNodeGetDependentNodes(
                                 Native(node), Native(nodes), count));
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes,
                                         CUgraphEdgeData* edges,
                                         std::size_t* count) {
  const CUresult result = cuGraphNodeGetDependentNodes(node, nodes, count);
  if (result == CUDA_SUCCESS) ClearEdges(edges, count);
  return result;
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                         std::size_t* count) {
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return NoteResult(context, hip.hipGraphGetEdges(Native(graph), Native(from),
                                                  Native(to), count));
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* edges, std::size_t* count) {
  const CUresult result = cuGraphGetEdges(graph, from, to, count);
  if (result == CUDA_SUCCESS && from != nullptr) ClearEdges(edges, count);
  return result;
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                   const CUgraphNode* to, std::size_t count) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (count == 0) return CUDA_SUCCESS;
  if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return NoteResult(context,
                    hip.hipGraphRemoveDependencies(Native(graph), Native(from),
                                                   Native(to), count));
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                      const CUgraphNode* to,
                                      const CUgraphEdgeData* edges,
                                      std::size_t count) {
  if (CUresult r = CheckEdges(edges, count); r != CUDA_SUCCESS) return r;
  return cuGraphRemoveDependencies(graph, from, to, count);
}

}  // namespace api
}  // namespace cerberus::stub
