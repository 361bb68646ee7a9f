// What graphs are made of, apart from HIP: to make them again.
#ifndef CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_COPY_H_
#define CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_COPY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "runtime-stub/api/api.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/graph/graph_record.h"

namespace cerberus::stub {

// Parameters with all that they point to.
class NodeParams {
 public:
  explicit NodeParams(const CUgraphNodeParams& given);
  NodeParams(const NodeParams&) = delete;
  NodeParams& operator=(const NodeParams&) = delete;

  CUgraphNodeParams params;

 private:
  std::vector<CUstreamBatchMemOpParams> operations_;
  std::vector<CUexternalSemaphore> semaphores_;
  std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals_;
  std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits_;
};

// CUgraphExecUpdateResult, and the node of the other graph.
struct UpdateResult {
  enum {
    kSuccess = 0,
    kError = 1,
    kTopology = 2,
    kNodeType = 3,
    kParameters = 5,
    kFunction = 7
  };
  int what = kSuccess;
  CUgraphNode node = nullptr;
};

struct GraphCopy {
  struct Node {
    CUgraphNode original = nullptr;
    CUgraphNodeType type = 0;
    std::vector<std::size_t> after;      // places in `nodes`
    RecordPtr record;                    // where that says all
    std::shared_ptr<NodeParams> params;  // where HIP does
    bool is_empty = false;               // an empty node takes its place
    // A child node's graph, the bodies of a conditional one.
    std::vector<std::shared_ptr<GraphCopy>> graphs;
  };
  std::vector<Node> nodes;  // in HIP's order

  Node* Find(CUgraphNode original);
  // Others go, and edges with them.
  void Keep(const std::set<CUgraphNode>& originals);
  // Nodes are known by the originals of another copy of the same shape.
  void TakeNames(const GraphCopy& other);
  // Names this copy's nodes by those of another of the same shape.
  void PairWith(const GraphCopy& other,
                std::map<CUgraphNode, CUgraphNode>* names) const;
  // The same with empty nodes in the place of those with memory of their own.
  GraphCopy WithoutMemory() const;
  // What an update finds that an executable graph of this shape cannot take.
  UpdateResult Compare(const GraphCopy& other) const;
};

CUresult CopyGraph(CUgraph graph, GraphCopy* copy);
// Adds all its nodes; `made`, which may be null, gets them. Errors: what HIP
// says; CUDA_ERROR_NOT_SUPPORTED for nodes of memory, and for those that a
// library has captured by HIP.
CUresult AddCopy(const GraphCopy& copy, CUgraph graph,
                 std::vector<CUgraphNode>* made = nullptr);
// Calls `use` with a graph of the copy's nodes, which is there for that time.
template <typename Use>
CUresult WithGraph(const GraphCopy& copy, Use use) {
  CUgraph graph = nullptr;
  CUresult result = api::cuGraphCreate(&graph, 0);
  if (result != CUDA_SUCCESS) return result;
  result = AddCopy(copy, graph);
  if (result == CUDA_SUCCESS) result = use(graph);
  api::cuGraphDestroy(graph);
  return result;
}

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_GRAPH_GRAPH_COPY_H_
